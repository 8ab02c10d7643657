// JSON as text. The service keeps a client's JSON as written, because parsing loses digits, key order and `__proto__`.
// Every `text` here has passed JSON.parse, except that of makeWellFormed, which runs before it. Splitting a text that
// is damaged nevertheless throws a SyntaxError, and always ends.

import { braceClose, bracketClose, bracketOpen, colon, comma } from "./json-scan.ts";
import { endOfString, endOfValue, isClosing, isOpening, skipSpace } from "./json-scan.ts";

/** The pattern of a number in JSON. */
export const numberPattern = "-?(0|[1-9]\\d*)(\\.\\d+)?([eE][+-]?\\d+)?";

const isRaw = Symbol("JSON text");
declare const parsed: unique symbol;

/** A value that is already JSON text; stringify writes it unchanged. `Value` is the type that it parses to. */
export type JsonText<Value = unknown> = {
  readonly [isRaw]: true;
  readonly text: string;
  readonly [parsed]?: Value;
};

/** Marks valid JSON text as such. */
export const jsonText = (text: string): JsonText<never> => ({ [isRaw]: true, text });

export const isJsonText = (value: unknown): value is JsonText =>
  typeof value === "object" && value !== null && isRaw in value;

/** JSON.stringify for plain values that may contain JsonText. */
export function stringify(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (isJsonText(value)) return value.text;
  if (Array.isArray(value)) return `[${value.map(stringify).join(",")}]`;
  const members: [string, string][] = [];
  for (const [key, member] of Object.entries(value)) if (member !== undefined) members.push([key, stringify(member)]);
  return stringifyMembers(members);
}

/** Joins the texts of members to the text of an object. This is the inverse of readMembers. */
export function stringifyMembers(members: Iterable<[key: string, value: string]>): string {
  let text = "";
  for (const [key, value] of members) text += `${text === "" ? "{" : ","}${JSON.stringify(key)}:${value}`;
  return text === "" ? "{}" : `${text}}`;
}

const surrogateEscape = /\\u[dD][89a-fA-F]/;
const escapes = /(\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2})|(\\u[dD][89a-fA-F][\da-fA-F]{2})|\\./g;

/**
 * Replaces escapes of lone surrogates by U+FFFD, as String.prototype.toWellFormed does, and changes nothing else.
 * Invalid JSON stays invalid.
 */
export function makeWellFormed(text: string): string {
  if (!surrogateEscape.test(text)) return text;
  return text.replace(escapes, (escape, _pair, lone) => lone === undefined ? escape : "\\ufffd");
}

/** JSON for SQL. SQLite would store the escape of a lone surrogate as bytes that cannot be read back. */
export const toSqlJson = (value: unknown): string => makeWellFormed(JSON.stringify(value));

/**
 * True if a finite double, or another JSON number, has exactly the value of a JSON number: 1.50 is 1.5, but
 * 9007199254740990.6 is not 9007199254740991, to which it is rounded.
 */
export const isSameNumber = (text: string, number: number | string): boolean =>
  text === String(number) || toDecimal(text) === toDecimal(String(number));

// An integer of up to 15 digits as JSON.stringify writes it. A double holds it exactly. Most numbers are such integers.
const plainInteger = /^(0|-?[1-9]\d{0,14})$/;

/** The text of a JSON number as JSON.stringify writes it, or unchanged if no double has its value. */
export function normalizeNumber(text: string): string {
  const number = Number(text);
  return plainInteger.test(text) || !isSameNumber(text, number) ? text : String(number);
}

/**
 * The digits of a JSON number without the zeros at their ends, and the power of ten of the last one: `15e-1` for 1.50.
 */
export function toDecimal(text: string): string {
  const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text)!;
  const digits = whole + fraction;
  let start = 0, end = digits.length;
  while (digits[start] === "0") start++;
  if (start === end) return "0";
  while (digits[end - 1] === "0") end--;
  return `${sign}${digits.slice(start, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}

/**
 * Splits the text of a JSON object into its members: key to value text, in order.
 * If a key appears twice, the last one wins, as with JSON.parse.
 */
export const readMembers = (text: string): Map<string, string> => lastOfEach(listMembers(text));

function lastOfEach(members: [key: string, value: string][]): Map<string, string> {
  const last = new Map<string, string>();
  for (const [key, value] of members) {
    last.delete(key);
    last.set(key, value);
  }
  return last;
}

/** The members of a JSON object's text, including repeated keys. */
function listMembers(text: string): [key: string, value: string][] {
  const members: [key: string, value: string][] = [];
  let at = skipSpace(text, text.indexOf("{") + 1);
  while (text.charCodeAt(at) !== braceClose) {
    const keyEnd = endOfString(text, at);
    const separator = text.indexOf(":", keyEnd);
    if (text[at] !== '"' || separator < 0) throw new SyntaxError("The object is damaged");
    const inner = text.slice(at + 1, keyEnd - 1);
    const key = inner.includes("\\") ? JSON.parse(text.slice(at, keyEnd)) as string : inner;
    const start = skipSpace(text, separator + 1);
    const end = endOfValue(text, start);
    members.push([key, text.slice(start, end)]);
    at = skipSpace(text, end);
    if (text.charCodeAt(at) === comma) at = skipSpace(text, at + 1);
  }
  return members;
}

/** Splits the text of a JSON array into the texts of its items. */
export function readItems(text: string): string[] {
  const items: string[] = [];
  let at = skipSpace(text, text.indexOf("[") + 1);
  while (text.charCodeAt(at) !== bracketClose) {
    const end = endOfValue(text, at);
    if (end === at) throw new SyntaxError("The array is damaged");
    items.push(text.slice(at, end));
    at = skipSpace(text, end);
    if (text.charCodeAt(at) === comma) at = skipSpace(text, at + 1);
  }
  return items;
}

const maxReadDepth = 6;

/**
 * Reads JSON text as plain values without loss. Values that would lose something stay JsonText: a scalar that
 * JSON.stringify would write differently, an object with an integer as a key (plain objects put those first) or with a
 * repeated key, and anything nested deeper than 6 levels. The top level is read as readMembers does.
 */
export const readValue = (text: string): unknown => readNested(text.trim(), 1);

function readNested(text: string, level: number): unknown {
  const first = text.charCodeAt(0);
  if (!isOpening(first)) {
    const value: unknown = JSON.parse(text);
    return JSON.stringify(value) === text ? value : jsonText(text);
  }
  if (level > maxReadDepth) return jsonText(text);
  if (first === bracketOpen) return readItems(text).map((item) => readNested(item, level + 1));
  const all = listMembers(text);
  const members = [...lastOfEach(all)];
  if (level > 1 && members.length < all.length) return jsonText(text);
  if (members.some(([key]) => /^(0|[1-9]\d*)$/.test(key))) return jsonText(text);
  // Unlike an assignment, this makes `__proto__` a member like any other.
  return Object.fromEntries(members.map(([key, member]) => [key, readNested(member, level + 1)]));
}

// Indenting grows with the square of the depth: 100,000 levels would take 20 GB.
const maxIndentDepth = 32;

/**
 * Formats JSON text as JSON.stringify(value, null, 2) does. The tokens stay as written. Anything nested deeper than 32
 * levels stays on one line.
 */
export function indent(text: string): string {
  let result = "", depth = 0;
  const newLine = (depth: number) => `\n${"  ".repeat(depth)}`;
  for (let at = skipSpace(text, 0), end = at; at < text.length; at = skipSpace(text, end)) {
    const code = text.charCodeAt(at);
    end = at + 1;
    const isEmpty = isOpening(code) && isClosing(text.charCodeAt(skipSpace(text, end)));
    if (code === comma) result += `,${newLine(depth)}`;
    else if (code === colon) result += ": ";
    else if (isClosing(code)) result += newLine(--depth) + text[at];
    else if (isOpening(code) && !isEmpty && depth < maxIndentDepth) result += text[at] + newLine(++depth);
    else {
      end = endOfValue(text, at);
      result += compact(text.slice(at, end));
    }
  }
  return result;
}

/** Replaces each string value in JSON text by other JSON text. Keys and everything else stay as they are. */
export function mapStrings(text: string, map: (string: string) => string): string {
  let result = "";
  for (let at = 0; at < text.length;) {
    const start = text.indexOf('"', at);
    if (start < 0) return result + text.slice(at);
    const end = endOfString(text, start);
    const isKey = text.charCodeAt(skipSpace(text, end)) === colon;
    const string = text.slice(start, end);
    result += text.slice(at, start) + (isKey ? string : map(string));
    at = end;
  }
  return result;
}

/** Removes white space between tokens. The tokens stay as written. */
export function compact(text: string): string {
  let result = "";
  for (let at = 0; at < text.length;) {
    const nextQuote = text.indexOf('"', at);
    const stringStart = nextQuote < 0 ? text.length : nextQuote;
    result += text.slice(at, stringStart).replace(/\s+/g, "");
    at = nextQuote < 0 ? text.length : endOfString(text, nextQuote);
    result += text.slice(stringStart, at);
  }
  return result;
}

/** Parses a text. Undefined if it is not JSON, or is nested too deep to be read. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
