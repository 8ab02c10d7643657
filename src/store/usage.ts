// Reads of the counted quota. The ledger alone writes it.
import type { MonthUsage, Page, PageRequest, Usage } from "../domain.ts";
import { endOfMonth, monthOf } from "../month.ts";
import type { Caller } from "./admission.ts";
import type { Database, Row } from "./database.ts";
import { readPage } from "./page.ts";
import { integer, text } from "./row.ts";

/** What a workspace used of a month's quota; the limit is today's. Undefined where there is no such workspace. */
export async function findUsage(database: Database, workspaceId: string, month: string): Promise<Usage | undefined> {
  const rows = await database.read({
    sql: `select w.monthly_limit, coalesce(q.reads, 0) as reads, coalesce(q.submits, 0) as submits
      from workspaces w left join quota_usage q on q.workspace_id = w.id and q.month = :month
      where w.id = :workspaceId`,
    args: { workspaceId, month },
  });
  return rows.map((row) => toUsage(row, month))[0];
}

export type UsageOfKey = { usage: Usage; caller: Caller };

/** What the workspace of a key, by its hash, used of this month's quota; undefined where the key is not valid. */
export async function findUsageByKey(
  database: Database,
  keyHash: string,
  now: number,
): Promise<UsageOfKey | undefined> {
  const month = monthOf(now);
  const rows = await database.read({
    sql: `select w.id, k.api_key_id, w.monthly_limit,
        coalesce(q.reads, 0) as reads, coalesce(q.submits, 0) as submits
      from api_key_secrets k
      cross join workspaces w on w.id = k.workspace_id
      left join quota_usage q on q.workspace_id = w.id and q.month = :month
      where k.hash = :keyHash and (k.expires_at is null or k.expires_at > :now)`,
    args: { keyHash, month, now },
  });
  return rows.map((row) => ({
    usage: toUsage(row, month),
    caller: { workspaceId: text(row, "id"), keyId: text(row, "api_key_id") },
  }))[0];
}

function toUsage(row: Row, month: string): Usage {
  const limit = integer(row, "monthly_limit");
  const reads = integer(row, "reads");
  const submits = integer(row, "submits");
  const used = reads + submits;
  const resetTime = endOfMonth(month) / 1000;
  return { month, limit, used, remaining: Math.max(0, limit - used), reads, submits, resetTime };
}

/** The months in which a workspace used anything, newest first. */
export function listMonths(database: Database, workspaceId: string, request: PageRequest): Promise<Page<MonthUsage>> {
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
