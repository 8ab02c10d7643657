// Alerts over random histories: two services check while records come and the clock steps. A plain recount of what was sent says in
// which state each alert must be, and which events there are.
// Runs on Node alone.
import fc from "fast-check";
import * as assert from "uvu/assert";
import { checkAlerts } from "../../src/management/events/alert-checks.ts";
import type { Alert } from "../../src/management/events/alerts.ts";
import { verifyBalanced } from "../balanced.ts";
import { createWorld, goodBody, managementOf } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { isFull, suite } from "../suite.ts";
import { publish, readAll, taken } from "./management.ts";

const test = suite("histories of alerts");

const minute = 60_000, hour = 60 * minute; // ms

type Sent = { at: number; isRead: boolean; isOther: boolean; failed: boolean; latency: number; thumb: boolean | null };
type Value = { value: number | null; count: number };

const shareOf = (all: boolean[]): Value => ({
  value: all.length === 0 ? null : all.filter(Boolean).length / all.length,
  count: all.length,
});

function rankOf(latencies: number[]): Value {
  const sorted = [...latencies].sort((a, b) => a - b);
  return { value: sorted[Math.ceil(0.95 * sorted.length) - 1] ?? null, count: sorted.length };
}

/** What each condition counts. Without a number of records it is a total, and below the limit it is silence. */
const conditions: Record<string, (sent: Sent[]) => Value> = {
  "failures>40%": (sent) => shareOf(sent.filter(({ isRead }) => !isRead).map(({ failed }) => failed)),
  "thumb<60%": (sent) => shareOf(sent.flatMap(({ thumb }) => thumb ?? [])),
  "p95>2s": (sent) => rankOf(sent.filter(({ isRead }) => !isRead).map(({ latency }) => latency)),
  "records<2": (sent) => ({ value: sent.filter(({ isRead }) => !isRead).length, count: 0 }),
  "reads>3": (sent) => ({ value: sent.filter(({ isRead }) => isRead).length, count: 0 }),
};
const limits: Record<string, number> = {
  "failures>40%": 0.4,
  "thumb<60%": 0.6,
  "p95>2s": 2000,
  "records<2": 2,
  "reads>3": 3,
};
const isTotal = (condition: string) => /^re/.test(condition);

/** What the test expects of an alert, with what it has said. */
type Expected = {
  alert: Alert;
  isOfOne: boolean;
  state: Alert["state"];
  clearAt: number | null;
  checkedAt: number | null;
  said: string[];
};

/** Does by the book what a check must do. */
function expectCheck(expected: Expected, sent: Sent[], now: number): void {
  const { alert: { condition, overMs, atLeast, keepFiringMs, changedAt }, isOfOne, checkedAt } = expected;
  if (checkedAt !== null && Math.abs(now - checkedAt) < 55_000) return;
  expected.checkedAt = now;
  const seen = sent.filter(({ at, isOther }) => at >= now - overMs && at < now && !(isOfOne && isOther));
  const { value, count } = conditions[condition]!(seen), limit = limits[condition]!;
  const isTooNew = condition.startsWith("records<") && now >= changedAt && now - changedAt < overMs;
  const holds = value === null || count < (atLeast ?? 0) || isTooNew
    ? undefined
    : condition.includes(">")
    ? value > limit
    : value < limit;
  if (expected.state !== "firing") {
    expected.state = holds === undefined ? "no_data" : holds ? "firing" : "ok";
    if (holds) expected.said.push("alert.fired");
    return;
  }
  if (holds === undefined) return;
  expected.clearAt = holds ? null : Math.min(expected.clearAt ?? now, now);
  if (expected.clearAt === null || now - expected.clearAt < keepFiringMs) return;
  Object.assign(expected, { state: "ok", clearAt: null });
  expected.said.push("alert.resolved");
}

const record = fc.record({
  isRead: fc.boolean(),
  isOther: fc.boolean(),
  failed: fc.boolean(),
  latency: fc.constantFrom(100, 1_500, 2_500),
  thumb: fc.option(fc.boolean()),
});
const step = fc.oneof(
  { weight: 3, arbitrary: fc.array(record, { minLength: 1, maxLength: 5 }).map((records) => ({ records })) },
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 12 * minute }).map((passed) => ({ passed })) },
  // A clock that was wrong, by up to some hours in either direction.
  { weight: 1, arbitrary: fc.integer({ min: -3 * hour, max: 3 * hour }).map((passed) => ({ passed })) },
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 3 }).map((services) => ({ services })) },
);
const watched = fc.record({
  condition: fc.constantFrom(...Object.keys(conditions)),
  isOfOne: fc.boolean(),
  overMs: fc.constantFrom(5 * minute, 20 * minute),
  atLeast: fc.constantFrom(1, 3),
  keepFiringMs: fc.constantFrom(0, 5 * minute),
});

async function send(world: World, otherId: string, sent: Omit<Sent, "at">): Promise<void> {
  const { isRead, isOther, failed, latency, thumb } = sent, deployId = isOther ? otherId : world.deployId;
  if (isRead) return void taken(await world.read(deployId));
  const { id } = taken<{ id: string }>(
    await world.submit({ ...goodBody, status: failed ? 0 : 1, latency }, deployId),
    201,
  );
  if (thumb === null) return;
  taken(await world.manage("POST", `/diagnoses/${id}/feedback`, { name: "thumb", value: thumb }));
}

test("in random histories each crossing is said once, as a plain recount has it", async () => {
  const property = fc.asyncProperty(
    fc.array(watched, { minLength: 1, maxLength: 4 }),
    fc.array(step, { minLength: 5, maxLength: 40 }),
    async (alerts, steps) => {
      const world = await createWorld({ monthlyLimit: 1e6 });
      const made = taken<{ deployment: { id: string } }>(await publish(world, { name: "other", deploy: "x" }), 201);
      const otherId = made.deployment.id;
      const all: Expected[] = [];
      for (const { isOfOne, atLeast, ...rest } of alerts) {
        const needed = isTotal(rest.condition) ? {} : { atLeast };
        const condition = rest.condition.replace("thumb", "feedback.thumb");
        const body = { ...rest, condition, ...needed, ...isOfOne ? { deployId: world.deployId } : {} };
        const path = `/workspaces/${world.workspaceId}/alerts`;
        const alert = { ...taken<Alert>(await world.manage("POST", path, body), 201), condition: rest.condition };
        all.push({ alert, isOfOne, state: "no_data", clearAt: null, checkedAt: null, said: [] });
      }
      const sent: Sent[] = [];
      for (const step of steps) {
        if ("passed" in step) world.now += step.passed;
        else if ("records" in step) {
          for (const each of step.records) {
            await send(world, otherId, each);
            sent.push(each.isRead ? { ...each, thumb: null, at: world.now } : { ...each, at: world.now });
          }
        } else {
          const stores = Array.from({ length: step.services }, () => managementOf(world.database, () => world.now));
          const runs = await Promise.all(stores.map((store) => checkAlerts(store)));
          assert.equal(runs.map(({ error }) => error).filter(Boolean), []);
          for (const expected of all) expectCheck(expected, sent, world.now);
          const found = await readAll<Alert>(world, `/workspaces/${world.workspaceId}/alerts`);
          const states = new Map(found.map(({ id, state, clearAt }) => [id, { state, clearAt }]));
          for (const { alert: { id, condition }, state, clearAt } of all) {
            assert.equal({ condition, ...states.get(id) }, { condition, state, clearAt });
          }
        }
      }
      for (const { alert: { id }, said } of all) {
        const entries = await readAll<{ action: string }>(world, `/audit?target=${id}`);
        assert.equal(entries.map(({ action }) => action).reverse(), ["alert.created", ...said]);
      }
      await verifyBalanced(world.admin);
    },
  );
  await fc.assert(property, { numRuns: isFull ? 200 : 12 });
});

test.run();
