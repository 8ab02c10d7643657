// Formats data for people: a list as a table, an object as lines. Programs get JSON instead.
import { withoutCommands } from "../../support/ci-text.ts";
import { durationText } from "../../support/duration.ts";
import { isJsonText, stringify } from "../../common/json-text.ts";
import { layOut, widthOf } from "./table.ts";

/** Formats a list of objects as a table, and one object as lines. A table fits into `columns`. */
export function format(data: object, columns?: number): string {
  if (Array.isArray(data)) return formatList(data, columns);
  const margin = Math.max(0, ...Object.keys(data).map((name) => widthOf(labelOf(name))));
  const lines = Object.entries(data).map(([name, value]) => {
    const label = labelOf(name);
    return isBlock(name, value)
      ? `${label}\n${indented(format(value, columns && columns - 2)).trimEnd()}`
      : `${label}${" ".repeat(margin - widthOf(label))}  ${formatValue(name, value)}`;
  });
  return `${lines.join("\n")}\n`;
}

/** True if a value takes several lines: a list of objects, or an object not from clients. */
const isBlock = (name: string, value: unknown): value is object =>
  Array.isArray(value)
    ? typeof value[0] === "object"
    : typeof value === "object" && value !== null && !isJsonText(value) && !ofClients.includes(name) &&
      Object.keys(value).length > 0;

type Item = Record<string, unknown>;

function formatList(items: Item[], columns?: number): string {
  if (items.length === 0) return "";
  const names = [...new Set(items.flatMap((item) => Object.keys(item)))];
  const valueOf = (item: Item, name: string) => Object.hasOwn(item, name) ? item[name] : undefined;
  const rows = items.map((item) => names.map((name) => formatValue(name, valueOf(item, name))));
  return layOut(names.map(labelOf), rows, columns);
}

/** The name of a member for people. A duration is shown with its unit, so `keepCallsMs` is `keepCalls`. */
export const labelOf = (name: string): string => oneLine(name.replace(/(?<=[a-z])Ms$/, ""));

/**
 * Formats a value on one line: times in ISO 8601, texts separated by commas, no value as a dash, no control characters.
 */
export function formatValue(name: string, value: unknown): string {
  if (value === null || value === undefined || value === "" || Array.isArray(value) && value.length === 0) return "-";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number" && isTime(name)) return formatTime(value);
  if (typeof value === "number" && name === "resetTime") return formatTime(value * 1000);
  if (typeof value === "number" && name.endsWith("Ms")) return durationText(value);
  if (typeof value === "string") return oneLine(value);
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return oneLine(value.join(", "));
  const text = stringify(value);
  // JSON text of a scalar is shown as its value.
  return typeof value === "object" && !/^[{[]/.test(text) ? formatValue(name, JSON.parse(text)) : oneLine(text);
}

/** True if a member is a time in Unix ms: `createdAt`, `at` or `validFrom`. */
const isTime = (name: string) => /^at$|At$|^validFrom$/.test(name);

/** Contents of applications and authors. A service sends them as objects. */
const ofClients = ["input", "output", "additional_properties", "messages", "llmConfig"];

/**
 * Data as `--json` prints it: each time in Unix ms is followed by its ISO 8601 text, `createdAtIso` after `createdAt`.
 * Contents from clients are unchanged.
 */
export function withIsoTimes(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(withIsoTimes);
  if (typeof data !== "object" || data === null || isJsonText(data)) return data;
  const entries = Object.entries(data).flatMap(([name, value]): [string, unknown][] => {
    const same: [string, unknown] = [name, ofClients.includes(name) ? value : withIsoTimes(value)];
    if (!isTime(name) || typeof value !== "number" && value !== null) return [same];
    return [same, [`${name}Iso`, value === null ? null : formatTime(value)]];
  });
  return Object.fromEntries(entries);
}

/** Formats a time in Unix ms, which may be out of range for a Date: clients send any. */
export const formatTime = (at: number) => Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : String(at);

/** `1 record`, `2 records` */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`;

export const indented = (text: string): string => text.replace(/^(?=.)/gm, "  ");

/** Elapsed time: `85 ms`, `0.2 s`. */
export const formatElapsed = (ms: number) => ms < 100 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;

/** A text on one line, without control characters. */
export const oneLine = (text: string) => stripControls(text).replace(/[\n\t\p{Zl}\p{Zp}]/gu, " ");

/**
 * Replaces control characters, except tabs and line breaks, because they could control the terminal, and characters
 * that embed or override a writing direction, because they could reorder a line. Also breaks up commands of a CI system
 * within a line.
 */
export const stripControls = (text: string): string =>
  withoutCommands(text.replace(/[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu, " "));
