// The ratio of a quantile of two arms, such as the 95th percentile of latency, at any time.
//
// The number of n values that do not exceed the true quantile is binomial, so a beta-binomial mixture bounds its rank
// at all times at once (Howard and Ramdas 2022, "Sequential estimation of quantiles with applications to A/B testing
// and best-arm identification"). This holds exactly, with ties too: breaking them at random would change no bound. Each
// arm has half of the level.
import { percentiles } from "./histogram.ts";
import type { Histogram } from "./histogram.ts";
import type { Interval } from "./intervals.ts";
import { logBeta, logPower } from "./log-beta.ts";

const prior = 20; // the weight of the prior, in values

/** The minimum and maximum number of `total` values that may be up to the quantile at `share`. */
export function rankSequence(total: number, share: number, level: number): Interval {
  const [a, b] = [prior * share, prior * (1 - share)];
  const isExcluded = (rank: number) =>
    logBeta(a + rank, b + total - rank) - logBeta(a, b) - logPower(share, rank) - logPower(1 - share, total - rank) >=
      Math.log(1 / level);
  const centre = Math.round(total * share); // the evidence is a convex function of the rank, and least here
  const edge = (end: number) => {
    if (!isExcluded(end)) return end;
    let inside = centre, outside = end;
    while (Math.abs(outside - inside) > 1) {
      const middle = Math.floor((inside + outside) / 2);
      if (isExcluded(middle)) outside = middle;
      else inside = middle;
    }
    return inside;
  };
  return { low: edge(0), high: edge(total) };
}

/** Interval of an arm's quantile: from 0, or up to Infinity, while it has too few values for a bound. */
function quantileSequence(
  histogram: Histogram,
  total: number,
  share: number,
  level: number,
  valueOf: (bucket: number) => number,
): Interval {
  const { low, high } = rankSequence(total, share, level);
  const [least, most] = percentiles(histogram, [Math.max(0, low - 0.5) / total, (high + 0.5) / total]);
  return { low: low < 1 ? 0 : valueOf(least!), high: high >= total ? Infinity : valueOf(most!) };
}

/** A quantity of one arm: its values by bucket, and their number. */
export type Measured = { histogram: Histogram; total: number };

/**
 * The ratio of the quantile at `share`, b / a, and its confidence sequence, whose end is Infinity as long as nothing
 * bounds it. The ratio is undefined without values, or if the base's quantile is 0.
 */
export function quantileRatio(
  a: Measured,
  b: Measured,
  share: number,
  valueOf: (bucket: number) => number,
  level = 0.05,
): Interval & { ratio: number | undefined } {
  const [base, candidate] = [a, b].map(({ histogram, total }) =>
    total === 0 ? { low: 0, high: Infinity } : quantileSequence(histogram, total, share, level / 2, valueOf)
  ) as [Interval, Interval];
  const ratio = (over: number, under: number, unknown: number) => under === 0 ? unknown : over / under;
  const [before, after] = [a, b].map(({ histogram }) => percentiles(histogram, [share])[0]);
  const isKnown = before !== undefined && after !== undefined && valueOf(before) > 0;
  return {
    ratio: isKnown ? valueOf(after) / valueOf(before) : undefined,
    low: base.high === Infinity ? 0 : ratio(candidate.low, base.high, 0),
    high: candidate.high === Infinity ? Infinity : ratio(candidate.high, base.low, Infinity),
  };
}
