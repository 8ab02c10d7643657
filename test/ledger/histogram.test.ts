// Percentiles of histograms, compared with those of a sorted list.
// Runs on Node alone.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { addSmall, emptySmall, increaseSmall, percentilesOfSmall } from "../../src/ledger/histogram.ts";

const test = suite("histograms");

test("small ones keep their percentiles, however many values they get, and when they are added", () => {
  const shape = fc.tuple(fc.nat({ max: 9000 }), fc.nat({ max: 9000 }), fc.integer({ min: 1, max: 3000 }), fc.nat());
  fc.assert(
    fc.property(shape, ([own, added, distinct, seed]) => {
      const values = Array.from({ length: own + added }, (_, index) => (index * 7919 + seed % 1000) % distinct);
      const histogram = emptySmall(), other = emptySmall();
      for (const value of values.slice(0, own)) increaseSmall(histogram, value);
      for (const value of values.slice(own)) increaseSmall(other, value);
      addSmall(histogram, other);
      const sorted = values.toSorted((a, b) => a - b);
      const expected = [0.5, 0.95, 1].map((share) => sorted[Math.max(1, Math.ceil(share * sorted.length)) - 1]);
      assert.equal(percentilesOfSmall(histogram, [0.5, 0.95, 1]), expected);
    }),
    { numRuns: 100, seed: 20261122 },
  );
});

test.run();
