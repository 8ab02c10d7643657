// Tallies in the form of responses. Percentiles are those of rounded values.
import { decimalText, divideAmount, totalOf } from "../support/decimal.ts";
import type { Figures, RecordStats } from "../schema/ledger.ts";
import { toFeedbackStats } from "./feedback-tally.ts";
import type { Labels } from "../feedback/feedback-words.ts";
import {
  addHistogram,
  digitsOf,
  eachCount,
  latencyBucket,
  latencyOf,
  numberOf,
  percentiles,
} from "../statistics/histogram.ts";
import type { Histogram } from "../statistics/histogram.ts";
import { wilson } from "../statistics/intervals.ts";
import type { Moments } from "../statistics/intervals.ts";
import type { Part } from "./counting.ts";
import { addSums, emptyPart, totalCost } from "./tally.ts";
import type { Tally } from "./tally.ts";

/** The meaning of a status. */
type StatusMeaning = { status: number; name: string; isFailure: boolean };

const namesFailures = (meanings: StatusMeaning[]): boolean => meanings.some(({ isFailure }) => isFailure);

/** Adds up parts of the time to figures. */
export function toFigures(parts: Part[], meanings: StatusMeaning[], labels: Labels): Figures {
  const { sums, latencies } = emptyPart();
  for (const { tally } of parts) {
    addSums(sums, tally.sums);
    addHistogram(latencies, tally.latencies);
  }
  const { records, failures, tokens, cost, feedback } = sums;
  const [p50, p95] = valuesOf(percentiles(latencies, [0.5, 0.95]), latencyOf);
  return {
    records,
    failures: namesFailures(meanings) ? failures : null,
    latency: { p50: p50 ?? null, p95: p95 ?? null },
    tokens: {
      records: tokens.records,
      prompt: Number(totalOf(tokens.input)),
      completion: Number(totalOf(tokens.output)),
    },
    cost: { total: decimalText(totalCost(cost)), unpriced: records - cost.records },
    feedback: toFeedbackStats(feedback, labels),
  };
}

const shownStatuses = 10;
const meanDecimals = 12;

const roundLatency = (latency: number) => latencyOf(latencyBucket(latency));

/** Statistics of a tally. `failures` is null if the workspace names no status that counts as one. */
export function toStats(tally: Tally, meanings: StatusMeaning[], labels: Labels): RecordStats {
  const { records, failures, statuses, latency, tokens, cost, feedback } = tally.sums;
  const shareOf = (count: number) => ({ records: count, share: records === 0 ? 0 : count / records });
  const shown = [...statuses].sort(([a, one], [b, other]) => other - one || a - b).slice(0, shownStatuses);
  const meaningOf = (code: number) => meanings.find(({ status }) => status === code);
  const input = totalOf(tokens.input), output = totalOf(tokens.output);
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
    failures: namesFailures(meanings) ? toFailures(failures, records) : null,
    latency: {
      records: latency.records,
      ...ranked(tally.latencies, latencyOf),
      mean: latency.records === 0 ? null : roundLatency(latency.sum / latency.records),
    },
    tokens: {
      records: tokens.records,
      prompt: Number(input),
      completion: Number(output),
      cached: Number(totalOf(tokens.cached)),
      written: Number(totalOf(tokens.written)),
      ...ranked(tally.tokens, numberOf),
      mean: tokens.records === 0 ? null : Number(input + output) / tokens.records,
    },
    cost: {
      records: cost.records,
      unpriced: records - cost.records,
      total: decimalText(total),
      ...ranked(tally.costs, costText),
      mean: cost.records === 0 ? null : decimalText(divideAmount(total, cost.records, meanDecimals)),
    },
    feedback: toFeedbackStats(feedback, labels),
  };
}

/** The values of buckets. Null without a bucket. */
const valuesOf = <T>(buckets: (number | undefined)[], valueOf: (bucket: number) => T): (T | null)[] =>
  buckets.map((bucket) => bucket === undefined ? null : valueOf(bucket));

function ranked<T>(histogram: Histogram, valueOf: (bucket: number) => T) {
  const [p50, p95, p99] = valuesOf(percentiles(histogram, [0.5, 0.95, 0.99]), valueOf);
  return { p50: p50 ?? null, p95: p95 ?? null, p99: p99 ?? null };
}

function toFailures(records: number, all: number) {
  if (all === 0) return { records, share: null, low: null, high: null };
  return { records, share: records / all, ...wilson(records, all) };
}

function costText(bucket: number): string {
  const { digits, exponent } = digitsOf(bucket);
  return decimalText(BigInt(digits), exponent);
}

/** The moments of values, computed from their buckets. */
export function momentsOf(histogram: Histogram, valueOf: (bucket: number) => number): Moments {
  let count = 0, sum = 0, squares = 0, cubes = 0, first = 0;
  eachCount(histogram, (bucket, times) => {
    const value = valueOf(bucket);
    if (count === 0) first = value;
    count += times;
    sum += times * (value - first); // relative to the first: equal values have exactly their mean
  });
  const mean = first + sum / count;
  eachCount(histogram, (bucket, times) => {
    const difference = valueOf(bucket) - mean, square = difference * difference;
    squares += times * square;
    cubes += times * square * difference;
  });
  return { count, mean, variance: count < 2 ? 0 : squares / (count - 1), third: cubes / count };
}
