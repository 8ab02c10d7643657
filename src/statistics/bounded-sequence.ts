// The difference of the means of bounded values, at any time: an exact confidence sequence.
//
// If values x from 0 to 1 have the mean m, then exp(λ (x - m) - c (x - m)²) has a mean of at most 1 for every
// nonnegative stake λ with λm < 1 and c = (-ln(1 - λm) - λm) / m², because x - m is at least -m (Fan, Grama and Liu
// 2015, "Exponential inequalities for martingales with applications"). Its product over all values is a test martingale
// of m: a bet that the mean is higher. With 1 - x it is a bet that the mean is lower. The product follows from the
// number of the values, their mean, and the sum of their squared differences from it, so their order does not matter.
// It yields an empirical Bernstein bound (Howard, Ramdas, McAuliffe and Sekhon 2021; Waudby-Smith and Ramdas 2024,
// "Estimating means of bounded random variables by betting").
//
// A tenth of the level bounds the mean of each arm. The rest is for bets on both arms at once, that one is higher and
// the other lower, with stakes in inverse proportion to the sizes of the arms: then a common shift of both means hardly
// changes what they win. By Ville's inequality, a mixture of bets that is chosen beforehand ever reaches 1 / level with
// a probability of at most `level`. This holds exactly, from the first record on, for any bounded values. Steps of a
// rollout multiply.
import type { Interval, Moments } from "./intervals.ts";
import type { SharedStep } from "./mean-difference.ts";

/** Values from 0 to 1. `squares` is the sum of their squared differences from the mean. */
type Values = { count: number; mean: number; squares: number };

// From 0.0001, for a billion values, to 13, for a few that hardly vary. The weights add up to less than 1.
const sizes = Array.from({ length: 18 }, (_, nth) => {
  const distance = Math.abs(nth - 12);
  return { size: 0.4 * 2 ** (nth - 12), logWeight: -Math.log(1.5 * (distance + 1) * (distance + 2)) };
});

/**
 * The cost of a squared difference from the mean, for a stake on values that are at most `below` less than their mean.
 */
export function costOf(stake: number, below: number): number {
  const least = stake * below;
  if (least >= 1) return Infinity;
  // The first terms of the series, where the difference of nearly equal numbers would have few digits.
  return stake ** 2 * (least < 1e-4 ? 1 / 2 + least / 3 : (-Math.log1p(-least) - least) / least ** 2);
}

/**
 * Maximum distance of the true mean below that of the values. Lower means are excluded by bets that the mean is higher.
 */
function reachDown({ count, mean, squares }: Values, level: number): number {
  let most = mean;
  for (const { size, logWeight } of sizes) {
    // A mean that is lower by d is excluded if count · (size · d - cost · d²) is at least this. Its cost is less than
    // that of 0.
    const cost = costOf(size, mean), must = cost * squares - Math.log(level) - logWeight;
    const root = size ** 2 - 4 * cost * must / count;
    if (!(root >= 0)) continue;
    const [from, to] = [(size - Math.sqrt(root)) / (2 * cost), (size + Math.sqrt(root)) / (2 * cost)];
    if (from < most && most <= to) most = from;
  }
  return most;
}

const mirrored = (values: Values): Values => ({ ...values, mean: 1 - values.mean });

/** The bounds of the true mean of an arm. */
const boundsOf = (values: Values, level: number): Interval => ({
  low: values.mean - reachDown(values, level / 2),
  high: values.mean + reachDown(mirrored(values), level / 2),
});

/** An arm with the bounds of its true mean. `most` bounds the sum of the squared differences from that. */
type Arm = Values & Interval & { most: number };

function toArm(values: Values, level: number): Arm {
  const { low, high } = boundsOf(values, level), far = Math.max(values.mean - low, high - values.mean);
  return { ...values, low, high, most: values.squares + values.count * far ** 2 };
}

/** The bets of a step that the mean of `b` is higher than assumed, and that of `a` lower. Costs are by size. */
type Bets = { a: Arm; b: Arm; share: number; costs: number[] };

function betsOf(a: Arm, b: Arm, share: number): Bets {
  const costs = sizes.map(({ size }) =>
    costOf(stakeOf(size, share), 1 - a.low) * a.most + costOf(stakeOf(size, 1 - share), b.high) * b.most
  );
  return { a, b, share, costs };
}

/** The stake on an arm is in proportion to the share of the other arm, and at most the size of the bet. */
const stakeOf = (size: number, share: number): number => size * share / Math.max(share, 1 - share);

/**
 * The least gain of a step's bets per unit of size, of all pairs of means with this difference that are within the
 * bounds.
 */
function gainOf({ a, b, share }: Bets, difference: number): number {
  const ofA = stakeOf(1, share) * a.count, ofB = stakeOf(1, 1 - share) * b.count;
  // It is linear in the base's mean.
  const base = ofA > ofB ? Math.max(a.low, b.low - difference) : Math.min(a.high, b.high - difference);
  return ofB * (b.mean - difference - base) + ofA * (base - a.mean);
}

const precision = 1e-9;

/** The gain per unit of size from which on the mixture of the bets has a logarithm of `enough`. */
function leastGain(steps: Bets[], enough: number): number {
  const logs = sizes.map(({ logWeight }, nth) => steps.reduce((log, { costs }) => log - costs[nth]!, logWeight));
  // A single bet suffices at this start. The logarithm is convex, so Newton's method approaches from above.
  let must = Math.min(...sizes.map(({ size }, nth) => (enough - logs[nth]!) / size));
  for (let round = 0; round < 30; round++) {
    let sum = 0, slope = 0;
    for (const [nth, { size }] of sizes.entries()) {
      const part = Math.exp(logs[nth]! + size * must - enough);
      sum += part;
      slope += size * part;
    }
    if (sum < 1 + precision) break;
    must -= sum * Math.log(sum) / slope;
  }
  return must;
}

/** The least difference that is not excluded. Undefined if all are. */
function leastOf(bets: Bets[], level: number): number | undefined {
  const must = leastGain(bets, -Math.log(level));
  const isExcluded = (difference: number) => bets.reduce((gain, step) => gain + gainOf(step, difference), 0) >= must;
  let outside = Math.max(-1, ...bets.map(({ a, b }) => b.low - a.high));
  let inside = Math.min(1, ...bets.map(({ a, b }) => b.high - a.low));
  if (outside > inside || isExcluded(inside)) return undefined;
  if (!isExcluded(outside)) return outside;
  while (inside - outside > precision) {
    const middle = (inside + outside) / 2;
    if (isExcluded(middle)) outside = middle;
    else inside = middle;
  }
  return outside;
}

const ofBounds = 0.1; // the part of the level for the bounds of the arms' means

/**
 * The confidence sequence of the difference, b - a, of values within bounds: if the means of the arms differ by it in
 * all steps, it is ever left out with a probability of at most `level`. Undefined if no one difference fits all steps.
 */
export function boundedSequence(steps: SharedStep[], bounds: Interval, level = 0.05): Interval | undefined {
  const span = bounds.high - bounds.low;
  const toValues = ({ count, mean, variance }: Moments): Values => ({
    count,
    mean: (mean - bounds.low) / span,
    squares: variance * (count - 1) / span ** 2,
  });
  const compared = steps.flatMap(({ a, b, share }, nth) => {
    if (a.count === 0 || b.count === 0) return [];
    // Step n uses 1 / n (n + 1) of the level. The sum over all steps is at most the level.
    const ofArm = ofBounds * level / ((nth + 1) * (nth + 2)) / 2;
    return [{ a: toArm(toValues(a), ofArm), b: toArm(toValues(b), ofArm), share }];
  });
  const ofSide = (1 - ofBounds) * level / 2;
  const low = leastOf(compared.map(({ a, b, share }) => betsOf(a, b, share)), ofSide);
  const high = leastOf(compared.map(({ a, b, share }) => betsOf(b, a, 1 - share)), ofSide);
  return low === undefined || high === undefined ? undefined : { low: span * low, high: -span * high };
}
