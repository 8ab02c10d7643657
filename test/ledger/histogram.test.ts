// Percentiles of histograms, compared with those of a sorted list.
// Runs on Node alone.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import {
  addHistogram,
  digitsBucket,
  emptyHistogram,
  increase,
  latencyBucket,
  latencyOf,
  maxLatency,
  numberOf,
  percentiles,
} from "../../src/statistics/histogram.ts";
import { extremes } from "../extremes.ts";

const test = suite("histograms");

test("they keep their percentiles, however many values they get, and when they are added", () => {
  const shape = fc.tuple(fc.nat({ max: 9000 }), fc.nat({ max: 9000 }), fc.integer({ min: 1, max: 3000 }), fc.nat());
  fc.assert(
    fc.property(shape, ([own, added, distinct, seed]) => {
      const values = Array.from({ length: own + added }, (_, index) => (index * 7919 + seed % 1000) % distinct);
      const histogram = emptyHistogram(), other = emptyHistogram();
      for (const value of values.slice(0, own)) increase(histogram, value);
      for (const value of values.slice(own)) increase(other, value);
      addHistogram(histogram, other);
      const sorted = values.toSorted((a, b) => a - b);
      const expected = [0.5, 0.95, 1].map((share) => sorted[Math.max(1, Math.ceil(share * sorted.length)) - 1]);
      assert.equal(percentiles(histogram, [0.5, 0.95, 1]), expected);
    }),
    { numRuns: 100 },
  );
});

/** Any double: Infinity, NaN and negative ones too. */
const anyNumber = fc.oneof(fc.double(), fc.double({ min: 0, max: 1e13 }), fc.constantFrom(...extremes.latency));

test("any number has a bucket, which stands for it rounded, or for the greatest latency", () => {
  fc.assert(
    fc.property(anyNumber, (number) => {
      const bounded = number > 0 ? Math.min(number, maxLatency) : 0, bucket = latencyBucket(number);
      assert.ok(Number.isInteger(bucket) && bucket >= 0 && bucket < 100_000, `${number} has bucket ${bucket}`);
      const error = Math.abs(latencyOf(bucket) - bounded);
      assert.ok(error <= Math.max(0.0501, bounded * 0.0005001), `${number} counts as ${latencyOf(bucket)}`);
    }),
    { numRuns: 10_000 },
  );
});

test("a greater number is in no lower bucket", () => {
  const numbers = anyNumber.filter((number) => !Number.isNaN(number));
  fc.assert(
    fc.property(numbers, numbers, (one, other) => {
      const [least, most] = one < other ? [one, other] : [other, one];
      assert.ok(latencyBucket(least) <= latencyBucket(most), `${least} ${most}`);
      assert.ok(digitsBucket(least, 0) <= digitsBucket(most, 0), `${least} ${most}`);
    }),
    { numRuns: 10_000 },
  );
});

test("any number has a bucket of four digits: what is no positive number that of zero", () => {
  const least = fc.constantFrom(-1, 0, 0.5, -Infinity, NaN, Number.MIN_VALUE);
  fc.assert(fc.property(least, (number) => assert.is(numberOf(digitsBucket(number, 0)), 0)));
  fc.assert(
    fc.property(fc.oneof(anyNumber, fc.bigInt()), fc.integer({ min: -30, max: 0 }), (whole, exponent) => {
      const bucket = digitsBucket(whole, exponent), found = numberOf(bucket);
      assert.ok(Number.isInteger(bucket) && bucket >= 0, `${whole} has bucket ${bucket}`);
      if (!(whole >= 1)) return assert.is(found, 0);
      const exact = Number(typeof whole === "bigint" ? whole : Math.min(whole, Number.MAX_SAFE_INTEGER));
      assert.ok(Math.abs(found / 10 ** exponent - exact) <= exact * 0.00051 + 0.5, `${whole} counts as ${found}`);
    }),
    { numRuns: 10_000 },
  );
});

test.run();
