// Background work. It completes deletions of workspaces, and removes records and calls that are past the retention of
// their workspace, and feedback whose record has not come in time. Services that share a database take turns by a
// lease.
import type { WorkspaceId } from "../../common/ids.ts";
import type { Database } from "../../database/database.ts";
import { integer, integerOrNull, text } from "../../database/row.ts";
import type { Step } from "../../log/prune.ts";
import { expireRecords, pruneWorkspace } from "../../log/retention.ts";
import { expireWaiting } from "../../feedback/waiting-feedback.ts";
import { deleteRest, listUnfinished } from "../access/deletion.ts";
import type { Store } from "../kernel/operation.ts";
import { paced } from "../kernel/paced.ts";
import { noticeUpkeep } from "./upkeep-notices.ts";
import type { Task } from "./upkeep-notices.ts";

/**
 * Numbers of removed calls, records, and pieces of feedback that waited too long. `error` is the first failure, if any.
 */
type UpkeepRun = { calls: number; records: number; feedback: number; error?: unknown };

type Attempt = (work: Task["work"], workspaceId: WorkspaceId, step: Step) => Promise<void>;

export type UpkeepOptions = {
  /** Name of the process that requests the lease. It must be unique. */
  holder: string;
  /** Minimum time between the starts of two runs, in ms. At most an hour. */
  interval: number;
  /** True to end the run. It is called between transactions. */
  isOver(): boolean;
  /** Receives what each transaction removed. */
  onRemoved?(removed: { calls: number; records: number }): void;
};

const leaseTime = 300_000; // ms. A holder that has not renewed the lease for that long is taken to have crashed
const renewalInterval = 60_000; // ms
const maxInterval = 3_600_000; // ms

/**
 * Does the work that is due, unless another process is doing it or the last run was too recent. Returns the result, or
 * the time to ask again, in Unix ms. Two runs at once would do no harm, because every transaction reads the current
 * state. So it suffices that clocks differ by less than the lease.
 */
export async function runUpkeep(store: Store, options: UpkeepOptions): Promise<UpkeepRun | { nextAt: number }> {
  const { database, clock } = store;
  const { holder, interval } = options;
  const startedAt = clock();
  const nextAt = await takeLease(database, holder, startedAt);
  if (nextAt !== undefined) return { nextAt };
  const run: UpkeepRun = { calls: 0, records: 0, feedback: 0 };
  let renewedAt = startedAt, isLost = false;
  const renew = async () => {
    if (Math.abs(clock() - renewedAt) < renewalInterval) return;
    renewedAt = clock();
    isLost = !await extendLease(database, holder, renewedAt + leaseTime);
  };
  const isOver = () => isLost || options.isOver();
  const runSteps = (step: Step) =>
    paced(step, isOver, async (removed) => {
      run.calls += removed.calls;
      run.records += removed.records;
      options.onRemoved?.(removed);
      await renew();
    });
  const failed: Task[] = [];
  /** Does the work for a workspace. If it fails, the work for the others goes on. */
  const attempt: Attempt = async (work, workspaceId, step) => {
    try {
      await runSteps(step);
    } catch (error) {
      run.error ??= error;
      // A service that stops may have closed the database already.
      if (!isOver()) failed.push({ work, workspaceId });
    }
  };
  try {
    for (const id of await listUnfinished(database)) await attempt("deletion", id, deleteRest(database, id, clock));
    await retain(store, attempt, isOver);
    await noticeUpkeep(store, failed, !isOver());
    await runSteps(expireWaiting(database, clock(), (pieces) => void (run.feedback += pieces)));
  } catch (error) {
    run.error ??= error;
  }
  // Another process has a lost lease. A run that was cut off releases the lease for the next run.
  if (!isLost) await extendLease(database, holder, options.isOver() ? clock() : startedAt + interval);
  return run;
}

/** Takes the lease, or returns its end. A lease that ends later than any interval was taken by a wrong clock. */
async function takeLease(database: Database, holder: string, now: number): Promise<number | undefined> {
  const [row] = await database.read({ sql: "select expires_at from upkeep where id = 1" });
  const expiresAt = integer(row!, "expires_at");
  if (expiresAt > now && expiresAt <= now + maxInterval) return expiresAt;
  const [taken] = await database.write([{
    sql: "update upkeep set holder = :holder, expires_at = :end where id = 1 and expires_at = :expiresAt returning id",
    args: { holder, end: now + leaseTime, expiresAt },
  }]);
  return taken!.length === 1 ? undefined : now + leaseTime;
}

/** Extends the lease. Returns true if it was still the holder's. */
async function extendLease(database: Database, holder: string, end: number): Promise<boolean> {
  const sql = "update upkeep set expires_at = ? where id = 1 and holder = ? returning id";
  const [rows] = await database.write([{ sql, args: [end, holder] }]);
  return rows!.length === 1;
}

const pageRows = 100;

/** Removes rows that are past their workspace's retention. */
async function retain(
  { database, clock }: Store,
  attempt: Attempt,
  isOver: () => boolean,
): Promise<void> {
  for (let cursor = ""; !isOver();) {
    const rows = await database.read({
      sql: `select id, keep_records_ms, keep_calls_ms from workspaces
        where id > ? and (keep_records_ms is not null or keep_calls_ms is not null) order by id limit ${pageRows}`,
      args: [cursor],
    });
    for (const row of rows) {
      const id = text<WorkspaceId>(row, "id"), calls = integerOrNull(row, "keep_calls_ms"), now = clock();
      const records = integerOrNull(row, "keep_records_ms");
      if (calls !== null) await attempt("retention", id, pruneWorkspace(database, id, now - calls));
      if (records !== null) await attempt("retention", id, expireRecords(database, id, now - records, now));
    }
    if (rows.length < pageRows) return;
    cursor = text(rows.at(-1)!, "id");
  }
}
