// Prices from other projects' files, whole and by the command. Those of @pydantic/genai-prices are compared with what that
// package computes itself.
// Runs on Node alone.
import { writeFile } from "node:fs/promises";
import { calcPrice, findProvider } from "@pydantic/genai-prices";
import type { MatchLogic, Provider } from "@pydantic/genai-prices";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { readPriceFile } from "../../src/cli/nouns/price-files.ts";
import { decimalText } from "../../src/support/decimal.ts";
import { createPricing } from "../../src/statistics/pricing.ts";
import { amountOf, costAt } from "../../src/statistics/rates.ts";
import { createFolder } from "../conformance/processes.ts";
import { openPlaces, words } from "./places.ts";

const test = suite("files of prices");

const providers = ["openai", "anthropic", "google", "azure", "x-ai", "deepseek", "moonshotai", "openrouter"].map((id) =>
  findProvider({ providerId: id })!
);
const genaiPrices = JSON.stringify(providers);

/** Names that a match fits, and some that are close to them. */
function namesOf(match: MatchLogic): string[] {
  const [[kind, value] = []] = Object.entries(match) as [string, string | MatchLogic[]][];
  if (typeof value !== "string") return (value ?? []).flatMap(namesOf);
  if (kind === "equals") return [value, `${value}-2026-11-01`, `${value}-20261101`, `${value}-pro`];
  if (kind === "starts_with") return [value, `${value}-20261101`, `${value}-latest`];
  if (kind === "ends_with") return [value, `x/${value}`];
  if (kind === "contains") return [value, `us.${value}-v1:0`, `${value}@20261101`];
  const sample = value.replace(/^\^|\$$/g, "").replace("\\d{4}-\\d{2}-\\d{2}", "2026-11-01").replace(
    "\\d{8}",
    "20261101",
  );
  return sample.includes("(?!") ? [] : [sample.replace(/\\d/g, "7").replace(/\\/g, "")];
}

/** Google's names of models that speak. Those without a price of their own have that of the model of text here. */
const isSpeech = (model: string) => /-tts/.test(model);

const usages = [
  { input: 1_000, cached: 0, written: 0, writtenHour: 0, output: 500 },
  { input: 128_000, cached: 100_000, written: 0, writtenHour: 0, output: 1 },
  { input: 300_000, cached: 100_000, written: 50_000, writtenHour: 0, output: 500 },
  { input: 272_000, cached: 0, written: 50_000, writtenHour: 20_000, output: 500 },
];
const times = ["2026-11-27T12:00Z", "2026-11-27T02:30Z", "2026-11-27T09:59Z", "2027-01-01T00:00Z", "2025-03-01T12:00Z"];

/** The price of tokens by the package itself. Undefined if it has none. */
function priceOf(
  provider: Provider,
  model: string,
  { input, cached, written, writtenHour, output }: typeof usages[0],
  at: number,
) {
  const usage = {
    ...{ input_tokens: input, cache_read_tokens: cached, cache_write_tokens: written, output_tokens: output },
    cache_write_1h_tokens: writtenHour,
  };
  const price = calcPrice(usage, model, { providerId: provider.id, timestamp: new Date(at) });
  const isOfTokens = price === null || Object.keys(price.model_price).some((name) => /^(in|out)put_mtok$/.test(name)) ||
    Object.keys(price.model_price).length === 0;
  return price !== null && isOfTokens ? price.input_price + price.output_price : undefined;
}

test("each model of text costs what @pydantic/genai-prices computes, whatever it is called, by tier and by time", () => {
  const { prices } = readPriceFile(genaiPrices, 0);
  const pricing = createPricing(prices.map(({ validFrom: from, ...price }) => ({ ...price, from })));
  let compared = 0;
  for (const provider of providers) {
    const ids = [provider.id, ...provider.fallback_model_providers ?? []];
    const models = providers.filter(({ id }) => ids.includes(id)).flatMap(({ models }) => models);
    const names = new Set(models.flatMap(({ id, match }) => [id, ...namesOf(match)]).filter((name) => !isSpeech(name)));
    for (const model of names) {
      for (const at of times.map(Date.parse)) {
        const rates = pricing({ model, provider: provider.id })(at);
        for (const tokens of usages) {
          const cost = rates && costAt(rates, { ...tokens, media: 0 }, at);
          const actual = cost && Number(decimalText(amountOf(cost)));
          const expected = priceOf(provider, model, tokens, at);
          const isSame = actual === expected || Math.abs(actual! - expected!) <= 1e-8 * expected!;
          const isLeftOut = actual === undefined && /sonar-deep-research/.test(model);
          assert.ok(
            isSame || isLeftOut,
            `${provider.id} ${model} at ${new Date(at).toISOString()}: ${actual}, not ${expected}`,
          );
          compared++;
        }
      }
    }
  }
  assert.ok(compared > 30_000, `${compared} compared`);
});

const openai = { provider: "openai", unpricedMedia: [], tiers: [], cacheWrite: null, cacheWriteHour: null };

test("a file of genai-prices gives one price for each name and date, and each part of its names", () => {
  const prices = { input_mtok: 2.5, cache_read_mtok: 1.25, output_mtok: 10 };
  const file = [{
    id: "openai",
    models: [
      { match: { or: [{ equals: "gpt-x" }, { starts_with: "gpt-x-" }, { regex: "^x\\.y-\\d{4}-\\d{2}$" }] }, prices },
      {
        match: { contains: "mini" },
        prices: [{ prices: { input_mtok: 0.15, output_mtok: 0.6 } }, {
          constraint: { start_date: "2026-01-02" },
          prices: { input_mtok: 1e-7, output_mtok: 0.5 },
        }],
      },
      { match: { or: [{ equals: "later-mini" }, { regex: "^(a|b)$" }] }, prices },
      { match: { regex: "^(a|b)$" }, prices },
      { match: { equals: "free" }, prices: {} },
      { match: { equals: "pages" }, prices: { input_document_kpages: 2 } },
    ],
  }];
  const known = { ...openai, input: "2.5", cachedInput: "1.25", output: "10", validFrom: 7 };
  const mini = { ...openai, model: "*mini*", cachedInput: null };
  assert.equal(readPriceFile(JSON.stringify(file), 7), {
    prices: [
      { ...known, model: "gpt-x" },
      { ...known, model: "gpt-x-*" },
      { ...known, model: "x.y-####-##" },
      { ...mini, input: "0.15", output: "0.6", validFrom: 7 },
      { ...mini, input: "0.0000001", output: "0.5", validFrom: Date.parse("2026-01-02") },
      { ...openai, model: "free", input: "0", cachedInput: null, output: "0", validFrom: 7 },
    ],
    // The first model that matches counts there, so that later-mini has no price of its own.
    skipped: ["with a name that * and # cannot match", "without a price of tokens"],
    ...{ withFees: 0, withMedia: 0 },
  });
});

test("tiers and hours become tiers, of which the last one that holds counts", () => {
  const tiers = [{ start: 200_000, price: 6 }];
  const file = [{
    id: "x",
    models: [{
      match: { equals: "m" },
      prices: [
        { prices: { input_mtok: { base: 3, tiers }, cache_write_mtok: 3.75, cache_write_1h_mtok: 6, output_mtok: 15 } },
        { constraint: { start_date: "2026-08-17" }, prices: { input_mtok: 2, output_mtok: 9 } },
        { constraint: { start_time: "23:00:00Z", end_time: "01:30:00Z" }, prices: { input_mtok: 1, output_mtok: 4 } },
      ],
    }],
  }];
  const empty = { cachedInput: null, cacheWrite: null, cacheWriteHour: null };
  const atNight = { ...empty, above: null, hours: "23:00-01:30", input: "1", output: "4" };
  const written = { ...empty, cacheWrite: "3.75", cacheWriteHour: "6", output: "15" };
  assert.equal(readPriceFile(JSON.stringify(file), 0).prices, [
    {
      ...{ provider: "x", model: "m", ...written, input: "3", unpricedMedia: [], validFrom: 0 },
      tiers: [{ above: 200_000, hours: null, ...written, input: "6" }, atNight],
    },
    {
      ...{ provider: "x", model: "m", ...empty, input: "2", output: "9", unpricedMedia: [] },
      ...{ tiers: [atNight], validFrom: Date.parse("2026-08-17") },
    },
  ]);
});

test("a provider that sells the models of another has their prices too, but for names of its own", () => {
  const price = (input_mtok: number) => ({ input_mtok, output_mtok: 1 });
  const file = [
    { id: "a", models: [{ match: { contains: "o4-mini" }, prices: price(7) }], fallback_model_providers: ["b"] },
    { id: "b", models: ["o4-mini-1", "other"].map((equals, nth) => ({ match: { equals }, prices: price(nth) })) },
  ];
  assert.equal(
    readPriceFile(JSON.stringify(file), 0).prices.map(({ provider, model, input }) => `${provider} ${model} ${input}`),
    ["a *o4-mini* 7", "a other 1", "b o4-mini-1 0", "b other 1"],
  );
});

test("what a price cannot say is left out and counted", () => {
  const text = { input_mtok: 2.5, output_mtok: 10 };
  const read = (prices: object) => {
    const models = [{ match: { equals: "plain" }, prices: text }, { match: { equals: "other" }, prices }];
    const { prices: [, ...others], skipped, withFees, withMedia } = readPriceFile(
      JSON.stringify([{ id: "x", models }]),
      0,
    );
    return { skipped, withFees, withMedia, unpriced: others.map(({ unpricedMedia }) => unpricedMedia) };
  };
  const left = (reason: string) => ({ skipped: [reason], withFees: 0, withMedia: 0, unpriced: [] });
  assert.equal(read({ ...text, requests_kcount: 12 }), left("with a fee for each request"));
  assert.equal(read({ ...text, output_reasoning_mtok: 3 }), left("with another price of reasoning or citations"));
  assert.equal(read({ ...text, moon_mtok: 3 }), left("with a price of an unknown kind"));
  assert.equal(read({ ...text, input_mtok: "3" }), left("with a price of an unknown kind"));
  const taken = { skipped: [], withFees: 0, withMedia: 0, unpriced: [[]] };
  assert.equal(read({ ...text, requests_kcount: 0, output_reasoning_mtok: 10, cache_write_mtok: 3.75 }), taken);
  assert.equal(read({ ...text, web_searches_kcount: 10 }), { ...taken, withFees: 1 });
  assert.equal(read({ ...text, input_audio_mtok: 2.5, cache_audio_read_mtok: 2.5, output_audio_mtok: 10 }), taken);
  const audio = { ...taken, withMedia: 1, unpriced: [["audio"]] };
  for (const other of ["input_audio_mtok", "cache_audio_read_mtok", "output_audio_mtok"]) {
    assert.equal(read({ ...text, [other]: 40 }), audio);
  }
  assert.equal(read({ ...text, output_image_mtok: 30, input_video_mtok: 3 }).unpriced, [["image", "video"]]);
});

test("a file of models.dev gives a price for each model with a cost", () => {
  const file = {
    anthropic: {
      id: "anthropic",
      models: {
        "claude-x": { id: "claude-x", cost: { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 } },
        "claude-long": {
          id: "claude-long",
          cost: { input: 3, output: 15, cache_read: 0.3, context_over_200k: { input: 6, output: 22.5 } },
        },
        tiered: {
          id: "tiered",
          cost: { input: 3, output: 15, tiers: [{ tier: { type: "context", size: 272_000 }, input: 6, output: 22.5 }] },
        },
        open: { id: "open" },
        thinker: { id: "thinker", cost: { input: 3, output: 15, reasoning: 20 } },
        speaker: { id: "speaker", cost: { input: 3, output: 15, input_audio: 30 } },
      },
    },
  };
  const { prices, skipped } = readPriceFile(JSON.stringify(file), 0);
  const known = {
    ...{ provider: "anthropic", input: "3", cachedInput: null, cacheWrite: null, cacheWriteHour: null, output: "15" },
    ...{ tiers: [], unpricedMedia: [], validFrom: 0 },
  };
  const long = { ...known, hours: null, input: "6", output: "22.5" };
  const tierOf = (above: number, cachedInput: string | null) => {
    const { provider: _p, tiers: _t, unpricedMedia: _u, validFrom: _v, ...tier } = { above, ...long, cachedInput };
    return tier;
  };
  assert.equal(prices, [
    { ...known, model: "claude-x", cachedInput: "0.3", cacheWrite: "3.75" },
    { ...known, model: "claude-long", cachedInput: "0.3", tiers: [tierOf(200_000, "0.3")] },
    { ...known, model: "tiered", tiers: [tierOf(272_000, null)] },
    { ...known, model: "speaker", unpricedMedia: ["audio"] },
  ]);
  assert.equal(skipped, ["without a price of tokens", "with another price of reasoning or citations"]);
  for (const text of ["{", "[]", "{}", '"x"']) {
    assert.throws(() => readPriceFile(text, 0), (error: Error) => error.message.startsWith("FILE "));
  }
});

const { everywhere } = await openPlaces(test);
type Sum = { set: number; unchanged: number; skipped: number };

everywhere("imports a file once, and the same file again sets nothing", async ({ cli, data, setUp }) => {
  await setUp();
  const folder = await createFolder();
  const file = `${folder.path}/prices.json`;
  const write = (input: number) => {
    const dated = [
      { prices: { input_mtok: input, output_mtok: 4, web_searches_kcount: 10 } },
      {
        constraint: { start_date: "2026-03-01" },
        prices: { input_mtok: { base: 2, tiers: [{ start: 9, price: 3 }] }, output_mtok: 5 },
      },
      { constraint: { start_date: "2999-01-01" }, prices: { input_mtok: 9, output_mtok: 9 } },
    ];
    const models = [
      { match: { or: [{ equals: "a" }, { starts_with: "a-" }] }, prices: dated },
      { match: { equals: "b" }, prices: { input_mtok: input, output_mtok: 4, output_audio_mtok: 8 } },
      { match: { equals: "c" }, prices: { input_mtok: 1, output_mtok: 4, requests_kcount: 3 } },
    ];
    return writeFile(
      file,
      JSON.stringify([{ id: "x", models }, { id: "y", models: [{ match: { equals: "d" }, prices: {} }] }]),
    );
  };
  const add = async () => await data<Sum>(words`price import ${file} --provider X`);
  try {
    await write(1);
    const first = await cli(words`price import ${file} --provider X`);
    assert.is(
      first.said.split("\n").filter((line) => !line.startsWith("Set ")).join("\n"),
      "Skipped 1 model: 1 with a fee for each request\n" +
        "Left out the fees of tools, such as web searches, of 1 model\n" +
        "Left out other prices of audio, images and video of 1 model: records with such tokens have no cost\n",
    );
    assert.equal(await add(), { set: 0, unchanged: 7, skipped: 1 });
    // A price of the past that is another now changes nothing, and one of today begins today.
    await write(1.5);
    assert.equal(await add(), { set: 1, unchanged: 6, skipped: 1 });
    assert.equal(await add(), { set: 0, unchanged: 7, skipped: 1 });
    const prices = await data<{ model: string; input: string; validFrom: number }[]>(words`price list`);
    const today = Math.floor(Date.now() / 86_400_000) * 86_400_000;
    assert.equal(
      prices.filter(({ model }) => model === "b").map(({ input, validFrom }) => [input, validFrom]).sort(),
      [["1", 0], ["1.5", today]],
    );
  } finally {
    await folder.remove();
  }
});

everywhere("a price has cache writes, tiers and media that it is not for", async ({ cli, data, setUp }) => {
  await setUp();
  const set = ["price", "set", "--model", "own", ...words`--input 2 --output 10 --cached-input 0.2 --cache-write 2.5`];
  const tiers = [
    "--tier",
    "above=200000 input=4 output=15",
    "--tier",
    "hours=01:00-04:00 input=1 cache-write-hour=2 output=5",
  ];
  const price = await data<Record<string, unknown>>([
    ...set,
    ...tiers,
    ...words`--cache-write-hour 4 --unpriced-media image --unpriced-media audio`,
  ]);
  const none = { cachedInput: null, cacheWrite: null, cacheWriteHour: null };
  assert.equal([price.cacheWrite, price.cacheWriteHour, price.unpricedMedia], ["2.5", "4", ["audio", "image"]]);
  assert.equal(price.tiers, [
    { above: 200_000, hours: null, ...none, input: "4", output: "15" },
    { above: null, hours: "01:00-04:00", ...none, input: "1", cacheWriteHour: "2", output: "5" },
  ]);
  assert.match((await cli(words`price list`)).out, "above=200000 input=4 output=15, hours=01:00-04:00 input=1");
  const refused = async (...more: string[]) => {
    const { code, said } = await cli([...set, ...more]);
    return [code, said.split("\n")[0]];
  };
  assert.equal(await refused("--tier", "input=4 output=15"), [
    1,
    "promptledger: --tier must be an array of at most 10 tiers, each with above or hours",
  ]);
  assert.equal(
    (await refused("--tier", "above=9 price=4"))[1],
    "promptledger: Unknown price in a tier. Allowed: above, " +
      "hours, input, cached-input, cache-write, cache-write-hour, output, each with = and a value",
  );
  assert.is((await refused("--tier", "much"))[0], 2);
  assert.is((await refused("--unpriced-media", "smell"))[0], 2);
});

test.run();
