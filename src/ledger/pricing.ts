// The cost of records, by the operator's prices. Everything is exact: prices are decimal texts, and tokens whole numbers.
import { amountDecimals, maxAddend, readAmount } from "../common/decimal.ts";
import type { Amount } from "../common/decimal.ts";

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

const escape = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/** A pattern as a test of names, which ignores case. */
function toTest(pattern: string): (name: string) => boolean {
  const test = new RegExp(`^${pattern.split("*").map(escape).join(".*")}$`, "isu");
  return (name) => test.test(name);
}

/** How closely a price names a model: by its whole name, or else by how much of it, and then by its provider. */
function closenessOf({ provider, model }: Price): number {
  const isWhole = !model.includes("*");
  return (isWhole ? 1e6 : 2 * model.replaceAll("*", "").length) + (provider === "*" ? 0 : 1);
}

/**
 * Finds rates: of the prices that have begun, the closest one counts, and of equally close ones the newest. A model of an
 * unknown provider has the prices of all of them. If the closest ones differ, it has no rate.
 */
export function createPricing(prices: Price[]): Pricing {
  const known = prices.map((price) => ({
    ...price,
    rate: toRate(price),
    closeness: closenessOf(price),
    isOf: toTest(price.model),
  }));
  const found = new Map<string, RateAt>();

  function findRates({ model, provider }: Model): RateAt {
    const matching = known.filter((price) =>
      price.isOf(model) &&
      (provider === "" || price.provider === "*" || price.provider.toLowerCase() === provider.toLowerCase())
    );
    const starts = [...new Set(matching.map(({ from }) => from))].sort((a, b) => b - a);
    const dated = starts.map((from) => ({ from, rate: closest(matching.filter((price) => price.from <= from)) }));
    return (at) => dated.find(({ from }) => from <= at)?.rate;
  }

  return ({ model, provider }) => {
    if (model === "") return () => undefined;
    const key = `${provider}\n${model}`;
    const rates = found.get(key) ?? findRates({ model, provider });
    found.set(key, rates);
    return rates;
  };
}

type Known = Price & { rate: Rate; closeness: number };

function closest(begun: Known[]): Rate | undefined {
  const most = Math.max(...begun.map(({ closeness }) => closeness));
  const close = begun.filter(({ closeness }) => closeness === most);
  // Each pattern and provider has its own dates, of which the newest counts.
  const newest = close.filter((price) =>
    !close.some(({ provider, model, from }) =>
      provider === price.provider && model === price.model && from > price.from
    )
  );
  const rates = new Set(newest.map(({ rate }) => JSON.stringify(rate)));
  return rates.size === 1 ? newest[0]!.rate : undefined;
}
