// Simulated rollouts that someone looks at after every record: when each way to compare calls the arms different, and when
// guards stop them. Figures and guards are those of the service.
import { getOrAdd } from "../../src/support/maps.ts";
import { percentileFigures } from "../../src/statistics/difference-figures.ts";
import type { Figures } from "../../src/statistics/difference-figures.ts";
import { emptyHistogram, increase, latencyBucket } from "../../src/statistics/histogram.ts";
import { newcombe } from "../../src/statistics/intervals.ts";
import type { Interval } from "../../src/statistics/intervals.ts";
import { intervalOf, meanDifference } from "../../src/statistics/mean-difference.ts";
import { sampleRatio } from "../../src/statistics/sample-ratio.ts";
import { isExcluded } from "../../src/statistics/share-sequence.ts";
import { findCrossed, levelOf } from "../../src/management/terms/guards.ts";
import type { Distribution, Draw } from "./distributions.ts";

/** Uniform numbers from 0 to 1 by splitmix32, so that a seed gives the same rollouts everywhere. */
export function randomFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = state + 0x9e3779b9 | 0;
    let mixed = state ^ state >>> 16;
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return ((mixed ^ mixed >>> 15) >>> 0) / 2 ** 32;
  };
}

export type Plan = {
  rollouts: number;
  /** Of both arms, in each rollout. */
  records: number;
  /** The candidate's, from 0 to 1. */
  share: number;
  level?: number;
  /** Look at the sequence after so many records. Default: after each. */
  every?: number;
  /** Look at plain intervals too. */
  isPlain?: boolean;
  seed: number;
};

/** After how many records each rollout was called different, of those that were. */
export type Calls = { sequence: number[]; plain: number[] };

/** Shares, such as of failures: that of the base, and that of the candidate. `stops` only looks for more in the candidate. */
export function simulateShares(
  { rollouts, records, share, level = 0.05, every = 1, seed }: Plan,
  [base, candidate]: [base: number, candidate: number],
  stops = false,
): Calls {
  const random = randomFrom(seed), calls: Calls = { sequence: [], plain: [] }, enough = Math.log(1 / level);
  const logs = Float64Array.from({ length: records + 1 }, (_, count) => count === 0 ? 0 : count * Math.log(count));
  const likelihood = (count: number, total: number) => logs[count]! + logs[total - count]! - logs[total]!;
  for (let rollout = 0; rollout < rollouts; rollout++) {
    const a = { count: 0, total: 0 }, b = { count: 0, total: 0 };
    let isFound = false, isPlain = stops;
    for (let record = 1; record <= records && !(isFound && isPlain); record++) {
      const isCandidate = random() < share, arm = isCandidate ? b : a;
      arm.total++;
      if (random() < (isCandidate ? candidate : base)) arm.count++;
      if (a.total === 0 || b.total === 0) continue;
      // No mixture exceeds the likelihood ratio, so most looks need no other work.
      const most = likelihood(a.count, a.total) + likelihood(b.count, b.total) -
        likelihood(a.count + b.count, a.total + b.total);
      if (!isPlain && most > 1 && isOut(newcombe(a, b))) isPlain = calls.plain.push(record) > 0;
      if (isFound || record % every > 0 || most < enough || stops && b.count * a.total <= a.count * b.total) continue;
      if (isExcluded([{ a, b, share }], 0, level)) isFound = calls.sequence.push(record) > 0;
    }
  }
  return calls;
}

type Arm = { count: number; mean: number; variance: number; third: number; squares: number; cubes: number };

const emptyArm = (): Arm => ({ count: 0, mean: 0, variance: 0, third: 0, squares: 0, cubes: 0 });

/** By Welford and Terriberry. */
function add(arm: Arm, value: number): void {
  const difference = value - arm.mean, step = difference / ++arm.count, square = difference * step * (arm.count - 1);
  arm.mean += step;
  arm.cubes += step * (square * (arm.count - 2) - 3 * arm.squares);
  arm.squares += square;
  arm.variance = arm.squares / Math.max(1, arm.count - 1);
  arm.third = arm.cubes / arm.count;
}

/** A guard of one limit, and how certain it must be, in percent. */
export type Guard = { guard: string; certain: number };

/** After how many records each rollout was called different, and stopped by each guard. */
export type ValueCalls = Calls & { stopped: number[][] };

const isOut = (range: Interval | null | undefined): boolean => !!range && (range.low > 0 || range.high < 0);

// Of a difference in standard errors, squared. Below, no interval and no sequence at 95 % leaves out 0.
const [leastOfIntervals, leastOfSequences] = [1.9 ** 2, 2.5 ** 2];

/** Rollouts whose records have a value. Guards of other limits than 0 take long, as each look is worked out. */
export function simulateValues(
  { rollouts, records, share, level = 0.05, every = 1, isPlain = false, seed }: Plan,
  { measure, name, draw, compare }: Distribution,
  guards: Guard[] = [],
): ValueCalls {
  const random = randomFrom(seed);
  const calls: ValueCalls = { sequence: [], plain: [], stopped: guards.map(() => []) };
  const isOfZero = guards.every(({ guard }) => /=[+-]0%?$/.test(guard));
  const limits = guards.map(({ guard, certain }, nth) => ({ guard, nth, level: levelOf(guard, certain) }));
  const widest = Math.max(level, ...limits.map(({ level }) => level));
  for (let rollout = 0; rollout < rollouts; rollout++) {
    const a = emptyArm(), b = emptyArm();
    let looksPlain = isPlain, isFound = false, waiting = limits;
    for (let record = 1; record <= records && (looksPlain || !isFound || waiting.length > 0); record++) {
      const isCandidate = random() < share;
      add(isCandidate ? b : a, draw(random, isCandidate));
      if (record % every > 0) continue;
      const far = (b.mean - a.mean) ** 2, own = a.variance / a.count + b.variance / b.count;
      if (looksPlain && far > leastOfIntervals * own && isOut(rangeOfMeans(a, b))) {
        looksPlain = calls.plain.push(record) === 0;
      }
      const pooled = (a.squares + b.squares) / (record - 2) * (1 / a.count + 1 / b.count);
      if (isOfZero && !(far > leastOfSequences * Math.max(own, pooled / 2))) continue;
      const figures = new Map<number, Figures>();
      const lookAt = (level: number) => getOrAdd(figures, level, () => compare([{ a, b, share }], { level }));
      // Sequences at lower levels are wider.
      if (isOfZero && !isOut(lookAt(widest).sequence)) continue;
      if (!isFound && isOut(lookAt(level).sequence)) isFound = calls.sequence.push(record) > 0;
      waiting = waiting.filter(({ guard, level, nth }) => {
        const difference = { measure, name, label: null, ...lookAt(level) };
        if (findCrossed(guard, [difference]) === undefined) return true;
        calls.stopped[nth]!.push(record);
        return false;
      });
    }
  }
  return calls;
}

/** When a guard of the 95th percentile stops. */
export function simulatePercentiles(
  { rollouts, records, share, every = 1, seed }: Plan,
  draw: Draw,
  { guard, certain }: Guard,
): number[] {
  const random = randomFrom(seed), stopped: number[] = [];
  for (let rollout = 0; rollout < rollouts; rollout++) {
    const a = { histogram: emptyHistogram(), total: 0 }, b = { histogram: emptyHistogram(), total: 0 };
    for (let record = 1; record <= records; record++) {
      const isCandidate = random() < share, arm = isCandidate ? b : a;
      arm.total++;
      increase(arm.histogram, latencyBucket(draw(random, isCandidate)));
      if (record % every > 0) continue;
      const figures = percentileFigures({ a, b }, 1, levelOf(guard, certain));
      if (findCrossed(guard, [{ measure: "p95", name: null, label: null, ...figures }]) === undefined) continue;
      stopped.push(record);
      break;
    }
  }
  return stopped;
}

/** How many rollouts are ever said to divide callers otherwise than by their share, while the candidate has another one. */
export function simulateRatios({ rollouts, records, share, level = 0.001, seed }: Plan, real: number): number[] {
  const random = randomFrom(seed), found: number[] = [];
  for (let rollout = 0; rollout < rollouts; rollout++) {
    const step = { base: 0, candidate: 0, share };
    for (let record = 1; record <= records; record++) {
      step[random() < real ? "candidate" : "base"]++;
      if (sampleRatio([step]) >= level) continue;
      found.push(record);
      break;
    }
  }
  return found;
}

/** The plain interval of the difference of two means. */
export function rangeOfMeans(a: Arm, b: Arm): Interval | undefined {
  const found = meanDifference([{ a, b }]);
  return found && intervalOf(found);
}

/** The plain interval of the difference of two shares, of values that are 0 or 1. */
export const rangeOfShares = (a: Arm, b: Arm): Interval => {
  const [one, other] = [a, b].map(({ count, mean }) => ({ count: Math.round(count * mean), total: count }));
  return newcombe(one!, other!);
};

/** The share of one-time looks in which the plain interval leaves out 0, of arms of these sizes. */
export function simulateLooks(
  { rollouts, seed }: Pick<Plan, "rollouts" | "seed">,
  draw: Draw,
  [base, candidate]: [base: number, candidate: number],
  rangeOf: (a: Arm, b: Arm) => Interval | undefined = rangeOfMeans,
): number {
  const random = randomFrom(seed);
  let found = 0;
  for (let rollout = 0; rollout < rollouts; rollout++) {
    const [a, b] = [base, candidate].map((records, arm) => {
      const moments = emptyArm();
      for (let record = 0; record < records; record++) add(moments, draw(random, arm === 1));
      return moments;
    }) as [Arm, Arm];
    if (isOut(rangeOf(a, b))) found++;
  }
  return found / rollouts;
}

/** Of ordered or unordered numbers, the one that a share of them does not exceed. Undefined without any. */
export const atShare = (values: number[], share: number): number | undefined =>
  [...values].sort((a, b) => a - b)[Math.max(0, Math.ceil(share * values.length) - 1)];
