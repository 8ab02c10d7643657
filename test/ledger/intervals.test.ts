// 95 % intervals, compared with published examples.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { newcombe, welch, wilson } from "../../src/ledger/intervals.ts";

const test = suite("intervals");

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

test("the interval of a difference of means needs 30 values on both sides", () => {
  const side = (count: number, mean: number) => ({ count, mean, variance: 25 });
  assert.is(welch(side(29, 10), side(1000, 12)), undefined);
  assert.equal(rounded(welch(side(100, 10), side(100, 12))!), { low: 0.6141, high: 3.3859 });
});

test.run();
