// The difference of two shares, at any time: a confidence sequence that stays valid however often one looks.
//
// For each pair (a, b) of true shares there is a test martingale: the likelihood of what was seen, under a mixture of
// other pairs that was chosen beforehand, divided by that under (a, b). Its mean is 1 if (a, b) is true, so by Ville's
// inequality it ever reaches 1 / level with a probability of at most `level`. A difference is excluded when all pairs
// with that difference are. This holds exactly, from the first record on, for every size of the arms.
//
// The mixture (Robbins 1970; Howard, Ramdas, McAuliffe and Sekhon 2021, "Time-uniform, nonparametric, nonasymptotic
// confidence sequences", for sub-Bernoulli processes) has two parts:
// - pairs that differ from (a, b) by a log odds ratio, with a as far below as b is above, weighted so that the pooled
//   share stays where it was. It finds differences.
// - any pair, by a prior of Jeffreys for each share: the beta-binomial mixture, as Lindon and Malek (2022) have it for
//   counts. It excludes pairs that fit neither arm, so that the unknown base rate costs little.
//
// Both are convex in (a, b) on the log scale, so what is not excluded is an interval. Steps of a rollout, between which
// its share changed and which may have other base rates, multiply.
import type { Interval } from "./intervals.ts";
import { logBeta, logPower } from "./log-beta.ts";

export type Counted = { count: number; total: number };

/** What was counted while the candidate `b` had a share of the calls, from 0 to 1. `a` is the base. */
export type ShareStep = { a: Counted; b: Counted; share: number };

const ratios = [0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6].flatMap((ratio) => [ratio, -ratio]); // logs of odds ratios
const anyPair = 0.1; // the weight of the second part
const prior = 0.5; // of Jeffreys

type Point = { value: number; slope: number };

/** The log of the martingale of a step, as a function of the base's share, for a given difference. It is convex. */
function evidenceOf({ a, b, share }: ShareStep, difference: number): (base: number) => Point {
  const down = ratios.map((ratio) => Math.expm1(-ratio * share));
  const up = ratios.map((ratio) => Math.expm1(ratio * (1 - share)));
  const balance = (1 - share) * b.count - share * a.count;
  const seen = [a, b].reduce(
    (sum, { count, total }) => sum + logBeta(count + prior, total - count + prior) - logBeta(prior, prior),
    Math.log(anyPair),
  );
  const weight = Math.log((1 - anyPair) / ratios.length);
  const logs = new Float64Array(ratios.length + 1), slopes = new Float64Array(ratios.length + 1);
  return (base) => {
    const other = Math.min(1, Math.max(0, base + difference));
    for (let index = 0; index < ratios.length; index++) {
      const [low, high] = [1 + base * down[index]!, 1 + other * up[index]!];
      logs[index] = weight + ratios[index]! * balance - a.total * Math.log(low) - b.total * Math.log(high);
      slopes[index] = -a.total * down[index]! / low - b.total * up[index]! / high;
    }
    const last = ratios.length;
    logs[last] = seen;
    slopes[last] = 0;
    for (const [{ count, total }, rate] of [[a, base], [b, other]] as const) {
      logs[last] -= logPower(rate, count) + logPower(1 - rate, total - count);
      if (count > 0) slopes[last] -= count / rate;
      if (count < total) slopes[last] += (total - count) / (1 - rate);
    }
    const most = Math.max(...logs);
    if (most === Infinity) return { value: Infinity, slope: 0 }; // a share of 0 or 1 that was seen not to be
    let sum = 0, slope = 0;
    for (let index = 0; index <= last; index++) {
      const part = Math.exp(logs[index]! - most);
      sum += part;
      slope += part * slopes[index]!;
    }
    return { value: most + Math.log(sum), slope: slope / sum };
  };
}

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

/** Whether a difference, b - a, is outside of the sequence. Of a difference that is not, one look tells it in most cases. */
export function isExcluded(steps: ShareStep[], difference: number, level = 0.05): boolean {
  const compared = steps.filter(hasBoth), enough = Math.log(1 / level);
  const most = compared.reduce((sum, step) => sum + evidenceOf(step, difference)(guessBase(step, difference)).value, 0);
  return most >= enough && compared.reduce((sum, step) => sum + leastEvidence(step, difference), 0) >= enough;
}

/**
 * The difference of the shares, b - a: the mean over the steps, each with the weight that it has for a comparison (Mantel and
 * Haenszel). Undefined if no step has both arms.
 */
export function shareDifference(steps: ShareStep[]): number | undefined {
  let sum = 0, weights = 0;
  for (const { a, b } of steps.filter(hasBoth)) {
    const weight = a.total * b.total / (a.total + b.total);
    sum += weight * (b.count / b.total - a.count / a.total);
    weights += weight;
  }
  return weights === 0 ? undefined : sum / weights;
}

/**
 * The confidence sequence of the difference: if the arms differ by it in all steps, it is ever left out with a probability
 * of at most `level`. Undefined if no step has both arms, or if no one difference fits all steps.
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
