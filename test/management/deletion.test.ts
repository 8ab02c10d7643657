// Deleting a workspace removes everything in it and nothing else. The ledger balances before, during and after.
// Runs on Node alone.
import process from "node:process";
import fc from "fast-check";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Call } from "../../src/schema/ledger.ts";
import type { Database } from "../../src/database/database.ts";
import { verifyLedger } from "../../src/log/verify.ts";
import { readMonth } from "../../src/log/month-usage.ts";
import { deleteWorkspace } from "../../src/management/access/deletion.ts";
import { runUpkeep } from "../../src/management/upkeep/upkeep.ts";
import { call } from "../actions.ts";
import { unbalanced, verifyBalanced } from "../balanced.ts";
import { createTenant, createWorld, goodBody, promptFile } from "../helpers.ts";
import type { Tenant, World } from "../helpers.ts";
import { openSnapshot, takeSnapshot } from "../snapshots.ts";
import { moveCommits } from "./filled-log.ts";
import { dump, readAll, refused, taken } from "./management.ts";

const test = suite("deletion of workspaces");

const day = 86_400_000;

let filled: ReturnType<typeof makeFilled> | undefined;

/** A world with one of everything, in its own workspace and in another one: a copy, as making it takes several times as long. */
async function fill(): Promise<{ world: World; other: Tenant; diagnosisIds: string[] }> {
  const { tenant, snapshot, now, ...rest } = await (filled ??= makeFilled());
  const world = await createWorld({ monthlyLimit: 1e6, tenant, database: await openSnapshot(snapshot) });
  return { ...rest, world: Object.assign(world, { now }) };
}

async function makeFilled() {
  const world = await createWorld({ monthlyLimit: 1e6 });
  const other = await createTenant(world.admin, 1e6, "Other");
  const diagnosisIds: string[] = [];
  for (let nth = 0; nth < 6; nth++) {
    for (const { key, deployId } of [world, other]) {
      const headers = { "Idempotency-Key": `"order-${nth}"` };
      const { id } = taken<{ id: string }>(await world.submit(goodBody, deployId, key, headers), 201);
      await Promise.all([world.read(deployId, key), world.submit(goodBody, deployId, key)]);
      if (nth === 2) taken(await world.manage("DELETE", `/diagnoses/${id}`));
      else if (key === world.key) diagnosisIds.push(id);
    }
    world.now += 8 * day;
  }
  for (const { workspaceId, promptId, deployId } of [world, other]) {
    taken(await world.manage("POST", `/workspaces/${workspaceId}/keys`, { deployId }), 201);
    taken(await world.manage("POST", `/prompts/${promptId}/versions`, { ...promptFile, title: "Second" }), 201);
    taken(await world.manage("POST", `/deployments/${deployId}/promote`, { version: 2 }));
  }
  const { workspaceId, key, keyId, promptId, deployId, now } = world;
  const tenant = { workspaceId, key, keyId, promptId, deployId };
  return { tenant, other, diagnosisIds, now, snapshot: await takeSnapshot(world.database) };
}

const remove = (world: World, confirm = "Acme", { workspaceId }: Tenant = world) =>
  world.manage("DELETE", `/workspaces/${workspaceId}?confirm=${encodeURIComponent(confirm)}`);

/** Everything that management shows of a workspace. */
async function look(world: World, { workspaceId, deployId, key, keyId, promptId }: Tenant): Promise<unknown[]> {
  const paths = [
    ...["", "/calls?limit=1000", "/usage", "/usage/2026-11", "/keys", "/prompts", "/deployments"]
      .map((path) => `/workspaces/${workspaceId}${path}`),
    ...[`/keys/${keyId}`, `/prompts/${promptId}`, `/deployments/${deployId}`, `/deployments/${deployId}/history`],
    `/deployments/${deployId}/diagnoses?limit=1000`,
  ];
  const answers = [];
  for (const path of paths) answers.push((await world.manage("GET", path)).text);
  const usage = await world.send("/v1/usage", { headers: { Authorization: `Bearer ${key}` } });
  return [...answers, usage.text];
}

/** The same database, which fails after some transactions. */
function failingAfter(database: Database, writes: number): Database {
  return {
    ...database,
    write: (statements) => writes-- > 0 ? database.write(statements) : Promise.reject(new Error("killed")),
  };
}

async function isKilled(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return false;
  } catch (error) {
    assert.is((error as Error).message, "killed");
    return true;
  }
}

test("everything in the workspace is removed, and nothing in others", async () => {
  const { world, other } = await fill();
  const before = await look(world, other);
  const { used } = (await verifyBalanced(world.admin, world.workspaceId))
    .reduce((sum, ledger) => ({ used: sum.used + ledger.used }), { used: 0 });
  assert.equal(taken(await remove(world)), { calls: used, records: 11, isDone: true });
  assert.equal(await look(world, other), before);
  const text = await dump(world, "audit_log");
  for (const id of [world.keyId, world.promptId, world.deployId, "Acme"]) assert.not.ok(text.includes(id), id);
  const tombstone = { id: world.workspaceId, reads: 6, submits: 12, months: 2, deletedAt: world.now };
  assert.equal(await readAll(world, "/deleted-workspaces"), [{ ...tombstone, finishedAt: world.now }]);
  assert.equal((await readAll<{ id: string }>(world, "/workspaces")).map(({ id }) => id), [other.workspaceId]);
  assert.is((await world.read()).status, 401);
  refused(
    await world.manage("GET", `/workspaces/${world.workspaceId}`),
    404,
    `Workspace ${world.workspaceId} not found`,
  );
  const ledgers = await verifyBalanced(world.admin);
  assert.ok(ledgers.every(({ workspaceId }) => workspaceId === other.workspaceId));
  // A client whose first response was lost learns from a repeat that the deletion is complete.
  assert.equal(taken(await remove(world)), { calls: 0, records: 0, isDone: true });
});

test("nothing is deleted without the name of the workspace", async () => {
  const { world } = await fill();
  const before = await look(world, world);
  const { workspaceId } = world;
  refused(
    await remove(world, "acme"),
    409,
    `Field confirm must be the name of workspace ${workspaceId}; nothing was deleted`,
  );
  refused(await world.manage("DELETE", `/workspaces/${workspaceId}`), 400, "Missing required field confirm");
  refused(await world.manage("DELETE", "/workspaces/ws_x?confirm=Acme"), 404, "Workspace ws_x not found");
  assert.equal(await look(world, world), before);
  assert.equal(await readAll(world, "/deleted-workspaces"), []);
});

test("after the first transaction the keys are refused and the workspace is hidden, wherever the deletion stops", async () => {
  for (let writes = 1;; writes += isFull ? 1 : 7) {
    const { world, other, diagnosisIds } = await fill();
    const before = await look(world, other);
    const management = { ...world.admin, database: failingAfter(world.database, writes) };
    const input = { id: world.workspaceId, confirm: "Acme" };
    if (!await isKilled(call(deleteWorkspace, management, input))) return assert.ok(writes > 8, `${writes}`);
    assert.equal([await world.read(), await world.submit()].map(({ status }) => status), [401, 401]);
    const { workspaceId, keyId, promptId, deployId } = world;
    for (const path of [`/workspaces/${workspaceId}`, `/keys/${keyId}`, `/prompts/${promptId}`]) {
      assert.is((await world.manage("GET", path)).status, 404, path);
    }
    for (const path of [`/deployments/${deployId}/diagnoses`, `/diagnoses/${diagnosisIds[4]}`]) {
      assert.is((await world.manage("GET", path)).status, 404, path);
    }
    for (
      const path of [`/workspaces/${workspaceId}/keys`, `/keys/${keyId}/rotate`, `/deployments/${deployId}/promote`]
    ) {
      const body = path.endsWith("promote") ? { version: 1 } : {};
      assert.is((await world.manage("POST", path, body)).status, 404, path);
    }
    await verifyBalanced(world.admin);
    assert.equal(await look(world, other), before);
    // A repeated request continues the deletion, and so does the upkeep of a service.
    if (writes % 2 === 0) assert.is(taken(await remove(world)).isDone, true);
    else await runUpkeep(world.admin, { holder: "test", interval: 1, isOver: () => false });
    assert.is((await readAll<{ finishedAt: unknown }>(world, "/deleted-workspaces"))[0]!.finishedAt, world.now);
    assert.equal(await look(world, other), before);
    await verifyBalanced(world.admin);
  }
});

test("a key that is created while its workspace is deleted is refused", async () => {
  const { world } = await fill();
  const { database } = world;
  let key = "";
  // This runs after the first transaction, as if it had been requested before it.
  const write: Database["write"] = async (statements) => {
    const results = await database.write(statements);
    if (key === "") {
      key = "asked";
      await database.write([{
        sql: "insert into api_keys (id, workspace_id, name, prefix, created_at) values ('key_late', ?, '', 'pl', 1)",
        args: [world.workspaceId],
      }]);
    }
    return results;
  };
  const input = { id: world.workspaceId, confirm: "Acme" };
  assert.is((await call(deleteWorkspace, { ...world.admin, database: { ...database, write } }, input)).isDone, true);
  assert.not.ok((await dump(world)).includes("key_late"));
});

/** What can happen while the ledger is verified. */
type Action = "submit" | "read" | "prune all" | "prune one" | "retain" | "delete record" | "delete" | "later";

test("every verification balances while calls are pruned, retention runs and workspaces are deleted", async () => {
  const action = fc.constantFrom<Action>(
    ...["submit", "read", "prune all", "prune one", "retain", "delete record", "delete", "later"] as const,
  );
  const property = fc.asyncProperty(
    fc.array(fc.tuple(action, fc.nat({ max: 2 }), fc.integer({ min: 1, max: 8 })), { minLength: 20, maxLength: 60 }),
    fc.constantFrom(1, 200, 900),
    async (actions, spread) => {
      const world = await createWorld({ monthlyLimit: 1e6 });
      const { database } = world;
      const tenants: Tenant[] = [world, await createTenant(world.admin, 1e6), await createTenant(world.admin, 1e6)];
      const untouched = await createTenant(world.admin, 1e6, "Untouched");
      const use = async (tenant: Tenant) =>
        await Promise.all([
          world.submit(goodBody, tenant.deployId, tenant.key),
          world.read(tenant.deployId, tenant.key),
          world.submit(goodBody, untouched.deployId, untouched.key),
        ]);
      for (let nth = 0; nth < 12; nth++) {
        await use(tenants[nth % 3]!);
        world.now += 4 * day;
      }
      await moveCommits(world, (position, index) => position + spread * index);
      const work = [...actions];

      async function act(): Promise<void> {
        const [name, nth, size] = work.shift() ?? ["later", 0, 1];
        const tenant = tenants[nth]!;
        const { workspaceId } = tenant;
        const prune = (of: object) => world.manage("POST", "/prune", { olderThanMs: size * 5 * day, ...of });
        if (name === "submit") await world.submit(goodBody, tenant.deployId, tenant.key);
        if (name === "read") await world.read(tenant.deployId, tenant.key);
        // The other workspace may be pruned with all, and keeps its count.
        if (name === "prune all" && size > 5) await prune({});
        if (name === "prune one") await prune({ workspaceId });
        if (name === "later") world.now += size * day;
        if (name === "retain") {
          const kept = { keepRecordsMs: size * 2 * day, keepCallsMs: size * 4 * day };
          await world.manage("PATCH", `/workspaces/${workspaceId}`, kept);
          world.now += 3_600_000;
          await runUpkeep(world.admin, { holder: "x", interval: 1, isOver: () => false });
        }
        if (name === "delete record") {
          await world.manage("DELETE", `/deployments/${tenant.deployId}/diagnoses?sessionId=${goodBody.sessionId}`);
        }
        if (name === "delete" && size > 4) {
          const management = { ...world.admin, database: failingAfter(database, size) };
          await call(deleteWorkspace, management, { id: workspaceId, confirm: "Acme" }).catch((error) => {
            assert.match((error as Error).message, /^killed$|must be the name/);
          });
        }
      }

      /** Runs something between each two reads. */
      const between: Database = {
        ...database,
        async read(statement) {
          const rows = await database.read(statement);
          await act();
          return rows;
        },
      };
      while (work.length > 0) {
        const ledgers = await verifyLedger(between, undefined, () => {}, 3);
        assert.is(unbalanced(ledgers).join("\n"), "");
        const month = await readMonth(between, untouched.workspaceId, "2026-11", () => {});
        const sum = month!.keys.reduce((sum, { reads, submits }) => sum + reads + submits, 0);
        assert.is(sum, month!.usage.used);
      }
      await verifyBalanced(world.admin);
      const path = `/workspaces/${untouched.workspaceId}`;
      const months = await readAll<{ used: number }>(world, `${path}/usage`);
      assert.is(months.reduce((sum, { used }) => sum + used, 0), 12);
      const numbers = (await readAll<Call>(world, `${path}/calls?limit=1000`)).map(({ month, number }) => ({
        month,
        number,
      }));
      for (const { month } of numbers) {
        const own = numbers.filter((call) => call.month === month).map(({ number }) => number).reverse();
        assert.equal(own, own.map((_, index) => own[0]! + index));
      }
      assert.equal(world.logged, []);
    },
  );
  await fc.assert(property, {
    numRuns: Number(process.env.NUM_RUNS ?? (isFull ? 10 : 2)),
    endOnFailure: true,
    includeErrorInReport: true,
  });
});

test.run();
