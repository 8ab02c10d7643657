// Reads quota usage, which only the ledger writes.
import type { Page, PageRequest } from "../common/domain.ts";
import type { WorkspaceId } from "../common/ids.ts";
import { endOfMonth } from "../common/month.ts";
import type { Database, Row } from "../database/database.ts";
import { readPage } from "../database/page.ts";
import { integer, integerOrNull, text } from "../database/row.ts";
import type { MonthUsage } from "../schema/ledger.ts";
import type { QuotaState } from "../schema/serving.ts";
import { blocksOfRange, commitAt, findLogRange } from "./blocks.ts";

/** Derives the state of a quota from its counts. */
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

/** A workspace's limit, and the number of requests used. */
export type QuotaUse = { workspaceId: string; limit: number; used: number };

/** Quota use in a month of the workspaces after an id, in order of their ids. */
export const listQuotas = (database: Database, month: string, after: string, rows: number): Promise<QuotaUse[]> =>
  readQuotas(database, "w.id > :after order by w.id limit :rows", { month, after, rows });

/** Quota use in a month of these workspaces. */
export const findQuotas = (database: Database, month: string, ids: string[]): Promise<QuotaUse[]> =>
  readQuotas(database, "w.id in (select value from json_each(:ids))", { month, ids: JSON.stringify(ids) });

async function readQuotas(
  database: Database,
  condition: string,
  args: Record<string, string | number>,
): Promise<QuotaUse[]> {
  const rows = await database.read({
    sql: `select w.id, w.monthly_limit, coalesce(q.reads + q.submits, 0) as used
      from workspaces w left join quota_usage q on q.workspace_id = w.id and q.month = :month
      where w.id not in (select id from deleted_workspaces) and ${condition}`,
    args,
  });
  return rows.map((row) => ({
    workspaceId: text(row, "id"),
    limit: integer(row, "monthly_limit"),
    used: integer(row, "used"),
  }));
}

/** Number of requests in a workspace's month before `since`, at most `used`. Pruned calls count as before. */
export async function findUsedBefore(
  database: Database,
  { workspaceId, month, since, used }: { workspaceId: string; month: string; since: number; used: number },
): Promise<number> {
  const range = await findLogRange(database, { from: since });
  if (range.first >= range.end) return used;
  const [row] = await database.read({
    // Rows within a block are unordered, so a block is read whole.
    sql: `${blocksOfRange}
      select min(number) as number from (
        select r.number from block cross join calls r on r.position >> 8 = block.number and r.workspace_id = :workspaceId
        cross join ${commitAt("r.position")} and m.month = :month and m.created_at >= :since
        limit 256
      )`,
    args: { ...range, workspaceId, month, since },
  });
  const number = integerOrNull(row!, "number");
  return number === null ? used : number - 1;
}
