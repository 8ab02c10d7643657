// Time ranges go by the time of each commit, whatever the clocks of the services were.
// Runs on Node alone.
import fc from "fast-check";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { extremes } from "../extremes.ts";
import { createTenant, createWorld, goodBody, noon } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { readAll, taken, toQuery } from "./management.ts";

const test = suite("time ranges");

const hour = 3_600_000, day = 24 * hour, twoYears = 730 * day;
const steps = isFull ? 5_000 : 500, seed = 20261122;

type Shown = { createdAt: number };
type Accepted = { at: number; operation: "read" | "submit" };

/** Accepts a request at each of the times. Every hundredth is a submit. Some belong to another workspace. */
async function acceptAt(times: number[]): Promise<{ world: World; accepted: Accepted[] }> {
  const world = await createWorld({ monthlyLimit: 1e6 });
  const other = await createTenant(world.admin, 1e6);
  const accepted: Accepted[] = [];
  for (const [nth, at] of times.entries()) {
    world.now = at;
    const operation = nth % 5 === 0 ? "submit" : "read";
    const answer = operation === "submit" ? await world.submit(goodBody) : await world.read();
    assert.is(answer.status, operation === "submit" ? 201 : 200);
    accepted.push({ at, operation });
    if (nth % 50 === 0) await world.read(other.deployId, other.key);
  }
  world.now = noon;
  return { world, accepted };
}

const timesOf = (shown: Shown[]) => shown.map(({ createdAt }) => createdAt);

/** Compares each query of a range with a filter over all accepted requests. */
async function holdRange(world: World, accepted: Accepted[], from: number | undefined, to: number | undefined) {
  const isMeant = ({ at }: Accepted) => at >= (from ?? -Infinity) && at < (to ?? Infinity);
  const calls = accepted.filter(isMeant).map(({ at }) => at).reverse();
  const records = accepted.filter((one) => one.operation === "submit" && isMeant(one)).map(({ at }) => at).reverse();
  const range = toQuery({ from, to, limit: 1000 }), span = toQuery({ from, to });
  const path = `/deployments/${world.deployId}`;
  assert.equal(timesOf(await readAll<Shown>(world, `${path}/diagnoses${range}`)), records);
  assert.equal(timesOf(await readAll<Shown>(world, `/workspaces/${world.workspaceId}/calls${range}`)), calls);
  const exported = (await world.manage("GET", `${path}/diagnoses/export${span}`)).text.split("\n").slice(0, -1);
  assert.equal(timesOf(exported.map((line) => JSON.parse(line))), records);
  const { versions } = taken<{ versions: { records: number }[] }>(await world.manage("GET", `${path}/stats${span}`));
  assert.is(versions.reduce((sum, version) => sum + version.records, 0), records.length);
}

async function holdMonth(world: World, accepted: Accepted[], month: string) {
  const wanted = new Map<string, number>();
  for (const { at } of accepted) {
    const date = new Date(at).toISOString().slice(0, 10);
    if (date.startsWith(month)) wanted.set(date, (wanted.get(date) ?? 0) + 1);
  }
  const { days } = taken<{ days: { day: string; reads: number; submits: number }[] }>(
    await world.manage("GET", `/workspaces/${world.workspaceId}/usage/${month}`),
  );
  const found = days.map(({ day, reads, submits }) => [day, reads + submits] as const).filter(([, count]) => count > 0);
  assert.equal(new Map(found.sort()), new Map([...wanted].sort()));
}

test("one commit with a clock that is years ahead or behind hides no other commit", async () => {
  for (const stray of [noon + twoYears, noon - twoYears, noon + 2 * hour]) {
    const times = Array.from({ length: 101 }, (_, nth) => nth === 10 ? stray : noon + nth);
    const { world, accepted } = await acceptAt(times);
    for (const [from, to] of [[noon, noon + hour], [noon, undefined], [undefined, noon + hour], [stray, stray + 1]]) {
      await holdRange(world, accepted, from, to);
    }
    await holdMonth(world, accepted, new Date(noon).toISOString().slice(0, 7));
  }
});

test(`after ${steps} steps of several clocks by up to two years, every ranged query is exact`, async () => {
  const random = fc.sample(fc.integer({ min: -twoYears, max: twoYears }), { numRuns: steps, seed });
  const near = fc.sample(fc.integer({ min: -2 * hour, max: 2 * hour }), { numRuns: steps, seed });
  // The clocks agree for a while, differ by hours, and leap.
  const times = random.map((leap, nth) =>
    nth % (0.3 * steps) < 0.1 * steps ? noon + nth : nth % 3 === 0 ? noon + leap : noon + near[nth]!
  );
  const { world, accepted } = await acceptAt(times);
  const moment = fc.oneof(
    fc.integer({ min: -twoYears, max: twoYears }).map((step) => noon + step),
    fc.constantFrom(...times.slice(0, 2000)),
    fc.constantFrom(...extremes.moment),
  );
  const bound = fc.option(moment, { nil: undefined });
  for (const [from, to] of fc.sample(fc.tuple(bound, bound), { numRuns: 30, seed })) {
    await holdRange(world, accepted, from, to);
  }
  for (const month of ["2024-12", "2026-10", "2026-11", "2026-12", "2028-02"]) await holdMonth(world, accepted, month);
});

test.run();
