// Usage: what a workspace has used of its monthly quota, by month and by day.
import { notFound } from "../common/errors.ts";
import type { WorkspaceId } from "../common/ids.ts";
import { endOfMonth, startOfMonth } from "../common/month.ts";
import { findLogRange } from "../ledger/blocks.ts";
import { countDays } from "../ledger/calls.ts";
import { findUsage, listMonths as list } from "../ledger/usage.ts";
import { DayUsage, MonthUsage } from "../schema/ledger.ts";
import { quotaState } from "../schema/serving.ts";
import { described, exactly, listOf, named } from "../schema/struct.ts";
import type { Infer } from "../schema/struct.ts";
import * as v from "./values.ts";
import { operation, pageOf, percent } from "./operation.ts";
import { requireWorkspace } from "./workspaces.ts";

const Usage = named(
  "Usage",
  exactly({ ...quotaState, days: described(listOf(DayUsage), "The days of the calls that are still in the log") }),
);
export type Usage = Infer<typeof Usage>;

const sliceLength = 8_192; // positions that one query scans: some 10 ms, in which nothing else runs

export const readUsage = operation({
  id: "readUsage",
  tag: "Ledger",
  summary: "Show what a workspace used of a month's quota, by day too",
  method: "GET",
  path: "/workspaces/{workspaceId}/usage/{month}",
  role: "viewer",
  command: "usage --workspace ID [--month YYYY-MM]",
  input: { workspaceId: v.id<WorkspaceId>(), month: v.month },
  output: Usage,
  refusals: ["not_found"],
  isLong: true,
  async run({ database, report }, { workspaceId, month }) {
    const found = await findUsage(database, workspaceId, month);
    if (found === undefined) throw notFound("Workspace", workspaceId);
    const days = new Map<string, DayUsage>();
    const { first, end } = await findLogRange(database, { from: startOfMonth(month), to: endOfMonth(month) });
    for (let start = first; start < end; start += sliceLength) {
      const slice = { first: start, end: Math.min(end, start + sliceLength) };
      for (const { day, reads, submits } of await countDays(database, workspaceId, month, slice)) {
        const counted = days.get(day) ?? { day, reads: 0, submits: 0 };
        days.set(day, { day, reads: counted.reads + reads, submits: counted.submits + submits });
      }
      report?.(`Counted ${percent((slice.end - first) / (end - first))}`);
    }
    return { ...found, days: [...days.values()].sort((a, b) => a.day < b.day ? -1 : 1) };
  },
});

export const listMonths = operation({
  id: "listMonths",
  tag: "Ledger",
  summary: "List the months in which a workspace used anything, newest first",
  method: "GET",
  path: "/workspaces/{workspaceId}/usage",
  role: "viewer",
  command: "usage months --workspace ID",
  input: { workspaceId: v.id<WorkspaceId>(), ...v.page },
  output: pageOf(MonthUsage),
  refusals: ["not_found"],
  async run(management, { workspaceId, ...page }) {
    await requireWorkspace(management, workspaceId);
    return await list(management.database, workspaceId, page);
  },
});

export const usageOperations = [listMonths, readUsage];
