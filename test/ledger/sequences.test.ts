// Confidence sequences of shares, sample ratios and percentiles: compared with other programs, and at their extremes.
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import fc from "fast-check";
import { emptyHistogram, increase, latencyBucket, latencyOf } from "../../src/statistics/histogram.ts";
import { quantileRatio, rankSequence } from "../../src/statistics/quantile-sequence.ts";
import { sampleRatio } from "../../src/statistics/sample-ratio.ts";
import { newcombe } from "../../src/statistics/intervals.ts";
import { isExcluded, shareDifference, shareInterval, shareSequence } from "../../src/statistics/share-sequence.ts";
import type { ShareStep } from "../../src/statistics/share-sequence.ts";
import { logNormalLatency, steppedLatency } from "../bench/distributions.ts";
import { simulatePercentiles, simulateRatios, simulateShares } from "../bench/rollouts.ts";

const test = suite("sequences");

const numRuns = isFull ? 1_000 : 60;

type Row = [failures: number, calls: number, otherFailures: number, otherCalls: number, share: number];
const toStep = ([x, n, y, m, share]: Row): ShareStep => ({
  a: { count: x, total: n },
  b: { count: y, total: m },
  share,
});

const isNear = (value: number, wanted: number, error = 2e-8) =>
  assert.ok(Math.abs(value - wanted) <= error * Math.max(1, Math.abs(wanted)), `${value} is not ${wanted}`);

test("the sequence of a difference of shares is that of another program", () => {
  // By mpmath 1.3 with 40 digits, from the definition: products of likelihoods, the least of which scipy.optimize found.
  const examples: [rows: Row[], level: number, low: number, high: number][] = [
    [[[50, 1000, 100, 1000, 0.5]], 0.05, 0.00715767, 0.09382207],
    [[[50, 1000, 100, 1000, 0.5]], 0.01, 0.00072799, 0.10061768],
    [[[9, 900, 2, 100, 0.1]], 0.05, -0.0279057, 0.10107023],
    [[[0, 200, 12, 150, 0.5]], 0.05, 0.00896197, 0.18518384],
    [[[800, 1000, 760, 1000, 0.5]], 0.05, -0.10325102, 0.02334176],
    [[[9, 900, 2, 100, 0.1], [50, 500, 60, 500, 0.5]], 0.05, -0.02674342, 0.07945125],
  ];
  for (const [rows, level, low, high] of examples) {
    const found = shareSequence(rows.map(toStep), level)!;
    isNear(found.low, low);
    isNear(found.high, high);
  }
});

test("the p-value of the sample ratio is that of another program", () => {
  // By mpmath 1.3 with 40 digits.
  const examples: [steps: [base: number, candidate: number, share: number][], p: number][] = [
    [[[5200, 4800, 0.5]], 0.00364786427873],
    [[[5300, 4700, 0.5]], 1.81137091013e-7],
    [[[9000, 1100, 0.1]], 0.14325342571],
    [[[900, 150, 0.1], [5000, 5000, 0.5]], 0.0058027090144],
    [[[10, 0, 0.001]], 0.99957629559],
  ];
  for (const [steps, p] of examples) {
    isNear(sampleRatio(steps.map(([base, candidate, share]) => ({ base, candidate, share }))), p, 1e-9);
  }
});

test("the ranks of a quantile are those of another program", () => {
  // By mpmath 1.3 with 40 digits, over all ranks.
  const examples: [total: number, share: number, level: number, low: number, high: number][] = [
    [50, 0.95, 0.025, 41, 50],
    [200, 0.95, 0.025, 179, 198],
    [1000, 0.95, 0.025, 925, 971],
    [5000, 0.95, 0.005, 4685, 4809],
    [1000, 0.5, 0.05, 450, 550],
    [3, 0.5, 0.05, 0, 3],
  ];
  for (const [total, share, level, low, high] of examples) {
    assert.equal(rankSequence(total, share, level), { low, high });
  }
});

const arm = fc.tuple(fc.nat(3_000), fc.double({ min: 0, max: 1, noNaN: true })).map(([total, part]) => ({
  count: Math.round(total * part),
  total,
}));
const step = fc.record({ a: arm, b: arm, share: fc.constantFrom(0.001, 0.1, 0.5, 0.999, 1) });

test("a sequence of shares contains their difference, is wider at a lower level, and turns with the arms", () => {
  fc.assert(
    fc.property(step, ({ a, b, share }) => {
      const difference = shareDifference([{ a, b, share }]);
      const found = shareSequence([{ a, b, share }]);
      if (difference === undefined) return assert.is(found, undefined);
      const { low, high } = found!, wider = shareSequence([{ a, b, share }], 0.01)!;
      assert.ok(-1 <= wider.low && wider.low <= low && low <= difference && difference <= high, `${low} to ${high}`);
      assert.ok(high <= wider.high && wider.high <= 1, `${high} and ${wider.high}`);
      const turned = shareSequence([{ a: b, b: a, share: 1 - share }])!;
      isNear(turned.low, -high, 1e-6);
      isNear(turned.high, -low, 1e-6);
      const failing = ({ count, total }: typeof a) => ({ count: total - count, total });
      const other = shareSequence([{ a: failing(a), b: failing(b), share }])!;
      isNear(other.low, -high, 1e-6);
      assert.is(isExcluded([{ a, b, share }], 0), low > 0 || high < 0);
    }),
    { numRuns },
  );
});

test("sequences become narrower with more records of the same kind", () => {
  const widths = [10, 100, 1_000, 10_000, 1e6, 1e9].map((total) => {
    const counted = { count: total / 10, total };
    const { low, high } = shareSequence([{ a: counted, b: counted, share: 0.5 }])!;
    return high - low;
  });
  for (const [index, width] of widths.slice(1).entries()) assert.ok(width < widths[index]!, JSON.stringify(widths));
});

test("extremes have sequences without NaN: no records, one, none that failed and all", () => {
  const rows: Row[] = [[0, 0, 0, 0, 0.5], [0, 1, 0, 0, 0.5], [1, 1, 1, 1, 0.5], [0, 1, 1, 1, 0.1], [
    0,
    1e9,
    1e9,
    1e9,
    0.5,
  ]];
  for (const row of rows) {
    const { low = -1, high = 1 } = shareSequence([toStep(row)]) ?? {};
    assert.ok(-1 <= low && low <= high && high <= 1, `${row}: ${low} to ${high}`);
  }
  assert.is(sampleRatio([]), 1);
  assert.is(sampleRatio([{ base: 0, candidate: 5, share: 1 }]), 1);
  assert.is(sampleRatio([{ base: 1e12, candidate: 0, share: 0.5 }]), 0);
});

test("steps that no one difference fits have no sequence", () => {
  const steps = [toStep([9, 1000, 900, 1000, 0.1]), toStep([900, 1000, 9, 1000, 0.5])];
  assert.is(shareSequence(steps), undefined);
});

test("a base rate that moves between steps does not count as a difference", () => {
  // 1 % failed while the candidate had 10 %, and 20 % since it has 90 %.
  const steps = [toStep([90, 9000, 10, 1000, 0.1]), toStep([200, 1000, 1800, 9000, 0.9])];
  assert.is(shareDifference(steps), 0);
  assert.is(isExcluded(steps, 0), false);
  const together = [toStep([290, 10_000, 1810, 10_000, 0.5])];
  assert.is(isExcluded(together, 0), true);
});

test("the ratio of a percentile has both arms' bounds, and none while few values tell it", () => {
  const measured = (latencies: number[]) => {
    const histogram = emptyHistogram();
    for (const latency of latencies) increase(histogram, latencyBucket(latency));
    return { histogram, total: latencies.length };
  };
  const some = measured(Array.from({ length: 2_000 }, (_, index) => index + 1));
  const twice = measured(Array.from({ length: 2_000 }, (_, index) => 2 * (index + 1)));
  const { ratio, low, high } = quantileRatio(some, twice, 0.95, latencyOf);
  assert.is(ratio, 2);
  assert.ok(1.9 < low && low < 2 && 2 < high && high < 2.1, `${low} to ${high}`);
  const none = measured([]), huge = measured([1e12, 0]);
  assert.equal(quantileRatio(none, some, 0.95, latencyOf), { ratio: undefined, low: 0, high: Infinity });
  assert.equal(quantileRatio(some, huge, 0.95, latencyOf), { ratio: 1e12 / 1900, low: 0, high: Infinity });
});

test("the plain interval of one step is that of Newcombe", () => {
  const { low, high } = newcombe({ count: 5, total: 100 }, { count: 12, total: 90 });
  const found = shareInterval([toStep([5, 100, 12, 90, 0.5])])!;
  isNear(found.low, low, 1e-12);
  isNear(found.high, high, 1e-12);
});

// `npm run simulate` has more of these.
const rollouts = isFull ? 1_000 : 60, records = isFull ? 10_000 : 1_500, seed = 1;

test("of equal versions that are looked at after every record, at most one in 20 is called different", () => {
  for (const share of [0.5, 0.1, 0.02]) {
    const { sequence, plain } = simulateShares({ rollouts, records, share, seed }, [0.05, 0.05]);
    assert.ok(sequence.length <= 0.05 * rollouts, `${sequence.length} of ${rollouts}`);
    assert.ok(share < 0.1 || plain.length > 0.2 * rollouts, `only ${plain.length} by plain intervals`);
  }
});

test("sessions that are divided as the share says are found to be, and others are not", () => {
  for (const share of [0.5, 0.1, 0.02]) {
    const plan = { rollouts, records, share, level: 0.01, seed };
    assert.ok(simulateRatios(plan, share).length <= Math.max(1, 0.01 * rollouts));
    assert.is(simulateRatios(plan, share + 0.2).length, rollouts);
  }
});

test("a guard of a percentile never stops a candidate that is exactly at its limit, even if many latencies are alike", () => {
  const plan = { rollouts: isFull ? 200 : 20, records: 2_000, share: 0.5, every: 100, seed };
  for (
    const [draw, guard] of [
      [logNormalLatency(1.2), "p95=+20%"],
      ...[1.1, 1.2, 1.3, 1.7].map((ratio) =>
        [steppedLatency(ratio), `p95=+${Math.round(100 * ratio - 100)}%`] as const
      ),
    ] as const
  ) assert.equal(simulatePercentiles(plan, draw, { guard, certain: 99 }), [], guard);
});

test("a guard at 99 % stops a candidate that fails twice as often, and at most one in 100 equal ones", () => {
  const plan = { rollouts, share: 0.5, level: 0.01, seed };
  assert.ok(simulateShares({ ...plan, records }, [0.2, 0.2], true).sequence.length <= 0.01 * rollouts);
  const stopped = simulateShares({ ...plan, records: 1_500, every: 10, rollouts: 60 }, [0.2, 0.4], true).sequence;
  assert.is(stopped.length, 60);
});

test.run();
