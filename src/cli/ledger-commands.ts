// Commands for what was counted: calls, quota and books.
import type { Operation } from "../common/domain.ts";
import { monthOf } from "../common/month.ts";
import * as operations from "../operations/record-operations.ts";
import { usageText } from "./charts.ts";
import type { Command, CommandContext, Outcome } from "./command.ts";
import { show } from "./command.ts";
import { harmless } from "./format.ts";
import { checkNewest, listAll, listLimit, listNewest, newestOptions } from "./lists.ts";

async function usage({ args, call }: CommandContext): Promise<Outcome> {
  const currentMonth = monthOf(Date.now());
  const month = args.findText("month") ?? currentMonth;
  const data = await call(operations.readUsage, { workspaceId: args.text("workspace"), month });
  return { data, text: () => harmless(usageText(data, currentMonth)) };
}

/** The operation works for a few seconds at a time. */
async function prune({ args, call, terminal }: CommandContext): Promise<Outcome> {
  const olderThanMs = args.number("older-than");
  const sum = { calls: 0, records: 0 };
  for (let isDone = false; !isDone;) {
    const pruned = await call(operations.prune, { olderThanMs });
    sum.calls += pruned.calls;
    sum.records += pruned.records;
    isDone = pruned.isDone;
    terminal.report(`Pruned ${sum.calls} calls and ${sum.records} records`);
  }
  return show(sum);
}

async function verify({ args, call }: CommandContext): Promise<Outcome> {
  const data = await call(operations.verify, { workspaceId: args.findText("workspace") });
  const { total, unbalanced, ledgers } = data;
  const rest = total === ledgers.length ? "" : `; ${ledgers.length} are listed, those out of balance first`;
  return { data, note: `Balanced: ${total - unbalanced} of ${total} ledgers${rest}`, refused: !data.balanced };
}

export const ledgerCommands: Command[] = [
  {
    usage: "call list --workspace ID [--deploy ID] [--key ID] [--operation read|submit] [--version N] " +
      `[--from TIME] [--to TIME] ${newestOptions}`,
    summary:
      `List a workspace's accepted requests, newest first, ${listLimit} unless set; --page gives the next cursor too`,
    check: checkNewest,
    run: (context) => {
      const { args } = context;
      return listNewest(context, operations.listCalls, {
        workspaceId: args.text("workspace"),
        deployId: args.findText("deploy"),
        keyId: args.findText("key"),
        operation: args.findText<Operation>("operation"),
        promptVersion: args.findNumber("version"),
        from: args.findNumber("from"),
        to: args.findNumber("to"),
      });
    },
  },
  {
    usage: "usage --workspace ID [--month YYYY-MM]",
    summary: "Show what a workspace used of its quota, by day too, this month unless named",
    run: usage,
  },
  {
    usage: "usage months --workspace ID",
    summary: "List the months in which a workspace used anything, newest first",
    run: ({ args, call }) => listAll(call, operations.listMonths, { workspaceId: args.text("workspace") }),
  },
  {
    usage: "prune --older-than AGE",
    summary: "Take calls and records out of the log that are older, a day at least; the books still balance",
    run: prune,
  },
  {
    usage: "verify [--workspace ID]",
    summary: "Recount the books; exit 1 when a ledger does not balance",
    run: verify,
  },
];
