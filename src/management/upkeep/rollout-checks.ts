// Checks the guards of the rollouts in progress, and stops those whose candidate is beyond a limit. It never starts or
// raises one.
import type { Statement } from "../../database/database.ts";
import { tallyOf } from "../../tallies/arms.ts";
import { stopRolloutOf } from "../deployments/deployment-writes.ts";
import { requireDeployment } from "../deployments/deployments.ts";
import { inTurns, isDueAfter, lastChecked } from "../kernel/due.ts";
import { feedbackIn, findCrossed, guardMembers, levelOf } from "../terms/guards.ts";
import { operation, perform } from "../kernel/operation.ts";
import type { Session, Store } from "../kernel/operation.ts";
import { scopeOfDeployment } from "../records/record-filter.ts";
import { measureRollout } from "../records/rollout-stats.ts";
import { Rollout, rolloutTable } from "../terms/rollouts.ts";
import { exactly } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";

/** Result of a check. `error` is the first failure, if any. */
export type GuardRun = { checked: number; stopped: number; error?: unknown };

const checkInterval = 60_000; // ms. A rollout is checked once in that time, however many services there are

/** The guarded rollouts that are due. */
const isDue = `ended_at is null and guard is not null and ${isDueAfter(checkInterval)}`;

const claim = (id: string, now: number): Statement => ({
  sql: `update rollouts set checked_at = :now where id = :id and ${isDue} returning id`,
  args: { id, now },
});

/** Ends a rollout for its guard, unless it has ended or has another guard by now. The numbers are in the note. */
const stopByGuard = operation({
  id: "stopByGuard",
  summary: "Stop a rollout for its guard",
  method: "POST",
  path: "/deployments/{id}/rollout/guard",
  role: "editor",
  input: { id: v.deploymentReference, rollout: v.rolloutId, ...guardMembers, note: v.note },
  output: exactly({ changed: v.boolean }),
  async run(management, { id, rollout, guard, certain }) {
    const before = await requireDeployment(management, id);
    const active = before.rollout;
    if (active?.id !== rollout || active.guard !== guard || active.certain !== certain) return { changed: false };
    await stopRolloutOf(management, { ...before, rollout: active }, "guard");
    return { changed: true };
  },
});

/** Checks the rollouts with a guard that no service has checked in the last minute. */
export async function checkGuards(store: Store, isOver: () => boolean = () => false): Promise<GuardRun> {
  const { database, clock } = store;
  const run: GuardRun = { checked: 0, stopped: 0 };
  const due = await database.read({
    sql: `select id from rollouts where ${isDue} order by ${inTurns(lastChecked, "id")}`,
    args: { now: clock() },
  });
  for (const { id } of due) {
    if (isOver()) return run;
    const [claimed] = await database.write([claim(String(id), clock())]);
    if (claimed!.length === 0) continue;
    try {
      const rollout = await rolloutTable.find(database, String(id) as Rollout["id"]);
      if (rollout === undefined) continue;
      run.checked++;
      if (await checkOne(store, rollout)) run.stopped++;
    } catch (error) {
      // A failure does not keep the other rollouts from being checked.
      run.error ??= error;
    }
  }
  return run;
}

/** Stops a rollout if its candidate is beyond a limit. Returns true if so. */
async function checkOne(store: Store, rollout: Rollout): Promise<boolean> {
  const { id, deployId, version, percent, guard, certain } = rollout;
  if (guard === null || certain === null) return false;
  const scope = await scopeOfDeployment(store, deployId);
  const how = { level: levelOf(guard, certain), names: feedbackIn(guard) };
  const { steps, differences } = await measureRollout(store, scope, rollout, how);
  const crossed = findCrossed(guard, differences);
  if (crossed === undefined) return false;
  const [base, candidate] = (["base", "candidate"] as const).map((arm) => tallyOf(steps, arm).sums.records);
  const note =
    `The guard stopped version ${version} at ${percent} %: ${crossed}. At ${certain} % certainty, of ${base} ` +
    `records of the base and ${candidate} of the candidate`;
  const session: Session = { ...store, caller: { source: "embedded", actor: "guard", role: "owner" } };
  return (await perform(stopByGuard, session, { value: { id: deployId, rollout: id, guard, certain, note } })).changed;
}
