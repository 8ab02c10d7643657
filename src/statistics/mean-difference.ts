// The difference of two means, and how far chance may have moved it at one time.
//
// The mean of skewed values depends on rare ones. A small arm may have none of them yet, or too many, and then its
// variance is as wrong as its mean. So a difference has two standard errors: by the variance of each arm (Welch), and
// by the pooled variance. For arms with the same distribution, the larger of the two is safe in both cases.
import { leastValues, quantileOfT } from "./intervals.ts";
import type { Interval, Moments } from "./intervals.ts";

/** Measurements while the candidate `b` had the same share of the calls. `a` is the base. */
export type MeanStep = { a: Moments; b: Moments };

/** With that share, from 0 to 1. */
export type SharedStep = MeanStep & { share: number };

/** A standard error of a difference. */
export type Spread = {
  error: number;
  /** The degrees of freedom, by Satterthwaite. */
  freedom: number;
  /** The contribution of each arm to the skewness of the difference. */
  skewness: { a: number; b: number };
};

export type MeanDifference = {
  difference: number;
  /** The weight of the arms together, na · nb / (na + nb): half the count of each of two equal arms. */
  weight: number;
  /** The number of values of the smaller arm. */
  fewest: number;
  own: Spread;
  pooled: Spread;
};

/** The contribution of a step to the variance and the third moment of the weighted sum of differences. */
type Term = { variance: number; freedom: number; thirds: { a: number; b: number } };

function spreadOf(terms: Term[], weights: number): Spread {
  const sum = (of: (term: Term) => number) => terms.reduce((all, term) => all + of(term), 0);
  const variance = sum((term) => term.variance), squares = sum((term) => term.variance ** 2 / term.freedom);
  const skewnessOf = (arm: "a" | "b") => variance === 0 ? 0 : sum(({ thirds }) => thirds[arm]) / variance ** 1.5;
  return {
    error: Math.sqrt(variance) / weights,
    freedom: squares === 0 ? Infinity : variance ** 2 / squares,
    skewness: { a: skewnessOf("a"), b: skewnessOf("b") },
  };
}

/** The mean of the differences of the steps, b - a, by their weights. Undefined without `leastValues` of each arm. */
export function meanDifference(steps: MeanStep[]): MeanDifference | undefined {
  let sum = 0, weights = 0;
  const counts = { a: 0, b: 0 }, own: Term[] = [], pooled: Term[] = [];
  for (const { a, b } of steps) {
    if (Math.min(a.count, b.count) < 2) continue;
    const all = a.count + b.count, weight = a.count * b.count / all;
    sum += weight * (b.mean - a.mean);
    weights += weight;
    counts.a += a.count;
    counts.b += b.count;
    const thirds = (ofA: number, ofB: number) => ({
      a: -(weight ** 3) * ofA / a.count ** 2,
      b: weight ** 3 * ofB / b.count ** 2,
    });
    own.push(
      { variance: weight ** 2 * a.variance / a.count, freedom: a.count - 1, thirds: thirds(a.third, 0) },
      { variance: weight ** 2 * b.variance / b.count, freedom: b.count - 1, thirds: thirds(0, b.third) },
    );
    const third = (a.count * a.third + b.count * b.third) / all;
    pooled.push({
      variance: weight * ((a.count - 1) * a.variance + (b.count - 1) * b.variance) / (all - 2),
      freedom: all - 2,
      thirds: thirds(third, third),
    });
  }
  if (Math.min(counts.a, counts.b) < leastValues) return undefined;
  return {
    difference: sum / weights,
    weight: weights,
    fewest: Math.min(counts.a, counts.b),
    own: spreadOf(own, weights),
    pooled: spreadOf(pooled, weights),
  };
}

// A mean of n values with a skewness of g has one of g / √n. For a 95 % interval, n should be above 25 g² (Cochran
// 1977).
const mostSkewed = 0.2;

/**
 * The 95 % interval of a difference at one time. For one step it is Welch's, unless the difference is skewed: then it
 * is at least as wide as by the pooled variance.
 */
export function intervalOf({ difference, own, pooled }: MeanDifference): Interval {
  const isSkewed = [own, pooled].some(({ skewness: { a, b } }) => Math.abs(a + b) > mostSkewed);
  const widths = [own, ...isSkewed ? [pooled] : []].map(({ freedom, error }) => quantileOfT(freedom) * error);
  const width = Math.max(...widths);
  return { low: difference - width, high: difference + width };
}
