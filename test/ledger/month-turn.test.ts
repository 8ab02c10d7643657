// The turn of a month to the millisecond, and what is under way while it turns: each request counts in one month.
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { listCalls, listDiagnoses } from "../actions.ts";
import { hashApiKey } from "../../src/common/ids.ts";
import type { Read, Submit } from "../../src/ledger/admission.ts";
import { classifyErrors } from "../../src/database/database.ts";
import type { Database, Failure } from "../../src/database/database.ts";
import { createLedger } from "../../src/ledger/ledger.ts";
import { verifyBalanced } from "../balanced.ts";
import { createWorld, goodBody, openMemory } from "../helpers.ts";
import type { Answer, World } from "../helpers.ts";

const test = suite("turn of the month");

const day = 86_400_000;
const midnight = Date.UTC(2027, 0, 1);
const monthAt = (at: number) => new Date(at).toISOString().slice(0, 7);

/** What is used of each month, once the books are known to balance, and each call to stand in the month of its time. */
async function usedOf({ admin, workspaceId }: World): Promise<Record<string, number>> {
  const ledgers = await verifyBalanced(admin, workspaceId);
  for (const { month, createdAt } of (await listCalls(admin, { workspaceId }))) {
    assert.is(month, monthAt(createdAt));
  }
  return Object.fromEntries(ledgers.map(({ month, used }) => [month, used]));
}

const usageNow = async (world: World) => {
  const { month, used, remaining, resetTime } = (await world.send("/v1/usage")).json as Record<string, unknown>;
  return [month, used, remaining, resetTime];
};

const turns: [first: string, moment: number, resets: [before: number, after: number]][] = [
  ["January", midnight, [midnight, Date.UTC(2027, 1, 1)]],
  ["March of a leap year", Date.UTC(2028, 2, 1), [Date.UTC(2028, 2, 1), Date.UTC(2028, 3, 1)]],
  ["February 29", Date.UTC(2028, 1, 29), [Date.UTC(2028, 2, 1), Date.UTC(2028, 2, 1)]],
  ["March of another year", Date.UTC(2027, 2, 1), [Date.UTC(2027, 2, 1), Date.UTC(2027, 3, 1)]],
  ["March of a century's year, which is none", Date.UTC(2100, 2, 1), [Date.UTC(2100, 2, 1), Date.UTC(2100, 3, 1)]],
];

for (const [first, moment, [before, after]] of turns) {
  test(`a millisecond before, at and after the beginning of ${first}, answers and usage tell of the same month`, async () => {
    const world = await createWorld({ monthlyLimit: 10 });
    const used: Record<string, number> = {};
    for (const [offset, reset] of [[-1, before], [0, after], [1, after]] as const) {
      world.now = moment + offset;
      const month = monthAt(world.now);
      for (const answer of [await world.read(), await world.submit()]) {
        used[month] = (used[month] ?? 0) + 1;
        assert.is(answer.headers.get("X-RateLimit-Used"), String(used[month]));
        assert.is(answer.headers.get("X-RateLimit-Reset"), String(reset / 1000));
      }
      assert.equal(await usageNow(world), [month, used[month], 10 - used[month]!, reset / 1000]);
    }
    assert.equal(await usedOf(world), used);
  });
}

/** A database whose writes fail so many times, before or after they take effect; `meanwhile` something else happens. */
function failing(database: Database, fault: { times: number; failure: Failure; meanwhile: () => void }): Database {
  const thrown = new Error("no luck");
  return classifyErrors({
    ...database,
    write: async (statements) => {
      if (fault.times === 0) return database.write(statements);
      fault.times--;
      if (fault.failure === "indeterminate") await database.write(statements);
      fault.meanwhile();
      throw thrown;
    },
  }, (error) => error === thrown ? fault.failure : "rejected");
}

/** A read and two submits, of which the first has an idempotency key. */
async function admissionsOf({ key, deployId }: World): Promise<(Read | Submit)[]> {
  const by = { keyHash: await hashApiKey(key), deployId };
  const record = { sessionId: "s", status: 1, measures: "null,null,null", document: '{"sessionId":"s"}' };
  const submit = { operation: "submit" as const, ...by, record };
  const idempotency = { key: "a", fingerprint: "f" };
  return [{ operation: "read", ...by }, { ...submit, idempotency }, submit];
}

for (const failure of ["retryable", "indeterminate"] as const) {
  for (
    const [direction, start, end] of [["turns", midnight - 1, midnight], [
      "turns back",
      midnight,
      midnight - 1,
    ]] as const
  ) {
    test(`what the month ${direction} under, while its attempts are ${failure}, counts where it was begun, once`, async () => {
      const fault = { times: 0, failure, meanwhile: () => {} };
      const world = await createWorld({ monthlyLimit: 3, database: failing(await openMemory(), fault) });
      fault.meanwhile = () => world.now = end;
      world.now = start;
      fault.times = 2;
      // Without the router they are sure to be in one group.
      const ledger = createLedger(world.database, () => world.now);
      const verdicts = await Promise.all((await admissionsOf(world)).map((admission) => ledger.admit(admission)));
      assert.equal(verdicts.map(({ outcome }) => outcome), ["read", "recorded", "recorded"]);
      const resetsAt = start < midnight ? midnight : Date.UTC(2027, 1, 1);
      for (const verdict of verdicts) assert.is("quota" in verdict && verdict.quota.resetsAt, resetsAt);
      assert.equal(await usedOf(world), { [monthAt(start)]: 3 });
      // Of the month that it is now all is there still.
      assert.is((await world.read()).headers.get("X-RateLimit-Used"), "1");
      assert.equal(await usedOf(world), { [monthAt(start)]: 3, [monthAt(end)]: 1 });
      world.now = start;
      assert.is((await world.read()).status, 429);
    });
  }
}

test("a refusal for a month that ends while it is decided tells to come back in a second", async () => {
  const fault = { times: 0, failure: "indeterminate" as Failure, meanwhile: () => {} };
  const world = await createWorld({ monthlyLimit: 0, database: failing(await openMemory(), fault) });
  fault.meanwhile = () => world.now = midnight + 5_000;
  world.now = midnight - 1;
  fault.times = 1;
  const { status, headers } = await world.read();
  assert.equal([status, headers.get("Retry-After")], [429, "1"]);
});

test("what waits while the month turns counts in the month that it is decided in", async () => {
  const memory = await openMemory();
  let release = () => {};
  let isHeld = Promise.resolve();
  let isUnderWay = () => {};
  const database: Database = {
    ...memory,
    write: async (statements) => {
      isUnderWay();
      await isHeld;
      return memory.write(statements);
    },
  };
  const world = await createWorld({ monthlyLimit: 2, database });
  world.now = midnight - 1;
  isHeld = new Promise((resolve) => release = resolve);
  const first = await new Promise<Promise<Answer>[]>((resolve) => {
    isUnderWay = () => resolve(sent);
    const sent = [world.read()];
  });
  const waiting = [world.submit(), world.read(), world.submit()];
  world.now = midnight;
  release();
  const statuses = (await Promise.all([...first, ...waiting])).map(({ status }) => status);
  assert.is(statuses[0], 200);
  assert.is(statuses.filter((status) => status === 429).length, 1);
  assert.equal(await usedOf(world), { "2026-12": 1, "2027-01": 2 });
});

test("a clock that goes to and fro between two months grants neither anything twice", async () => {
  const world = await createWorld({ monthlyLimit: 4 });
  const accepted: Record<string, number> = { "2026-12": 0, "2027-01": 0 };
  for (const offset of [-1, 0, -1, 1, -day, 0, -1, 28 * day, 0, -1]) {
    world.now = midnight + offset;
    const answers = await Promise.all([world.read(), world.submit(), world.read()]);
    const month = monthAt(world.now);
    accepted[month]! += answers.filter(({ status }) => status < 300).length;
    assert.equal((await usageNow(world)).slice(0, 2), [month, accepted[month]]);
    const refused = answers.find(({ status }) => status === 429);
    if (offset === -1 && refused !== undefined) assert.is(refused.headers.get("Retry-After"), "1");
  }
  assert.equal(accepted, { "2026-12": 4, "2027-01": 4 });
  assert.equal(await usedOf(world), accepted);
});

test("a repeat under its Idempotency-Key in another month costs neither month anything", async () => {
  const world = await createWorld({ monthlyLimit: 1 });
  const submit = () => world.submit(goodBody, world.deployId, world.key, { "Idempotency-Key": "a" });
  world.now = midnight - 1;
  const first = await submit();
  for (const offset of [0, 1, day, -1, -day]) {
    world.now = midnight + offset;
    const repeat = await submit();
    assert.equal([repeat.status, repeat.text], [201, first.text]);
    assert.is(repeat.headers.get("X-RateLimit-Used"), offset < 0 ? "1" : "0");
  }
  assert.equal(await usedOf(world), { "2026-12": 1 });
  assert.is((await listDiagnoses(world.admin, { deployId: world.deployId })).length, 1);
});

test.run();
