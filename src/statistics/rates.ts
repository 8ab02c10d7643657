// The cost of tokens by the operator's prices. Everything is exact: prices are decimal texts, and tokens whole numbers.
import { amountDecimals, maxAddend, readAmount } from "../support/decimal.ts";
import type { Amount } from "../support/decimal.ts";

/** Prices in USD per million tokens, as decimal texts. */
export type Prices = {
  input: string;
  /** Null if cached input costs the same as other input. */
  cachedInput: string | null;
  /** Of input that is written to a cache. Null: as other input. */
  cacheWrite: string | null;
  /** Of input that is written to a cache for an hour. Null: as for less. */
  cacheWriteHour: string | null;
  output: string;
};

/** Other prices, for requests with more input, at some hours of the day, or both. */
export type Tier = Prices & {
  /** They hold above this many input tokens. Null: for any number. */
  above: number | null;
  /** They hold at these times in UTC: `01:00-04:00`. Null: all day. */
  hours: string | null;
};

/** Media of tokens other than text, each with its bit in a record. */
export const media = { audio: 1, image: 2, video: 4 };
export type Medium = keyof typeof media;

/** The prices of models from a time on in Unix ms. */
export type Price = Prices & {
  /** The name of a provider, or `*` for any. */
  provider: string;
  /** The name of a model, in which `*` matches any text and `#` a digit. */
  model: string;
  /** The last one that holds for a record counts. */
  tiers: readonly Tier[];
  /** A record with tokens of these media has no cost by these prices. */
  unpricedMedia: readonly Medium[];
  from: number;
};

/** Prices as whole multiples of 10^-`decimals` USD per million tokens. */
export type Rate = {
  decimals: number;
  input: number;
  cachedInput: number;
  cacheWrite: number;
  cacheWriteHour: number;
  output: number;
};

/** The rates of a price. `unpriced` has the bits of media. Hours are in ms of the day. */
export type Rates = Rate & { unpriced: number; tiers: (Rate & { above: number; start: number; end: number })[] };

/** The tokens of a record. It has none if both counts are null. */
export type Tokens = {
  input: number | null;
  /** The parts of the input that came from a cache, were written to one, and that for an hour. */
  cached: number;
  written: number;
  writtenHour: number;
  output: number | null;
  /** The bits of the media of its tokens other than text. */
  media: number;
};

/** A cost of `units` × 10^`exponent` USD. `units` is a whole number: a bigint if it may be too large for a number. */
export type Cost = { units: number | bigint; exponent: number; rate?: Rate };

const million = 6; // digits

/** The cost of tokens at a time, by the rates of that time. */
export function costAt(rates: Rates, tokens: Tokens, at: number): Cost | undefined {
  const { input, output, cached, written, writtenHour, media } = tokens;
  if (input === null && output === null || (media & rates.unpriced) !== 0) return undefined;
  const rate = rates.tiers.length === 0 ? rates : tierAt(rates, input ?? 0, at);
  const plain = (input ?? 0) - cached - written, minutes = written - writtenHour, out = output ?? 0;
  const exponent = -million - rate.decimals;
  const units = plain * rate.input + cached * rate.cachedInput + minutes * rate.cacheWrite +
    writtenHour * rate.cacheWriteHour + out * rate.output;
  if (units <= maxAddend) return { units, exponent, rate };
  const exact = BigInt(plain) * BigInt(rate.input) + BigInt(cached) * BigInt(rate.cachedInput) +
    BigInt(minutes) * BigInt(rate.cacheWrite) + BigInt(writtenHour) * BigInt(rate.cacheWriteHour) +
    BigInt(out) * BigInt(rate.output);
  return { units: exact, exponent };
}

const day = 86_400_000; // ms

function tierAt(rates: Rates, input: number, at: number): Rate {
  const time = at % day;
  const holds = ({ above, start, end }: Rates["tiers"][number]) =>
    input > above && (start < end ? time >= start && time < end : time >= start || time < end);
  return rates.tiers.findLast(holds) ?? rates;
}

const maxCost = 10n ** BigInt(amountDecimals + 12); // of one record. A higher one is not a cost

/**
 * The cost given by a record or its provider. Undefined above 10^12 USD, or with more than `amountDecimals` decimals.
 */
export function ownCost(text: string): Cost | undefined {
  const units = readAmount(text);
  return units === undefined || units > maxCost ? undefined : { units, exponent: -amountDecimals };
}

export const amountOf = ({ units, exponent }: Cost): Amount => BigInt(units) * 10n ** BigInt(amountDecimals + exponent);

const decimalsOf = (text: string) => text.split(".")[1]?.length ?? 0;

function toRate({ input, cachedInput, cacheWrite, cacheWriteHour, output }: Prices): Rate {
  const texts = [
    ...[input, cachedInput ?? input, cacheWrite ?? input, cacheWriteHour ?? cacheWrite ?? input, output],
  ] as const;
  const decimals = Math.max(...texts.map(decimalsOf));
  const units = texts.map((text) => Number(readAmount(text)! / 10n ** BigInt(amountDecimals - decimals)));
  return {
    decimals,
    input: units[0]!,
    cachedInput: units[1]!,
    cacheWrite: units[2]!,
    cacheWriteHour: units[3]!,
    output: units[4]!,
  };
}

/** `04:00` in ms of the day. */
const timeOfDay = (text: string): number => Date.parse(`1970-01-01T${text}Z`);

export function toRates(price: Price): Rates {
  const tiers = price.tiers.map((tier) => {
    const [start = "00:00", end = "24:00"] = tier.hours?.split("-") ?? [];
    return { ...toRate(tier), above: tier.above ?? -1, start: timeOfDay(start), end: timeOfDay(end) };
  });
  return { ...toRate(price), tiers, unpriced: price.unpricedMedia.reduce((bits, medium) => bits | media[medium], 0) };
}
