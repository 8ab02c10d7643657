// The difference of two means, at any time: an asymptotic confidence sequence.
//
// Its boundary is that of the mixture of normal effects against a variance that is estimated: the sequential t test
// (Lai 1976; Lindon, Ham, Tingley and Bojinov 2022, "Anytime-valid linear models and regression adjusted causal
// inference in randomized experiments"). It is exact for normal values whose variance is that of both arms, and with
// many of them that of Robbins (1970), which Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2021), "Time-uniform
// central limit theory and asymptotic confidence sequences", have for other values. Two things keep values that are far
// from normal from being called different:
//
// - It takes the wider of two sequences: by the variance of each arm, and by the pooled variance (see
//   mean-difference.ts).
// - Each is widened by the skewness of the difference, as in the first term of the expansion of Cornish and Fisher, z²
//   g / 6. That vanishes with more values, and it is largest for a rare value that has been seen once.
//
// Latency, cost and tokens have heavy tails, so they are compared on the log scale, where the difference is that of the
// logs of geometric means.
import type { Interval } from "./intervals.ts";
import type { MeanDifference, Spread } from "./mean-difference.ts";

const tuned = 250; // the weight at which the sequence is narrowest against the interval: 500 records of each arm

/**
 * The width of the sequence on each side, in standard errors that are estimated with these degrees of freedom. That of
 * an interval at one time is 1.96. Infinity if they are too few for the level.
 */
export function widthAt(weight: number, level: number, freedom: number): number {
  // The optimum of the boundary for a time (Waudby-Smith and others, appendix B.2).
  const rate = (-2 * Math.log(level) + Math.log(1 - 2 * Math.log(level))) / tuned;
  const time = rate * weight, enough = Math.log1p(time) / 2 - Math.log(level);
  const known = Math.min(freedom, 1e12); // from where on it is that of a known variance, to the last digit
  const growth = Math.expm1(2 * enough / (known + 1));
  return growth >= time ? Infinity : Math.sqrt(known * growth * (1 + time) / (time - growth));
}

/**
 * The confidence sequence of a difference of means. Undefined with too few values for the level, and if all values are
 * the same. If each arm has a single value, it is as wide as if one value of the smaller arm were that of the other
 * arm.
 */
export function meanSequence(found: MeanDifference, level = 0.05): Interval | undefined {
  const { difference, weight, fewest, own, pooled } = found;
  const single: Spread = { error: Math.abs(difference) / fewest, freedom: Infinity, skewness: { a: 0, b: 1 } };
  const widths = (pooled.error > 0 ? [own, pooled] : [single]).map(({ error, freedom, skewness: { a, b } }) => {
    const errors = widthAt(weight, level, freedom);
    return error * (errors + (Math.abs(a) + Math.abs(b)) * errors ** 2 / 6);
  });
  const width = Math.max(...widths);
  return width > 0 && width < Infinity ? { low: difference - width, high: difference + width } : undefined;
}
