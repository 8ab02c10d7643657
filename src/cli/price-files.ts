// Reads prices from the files of others: the JSON of @pydantic/genai-prices, and that of models.dev. Only what a price of
// ours can say is taken, so that nothing is priced wrongly.
import { invalid } from "../common/errors.ts";
import type { GivenPrice } from "../management/prices.ts";
import { isObject } from "../schema/struct.ts";

/** The prices of a file, and how many models have prices that ours cannot say, such as tiers. */
type PriceFile = { prices: GivenPrice[]; skipped: number };

type Json = Record<string, unknown>;

/** Reads the text of a file. `validFrom` is when the prices begin that have no date. */
export function readPriceFile(text: string, validFrom: number): PriceFile {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw invalid("FILE must be JSON");
  }
  const file: PriceFile = { prices: [], skipped: 0 };
  const add = (found: GivenPrice[] | undefined) => {
    if (found === undefined) file.skipped++;
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

function toPrice(
  names: Pick<GivenPrice, "provider" | "model" | "validFrom">,
  { input, cachedInput, output }: Json,
): GivenPrice | undefined {
  const texts = { input: usdOf(input), output: usdOf(output), cachedInput: usdOf(cachedInput) };
  if (texts.input === undefined || texts.output === undefined) return undefined;
  if (isSet(cachedInput) && texts.cachedInput === undefined) return undefined;
  const { input: inputText, output: outputText, cachedInput: cachedText = null } = texts;
  return { ...names, input: inputText, cachedInput: cachedText, output: outputText };
}

/** The prices of a model in genai-prices: one for each of its names and each date. */
function readGenaiModel(provider: string, model: Json, validFrom: number): GivenPrice[] | undefined {
  const patterns = patternsOf(model.match);
  const dated = Array.isArray(model.prices) ? model.prices as Json[] : [{ prices: model.prices }];
  const found = dated.map(({ constraint, prices }) => {
    const from = startOf(constraint, validFrom);
    if (from === undefined || !isObject(prices)) return undefined;
    const { input_mtok: input, cache_read_mtok: cachedInput, output_mtok: output } = prices;
    return toPrice({ provider, model: "", validFrom: from }, { input, cachedInput, output });
  });
  if (patterns === undefined || found.some((price) => price === undefined)) return undefined;
  return patterns.flatMap((model) => found.map((price) => ({ ...price!, model })));
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

/** The price of a model in models.dev. One with more than these is cheaper or dearer for some requests. */
function readModelsDevModel(
  provider: string,
  model: string,
  value: unknown,
  validFrom: number,
): GivenPrice[] | undefined {
  const cost = isObject(value) && isObject(value.cost) ? value.cost : {};
  const isPlain = Object.values(cost).every((each) => typeof each === "number");
  const { input, output, cache_read: cachedInput } = cost;
  const price = isPlain ? toPrice({ provider, model, validFrom }, { input, cachedInput, output }) : undefined;
  return price === undefined || model === "" || model.length > 100 ? undefined : [price];
}
