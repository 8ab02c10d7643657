// Confidence intervals of 95 %: how far chance alone may have moved a number.
const z = 1.959963984540054; // the 97.5 % quantile of the normal distribution

export type Interval = { low: number; high: number };

/** The Wilson interval of a share of `count` in `total`, which must not be 0. */
export function wilson(count: number, total: number): Interval {
  const share = count / total, square = z * z / total;
  const centre = share + square / 2;
  const width = z * Math.sqrt(share * (1 - share) / total + square / total / 4);
  const bound = (value: number) => Math.min(1, Math.max(0, value));
  return {
    low: count === 0 ? 0 : bound((centre - width) / (1 + square)),
    high: count === total ? 1 : bound((centre + width) / (1 + square)),
  };
}

/** A share: `count` out of `total`. */
export type Counted = { count: number; total: number };

/** The Newcombe interval of the difference of two shares, b - a, from their Wilson intervals. */
export function newcombe(a: Counted, b: Counted): Interval & { difference: number } {
  const [first, second] = [a, b].map(({ count, total }) => ({ share: count / total, ...wilson(count, total) })) as [
    Interval & { share: number },
    Interval & { share: number },
  ];
  const difference = second.share - first.share;
  return {
    difference,
    low: difference - Math.hypot(second.share - second.low, first.high - first.share),
    high: difference + Math.hypot(second.high - second.share, first.share - first.low),
  };
}

/** `third` is the third central moment: the mean of the cubed differences from the mean. */
export type Moments = { count: number; mean: number; variance: number; third: number };

// The polynomials of z in the expansion of quantiles of t by Fisher and Cornish (Abramowitz and Stegun, 26.7.5).
const corrections = [
  (z ** 3 + z) / 4,
  (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
  (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
  (79 * z ** 9 + 776 * z ** 7 + 1482 * z ** 5 - 1920 * z ** 3 - 945 * z) / 92_160,
];

/** The 97.5 % quantile of Student's t distribution. From 29 degrees of freedom on its error is below 4e-8. */
export const quantileOfT = (freedom: number): number =>
  corrections.reduce((sum, correction, index) => sum + correction / freedom ** (index + 1), z);

export const leastValues = 30; // below, the mean of values that are not normally distributed is not either

/** The interval of a mean by Student's t distribution. Undefined for fewer than `leastValues` values. */
export function meanInterval({ count, mean, variance }: Moments): Interval | undefined {
  if (count < leastValues) return undefined;
  const width = quantileOfT(count - 1) * Math.sqrt(variance / count);
  return { low: mean - width, high: mean + width };
}
