// The ledger: listing calls and usage, pruning, and verifying that everything balances.
// Runs on Node alone.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Call, LedgerBalance } from "../../src/schema/ledger.ts";
import type { Statement } from "../../src/database/database.ts";
import { assertBalanced, verifyBalanced } from "../balanced.ts";
import { counting, createTenant, createWorld, goodBody, noon, openMemory } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { batches, fillLog, minute, moveCommits } from "./filled-log.ts";
import type { Entry, FilledLog } from "./filled-log.ts";
import { balancedBooks, readAll, readPages, refused, taken, toQuery } from "./management.ts";

const test = suite("the ledger");

const day = 1440 * minute;

async function verify(world: World, query = "") {
  type Verification = {
    balanced: boolean;
    ledgers: LedgerBalance[];
    feedback: object;
    audit: object | null;
    damaged: object | null;
  };
  const { feedback: _feedback, audit: _audit, damaged: _damaged, ...ledgers } = taken<Verification>(
    await world.manage("GET", `/verify${query}`),
  );
  return ledgers;
}

const prune = async (world: World, olderThanMs = day) =>
  taken<{ calls: number; records: number; isDone: boolean }>(await world.manage("POST", "/prune", { olderThanMs }));

const callsOf = ({ workspaceId }: { workspaceId: string }) => `/workspaces/${workspaceId}/calls`;

const monthOf = (at: number) => new Date(at).toISOString().slice(0, 7);

/** What distinguishes calls in a batch, except their ids and numbers. */
const sortOf = (calls: (Call | Entry)[]) =>
  calls.map(({ operation, keyId, deployId, promptVersion, createdAt }) =>
    JSON.stringify([operation, keyId, deployId, promptVersion, createdAt])
  ).sort();

/** All listed calls of a workspace, after checking that they are the accepted ones. */
async function listed({ world, entries }: FilledLog, workspaceId: string): Promise<Call[]> {
  const all = await readAll<Call>(world, `${callsOf({ workspaceId })}?limit=1000`);
  const own = entries.filter((entry) => entry.workspaceId === workspaceId);
  assert.is(all.length, own.length);
  const inOrder = Array.from(all).reverse();
  const numbers = new Map<string, number>();
  let at = 0;
  for (const batch of new Set(own.map(({ batch }) => batch))) {
    const wanted = own.filter((entry) => entry.batch === batch);
    const found = inOrder.slice(at, at += wanted.length);
    assert.equal(sortOf(found), sortOf(wanted));
    const ids = (calls: { id: string }[]) => calls.map(({ id }) => id.replace(/^\w+_/, "")).sort();
    const records = wanted.flatMap(({ record }) => record === undefined ? [] : [record]);
    assert.equal(ids(found.filter(({ operation }) => operation === "submit")), ids(records));
    for (const { month, number, createdAt } of found) {
      assert.is(month, monthOf(createdAt));
      assert.is(number, (numbers.get(month) ?? 0) + 1);
      numbers.set(month, number);
    }
  }
  assert.is(new Set(all.map(({ id }) => id)).size, all.length);
  return all;
}

test("every filter of calls gives the same as checking each call, in pages of any size", async () => {
  await fc.assert(
    fc.asyncProperty(batches, fc.nat(), async (batches, filterSeed) => {
      const log = await fillLog(batches);
      const { workspaceId } = log.world;
      const times = fc.tuple(fc.constantFrom(...log.entries), fc.constantFrom(-1, 0, 1))
        .map(([{ createdAt }, shift]) => createdAt + shift);
      const filters = fc.sample(
        fc.record({
          keyId: fc.constantFrom(...log.keyIds, "key_x"),
          deployId: fc.constantFrom(...log.deployIds, "dep_x"),
          promptVersion: fc.constantFrom(1, 2),
          operation: fc.constantFrom("read", "submit"),
          from: times,
          to: times,
        }, { requiredKeys: [] }),
        { seed: filterSeed, numRuns: 12 },
      );
      for (const isSpread of [false, true]) {
        // If calls are far apart, a page reaches its scan limit.
        if (isSpread) await moveCommits(log.world, (position, index) => position + 300_007 * index);
        const all = await listed(log, workspaceId);
        for (const [index, filter] of filters.splice(0, 6).entries()) {
          const { keyId, deployId, promptVersion, operation, from = 0, to = Infinity } = filter;
          const limit = [1, 2, 3, 5, 8, 1000][index]!;
          const pages = await readPages<Call>(log.world, callsOf(log.world) + toQuery({ ...filter, limit }));
          const wanted = all.filter((call) =>
            (keyId === undefined || call.keyId === keyId) && (deployId === undefined || call.deployId === deployId) &&
            (promptVersion === undefined || call.promptVersion === promptVersion) &&
            (operation === undefined || call.operation === operation) && call.createdAt >= from && call.createdAt < to
          );
          assert.equal(pages.flat(), wanted, JSON.stringify(filter));
          assert.ok(pages.every(({ length }) => length <= limit));
        }
      }
      await verifyBalanced(log.world.admin);
    }),
    { numRuns: 3 },
  );
});

test("calls that share a row are listed one by one, wherever a page or a scan ends among them", async () => {
  const world = await createWorld();
  await world.read();
  await Promise.all(Array.from({ length: 200 }, () => world.read()));
  world.now++;
  await world.submit();
  const [row] = await world.database.read({ sql: "select position, count from calls order by count desc limit 1" });
  const first = Number(row!.position), count = Number(row!.count);
  assert.ok(count > 20, `${count}`);
  const all = await readAll<Call>(world, `${callsOf(world)}?limit=1000`);
  assert.is(all.length, 202);
  for (const limit of [29, count - 1, count, count + 1]) {
    assert.equal(await readAll(world, `${callsOf(world)}?limit=${limit}`), all);
    const only = await readAll(world, callsOf(world) + toQuery({ operation: "read", to: noon + 1, limit }));
    assert.equal(only, all.slice(1));
  }
  const last = 65_536; // positions that a query looks at
  for (const inside of [0, 1, Math.floor(count / 2), count - 1, count, count + 1]) {
    const [newest] = await world.database.read({ sql: "select max(position) as position from commits" });
    const wanted = first + inside + last - 1;
    await moveCommits(world, (position) => position === newest!.position ? wanted : position);
    assert.equal(await readAll(world, `${callsOf(world)}?limit=1000`), all);
    assert.equal(await readAll(world, `${callsOf(world)}?limit=1000&operation=read`), all.slice(1));
  }
});

test("the entry of a call has the ids and the version of the response", async () => {
  const world = await createWorld();
  await world.read();
  world.now += 5;
  const { id } = taken<{ id: string }>(await world.submit(), 201);
  const [submit, read] = await readAll<Call>(world, callsOf(world));
  const common = { month: "2026-11", keyId: world.keyId, deployId: world.deployId, promptVersion: 1 };
  assert.equal(submit, {
    id: id.replace("diag", "call"),
    operation: "submit",
    number: 2,
    ...common,
    createdAt: noon + 5,
  });
  assert.equal(read, { id: read!.id, operation: "read", number: 1, ...common, createdAt: noon });
});

for (
  const query of ["operation=write", "operation=", "keyId=", "deployId=%00", "promptVersion=x", "from=x", "status=1"]
) {
  test(`calls cannot be listed by ${query}`, async () => {
    const world = await createWorld();
    assert.is((await world.manage("GET", `${callsOf(world)}?${query}`)).status, 400);
  });
}

type KeyUsage = { keyId: string | null; deployId: string | null; reads: number; submits: number };

/** A month's usage by key and deployment, as sorted texts. */
const byKey = (keys: KeyUsage[]): string[] =>
  keys.map(({ keyId, deployId, reads, submits }) => `${keyId} ${deployId}: ${reads} + ${submits}`).sort();

test("usage by month, by day, and by key and deployment matches the calls, whatever is pruned", async () => {
  await fc.assert(
    fc.asyncProperty(batches, async (batches) => {
      const { world, entries } = await fillLog([...batches, ...batches]);
      const before = new Map<string, string[]>();
      for (const workspaceId of new Set(entries.map(({ workspaceId }) => workspaceId))) {
        const own = entries.filter((entry) => entry.workspaceId === workspaceId);
        const count = (entries: Entry[]) => {
          const reads = entries.filter(({ operation }) => operation === "read").length;
          return { reads, submits: entries.length - reads };
        };
        const group = (length: number) => {
          const names = [...new Set(own.map(({ createdAt }) => new Date(createdAt).toISOString().slice(0, length)))]
            .sort();
          return names.map((name) =>
            [name, own.filter(({ createdAt }) => new Date(createdAt).toISOString().startsWith(name))] as const
          );
        };
        const months = await readAll(world, `/workspaces/${workspaceId}/usage?limit=1`);
        const wanted = group(7).map(([month, own]) => ({ month, used: own.length, ...count(own) })).reverse();
        assert.equal(months, wanted);
        for (const { month, used, reads, submits } of wanted) {
          const { keys, ...usage } = taken<{ keys: KeyUsage[] }>(
            await world.manage("GET", `/workspaces/${workspaceId}/usage/${month}`),
          );
          const inMonth = own.filter(({ createdAt }) => monthOf(createdAt) === month);
          const ways = [...new Set(inMonth.map(({ keyId, deployId }) => `${keyId} ${deployId}`))];
          const told = ways.map((way) => {
            const { reads, submits } = count(inMonth.filter((each) => `${each.keyId} ${each.deployId}` === way));
            return `${way}: ${reads} + ${submits}`;
          });
          assert.equal(byKey(keys), told.sort());
          const [year, number] = month.split("-").map(Number);
          const limit = workspaceId === world.workspaceId ? 1e6 : 1000;
          const days = group(10).filter(([day]) => day.startsWith(month)).map(([day, own]) => ({ day, ...count(own) }));
          const resetTime = Date.UTC(year!, number!, 1) / 1000;
          const others = { reads: 0, submits: 0 };
          const lastCallAt = Math.max(...inMonth.map(({ createdAt }) => createdAt));
          const quota = { month, limit, used, remaining: limit - used, reads, submits, resetTime };
          assert.equal(usage, { ...quota, lastCallAt, days, others });
          before.set(`/workspaces/${workspaceId}/usage/${month}`, told);
        }
      }
      const oldest = Math.min(...entries.map(({ createdAt }) => createdAt));
      for (const share of [0.3, 0.7]) {
        await prune(world, Math.max(day, Math.floor((world.now - oldest) * (1 - share))));
        for (const [path, told] of before) {
          assert.equal(byKey(taken<{ keys: KeyUsage[] }>(await world.manage("GET", path)).keys), told);
        }
      }
    }),
    { numRuns: 2 },
  );
});

test("usage shows the 100 keys that used most, and sums up the others", async () => {
  const world = await createWorld();
  await world.read();
  const path = `/workspaces/${world.workspaceId}/usage/2026-11`;
  await world.database.write([
    {
      sql: `insert into pruned_calls (workspace_id, month, api_key_id, deployment_id, reads, submits)
        select :id, '2026-11', iif(value = 1, '', 'key_' || value), iif(value = 1, '', 'dep_x'), value + 1, 1
        from json_each(:numbers)`,
      args: { id: world.workspaceId, numbers: JSON.stringify(Array.from({ length: 102 }, (_, index) => index + 1)) },
    },
  ]);
  const usage = taken<{ keys: (KeyUsage & { keyName: string; reference: string })[]; others: unknown }>(
    await world.manage("GET", path),
  );
  assert.is(usage.keys.length, 100);
  assert.equal(usage.keys[0], {
    ...{ keyId: "key_102", keyName: null, deployId: "dep_x", reference: null, reads: 103, submits: 1 },
  });
  assert.equal(usage.others, { reads: 1 + 2 + 3, submits: 2 });
  await world.database.write([{ sql: "delete from pruned_calls where api_key_id like 'key%'" }]);
  const { keys } = taken<typeof usage>(await world.manage("GET", path));
  assert.equal(keys[0], { keyId: null, keyName: null, deployId: null, reference: null, reads: 2, submits: 1 });
  assert.equal(keys[1], {
    ...{ keyId: world.keyId, keyName: "test", deployId: world.deployId, reference: "greeting@production" },
    ...{ reads: 1, submits: 0 },
  });
});

test("a month without usage shows none, however far away", async () => {
  const world = await createWorld({ monthlyLimit: 5 });
  await world.read();
  for (const month of ["1000-01", "1969-12", "2026-10", "2026-12", "9999-12"]) {
    const usage = taken(await world.manage("GET", `/workspaces/${world.workspaceId}/usage/${month}`));
    assert.equal([usage.month, usage.used, usage.remaining, usage.days], [month, 0, 5, []]);
  }
  for (const month of ["2026-13", "2026-00", "2026-1", "26-11", "0999-01", "2026-11-01", "x", "%20"]) {
    const answer = await world.manage("GET", `/workspaces/${world.workspaceId}/usage/${month}`);
    refused(answer, 400, "Field month must be a month such as 2027-01");
  }
});

test("pruning removes what is older than a time from the log, and leaves usage and quota as they were", async () => {
  const world = await createWorld({ monthlyLimit: 6 });
  await world.read();
  const old = taken<{ id: string }>(await world.submit(), 201).id;
  const gone = taken<{ id: string }>(await world.submit(), 201).id;
  await world.manage("DELETE", `/diagnoses/${gone}`);
  world.now += 2 * day;
  const young = taken<{ id: string }>(await world.submit(), 201).id;
  const usage = await world.send("/v1/usage");
  assert.equal(await prune(world, 2 * day), { calls: 0, records: 0, isDone: true });
  world.now++;
  assert.equal(await prune(world, 2 * day), { calls: 3, records: 1, isDone: true });
  assert.equal(await prune(world, 2 * day), { calls: 0, records: 0, isDone: true });
  for (const id of [old, gone]) {
    refused(await world.manage("GET", `/diagnoses/${id}`), 404, `Record ${id} not found`);
    refused(await world.manage("DELETE", `/diagnoses/${id}`), 404, `Record ${id} not found`);
  }
  assert.equal((await readAll<Call>(world, callsOf(world))).map(({ number }) => number), [4]);
  assert.is(taken(await world.manage("GET", `/diagnoses/${young}`)).id, young);
  assert.equal((await world.send("/v1/usage")).json, usage.json);
  const { days, used } = taken(await world.manage("GET", `/workspaces/${world.workspaceId}/usage/2026-11`));
  assert.equal([used, days], [4, [{ day: "2026-11-17", reads: 0, submits: 1 }]]);
  const statuses = [await world.read(), await world.submit(), await world.read()].map(({ status }) => status);
  assert.equal(statuses, [200, 201, 429]);
  const { workspaceId } = world;
  const balance = { used: 6, calls: 6, reads: 2, records: 4, deleted: 0, pruned: 3, balanced: true };
  assert.equal((await verify(world)).ledgers, [{ workspaceId, month: "2026-11", ...balance }]);
});

test("the newest commit is never pruned, however old it is, so that positions are not reused", async () => {
  const world = await createWorld();
  await world.read();
  const id = taken<{ id: string }>(await world.submit(), 201).id;
  world.now += 400 * day;
  assert.equal(await prune(world), { calls: 1, records: 0, isDone: true });
  assert.is(taken(await world.manage("GET", `/diagnoses/${id}`)).id, id);
  await world.submit();
  assert.equal(await prune(world), { calls: 1, records: 1, isDone: true });
  const [row] = await world.database.read({ sql: "select position from commits" });
  assert.is(row!.position, 3);
  await verifyBalanced(world.admin);
});

test("pruning runs in small transactions, and stops at the first commit that is not older", async () => {
  const { database, counts } = counting(await openMemory());
  const world = await createWorld({ database });
  for (let nth = 0; nth < 12; nth++) {
    // The tenth commit is from yesterday. Those after it are older again.
    world.now = nth === 9 ? noon + 9 * day : noon + nth * minute;
    await (nth % 2 === 0 ? world.read() : world.submit());
  }
  await moveCommits(world, (position, index) => position + 600 * index);
  counts.writes = 0;
  world.now = noon + 10 * day - 1;
  assert.equal(await prune(world), { calls: 9, records: 4, isDone: true });
  assert.ok(counts.writes > 3, `${counts.writes}`);
  assert.equal((await readAll<Call>(world, callsOf(world))).map(({ number }) => number), [12, 11, 10]);
  await verifyBalanced(world.admin);
});

for (const olderThanMs of [undefined, 0, day - 1, 10 * 366 * day + 1, 1.5, "86400000", null, -day]) {
  test(`prune refuses olderThanMs ${JSON.stringify(olderThanMs)}`, async () => {
    const world = await createWorld();
    await Promise.all([world.read(), world.submit()]);
    world.now += 400 * day;
    await world.read();
    assert.is((await world.manage("POST", "/prune", { olderThanMs })).status, 400);
    assert.is((await readAll(world, callsOf(world))).length, 3);
  });
}

test("every verification balances while others read, submit, delete and prune", async () => {
  const world = await createWorld({ monthlyLimit: 1e6 });
  for (let nth = 0; nth < 20; nth++) {
    await Promise.all([world.read(), world.submit({ ...goodBody, sessionId: `${nth % 3}` })]);
    world.now += day / 4;
  }
  const work = [
    ...Array.from({ length: 12 }, () => [world.read(), world.submit()]).flat(),
    world.manage("DELETE", `/deployments/${world.deployId}/diagnoses?sessionId=1`),
    world.manage("POST", "/prune", { olderThanMs: 3 * day }),
    world.manage("POST", "/prune", { olderThanMs: day }),
  ];
  const looks = Array.from({ length: 6 }, () => verify(world));
  for (const look of await Promise.all(looks)) assertBalanced(look);
  for (const { status } of await Promise.all(work)) assert.ok(status < 300);
  await verifyBalanced(world.admin);
});

test("verify reports each workspace and month, or one workspace", async () => {
  const world = await createWorld();
  const other = await createTenant(world.admin);
  assert.equal(await verify(world), balancedBooks([]));
  await world.read();
  await world.submit(goodBody, other.deployId, other.key);
  world.now += 30 * day;
  await world.read();
  const none = { deleted: 0, pruned: 0, balanced: true };
  const read = { used: 1, calls: 1, reads: 1, records: 0, ...none };
  const own = ["2026-11", "2026-12"].map((month) => ({ workspaceId: world.workspaceId, month, ...read }));
  const others = [{
    workspaceId: other.workspaceId,
    month: "2026-11",
    used: 1,
    calls: 1,
    reads: 0,
    records: 1,
    ...none,
  }];
  const all = world.workspaceId < other.workspaceId ? [...own, ...others] : [...others, ...own];
  assert.equal(await verify(world), balancedBooks(all));
  assert.equal(await verify(world, `?workspaceId=${world.workspaceId}`), balancedBooks(own));
  refused(await world.manage("GET", "/verify?workspaceId=ws_x"), 404, "Workspace ws_x not found");
});

test("large records are searched, deleted and pruned a few at a time", async () => {
  const { database, counts } = counting(await openMemory());
  const world = await createWorld({ database, maxBodyBytes: 2 ** 20 });
  const count = async <T>(work: Promise<T>): Promise<[result: T, operations: number]> => {
    counts.reads = counts.writes = 0;
    return [await work, counts.reads + counts.writes];
  };
  for (let index = 0; index < 16; index++) {
    const content = { input: "x".repeat(500_000), output: index % 2 === 0 ? "even" : "odd" };
    taken(await world.submit({ sessionId: index < 8 ? "a" : "b", status: 1, content }), 201);
  }
  const records = `/deployments/${world.deployId}/diagnoses`;
  const [found, searches] = await count(readAll(world, `${records}?text=even`));
  assert.is(found.length, 8);
  assert.ok(searches >= 8, `${searches}`);
  const [{ deleted }, deletions] = await count(
    world.manage("DELETE", `${records}?sessionId=a`).then((answer) => taken(answer)),
  );
  assert.is(deleted, 8);
  assert.ok(deletions >= 8, `${deletions}`);
  world.now += 2 * day;
  await world.read();
  const [pruned, prunings] = await count(prune(world));
  assert.equal(pruned, { calls: 16, records: 8, isDone: true });
  assert.ok(prunings >= 6, `${prunings}`);
  await verifyBalanced(world.admin);
});

test("other requests wait for at most one long and one short operation of management, however many run at once", async () => {
  const memory = await openMemory();
  let underWay = 0, most = 0;
  const watch = async <T>(operation: () => Promise<T>): Promise<T> => {
    most = Math.max(most, ++underWay);
    try {
      return await operation();
    } finally {
      underWay--;
    }
  };
  const world = await createWorld({
    database: {
      ...memory,
      read: (statement) => watch(() => memory.read(statement)),
      write: (statements) => watch(() => memory.write(statements)),
    },
  });
  most = 0;
  const answers = await Promise.all([
    ...Array.from({ length: 5 }, () => world.manage("GET", "/verify")),
    world.manage("GET", "/workspaces/ws_x"),
    world.manage("POST", "/workspaces", { name: "x" }),
  ]);
  assert.equal(answers.map(({ status }) => status), [200, 200, 200, 200, 200, 404, 201]);
  assert.ok(most <= 2, `${most} at once`);
});

for (
  const [name, pathOf] of [
    ["statistics", ({ deployId }) => `/deployments/${deployId}/stats`],
    ["an export", ({ deployId }) => `/deployments/${deployId}/diagnoses/export`],
    ["a search", ({ deployId }) => `/deployments/${deployId}/diagnoses?text=none`],
    ["verify", () => "/verify"],
  ] as [string, (world: World) => string][]
) {
  test(`${name} of a long log lets other requests run in between`, async () => {
    const database = await openMemory();
    const turns = { passed: 0, ofReads: [] as number[] };
    const read = (statement: Statement) => {
      turns.ofReads.push(turns.passed);
      return database.read(statement);
    };
    const world = await createWorld({ database: { ...database, read } });
    for (let commit = 0; commit < 8; commit++) await world.submit();
    await moveCommits(world, (_, index) => 1 + index * 20_000);
    turns.ofReads = [];
    let isOver = false;
    const count = () => {
      turns.passed++;
      if (!isOver) setImmediate(count);
    };
    count();
    assert.is((await world.manage("GET", pathOf(world))).status, 200);
    isOver = true;
    assert.ok(turns.ofReads.length >= 3, `${turns.ofReads.length} reads`);
    assert.is(new Set(turns.ofReads).size, turns.ofReads.length);
  });
}

test.run();
