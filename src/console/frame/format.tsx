// Numbers, times and texts for people. A number also has its exact value, which is what the command line shows.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { dollarText, priceText } from "../../support/dollars.ts";
import { h, isolated } from "./html.ts";
import type { Html, Part } from "./html.ts";

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });

/** A number as text: `1,204`. */
export const numberText = (value: number): string => grouped.format(value);

/** A number with its unit: `1,204 ms`. */
export const number = (value: number, unit = ""): Part => [
  <data value={value}>{grouped.format(value)}</data>,
  unit && `\u00a0${unit}`,
];

/** A mean for people, who need no more than a few digits. */
export const rounded = (value: number): Html => (
  <data value={value}>{grouped.format(Number(value.toPrecision(4)))}</data>
);

/** `1 record`, `2 records` */
export const counted = (value: number, noun: string, plural = `${noun}s`): Part => [
  number(value),
  " ",
  value === 1 ? noun : plural,
];

/** A share from 0 to 1. */
export const share = (value: number): Html => <data value={value}>{shareText(value)}</data>;

/** A share as text: `4.8 %`. */
export const shareText = (value: number): string => `${(100 * value).toFixed(1)} %`;

/** An amount of USD, which is decimal text, or a dash. Its exact value stays in the page. */
export const usd = (amount: string | null): Part =>
  amount === null ? dash : <data value={amount}>{dollarText(Number(amount))}</data>;

/** A price of USD, which is decimal text, with all its digits. */
export const price = (amount: string): Html => <data value={amount}>{priceText(amount)}</data>;

/** Milliseconds in the unit that fits, or a dash. */
export const duration = (ms: number | null | undefined): Part =>
  ms === null || ms === undefined ? dash : <data value={ms}>{durationText(ms)}</data>;

const spans = [[86_400_000, "d"], [3_600_000, "h"], [60_000, "min"], [1_000, "s"]] as const;

const mostWritten = 1e16; // ms

/** Duration as text. From two minutes on it has the two largest units: `2 min 30 s`. Clients send any number. */
export function durationText(ms: number): string {
  if (ms >= mostWritten) return `${(ms / spans[0][0]).toExponential(1)}\u00a0d`;
  if (ms < 1_000) return `${Math.round(ms)}\u00a0ms`;
  if (ms < 120_000) return `${(ms / 1_000).toFixed(1)}\u00a0s`;
  const seconds = 1_000 * Math.round(ms / 1_000);
  const nth = spans.findIndex(([unit]) => seconds >= unit);
  const [large, name] = spans[nth]!, [small, lesser] = spans[nth + 1]!;
  const rounded = small * Math.round(seconds / small), rest = rounded % large / small;
  return `${Math.floor(rounded / large)}\u00a0${name}${rest === 0 ? "" : ` ${rest}\u00a0${lesser}`}`;
}

const units: [ms: number, noun: string][] = [[86_400_000, "day"], [3_600_000, "hour"], [60_000, "minute"]];

/** A span of time in whole units: `90 days`. */
export function ageText(ms: number): string {
  const [unit, noun] = units.find(([unit]) => ms >= unit) ?? [1_000, "second"];
  const count = Math.round(ms / unit);
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Placeholder for an unknown value. */
export const dash: Part = [<span class="none" aria-hidden="true">–</span>, <span class="hide">none</span>];

const mostOfDate = 8.64e15; // ms: a Date holds no more, but clients send any number

const recent = 7 * 86_400_000, hour = 3_600_000; // ms

/**
 * A relative moment: `3 min ago`, or its day if it is more than a week away. The exact one is the title, which the
 * script shows in the reader's zone. It also keeps the words up to date.
 */
export const ago = (at: number | null | undefined, now: number): Part => moment(at, "ago", (at) => agoText(at, now));

/** The hour that began at a moment, if the exact time is unknown: `in the last hour`, or `3 h ago`. */
export const agoByHour = (at: number | null, now: number): Part =>
  moment(at, "ago hour", (at) => Math.abs(now - at) < hour ? "in the last hour" : agoText(at, now), "In the hour of ");

function moment(
  at: number | null | undefined,
  kind: "ago" | "ago hour",
  toWords: (at: number) => string,
  before = "",
): Part {
  if (at === null || at === undefined) return dash;
  if (Math.abs(at) > mostOfDate) return String(at);
  const iso = new Date(at).toISOString();
  const title = before + iso.replace(/T(.{8}).*/, " $1 UTC");
  return <time datetime={iso} class={kind} title={title}>{toWords(at)}</time>;
}

/** A moment in UTC to the millisecond, for what is over within a minute. The script shows it in the reader's zone. */
export function exactTime(at: number): Part {
  if (!(Math.abs(at) <= mostOfDate)) return String(at);
  const iso = new Date(at).toISOString();
  return <time datetime={iso} class="exact">{iso.replace("T", " ").replace("Z", "")} UTC</time>;
}

/** The words of `ago`. */
export function agoText(at: number, now: number): string {
  const away = Math.abs(now - at);
  if (away >= recent) {
    const isThisYear = new Date(at).getUTCFullYear() === new Date(now).getUTCFullYear();
    const options = { day: "numeric", month: "short", timeZone: "UTC" } as const;
    return new Intl.DateTimeFormat("en-GB", isThisYear ? options : { ...options, year: "numeric" }).format(at);
  }
  const [size, unit] = spans.find(([size]) => away >= size && size > 1_000) ?? [];
  if (size === undefined) return "just now";
  const words = `${Math.floor(away / size)} ${unit}`;
  return at > now ? `in ${words}` : `${words} ago`;
}

/** A day of UTC as people write it: `24 November 2026`. */
export const dayText = (at: number): string =>
  new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" }).format(at);

const maxExcerpt = 160; // characters

/** The beginning of a text on one line. */
export function excerpt(text: string, max = maxExcerpt): Html {
  const start = text.slice(0, 4 * max).replace(/\s+/g, " ").trim();
  const cut = [...start].slice(0, max).join("");
  return isolated(cut.length < start.length || text.length > 4 * max ? `${cut}…` : cut);
}

/** Bytes or characters in the unit that fits. */
export const sizeText = (length: number, unit: string): string =>
  length < 10_000
    ? `${grouped.format(length)} ${unit}`
    : length < 1e6
    ? `${Math.round(length / 1_000)} thousand ${unit}`
    : `${(length / 1e6).toFixed(1)} million ${unit}`;
