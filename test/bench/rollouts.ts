// Simulated rollouts that someone looks at after every record: when each way to compare calls the arms different.
import { newcombe, welch } from "../../src/ledger/intervals.ts";
import { emptyHistogram, increase, latencyBucket, latencyOf } from "../../src/ledger/histogram.ts";
import { meanDifference, meanSequence } from "../../src/ledger/mean-sequence.ts";
import { quantileRatio } from "../../src/ledger/quantile-sequence.ts";
import { isExcluded } from "../../src/ledger/share-sequence.ts";

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
      if (!isPlain && most > 1) {
        const { low, high } = newcombe(a, b);
        if (low > 0 || high < 0) isPlain = calls.plain.push(record) > 0;
      }
      if (isFound || record % every > 0 || most < enough || stops && b.count * a.total <= a.count * b.total) continue;
      if (isExcluded([{ a, b, share }], 0, level)) isFound = calls.sequence.push(record) > 0;
    }
  }
  return calls;
}

type Arm = { count: number; mean: number; variance: number; squares: number };

const emptyArm = (): Arm => ({ count: 0, mean: 0, variance: 0, squares: 0 });

/** By Welford. */
function add(arm: Arm, value: number): void {
  const difference = value - arm.mean;
  arm.mean += difference / ++arm.count;
  arm.squares += difference * (value - arm.mean);
  arm.variance = arm.squares / Math.max(1, arm.count - 1);
}

const normalFrom = (random: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** Latencies: log-normal, of which some time out. The candidate's are `ratio` times those of the base. */
export function simulateLatencies(
  { rollouts, records, share, level, seed }: Plan,
  { ratio, deviation, timeouts }: { ratio: number; deviation: number; timeouts: number },
): Calls {
  const random = randomFrom(seed), calls: Calls = { sequence: [], plain: [] }, faster = Math.log(ratio);
  for (let rollout = 0; rollout < rollouts; rollout++) {
    const a = emptyArm(), b = emptyArm();
    let isFound = false, isPlain = false;
    for (let record = 1; record <= records && !(isFound && isPlain); record++) {
      const isCandidate = random() < share, normal = normalFrom(random);
      const latency = random() < timeouts
        ? 60_000
        : Math.exp(Math.log(800) + deviation * normal + (isCandidate ? faster : 0));
      add(isCandidate ? b : a, Math.log1p(latency));
      const found = meanDifference([{ a, b }]);
      if (found === undefined || Math.abs(found.difference) < 1.96 * found.error) continue;
      if (!isPlain) {
        const { low, high } = welch(a, b)!;
        if (low > 0 || high < 0) isPlain = calls.plain.push(record) > 0;
      }
      if (isFound) continue;
      const { low, high } = meanSequence(found, level);
      if (low > 0 || high < 0) isFound = calls.sequence.push(record) > 0;
    }
  }
  return calls;
}

/** When a guard of the 95th percentile stops: log-normal latencies, of which the candidate's are `ratio` times the base's. */
export function simulatePercentiles(
  { rollouts, records, share, level = 0.05, every = 1, seed }: Plan,
  { ratio, deviation, limit }: { ratio: number; deviation: number; limit: number },
): Calls {
  const random = randomFrom(seed), calls: Calls = { sequence: [], plain: [] };
  for (let rollout = 0; rollout < rollouts; rollout++) {
    const a = { histogram: emptyHistogram(), total: 0 }, b = { histogram: emptyHistogram(), total: 0 };
    for (let record = 1; record <= records; record++) {
      const isCandidate = random() < share, arm = isCandidate ? b : a;
      arm.total++;
      increase(
        arm.histogram,
        latencyBucket(800 * Math.exp(deviation * normalFrom(random)) * (isCandidate ? ratio : 1)),
      );
      // The first step of a rollout has half of the level.
      if (record % every > 0 || quantileRatio(a, b, 0.95, latencyOf, level / 2).low <= limit) continue;
      calls.sequence.push(record);
      break;
    }
  }
  return calls;
}

/** When a guard of numeric feedback stops: scores from 0 to 1 with these means, of which less is worse. */
export function simulateScores(
  { rollouts, records, share, level, every = 1, seed }: Plan,
  means: [base: number, candidate: number],
): Calls {
  const random = randomFrom(seed), calls: Calls = { sequence: [], plain: [] };
  const [ofBase, ofCandidate] = means.map((mean) => (1 - mean) / mean) as [number, number];
  for (let rollout = 0; rollout < rollouts; rollout++) {
    const a = emptyArm(), b = emptyArm();
    for (let record = 1; record <= records; record++) {
      const isCandidate = random() < share;
      add(isCandidate ? b : a, random() ** (isCandidate ? ofCandidate : ofBase));
      const found = record % every > 0 ? undefined : meanDifference([{ a, b }]);
      if (found === undefined || meanSequence(found, level).high >= 0) continue;
      calls.sequence.push(record);
      break;
    }
  }
  return calls;
}

/** Of ordered or unordered numbers, the one that a share of them does not exceed. Undefined without any. */
export const atShare = (values: number[], share: number): number | undefined =>
  [...values].sort((a, b) => a - b)[Math.max(0, Math.ceil(share * values.length) - 1)];
