// 95 % intervals, compared with published examples.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { meanInterval, newcombe, wilson } from "../../src/statistics/intervals.ts";

const test = suite("intervals");

const moments = (count: number, mean: number, variance: number) => ({ count, mean, variance, third: 0 });

const rounded = (values: object) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number((value as number).toFixed(4))]));

test("the interval of a share is that of Wilson, as in Newcombe's paper of 1998 on single proportions", () => {
  assert.equal(rounded(wilson(81, 263)), { low: 0.2553, high: 0.3662 });
  assert.equal(rounded(wilson(15, 148)), { low: 0.0624, high: 0.1605 });
  assert.equal(rounded(wilson(0, 20)), { low: 0, high: 0.1611 });
  assert.equal(rounded(wilson(1, 29)), { low: 0.0061, high: 0.1718 });
  assert.equal(rounded(wilson(20, 20)), { low: 0.8389, high: 1 });
});

test("the interval of a difference is that of Newcombe, as in his paper of 1998 on independent proportions", () => {
  const examples: [number, number, number, number, low: number, high: number][] = [
    [56, 70, 48, 80, 0.0524, 0.3339],
    [9, 10, 3, 10, 0.1705, 0.809],
    [10, 10, 0, 10, 0.6075, 1],
    [0, 10, 0, 20, -0.1611, 0.2775],
  ];
  for (const [count, total, otherCount, otherTotal, low, high] of examples) {
    const found = rounded(newcombe({ count: otherCount, total: otherTotal }, { count, total }));
    assert.equal([found.low, found.high], [low, high], JSON.stringify(found));
  }
});

test("the interval of a share is that of another program", () => {
  // binomtest(count, total).proportion_ci(0.95, method="wilson") of scipy.stats 1.17.1.
  const examples: [count: number, total: number, low: number, high: number][] = [
    [7, 9, 0.45258897, 0.93677489],
    [0, 5, 0, 0.43448246],
    [31, 40, 0.62496903, 0.87683909],
    [3, 3, 0.43850297, 1],
    [500, 1234, 0.37813055, 0.43283071],
  ];
  for (const [count, total, low, high] of examples) {
    const found = wilson(count, total);
    assert.ok(Math.abs(found.low - low) < 1e-8 && Math.abs(found.high - high) < 1e-8, JSON.stringify(found));
  }
});

test("the interval of a mean is that of Student, and needs 30 values", () => {
  // t.interval(0.95, count - 1, loc=mean, scale=sqrt(variance / count)) of scipy.stats 1.17.1.
  const examples: [count: number, mean: number, variance: number, low: number, high: number][] = [
    [30, 10, 25, 8.1329693162, 11.8670306838],
    [100, 0.62, 0.04, 0.580315661, 0.659684339],
    [1000, -3.5, 81, -4.0584921708, -2.9415078292],
  ];
  for (const [count, mean, variance, low, high] of examples) {
    const found = meanInterval(moments(count, mean, variance))!;
    assert.ok(Math.abs(found.low - low) < 1e-6 && Math.abs(found.high - high) < 1e-6, JSON.stringify(found));
  }
  assert.is(meanInterval(moments(29, 10, 25)), undefined);
});

test.run();
