// The difference of two means, at any time: an asymptotic confidence sequence.
//
// The boundary is that of the normal mixture (Robbins 1970) with estimated variances, of Waudby-Smith, Arbour, Sinha,
// Kennedy and Ramdas (2021), "Time-uniform central limit theory and asymptotic confidence sequences". It is to the interval
// of Welch what a sequence is to an interval: valid at all times at once, for means that are nearly normal from
// `leastValues` values on. Latency, cost and tokens have heavy tails, so they are compared on the log scale, where the
// difference is that of the logs of geometric means.
import { leastValues, quantileOfT } from "./intervals.ts";
import type { Interval, Moments } from "./intervals.ts";

/** What was measured while the candidate `b` had the same share of the calls. */
export type MeanStep = { a: Moments; b: Moments };

export type MeanDifference = {
  difference: number;
  /** The standard error of the difference. */
  error: number;
  /** How much the arms tell together, na · nb / (na + nb): half of what each of two equal arms has. */
  weight: number;
  /** The degrees of freedom, by Satterthwaite. */
  freedom: number;
};

/** The mean of the differences of the steps, b - a, by their weights. Undefined without `leastValues` of each arm. */
export function meanDifference(steps: MeanStep[]): MeanDifference | undefined {
  let sum = 0, weights = 0, variances = 0, spread = 0;
  const counts = { a: 0, b: 0 };
  for (const { a, b } of steps) {
    if (Math.min(a.count, b.count) < 2) continue;
    const weight = a.count * b.count / (a.count + b.count);
    sum += weight * (b.mean - a.mean);
    for (const { variance, count } of [a, b]) {
      const own = weight ** 2 * variance / count;
      variances += own;
      spread += own ** 2 / (count - 1);
    }
    weights += weight;
    counts.a += a.count;
    counts.b += b.count;
  }
  if (Math.min(counts.a, counts.b) < leastValues) return undefined;
  return {
    difference: sum / weights,
    error: Math.sqrt(variances) / weights,
    weight: weights,
    freedom: spread === 0 ? Infinity : variances ** 2 / spread,
  };
}

/** The interval of 95 % of a difference at one time. Of one step it is that of Welch. */
export function meanInterval({ difference, error, freedom }: MeanDifference): Interval {
  const width = quantileOfT(freedom) * error;
  return { low: difference - width, high: difference + width };
}

const tuned = 250; // the weight at which the sequence is narrowest against the interval: 500 records of each arm

/** How many standard errors wide the sequence is on each side. 1.96 is that of an interval at one time. */
export function widthAt(weight: number, level = 0.05): number {
  // The optimum of the boundary for a time (Waudby-Smith and others, appendix B.2).
  const rate = (-2 * Math.log(level) + Math.log(1 - 2 * Math.log(level))) / tuned;
  const time = rate * weight;
  return Math.sqrt(2 * (1 + 1 / time) * (Math.log(1 + time) / 2 - Math.log(level)));
}

/** The confidence sequence of a difference of means. */
export function meanSequence({ difference, error, weight }: MeanDifference, level = 0.05): Interval {
  const width = widthAt(weight, level) * error;
  return { low: difference - width, high: difference + width };
}
