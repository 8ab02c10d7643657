// Reads CSV as spreadsheets write it (RFC 4180), with any line break.
import { invalid } from "../common/errors.ts";

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
