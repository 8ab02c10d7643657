// The difference of two shares, at any time: a confidence sequence that stays valid under repeated looks.
//
// For each pair (a, b) of true shares there is a test martingale: the likelihood of the observations, under a mixture
// of other pairs that was chosen beforehand, divided by that under (a, b). Its mean is 1 if (a, b) is true, so by
// Ville's inequality it ever reaches 1 / level with a probability of at most `level`. A difference is excluded when all
// pairs with that difference are. This holds exactly, from the first record on, for every size of the arms.
//
// The mixture (Robbins 1970; Howard, Ramdas, McAuliffe and Sekhon 2021, "Time-uniform, nonparametric, nonasymptotic
// confidence sequences", for sub-Bernoulli processes) has two parts:
// - pairs that differ from (a, b) by a log odds ratio, with a as far below as b is above, weighted so that the pooled
//   share stays where it was. It finds differences.
// - any pair, by a prior of Jeffreys for each share: the beta-binomial mixture, as Lindon and Malek (2022) have it for
//   counts. It excludes pairs that fit neither arm, and so limits the cost of the unknown base rate.
//
// Both are convex in (a, b) on the log scale, so the differences that are not excluded form an interval. Steps of a
// rollout, between which its share changed and which may have other base rates, multiply.
import { getOrAdd } from "../support/maps.ts";
import { newcombe } from "./intervals.ts";
import type { Counted, Interval } from "./intervals.ts";
import { logBeta, logPower } from "./log-beta.ts";

/** Counts while the candidate `b` had a share of the calls, from 0 to 1. `a` is the base. */
export type ShareStep = { a: Counted; b: Counted; share: number };

const ratios = [0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6].flatMap((ratio) => [ratio, -ratio]); // logs of odds ratios
const parts = ratios.length;
const anyPair = 0.1; // the weight of the second part
const [logRatio, logAny] = [Math.log((1 - anyPair) / parts), Math.log(anyPair)];
const prior = 0.5; // of Jeffreys
const logPrior = logBeta(prior, prior);

/** Relative change of each arm's odds under each ratio. */
type Odds = { down: Float64Array; up: Float64Array };
const odds = new Map<number, Odds>(); // by share, of which there are a thousand

const oddsAt = (share: number): Odds =>
  getOrAdd(odds, share, () => ({
    down: Float64Array.from(ratios, (ratio) => Math.expm1(-ratio * share)),
    up: Float64Array.from(ratios, (ratio) => Math.expm1(ratio * (1 - share))),
  }));

type Point = { value: number; slope: number };

const logs = new Float64Array(parts), slopes = new Float64Array(parts);

/** The log of the martingale of a step, as a function of the base's share, for a given difference. It is convex. */
function evidenceOf({ a, b, share }: ShareStep, difference: number): (base: number) => Point {
  const { down, up } = oddsAt(share);
  const balance = (1 - share) * b.count - share * a.count;
  const [worked, otherWorked] = [a.total - a.count, b.total - b.count];
  const seen = logAny - 2 * logPrior + logBeta(a.count + prior, worked + prior) +
    logBeta(b.count + prior, otherWorked + prior);
  return (base) => {
    const other = Math.min(1, Math.max(0, base + difference));
    const any = seen - logPower(base, a.count) - logPower(1 - base, worked) - logPower(other, b.count) -
      logPower(1 - other, otherWorked);
    if (any === Infinity) return { value: Infinity, slope: 0 }; // a share of 0 or 1 that was seen not to be
    let most = any;
    for (let part = 0; part < parts; part++) {
      const low = 1 + base * down[part]!, high = 1 + other * up[part]!;
      logs[part] = logRatio + ratios[part]! * balance - a.total * Math.log(low) - b.total * Math.log(high);
      slopes[part] = -a.total * down[part]! / low - b.total * up[part]! / high;
      if (logs[part]! > most) most = logs[part]!;
    }
    const slopeOfAny = slopeOf(base, a.count, worked) + slopeOf(other, b.count, otherWorked);
    let sum = Math.exp(any - most), slope = sum === 0 ? 0 : sum * slopeOfAny;
    for (let part = 0; part < parts; part++) {
      const weight = Math.exp(logs[part]! - most);
      sum += weight;
      slope += weight * slopes[part]!;
    }
    return { value: most + Math.log(sum), slope: slope / sum };
  };
}

/** The slope of the negative log likelihood of a share. */
const slopeOf = (share: number, count: number, others: number): number =>
  (others === 0 ? 0 : others / (1 - share)) - (count === 0 ? 0 : count / share);

const precision = 1e-10; // of the evidence

/** The least evidence against any pair of shares with this difference. */
function leastEvidence(step: ShareStep, difference: number): number {
  const evidence = evidenceOf(step, difference);
  let low = Math.max(0, -difference), high = Math.min(1, 1 - difference);
  if (low >= high) return evidence(low).value;
  let least = Infinity;
  for (let round = 0, base = guessBase(step, difference); round < 50; round++, base = (low + high) / 2) {
    const { value, slope } = evidence(base);
    least = Math.min(least, value);
    if (slope > 0) high = base;
    else low = base;
    // The evidence is convex, and is least between the bounds: there it is at most this much less than here.
    if (value < Infinity && Math.abs(slope) * (high - low) < precision) break;
  }
  return least;
}

/** A base's share that fits well, strictly between its bounds. */
function guessBase({ a, b }: ShareStep, difference: number): number {
  const low = Math.max(0, -difference), high = Math.min(1, 1 - difference), margin = (high - low) * 1e-9;
  const pooled = (a.count + b.count - difference * b.total) / (a.total + b.total);
  return Math.min(high - margin, Math.max(low + margin, pooled));
}

const hasBoth = ({ a, b }: { a: { total: number }; b: { total: number } }) => a.total > 0 && b.total > 0;

/**
 * True if a difference, b - a, is outside of the sequence. Fast path: most differences inside are settled by one
 * evaluation.
 */
export function isExcluded(steps: ShareStep[], difference: number, level = 0.05): boolean {
  const compared = steps.filter(hasBoth), enough = Math.log(1 / level);
  const most = compared.reduce((sum, step) => sum + evidenceOf(step, difference)(guessBase(step, difference)).value, 0);
  return most >= enough && compared.reduce((sum, step) => sum + leastEvidence(step, difference), 0) >= enough;
}

/** The weight of a step in a comparison, 0 unless it has both arms (Mantel and Haenszel). */
const weightOf = ({ a, b }: ShareStep) => hasBoth({ a, b }) ? a.total * b.total / (a.total + b.total) : 0;

/**
 * The difference of the shares, b - a: the mean over the steps, by their weights. Undefined if no step has both arms.
 */
export function shareDifference(steps: ShareStep[]): number | undefined {
  let sum = 0, weights = 0;
  for (const step of steps.filter(hasBoth)) {
    const { a, b } = step, weight = weightOf(step);
    sum += weight * (b.count / b.total - a.count / a.total);
    weights += weight;
  }
  return weights === 0 ? undefined : sum / weights;
}

/**
 * The 95 % interval of the difference at one time. For one step it is Newcombe's. Several are combined as independent
 * estimates (Zou and Donner 2008).
 */
export function shareInterval(steps: ShareStep[]): Interval | undefined {
  const centre = shareDifference(steps);
  if (centre === undefined) return undefined;
  let below = 0, above = 0, weights = 0;
  for (const step of steps.filter(hasBoth)) {
    const weight = weightOf(step), { difference, low, high } = newcombe(step.a, step.b);
    below = Math.hypot(below, weight * (difference - low));
    above = Math.hypot(above, weight * (high - difference));
    weights += weight;
  }
  return { low: centre - below / weights, high: centre + above / weights };
}

/**
 * The confidence sequence of the difference: if the arms differ by it in all steps, it is ever left out with a
 * probability of at most `level`. Undefined if no step has both arms, or if no one difference fits all steps.
 */
export function shareSequence(steps: ShareStep[], level = 0.05): Interval | undefined {
  const centre = shareDifference(steps);
  if (centre === undefined) return undefined;
  const inside = isExcluded(steps, centre, level) ? leastExcluded(steps) : centre;
  if (isExcluded(steps, inside, level)) return undefined;
  const edge = (end: number) => {
    if (!isExcluded(steps, end, level)) return end;
    let within = inside, outside = end;
    while (Math.abs(outside - within) > 1e-9) {
      const middle = (within + outside) / 2;
      if (isExcluded(steps, middle, level)) outside = middle;
      else within = middle;
    }
    return outside;
  };
  return { low: edge(-1), high: edge(1) };
}

/** The difference with the least evidence against it, which is a convex function of the difference. */
function leastExcluded(steps: ShareStep[]): number {
  const compared = steps.filter(hasBoth);
  const evidence = (difference: number) => compared.reduce((sum, step) => sum + leastEvidence(step, difference), 0);
  let low = -1, high = 1;
  while (high - low > 1e-9) {
    const [first, second] = [low + (high - low) / 3, high - (high - low) / 3];
    if (evidence(first) < evidence(second)) high = second;
    else low = first;
  }
  return (low + high) / 2;
}
