// Reads feedback from files: JSON with one piece per line, and CSV with a header, as spreadsheets write it (RFC 4180).
import { invalid } from "../../common/errors.ts";
import { findJsonFault } from "../../support/json-fault.ts";
import { ImportedFeedback } from "../../management/feedback/feedback.ts";
import type { FeedbackValue } from "../../schema/feedback.ts";
import { check } from "../../schema/struct.ts";
import { readNumber } from "../frame/placeholders.ts";

/** A line that was not imported, and why not. */
export type RefusedLine = { line: number; error: string };

/** The pieces of a file with their lines, and the refused lines. */
export type FeedbackFile = { pieces: { line: number; piece: ImportedFeedback }[]; refused: RefusedLine[] };

/** Reads the text of a file. Throws if the file as a whole cannot be read. */
export function readFeedbackFile(text: string, format: "ndjson" | "csv"): FeedbackFile {
  const file: FeedbackFile = { pieces: [], refused: [] };
  for (const { line, read } of format === "csv" ? linesOfCsv(text) : linesOfJson(text)) {
    try {
      file.pieces.push({ line, piece: check(ImportedFeedback, read(), "It") });
    } catch (error) {
      file.refused.push({ line, error: (error as Error).message });
    }
  }
  if (file.pieces.length + file.refused.length === 0) throw invalid("FILE has no feedback");
  return file;
}

type Line = { line: number; read(): unknown };

const linesOfJson = (text: string): Line[] =>
  text.replace(/^\ufeff/, "").split(/\r?\n/).flatMap((json, index) =>
    json.trim() === "" ? [] : [{ line: index + 1, read: () => readJson(json) }]
  );

function readJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    const { column, text } = findJsonFault(json)!;
    throw invalid(`It is not JSON: column ${column}: ${text}`);
  }
}

const required = ["record", "name", "value"];
const columns = [...required, "comment", "author", "source"];

function linesOfCsv(text: string): Line[] {
  const [header, ...rows] = readCsv(text, "FILE");
  const names = header?.cells.map((name) => name.trim()) ?? [];
  const isHeader = required.every((name) => names.includes(name)) && new Set(names).size === names.length &&
    names.every((name) => columns.includes(name));
  if (!isHeader) {
    throw invalid(
      `The first line of FILE must name the columns ${required.join(", ")}, and may name comment, author, source`,
    );
  }
  return rows.map(({ line, cells }) => ({ line, read: () => toPiece(names, cells) }));
}

function toPiece(names: string[], cells: string[]): object {
  if (cells.length !== names.length) {
    throw invalid(`It has ${cells.length} columns, and the first line ${names.length}`);
  }
  const given = names.map((name, index): [string, unknown] => [name, cells[index]!]).filter(([, cell]) => cell !== "");
  return Object.fromEntries(given.map(([name, cell]) => [name, name === "value" ? readValue(String(cell)) : cell]));
}

/** Value of a word: true or false, a number, or a label. */
export function readValue(word: string): FeedbackValue {
  if (word === "true" || word === "false") return word === "true";
  // Under a new name it would become a label, and the name would take no numbers.
  if (/^[+-]?\d+(,\d+)+$/.test(word)) throw invalid(`The value ${word} must have a point before decimals, as in 0.5`);
  return readNumber(word) ?? word;
}

/** A row of CSV, and the line on which it begins, from 1. */
export type CsvRow = { line: number; cells: string[] };

/** Reads the rows of a text. Empty lines are left out. `label` names the text in messages. */
export function readCsv(text: string, label: string): CsvRow[] {
  const rows: CsvRow[] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|\n|\r|$)/y;
  let line = 1, cells: string[] = [], first = line;
  for (let at = text.startsWith("\ufeff") ? 1 : 0; at < text.length || cells.length > 0; at = cell.lastIndex) {
    cell.lastIndex = at;
    const match = cell.exec(text);
    if (match === null) throw invalid(`${label} is not CSV: line ${line} has a quote without its counterpart`);
    const [whole, quoted, plain, separator] = match;
    cells.push(quoted?.replaceAll('""', '"') ?? plain!);
    line += whole.split(/\r\n|\n|\r/).length - 1;
    if (separator === ",") continue;
    if (cells.length > 1 || cells[0] !== "") rows.push({ line: first, cells });
    cells = [];
    first = line;
  }
  return rows;
}
