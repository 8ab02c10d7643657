// Commands for diagnosis records: what came of the prompts.
import type { ExportFormat } from "../admin/export.ts";
import { invalid } from "../common/errors.ts";
import * as operations from "../operations/record-operations.ts";
import type { Arguments } from "./arguments.ts";
import { statsText } from "./charts.ts";
import { show } from "./command.ts";
import type { Command, CommandContext, Outcome } from "./command.ts";
import { exportTo } from "./export.ts";
import { harmless } from "./format.ts";
import { checkNewest, listLimit, listNewest, newestOptions } from "./lists.ts";
import { recordText } from "./record-text.ts";

const filters = "--deploy ID [--session S] [--status CODE] [--version N] [--from TIME] [--to TIME] [--text TEXT]";

const rangeOf = (args: Arguments) => ({
  deployId: args.text("deploy"),
  promptVersion: args.findNumber("version"),
  from: args.findNumber("from"),
  to: args.findNumber("to"),
});

const filterOf = (args: Arguments) => ({
  ...rangeOf(args),
  sessionId: args.findText("session"),
  status: args.findNumber("status"),
  text: args.findText("text"),
});

async function stats({ args, call }: CommandContext): Promise<Outcome> {
  const data = await call(operations.readStats, rangeOf(args));
  return { data, text: () => harmless(statsText(data)), note: data.records === 0 ? "No records" : undefined };
}

const showDeletion = ({ deleted }: { deleted: number }): Outcome =>
  show({ deleted }, deleted === 0 ? "Nothing to delete" : undefined);

/** Where an export goes: a file, or undefined for standard output. */
function readPath(path: string | undefined): string | undefined {
  if (path === "") throw invalid("--out must name a file, or be - for standard output");
  return path === "-" ? undefined : path;
}

export const recordCommands: Command[] = [
  {
    usage: `diagnosis list ${filters} ${newestOptions}`,
    summary:
      `List a deployment's records, newest first, ${listLimit} unless set; --page gives the next cursor too, for --json`,
    check: checkNewest,
    run: (context) => listNewest(context, operations.listDiagnoses, filterOf(context.args)),
  },
  {
    usage: "diagnosis show ID",
    summary: "Show a record; messages in its input and output are shown as a conversation",
    run: async ({ args, call }) => {
      const data = await call(operations.getDiagnosis, { id: args.text("ID") });
      return { data, text: () => harmless(recordText(data)) };
    },
  },
  {
    usage: `diagnosis export ${filters} [--format ndjson|csv] [--out FILE] [--force]`,
    summary:
      "Write records to standard output or a new file, newest first: JSON in lines, or CSV; --force replaces a file",
    run: async ({ args, call, terminal }) => {
      const format = args.findText<ExportFormat>("format");
      return exportTo(
        terminal,
        { path: readPath(args.findText("out")), force: args.has("force") },
        await call(operations.exportDiagnoses, { ...filterOf(args), format }),
      );
    },
  },
  {
    usage: "diagnosis delete ID",
    summary: "Delete a record; the books still balance",
    run: async ({ args, call }) => showDeletion(await call(operations.deleteDiagnosis, { id: args.text("ID") })),
  },
  {
    usage: "diagnosis delete --deploy ID --session S",
    summary: "Delete all records of a session with a deployment",
    run: async ({ args, call }) =>
      showDeletion(
        await call(operations.deleteSession, { deployId: args.text("deploy"), sessionId: args.text("session") }),
      ),
  },
  {
    usage: "stats --deploy ID [--version N] [--from TIME] [--to TIME]",
    summary: "Show each version's records in numbers: shares of statuses, latency, tokens",
    run: stats,
  },
];
