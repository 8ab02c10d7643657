// Reads prices from the files of others: the JSON of @pydantic/genai-prices, and that of models.dev. Only what a price of
// ours can say is taken, so that nothing is priced wrongly.
import { invalid } from "../common/errors.ts";
import type { GivenPrice } from "../management/prices.ts";
import { isObject } from "../schema/struct.ts";

/** Why a model is left out. */
type Gap =
  | "without a price of input and output"
  | "with tiers, or prices that change during the day"
  | "with fees, or other prices for audio, images or reasoning"
  | "with a name that * cannot match";

/** The prices of a file, and why each model without one is left out. */
type PriceFile = { prices: GivenPrice[]; skipped: Gap[] };

type Json = Record<string, unknown>;

/** Reads the text of a file. `validFrom` is when the prices begin that have no date. */
export function readPriceFile(text: string, validFrom: number): PriceFile {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw invalid("FILE must be JSON");
  }
  const file: PriceFile = { prices: [], skipped: [] };
  const add = (found: GivenPrice[] | Gap) => {
    if (typeof found === "string") file.skipped.push(found);
    else file.prices.push(...found);
  };
  if (Array.isArray(json)) {
    for (const provider of json) {
      for (const model of listOf(provider, "models")) add(readGenaiModel(nameOf(provider), model as Json, validFrom));
    }
  } else if (isObject(json)) {
    const providers = isObject(json.providers) ? json.providers : json;
    for (const [provider, { models }] of Object.entries(providers).filter(isEntryWithModels)) {
      for (const [model, value] of Object.entries(models)) add(readModelsDevModel(provider, model, value, validFrom));
    }
  }
  if (file.prices.length === 0) {
    throw invalid("FILE has no prices: it must be the JSON of @pydantic/genai-prices or of models.dev");
  }
  return file;
}

const isEntryWithModels = (entry: [string, unknown]): entry is [string, { models: Json }] =>
  isObject(entry[1]) && isObject(entry[1].models);
const listOf = (holder: unknown, name: string): unknown[] =>
  isObject(holder) && Array.isArray(holder[name]) ? holder[name] : [];
const nameOf = (provider: unknown): string => isObject(provider) ? String(provider.id) : "";

/** The text of a price. Undefined if it is none, such as one in tiers, or too large or too precise. */
function usdOf(value: unknown): string | undefined {
  if (typeof value !== "number" || !(value >= 0) || value >= 1e6) return undefined;
  const text = value < 1e-6 ? value.toFixed(9).replace(/\.?0+$/, "") : String(value);
  return Number(text) === value && /^\d+(\.\d{1,9})?$/.test(text) ? text : undefined;
}

const isSet = (value: unknown) => value !== undefined && value !== null;

/** The members that a price of ours is read from. Those behind the first of a list must have the same price. */
type Kinds = Record<"input" | "cachedInput" | "output", [text: string, ...others: string[]]>;

const genaiKinds: Kinds = {
  input: ["input_mtok", "input_audio_mtok"],
  cachedInput: ["cache_read_mtok", "cache_audio_read_mtok"],
  output: ["output_mtok", "output_audio_mtok"],
};
const modelsDevKinds: Kinds = {
  input: ["input", "input_audio"],
  cachedInput: ["cache_read"],
  output: ["output", "output_audio", "reasoning"],
};

/** Reads the prices of a model. Tokens that are written to a cache cost what other input does, so theirs is ignored. */
function toPrice(
  names: Pick<GivenPrice, "provider" | "model" | "validFrom">,
  prices: Json,
  kinds: Kinds,
): GivenPrice | Gap {
  const given = Object.entries(prices).filter(([name, value]) => isSet(value) && !name.startsWith("cache_write"));
  if (given.some(([, value]) => typeof value !== "number")) return "with tiers, or prices that change during the day";
  const [input, cached, output] = [kinds.input, kinds.cachedInput, kinds.output].map(([text]) => usdOf(prices[text]));
  if (input === undefined || output === undefined) return "without a price of input and output";
  const known = new Map([
    ...kinds.input.map((name) => [name, input] as const),
    ...kinds.cachedInput.map((name) => [name, cached ?? input] as const),
    ...kinds.output.map((name) => [name, output] as const),
  ]);
  // What ours cannot say must cost nothing.
  const isSaid = ([name, value]: [string, unknown]) => usdOf(value) === (known.get(name) ?? "0");
  if (!given.every(isSaid)) return "with fees, or other prices for audio, images or reasoning";
  return { ...names, input, cachedInput: cached ?? null, output };
}

/** The prices of a model in genai-prices: one for each of its names and each date. */
function readGenaiModel(provider: string, model: Json, validFrom: number): GivenPrice[] | Gap {
  const patterns = patternsOf(model.match);
  if (patterns === undefined) return "with a name that * cannot match";
  const dated = Array.isArray(model.prices) ? model.prices as Json[] : [{ prices: model.prices }];
  const found: GivenPrice[] = [];
  for (const { constraint, prices } of dated) {
    const from = startOf(constraint, validFrom);
    if (from === undefined) return "with tiers, or prices that change during the day";
    const price = toPrice({ provider, model: "", validFrom: from }, isObject(prices) ? prices : {}, genaiKinds);
    if (typeof price === "string") return price;
    found.push(price);
  }
  return patterns.flatMap((model) => found.map((price) => ({ ...price, model })));
}

/** When a price begins. Undefined if it holds at some times of the day only. */
function startOf(constraint: unknown, validFrom: number): number | undefined {
  if (!isSet(constraint)) return validFrom;
  const at = isObject(constraint) && typeof constraint.start_date === "string"
    ? Date.parse(constraint.start_date)
    : NaN;
  return at >= 0 ? at : undefined;
}

/** The patterns of a match. Undefined if one cannot be said by stars. */
function patternsOf(match: unknown): string[] | undefined {
  if (!isObject(match)) return undefined;
  const [[kind, value] = []] = Object.entries(match);
  if (kind === "or" && Array.isArray(value)) {
    const all = value.map(patternsOf);
    return all.some((patterns) => patterns === undefined) ? undefined : all.flatMap((patterns) => patterns!);
  }
  const patterns: Record<string, (text: string) => string> = {
    equals: (text) => text,
    starts_with: (text) => `${text}*`,
    ends_with: (text) => `*${text}`,
    contains: (text) => `*${text}*`,
  };
  const isUsable = typeof value === "string" && value !== "" && value.length < 98 && !value.includes("*");
  return isUsable && kind! in patterns ? [patterns[kind!]!(value)] : undefined;
}

/** The price of a model in models.dev. */
function readModelsDevModel(provider: string, model: string, value: unknown, validFrom: number): GivenPrice[] | Gap {
  if (model === "" || model.length > 100) return "with a name that * cannot match";
  const cost = isObject(value) && isObject(value.cost) ? value.cost : {};
  const price = toPrice({ provider, model, validFrom }, cost, modelsDevKinds);
  return typeof price === "string" ? price : [price];
}
