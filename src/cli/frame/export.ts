// Writes exports while they arrive, so that no export is in memory as a whole.
import type { Export, ExportFormat } from "../../management/kernel/export.ts";
import { createGuard } from "../../support/ci-text.ts";
import { invalid, Refusal, unusable } from "../../common/errors.ts";
import { describeError } from "../../common/log.ts";
import type { Operation } from "../../management/kernel/operation.ts";
import type { Terminal } from "../../runtime/terminal.ts";
import type { CommandContext, Outcome } from "./command.ts";

/** Runs an operation that exports `items`: to the file of `--out`, or to stdout if none is named. */
export async function exportItems<Input extends object>(
  { args, call, terminal }: CommandContext,
  operation: Operation<Input, Export>,
  input: Input,
  items: string,
): Promise<Outcome> {
  const target = { path: readPath(args.findText("out")), force: args.has("force") };
  return await exportTo(terminal, target, items, await call(operation, input));
}

/** The file of an export; undefined for stdout. */
function readPath(path: string | undefined): string | undefined {
  if (path === "") throw invalid("--out must be a file name, or - for stdout");
  return path === "-" ? undefined : path;
}

/** Writes an export, and counts its items. */
async function exportTo(
  terminal: Terminal,
  { path, force }: { path: string | undefined; force: boolean },
  items: string,
  { format, text }: { format: ExportFormat; text: AsyncIterable<string> },
): Promise<Outcome> {
  const file = path === undefined ? undefined : await terminal.create(path, { force });
  const count = format === "csv" ? countCsvRecords() : countLines();
  // Exported text must not control the terminal that shows it.
  const guard = file === undefined && terminal.columns !== undefined ? createGuard({}, false) : undefined;
  let exported = 0;
  try {
    for await (const part of text) {
      if (!await (file ?? terminal).write(guard?.(part) ?? part)) return {};
      exported = count(part);
      terminal.report(`Exported ${exported} ${items}`);
    }
  } catch (error) {
    await file?.leave();
    const cause = error instanceof Refusal ? error.message : describeError(error);
    const where = file === undefined ? "" : `; the partial file is ${file.partPath}`;
    throw unusable(`The export failed after ${exported} ${items}${where}: ${cause}`);
  }
  await file?.finish();
  return path === undefined
    ? { note: `Exported ${exported} ${items}` }
    : { data: { file: path, format, [items]: exported } };
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
