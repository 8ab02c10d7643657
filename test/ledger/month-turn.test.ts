// The turn of a month to the millisecond, also while requests are under way. Each request counts in exactly one month.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { listCalls, listDiagnoses } from "../actions.ts";
import type { Database } from "../../src/database/database.ts";
import { verifyBalanced } from "../balanced.ts";
import { createWorld, goodBody, openMemory } from "../helpers.ts";
import type { Answer, World } from "../helpers.ts";
import { ledgerOf, losingReplies, readBy, submitBy } from "./requests.ts";
import type { Loss } from "./requests.ts";

const test = suite("turn of the month");

const day = 86_400_000;
const midnight = Date.UTC(2027, 0, 1);
const monthAt = (at: number) => new Date(at).toISOString().slice(0, 7);

/** The quota used in each month. Checks that the ledger balances, and that each call is in the month of its time. */
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
  ["March of 2100, which is no leap year", Date.UTC(2100, 2, 1), [Date.UTC(2100, 2, 1), Date.UTC(2100, 3, 1)]],
];

for (const [first, moment, [before, after]] of turns) {
  test(`a millisecond before, at and after the beginning of ${first}, answers and usage agree on the month`, async () => {
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

const directions = [["turns", midnight - 1, midnight], ["turns back", midnight, midnight - 1]] as const;

for (const failure of ["retryable", "indeterminate"] as const) {
  for (const [direction, start, end] of directions) {
    test(`a group counts once, in the month of its first attempt, if the month ${direction} while attempts are ${failure}`, async () => {
      const loss: Loss = { times: 0, failure };
      const world = await createWorld({ monthlyLimit: 3, database: losingReplies(await openMemory(), loss) });
      loss.meanwhile = () => world.now = end;
      world.now = start;
      loss.times = 2;
      const ledger = ledgerOf(world);
      const admissions = [await readBy(world), await submitBy(world, "a"), await submitBy(world)];
      const decisions = await Promise.all(admissions.map((admission) => ledger.admit(admission)));
      assert.equal(decisions.map(({ outcome }) => outcome), ["read", "recorded", "recorded"]);
      const resetsAt = start < midnight ? midnight : Date.UTC(2027, 1, 1);
      for (const decision of decisions) assert.is("quota" in decision && decision.quota.resetsAt, resetsAt);
      assert.equal(await usedOf(world), { [monthAt(start)]: 3 });
      // The other month's quota is untouched.
      assert.is((await world.read()).headers.get("X-RateLimit-Used"), "1");
      assert.equal(await usedOf(world), { [monthAt(start)]: 3, [monthAt(end)]: 1 });
      world.now = start;
      assert.is((await world.read()).status, 429);
    });
  }
}

test("a refusal for a month that ends during the decision has a Retry-After of a second", async () => {
  const loss: Loss = { times: 0 };
  const world = await createWorld({ monthlyLimit: 0, database: losingReplies(await openMemory(), loss) });
  loss.meanwhile = () => world.now = midnight + 5_000;
  world.now = midnight - 1;
  loss.times = 1;
  const { status, headers } = await world.read();
  assert.equal([status, headers.get("Retry-After")], [429, "1"]);
});

test("requests that wait while the month turns count in the month in which they are decided", async () => {
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

test("a clock that moves back and forth between two months grants no quota twice", async () => {
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

test("a repeat with its Idempotency-Key in another month costs nothing in either month", async () => {
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
