// Background checks that a service runs each minute. Each decides from the state of the database, so any number of
// services may run them at once.
import { describeError } from "../../common/log.ts";
import type { Log } from "../../common/log.ts";
import { checkAlerts } from "../events/alert-checks.ts";
import { noticeBudgets } from "./budget-notices.ts";
import { expireRequests } from "./change-expiries.ts";
import type { Store } from "../kernel/operation.ts";
import { noticeQuotas } from "./quota-notices.ts";
import { noticeExpiries } from "./expiry-notices.ts";
import { checkGuards } from "./rollout-checks.ts";

/**
 * Input of checks. `isOver` returns true if checks must end, and is called between transactions. A check that takes
 * longer than `timeLimit` ms leaves the rest to the next run.
 */
export type CheckParts = { store: Store; log?: Log | undefined; isOver(): boolean; timeLimit?: number };

/**
 * A check. On failure it rejects, after all work that does not depend on the failure. With much work it begins with
 * rows that have waited longest, or take least, so a workspace with much of it keeps no other waiting.
 */
type Check = { name: string; run(parts: Omit<CheckParts, "timeLimit">): Promise<void> };

export const checkInterval = 60_000; // ms from the end of one run to the next one

const checks: readonly Check[] = [
  {
    name: "the guards of rollouts",
    async run({ store, log, isOver }) {
      const { stopped, error } = await checkGuards(store, isOver);
      if (stopped > 0) {
        log?.warn("Stopped rollouts whose candidate was beyond a limit of the guard", { rollouts: stopped });
      }
      if (error !== undefined) throw error;
    },
  },
  {
    name: "alerts",
    async run({ store, log, isOver }) {
      const { fired, resolved, error } = await checkAlerts(store, isOver);
      if (fired > 0) log?.warn("Alerts fire", { alerts: fired });
      if (resolved > 0) log?.info("Alerts resolved", { alerts: resolved });
      if (error !== undefined) throw error;
    },
  },
  { name: "budgets", run: ({ store, isOver }) => noticeBudgets(store, isOver) },
  { name: "quotas", run: ({ store, isOver }) => noticeQuotas(store, isOver) },
  { name: "expiries", run: ({ store, isOver }) => noticeExpiries(store, isOver) },
  { name: "change requests", run: ({ store, isOver }) => expireRequests(store, isOver) },
];

/** Runs all checks, one after the other. Returns the errors of those that failed. */
export async function runChecks({ timeLimit = Infinity, ...parts }: CheckParts): Promise<unknown[]> {
  const errors: unknown[] = [];
  for (const { name, run } of checks) {
    if (parts.isOver()) break;
    // The time begins with the first call for it, so each run does something, however slow the database is.
    let startedAt: number | undefined;
    const isLate = () => performance.now() - (startedAt ??= performance.now()) > timeLimit;
    try {
      await run({ ...parts, isOver: () => parts.isOver() || isLate() });
    } catch (error) {
      errors.push(error);
      // A service that stops may have closed the database already.
      if (!parts.isOver()) {
        parts.log?.error(`The check of ${name} failed; it runs again`, { cause: describeError(error) });
      }
    }
  }
  return errors;
}
