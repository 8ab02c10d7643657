// Statistics of a deployment's records: every number is compared with a plain recount in JavaScript.
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import type { DeploymentId } from "../../src/common/ids.ts";
import type { RecordStats, StatsPoint, VersionStats } from "../../src/schema/ledger.ts";
import { createWorld, goodBody, promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";
import { minute } from "./filled-log.ts";
import { refused, taken, toQuery } from "./management.ts";

const test = suite("statistics");

type Measures = {
  latency?: number | undefined;
  startAt?: number | undefined;
  endAt?: number | undefined;
  model?: string | undefined;
  provider?: string | undefined;
  cost?: string | number | undefined;
  additional_properties?: Record<string, unknown> | undefined;
};
type Sent = Measures & { version: number; status: number; at: number };
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

/** Rounds to a tenth of a millisecond, and from a second on to four digits. */
const rounded = (latency: number) => latency < 1000 ? Math.round(latency * 10) / 10 : Number(latency.toPrecision(4));

/** A percentile by the nearest rank. */
function percentile<T>(values: T[], percent: number): T | null {
  const rank = Math.max(1, Math.ceil((percent * values.length) / 100));
  return values[rank - 1] ?? null;
}

const ofAll = <T>(values: T[]) => ({
  p50: percentile(values, 50),
  p95: percentile(values, 95),
  p99: percentile(values, 99),
});

const isCount = (value: unknown) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 1e12;

type Tokens = { prompt: number; completion: number; cached: number };

/** The tokens of a record, from the properties themselves or the first object among them that has valid ones. */
function tokensOf({ additional_properties: properties = {} }: Measures): Tokens | undefined {
  for (const holder of [properties, ...Object.values(properties)]) {
    const usage = (holder ?? {}) as Record<string, unknown>;
    const { prompt_tokens: prompt = null, completion_tokens: completion = null, input_tokens: input = null } = usage;
    if (input !== null) {
      const cached = usage.cache_read_input_tokens as number;
      return { prompt: input as number + cached, completion: usage.output_tokens as number, cached };
    }
    const given = [prompt, completion].filter((count) => count !== null);
    if (given.length === 0 || !given.every(isCount)) continue;
    return { prompt: prompt as number ?? 0, completion: completion as number ?? 0, cached: 0 };
  }
  return undefined;
}

// Money as whole numbers of 10^-30 USD.
const unit = 10n ** 30n;

function toUnits(text: string): bigint {
  const [mantissa = "", exponent = "0"] = text.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  return BigInt(whole + fraction) * 10n ** BigInt(30 - fraction.length + Number(exponent));
}

function toText(units: bigint): string {
  const fraction = String(units % unit).padStart(30, "0").replace(/0+$/, "");
  return `${units / unit}${fraction === "" ? "" : `.${fraction}`}`;
}

/** Rounds half up to four digits. */
function toDigits(units: bigint, digits = 4): string {
  const length = String(units).length;
  if (length <= digits) return toText(units);
  const power = 10n ** BigInt(length - digits);
  return toText((units + power / 2n) / power * power);
}

type Price = {
  provider?: string;
  model: string;
  input: string;
  cachedInput?: string;
  output: string;
  validFrom?: number;
};

/** The prices of these histories. Models: gpt-4o of OpenAI in version 1, none in version 2, another in version 3. */
const pricesAt = (start: number): Price[] => [
  { provider: "openai", model: "gpt-4o", input: "2.5", cachedInput: "1.25", output: "10" },
  { provider: "openai", model: "gpt-4o", input: "2.123456789", output: "0.000000001", validFrom: start + 60 * minute },
  { provider: "openai", model: "gpt-4o*", input: "999", output: "999" },
  { model: "claude-*", input: "3", output: "15", validFrom: start + 7 * minute },
  { provider: "azure", model: "shared", input: "1", output: "1" },
  { provider: "openai", model: "shared", input: "2", output: "2" },
];

const llmConfigs = [promptFile.llmConfig, {}, { model: "Claude-3" }];

/** What a record cost. Undefined if nothing tells it. */
function costOf(record: Sent, start: number): bigint | undefined {
  const { cost, at, version } = record;
  if (cost !== undefined) return toUnits(String(cost));
  const tokens = tokensOf(record);
  if (tokens === undefined) return undefined;
  const config = llmConfigs[version - 1] as { model?: string; provider?: string };
  const model = (record.model ?? config.model ?? "").toLowerCase();
  const provider = record.provider ??
    (record.model === undefined || record.model === config.model ? config.provider : "");
  const prices = pricesAt(start);
  const late = at >= start + 60 * minute;
  const price = model === "gpt-4o" && provider !== "azure"
    ? prices[late ? 1 : 0]
    : model === "gpt-4o-mini" && provider !== "azure"
    ? prices[2]
    : model.startsWith("claude-") && at >= start + 7 * minute
    ? prices[3]
    : model === "shared" && provider === "azure"
    ? prices[4]
    : undefined;
  if (price === undefined) return undefined;
  const perToken = (text: string) => toUnits(text) / 1_000_000n;
  const { prompt, completion, cached } = tokens;
  return BigInt(prompt - cached) * perToken(price.input) + BigInt(cached) * perToken(price.cachedInput ?? price.input) +
    BigInt(completion) * perToken(price.output);
}

const meanings = [{ status: 0, name: "failed", isFailure: true }, { status: 1, name: "ok", isFailure: false }];

function sumOf(statuses: { records: number }[], all: number) {
  const records = statuses.reduce((sum, { records }) => sum + records, 0);
  return { records, share: all === 0 ? 0 : records / all };
}

const latencyOf = ({ latency, startAt, endAt }: Sent) =>
  latency ?? (startAt !== undefined && endAt !== undefined && endAt >= startAt ? endAt - startAt : undefined);

/** The Wilson interval, as textbooks write it. */
function wilson(count: number, total: number): [number, number] {
  const z = 1.959963984540054, p = count / total;
  const centre = (p + z ** 2 / (2 * total)) / (1 + z ** 2 / total);
  const half = z / (1 + z ** 2 / total) * Math.sqrt(p * (1 - p) / total + z ** 2 / (4 * total ** 2));
  return [count === 0 ? 0 : centre - half, count === total ? 1 : centre + half];
}

const near = (a: number, b: number) => Math.abs(a - b) < 1e-12;

function computed(own: Sent[], start: number) {
  const statuses = [...new Set(own.map(({ status }) => status))].map((status) => {
    const records = own.filter((record) => record.status === status).length;
    const meaning = meanings.find((each) => each.status === status);
    const { name = null, isFailure = false } = meaning ?? {};
    return { status, name, isFailure, records, share: records / own.length };
  }).sort((a, b) => b.records - a.records || a.status - b.status);
  const exact = own.flatMap((record) => latencyOf(record) ?? []);
  const latencies = exact.map(rounded).sort((a, b) => a - b);
  const tokens = own.flatMap((record) => tokensOf(record) ?? []);
  const sum = (name: keyof Tokens) => tokens.reduce((all, counts) => all + counts[name], 0);
  const counts = tokens.map(({ prompt, completion }) => prompt + completion).sort((a, b) => a - b);
  const costs = own.flatMap((record) => costOf(record, start) ?? []).sort((a, b) => a < b ? -1 : 1);
  const total = costs.reduce((all, cost) => all + cost, 0n);
  const trillionth = 10n ** 18n, number = BigInt(costs.length);
  return {
    records: own.length,
    statuses: statuses.slice(0, 10),
    otherStatuses: sumOf(statuses.slice(10), own.length),
    latency: {
      records: latencies.length,
      ...ofAll(latencies),
      mean: exact.length === 0 ? null : rounded(exact.reduce((all, latency) => all + latency, 0) / exact.length),
    },
    tokens: {
      records: tokens.length,
      prompt: sum("prompt"),
      completion: sum("completion"),
      cached: sum("cached"),
      ...ofAll(counts.map((count) => Number(toDigits(BigInt(count) * unit)))),
      mean: counts.length === 0 ? null : (sum("prompt") + sum("completion")) / counts.length,
    },
    cost: {
      records: costs.length,
      unpriced: own.length - costs.length,
      total: toText(total),
      ...ofAll(costs.map((cost) => toDigits(cost))),
      mean: number === 0n ? null : toText((2n * total + number * trillionth) / (2n * number * trillionth) * trillionth),
    },
  };
}

/** Compares the failures, whose intervals are computed another way here. */
function checkStats({ failures, ...rest }: RecordStats, own: Sent[], start: number): void {
  assert.equal(rest, computed(own, start));
  const failed = own.filter(({ status }) => status === 0).length;
  assert.is(failures!.records, failed);
  if (own.length === 0) return assert.equal(failures, { records: 0, share: null, low: null, high: null });
  const [low, high] = wilson(failed, own.length);
  assert.is(failures!.share, failed / own.length);
  assert.ok(near(failures!.low!, low) && near(failures!.high!, high), JSON.stringify([failures, low, high]));
}

const count = fc.oneof(fc.nat({ max: 5000 }), fc.constantFrom(0, -1, 1.5, "7", null, 2 ** 53, 1e12));
const usage = fc.record({ prompt_tokens: count, completion_tokens: count, total_tokens: count }, { requiredKeys: [] });
const anthropic = fc.record({
  input_tokens: fc.nat({ max: 5000 }),
  cache_read_input_tokens: fc.nat({ max: 90_000 }),
  output_tokens: fc.nat({ max: 999 }),
});
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
const latency = fc.oneof(fc.nat({ max: 16_000 }), fc.nat({ max: 8_000_000 }), fc.nat({ max: 9e12 })).map((eighths) =>
  eighths / 8
);
const cost = fc.oneof(fc.constantFrom("0.1", "0.0000123", "1e-7", 0.30000000000000004, 1.5e-10, 0, "12345.678"));

const step = fc.record({
  wait: fc.constantFrom(0, 1, -minute, 7 * minute, 90 * minute, 30 * 60 * minute),
  promote: fc.constantFrom(undefined, undefined, 1, 2, 3),
  records: fc.array(
    fc.record({
      status: fc.constantFrom(0, 1, 1, 2, -5, Number.MIN_SAFE_INTEGER),
      latency: fc.option(latency, { nil: undefined, freq: 3 }),
      startAt: fc.option(fc.nat({ max: 1000 }), { nil: undefined, freq: 2 }),
      endAt: fc.option(fc.nat({ max: 1000 }), { nil: undefined, freq: 2 }),
      model: fc.option(fc.constantFrom("gpt-4o", "gpt-4o-mini", "claude-x", "shared", "unknown"), {
        nil: undefined,
        freq: 1,
      }),
      provider: fc.option(fc.constantFrom("openai", "azure"), { nil: undefined, freq: 1 }),
      cost: fc.option(cost, { nil: undefined, freq: 1 }),
      additional_properties: fc.option(properties, { nil: undefined, freq: 3 }),
    }),
    { maxLength: 9 },
  ),
});

const hour = 60 * minute, day = 24 * hour;
const starts: Record<string, (at: number) => number> = {
  hour: (at) => at - at % hour,
  day: (at) => at - at % day,
  week: (at) => {
    const midnight = at - at % day;
    return midnight - (new Date(midnight).getUTCDay() + 6) % 7 * day;
  },
};

/** Compares a series with a recount of each part. */
function checkSeries(series: StatsPoint[], interval: string, own: Sent[], start: number): void {
  const startOf = starts[interval]!;
  const parts = [...new Set(own.map(({ at }) => startOf(at)))].sort((a, b) => a - b);
  assert.equal(series.map(({ at }) => at), parts);
  for (const { at, failures, versions, ...point } of series) {
    const records = own.filter((record) => startOf(record.at) === at);
    const { latency: { p50, p95 }, tokens: { prompt, completion }, cost: { total, unpriced } } = computed(
      records,
      start,
    );
    const expected = { latency: { p50, p95 }, tokens: { prompt, completion }, cost: { total, unpriced } };
    assert.equal(point, { records: records.length, ...expected });
    assert.is(failures, records.filter(({ status }) => status === 0).length);
    const numbers = [...new Set(records.map(({ version }) => version))].sort((a, b) => a - b);
    assert.equal(
      versions,
      numbers.map((version) => ({ version, records: records.filter((each) => each.version === version).length })),
    );
  }
}

async function createPricedWorld(): Promise<World> {
  const world = await createWorld({ monthlyLimit: 1e6 });
  taken(await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { statuses: meanings }));
  taken(await world.manage("POST", "/price-lists", { prices: pricesAt(world.now) }));
  for (const llmConfig of llmConfigs.slice(1)) {
    taken(await world.manage("POST", `/prompts/${world.promptId}/versions`, { ...promptFile, llmConfig }), 201);
  }
  return world;
}

/** Submits a history and compares all statistics of it with recounts. */
async function checkHistory(steps: { wait: number; promote: number | undefined; records: object[] }[], seed: number) {
  const world = await createPricedWorld();
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
    const answers = await Promise.all(records.map((record) => world.submit({ ...goodBody, ...record })));
    for (const answer of answers) taken(answer, 201);
    sent.push(...records.map((record) => ({ ...record, version, at: world.now }) as Sent));
  }
  const times = sent.flatMap(({ at }) => [at - 1, at, at + 1]);
  const filter = fc.record({
    promptVersion: fc.constantFrom(1, 2, 3, 4),
    from: fc.constantFrom(0, ...times),
    to: fc.constantFrom(Number.MAX_SAFE_INTEGER, ...times),
    interval: fc.constantFrom("hour", "day", "week"),
    status: fc.constantFrom("0", "1,2", "failed"),
  }, { requiredKeys: [] });
  for (const { interval, ...rest } of [{ interval: undefined }, ...fc.sample(filter, { seed, numRuns: 3 })]) {
    const { promptVersion, from = 0, to = Infinity, status } = rest as Record<string, never>;
    const codes = status === "failed" ? [0] : (status as string | undefined)?.split(",").map(Number);
    const found = sent.filter((record) =>
      (promptVersion === undefined || record.version === promptVersion) && record.at >= from && record.at < to &&
      (codes?.includes(record.status) ?? true)
    );
    const stats = await readStats(world, toQuery({ ...rest, interval }));
    assert.equal([stats.deployId, stats.records], [world.deployId, found.length]);
    const numbers = [...new Set(found.map(({ version }) => version))].sort((a, b) => b - a);
    assert.equal(stats.versions.map(({ version }) => version), numbers);
    for (const { version, ...own } of stats.versions) {
      checkStats(own, found.filter((record) => record.version === version), start);
    }
    checkStats(stats.all, found, start);
    checkSeries(stats.series, interval ?? "hour", interval === undefined ? [] : found, start);
    assert.equal(stats.promotions, promotions.filter(({ at }) => at >= from && at < to));
  }
  world.close();
}

// No runtime decides these numbers, so that the others run a few histories.
const histories = currentRuntime === "Node" ? 200 : 10;

test(`every number equals a plain recount, over ${histories} random histories`, async () => {
  const history = fc.array(step, { minLength: 3, maxLength: 7 });
  await fc.assert(fc.asyncProperty(history, fc.nat(), checkHistory), { seed: 20261115, numRuns: histories });
});

const latencies: [sent: number[], p50: number, p95: number, p99: number, mean: number][] = [
  [[5], 5, 5, 5, 5],
  [[2, 1], 1, 2, 2, 1.5],
  [[1, 2, 3], 2, 3, 3, 2],
  [Array.from({ length: 100 }, (_, index) => 100 - index), 50, 95, 99, 50.5],
  [[0, 0.04, 0.05], 0, 0.1, 0.1, 0],
  [[999.94, 999.96], 999.9, 1000, 1000, 1000],
  [[1234.4, 12_345, 123_456_789], 12_350, 123_500_000, 123_500_000, 41_160_000],
  [[1e300, 1e308], 1e300, 1e308, 1e308, 5e307],
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
  const share = (records: number) => ({ name: null, isFailure: false, records, share: records / statuses.length });
  assert.equal(version!.statuses.slice(0, 3), [
    { status: 7, ...share(4) },
    { status: 1, ...share(3) },
    { status: -3, ...share(2) },
  ]);
  const { records } = version!.otherStatuses;
  assert.equal([version!.statuses.length, records], [10, statuses.length - 4 - 3 - 2 - 7]);
});

test("count records only: no reads, no deleted records, none of another deployment", async () => {
  const world = await createWorld();
  const { records: none, versions, all } = await readStats(world);
  assert.equal([none, versions, all.records, all.failures], [0, [], 0, null]);
  const { id } = taken<{ id: string }>(await world.submit(), 201);
  await world.submit({ ...goodBody, status: 2 });
  await world.read();
  await world.manage("DELETE", `/diagnoses/${id}`);
  const { records, versions: [version] } = await readStats(world);
  assert.equal([records, version!.statuses.map(({ status }) => status)], [1, [2]]);
  const twin = taken<{ id: DeploymentId }>(
    await world.manage("POST", `/workspaces/${world.workspaceId}/deployments`, { name: "x", promptId: world.promptId }),
    201,
  );
  assert.is((await readStats({ ...world, deployId: twin.id })).records, 0);
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

test("need an existing deployment and a valid range", async () => {
  const world = await createWorld();
  refused(await world.manage("GET", "/deployments/dep_x/stats"), 404, "Deployment dep_x not found");
  const path = `/deployments/${world.deployId}/stats`;
  const range = "an integer of Unix milliseconds from 0 to 9007199254740991";
  refused(await world.manage("GET", `${path}?from=-1`), 400, `Field from must be ${range}`);
  refused(await world.manage("GET", `${path}?to=1.5`), 400, `Field to must be ${range}`);
  assert.is((await readStats(world, "?from=5&to=5")).records, 0);
});

test.run();
