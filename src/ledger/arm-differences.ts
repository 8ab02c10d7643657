// How the arms of a rollout differ, measure by measure: the difference, its interval at one time, and its sequence, which stays
// valid however often one looks. Steps of the share are compared each on their own, because the base rate may have moved.
import { feedbackMoments, truesOf } from "./feedback-tally.ts";
import type { FeedbackTally } from "./feedback-tally.ts";
import { latencyOf, numberOf } from "./histogram.ts";
import type { Histogram } from "./histogram.ts";
import type { Counted, Interval, Moments } from "./intervals.ts";
import { meanDifference, meanInterval, meanSequence, widthAt } from "./mean-sequence.ts";
import type { MeanStep } from "./mean-sequence.ts";
import { quantileRatio } from "./quantile-sequence.ts";
import { isExcluded, shareDifference, shareInterval, shareSequence } from "./share-sequence.ts";
import type { ShareStep } from "./share-sequence.ts";
import { momentsOf } from "./summary.ts";
import type { CountedStep } from "./arms.ts";
import type { Tally } from "./tally.ts";

/** What is compared. `name` is that of feedback, and `label` one of its labels. */
export type Measure = {
  measure: "failures" | "latency" | "p95" | "tokens" | "cost" | "feedback";
  name: string | null;
  label: string | null;
};

/**
 * Of shares, `points` (0.02 is two points); of latency, tokens and cost, a `ratio` less 1 of the candidate's (geometric) mean or
 * percentile to the base's; of numeric feedback, the plain difference of the means.
 */
export type Unit = "points" | "ratio" | "value";

export type ArmDifference = Measure & {
  unit: Unit;
  difference: number | null;
  interval: Interval | null;
  sequence: Interval | null;
  /** About how many records more, of both arms, until a given difference is found in half of the rollouts. */
  needed: number | null;
};

export type CompareOptions = {
  hasFailures: boolean;
  /** Probability of error of a sequence. */
  level: number;
  /** The differences whose need of records to tell, if any: of shares, in points, and relative ones. */
  wanted?: { points: number; ratio: number } | undefined;
};

type Figures = Pick<ArmDifference, "unit" | "difference" | "interval" | "sequence" | "needed">;

const measured = (
  measure: Measure["measure"],
  figures: Figures,
  name: string | null = null,
  label: string | null = null,
) => ({
  ...{ measure, name, label },
  ...figures,
});

/** Compares what was counted of both arms. */
export function compareArms(steps: CountedStep[], options: CompareOptions): ArmDifference[] {
  const current = steps.at(-1)!.share;
  const means = (valueOf: (tally: Tally) => Moments) =>
    steps.map(({ base, candidate }) => ({ a: valueOf(base), b: valueOf(candidate) }));
  const logMeans = (histogramOf: (tally: Tally) => Histogram, toLog: (bucket: number) => number) =>
    ratioOf(means((tally) => momentsOf(histogramOf(tally), toLog)), current, options);
  return [
    ...options.hasFailures
      ? [
        measured(
          "failures",
          shareOf(steps, ({ sums }) => ({ count: sums.failures, total: sums.records }), current, options),
        ),
      ]
      : [],
    measured("latency", logMeans(({ latencies }) => latencies, (bucket) => Math.log1p(latencyOf(bucket)))),
    measured("p95", percentileOf(steps, options)),
    measured("tokens", logMeans(({ tokens }) => tokens, (bucket) => Math.log1p(numberOf(bucket)))),
    // In millionths of a USD, so that 1 more is little.
    measured("cost", logMeans(({ costs }) => costs, (bucket) => Math.log1p(1e6 * numberOf(bucket)))),
    ...compareFeedback(steps, current, options),
  ];
}

const shownLabels = 10;

function compareFeedback(steps: CountedStep[], current: number, options: CompareOptions): ArmDifference[] {
  const kinds = new Map<string, FeedbackTally["kind"]>(), labels = new Map<string, Map<string, number>>();
  for (const { base, candidate } of steps) {
    for (const [name, tally] of [...base.sums.feedback, ...candidate.sums.feedback]) {
      kinds.set(name, tally.kind);
      const known = labels.get(name) ?? new Map<string, number>();
      for (const [label, count] of tally.labels) known.set(label, (known.get(label) ?? 0) + count);
      labels.set(name, known);
    }
  }
  const ofName = (tally: Tally, name: string) => tally.sums.feedback.get(name);
  return [...kinds].sort(([a], [b]) => a < b ? -1 : 1).flatMap(([name, kind]) => {
    const shares = (countOf: (tally: FeedbackTally) => number) =>
      shareOf(
        steps,
        (tally) => {
          const found = ofName(tally, name);
          return found === undefined ? { count: 0, total: 0 } : { count: countOf(found), total: found.pieces };
        },
        current,
        options,
      );
    if (kind === "boolean") return [measured("feedback", shares(truesOf), name)];
    if (kind === "number") {
      const none = { count: 0, mean: 0, variance: 0 };
      const momentsIn = (tally: Tally) => {
        const found = ofName(tally, name);
        return found === undefined ? none : feedbackMoments(found);
      };
      const means = steps.map(({ base, candidate }) => ({ a: momentsIn(base), b: momentsIn(candidate) }));
      return [measured("feedback", valueOf(means, current, options), name)];
    }
    return [...labels.get(name)!].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1)).slice(0, shownLabels)
      .map(([label]) => measured("feedback", shares((tally) => tally.labels.get(label) ?? 0), name, label));
  });
}

function shareOf(
  steps: CountedStep[],
  countedOf: (tally: Tally) => Counted,
  current: number,
  { level, wanted }: CompareOptions,
): Figures {
  const counted = steps.map(({ base, candidate, share }): ShareStep => ({
    a: countedOf(base),
    b: countedOf(candidate),
    share,
  }));
  return {
    unit: "points",
    difference: shareDifference(counted) ?? null,
    interval: shareInterval(counted) ?? null,
    sequence: shareSequence(counted, level) ?? null,
    needed: wanted === undefined ? null : neededOfShare(counted, current, level, wanted.points),
  };
}

function valueOf(steps: MeanStep[], current: number, { level, wanted }: CompareOptions): Figures {
  const found = meanDifference(steps);
  if (found === undefined) return { unit: "value", difference: null, interval: null, sequence: null, needed: null };
  const base = steps.reduce((sum, { a }) => ({ count: sum.count + a.count, total: sum.total + a.count * a.mean }), {
    ...{ count: 0, total: 0 },
  });
  return {
    unit: "value",
    difference: found.difference,
    interval: meanInterval(found),
    sequence: meanSequence(found, level),
    needed: wanted === undefined
      ? null
      : neededOfMean(steps, current, level, Math.abs(wanted.ratio * base.total / base.count)),
  };
}

/** The ratio of geometric means, less 1, of the logs of values. */
function ratioOf(steps: MeanStep[], current: number, { level, wanted }: CompareOptions): Figures {
  const found = meanDifference(steps);
  if (found === undefined) return { unit: "ratio", difference: null, interval: null, sequence: null, needed: null };
  const toRatio = ({ low, high }: Interval) => ({ low: Math.expm1(low), high: Math.expm1(high) });
  return {
    unit: "ratio",
    difference: Math.expm1(found.difference),
    interval: toRatio(meanInterval(found)),
    sequence: toRatio(meanSequence(found, level)),
    needed: wanted === undefined ? null : neededOfMean(steps, current, level, Math.log1p(wanted.ratio)),
  };
}

/**
 * The ratio of the 95th percentiles of latency, less 1, since the share last changed: the percentiles of several steps do not add
 * up. Step n of a rollout has 1 / n (n + 1) of the level, so that all of them together have no more than it.
 */
function percentileOf(steps: CountedStep[], { level }: CompareOptions): Figures {
  const { base, candidate } = steps.at(-1)!;
  const [a, b] = [base, candidate].map(({ latencies, sums }) => ({
    histogram: latencies,
    total: sums.latency.records,
  }));
  const { low, high, ratio } = quantileRatio(a!, b!, 0.95, latencyOf, level / (steps.length * (steps.length + 1)));
  const isKnown = low > 0 && high < Infinity;
  return {
    unit: "ratio",
    difference: ratio === undefined ? null : ratio - 1,
    interval: null,
    sequence: isKnown ? { low: low - 1, high: high - 1 } : null,
    needed: null,
  };
}

const mostNeeded = 1e12;

/** The least number of records that suffices, less those that there are. Null if none does. */
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

/** By what is expected of arms as large as the share makes them: the base as it is, the candidate with the difference. */
function neededOfShare(steps: ShareStep[], share: number, level: number, difference: number): number | null {
  const total = (arm: "a" | "b", of: keyof Counted) => steps.reduce((sum, step) => sum + step[arm][of], 0);
  const records = total("a", "total") + total("b", "total"), base = total("a", "count") / total("a", "total");
  if (!(base >= 0) || share >= 1 || difference <= 0 || difference >= 1) return null;
  const other = base + difference <= 1 ? base + difference : base - difference;
  if (other < 0) return null;
  return moreThan(records, (all) => {
    const [a, b] = [(1 - share) * all, share * all];
    return isExcluded([{ a: { count: base * a, total: a }, b: { count: other * b, total: b }, share }], 0, level);
  });
}

function neededOfMean(steps: MeanStep[], share: number, level: number, difference: number): number | null {
  let records = 0, squares = 0;
  for (const { a, b } of steps) {
    for (const { count, variance } of [a, b]) {
      records += count;
      squares += count * variance;
    }
  }
  if (share >= 1 || !(difference > 0)) return null;
  return moreThan(records, (all) => {
    const weight = all * share * (1 - share);
    return widthAt(weight, level) * Math.sqrt(squares / records / weight) <= difference;
  });
}
