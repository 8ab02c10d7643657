// Recounts the records of a history in plain JavaScript, as the documentation says that they count.
import * as assert from "uvu/assert";
import type { Comparison } from "../../src/management/records/compare.ts";
import type { Session } from "../../src/management/records/sessions.ts";
import type { MonthCosts } from "../../src/management/records/costs.ts";
import type { WorkspaceStats } from "../../src/management/records/stats.ts";
import type { Figures, FiguresPoint, RecordStats, StatsPoint } from "../../src/schema/ledger.ts";
import { promptFile } from "../helpers.ts";
import { minute } from "./filled-log.ts";

type Measures = {
  latency?: number | undefined;
  startAt?: number | undefined;
  endAt?: number | undefined;
  model?: string | undefined;
  provider?: string | undefined;
  cost?: string | number | undefined;
  additional_properties?: Record<string, unknown> | undefined;
};
/** A record that was sent. */
export type Sent = Measures & {
  version: number;
  status: number;
  at: number;
  sessionId: string;
  /** Which of two keys sent it. */
  nth: number;
  /** Whether it is of the second deployment. */
  isOfTwin: boolean;
};
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

export const isCount = (value: unknown) =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 1e12;

type Tokens = { prompt: number; completion: number; cached: number; written: number; hour: number };
type Usage = Tokens & { hasAudio: boolean; charge: string | number | undefined };

/** What a record has used, by the properties themselves or the first object among them with clear counts. */
function usageOf({ additional_properties: properties = {} }: Measures): Usage | undefined {
  for (const holder of [properties, ...Object.values(properties)]) {
    const usage = (holder ?? {}) as Record<string, unknown>;
    const { prompt_tokens = null, completion_tokens = null, total_tokens = null, input_tokens: input = null } = usage;
    const none = { cached: 0, written: 0, hour: 0, hasAudio: false, charge: undefined };
    if (input !== null) {
      const [cached, written] = [usage.cache_read_input_tokens, usage.cache_creation_input_tokens] as [number, number];
      const { ephemeral_1h_input_tokens: hour } = usage.cache_creation as { ephemeral_1h_input_tokens: number };
      const prompt = input as number + cached + written;
      return { ...none, prompt, completion: usage.output_tokens as number, cached, written, hour };
    }
    const counts = [prompt_tokens, completion_tokens, total_tokens].filter((count) => count !== null);
    if (!counts.every(isCount) || (prompt_tokens ?? completion_tokens) === null) continue;
    const total = total_tokens as number | null ?? 0, visible = completion_tokens as number | null ?? 0;
    // The total tells what is missing, and what is neither input nor output is output.
    const prompt = prompt_tokens as number | null ?? Math.max(0, total - visible);
    const completion = Math.max(visible, total - prompt);
    const { audio_tokens = 0 } = (usage.prompt_tokens_details ?? {}) as { audio_tokens?: number };
    const charge = usage.cost as string | number | undefined;
    return { ...none, prompt, completion, hasAudio: audio_tokens > 0, charge };
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

type Prices = { input: string; cachedInput?: string; cacheWrite?: string; cacheWriteHour?: string; output: string };
export type Price = Prices & {
  provider?: string;
  model: string;
  tiers?: (Prices & { above?: number; hours?: string })[];
  unpricedMedia?: "audio"[];
  validFrom?: number;
};

/** The prices of these histories. Models: gpt-4o of OpenAI in version 1, none in version 2, another in version 3. */
export const pricesAt = (start: number): Price[] => [
  {
    provider: "openai",
    model: "gpt-4o",
    ...{ input: "2.5", cachedInput: "1.25", cacheWrite: "3.125", cacheWriteHour: "5", output: "10" },
    tiers: [{ above: 4_000, input: "5", cachedInput: "2.5", cacheWrite: "6.25", output: "15" }],
  },
  { provider: "openai", model: "gpt-4o", input: "2.123456789", output: "0.000000001", validFrom: start + 60 * minute },
  { provider: "openai", model: "gpt-4o*", input: "999", output: "999", unpricedMedia: ["audio"] },
  {
    model: "claude-*",
    ...{ input: "3", cacheWrite: "3.75", output: "15" },
    tiers: [{ hours: "12:05-12:20", input: "6", output: "30" }],
    validFrom: start + 7 * minute,
  },
  { provider: "azure", model: "shared", input: "1", output: "1" },
  { provider: "openai", model: "shared", input: "2", output: "2" },
];

export const llmConfigs = [promptFile.llmConfig, {}, { model: "Claude-3" }];

const modelOf = ({ model, version }: Sent): string =>
  (model ?? (llmConfigs[version - 1] as { model?: string }).model ?? "").toLowerCase();

/** The cost that a record or its provider names, if it is at most 10^12 USD and has at most 30 decimals. */
function ownCostOf(cost: string | number): bigint | undefined {
  const [mantissa, exponent = "0"] = String(cost).toLowerCase().split("e");
  if (Math.abs(Number(exponent)) > 60) return undefined;
  // In units of 10^-60 USD, to see digits beyond the last decimal.
  const fine = toUnits(`${mantissa}e${Number(exponent) + 30}`);
  return fine % unit === 0n && fine <= 10n ** 12n * unit * unit ? fine / unit : undefined;
}

/** What a record cost. Undefined if nothing tells it. */
function costOf(record: Sent, start: number): bigint | undefined {
  if (record.cost !== undefined) return ownCostOf(record.cost);
  const usage = usageOf(record);
  if (usage === undefined) return undefined;
  const charged = usage.charge === undefined ? undefined : ownCostOf(usage.charge);
  return charged ?? pricedOf(record, usage, start);
}

function pricedOf(record: Sent, usage: Usage, start: number): bigint | undefined {
  const { at, version } = record;
  const config = llmConfigs[version - 1] as { model?: string; provider?: string };
  const model = modelOf(record);
  // Of a record that names another model than its version, the provider is unknown, and that of the version is tried first.
  const provider = record.provider ?? config.provider ?? "";
  const prices = pricesAt(start);
  const late = at >= start + 60 * minute;
  const price = model === "gpt-4o" && provider !== "azure"
    ? prices[late ? 1 : 0]
    : model === "gpt-4o-mini" && provider !== "azure"
    ? prices[2]
    : model.startsWith("claude-") && at >= start + 7 * minute
    ? prices[3]
    : model === "shared" && provider !== ""
    ? prices[provider === "azure" ? 4 : 5]
    : undefined;
  if (price === undefined || usage.hasAudio && price.unpricedMedia !== undefined) return undefined;
  const { prompt, completion, cached, written, hour } = usage;
  const time = new Date(at).toISOString().slice(11, 16);
  const inTier = price.tiers?.find(({ above = -1, hours = "00:00-24:00" }) =>
    prompt > above && time >= hours.slice(0, 5) && time < hours.slice(6)
  );
  const { input, cachedInput = input, cacheWrite = input, cacheWriteHour = cacheWrite, output } = inTier ?? price;
  const parts = [
    [prompt - cached - written, input],
    [cached, cachedInput],
    [written - hour, cacheWrite],
    [hour, cacheWriteHour],
    [completion, output],
  ] as const;
  return parts.reduce((sum, [tokens, perMillion]) => sum + BigInt(tokens) * toUnits(perMillion) / 1_000_000n, 0n);
}

export const meanings = [{ status: 0, name: "failed", isFailure: true }, { status: 1, name: "ok", isFailure: false }];

function sumOf(statuses: { records: number }[], all: number) {
  const records = statuses.reduce((sum, { records }) => sum + records, 0);
  return { records, share: all === 0 ? 0 : records / all };
}

function latencyOf({ latency, startAt, endAt }: Sent): number | undefined {
  const isSpan = startAt !== undefined && endAt !== undefined && endAt >= startAt;
  const found = latency ?? (isSpan ? endAt - startAt : undefined);
  return found && Math.min(found, 1e12);
}

/** The Wilson interval, as textbooks write it. */
function wilson(count: number, total: number): [number, number] {
  const z = 1.959963984540054, p = count / total;
  const centre = (p + z ** 2 / (2 * total)) / (1 + z ** 2 / total);
  const half = z / (1 + z ** 2 / total) * Math.sqrt(p * (1 - p) / total + z ** 2 / (4 * total ** 2));
  return [count === 0 ? 0 : centre - half, count === total ? 1 : centre + half];
}

const near = (a: number, b: number) => Math.abs(a - b) < 1e-12;

export function computed(own: Sent[], start: number) {
  const statuses = [...new Set(own.map(({ status }) => status))].map((status) => {
    const records = own.filter((record) => record.status === status).length;
    const meaning = meanings.find((each) => each.status === status);
    const { name = null, isFailure = false } = meaning ?? {};
    return { status, name, isFailure, records, share: records / own.length };
  }).sort((a, b) => b.records - a.records || a.status - b.status);
  const exact = own.flatMap((record) => latencyOf(record) ?? []);
  const latencies = exact.map(rounded).sort((a, b) => a - b);
  const tokens = own.flatMap((record) => usageOf(record) ?? []);
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
      written: sum("written"),
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
    feedback: [],
  };
}

/** Compares the failures, whose intervals are computed another way here. */
export function checkStats({ failures, ...rest }: RecordStats, own: Sent[], start: number): void {
  assert.equal(rest, computed(own, start));
  const failed = own.filter(({ status }) => status === 0).length;
  assert.is(failures!.records, failed);
  if (own.length === 0) return assert.equal(failures, { records: 0, share: null, low: null, high: null });
  const [low, high] = wilson(failed, own.length);
  assert.is(failures!.share, failed / own.length);
  assert.ok(near(failures!.low!, low) && near(failures!.high!, high), JSON.stringify([failures, low, high]));
}

const hour = 60 * minute, day = 24 * hour;
const starts: Record<string, (at: number) => number> = {
  hour: (at) => at - at % hour,
  day: (at) => at - at % day,
  week: (at) => {
    const midnight = at - at % day;
    return midnight - (new Date(midnight).getUTCDay() + 6) % 7 * day;
  },
};

function checkFigures({ failures, ...rest }: Figures, own: Sent[], start: number): void {
  const { records, latency, tokens, cost } = computed(own, start);
  assert.equal(rest, {
    records,
    latency: { p50: latency.p50, p95: latency.p95 },
    tokens: { records: tokens.records, prompt: tokens.prompt, completion: tokens.completion },
    cost: { total: cost.total, unpriced: cost.unpriced },
    feedback: [],
  });
  assert.is(failures, own.filter(({ status }) => status === 0).length);
}

/** Compares a series with a recount of each part. */
export function checkSeries(series: FiguresPoint[], interval: string | undefined, own: Sent[], start: number): void {
  if (interval === undefined) return assert.equal(series, []);
  const startOf = starts[interval]!;
  const parts = [...new Set(own.map(({ at }) => startOf(at)))].sort((a, b) => a - b);
  assert.equal(series.map(({ at }) => at), parts);
  for (const { at, ...figures } of series) {
    const records = own.filter((record) => startOf(record.at) === at);
    const { versions, ...rest } = figures as Omit<StatsPoint, "at">;
    checkFigures(rest, records, start);
    if (versions === undefined) continue;
    const numbers = [...new Set(records.map(({ version }) => version))].sort((a, b) => a - b);
    assert.equal(
      versions,
      numbers.map((version) => ({ version, records: records.filter((each) => each.version === version).length })),
    );
  }
}

/** Compares the statistics of a workspace with two deployments. */
export function checkWorkspaceStats(
  { all, series, split, deployments, others }: WorkspaceStats,
  { interval, splitAt }: { interval: string | undefined; splitAt: number | undefined },
  own: Sent[],
  start: number,
): void {
  const check = (part: Pick<WorkspaceStats, "series" | "split">, stats: RecordStats, own: Sent[]) => {
    checkStats(stats, own, start);
    checkSeries(part.series, interval, own, start);
    if (splitAt === undefined) return assert.is(part.split, null);
    checkFigures(part.split!.before, own.filter(({ at }) => at < splitAt), start);
    checkFigures(part.split!.after, own.filter(({ at }) => at >= splitAt), start);
  };
  check({ series, split }, all, own);
  const counts = deployments.map(({ records }) => records);
  assert.equal(counts, [...counts].sort((a, b) => b - a));
  assert.is(counts.reduce((sum, records) => sum + records, 0), own.length);
  for (const { deployId: _, reference, series, split, ...stats } of deployments) {
    check({ series, split }, stats, own.filter(({ isOfTwin }) => isOfTwin === (reference === "greeting@twin")));
  }
  assert.equal(others, { deployments: 0, records: 0 });
}

/** Compares what records cost by each of what they are listed. The keys are in the order of `nth`. */
export function checkCosts(costs: MonthCosts, keys: string[], own: Sent[], start: number): void {
  const referenceOf = ({ isOfTwin }: Sent) => isOfTwin ? "greeting@twin" : "greeting@production";
  const costsOf = (own: Sent[]) => {
    const { records, cost: { total, unpriced } } = computed(own, start);
    return { records, cost: total, unpriced };
  };
  const check = <T extends { records: number; cost: string; unpriced: number }>(
    items: T[],
    nameOf: (item: T) => string | null,
    groupOf: (record: Sent) => string | null,
  ) => {
    const units = items.map(({ cost }) => toUnits(cost));
    assert.equal(units, [...units].sort((a, b) => a === b ? 0 : a < b ? 1 : -1));
    const groups = [...new Set(own.map(groupOf))];
    assert.equal(items.map(nameOf).sort(), groups.sort());
    for (const item of items) {
      const { records, cost, unpriced } = item;
      assert.equal({ records, cost, unpriced }, costsOf(own.filter((each) => groupOf(each) === nameOf(item))));
    }
  };
  const { records, cost, unpriced } = costs;
  assert.equal({ records, cost, unpriced }, costsOf(own));
  check(costs.deployments, ({ reference }) => reference, referenceOf);
  check(
    costs.versions,
    ({ reference, version }) => `${reference} ${version}`,
    (record) => `${referenceOf(record)} ${record.version}`,
  );
  check(costs.keys, ({ keyId }) => keyId, ({ nth }) => keys[nth]!);
  check(costs.models, ({ model }) => model && model.toLowerCase(), (record) => modelOf(record) || null);
  const none = { records: 0, cost: "0", unpriced: 0 };
  assert.equal(costs.others, { deployments: none, versions: none, keys: none, models: none });
}

/** The filters of records, as a query has them. `keyId` is which of the two keys. */
export type Filter = {
  promptVersion?: number;
  from?: number;
  to?: number;
  status?: string;
  failures?: boolean;
  slowerThan?: number;
  moreTokensThan?: number;
  costlierThan?: string;
  model?: string;
  where?: string;
  keyId?: number;
};

/** Whether a filter finds a record. */
export function fits(filter: Filter, record: Sent, start: number): boolean {
  const tokens = usageOf(record), cost = costOf(record, start);
  const codes = filter.status?.split(",").map((text) => text === "failed" ? 0 : Number(text));
  const [path, value] = filter.where?.split("=") ?? [];
  return (filter.promptVersion ?? record.version) === record.version && record.at >= (filter.from ?? -Infinity) &&
    record.at < (filter.to ?? Infinity) && (codes?.includes(record.status) ?? true) &&
    (!filter.failures || record.status === 0) && (latencyOf(record) ?? -1) > (filter.slowerThan ?? -2) &&
    (tokens === undefined ? 0 : tokens.prompt + tokens.completion) > (filter.moreTokensThan ?? -1) &&
    (filter.costlierThan === undefined || cost !== undefined && cost > toUnits(filter.costlierThan)) &&
    (filter.model ?? modelOf(record)).toLowerCase() === modelOf(record) &&
    (path === undefined || record.additional_properties?.[path] === value) &&
    (filter.keyId ?? record.nth) === record.nth;
}

const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

const quantiles = new Map<number, number>();

/** The 97.5 % quantile of Student's t distribution, by integrating its density: with x = √f·tan a it is cos(a)^(f - 1). */
function quantileOfT(freedom: number): number {
  const known = quantiles.get(freedom);
  if (known !== undefined) return known;
  const steps = 20_000, width = Math.PI / 2 / steps;
  const density = (step: number) => Math.cos(step * width) ** (freedom - 1);
  // Simpson's rule, two steps at a time.
  const sums = [0];
  for (let step = 0; step < steps; step += 2) {
    sums.push(sums.at(-1)! + density(step) + 4 * density(step + 1) + density(step + 2));
  }
  const wanted = 0.95 * sums.at(-1)!, above = sums.findIndex((sum) => sum > wanted);
  const part = (wanted - sums[above - 1]!) / (sums[above]! - sums[above - 1]!);
  const quantile = Math.sqrt(freedom) * Math.tan(2 * (above - 1 + part) * width);
  quantiles.set(freedom, quantile);
  return quantile;
}

/**
 * The 95 % interval of a difference of means by Welch, from 30 values on, or by the pooled variance if that is larger and the
 * difference is skewed by more than 0.2.
 */
function welch(means: [number, number], sides: [number[], number[]]): [number, number] | undefined {
  if (sides.some(({ length }) => length < 30)) return undefined;
  const [m, n] = sides.map(({ length }) => length) as [number, number];
  const powers = (power: number) =>
    sides.map((values) => {
      const middle = mean(values);
      return values.reduce((sum, value) => sum + (value - middle) ** power, 0);
    }) as [number, number];
  const squares = powers(2), cubes = powers(3), difference = means[1] - means[0];
  const one = squares[0] / (m - 1) / m, other = squares[1] / (n - 1) / n;
  const pooled = (squares[0] + squares[1]) / (m + n - 2) * (1 / m + 1 / n);
  if (pooled === 0) return [difference, difference];
  const freedom = (one + other) ** 2 / (one ** 2 / (m - 1) + other ** 2 / (n - 1));
  const half = quantileOfT(freedom) * Math.sqrt(one + other);
  const third = (cubes[0] + cubes[1]) / (m + n);
  const skewness = [
    (cubes[1] / n ** 3 - cubes[0] / m ** 3) / (one + other) ** 1.5,
    third * (1 / n ** 2 - 1 / m ** 2) / pooled ** 1.5,
  ];
  const isSkewed = skewness.some((each) => Math.abs(each) > 0.2);
  const widest = isSkewed ? Math.max(half, quantileOfT(m + n - 2) * Math.sqrt(pooled)) : half;
  return [difference - widest, difference + widest];
}

const isNear = (a: number, b: number, scale: number) => Math.abs(a - b) <= 1e-6 * Math.max(1e-12, Math.abs(scale));

/** Compares both sides of a comparison and their differences with recounts. */
export function checkComparison({ a, b, differences }: Comparison, one: Sent[], other: Sent[], start: number): void {
  const sides = [[a, one], [b, other]] as const;
  for (const [{ deployId: _, reference: _r, version: _v, ...stats }, records] of sides) {
    checkStats(stats, records, start);
  }
  const all = [one, other] as [Sent[], Sent[]];
  const toNumbers = {
    latency: (record: Sent) => latencyOf(record) === undefined ? [] : [rounded(latencyOf(record)!)],
    tokens: (record: Sent) => {
      const tokens = usageOf(record);
      return tokens === undefined ? [] : [Number(toDigits(BigInt(tokens.prompt + tokens.completion) * unit))];
    },
    cost: (record: Sent) => {
      const cost = costOf(record, start);
      return cost === undefined ? [] : [Number(toDigits(cost))];
    },
  };
  for (const [name, valuesOf] of Object.entries(toNumbers) as [keyof typeof toNumbers, (record: Sent) => number[]][]) {
    const values = all.map((records) => records.flatMap(valuesOf)) as [number[], number[]];
    const found = differences[name];
    if (values.some(({ length }) => length === 0)) {
      assert.is(found, null);
      continue;
    }
    const means = [Number(a[name].mean), Number(b[name].mean)] as [number, number];
    const scale = Math.max(...means, ...values.flat());
    assert.ok(isNear(Number(found!.difference), means[1] - means[0], scale), JSON.stringify([name, found, means]));
    const [low, high] = welch(means, values) ?? [];
    assert.is(found!.low === null, low === undefined);
    if (low === undefined) continue;
    assert.ok(
      isNear(found!.low!, low, scale) && isNear(found!.high!, high!, scale),
      JSON.stringify([name, found, low]),
    );
  }
  if (one.length === 0 || other.length === 0) return assert.is(differences.failures, null);
  const shares = all.map((records) => records.filter(({ status }) => status === 0).length / records.length);
  const bounds = all.map((records, side) => wilson(Math.round(shares[side]! * records.length), records.length));
  const { difference, low, high } = differences.failures!;
  assert.is(difference, shares[1]! - shares[0]!);
  const far = (x: number, y: number) => Math.sqrt(x ** 2 + y ** 2);
  assert.ok(near(low!, difference - far(shares[1]! - bounds[1]![0], bounds[0]![1] - shares[0]!)));
  assert.ok(near(high!, difference + far(bounds[1]![1] - shares[1]!, shares[0]! - bounds[0]![0])));
}

/** The sessions of records, the one with the newest record first. */
export function sessionsOf(records: Sent[], start: number): Session[] {
  const ids = [...new Set(records.toReversed().map(({ sessionId }) => sessionId))];
  return ids.map((sessionId) => {
    const own = records.filter((record) => record.sessionId === sessionId);
    const { cost: { total, unpriced } } = computed(own, start);
    const times = own.map(({ at }) => at);
    return {
      ...{ sessionId, records: own.length, cost: total, unpriced },
      failures: own.filter(({ status }) => status === 0).length,
      feedback: [],
      ...{ firstAt: Math.min(...times), lastAt: Math.max(...times) },
    };
  });
}
