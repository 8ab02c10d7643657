// Statistics, comparisons and sessions: every number is compared with a plain recount in JavaScript.
// Runs on Node alone.
import fc from "fast-check";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { DeploymentId } from "../../src/common/ids.ts";
import type { MonthCosts } from "../../src/management/records/costs.ts";
import type { WorkspaceStats } from "../../src/management/records/stats.ts";
import type { RecordStats, StatsPoint, VersionStats } from "../../src/schema/ledger.ts";
import { bearer, createWorld, goodBody, promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { extremes, usually } from "../extremes.ts";
import { minute } from "./filled-log.ts";
import { readAll, refused, taken, toQuery } from "./management.ts";
import {
  checkComparison,
  checkCosts,
  checkSeries,
  checkStats,
  checkWorkspaceStats,
  fits,
  llmConfigs,
  meanings,
  pricesAt,
  sessionsOf,
} from "./recount.ts";
import type { Filter, Sent } from "./recount.ts";

const test = suite("statistics");

type Stats = {
  deployId: string;
  records: number;
  versions: VersionStats[];
  all: RecordStats;
  series: StatsPoint[];
  promotions: { at: number; version: number }[];
};

const readStats = async (world: World, query = "") =>
  taken<Stats>(await world.manage("GET", `/deployments/${world.deployId}/stats${query}`));

const readWorkspaceStats = async (world: World, query = "") =>
  taken<WorkspaceStats>(await world.manage("GET", `/workspaces/${world.workspaceId}/stats${query}`));

const count = fc.oneof(fc.nat({ max: 5000 }), fc.constantFrom<unknown>(-1, 1.5, "7", null, ...extremes.count));
const cost = usually(
  fc.constantFrom<string | number>("0.1", "0.0000123", "1e-7", 0.30000000000000004, 1.5e-10, 0, "12345.678"),
  extremes.cost,
);
const usage = fc.record({
  ...{ prompt_tokens: count, completion_tokens: count, total_tokens: count, cost },
  prompt_tokens_details: fc.record({ audio_tokens: fc.constantFrom(0, 7) }),
}, { requiredKeys: [] });
const anthropic = fc.record({
  input_tokens: fc.nat({ max: 5000 }),
  cache_read_input_tokens: usually(fc.nat({ max: 90_000 }), [0, 1e12]),
  minutes: usually(fc.nat({ max: 9_000 }), [0]),
  hour: usually(fc.nat({ max: 9_000 }), [0, 1e11]),
  output_tokens: fc.nat({ max: 999 }),
}).map(({ minutes, hour, ...counts }) => ({
  ...counts,
  cache_creation_input_tokens: minutes + hour,
  cache_creation: { ephemeral_5m_input_tokens: minutes, ephemeral_1h_input_tokens: hour },
}));
const properties = fc.oneof(
  usage,
  anthropic,
  fc.record({ usage: anthropic }),
  fc.record({ trace: fc.constant("t"), list: fc.constant([1]), none: fc.constant(null), a: usage, b: usage }, {
    requiredKeys: [],
  }),
  fc.record({ deeper: fc.record({ still: usage }) }),
);
// Eighths are exact as doubles, so that no half is rounded the wrong way.
const latency = usually(
  fc.oneof(fc.nat({ max: 16_000 }), fc.nat({ max: 8_000_000 }), fc.nat({ max: 8e12 })).map((eighths) => eighths / 8),
  extremes.latency,
);
const moment = usually(fc.nat({ max: 1000 }), extremes.moment);
const step = fc.record({
  wait: fc.constantFrom(0, 1, -minute, 7 * minute, 90 * minute, 30 * 60 * minute),
  promote: fc.constantFrom(undefined, undefined, 1, 2, 3),
  records: fc.array(
    fc.record({
      sessionId: fc.constantFrom("a", "b", "c", "d"),
      nth: fc.constantFrom(0, 1),
      isOfTwin: fc.constantFrom(false, false, true),
      status: fc.constantFrom(0, 1, 1, 2, -5, Number.MIN_SAFE_INTEGER),
      latency: fc.option(latency, { nil: undefined, freq: 3 }),
      startAt: fc.option(moment, { nil: undefined, freq: 2 }),
      endAt: fc.option(moment, { nil: undefined, freq: 2 }),
      model: fc.option(fc.constantFrom("gpt-4o", "gpt-4o-mini", "claude-x", "shared", "unknown"), {
        nil: undefined,
        freq: 2,
      }),
      provider: fc.option(fc.constantFrom("openai", "azure"), { nil: undefined, freq: 2 }),
      cost: fc.option(cost, { nil: undefined, freq: 2 }),
      additional_properties: fc.option(properties, { nil: undefined, freq: 3 }),
    }),
    { maxLength: 9 },
  ),
});

async function createPricedWorld(): Promise<World> {
  const world = await createWorld({ monthlyLimit: 1e6 });
  taken(await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { statuses: meanings }));
  taken(await world.manage("POST", "/price-lists", { prices: pricesAt(world.now) }));
  for (const llmConfig of llmConfigs.slice(1)) {
    taken(await world.manage("POST", `/prompts/${world.promptId}/versions`, { ...promptFile, llmConfig }), 201);
  }
  return world;
}

const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined, freq: 2 });

const rarely = <T>(values: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: values });

/** Filters for a history: none most often, so that those that are given find something. */
const filtersOf = (times: number[]): fc.Arbitrary<Filter & { interval?: string }> =>
  fc.record({
    interval: maybe(fc.constantFrom("hour", "day", "week")),
    promptVersion: rarely(fc.constantFrom(1, 2, 3, 4)),
    from: rarely(fc.constantFrom(0, ...times)),
    to: rarely(fc.constantFrom(Number.MAX_SAFE_INTEGER, ...times)),
    status: rarely(fc.constantFrom("0", "1,2", "failed", "failed,2,-5")),
    failures: rarely(fc.boolean()),
    slowerThan: rarely(fc.constantFrom(0, 1, 500, 1000, 100_000, 10 * 366 * 1440 * minute)),
    moreTokensThan: rarely(fc.constantFrom(0, 500, 5000, 1e12, Number.MAX_SAFE_INTEGER)),
    costlierThan: rarely(
      fc.constantFrom("0", "0.0000001", "0.30000000000000004", "0.01", "1", "999999999999.99999999999999999999"),
    ),
    model: rarely(fc.constantFrom("gpt-4o", "GPT-4o-mini", "claude-x", "Claude-3", "shared")),
    where: rarely(fc.constantFrom("trace=t", "trace=u")),
    keyId: rarely(fc.constantFrom(0, 1)),
  }).map((filter) => JSON.parse(JSON.stringify(filter)));

/** A second deployment of the world's prompt. */
const deployTwin = async ({ manage, workspaceId, promptId }: World, name = "twin") =>
  taken<{ id: DeploymentId }>(
    await manage("POST", `/workspaces/${workspaceId}/deployments`, { name, promptId, version: 1 }),
    201,
  ).id;

/** Submits a history and compares all statistics, comparisons and sessions of it with recounts. */
async function checkHistory(
  steps: { wait: number; promote: number | undefined; records: (Omit<Sent, "version" | "at">)[] }[],
  seed: number,
) {
  const world = await createPricedWorld();
  const second = taken<{ key: string; id: string }>(
    await world.manage("POST", `/workspaces/${world.workspaceId}/keys`, {}),
    201,
  );
  const keys = [{ id: world.keyId as string, key: world.key }, second];
  const twin = await deployTwin(world);
  const start = world.now;
  const sent: Sent[] = [];
  const promotions: Stats["promotions"] = [{ at: start, version: 1 }];
  let version = 1;
  for (const { wait, promote = version, records } of steps) {
    world.now += wait;
    if (promote !== version) {
      version = promote;
      taken(await world.manage("POST", `/deployments/${world.deployId}/promote`, { version }));
      promotions.push({ at: world.now, version });
    }
    // The records of a batch are stored in this order. Requests that are sent at once may be stored in any order.
    const ofKeys = [0, 1].map((key) => records.filter(({ nth }) => nth === key));
    for (const [key, own] of ofKeys.entries()) {
      if (own.length === 0) continue;
      const batch = own.map(({ nth: _, isOfTwin, ...record }) => ({
        ...{ ...goodBody, ...record },
        deployId: isOfTwin ? twin : world.deployId,
      }));
      const answer = await world.send("/v1/diagnoses", {
        method: "POST",
        headers: bearer(keys[key]!.key),
        body: JSON.stringify({ records: batch }),
      });
      const { results } = taken<{ results: { status: number }[] }>(answer);
      assert.ok(results.every(({ status }) => status === 201));
    }
    sent.push(
      ...ofKeys.flat().map((record) => ({ ...record, version: record.isOfTwin ? 1 : version, at: world.now })),
    );
  }
  const times = sent.flatMap(({ at }) => [at - 1, at, at + 1]);
  const queryOf = ({ keyId, failures, ...rest }: Filter) => ({
    ...rest,
    failures: failures === undefined ? undefined : String(failures),
    keyId: keyId === undefined ? undefined : keys[keyId]!.id,
  });
  const ofFirst = sent.filter(({ isOfTwin }) => !isOfTwin);
  for (const given of [{}, ...fc.sample(filtersOf(times), { numRuns: 4 })]) {
    const { interval, ...filter }: Filter & { interval?: string } = given;
    const found = ofFirst.filter((record) => fits(filter, record, start));
    const stats = await readStats(world, toQuery({ ...queryOf(filter), interval }));
    assert.equal([stats.deployId, stats.records], [world.deployId, found.length], JSON.stringify(filter));
    const numbers = [...new Set(found.map(({ version }) => version))].sort((a, b) => b - a);
    assert.equal(stats.versions.map(({ version }) => version), numbers);
    for (const { version, ...own } of stats.versions) {
      checkStats(own, found.filter((record) => record.version === version), start);
    }
    checkStats(stats.all, found, start);
    checkSeries(stats.series, interval, found, start);
    const { from = 0, to = Infinity } = filter;
    assert.equal(stats.promotions, promotions.filter(({ at }) => at >= from && at < to));
    const ofAll = sent.filter((record) => fits(filter, record, start));
    const how = { interval, splitAt: times[times.length >> 1] };
    checkWorkspaceStats(await readWorkspaceStats(world, toQuery({ ...queryOf(filter), ...how })), how, ofAll, start);
  }
  const whole = { interval: undefined, splitAt: undefined };
  const ofTwin = sent.filter(({ isOfTwin }) => isOfTwin);
  checkWorkspaceStats(await readWorkspaceStats(world, toQuery({ deployId: "greeting@twin" })), whole, ofTwin, start);
  const costs = taken<MonthCosts>(await world.manage("GET", `/workspaces/${world.workspaceId}/costs/2026-11`));
  const inMonth = sent.filter(({ at }) => at >= Date.UTC(2026, 10) && at < Date.UTC(2026, 11));
  checkCosts(costs, keys.map(({ id }) => id), inMonth, start);
  for (const given of fc.sample(filtersOf(times), { seed: seed + 1, numRuns: 2 })) {
    const { interval: _, promptVersion: aVersion, ...filter }: Filter & { interval?: string } = given;
    const found = ofFirst.filter((record) => fits(filter, record, start));
    const sides = { a: world.deployId, aVersion, b: world.deployId, bVersion: 1 };
    const path = `/stats/compare${toQuery({ ...sides, ...queryOf(filter) })}`;
    const ofA = aVersion === undefined ? found : found.filter(({ version }) => version === aVersion);
    checkComparison(taken(await world.manage("GET", path)), ofA, found.filter(({ version }) => version === 1), start);
  }
  const [{ from, to }] = fc.sample(filtersOf(times), { seed: seed + 2, numRuns: 1 }) as [Filter];
  const inTime = sent.filter((record) => fits({ from, to } as Filter, record, start));
  const sessions = await readAll(world, `/workspaces/${world.workspaceId}/sessions${toQuery({ from, to, limit: 3 })}`);
  assert.equal(sessions, sessionsOf(inTime, start));
  world.close();
}

const histories = isFull ? 120 : 6;

test(`every number equals a plain recount, over ${histories} random histories`, async () => {
  const history = fc.array(step, { minLength: 3, maxLength: 7 });
  await fc.assert(fc.asyncProperty(history, fc.nat(), checkHistory), { numRuns: histories });
});

const latencies: [sent: number[], p50: number, p95: number, p99: number, mean: number][] = [
  [[5], 5, 5, 5, 5],
  [[2, 1], 1, 2, 2, 1.5],
  [[1, 2, 3], 2, 3, 3, 2],
  [Array.from({ length: 100 }, (_, index) => 100 - index), 50, 95, 99, 50.5],
  [[0, 0.04, 0.05], 0, 0.1, 0.1, 0],
  [[999.94, 999.96], 999.9, 1000, 1000, 1000],
  [[1234.4, 12_345, 123_456_789], 12_350, 123_500_000, 123_500_000, 41_160_000],
  [[1e12, 999_999_999_999], 1e12, 1e12, 1e12, 1e12],
  [[1.7e308, 1.7e308], 1e12, 1e12, 1e12, 1e12],
  [[5e-324, Number.MAX_VALUE], 0, 1e12, 1e12, 5e11],
];

for (const [sent, p50, p95, p99, mean] of latencies) {
  test(`of latencies ${sent.slice(0, 3).join(", ")} … the percentiles are ${p50}, ${p95} and ${p99}`, async () => {
    const world = await createWorld();
    await Promise.all(sent.map((latency) => world.submit({ ...goodBody, latency })));
    const { versions: [version] } = await readStats(world);
    assert.equal(version!.latency, { records: sent.length, p50, p95, p99, mean });
  });
}

test("show the ten most frequent statuses, and sum up the others, however many there are", async () => {
  const world = await createWorld({ monthlyLimit: 1e6 });
  const statuses = [...Array.from({ length: 2500 }, (_, index) => index), 1, 1, 7, 7, 7, -3, -3];
  const submit = async (status: number) => assert.is((await world.submit({ ...goodBody, status })).status, 201);
  await submit(statuses[0]!);
  await Promise.all(statuses.slice(1).map(submit));
  const [version] = (await readStats(world)).versions;
  const share = (records: number) => ({ isFailure: false, records, share: records / statuses.length });
  assert.equal(version!.statuses.slice(0, 3), [
    { status: 7, name: null, ...share(4) },
    { status: 1, name: "ok", ...share(3) },
    { status: -3, name: null, ...share(2) },
  ]);
  const { records } = version!.otherStatuses;
  assert.equal([version!.statuses.length, records], [10, statuses.length - 4 - 3 - 2 - 7]);
});

test("count each failure, however many statuses there are", async () => {
  const world = await createWorld({ monthlyLimit: 1e6 });
  const statuses = [{ status: 0, name: "failed", isFailure: true }];
  taken(await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { statuses }));
  const submit = async (status: number) => assert.is((await world.submit({ ...goodBody, status })).status, 201);
  await submit(0);
  // When there are more than 2,000 statuses, the less frequent ones are forgotten.
  const numbers = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, at) => first + at);
  for (const many of [numbers(1, 1500), numbers(1, 1500), numbers(1501, 2100)]) await Promise.all(many.map(submit));
  await submit(0);
  const { all } = await readStats(world);
  assert.equal([all.records, all.failures?.records], [3602, 2]);
});

test("count records only: no reads, no deleted records, none of another deployment", async () => {
  const world = await createWorld();
  const { records: none, versions, all } = await readStats(world);
  assert.equal([none, versions, all.records, all.failures?.share], [0, [], 0, null]);
  const { id } = taken<{ id: string }>(await world.submit(), 201);
  await world.submit({ ...goodBody, status: 2 });
  await world.read();
  await world.manage("DELETE", `/diagnoses/${id}`);
  const { records, versions: [version] } = await readStats(world);
  assert.equal([records, version!.statuses.map(({ status }) => status)], [1, [2]]);
  assert.is((await readStats({ ...world, deployId: await deployTwin(world) })).records, 0);
});

test("a corrected price corrects the past, and without a price nothing is priced", async () => {
  const world = await createWorld();
  await world.submit({ ...goodBody, additional_properties: { prompt_tokens: 1_000_000, completion_tokens: 3 } });
  const costs = async () => {
    const { records, unpriced, total } = (await readStats(world)).all.cost;
    return [records, unpriced, total];
  };
  assert.equal(await costs(), [0, 1, "0"]);
  const price = { model: "gpt-4o", input: "2", output: "0" };
  const { id } = taken<{ id: string }>(await world.manage("POST", "/prices", price));
  assert.equal(await costs(), [1, 0, "2"]);
  taken(await world.manage("POST", "/prices", { ...price, input: "2.5", output: "8" }));
  assert.equal(await costs(), [1, 0, "2.500024"]);
  taken(await world.manage("DELETE", `/prices/${id}`));
  assert.equal(await costs(), [0, 1, "0"]);
});

test("list the 100 deployments with the most records, and count the others together, of costs too", async () => {
  const world = await createWorld({ monthlyLimit: 1e6 });
  const names = Array.from({ length: 130 }, (_, nth) => `d${nth}`);
  const deployIds: DeploymentId[] = [];
  for (const name of names) deployIds.push(await deployTwin(world, name));
  for (const deployId of [...deployIds, deployIds[129]!]) await world.submit({ ...goodBody, cost: "0.5" }, deployId);
  const { deployments, others, records } = await readWorkspaceStats(world);
  assert.equal([records, deployments.length, others], [131, 100, { deployments: 30, records: 30 }]);
  assert.is(deployments[0]!.reference, "greeting@d129");
  const month = new Date(world.now).toISOString().slice(0, 7);
  const path = `/workspaces/${world.workspaceId}/costs/${month}`;
  const costs = taken<MonthCosts>(await world.manage("GET", path));
  assert.equal([costs.cost, costs.deployments.length, costs.others.deployments], [
    ...["65.5", 100],
    { records: 30, cost: "15", unpriced: 0 },
  ]);
});

test("need an existing deployment and a valid range", async () => {
  const world = await createWorld();
  refused(await world.manage("GET", "/deployments/dep_x/stats"), 404, "Deployment dep_x not found");
  refused(
    await world.manage("GET", `/workspaces/${world.workspaceId}/stats?deployId=dep_x`),
    404,
    "Deployment dep_x not found",
  );
  const path = `/deployments/${world.deployId}/stats`;
  const range = "an integer of Unix milliseconds from 0 to 9007199254740991";
  refused(await world.manage("GET", `${path}?from=-1`), 400, `Field from must be ${range}`);
  refused(await world.manage("GET", `${path}?to=1.5`), 400, `Field to must be ${range}`);
  assert.is((await readStats(world, "?from=5&to=5")).records, 0);
});

test.run();
