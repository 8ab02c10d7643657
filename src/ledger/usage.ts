// Reads of the counted quota. The ledger alone writes it.
import type { Page, PageRequest } from "../common/domain.ts";
import type { WorkspaceId } from "../common/ids.ts";
import { endOfMonth } from "../common/month.ts";
import type { Database, Row } from "../database/database.ts";
import { readPage } from "../database/page.ts";
import { integer, text } from "../database/row.ts";
import type { MonthUsage } from "../schema/ledger.ts";
import type { QuotaState } from "../schema/serving.ts";

/** What was counted, and what follows from it. */
export function usageOf(
  { month, limit, reads, submits }: Pick<QuotaState, "month" | "limit" | "reads" | "submits">,
): QuotaState {
  const used = reads + submits;
  return {
    month,
    limit,
    used,
    remaining: Math.max(0, limit - used),
    reads,
    submits,
    resetTime: endOfMonth(month) / 1000,
  };
}

/** The months in which a workspace used anything, newest first. */
export function listMonths(
  database: Database,
  workspaceId: WorkspaceId,
  request: PageRequest,
): Promise<Page<MonthUsage>> {
  const sql = `select month, reads, submits from quota_usage
    where workspace_id = :workspaceId and month < coalesce(replace(:cursor, '_', '-'), '~') order by month desc limit :rows`;
  return readPage(
    database,
    request,
    (page) => ({ sql, args: { workspaceId, ...page } }),
    toMonth,
    ({ month }) => month.replace("-", "_"),
  );
}

function toMonth(row: Row): MonthUsage {
  const reads = integer(row, "reads");
  const submits = integer(row, "submits");
  return { month: text(row, "month"), used: reads + submits, reads, submits };
}
