// Exports as one JSON document per line. Records can also be exported as CSV (RFC 4180), or as in promptfoo.ts.
import { groupBy } from "../../support/group-by.ts";
import { stringify } from "../../common/json-text.ts";
import type { Feedback, FeedbackValue } from "../../schema/feedback.ts";
import type { Diagnosis } from "../../schema/ledger.ts";
import { predicate } from "../../schema/struct.ts";

export const exportFormats = ["ndjson", "csv", "promptfoo"] as const;
export type ExportFormat = (typeof exportFormats)[number];
/** An export. `name` is the file name without an extension. The text comes in parts, one per page. */
export type Export = { name: string; format: ExportFormat; text: AsyncGenerator<string> };

/** The media type of each format. */
export const mediaTypes: Record<ExportFormat, string> = {
  ndjson: "application/x-ndjson",
  csv: "text/csv",
  promptfoo: "application/jsonl",
};

/** The output of an operation that exports. It is never held in memory as a whole. */
export const ExportText = predicate<Export>("the text of an export", () => true, { type: "string" });

/** Writes items as one JSON document per line. */
export async function* toLines(pages: AsyncIterable<object[]>): AsyncGenerator<string> {
  for await (const page of pages) yield page.map(toJsonLine).join("");
}

/** Writes records as CSV. `names` are the workspace's feedback names, which have columns. */
export async function* toCsv(pages: AsyncIterable<Diagnosis[]>, names: string[]): AsyncGenerator<string> {
  const ofFeedback = names.length === 0 ? [] : ["feedback", ...names.map((name) => `feedback.${name}`)];
  yield `${[...columns, ...ofFeedback].join(",")}\r\n`;
  for await (const page of pages) yield page.map((diagnosis) => toCsvLine(diagnosis, names)).join("");
}

/** In JSON text, line breaks can only be between tokens, where a space is equivalent. */
const toJsonLine = (item: object): string => `${stringify(item).replace(/[\r\n]+/g, " ")}\n`;

const own = ["id", "createdAt", "promptVersion", "sessionId", "status"];
const given = ["latency", "startAt", "endAt", "additional_properties"];
// Added later than the others, so they come after them.
const added = ["reference", "deployId", "keyId", "statusName"];
const columns = [...own, "input", "output", ...given, "content", "other", ...added];

/**
 * The columns `input` and `output` are the texts in `content`. The column `content` is empty unless it has more: other
 * members, or an empty text. `other` has all other members of the record. `feedback` has all of it as JSON, and the
 * columns after it the value under each name.
 */
function toCsvLine({ feedback, ...diagnosis }: Diagnosis, names: string[]): string {
  const { input, output, ...more } = readTexts(diagnosis.content);
  const other = Object.entries(diagnosis).filter(([name]) => ![...own, ...given, ...added, "content"].includes(name));
  const cells = [
    ...own.map((name) => name === "createdAt" ? toIsoTime(diagnosis.createdAt) : diagnosis[name]),
    input,
    output,
    ...given.map((name) => diagnosis[name]),
    Object.keys(more).length === 0 && input !== "" && output !== "" ? null : diagnosis.content,
    other.length === 0 ? null : Object.fromEntries(other),
    ...added.map((name) => diagnosis[name]),
    ...names.length === 0 ? [] : toFeedbackCells(feedback, names),
  ];
  return `${cells.map(toCell).join(",")}\r\n`;
}

/** Content of a record: its texts, and any other members. */
export const readTexts = (content: Diagnosis[string] | undefined) =>
  JSON.parse(stringify(content)) as { input?: string; output?: string; [member: string]: unknown };

/** All feedback on a record, and its value under each name. */
export function toFeedbackCells(feedback: Diagnosis[string] | undefined, names: string[]): unknown[] {
  const pieces: Feedback[] = feedback === undefined ? [] : JSON.parse(stringify(feedback));
  const byName = groupBy(pieces, ({ name }) => name);
  return [feedback ?? null, ...names.map((name) => together(byName.get(name) ?? []))];
}

/** Value of several authors under one name: the mean of numbers, the share of true, or all labels. */
function together(pieces: Feedback[]): FeedbackValue | null {
  const values = pieces.map(({ value }) => value);
  if (values.length < 2) return values[0] ?? null;
  if (typeof values[0] === "string") return [...new Set(values)].sort().join("; ");
  return Number((values.reduce<number>((sum, value) => sum + Number(value), 0) / values.length).toPrecision(15));
}

/** A time outside the range of dates stays a number. */
export const toIsoTime = (at: number) => Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : at;

// Spreadsheets run a text that begins with one of these characters as a formula, unless a quote precedes it. A text
// that already has the quote gets another one: removing one quote restores every text.
const formula = /^'*[=+\-@\t\r]/;

function toCell(value: unknown): string {
  const json = stringify(value);
  const text = json === "null" ? "" : json.startsWith('"') ? toSafeText(JSON.parse(json)) : json;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const toSafeText = (text: string) => formula.test(text) ? `'${text}` : text;
