// Writes exports while they arrive, so that no export is in memory as a whole.
import type { ExportFormat } from "../management/export.ts";
import { Refusal, unusable } from "../common/errors.ts";
import { describeError } from "../common/log.ts";
import type { Terminal } from "../runtime/terminal.ts";
import type { Outcome } from "./command.ts";

/** Writes an export to a file, or to stdout if none is named, and counts its records. */
export async function exportTo(
  terminal: Terminal,
  { path, force }: { path: string | undefined; force: boolean },
  { format, text }: { format: ExportFormat; text: AsyncIterable<string> },
): Promise<Outcome> {
  const file = path === undefined ? undefined : await terminal.create(path, { force });
  const count = format === "csv" ? countCsvRecords() : countLines();
  let records = 0;
  try {
    for await (const part of text) {
      if (!await (file ?? terminal).write(part)) return {};
      records = count(part);
      terminal.report(`Exported ${records} records`);
    }
  } catch (error) {
    await file?.leave();
    const cause = error instanceof Refusal ? error.message : describeError(error);
    const where = file === undefined ? "" : `; the partial file is ${file.partPath}`;
    throw unusable(`The export failed after ${records} records${where}: ${cause}`);
  }
  await file?.finish();
  return path === undefined ? { note: `Exported ${records} records` } : { data: { file: path, format, records } };
}

/** Counts lines part by part. Each call returns the total. */
function countLines(): (part: string) => number {
  let lines = 0;
  return (part) => {
    for (let at = part.indexOf("\n"); at >= 0; at = part.indexOf("\n", at + 1)) lines++;
    return lines;
  };
}

/** Within quotes a line break is part of a value. The first line is the header. */
function countCsvRecords(): (part: string) => number {
  const quote = 0x22, lineFeed = 0x0a;
  let lines = 0;
  let isQuoted = false;
  return (part) => {
    for (let at = 0; at < part.length; at++) {
      const code = part.charCodeAt(at);
      if (code === quote) isQuoted = !isQuoted;
      else if (code === lineFeed && !isQuoted) lines++;
    }
    return Math.max(0, lines - 1);
  };
}
