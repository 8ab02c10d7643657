// Figures of a difference between the arms of a rollout, from the sums of each step: the difference, its interval at
// one time, its sequence, and the number of further records needed.
import { boundedSequence } from "./bounded-sequence.ts";
import { latencyOf } from "./histogram.ts";
import type { Counted, Interval, Moments } from "./intervals.ts";
import { intervalOf, meanDifference } from "./mean-difference.ts";
import type { SharedStep } from "./mean-difference.ts";
import { meanSequence } from "./mean-sequence.ts";
import { quantileRatio } from "./quantile-sequence.ts";
import type { Measured } from "./quantile-sequence.ts";
import { isExcluded, shareDifference, shareInterval, shareSequence } from "./share-sequence.ts";
import type { ShareStep } from "./share-sequence.ts";

/**
 * Of shares, `points` (0.02 is two points); of latency, tokens and cost, a `ratio` less 1 of the candidate's
 * (geometric) mean or percentile to the base's; of numeric feedback, the plain difference of the means.
 */
export type Unit = "points" | "ratio" | "value";

export type Figures = {
  unit: Unit;
  difference: number | null;
  interval: Interval | null;
  sequence: Interval | null;
  /** Estimated number of further records, of both arms, until a given difference is found in half of the rollouts. */
  needed: number | null;
};

export type FigureOptions = {
  /** Probability of error of a sequence. */
  level: number;
  /** The smallest differences to detect, if any: `points` for shares, and `ratio` for relative ones. */
  wanted?: { points: number; ratio: number } | undefined;
};

export function shareFigures(steps: ShareStep[], { level, wanted }: FigureOptions): Figures {
  return {
    unit: "points",
    difference: shareDifference(steps) ?? null,
    interval: shareInterval(steps) ?? null,
    sequence: shareSequence(steps, level) ?? null,
    needed: wanted === undefined ? null : neededOfShare(steps, level, wanted.points),
  };
}

const none = { difference: null, interval: null, sequence: null, needed: null };

/** The difference of means of values without declared bounds. */
export function valueFigures(steps: SharedStep[], { level, wanted }: FigureOptions): Figures {
  const found = meanDifference(steps);
  if (found === undefined) return { unit: "value", ...none };
  return {
    unit: "value",
    difference: found.difference,
    interval: intervalOf(found),
    sequence: meanSequence(found, level) ?? null,
    needed: wanted === undefined ? null : neededOfMean(steps, level, wanted.ratio * Math.abs(meanOf(steps, "a"))),
  };
}

/** The difference of means of values within bounds. */
export function boundedFigures(steps: SharedStep[], bounds: Interval, { level, wanted }: FigureOptions): Figures {
  const compared = steps.filter(({ a, b }) => a.count > 0 && b.count > 0);
  if (compared.length === 0) return { unit: "value", ...none };
  const found = meanDifference(steps);
  return {
    unit: "value",
    difference: weightedDifference(compared),
    interval: found === undefined ? null : intervalOf(found),
    sequence: boundedSequence(steps, bounds, level) ?? null,
    needed: wanted === undefined
      ? null
      : neededOfBounded(compared, bounds, level, wanted.ratio * Math.abs(meanOf(steps, "a"))),
  };
}

function weightedDifference(steps: SharedStep[]): number {
  let sum = 0, weights = 0;
  for (const { a, b } of steps) {
    const weight = a.count * b.count / (a.count + b.count);
    sum += weight * (b.mean - a.mean);
    weights += weight;
  }
  return sum / weights;
}

/** The ratio of geometric means, less 1, of the logs of values. */
export function ratioFigures(steps: SharedStep[], { level, wanted }: FigureOptions): Figures {
  const found = meanDifference(steps), sequence = found && meanSequence(found, level);
  if (found === undefined) return { unit: "ratio", ...none };
  return {
    unit: "ratio",
    difference: Math.expm1(found.difference),
    interval: toRatio(intervalOf(found)),
    sequence: sequence === undefined ? null : toRatio(sequence),
    needed: wanted === undefined ? null : neededOfMean(steps, level, Math.log1p(wanted.ratio)),
  };
}

/** Null if the ratio is too large for a number. */
function toRatio(logs: Interval): Interval | null {
  const low = Math.expm1(logs.low), high = Math.expm1(logs.high);
  return high === Infinity ? null : { low, high };
}

/**
 * The ratio of the 95th percentiles of latency, less 1, in the last of `steps` steps: percentiles cannot be added up
 * across steps. Step n of a rollout uses 1 / n (n + 1) of the level. The sum over all steps is at most the level.
 */
export function percentileFigures({ a, b }: { a: Measured; b: Measured }, steps: number, level: number): Figures {
  const { low, high, ratio } = quantileRatio(a, b, 0.95, latencyOf, level / (steps * (steps + 1)));
  const isKnown = low > 0 && high < Infinity;
  return {
    ...{ unit: "ratio", ...none },
    difference: ratio === undefined ? null : ratio - 1,
    sequence: isKnown ? { low: low - 1, high: high - 1 } : null,
  };
}

const mostNeeded = 1e12;

/** The least sufficient number of records, less `records`. Null if it is too large. */
function moreThan(records: number, suffices: (records: number) => boolean): number | null {
  let high = 32;
  while (!suffices(high)) if ((high *= 2) > mostNeeded) return null;
  let low = high / 2;
  while (high - low > high / 1000) {
    const middle = (low + high) / 2;
    if (suffices(middle)) high = middle;
    else low = middle;
  }
  return Math.max(0, Math.ceil(high) - records);
}

/** Assumes that arms get records by their share, the base keeps its rate, and the candidate has the difference. */
function neededOfShare(steps: ShareStep[], level: number, difference: number): number | null {
  const total = (arm: "a" | "b", of: keyof Counted) => steps.reduce((sum, step) => sum + step[arm][of], 0);
  const records = total("a", "total") + total("b", "total"), base = total("a", "count") / total("a", "total");
  const { share } = steps.at(-1)!;
  if (!(base >= 0) || share >= 1 || difference <= 0 || difference >= 1) return null;
  const other = base + difference <= 1 ? base + difference : base - difference;
  if (other < 0) return null;
  return moreThan(records, (all) => {
    const [a, b] = [(1 - share) * all, share * all];
    return isExcluded([{ a: { count: base * a, total: a }, b: { count: other * b, total: b }, share }], 0, level);
  });
}

/** The mean of all values of an arm. */
function meanOf(steps: SharedStep[], arm: "a" | "b"): number {
  const sums = steps.map((step) => step[arm]).filter(({ count }) => count > 0);
  return sums.reduce((sum, { count, mean }) => sum + count * mean, 0) / sums.reduce((sum, { count }) => sum + count, 0);
}

/** The moments of all values around the means of their arms and steps. */
function pooledMoments(steps: SharedStep[]): Moments {
  let count = 0, squares = 0, cubes = 0;
  for (const arm of steps.flatMap(({ a, b }) => [a, b]).filter(({ count }) => count > 0)) {
    count += arm.count;
    squares += arm.count * arm.variance;
    cubes += arm.count * arm.third;
  }
  return { count, mean: 0, variance: squares / count, third: cubes / count };
}

/** Assumes values that vary around the means of both arms as all values did. */
function neededOfMeans(
  steps: SharedStep[],
  [base, other]: [base: number, other: number],
  sequenceOf: (step: SharedStep) => Interval | undefined,
): number | null {
  const values = pooledMoments(steps), { share } = steps.at(-1)!;
  if (share >= 1 || base === other) return null;
  return moreThan(values.count, (all) => {
    const a = { ...values, mean: base, count: (1 - share) * all }, b = { ...values, mean: other, count: share * all };
    const found = sequenceOf({ a, b, share });
    return found !== undefined && (found.low >= 0 || found.high <= 0);
  });
}

const neededOfMean = (steps: SharedStep[], level: number, difference: number): number | null =>
  neededOfMeans(steps, [0, difference], (step) => {
    const found = meanDifference([step]);
    return found && meanSequence(found, level);
  });

function neededOfBounded(steps: SharedStep[], bounds: Interval, level: number, difference: number): number | null {
  const base = meanOf(steps, "a"), higher = base + difference;
  const other = higher <= bounds.high ? higher : base - difference;
  return other < bounds.low
    ? null
    : neededOfMeans(steps, [base, other], (step) => boundedSequence([step], bounds, level));
}
