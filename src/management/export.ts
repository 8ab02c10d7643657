// Records as files: one JSON document per line, or CSV (RFC 4180).
import { stringify } from "../common/json-text.ts";
import type { Diagnosis } from "../schema/ledger.ts";

export const exportFormats = ["ndjson", "csv"] as const;
export type ExportFormat = (typeof exportFormats)[number];
export type Export = { format: ExportFormat; text: AsyncGenerator<string> };

/** The text of an export in parts, one for each page of records. */
export async function* toText(pages: AsyncIterable<Diagnosis[]>, format: ExportFormat): AsyncGenerator<string> {
  if (format === "csv") yield `${columns.join(",")}\r\n`;
  const toLine = format === "csv" ? toCsvLine : toJsonLine;
  for await (const page of pages) yield page.map(toLine).join("");
}

/** In JSON a line break stands between tokens only, so that a space does as well. */
const toJsonLine = (diagnosis: Diagnosis): string => `${stringify(diagnosis).replace(/[\r\n]+/g, " ")}\n`;

const own = ["id", "createdAt", "promptVersion", "sessionId", "status"];
const given = ["latency", "startAt", "endAt", "additional_properties"];
const columns = [...own, "input", "output", ...given, "content", "other"];

/**
 * `input` and `output` are the texts of `content`, which has a column for itself where these do not tell all of it: where it
 * holds more, or an empty text. `other` is all else.
 */
function toCsvLine(diagnosis: Diagnosis): string {
  const { input, output, ...more } = JSON.parse(stringify(diagnosis.content)) as Record<string, unknown>;
  const other = Object.entries(diagnosis).filter(([name]) => ![...own, ...given, "content"].includes(name));
  const cells = [
    ...own.map((name) => name === "createdAt" ? toIsoTime(diagnosis.createdAt) : diagnosis[name]),
    input,
    output,
    ...given.map((name) => diagnosis[name]),
    Object.keys(more).length === 0 && input !== "" && output !== "" ? null : diagnosis.content,
    other.length === 0 ? null : Object.fromEntries(other),
  ];
  return `${cells.map(toCell).join(",")}\r\n`;
}

/** Beyond the range of a date, a time stays a number. */
const toIsoTime = (at: number) => Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : at;

// Spreadsheets run a text that begins with one of these characters as a formula. A text that has the quote already gets
// another, so that taking one away restores every text.
const formula = /^'*[=+\-@\t\r]/;

function toCell(value: unknown): string {
  const json = stringify(value);
  const text = json === "null" ? "" : json.startsWith('"') ? toSafeText(JSON.parse(json)) : json;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const toSafeText = (text: string) => formula.test(text) ? `'${text}` : text;
