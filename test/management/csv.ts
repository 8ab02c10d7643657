// Reads CSV.
import * as assert from "uvu/assert";

/** Parses CSV by RFC 4180: a line break is CRLF, and a quote in quotes is doubled. */
export function readCsv(text: string): string[][] {
  const lines: string[][] = [];
  let cells: string[] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy;
  while (cell.lastIndex < text.length) {
    const at = cell.lastIndex;
    const match = cell.exec(text);
    assert.ok(match, `no CSV: ${text.slice(at, at + 40)}`);
    cells.push(match[1]?.replaceAll('""', '"') ?? match[2]!);
    if (match[3] === ",") continue;
    lines.push(cells);
    cells = [];
  }
  assert.equal(cells, []);
  return lines;
}
