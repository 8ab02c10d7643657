// A month's usage by day, and by key, deployment and operation: calls in the log and pruned calls. All numbers are as
// of the moment when the quota was read, even if calls are accepted or pruned during the scan.
import type { WorkspaceId } from "../common/ids.ts";
import { endOfMonth, startOfMonth } from "../common/month.ts";
import { blocksOfRange, commitAt, findLogRange } from "../ledger/blocks.ts";
import type { Database, Row } from "../database/database.ts";
import { integer, text } from "../database/row.ts";
import type { DayUsage } from "../schema/ledger.ts";
import type { QuotaState } from "../schema/serving.ts";
import { nextPosition } from "../ledger/statements.ts";
import { usageOf } from "../ledger/usage.ts";

/** A key's calls of a deployment. Both ids are empty for calls that were pruned before pruning counted by key. */
export type KeyUsage = { keyId: string; deployId: string; reads: number; submits: number };

/** `lastCallAt` is the time of the month's last call in the log; null if there is none. */
type MonthDetails = { usage: QuotaState; lastCallAt: number | null; days: DayUsage[]; keys: KeyUsage[] };

const sliceLength = 8_192; // positions that one query scans: some 10 ms, in which nothing else runs

/** Returns undefined if the workspace does not exist. `report` gets the progress, from 0 to 1. */
export async function readMonth(
  database: Database,
  workspaceId: WorkspaceId,
  month: string,
  report: (share: number) => void,
): Promise<MonthDetails | undefined> {
  const args = { workspaceId, month };
  const found = await database.read({ sql: quotaSql, args });
  const [quota] = found;
  if (quota === undefined) return undefined;
  const sequence = integer(quota, "sequence"), end = integer(quota, "position");
  let days = new Map<string, DayUsage>();
  let keys = sumByKey(found.slice(1));
  let lastCallAt: number | null = null;
  const range = await findLogRange(database, { from: startOfMonth(month), to: endOfMonth(month) });
  const last = Math.min(range.end, end);
  // Even if the log has no calls of the month, some may have been pruned meanwhile.
  for (let first = range.first; first === range.first || first < last; first += sliceLength) {
    const slice = { start: range.first, first, end: Math.min(last, first + sliceLength), sequence };
    const rows = await database.read({ sql: sliceSql, args: { ...args, ...slice } });
    const pruned = rows.filter(({ day }) => day === null);
    // Then calls that were accepted after the quota was read may have been pruned too.
    if (pruned.some((row) => integer(row, "position") > end)) return readMonth(database, workspaceId, month, report);
    if (pruned.length > 0) {
      // The calls counted so far have been pruned.
      days = new Map();
      keys = sumByKey(pruned);
    }
    const counted = rows.filter(({ day }) => day !== null);
    keys = sumByKey(counted, keys);
    for (const row of counted) {
      lastCallAt = Math.max(lastCallAt ?? 0, integer(row, "last_at"));
      const { reads, submits } = countsOf(row), day = text(row, "day");
      const sum = days.get(day) ?? { day, reads: 0, submits: 0 };
      days.set(day, { day, reads: sum.reads + reads, submits: sum.submits + submits });
    }
    report(last > range.first ? (slice.end - range.first) / (last - range.first) : 1);
  }
  const usage = usageOf({ month, limit: integer(quota, "monthly_limit"), ...countsOf(quota) });
  const byDay = [...days.values()].sort((a, b) => a.day < b.day ? -1 : 1);
  return { usage, lastCallAt, days: byDay, keys: [...keys.values()] };
}

const countsOf = (row: Row) => ({ reads: integer(row, "reads"), submits: integer(row, "submits") });

function sumByKey(rows: Row[], sums = new Map<string, KeyUsage>()): Map<string, KeyUsage> {
  for (const row of rows) {
    const keyId = text(row, "api_key_id"), deployId = text(row, "deployment_id");
    const sum = sums.get(`${keyId} ${deployId}`) ?? { keyId, deployId, reads: 0, submits: 0 };
    const { reads, submits } = countsOf(row);
    sums.set(`${keyId} ${deployId}`, { keyId, deployId, reads: sum.reads + reads, submits: sum.submits + submits });
  }
  return sums;
}

/** Returns the quota first, then the pruned calls. */
const quotaSql = `
  select 0 as api_key_id, null as deployment_id, coalesce(q.reads, 0) as reads, coalesce(q.submits, 0) as submits,
    w.monthly_limit, ${nextPosition} as position, (select coalesce(max(sequence), 0) from prunings) as sequence
  from workspaces w left join quota_usage q on q.workspace_id = w.id and q.month = :month
  where w.id = :workspaceId
  union all
  select api_key_id, deployment_id, reads, submits, 0, 0, 0 from pruned_calls
  where workspace_id = :workspaceId and month = :month
  order by 1`;

/** Sums the calls of a slice. Returns the pruned calls too, if the workspace was meanwhile pruned into the slice. */
const sliceSql = `${blocksOfRange}
  select date(m.created_at / 1000, 'unixepoch') as day, r.api_key_id, r.deployment_id,
    sum(iif(r.operation = 'read', r.count, 0)) as reads, sum(iif(r.operation = 'submit', r.count, 0)) as submits,
    max(m.created_at) as last_at, 0 as position
  from block cross join calls r on r.position >> 8 = block.number and r.workspace_id = :workspaceId
    and r.position >= :first and r.position < :end
  cross join ${commitAt("r.position")} and m.month = :month
  group by 1, 2, 3
  union all
  select null, u.api_key_id, u.deployment_id, u.reads, u.submits, null, s.position
  from prunings s cross join pruned_calls u on u.workspace_id = s.workspace_id and u.month = :month
  where s.workspace_id = :workspaceId and s.sequence > :sequence and (s.position > :first or :first = :start)`;
