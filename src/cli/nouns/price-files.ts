// Reads prices from other projects' files: the JSON of @pydantic/genai-prices, and that of models.dev. Prices that ours
// cannot express are left out and reported, so that nothing is priced wrongly.
import { invalid } from "../../common/errors.ts";
import { media } from "../../statistics/rates.ts";
import type { Medium } from "../../statistics/rates.ts";
import { termsOf } from "../../management/prompts/prices.ts";
import type { GivenTier, PriceTerms } from "../../management/prompts/prices.ts";
import { isObject } from "../../schema/struct.ts";
import { isCount } from "../../schema/values.ts";
import { modelPatternsOf } from "./price-patterns.ts";

/** Reason for omitting a model. */
type Gap =
  | "without a price of tokens"
  | "with a fee for each request"
  | "with another price of reasoning or citations"
  | "with a price of an unknown kind"
  | "with a name that * and # cannot match";

/**
 * The prices of a file, and the omissions: models with reasons, the number of models with fees of tools, which records
 * do not report, and the number with prices of audio, images and video.
 */
export type PriceFile = { prices: PriceTerms[]; skipped: Gap[]; withFees: number; withMedia: number };

type Json = Record<string, unknown>;

/**
 * Reads the text of a file. `validFrom` is the start of prices without a date, and `only` one provider in lower case.
 */
export function readPriceFile(text: string, validFrom: number, only?: string): PriceFile {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw invalid("FILE must be JSON");
  }
  const models = Array.isArray(json) ? modelsOfGenai(json) : isObject(json) ? modelsOfModelsDev(json) : [];
  const file: PriceFile = { prices: [], skipped: [], withFees: 0, withMedia: 0 };
  for (const model of models.filter(({ provider }) => only === undefined || provider.toLowerCase() === only)) {
    const read = model.patterns && readModel(model, validFrom);
    if (read === undefined) file.skipped.push("with a name that * and # cannot match");
    else if (typeof read === "string") file.skipped.push(read);
    else {
      file.prices.push(...read);
      if (model.prices.some(({ prices }) => Object.keys(prices).some(isFee))) file.withFees++;
      if (read.some(({ unpricedMedia }) => unpricedMedia.length > 0)) file.withMedia++;
    }
  }
  if (models.length === 0) {
    throw invalid("FILE has no prices: it must be the JSON of @pydantic/genai-prices or of models.dev");
  }
  return file;
}

/** A model of a file, with all its prices in the order of the file. The last one that holds counts. */
type Model = { provider: string; patterns: string[] | undefined; prices: { constraint?: unknown; prices: Json }[] };

const listOf = (holder: unknown, name: string): unknown[] =>
  isObject(holder) && Array.isArray(holder[name]) ? holder[name] : [];
const textOf = (holder: unknown, name: string): string =>
  isObject(holder) && typeof holder[name] === "string" ? holder[name] : "";
const objectOf = (holder: unknown, name: string): Json =>
  isObject(holder) && isObject(holder[name]) ? holder[name] : {};

/** The models of each provider, and those of other providers that it sells too. */
function modelsOfGenai(providers: unknown[]): Model[] {
  return providers.flatMap((provider) => {
    const others = listOf(provider, "fallback_model_providers").flatMap((id) =>
      listOf(providers.find((other) => textOf(other, "id") === id), "models")
    );
    const own = listOf(provider, "models"), id = textOf(provider, "id");
    const patterns = modelPatternsOf([...own, ...others].map((model) => objectOf(model, "match")));
    // A model of another provider with names that the provider has itself is not its own.
    return [...own, ...others].map((model, nth) => ({
      provider: id,
      patterns: patterns[nth],
      prices: isObject(model) && Array.isArray(model.prices)
        ? model.prices.map((each) => ({
          constraint: isObject(each) ? each.constraint : undefined,
          prices: objectOf(each, "prices"),
        }))
        : [{ prices: objectOf(model, "prices") }],
    })).filter(({ patterns }, nth) => nth < own.length || patterns !== undefined && patterns.length > 0);
  });
}

/** The names of models.dev for prices that @pydantic/genai-prices has too. */
const modelsDevNames: Record<string, string> = {
  input: "input_mtok",
  output: "output_mtok",
  cache_read: "cache_read_mtok",
  cache_write: "cache_write_mtok",
  reasoning: "output_reasoning_mtok",
  input_audio: "input_audio_mtok",
  output_audio: "output_audio_mtok",
};

function modelsOfModelsDev(json: Json): Model[] {
  const providers = isObject(json.providers) ? json.providers : json;
  return Object.entries(providers).flatMap(([provider, value]) =>
    Object.entries(objectOf(value, "models")).map(([model, value]) => ({
      provider,
      patterns: model === "" || model.length > 100 || /[*#]/.test(model) ? undefined : [model],
      // Without a cost, the price is unknown there. With one that is empty, a model would be free.
      prices: [{
        prices: isObject(value) && isObject(value.cost) ? toGenaiPrices(value.cost) : { unknown_hours: null },
      }],
    }))
  );
}

/** The cost of a model in models.dev, under the names of @pydantic/genai-prices. */
function toGenaiPrices({ tiers, context_over_200k, ...cost }: Json): Json {
  const ofContext = Array.isArray(tiers)
    ? tiers.map((each) => ({ start: objectOf(each, "tier").size, prices: isObject(each) ? each : {} }))
    : isObject(context_over_200k)
    ? [{ start: 200_000, prices: context_over_200k }]
    : [];
  return Object.fromEntries(
    Object.entries(cost).map(([name, base]) => {
      const own = ofContext.map(({ start, prices }) => ({ start, price: prices[name] ?? base }));
      return [modelsDevNames[name] ?? name, own.length === 0 ? base : { base, tiers: own }];
    }),
  );
}

/** Period of prices: from a date on in Unix ms, or at some hours. Undefined if it is neither. */
function readConstraint(constraint: unknown): { from?: number; hours?: string } | undefined {
  if (constraint === undefined || constraint === null) return {};
  const from = Date.parse(textOf(constraint, "start_date"));
  if (from >= 0) return { from };
  const [start, end] = ["start_time", "end_time"].map((name) =>
    /^(\d\d:\d\d):00Z$/.exec(textOf(constraint, name))?.[1]
  );
  return start !== undefined && end !== undefined ? { hours: `${start}-${end}` } : undefined;
}

/** The prices of a model: one for each of its names and each date. */
function readModel({ provider, patterns, prices }: Model, validFrom: number): PriceTerms[] | Gap {
  const dated: { from: number; terms: Terms }[] = [];
  const all = prices.map(({ constraint, prices }) => ({ ...readConstraint(constraint), terms: readPrices(prices) }));
  if (prices.some(({ constraint }) => readConstraint(constraint) === undefined)) {
    return "with a price of an unknown kind";
  }
  const dates = new Set([validFrom, ...all.flatMap(({ from }) => from ?? [])]);
  for (const date of [...dates].sort((a, b) => a - b)) {
    const begun = all.filter(({ from = validFrom }) => from <= date);
    const [base = all[0]!, ...daily] = begun.slice(
      Math.max(0, begun.findLastIndex(({ hours }) => hours === undefined)),
    );
    const [terms, ...others] = [base, ...daily].map(({ terms }) => terms);
    if (typeof terms === "string") return terms;
    const tiers = [...terms!.tiers];
    for (const [nth, each] of others.entries()) {
      if (typeof each === "string") return each;
      const { tiers: above, unpricedMedia: _, ...atHours } = each, { hours } = daily[nth]!;
      tiers.push(...[{ ...atHours }, ...above].map((tier) => ({ ...tier, hours })));
    }
    dated.push({ from: date, terms: { ...terms!, tiers } });
  }
  return patterns!.flatMap((model) =>
    dated.map(({ from, terms }) => termsOf({ provider, model, ...terms, validFrom: from }))
  );
}

type Terms = Omit<GivenTier, "above" | "hours"> & { tiers: GivenTier[]; unpricedMedia: Medium[] };

const isSet = (value: unknown) => value !== undefined && value !== null;
const isFee = (name: string) => /_(kcount|hours|kpages)$/.test(name) && name !== "requests_kcount";

const textNames = ["input_mtok", "cache_read_mtok", "cache_write_mtok", "cache_write_1h_mtok", "output_mtok"];
const mediumPattern = /^(input|output|cache)_(audio|image|video)(_read|_write|_write_1h)?_mtok$/;

/** The prices of tokens, of which some may be in tiers of the input. */
function readPrices(prices: Json): Terms | Gap {
  const unpriced = new Set<string>();
  for (const [name, value] of Object.entries(prices)) {
    const usd = usdAt(value, 0), [, side, medium, action = ""] = mediumPattern.exec(name) ?? [];
    if (isSet(value) && usd === undefined) return "with a price of an unknown kind";
    if (!isSet(value) || usd === "0" || textNames.includes(name) || isFee(name)) continue;
    if (medium !== undefined) {
      // Input from a cache costs what other input does, if it has no price.
      if (usd !== usdAt(prices[`${side}${action}_mtok`] ?? prices.input_mtok, 0)) unpriced.add(medium);
    } else if (name === "requests_kcount") return "with a fee for each request";
    else if (!/^output_(reasoning|citation)_mtok$/.test(name)) return "with a price of an unknown kind";
    else if (usd !== usdAt(prices.output_mtok, 0)) return "with another price of reasoning or citations";
  }
  if (Object.keys(prices).some(isFee) && !textNames.some((name) => isSet(prices[name]))) {
    return "without a price of tokens";
  }
  const at = (tokens: number) => {
    const [input = "0", cachedInput = null, cacheWrite = null, cacheWriteHour = null, output = "0"] = textNames.map(
      (name) => usdAt(prices[name], tokens),
    );
    return { input, cachedInput, cacheWrite, cacheWriteHour, output };
  };
  const starts = new Set(
    textNames.flatMap((name) => listOf(prices[name], "tiers").map((tier) => isObject(tier) ? tier.start : tier)),
  );
  if (![...starts].every(isCount)) return "with a price of an unknown kind";
  const tiers = ([...starts] as number[]).sort((a, b) => a - b).map((above) => ({ above, ...at(above + 1) }));
  const unpricedMedia = (Object.keys(media) as Medium[]).filter((medium) => unpriced.has(medium));
  return { ...at(0), tiers, unpricedMedia };
}

/** Price text, for requests with so many input tokens. Undefined if invalid or too large. */
function usdAt(value: unknown, tokens: number): string | undefined {
  const tier = listOf(value, "tiers").findLast((tier) => isObject(tier) && tokens > Number(tier.start));
  const usd = isObject(tier) ? tier.price : isObject(value) ? value.base : value;
  // Some prices have the rounding error of a float.
  return typeof usd === "number" && usd >= 0 && usd < 1e6 ? usd.toFixed(9).replace(/\.?0+$/, "") : undefined;
}
