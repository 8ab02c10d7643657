// Prices of models, and how they are imported from the files of others.
// Runs on Node alone.
import { suite } from "../suite.ts";
import fc from "fast-check";
import * as assert from "uvu/assert";
import { readPriceFile } from "../../src/cli/price-files.ts";
import { decimalText, readAmount } from "../../src/common/decimal.ts";
import type { Price } from "../../src/management/prices.ts";
import { createPricing } from "../../src/ledger/pricing.ts";
import { createWorld } from "../helpers.ts";
import { readAll, refused, taken } from "./management.ts";

const test = suite("prices");

const price = { model: "gpt-4o", input: "2.5", output: "10" };

test("a price is set for a provider, a pattern and a time, and setting it again changes it", async () => {
  const world = await createWorld();
  const first = taken<Price>(await world.manage("POST", "/prices", price));
  const { id: _, ...members } = first;
  assert.equal(members, { ...price, provider: "*", cachedInput: null, validFrom: 0, createdAt: world.now });
  assert.equal(taken(await world.manage("POST", "/prices", price)), first);
  const cheaper = { ...first, input: "2" };
  assert.equal(taken(await world.manage("POST", "/prices", { ...price, input: "2" })), cheaper);
  const later = taken<Price>(await world.manage("POST", "/prices", { ...price, validFrom: 5 }));
  assert.equal(await readAll(world, "/prices"), [later, cheaper].sort((a, b) => a.id < b.id ? 1 : -1));
  assert.equal(taken(await world.manage("DELETE", `/prices/${first.id}`)), cheaper);
  refused(await world.manage("DELETE", `/prices/${first.id}`), 404, `Price ${first.id} not found`);
  const actions = (await readAll<{ action: string }>(world, "/audit")).map(({ action }) => action).slice(0, 4);
  assert.equal(actions, ["price.removed", "price.set", "price.set", "price.set"]);
});

test("a price is a decimal text, not a number", async () => {
  const world = await createWorld();
  const usd = "a decimal text of USD such as 0.15, below 1000000 and with at most 9 decimals";
  for (const input of [2.5, "-1", "1e3", "1000000", "0.0000000001", "01", ".5", ""]) {
    refused(await world.manage("POST", "/prices", { ...price, input }), 400, `Field input must be ${usd}`);
  }
});

const ratesOf = (
  prices: Partial<Parameters<typeof createPricing>[0][number]>[],
  model: string,
  provider = "",
  at = 10,
) =>
  createPricing(prices.map((each) => ({
    ...{ provider: "*", model: "*", input: "1", cachedInput: null, output: "1", from: 0 },
    ...each,
  })))({ model, provider })(at)?.input;

const rates: [
  name: string,
  prices: Parameters<typeof ratesOf>[0],
  model: string,
  provider: string,
  input: number | undefined,
][] = [
  ["the whole name wins", [{ model: "gpt*", input: "2" }, { model: "GPT-4o", input: "3" }], "gpt-4o", "", 3],
  ["the longer pattern wins", [{ model: "gpt*", input: "2" }, { model: "gpt-4*", input: "3" }], "gpt-4o", "", 3],
  ["the named provider wins", [{ input: "2" }, { provider: "OpenAI", input: "3" }], "x", "openai", 3],
  ["another provider has no price", [{ provider: "azure" }], "x", "openai", undefined],
  ["a later price has not begun", [{ input: "2" }, { from: 11, input: "3" }], "x", "", 2],
  ["a price begins at its time", [{ input: "2" }, { from: 10, input: "3" }], "x", "", 3],
  ["before the first price there is none", [{ from: 11 }], "x", "", undefined],
  [
    "providers that differ leave it open",
    [{ provider: "a", input: "2" }, { provider: "b", input: "3" }],
    "x",
    "",
    undefined,
  ],
  ["providers that agree do not", [{ provider: "a", input: "2" }, { provider: "b", input: "2" }], "x", "", 2],
  ["a dot is no pattern", [{ model: "gpt.4" }], "gpt-4", "", undefined],
  ["a record without a model has none", [{ model: "*" }], "", "", undefined],
];

for (const [name, prices, model, provider, input] of rates) {
  test(`${name}`, () => assert.is(ratesOf(prices, model, provider), input));
}

test("a pattern fits the names that a regular expression with .* for each star fits", () => {
  const text = (...letters: string[]) =>
    fc.array(fc.constantFrom(...letters), { maxLength: 7 }).map((all) => all.join(""));
  const patterns = fc.array(text("a", "B", ".", "*", "\n").filter((pattern) => pattern !== ""), { maxLength: 4 });
  fc.assert(
    fc.property(patterns, text("A", "b", ".", "\n"), (patterns, name) => {
      const fitting = patterns.map((pattern) =>
        new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll("*", ".*")}$`, "is").test(name)
      );
      // Each has a rate of its own, and only one of them has begun.
      for (const nth of patterns.keys()) {
        const prices = patterns.map((model, index) => ({ model, input: `${index}`, from: index === nth ? 0 : 11 }));
        assert.is(
          ratesOf(prices, name),
          name !== "" && fitting[nth] ? nth : undefined,
          JSON.stringify([patterns, name]),
        );
      }
    }),
    { numRuns: 2_000 },
  );
});

test("a pattern with many stars is compared with a name in a few steps", () => {
  const name = "a".repeat(200);
  assert.is(ratesOf([{ model: `${"*a".repeat(49)}b` }], name), undefined);
  assert.is(ratesOf([{ model: "*a".repeat(50) }], name), 1);
});

test("the rates of many models are found again, also of those that were found long ago", () => {
  const pricing = createPricing(["x*", "*y"].map((model, nth) => ({
    ...{ provider: "*", model, input: String(nth + 1), cachedInput: null, output: "1", from: 0 },
  })));
  for (let nth = 0; nth < 3_000; nth++) assert.is(pricing({ model: `x${nth}`, provider: "" })(5)?.input, 1);
  assert.is(pricing({ model: "x0", provider: "" })(5)?.input, 1);
  assert.is(pricing({ model: "0y", provider: "" })(5)?.input, 2);
});

test("decimal texts are read and written without loss", () => {
  for (const text of ["0", "0.1", "123456789.000000000000000000000000000001", "1"]) {
    assert.is(decimalText(readAmount(text)!), text);
  }
  assert.equal([readAmount("1e-31"), readAmount("1e-30"), readAmount("x")], [undefined, 1n, undefined]);
  assert.is(decimalText(readAmount("-1") ?? -(10n ** 30n)), "-1");
});

test("the JSON of genai-prices gives one price for each name and date, and leaves out what depends on the request", () => {
  const prices = { input_mtok: 2.5, cache_read_mtok: 1.25, output_mtok: 10 };
  const file = [{
    id: "openai",
    models: [
      { match: { or: [{ equals: "gpt-4o" }, { starts_with: "gpt-4o-" }] }, prices },
      {
        match: { contains: "mini" },
        prices: [{ prices: { input_mtok: 0.15, output_mtok: 0.6 } }, {
          constraint: { type: "start_date", start_date: "2026-01-02" },
          prices: { input_mtok: 1e-7, output_mtok: 0.5 },
        }],
      },
      { match: { equals: "tiers" }, prices: { ...prices, input_mtok: { base: 1, tiers: [{ start: 1, price: 2 }] } } },
      { match: { regex: "^x$" }, prices },
      { match: { equals: "night" }, prices: [{ constraint: { start_time: "00:30:00Z" }, prices }] },
      { match: { equals: "free" }, prices: {} },
    ],
  }];
  const known = { provider: "openai", input: "2.5", cachedInput: "1.25", output: "10", validFrom: 7 };
  const mini = { provider: "openai", model: "*mini*", cachedInput: null };
  assert.equal(readPriceFile(JSON.stringify(file), 7), {
    prices: [
      { ...known, model: "gpt-4o" },
      { ...known, model: "gpt-4o-*" },
      { ...mini, input: "0.15", output: "0.6", validFrom: 7 },
      { ...mini, input: "0.0000001", output: "0.5", validFrom: Date.parse("2026-01-02") },
    ],
    skipped: [
      "with tiers, or prices that change during the day",
      "with a name that * cannot match",
      "with tiers, or prices that change during the day",
      "without a price of input and output",
    ],
  });
});

test("a model whose requests cost more than their tokens at the price of text is left out", () => {
  const text = { input_mtok: 2.5, output_mtok: 10 };
  const skipped = (prices: object) => {
    const models = [{ match: { equals: "plain" }, prices: text }, { match: { equals: "other" }, prices }];
    return readPriceFile(JSON.stringify([{ id: "x", models }]), 0).skipped;
  };
  const dearer = ["with fees, or other prices for audio, images or reasoning"];
  assert.equal(skipped({ ...text, requests_kcount: 12 }), dearer);
  assert.equal(skipped({ ...text, input_audio_mtok: 40 }), dearer);
  assert.equal(skipped({ ...text, output_audio_mtok: 80 }), dearer);
  assert.equal(skipped({ input_audio_mtok: 40, output_mtok: 10 }), ["without a price of input and output"]);
  assert.equal(skipped({ ...text, input_audio_mtok: 2.5, cache_audio_read_mtok: 2.5, output_audio_mtok: 10 }), []);
  assert.equal(skipped({ ...text, requests_kcount: 0, cache_write_mtok: 3.75 }), []);
});

test("the JSON of models.dev gives a price for each model with a plain one", () => {
  const file = {
    anthropic: {
      id: "anthropic",
      models: {
        "claude-x": { id: "claude-x", cost: { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 } },
        "claude-long": {
          id: "claude-long",
          cost: { input: 3, output: 15, context_over_200k: { input: 6, output: 22.5 } },
        },
        open: { id: "open" },
        thinker: { id: "thinker", cost: { input: 3, output: 15, reasoning: 20 } },
        speaker: { id: "speaker", cost: { input: 3, output: 15, input_audio: 30 } },
      },
    },
  };
  const known = {
    provider: "anthropic",
    model: "claude-x",
    input: "3",
    cachedInput: "0.3",
    output: "15",
    validFrom: 0,
  };
  assert.equal(readPriceFile(JSON.stringify(file), 0), {
    prices: [known],
    skipped: [
      "with tiers, or prices that change during the day",
      "without a price of input and output",
      "with fees, or other prices for audio, images or reasoning",
      "with fees, or other prices for audio, images or reasoning",
    ],
  });
  for (const text of ["{", "[]", "{}", '"x"']) {
    assert.throws(() => readPriceFile(text, 0), (error: Error) => error.message.startsWith("FILE "));
  }
});

test.run();
