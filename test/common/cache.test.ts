import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { createCache } from "../../src/common/cache.ts";

const test = suite("cache");

/** The keys that a cache still has, of those named; looking makes each the newest in turn. */
const kept = (cache: { get(key: string): unknown }, keys: string) =>
  [...keys].filter((key) => cache.get(key) !== undefined).join("");

test("what was set or got least recently goes first", () => {
  const cache = createCache<number>(3);
  for (const key of "abc") cache.set(key, 1, 1);
  cache.get("a");
  cache.set("d", 1, 1);
  assert.is(kept(cache, "abcd"), "acd");
  cache.set("a", 1, 1);
  cache.set("e", 1, 1);
  assert.is(kept(cache, "acde"), "ade");
});

test("a key that is not there is not made the newest", () => {
  const cache = createCache<number>(1);
  cache.set("a", 1, 1);
  assert.is(cache.get("b"), undefined);
  assert.is(cache.get("a"), 1);
});

test("as many go as the new value weighs", () => {
  const cache = createCache<number>(10);
  for (const [key, weight] of [["a", 2], ["b", 3], ["c", 5]] as const) cache.set(key, 1, weight);
  assert.is(kept(cache, "abc"), "abc");
  cache.set("d", 1, 4);
  assert.is(kept(cache, "abcd"), "cd");
});

test("a value as heavy as the bound is kept alone; a heavier one is not, and drives nothing out", () => {
  const cache = createCache<number>(10);
  cache.set("a", 1, 10);
  cache.set("b", 1, 11);
  assert.is(kept(cache, "ab"), "a");
  cache.set("b", 1, 10);
  assert.is(kept(cache, "ab"), "b");
});

test("a key has the value that was set last, and only that one's weight counts", () => {
  const cache = createCache<number>(10);
  cache.set("a", 1, 9);
  cache.set("a", 2, 1);
  cache.set("b", 1, 9);
  assert.is(cache.get("a"), 2);
  assert.is(kept(cache, "ab"), "ab");
});

test("a key whose new value is too heavy has none, not the old one", () => {
  const cache = createCache<number>(10);
  cache.set("a", 1, 1);
  cache.set("a", 2, 11);
  assert.is(cache.get("a"), undefined);
});

test("whatever is set and got, it holds what a list in order of use would", () => {
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
