// Finds the price of a model.
import { createCache } from "../common/cache.ts";
import { fold } from "../support/fold.ts";
import { getOrAdd } from "../support/maps.ts";
import { makerOf, providerOf } from "./providers.ts";
import { toRates } from "./rates.ts";
import type { Price, Rates } from "./rates.ts";

/** The model that made a record. Members are empty if unknown. */
export type Model = {
  model: string;
  provider: string;
  /** The provider of the record's version, which is tried first if that of the record is unknown. */
  versionProvider?: string;
};

/** The model of a version that was not found. */
export const unknownModel: Model = { model: "", provider: "" };

/** The rates at a time; undefined without rates. */
export type RatesAt = (at: number) => Rates | undefined;

/** Finds the rates of a model. */
export type Pricing = (model: Model) => RatesAt;

/** A price with its folded names: the parts of the model's name between its stars, and the provider. */
type Known = Price & {
  parts: string[];
  closeness: number;
  ofProvider: string;
  providerId: string;
  /** Computed when they are first needed, as most prices are of models that no record names. */
  rates?: Rates;
};

const isWhole = (pattern: string): boolean => !/[*#]/.test(pattern);

/** Finds the prices whose pattern fits a folded name, in a few steps for each name and pattern with its start. */
function createIndex(prices: readonly Known[]): (name: string) => Known[] {
  const whole = new Map<string, Known[]>(), byStart = new Map<string, Known[]>();
  for (const price of prices) {
    const [start] = price.parts[0]!.split("#");
    getOrAdd(isWhole(price.model) ? whole : byStart, start!, (): Known[] => []).push(price);
  }
  const lengths = [...new Set([...byStart.keys()].map((start) => start.length))];
  return (name) => {
    const matching = [...whole.get(name) ?? []];
    for (const length of lengths) {
      if (length > name.length) continue;
      for (const price of byStart.get(name.slice(0, length)) ?? []) if (fits(name, price.parts)) matching.push(price);
    }
    return matching;
  };
}

/** True for a text of these parts with any text between two. Each takes its first place, so each is tried only once. */
export function fits(name: string, parts: readonly string[]): boolean {
  const [first, ...others] = parts, last = others.pop();
  if (!isAt(name, first!, 0)) return false;
  let at = first!.length;
  if (last === undefined) return at === name.length;
  for (const part of others) {
    while (!isAt(name, part, at)) if (at++ > name.length) return false;
    at += part.length;
  }
  return at <= name.length - last.length && isAt(name, last, name.length - last.length);
}

/** True if a part, in which `#` is a digit, is at a place of a name. */
function isAt(name: string, part: string, at: number): boolean {
  for (let nth = 0; nth < part.length; nth++) {
    const letter = name[at + nth]!;
    if (letter !== part[nth] && !(part[nth] === "#" && letter >= "0" && letter <= "9")) return false;
  }
  return true;
}

/** Whole names come before patterns, and patterns with more letters before others. The provider comes second. */
const closenessOf = ({ model }: Price): number => 4 * (isWhole(model) ? 1_000 : model.replaceAll("*", "").length);

type Matching = { price: Known; closeness: number };

/** The prices of a provider, by its own name, by another one, or for any provider. */
function ofProvider(prices: Known[], name: string): Matching[] {
  const folded = fold(name), id = providerOf(name);
  return prices.map((price) => ({
    price,
    closeness: price.closeness +
      (price.ofProvider === folded ? 2 : price.providerId === id ? 1 : price.provider === "*" ? 0 : NaN),
  })).filter(({ closeness }) => closeness >= 0);
}

const ofAny = (prices: Known[]): Matching[] =>
  prices.map((price) => ({ price, closeness: price.closeness + (price.provider === "*" ? 0 : 1) }));

const maxKept = 1_000; // models whose rates are kept. Applications may name any number

/**
 * Finds rates. Among the prices in force, those that match the model most closely are used, then those that match the
 * provider most closely, and for each pattern the newest. If these differ, there is no rate. A record of an unknown
 * provider gets the prices of its version's provider, or else of the model's maker, if they have any, and otherwise
 * those of all providers.
 */
export function createPricing(prices: Price[]): Pricing {
  const findNamed = createIndex(prices.map((price) => ({
    ...price,
    closeness: closenessOf(price),
    parts: fold(price.model).split("*"),
    ofProvider: fold(price.provider),
    providerId: providerOf(price.provider),
  })));
  const kept = createCache<RatesAt>(maxKept);

  function findRates({ model, provider, versionProvider = "" }: Model): RatesAt {
    const named = [...new Set([model, withIsoDates(model)])].map((name) => findNamed(fold(name)));
    if (provider !== "") return firstOf(named.map((prices) => ofProvider(prices, provider)));
    const likely = [versionProvider, makerOf(model)].filter((name) => name !== "")
      .flatMap((name) => named.map((prices) => ofProvider(prices, name)))
      .filter((matching) => matching.some(({ price }) => price.provider !== "*"));
    return firstOf([...likely, ...named.map(ofAny)]);
  }

  return (of) => {
    const { model, provider, versionProvider = "" } = of;
    if (model === "") return () => undefined;
    const key = `${provider}\n${versionProvider}\n${model}`;
    let rates = kept.get(key);
    if (rates === undefined) kept.set(key, rates = findRates(of), 1);
    return rates;
  };
}

/** `gpt-6-sol-20261101` is `gpt-6-sol-2026-11-01`. */
const withIsoDates = (model: string): string => model.replace(/-(20\d\d)(\d\d)(\d\d)(?=[-:]|$)/g, "-$1-$2-$3");

/** The rates of the first group with rates at the time. */
function firstOf(all: Matching[][]): RatesAt {
  const dated = all.map(datedBy);
  return (at) => {
    for (const ratesAt of dated) {
      const rates = ratesAt(at);
      if (rates !== undefined) return rates;
    }
    return undefined;
  };
}

function datedBy(matching: Matching[]): RatesAt {
  const starts = [...new Set(matching.map(({ price }) => price.from))].sort((a, b) => b - a);
  const dated = starts.map((from) => ({
    from,
    rates: closest(matching.filter(({ price }) => price.from <= from)),
  }));
  return (at) => dated.find(({ from }) => from <= at)?.rates;
}

function closest(begun: Matching[]): Rates | undefined {
  const most = begun.reduce((most, { closeness }) => Math.max(most, closeness), 0);
  // Each pattern and provider has its own dates, of which the newest counts.
  const newest = new Map<string, Known>();
  for (const { price, closeness } of begun) {
    const key = `${price.provider}\n${price.model}`, other = newest.get(key);
    if (closeness === most && !(other !== undefined && other.from > price.from)) newest.set(key, price);
  }
  const rates = new Map(Array.from(newest.values(), (price) => {
    const rates = price.rates ??= toRates(price);
    return [JSON.stringify(rates), rates];
  }));
  const [first] = rates.values();
  return rates.size === 1 ? first : undefined;
}
