// Prices of models, and what records cost by them.
// Runs on Node alone.
import { suite } from "../suite.ts";
import fc from "fast-check";
import * as assert from "uvu/assert";
import { decimalText, readAmount } from "../../src/support/decimal.ts";
import type { Price } from "../../src/management/prompts/prices.ts";
import { createPricing } from "../../src/statistics/pricing.ts";
import type { Price as PriceOfModel } from "../../src/statistics/rates.ts";
import { createWorld } from "../helpers.ts";
import { readAll, refused, taken } from "./management.ts";

const test = suite("prices");

const price = { model: "gpt-4o", input: "2.5", output: "10" };

test("a price is set for a provider, a pattern and a time, and setting it again changes it", async () => {
  const world = await createWorld();
  const first = taken<Price>(await world.manage("POST", "/prices", price));
  const { id: _, ...members } = first;
  const defaults = { provider: "*", cachedInput: null, cacheWrite: null, cacheWriteHour: null, tiers: [] };
  assert.equal(members, { ...price, ...defaults, unpricedMedia: [], validFrom: 0, createdAt: world.now });
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

const anyPrice: PriceOfModel = {
  ...{ provider: "*", model: "*", input: "1", cachedInput: null, cacheWrite: null, cacheWriteHour: null, output: "1" },
  ...{ tiers: [], unpricedMedia: [], from: 0 },
};

const ratesOf = (
  prices: Partial<PriceOfModel>[],
  model: string,
  provider = "",
  at = 10,
) => createPricing(prices.map((each) => ({ ...anyPrice, ...each })))({ model, provider })(at)?.input;

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
  ["a # is a digit", [{ model: "m-####" }], "m-2026", "", 1],
  ["a # is no letter", [{ model: "m-####" }], "m-beta", "", undefined],
  ["a # is one digit", [{ model: "m-#" }], "m-12", "", undefined],
  ["a # before a star", [{ model: "*m-#*" }], "x/m-12", "", 1],
  ["a date without dashes is that with dashes", [{ model: "m-####-##-##" }], "m-20261101", "", 1],
  ["another name of a provider", [{ provider: "x-ai", input: "3" }], "x", "xai", 3],
  ["a provider as AI SDK names it", [{ provider: "openai", input: "3" }], "x", "openai.responses", 3],
  ["a provider as OpenTelemetry names it", [{ provider: "aws", input: "3" }], "x", "aws.bedrock", 3],
  [
    "a provider by its own name wins over another one",
    [{ provider: "bedrock", input: "2" }, { provider: "aws", input: "3" }],
    "x",
    "Bedrock",
    2,
  ],
  [
    "without a provider, the maker of a model wins",
    [{ provider: "anthropic", input: "2" }, { provider: "aws", input: "3" }, { provider: "*", input: "4" }],
    "claude-x",
    "",
    2,
  ],
  [
    "without a price of the maker, all providers count",
    [{ provider: "a", input: "2" }, { provider: "b", input: "2" }],
    "claude-x",
    "",
    2,
  ],
];

for (const [name, prices, model, provider, input] of rates) {
  test(`${name}`, () => assert.is(ratesOf(prices, model, provider), input));
}

test("a record of an unknown provider has the prices of its version's provider, if that one has any", () => {
  const prices = ["openai", "azure", "groq"].map((provider, nth) => ({
    ...anyPrice,
    ...{ provider, model: provider === "groq" ? "llama-*" : "gpt-*", input: `${nth + 1}` },
  }));
  const pricing = createPricing(prices);
  const inputOf = (model: string, versionProvider: string, provider = "") =>
    pricing({ model, provider, versionProvider })(0)?.input;
  assert.is(inputOf("gpt-6", "azure"), 2);
  assert.is(inputOf("gpt-6", ""), 1);
  assert.is(inputOf("gpt-6", "groq"), 1);
  assert.is(inputOf("llama-9", "openai"), 3);
  assert.is(inputOf("gpt-6", "azure", "openai"), 1);
  assert.is(inputOf("gpt-6", "azure", "groq"), undefined);
});

test("a pattern fits the names that a regular expression with .* for each star and a digit for each # fits", () => {
  const text = (...letters: string[]) =>
    fc.array(fc.constantFrom(...letters), { maxLength: 7 }).map((all) => all.join(""));
  const patterns = fc.array(text("a", "B", ".", "*", "#", "1", "\n").filter((pattern) => pattern !== ""), {
    maxLength: 4,
  });
  fc.assert(
    fc.property(patterns, text("A", "b", ".", "1", "2", "\n"), (patterns, name) => {
      const fitting = patterns.map((pattern) =>
        new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll("*", ".*").replaceAll("#", "\\d")}$`, "is").test(name)
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
  const pricing = createPricing(["x*", "*y"].map((model, nth) => ({ ...anyPrice, model, input: String(nth + 1) })));
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

test.run();
