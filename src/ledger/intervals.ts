// Intervals of 95 %: how far chance alone may have moved a number.
const z = 1.959963984540054; // the 97.5 % quantile of the normal distribution

export type Interval = { low: number; high: number };

/** The Wilson interval of a share of `count` in `total`, which is not 0. */
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

type Counted = { count: number; total: number };

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

export type Moments = { count: number; mean: number; variance: number };

const leastValues = 30; // below, the mean is not yet normally distributed

/** The interval of the difference of two means, b - a, by Welch. Undefined for a few values. */
export function welch(a: Moments, b: Moments): Interval | undefined {
  if (Math.min(a.count, b.count) < leastValues) return undefined;
  const difference = b.mean - a.mean;
  const width = z * Math.sqrt(a.variance / a.count + b.variance / b.count);
  return { low: difference - width, high: difference + width };
}
