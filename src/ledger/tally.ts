// Counts records: statuses, latency, tokens and cost. Sums are exact. Percentiles are those of rounded values.
import { addTo, amountDecimals, decimalText, divideAmount, emptySum, totalOf } from "../common/decimal.ts";
import type { Amount, ExactSum } from "../common/decimal.ts";
import type { RecordStats, StatsPoint } from "../schema/ledger.ts";
import {
  addHistogram,
  countsOf,
  digitsBucket,
  digitsOf,
  increase,
  increaseSmall,
  latencyBucket,
  latencyOf,
  numberOf,
  percentiles,
} from "./histogram.ts";
import type { Histogram, SmallHistogram } from "./histogram.ts";
import { wilson } from "./intervals.ts";
import type { Moments } from "./intervals.ts";
import { amountOf } from "./pricing.ts";
import type { Cost, Rate } from "./pricing.ts";
import type { MeasuredRecord } from "./scan.ts";

/** What a status means. */
export type StatusMeaning = { status: number; name: string; isFailure: boolean };

export type Tally = {
  records: number;
  statuses: Map<number, number>;
  latency: { records: number; sum: number; histogram: Histogram };
  tokens: { records: number; input: ExactSum; output: ExactSum; cached: ExactSum; histogram: Histogram };
  cost: CostSum & { histogram: Histogram };
};

export type CostSum = {
  records: number;
  /** By rate, in units of that rate. */
  byRate: Map<Rate, ExactSum>;
  others: Amount;
};

/** The records of an hour, a day or a week, of which there may be many. */
export type PointTally = {
  at: number;
  records: number;
  statuses: Map<number, number>;
  latencies: SmallHistogram;
  input: ExactSum;
  output: ExactSum;
  cost: CostSum;
  versions: Map<number, number>;
};

export const emptyTally = (): Tally => ({
  records: 0,
  statuses: new Map(),
  latency: { records: 0, sum: 0, histogram: new Map() },
  tokens: { records: 0, input: emptySum(), output: emptySum(), cached: emptySum(), histogram: new Map() },
  cost: { ...emptyCost(), histogram: new Map() },
});

const maxStatuses = 2_000; // counted separately: clients may send any number of them
const shownStatuses = 10;

/** The highest counts, and of equal ones the first. */
const mostFrequent = (counts: Map<number, number>, count: number): Map<number, number> =>
  new Map([...counts].sort(([, a], [, b]) => b - a).slice(0, count));

export function addRecord(tally: Tally, { status, latency, input, output, cached, cost }: MeasuredRecord): void {
  tally.records++;
  tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
  if (tally.statuses.size > maxStatuses) tally.statuses = mostFrequent(tally.statuses, maxStatuses / 2);
  if (latency !== null) {
    tally.latency.records++;
    tally.latency.sum += latency;
    increase(tally.latency.histogram, latencyBucket(latency));
  }
  if (input !== null || output !== null) {
    const { tokens } = tally;
    tokens.records++;
    addTo(tokens.input, input ?? 0);
    addTo(tokens.output, output ?? 0);
    addTo(tokens.cached, cached);
    increase(tokens.histogram, digitsBucket((input ?? 0) + (output ?? 0), 0));
  }
  if (cost !== undefined) {
    increase(tally.cost.histogram, digitsBucket(cost.units, cost.exponent));
    addCost(tally.cost, cost);
  }
}

export function addCost(sum: CostSum, cost: Cost): void {
  const { units, rate } = cost;
  sum.records++;
  if (rate === undefined || typeof units === "bigint") {
    sum.others += amountOf(cost);
    return;
  }
  let ofRate = sum.byRate.get(rate);
  if (ofRate === undefined) sum.byRate.set(rate, ofRate = emptySum());
  addTo(ofRate, units);
}

export const emptyCost = (): CostSum => ({ records: 0, byRate: new Map(), others: 0n });

export const emptyPoint = (at: number): PointTally => ({
  ...{ at, records: 0, statuses: new Map(), latencies: new Map(), versions: new Map() },
  ...{ input: emptySum(), output: emptySum(), cost: emptyCost() },
});

export function addToPoint(point: PointTally, record: MeasuredRecord): void {
  const { status, version, latency, input, output, cost } = record;
  point.records++;
  point.statuses.set(status, (point.statuses.get(status) ?? 0) + 1);
  point.versions.set(version, (point.versions.get(version) ?? 0) + 1);
  if (latency !== null) increaseSmall(point.latencies, latencyBucket(latency));
  addTo(point.input, input ?? 0);
  addTo(point.output, output ?? 0);
  if (cost !== undefined) addCost(point.cost, cost);
}

/** What was counted in an hour, a day or a week. */
export function toPoint(point: PointTally, meanings: StatusMeaning[]): StatsPoint {
  const { at, records, latencies, input, output, cost, versions } = point;
  const failing = failingOf(meanings);
  const [p50, p95] = percentiles([...latencies], [0.5, 0.95]).map((bucket) =>
    bucket === undefined ? null : latencyOf(bucket)
  );
  return {
    at,
    records,
    failures: failing.length === 0 ? null : countOf(point, failing),
    latency: { p50: p50!, p95: p95! },
    tokens: { prompt: Number(totalOf(input)), completion: Number(totalOf(output)) },
    cost: { total: decimalText(totalCost(cost)), unpriced: records - cost.records },
    versions: [...versions].sort(([a], [b]) => a - b).map(([version, records]) => ({ version, records })),
  };
}

const failingOf = (meanings: StatusMeaning[]): number[] =>
  meanings.filter(({ isFailure }) => isFailure).map(({ status }) => status);

/** Adds what another tally has counted. */
export function addTally(tally: Tally, { records, statuses, latency, tokens, cost }: Tally): void {
  const addSum = (sum: ExactSum, other: ExactSum) => sum.large += totalOf(other);
  tally.records += records;
  for (const [status, count] of statuses) tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + count);
  tally.latency.records += latency.records;
  tally.latency.sum += latency.sum;
  addHistogram(tally.latency.histogram, latency.histogram);
  tally.tokens.records += tokens.records;
  for (const name of ["input", "output", "cached"] as const) addSum(tally.tokens[name], tokens[name]);
  addHistogram(tally.tokens.histogram, tokens.histogram);
  tally.cost.records += cost.records;
  tally.cost.others += totalCost(cost);
  addHistogram(tally.cost.histogram, cost.histogram);
}

/** The exact cost of all records that have one. */
export function totalCost({ byRate, others }: CostSum): Amount {
  let total = others;
  for (const [{ decimals }, sum] of byRate) total += totalOf(sum) * 10n ** BigInt(amountDecimals - 6 - decimals);
  return total;
}

export const countOf = ({ statuses }: Pick<Tally, "statuses">, codes: number[]): number =>
  codes.reduce((sum, code) => sum + (statuses.get(code) ?? 0), 0);

const shares = [0.5, 0.95, 0.99];
export const meanDecimals = 12;

const roundLatency = (latency: number) => latencyOf(latencyBucket(latency));

/** What a tally has counted. `failures` is null if the workspace names no status that counts as one. */
export function toStats(tally: Tally, meanings: StatusMeaning[]): RecordStats {
  const { records, statuses, latency, tokens, cost } = tally;
  const failing = failingOf(meanings);
  const shareOf = (count: number) => ({ records: count, share: records === 0 ? 0 : count / records });
  const shown = [...statuses].sort(([a, one], [b, other]) => other - one || a - b).slice(0, shownStatuses);
  const meaningOf = (code: number) => meanings.find(({ status }) => status === code);
  const ofLatency = percentiles(countsOf(latency.histogram), shares).map((bucket) =>
    bucket === undefined ? null : latencyOf(bucket)
  );
  const ofTokens = percentiles(countsOf(tokens.histogram), shares).map((bucket) =>
    bucket === undefined ? null : numberOf(bucket)
  );
  const ofCost = percentiles(countsOf(cost.histogram), shares).map((bucket) =>
    bucket === undefined ? null : costText(bucket)
  );
  const [input, output, cached] = [tokens.input, tokens.output, tokens.cached].map(totalOf) as [bigint, bigint, bigint];
  const total = totalCost(cost);
  return {
    records,
    statuses: shown.map(([status, count]) => ({
      status,
      name: meaningOf(status)?.name ?? null,
      isFailure: meaningOf(status)?.isFailure ?? false,
      ...shareOf(count),
    })),
    otherStatuses: shareOf(shown.reduce((rest, [, count]) => rest - count, records)),
    failures: failing.length === 0 ? null : toFailures(countOf(tally, failing), records),
    latency: {
      records: latency.records,
      ...named(ofLatency),
      mean: latency.records === 0 ? null : roundLatency(latency.sum / latency.records),
    },
    tokens: {
      records: tokens.records,
      prompt: Number(input),
      completion: Number(output),
      cached: Number(cached),
      ...named(ofTokens),
      mean: tokens.records === 0 ? null : Number(input + output) / tokens.records,
    },
    cost: {
      records: cost.records,
      unpriced: records - cost.records,
      total: decimalText(total),
      ...named(ofCost),
      mean: cost.records === 0 ? null : decimalText(divideAmount(total, cost.records, meanDecimals)),
    },
  };
}

function named<T>([p50, p95, p99]: T[]): { p50: T; p95: T; p99: T } {
  return { p50: p50!, p95: p95!, p99: p99! };
}

function toFailures(records: number, all: number) {
  if (all === 0) return { records, share: null, low: null, high: null };
  return { records, share: records / all, ...wilson(records, all) };
}

function costText(bucket: number): string {
  const { digits, exponent } = digitsOf(bucket);
  return decimalText(BigInt(digits), exponent);
}

/** The mean and the variance of values, as their buckets tell them. */
export function momentsOf(histogram: Histogram, valueOf: (bucket: number) => number): Moments {
  let count = 0, sum = 0, squares = 0;
  const counts = countsOf(histogram);
  for (const [bucket, times] of counts) {
    count += times;
    sum += times * valueOf(bucket);
  }
  const mean = sum / count;
  for (const [bucket, times] of counts) squares += times * (valueOf(bucket) - mean) ** 2;
  return { count, mean, variance: count < 2 ? 0 : squares / (count - 1) };
}
