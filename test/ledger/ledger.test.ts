import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { listCalls, listDiagnoses, readUsage, updateWorkspace, verify } from "../actions.ts";
import type { Database } from "../../src/database/database.ts";
import { createTenant, createWorld, goodBody, openMemory } from "../helpers.ts";

const test = suite("ledger");

const at = (text: string) => Date.parse(text);

const turns: [name: string, lastMoment: string][] = [
  ["December to January", "2026-12-31T23:59:59.999Z"],
  ["February of a leap year to March", "2028-02-29T23:59:59.999Z"],
  ["February of another year to March", "2027-02-28T23:59:59.999Z"],
];

for (const [name, lastMoment] of turns) {
  test(`counts each request once and in its own month: ${name}`, async () => {
    const world = await createWorld({ monthlyLimit: 2 });
    const last = at(lastMoment);
    const month = new Date(last).toISOString().slice(0, 7);
    const next = new Date(last + 1).toISOString().slice(0, 7);

    world.now = last;
    assert.equal([(await world.read()).status, (await world.submit()).status], [200, 201]);
    const refused = await world.read();
    assert.equal([refused.status, refused.headers.get("Retry-After")], [429, "1"]);
    world.now = last + 1;
    const first = await world.submit();
    assert.equal([first.status, first.headers.get("X-RateLimit-Used")], [201, "1"]);
    world.now = last + 2;
    assert.is((await world.read()).status, 200);

    for (const used of [month, next]) {
      const { reads, submits } = await readUsage(world.admin, world.workspaceId, used);
      assert.equal({ reads, submits }, { reads: 1, submits: 1 });
    }
    const calls = (await listCalls(world.admin, { workspaceId: world.workspaceId }, { limit: 10 })).items;
    assert.equal(calls.map((call) => [call.month, call.number]), [[next, 2], [next, 1], [month, 2], [month, 1]]);
    assert.ok((await verify(world.admin)).balanced);
  });
}

test("a clock that steps back into the last month grants nothing twice", async () => {
  const world = await createWorld({ monthlyLimit: 1 });
  world.now = at("2026-11-30T23:59:59.999Z");
  assert.is((await world.read()).status, 200);
  world.now += 1;
  assert.is((await world.read()).status, 200);
  world.now -= 1;
  assert.is((await world.read()).status, 429);
  assert.ok((await verify(world.admin)).balanced);
});

test("of many requests at once exactly the limit is accepted, each with a number of its own", async () => {
  const world = await createWorld({ monthlyLimit: 30 });
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => index % 2 === 0 ? world.read() : world.submit()),
  );
  const accepted = answers.filter(({ status }) => status === 200 || status === 201);
  assert.is(accepted.length, 30);
  assert.is(answers.filter(({ status }) => status === 429).length, 70);
  const used = accepted.map(({ headers }) => Number(headers.get("X-RateLimit-Used"))).sort((a, b) => a - b);
  assert.equal(used, Array.from({ length: 30 }, (_, index) => index + 1));
  assert.ok((await verify(world.admin)).balanced);
});

test("one workspace's exhausted quota leaves the others alone", async () => {
  const world = await createWorld({ monthlyLimit: 1 });
  const other = await createTenant(world.admin, 5);
  await world.read();
  assert.is((await world.read()).status, 429);
  assert.is((await world.read(other.deployId, other.key)).status, 200);
});

test("a limit that is raised holds from the next request on", async () => {
  const world = await createWorld({ monthlyLimit: 1 });
  await world.read();
  assert.is((await world.read()).status, 429);
  await updateWorkspace(world.admin, world.workspaceId, { monthlyLimit: 2 });
  assert.is((await world.read()).status, 200);
});

/** A database whose write fails at one of its statements, by replacing it with one that cannot run. */
function failingAt(database: Database, fault: { statement: number }): Database {
  return {
    ...database,
    write: (statements) =>
      database.write(
        statements.map((statement, index) =>
          index === fault.statement ? { sql: "select * from no_such_table" } : statement
        ),
      ),
  };
}

test("whichever statement fails, nothing of the request is left, and the next one is served", async () => {
  const memory = await openMemory();
  const fault = { statement: -1 };
  const world = await createWorld({ database: failingAt(memory, fault) });
  let accepted = 0;
  // A read takes five statements, a submit six.
  for (const [statements, send] of [[5, () => world.read()], [6, () => world.submit()]] as const) {
    for (fault.statement = 0; fault.statement < statements; fault.statement++) {
      assert.is((await send()).status, 500);
      assert.is((await readUsage(world.admin, world.workspaceId)).used, accepted);
    }
    fault.statement = -1;
    assert.is((await send()).status, statements === 5 ? 200 : 201);
    accepted++;
    assert.ok((await verify(world.admin)).balanced);
  }
});

test("verify finds a book that was tampered with", async () => {
  const tampering = [
    "update quota_usage set reads = reads + 1",
    "update quota_usage set reads = reads - 1, submits = submits + 1",
    "delete from quota_usage",
    "delete from diagnoses",
    "update calls set operation = 'read' where operation = 'submit'",
    "update calls set number = 7 where number = 2",
    "update calls set number = 1",
    "update calls set count = 2 where number = 2",
    "update calls set position = 9 where number = 2",
    "update calls set deployment_id = (select max(id) from deployments), prompt_version = 2 where operation = 'submit'",
    "update diagnoses set position = (select position from calls where operation = 'read')",
    "update diagnoses set prompt_version = 2",
    "update diagnoses set deployment_id = 'dep_x'",
    "update calls set deployment_id = 'dep_x' where operation = 'read'",
    "update calls set api_key_id = 'key_x' where operation = 'read'",
    "update commits set month = '2026-10' where position = 1",
    "update commits set created_at = created_at + 40 * 86400000 where position = 2",
    "delete from commits where position = 1",
    "delete from commits",
  ];
  for (const sql of tampering) {
    const world = await createWorld();
    await world.read();
    await world.submit();
    assert.ok((await verify(world.admin, world.workspaceId)).balanced);
    await world.database.write([{ sql }]);
    assert.not((await verify(world.admin)).balanced, sql);
    assert.not((await verify(world.admin, world.workspaceId)).balanced, sql);
  }
});

test("whatever happens, the books follow a model that only counts", async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constantFrom("read", "submit", "bad body", "bad key") }),
    fc.record({ kind: fc.constant("limit"), limit: fc.integer({ min: 0, max: 8 }) }),
    fc.record({ kind: fc.constant("wait"), days: fc.integer({ min: 1, max: 20 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const world = await createWorld({ monthlyLimit: 5 });
      let limit = 5;
      const used = new Map<string, number>();
      for (const step of steps) {
        const month = new Date(world.now).toISOString().slice(0, 7);
        const count = used.get(month) ?? 0;
        if ("limit" in step) {
          limit = step.limit;
          await updateWorkspace(world.admin, world.workspaceId, { monthlyLimit: limit });
        } else if ("days" in step) {
          world.now += step.days * 86_400_000;
        } else if (step.kind === "bad body" || step.kind === "bad key") {
          const answer = step.kind === "bad body" ? await world.submit("{}") : await world.read(world.deployId, "pl_x");
          assert.is(answer.status, step.kind === "bad body" ? 400 : 401);
        } else {
          const answer = step.kind === "read" ? await world.read() : await world.submit();
          const wanted = count >= limit ? 429 : step.kind === "read" ? 200 : 201;
          assert.is(answer.status, wanted);
          if (wanted !== 429) used.set(month, count + 1);
          assert.is(answer.headers.get("X-RateLimit-Used"), String(used.get(month) ?? 0));
          assert.is(answer.headers.get("X-RateLimit-Remaining"), String(Math.max(0, limit - (used.get(month) ?? 0))));
        }
      }
      const { balanced, ledgers } = await verify(world.admin);
      assert.ok(balanced);
      assert.equal(ledgers.map((ledger) => [ledger.month, ledger.used]), [...used].sort());
    }),
    { numRuns: 25 },
  );
});

test("records are listed newest first, by session and by status", async () => {
  const world = await createWorld();
  for (const [sessionId, status] of [["a", 1], ["b", 2], ["a", 2], ["a", 1]] as const) {
    await world.submit({ ...goodBody, sessionId, status });
    world.now += 1;
  }
  const list = async ({ limit = 10, ...filter }: { limit?: number; sessionId?: string; status?: number }) =>
    (await listDiagnoses(world.admin, { deployId: world.deployId, ...filter }, { limit })).items
      .map(({ createdAt }) => world.now - createdAt);
  assert.equal(await list({}), [1, 2, 3, 4]);
  assert.equal(await list({ sessionId: "a" }), [1, 2, 4]);
  assert.equal(await list({ status: 2 }), [2, 3]);
  assert.equal(await list({ sessionId: "a", status: 1 }), [1, 4]);
  assert.equal(await list({ limit: 2 }), [1, 2]);
  assert.equal(await list({ sessionId: "c" }), []);
});

test.run();
