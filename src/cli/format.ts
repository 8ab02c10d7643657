// Data for people: a list as a table, an object as lines. Programs get JSON instead.
import { stringify } from "../json-text.ts";

const widestCell = 60;

/** A list of objects as a table, one object as lines; each ends with a line break. */
export function format(data: object): string {
  if (Array.isArray(data)) return data.length === 0 ? "" : formatTable(data);
  const margin = width(Object.keys(data));
  const lines = Object.entries(data).map(([name, value]) =>
    Array.isArray(value) && typeof value[0] === "object"
      ? `${name}\n${formatTable(value).replace(/^(?=.)/gm, "  ").trimEnd()}`
      : `${oneLine(name).padEnd(margin)}  ${formatValue(name, value)}`
  );
  return `${lines.join("\n")}\n`;
}

function formatTable(rows: Record<string, unknown>[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cell = (row: Record<string, unknown>, name: string) => Object.hasOwn(row, name) ? row[name] : undefined;
  const table = [
    names.map((name) => shorten(oneLine(name))),
    ...rows.map((row) => names.map((name) => shorten(formatValue(name, cell(row, name))))),
  ];
  const widths = names.map((_, column) => width(table.map((cells) => cells[column]!)));
  const lines = table.map((cells) => cells.map((cell, column) => cell.padEnd(widths[column]!)).join("  ").trimEnd());
  return `${lines.join("\n")}\n`;
}

const width = (texts: string[]) => texts.reduce((widest, { length }) => Math.max(widest, length), 0);

const shorten = (text: string) => text.length > widestCell ? `${text.slice(0, widestCell - 1)}…` : text;

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
export const harmless = (text: string): string => text.replace(/[^\P{Cc}\n\t]/gu, " ");
