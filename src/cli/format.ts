// Data for people: a list as a table, an object as lines. Programs get JSON instead.
import { stringify } from "../common/json-text.ts";
import { layOut, widthOf } from "./table.ts";

/** A list of objects as a table, one object as lines; each ends with a line break. */
export function format(data: object): string {
  if (Array.isArray(data)) return formatList(data).text;
  const margin = Math.max(0, ...Object.keys(data).map((name) => widthOf(oneLine(name))));
  const lines = Object.entries(data).map(([name, value]) =>
    Array.isArray(value) && typeof value[0] === "object"
      ? `${name}\n${formatList(value).text.replace(/^(?=.)/gm, "  ").trimEnd()}`
      : `${oneLine(name)}${" ".repeat(margin - widthOf(oneLine(name)))}  ${formatValue(name, value)}`
  );
  return `${lines.join("\n")}\n`;
}

type Item = Record<string, unknown>;

/** A table that fits in so many columns, if it is for a terminal, and the names of the fields that it has no room for. */
export function formatList(items: Item[], columns?: number): { text: string; hidden: string[] } {
  if (items.length === 0) return { text: "", hidden: [] };
  const names = [...new Set(items.flatMap((item) => Object.keys(item)))];
  const valueOf = (item: Item, name: string) => Object.hasOwn(item, name) ? item[name] : undefined;
  const rows = items.map((item) => names.map((name) => formatValue(name, valueOf(item, name))));
  return layOut(names.map(oneLine), rows, columns);
}

/** A value on one line: times in ISO 8601, nothing as a dash, and no character that could steer the terminal. */
function formatValue(name: string, value: unknown): string {
  if (value === null || value === undefined || value === "") return "-";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number" && name.endsWith("At")) return formatTime(value);
  if (typeof value === "number" && name === "resetTime") return formatTime(value * 1000);
  if (typeof value === "string") return oneLine(value);
  const text = stringify(value);
  // JSON text of a scalar is shown as its value.
  return typeof value === "object" && !/^[{[]/.test(text) ? formatValue(name, JSON.parse(text)) : oneLine(text);
}

/** A client may send a time that lies beyond what a date can say. */
const formatTime = (at: number) => Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : String(at);

const oneLine = (text: string) => text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, " ");

/** Text of several lines that cannot steer the terminal, whatever stands in it. */
export const stripControls = (text: string): string => text.replace(/[^\P{Cc}\n\t]/gu, " ");
