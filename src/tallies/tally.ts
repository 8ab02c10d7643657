// Counts records: statuses, latency, tokens and cost. Sums are exact.
import { addTo, amountDecimals, emptySum, totalOf } from "../support/decimal.ts";
import type { Amount, ExactSum } from "../support/decimal.ts";
import { addFeedback, addFeedbackTallies, unitBytes, weightOf } from "./feedback-tally.ts";
import type { FeedbackTallies } from "./feedback-tally.ts";
import {
  addHistogram,
  digitsBucket,
  emptyHistogram,
  histogramBytes,
  increase,
  latencyBucket,
  packed,
} from "../statistics/histogram.ts";
import type { Histogram } from "../statistics/histogram.ts";
import { amountOf } from "../statistics/rates.ts";
import type { Cost, Rate } from "../statistics/rates.ts";
import type { MeasuredRecord } from "../log/slices.ts";

/** Costs of some records. */
export type Costs = { records: number; cost: CostSum };

/** Counts of some records. */
export type Outcomes = Costs & { failures: number; statuses: Map<number, number>; feedback: FeedbackTallies };

type CostSum = {
  records: number;
  /** By rate, in units of that rate. */
  byRate: Map<Rate, ExactSum>;
  others: Amount;
};

/** Additive counts, for the records of a version or of a part of the time. */
export type Sums = Outcomes & {
  latency: { records: number; sum: number };
  tokens: { records: number; input: ExactSum; output: ExactSum; cached: ExactSum; written: ExactSum };
};

export type Tally = { sums: Sums; latencies: Histogram; tokens: Histogram; costs: Histogram };

/** The tally of a part of the time, kept small, as there may be many. */
export type PartTally = { sums: Sums; latencies: Histogram };

export const emptyCosts = (): Costs => ({ records: 0, cost: { records: 0, byRate: new Map(), others: 0n } });

export const emptyOutcomes = (): Outcomes => ({
  ...{ failures: 0, statuses: new Map(), feedback: new Map() },
  ...emptyCosts(),
});

// If it began with the spread, V8 would give each object its own shape, and adding to them would take far longer.
const emptySums = (): Sums => ({
  latency: { records: 0, sum: 0 },
  tokens: { records: 0, input: emptySum(), output: emptySum(), cached: emptySum(), written: emptySum() },
  ...emptyOutcomes(),
});

export const emptyTally = (): Tally => ({
  sums: emptySums(),
  ...{ latencies: emptyHistogram(), tokens: emptyHistogram(), costs: emptyHistogram() },
});

export const emptyPart = (): PartTally => ({ sums: emptySums(), latencies: emptyHistogram() });

const maxStatuses = 2_000; // counted separately: clients may send any number of them

/** The highest counts. Of equal ones, the first are kept. */
const mostFrequent = (counts: Map<number, number>, count: number): Map<number, number> =>
  new Map([...counts].sort(([, a], [, b]) => b - a).slice(0, count));

/** Counts a record: in `part` too if there is one, which then has the sums. Returns the weight that its feedback adds. */
export function addRecord(tally: Tally, part: PartTally | undefined, record: MeasuredRecord): number {
  const { latency, input, output, cached, written, cost } = record;
  const sums = part === undefined ? tally.sums : part.sums;
  const added = addOutcome(sums, record);
  if (latency !== null) {
    const bucket = latencyBucket(latency);
    sums.latency.records++;
    sums.latency.sum += latency;
    increase(tally.latencies, bucket);
    if (part !== undefined) increase(part.latencies, bucket);
  }
  if (input !== null || output !== null) {
    const { tokens } = sums;
    tokens.records++;
    addTo(tokens.input, input ?? 0);
    addTo(tokens.output, output ?? 0);
    addTo(tokens.cached, cached);
    addTo(tokens.written, written);
    increase(tally.tokens, digitsBucket((input ?? 0) + (output ?? 0), 0));
  }
  if (cost !== undefined) increase(tally.costs, digitsBucket(cost.units, cost.exponent));
  return added;
}

export function addOutcome(outcomes: Outcomes, record: MeasuredRecord): number {
  addCosts(outcomes, record);
  if (record.isFailure) outcomes.failures++;
  addStatus(outcomes, record.status, 1);
  return addFeedback(outcomes.feedback, record.feedback);
}

export function addCosts(costs: Costs, { cost }: Pick<MeasuredRecord, "cost">): void {
  costs.records++;
  if (cost !== undefined) addCost(costs.cost, cost);
}

function addStatus(outcomes: Outcomes, status: number, count: number): void {
  outcomes.statuses.set(status, (outcomes.statuses.get(status) ?? 0) + count);
  if (outcomes.statuses.size > maxStatuses) outcomes.statuses = mostFrequent(outcomes.statuses, maxStatuses / 2);
}

function addCost(sum: CostSum, cost: Cost): void {
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

/** Adds the costs of other records. */
export function addAllCosts(costs: Costs, { records, cost }: Costs): void {
  costs.records += records;
  costs.cost.records += cost.records;
  costs.cost.others += totalCost(cost);
}

/** Adds what was counted of other records. Returns the weight that their feedback adds. */
export function addSums(sums: Sums, other: Sums): number {
  const { failures, statuses, latency, tokens } = other;
  addAllCosts(sums, other);
  sums.failures += failures;
  for (const [status, count] of statuses) addStatus(sums, status, count);
  sums.latency.records += latency.records;
  sums.latency.sum += latency.sum;
  sums.tokens.records += tokens.records;
  for (const name of ["input", "output", "cached", "written"] as const) {
    sums.tokens[name].large += totalOf(tokens[name]);
  }
  return addFeedbackTallies(sums.feedback, other.feedback);
}

/** Adds what was counted of other records. Returns the weight that their feedback adds. */
export function addTally(tally: Tally, other: Tally): number {
  addHistograms(tally, other);
  return addSums(tally.sums, other.sums);
}

/** Adds the histograms of a tally. */
export function addHistograms(tally: Tally, other: Tally): void {
  for (const name of ["latencies", "tokens", "costs"] as const) addHistogram(tally[name], other[name]);
}

/** Copies a tally into less memory. It must have fewer than 2^16 records, and is only for reading. */
export const packedTally = ({ sums, latencies, tokens, costs }: Tally): Tally => ({
  ...{ sums, latencies: packed(latencies), tokens: packed(tokens), costs: packed(costs) },
});

export const packedPart = ({ sums, latencies }: PartTally): PartTally => ({ sums, latencies: packed(latencies) });

const sumsBytes = 1_000; // in memory, roughly

/** Approximate memory of a tally, in bytes. */
export const bytesOf = ({ sums, ...counts }: Tally | PartTally): number =>
  Object.values(counts).reduce((bytes, histogram) => bytes + histogramBytes(histogram), sumsBytes) +
  unitBytes * weightOf(sums.feedback);

/** The exact cost of all records that have one. */
export function totalCost({ byRate, others }: CostSum): Amount {
  let total = others;
  for (const [{ decimals }, sum] of byRate) total += totalOf(sum) * 10n ** BigInt(amountDecimals - 6 - decimals);
  return total;
}
