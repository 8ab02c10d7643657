// Notices for quotas of which a share is used, and for those that will not last the month.
import type { WorkspaceId } from "../../common/ids.ts";
import { endOfMonth, monthOf, startOfMonth } from "../../common/month.ts";
import type { Database, Row } from "../../database/database.ts";
import { integer, text } from "../../database/row.ts";
import { findUsedBefore } from "../../ledger/usage.ts";
import { forecast, startOfPace } from "../records/forecast.ts";
import { announce, batch, isHighest, isNew, startOfNotice } from "../kernel/notices.ts";
import type { Notice } from "../kernel/notices.ts";
import type { Store } from "../kernel/operation.ts";

const thresholds = [50, 80, 90, 100]; // percent
const day = 86_400_000; // ms

const factOf = (threshold: string) => `q.month || ' ' || ${threshold} || ' ' || w.monthly_limit`;

/** The highest threshold that each quota has reached. Another quota resets the thresholds. */
const reached = `
  select w.id, w.monthly_limit, q.month, q.reads + q.submits as used, max(t.value) as percent
  from workspaces w cross join quota_usage q on q.workspace_id = w.id and q.month >= :since
  cross join json_each(:thresholds) t
  where w.monthly_limit > 0 and (q.reads + q.submits) * 100 >= w.monthly_limit * t.value
    and w.id not in (select id from deleted_workspaces)
    and ${isHighest("quota.reached", "w.id", ":thresholds", factOf)}
    -- The quota of a month that is over may have been another one.
    and (q.month >= :month or not exists (
      select 1 from audit_log a where a.target_id = w.id and a.action = 'workspace.updated' and a.created_at >= :start
        and a.after ->> 'monthlyLimit' is not null
    ))
  group by w.id, q.month order by w.id, q.month limit ${batch}`;

async function findReached({ database, clock }: Store): Promise<Notice[]> {
  const now = clock(), month = monthOf(now);
  const args = { since: monthOf(startOfNotice(now)), month, start: startOfMonth(month) };
  const rows = await database.read({ sql: reached, args: { ...args, thresholds: JSON.stringify(thresholds) } });
  return rows.map((row) => {
    const { subject, month, used, quota } = quotaIn(row), percent = integer(row, "percent");
    return {
      action: "quota.reached",
      fact: `${month} ${percent} ${quota}`,
      ...{ subject, workspaceId: subject, data: { period: month, percent, used, quota } },
      note: `${percent} % of the quota for ${month} is used: ${used} of ${quota} requests`,
    };
  });
}

const quotaIn = (row: Row) => ({
  subject: text<WorkspaceId>(row, "id"),
  month: text(row, "month"),
  used: integer(row, "used"),
  quota: integer(row, "monthly_limit"),
});

/** Workspaces whose quota would not last if all requests of the month were made since the start of the pace. */
const hasty = `
  select * from (
    select w.id, w.monthly_limit, w.created_at, q.month, q.reads + q.submits as used,
      max(:since, w.created_at) as since
    from workspaces w cross join quota_usage q on q.workspace_id = w.id and q.month = :month
    where q.reads + q.submits between 1 and w.monthly_limit - 1
      and w.id not in (select id from deleted_workspaces) and ${isNew("quota.forecast", "w.id", "q.month")}
  ) where :now - since >= ${day} and cast(used as real) * (:end - since) > cast(monthly_limit as real) * (:now - since)
  order by id`;

/** Usage before a time, which does not change any more. It is looked up once for each day and workspace. */
const known = new WeakMap<Database, Map<string, number>>();
const maxKnown = 10_000;

async function findRecent(database: Database, row: Row): Promise<number> {
  const { subject, month, used } = quotaIn(row), since = integer(row, "since");
  if (since <= Math.max(startOfMonth(month), integer(row, "created_at"))) return used;
  const ofDatabase = known.get(database) ?? new Map<string, number>(), key = `${subject} ${since}`;
  known.set(database, ofDatabase);
  const before = ofDatabase.get(key) ?? await findUsedBefore(database, { workspaceId: subject, month, since, used });
  if (ofDatabase.size >= maxKnown) ofDatabase.clear();
  ofDatabase.set(key, before);
  return used - before;
}

/**
 * The console makes a forecast after an hour. This waits for a day, because there is only one notice. A workspace that
 * fails does not keep the others from their forecasts: its error is added to `errors`.
 */
async function findHasty({ database, clock }: Store, errors: unknown[]): Promise<Notice[]> {
  const now = clock(), month = monthOf(now);
  const args = { now, month, since: startOfPace(month, 0, now), end: endOfMonth(month) };
  const notices: Notice[] = [];
  for (const row of await database.read({ sql: hasty, args })) {
    const { subject, used, quota } = quotaIn(row);
    const recent = await findRecent(database, row).catch((error: unknown) => void errors.push(error));
    if (recent === undefined) continue;
    const found = forecast({ month, limit: quota, used, recent }, integer(row, "since"), now);
    if (found?.usedUpAt === undefined) continue;
    const { usedUpAt, byEnd } = found, percent = Math.floor(100 * used / quota);
    notices.push({
      ...{ action: "quota.forecast", fact: month, subject, workspaceId: subject },
      data: { period: month, percent, used, quota, usedUpAt: Math.round(usedUpAt), byEnd },
      note:
        `The quota for ${month} will be used up on ${new Date(usedUpAt).toISOString().slice(0, 10)} at the pace of ` +
        `the last days: ${used} of ${quota} requests are used`,
    });
    if (notices.length === batch) break;
  }
  return notices;
}

export async function noticeQuotas(store: Store, isOver: () => boolean): Promise<void> {
  await announce(store, isOver, findReached);
  const errors: unknown[] = [];
  await announce(store, isOver, (store) => findHasty(store, errors));
  if (errors.length > 0) throw errors[0];
}
