// Runs the background upkeep of a service: at most once an hour, and in one process at a time if several share a
// database. The checks in `management/upkeep/checks.ts` run each minute.
import type { Clock } from "../../common/domain.ts";
import { describeError } from "../../common/log.ts";
import type { Log } from "../../common/log.ts";
import type { Metrics } from "../../common/metrics.ts";
import type { Database } from "../../database/database.ts";
import { yielding } from "../../database/yielding.ts";
import { createKeptTallies } from "../../tallies/kept-tallies.ts";
import { countFiring } from "../../management/events/alerts.ts";
import { checkInterval, runChecks } from "../../management/upkeep/checks.ts";
import { runUpkeep } from "../../management/upkeep/upkeep.ts";

const interval = 3_600_000; // ms
const firstDelay = 10_000; // ms, because the start itself is busy
const restAfterChecks = 20; // times as long as they took, which bounds their share of the time
const checkLimit = 1_000; // ms for each of them, which mostly limits the rest after all of them to a minute
const maxJitter = 30_000; // ms, which spreads services that started together

const withJitter = (ms: number): number => ms + Math.random() * Math.min(maxJitter, ms);

/** `onCheck` is called each minute, after the checks. */
type Parts = { database: Database; clock: Clock; log: Log; metrics: Metrics; onCheck?: () => void };

/** Starts the upkeep. `stop` ends it after the current transaction. */
export function startUpkeep(
  { database, clock, log, metrics, onCheck }: Parts,
  delay = firstDelay,
  checkDelay = firstDelay,
): { stop(): void } {
  const store = { database: yielding(database), clock, kept: createKeptTallies() };
  const holder = crypto.randomUUID();
  const totals = { calls: 0, records: 0, feedback: 0, failures: 0, lastRunAt: 0 };
  const total = (name: string, help: string, read: () => number) => metrics.gauge(name, help, read, "counter");
  total("promptledger_pruned_calls_total", "Calls that the background upkeep removed", () => totals.calls);
  total("promptledger_deleted_records_total", "Records that the background upkeep removed", () => totals.records);
  total(
    "promptledger_removed_feedback_total",
    "Pieces of feedback that the background upkeep removed because no record came for them",
    () => totals.feedback,
  );
  total("promptledger_upkeep_failures_total", "Runs of the background upkeep that failed", () => totals.failures);
  metrics.gauge(
    "promptledger_upkeep_last_run_timestamp_seconds",
    "When this process last ended a run of the background upkeep, in Unix seconds; 0 if never",
    () => totals.lastRunAt / 1000,
  );
  let firing = 0;
  metrics.gauge("promptledger_alerts_firing", "Alerts of all workspaces that fire now", () => firing);
  metrics.beforeText(async () => {
    firing = await countFiring(store.database);
  });
  let isStopped = false;
  let timer = schedule(runOnce, withJitter(delay)), checkTimer = schedule(checkOnce, withJitter(checkDelay));

  function schedule(run: () => Promise<void>, ms: number) {
    const timer = setTimeout(() => void run(), ms);
    timer.unref();
    return timer;
  }

  async function checkOnce(): Promise<void> {
    const startedAt = performance.now();
    const errors = await runChecks({ store, log, isOver: () => isStopped, timeLimit: checkLimit });
    if (isStopped) return;
    totals.failures += errors.length;
    onCheck?.();
    checkTimer = schedule(checkOnce, Math.max(checkInterval, restAfterChecks * (performance.now() - startedAt)));
  }

  async function runOnce(): Promise<void> {
    let next = interval;
    try {
      const run = await runUpkeep(store, {
        holder,
        interval,
        isOver: () => isStopped,
        onRemoved({ calls, records }) {
          totals.calls += calls;
          totals.records += records;
        },
      });
      if ("feedback" in run) totals.feedback += run.feedback;
      if ("nextAt" in run) next = Math.min(interval, Math.max(1_000, run.nextAt - clock()));
      else if (run.error !== undefined) fail(run.error);
      else {
        totals.lastRunAt = clock();
        const { calls, records } = run;
        if (calls + records > 0) log.info("Removed calls and records past their retention", { calls, records });
      }
    } catch (error) {
      fail(error);
    }
    if (!isStopped) timer = schedule(runOnce, withJitter(next));
  }

  function fail(error: unknown): void {
    if (isStopped) return; // the database may be closed already
    totals.failures++;
    log.error("Background upkeep failed; it runs again in an hour", { cause: describeError(error) });
  }

  return {
    stop() {
      isStopped = true;
      clearTimeout(timer);
      clearTimeout(checkTimer);
    },
  };
}
