// Runs on Node alone.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createCache } from "../../src/common/cache.ts";

const test = suite("cache");

test("evicts the least recently used entries by weight, and drops the entry of a value that is too heavy", () => {
  const key = fc.constantFrom(..."abcdef");
  const step = fc.record({ key, weight: fc.option(fc.integer({ min: 0, max: 12 }), { nil: undefined }) });
  fc.assert(fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const cache = createCache<number>(10);
    let model: { key: string; value: number; weight: number }[] = [];
    const total = () => model.reduce((sum, { weight }) => sum + weight, 0);
    for (const [value, { key, weight }] of steps.entries()) {
      const known = model.find((entry) => entry.key === key);
      model = model.filter((entry) => entry !== known);
      if (weight === undefined) {
        assert.is(cache.get(key), known?.value);
        if (known !== undefined) model.push(known);
      } else {
        cache.set(key, value, weight);
        if (weight <= 10) model.push({ key, value, weight });
        while (total() > 10) model.shift();
      }
    }
    for (const key of "abcdef") assert.is(cache.get(key), model.find((entry) => entry.key === key)?.value);
  }));
});

test.run();
