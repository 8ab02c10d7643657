// Differences of means: their intervals and sequences, compared with other programs, and for values that are skewed.
// Runs on Node alone.
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import fc from "fast-check";
import { boundedSequence, costOf } from "../../src/statistics/bounded-sequence.ts";
import { emptyHistogram, increase, latencyBucket, latencyOf } from "../../src/statistics/histogram.ts";
import { intervalOf, meanDifference } from "../../src/statistics/mean-difference.ts";
import { meanSequence, widthAt } from "../../src/statistics/mean-sequence.ts";
import { momentsOf } from "../../src/tallies/summary.ts";
import { latencies, scores, skewed } from "../bench/distributions.ts";
import type { Distribution } from "../bench/distributions.ts";
import { simulateLooks, simulateValues } from "../bench/rollouts.ts";

const test = suite("sequences of means");

const isNear = (value: number, wanted: number, error: number) =>
  assert.ok(Math.abs(value - wanted) <= error * Math.max(1, Math.abs(wanted)), `${value} is not ${wanted}`);
const rounded = (range: { low: number; high: number }) => ({
  low: Number(range.low.toFixed(4)),
  high: Number(range.high.toFixed(4)),
});

const side = (count: number, mean: number, variance: number, third = 0) => ({ count, mean, variance, third });
type Side = ReturnType<typeof side>;
const welch = (a: Side, b: Side) => {
  const found = meanDifference([{ a, b }]);
  return found && intervalOf(found);
};

test("a difference of means needs 30 values on both sides", () => {
  assert.is(welch(side(29, 10, 25), side(1000, 12, 25)), undefined);
  assert.is(welch(side(1000, 10, 25), side(29, 12, 25)), undefined);
});

test("the interval of a difference of means is that of Welch, with the degrees of freedom of Satterthwaite", () => {
  // By t.ppf of scipy.stats 1.17.1, whose ttest_ind(…, equal_var=False).confidence_interval() gives the same for values.
  const examples: [a: [number, number, number], b: [number, number, number], low: number, high: number][] = [
    [[100, 10, 25], [100, 12, 25], 0.6056, 3.3944],
    [[30, 10, 25], [30, 12, 25], -0.5842, 4.5842],
    [[30, 20.6, 9], [40, 22.1, 0.81], 0.3486, 2.6514],
    [[35, 840, 250_000], [3000, 610, 90_000], -402.0634, -57.9366],
  ];
  for (const [a, b, low, high] of examples) {
    assert.equal(rounded(welch(side(...a), side(...b))!), { low, high });
  }
});

test("with all of the variance on one side, the width is the 97.5 % quantile of t, as in published tables", () => {
  // https://www.itl.nist.gov/div898/handbook/eda/section3/eda3672.htm has three decimals, t.ppf of scipy.stats all of these.
  const quantiles: [freedom: number, quantile: number][] = [
    ...[[29, 2.0452296], [30, 2.0422725], [40, 2.0210754], [60, 2.0002978], [100, 1.9839715]] as [number, number][],
    ...[[120, 1.9799304], [1000, 1.9623391], [1_000_000, 1.9599664]] as [number, number][],
  ];
  for (const [freedom, quantile] of quantiles) {
    const { low, high } = welch(side(freedom + 1, 0, freedom + 1), side(1000, 0, 0))!;
    assert.ok(Math.abs(high - quantile) < 1e-7 && low === -high, `${freedom}: ${high}`);
  }
});

test("of skewed values, the interval is at least that of the pooled variance", () => {
  // 1,470 scores with 2 % of 0, and 30 without: ttest_ind_from_stats(…, equal_var=True) of scipy.stats 1.17.1.
  const rare = 1_470 * 0.02, third = 0.98 * 0.02 * (0.02 - 0.98);
  const found = welch(side(1_470, 0.98, rare * 0.98 / 1_469, third), side(30, 1, 0))!;
  isNear(found.low, -0.030171405036, 1e-9);
  isNear(found.high, 0.070171405036, 1e-9);
  // Third moments that cancel do not count, and neither do those of arms that are large enough.
  const [a, b] = [side(100, 0, 4, 16), side(100, 1, 1, 15)];
  assert.equal(welch(a, b), welch({ ...a, third: 0 }, { ...b, third: 0 }));
});

test("values that are all alike have an interval without width", () => {
  assert.equal(welch(side(30, 1, 0), side(50, 3, 0)), { low: 2, high: 2 });
});

test("values that are all alike have no sequence, and that of arms of which each has one value is not certain", () => {
  const one = meanDifference([{ a: side(30, 28, 0), b: side(300, 28, 0) }])!;
  assert.equal([one.difference, meanSequence(one)], [0, undefined]);
  const other = meanDifference([{ a: side(30, 1, 0), b: side(50, 3, 0) }])!, range = meanSequence(other)!;
  assert.ok(1 < range.low && range.low < 2 && 2 < range.high && range.high < 3, JSON.stringify(range));
});

test("values that are all alike have exactly their mean, however many there are", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5_000 }), fc.double({ min: 0, max: 1e6, noNaN: true }), (count, latency) => {
      const histogram = emptyHistogram(), bucket = latencyBucket(latency);
      for (let nth = 0; nth < count; nth++) increase(histogram, bucket);
      const { mean, variance, third } = momentsOf(histogram, (each) => Math.log1p(latencyOf(each)));
      assert.equal([mean, variance, third], [Math.log1p(latencyOf(bucket)), 0, 0]);
    }),
    { numRuns: isFull ? 300 : 30 },
  );
});

test("the width of the sequence of a mean is that of another program", () => {
  // Of a known variance, the formula of the paper in mpmath 1.3 with 40 digits. Of others, where the mixture of noncentral t
  // densities of scipy.stats 1.17.1, integrated over the effect, is as many times that of t.
  const examples: [weight: number, level: number, freedom: number, width: number][] = [
    [50, 0.05, Infinity, 3.36388772578],
    [250, 0.05, Infinity, 3.03520899038],
    [2500, 0.05, Infinity, 3.24172314541],
    [250, 0.01, Infinity, 3.57162997087],
    [29.4, 0.05, 29, 4.506662483],
    [15, 0.05, 58, 5.197799518],
    [29.4, 0.01, 29, 5.334307902],
  ];
  for (const [weight, level, freedom, width] of examples) isNear(widthAt(weight, level, freedom), width, 1e-9);
  assert.is(widthAt(15, 1e-9, 10), Infinity);
});

test("the sequence of values within bounds is that of another program", () => {
  // By mpmath 1.3 with 40 digits, from the bets and their mixture.
  const examples: [steps: [a: Side, b: Side, share: number][], level: number, low: number, high: number][] = [
    [[[side(300, 0.8, 0.03), side(300, 0.75, 0.03), 0.5]], 0.05, -0.1056878642, 0.006200513202],
    [[[side(300, 0.8, 0.03), side(300, 0.75, 0.03), 0.5]], 0.01, -0.118439963, 0.0193716265],
    [[[side(1470, 0.98, 0.0196), side(30, 1, 0), 0.02]], 0.05, -0.6381478046, 0.03990760819],
    [[[side(900, 0.5, 0.08), side(100, 0.6, 0.09), 0.1]], 0.05, -0.05040067069, 0.2424375386],
    [
      [[side(900, 0.5, 0.08), side(100, 0.6, 0.09), 0.1], [side(500, 0.4, 0.05), side(520, 0.47, 0.06), 0.5]],
      ...[0.05, 0.02560500751, 0.1232316963] as const,
    ],
    [[[side(3, 0.5, 0.25), side(2, 1, 0), 0.5]], 0.05, -1, 1],
  ];
  const scaled = (moments: Side) => ({ ...moments, mean: 4 * moments.mean + 1, variance: 16 * moments.variance });
  for (const [rows, level, low, high] of examples) {
    const steps = rows.map(([a, b, share]) => ({ a, b, share }));
    const found = boundedSequence(steps, { low: 0, high: 1 }, level)!;
    isNear(found.low, low, 5e-9);
    isNear(found.high, high, 5e-9);
    const stars = steps.map(({ a, b, share }) => ({ a: scaled(a), b: scaled(b), share }));
    const wider = boundedSequence(stars, { low: 1, high: 5 }, level)!;
    isNear(wider.low, 4 * low, 2e-8);
    isNear(wider.high, 4 * high, 2e-8);
  }
});

const unit = fc.double({ min: 0, max: 1, noNaN: true });

test("whatever values from 0 to 1 have a mean, a bet on it wins nothing on average", () => {
  const values = fc.array(fc.tuple(unit, unit), { minLength: 1, maxLength: 6 })
    .filter((each) => each.some(([, weight]) => weight > 0));
  fc.assert(
    fc.property(values, fc.double({ min: 0, max: 50, noNaN: true }), (weighted, stake) => {
      const all = weighted.reduce((sum, [, weight]) => sum + weight, 0);
      const mean = weighted.reduce((sum, [value, weight]) => sum + value * weight / all, 0), cost = costOf(stake, mean);
      if (cost === Infinity) return;
      const won = weighted.reduce(
        (sum, [value, weight]) => sum + weight / all * Math.exp(stake * (value - mean) - cost * (value - mean) ** 2),
        0,
      );
      assert.ok(won <= 1 + 1e-9, `${won}`);
    }),
    { numRuns: isFull ? 10_000 : 1_000 },
  );
});

test("a sequence of values within bounds contains their difference, is wider at a lower level, and turns with the arms", () => {
  const arm = fc.tuple(fc.integer({ min: 1, max: 3_000 }), unit, unit).map(([count, mean, part]) =>
    side(count, mean, count === 1 ? 0 : part * mean * (1 - mean) * count / (count - 1))
  );
  const step = fc.record({ a: arm, b: arm, share: fc.constantFrom(0.001, 0.02, 0.1, 0.5, 0.999, 1) });
  const bounds = { low: 0, high: 1 };
  fc.assert(
    fc.property(step, ({ a, b, share }) => {
      const difference = b.mean - a.mean, { low, high } = boundedSequence([{ a, b, share }], bounds)!;
      assert.ok(low <= difference && difference <= high && high - low > 0, `${low} to ${high}`);
      const wider = boundedSequence([{ a, b, share }], bounds, 0.01)!;
      assert.ok(-1 <= wider.low && wider.low <= low && high <= wider.high && wider.high <= 1, JSON.stringify(wider));
      const turned = boundedSequence([{ a: b, b: a, share: 1 - share }], bounds)!;
      isNear(turned.low, -high, 1e-8);
      isNear(turned.high, -low, 1e-8);
    }),
    { numRuns: isFull ? 3_000 : 200 },
  );
});

test("sequences of means become narrower with more records of the same kind", () => {
  const widths = [10, 100, 1_000, 10_000, 1e6, 1e9].map((count) => {
    const values = side(3 * count, 0.5, 0.04, 0.001), step = { a: values, b: values, share: 0.5 };
    return [meanSequence(meanDifference([step])!)!, boundedSequence([step], { low: 0, high: 1 })!].map(
      ({ low, high }) => high - low,
    );
  });
  for (const [index, [mean, bounded]] of widths.slice(1).entries()) {
    assert.ok(mean! < widths[index]![0]! && bounded! < widths[index]![1]!, JSON.stringify(widths));
  }
});

// `npm run simulate` has more of these.
const rollouts = isFull ? 300 : 60, records = isFull ? 5_000 : 2_000, seed = 1;
const guardsOf = ({ measure, name }: Distribution) =>
  [95, 99].flatMap((certain) =>
    ["-", "+"].map((sign) => ({ guard: `${name ?? measure}=${sign}0${name === null ? "%" : ""}`, certain }))
  );

test("of equal versions with tame values, at most one in 20 is called different, and many by plain intervals", () => {
  for (const distribution of [latencies(), scores([0.8, 0.8], true), scores([0.8, 0.8], false)]) {
    for (const share of [0.5, 0.1, 0.02]) {
      const { sequence, plain } = simulateValues({ rollouts, records, share, isPlain: true, seed }, distribution);
      assert.ok(sequence.length <= 0.05 * rollouts, `${distribution.what}: ${sequence.length} of ${rollouts}`);
      assert.ok(share < 0.1 || plain.length > 0.2 * rollouts, `only ${plain.length} by plain intervals`);
    }
  }
});

for (const distribution of skewed) {
  test(`of equal versions with ${distribution.what}, at most as many are called different as documented`, () => {
    const guards = guardsOf(distribution);
    for (const share of [0.5, 0.1, 0.02]) {
      const { sequence, stopped } = simulateValues({ rollouts, records, share, seed }, distribution, guards);
      assert.ok(sequence.length <= 0.05 * rollouts, `at ${share}: ${sequence.length} of ${rollouts}`);
      for (const [nth, { guard, certain }] of guards.entries()) {
        const most = (1 - certain / 100) * rollouts;
        assert.ok(stopped[nth]!.length <= most, `${guard} at ${share}: ${stopped[nth]!.length} of ${rollouts}`);
      }
    }
    assert.ok(simulateLooks({ rollouts: 10 * rollouts, seed }, distribution.draw, [1_470, 30]) <= 0.07);
  });
}

test("however rare and far away some values are, few of the equal versions are called different at any share", () => {
  const mixture = fc.record({
    part: fc.double({ min: 0.002, max: 0.3, noNaN: true }),
    distance: fc.constantFrom(-100, -5, 5, 100),
    share: fc.double({ min: 0.01, max: 0.99, noNaN: true }),
    isDeclared: fc.boolean(),
  });
  fc.assert(
    fc.property(mixture, ({ part, distance, share, isDeclared }) => {
      // The rare values are 1, and the others near 0, or the reverse.
      const nearest = 1 / (1 + Math.abs(distance));
      const distribution: Distribution = {
        ...scores([0.5, 0.5], isDeclared),
        draw: (random) => {
          const value = random() < part ? 1 : nearest * random();
          return distance > 0 ? value : 1 - value;
        },
      };
      const plan = { rollouts: 40, records: 1_500, share, seed };
      const { sequence, stopped } = simulateValues(plan, distribution, guardsOf(distribution));
      assert.ok(sequence.length <= 4, `${sequence.length} of 40`);
      assert.ok(stopped.every((calls, nth) => calls.length <= (nth < 2 ? 4 : 1)), JSON.stringify(stopped));
    }),
    { numRuns: isFull ? 100 : 10, seed },
  );
});

test("a guard at 99 % stops candidates with lower scores, whether the name declares bounds or not", () => {
  for (const isDeclared of [true, false]) {
    const plan = { rollouts: 30, records: 4_000, share: 0.5, every: 20, level: 0.01, seed };
    const { stopped } = simulateValues(plan, scores([0.8, 0.7], isDeclared), [{ guard: "score=-0.02", certain: 99 }]);
    assert.is(stopped[0]!.length, 30);
  }
});

test.run();
