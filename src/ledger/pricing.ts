// The cost of records, by the operator's prices. Everything is exact: prices are decimal texts, and tokens whole numbers.
import { createCache } from "../common/cache.ts";
import { amountDecimals, maxAddend, readAmount } from "../common/decimal.ts";
import { getOrAdd } from "../common/maps.ts";
import type { Amount } from "../common/decimal.ts";
import { fold } from "../common/fold.ts";
import { hasParts } from "../common/parts.ts";

/** Prices in USD per million tokens, as decimal texts, from a time on in Unix ms. */
export type Price = {
  /** The name of a provider, or `*` for any. */
  provider: string;
  /** The name of a model, in which each `*` stands for any text. */
  model: string;
  input: string;
  /** Null if cached input costs what other input does. */
  cachedInput: string | null;
  output: string;
  from: number;
};

/** What a record was made with. Empty if unknown. */
export type Model = { model: string; provider: string };

/** The model of a version that was not found. */
export const unknownModel: Model = { model: "", provider: "" };

/** Prices as whole multiples of 10^-`decimals` USD per million tokens. */
export type Rate = { decimals: number; input: number; cachedInput: number; output: number };

/** The rate at a time; undefined if there is none. */
export type RateAt = (at: number) => Rate | undefined;

/** Finds the rates of a model. */
export type Pricing = (model: Model) => RateAt;

/** The tokens of a record. It has none if both counts are null. */
export type Tokens = { input: number | null; cached: number; output: number | null };

/** A cost of `units` × 10^`exponent` USD. `units` is a whole number: a bigint if it may be too large for a number. */
export type Cost = { units: number | bigint; exponent: number; rate?: Rate };

const million = 6; // digits

/** The cost of tokens at a rate. */
export function costAt(rate: Rate, { input, cached, output }: Tokens): Cost | undefined {
  if (input === null && output === null) return undefined;
  const plain = (input ?? 0) - cached, out = output ?? 0;
  const exponent = -million - rate.decimals;
  const units = plain * rate.input + cached * rate.cachedInput + out * rate.output;
  if (units <= maxAddend) return { units, exponent, rate };
  const exact = BigInt(plain) * BigInt(rate.input) + BigInt(cached) * BigInt(rate.cachedInput) +
    BigInt(out) * BigInt(rate.output);
  return { units: exact, exponent };
}

const maxCost = 10n ** BigInt(amountDecimals + 12); // of one record. More is no cost

/** The cost that a record names itself. Undefined if it is above 10^12 USD or has more decimals than we count. */
export function ownCost(text: string): Cost | undefined {
  const units = readAmount(text);
  return units === undefined || units > maxCost ? undefined : { units, exponent: -amountDecimals };
}

export const amountOf = ({ units, exponent }: Cost): Amount => BigInt(units) * 10n ** BigInt(amountDecimals + exponent);

const decimalsOf = (text: string) => text.split(".")[1]?.length ?? 0;

function toRate({ input, cachedInput, output }: Price): Rate {
  const texts = [input, cachedInput ?? input, output] as const;
  const decimals = Math.max(...texts.map(decimalsOf));
  const units = texts.map((text) => Number(readAmount(text)! / 10n ** BigInt(amountDecimals - decimals)));
  return { decimals, input: units[0]!, cachedInput: units[1]!, output: units[2]! };
}

/** A price, with what is folded of it: the parts of the model's name between its stars, and the provider. */
type Known = Price & { rate: Rate; closeness: number; parts: string[]; ofProvider: string };

/** Finds the prices whose pattern fits a folded name, in a few steps for each name and pattern with its start. */
function createIndex(prices: readonly Known[]): (name: string) => Known[] {
  const whole = new Map<string, Known[]>(), byStart = new Map<string, Known[]>();
  for (const price of prices) {
    const { parts: [start = "", ...others] } = price, index = others.length === 0 ? whole : byStart;
    getOrAdd(index, start, (): Known[] => []).push(price);
  }
  const lengths = [...new Set([...byStart.keys()].map((start) => start.length))];
  return (name) => {
    const found = [...whole.get(name) ?? []];
    for (const length of lengths) {
      if (length > name.length) continue;
      for (const price of byStart.get(name.slice(0, length)) ?? []) if (hasParts(name, price.parts)) found.push(price);
    }
    return found;
  };
}

/** How closely a price names a model: by its whole name, or else by how much of it, and then by its provider. */
function closenessOf({ provider, model }: Price): number {
  const isWhole = !model.includes("*");
  return (isWhole ? 1e6 : 2 * model.replaceAll("*", "").length) + (provider === "*" ? 0 : 1);
}

const maxFound = 1_000; // models whose rates are kept. Applications may name any number

/**
 * Finds rates: of the prices that have begun, the closest one counts, and of equally close ones the newest. A model of an
 * unknown provider has the prices of all of them. If the closest ones differ, it has no rate.
 */
export function createPricing(prices: Price[]): Pricing {
  const findNamed = createIndex(prices.map((price) => ({
    ...price,
    rate: toRate(price),
    closeness: closenessOf(price),
    parts: fold(price.model).split("*"),
    ofProvider: fold(price.provider),
  })));
  const found = createCache<RateAt>(maxFound);

  function findRates({ model, provider }: Model): RateAt {
    const ofProvider = fold(provider);
    const matching = findNamed(fold(model)).filter((price) =>
      provider === "" || price.provider === "*" || price.ofProvider === ofProvider
    );
    const starts = [...new Set(matching.map(({ from }) => from))].sort((a, b) => b - a);
    const dated = starts.map((from) => ({ from, rate: closest(matching.filter((price) => price.from <= from)) }));
    return (at) => dated.find(({ from }) => from <= at)?.rate;
  }

  return ({ model, provider }) => {
    if (model === "") return () => undefined;
    const key = `${provider}\n${model}`;
    const known = found.get(key);
    if (known !== undefined) return known;
    const rates = findRates({ model, provider });
    found.set(key, rates, 1);
    return rates;
  };
}

function closest(begun: Known[]): Rate | undefined {
  const most = begun.reduce((most, { closeness }) => Math.max(most, closeness), 0);
  // Each pattern and provider has its own dates, of which the newest counts.
  const newest = new Map<string, Known>();
  for (const price of begun) {
    const key = `${price.provider}\n${price.model}`, other = newest.get(key);
    if (price.closeness === most && !(other !== undefined && other.from > price.from)) newest.set(key, price);
  }
  const rates = new Map([...newest.values()].map(({ rate }) => [JSON.stringify(rate), rate]));
  const [rate] = rates.values();
  return rates.size === 1 ? rate : undefined;
}
