// Checks the alerts: counts the records and the calls in the window of each, and logs in the audit log which fire and
// which resolve. The numbers equal the statistics of the same time.
import { durationText } from "../../support/duration.ts";
import { groupBy } from "../../support/group-by.ts";
import { Refusal } from "../../common/errors.ts";
import type { AlertId } from "../../common/ids.ts";
import type { Database, Statement } from "../../database/database.ts";
import { integer, text } from "../../database/row.ts";
import { createLabels } from "../../feedback/feedback-words.ts";
import { countReads } from "../../log/reads.ts";
import { countRecords } from "../../tallies/stats.ts";
import { toStats } from "../../tallies/summary.ts";
import { exactly, nullable, oneOf } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { isBeyond, isSilence, isTotal, needsReads, readCondition, readMeasure, valueText } from "./alert-conditions.ts";
import type { Condition, Counts } from "./alert-conditions.ts";
import { alertTable } from "./alerts.ts";
import type { Alert } from "./alerts.ts";
import { inTurns, isDueAfter, lastChecked } from "../kernel/due.ts";
import { operation, perform } from "../kernel/operation.ts";
import type { Session, Store } from "../kernel/operation.ts";
import { deployIdsOf, scopeOfDeployment, scopeOfWorkspace, toCount } from "../records/record-filter.ts";
import type { Scope } from "../records/record-filter.ts";

/** Result of a check. `error` is the first failure, if any. */
export type AlertRun = { checked: number; fired: number; resolved: number; error?: unknown };

// ms. An alert is checked once in that time, however many services there are. It is a little less than services leave
// between two runs of their checks, because clocks differ.
const checkInterval = 55_000;

/** The alerts that are due. */
const isDue = `${isDueAfter(checkInterval)} and workspace_id not in (select id from deleted_workspaces)`;

/** Alerts that count the same records share the key. */
const keyOf = "workspace_id || ' ' || coalesce(deployment_id, prompt_id, '') || ' ' || over_ms";

const findDue = (now: number): Statement => ({
  sql: `select ids from (
      select workspace_id, json_group_array(id) as ids, min(${lastChecked}) as since, min(id) as first
      from alerts where ${isDue} group by ${keyOf}
    ) order by ${inTurns("since", "first")}`,
  args: { now },
});

const claim = (ids: string, now: number): Statement => ({
  sql: `update alerts set checked_at = :now, turn = turn + 1
    where id in (select value from json_each(:ids)) and ${isDue} returning id, turn`,
  args: { ids, now },
});

/** Result of checking an alert. */
const outcome = {
  state: oneOf("ok", "firing", "no_data"),
  clearAt: nullable(v.timestamp),
  value: nullable(v.numeric),
  records: v.count,
};
const Outcome = exactly(outcome);
type Outcome = Infer<typeof Outcome>;

/** Stores the result of a check, if it is the last one of the alert and it neither fires nor resolves. */
const store = (id: AlertId, turn: number, { state, ...found }: Outcome, now: number): Statement => ({
  sql: `update alerts set value = :value, records = :records, clear_at = :clearAt, state = :state,
      state_at = iif(state = :state, state_at, :now)
    where id = :id and turn = :turn and (state = 'firing') = (:state = 'firing')`,
  args: { ...found, id, turn, state, now },
});

/** Makes an alert fire or resolve, unless it does already, was checked again, or has been changed. */
const turnAlert = operation({
  id: "turnAlert",
  summary: "Say that an alert fires or resolves",
  method: "POST",
  path: "/alerts/{id}/state",
  role: "editor",
  input: { id: v.alertId, turn: v.count, now: v.timestamp, ...outcome, note: v.note },
  output: exactly({ changed: v.boolean }),
  async run(management, { id, turn, now, note: _, ...found }) {
    const { database } = management, isFiring = found.state === "firing";
    const [row] = await database.read(alertTable.where("id = ? and turn = ?", [id, turn]));
    if (row === undefined || (row.state === "firing") === isFiring) return { changed: false };
    const { workspaceId, deployId, promptId, condition, overMs, muteEndsAt } = alertTable.toItem(row);
    if (isMuted({ muteEndsAt }, now)) return { changed: false };
    const { value, records } = found, { limit } = readCondition(condition);
    const details = { deployId, promptId, condition, overMs, value, limit, records, from: now - overMs, to: now };
    const [before, state] = isFiring ? ["ok", "firing"] as const : ["firing", "ok"] as const;
    await management.commit([{
      action: isFiring ? "alert.fired" : "alert.resolved",
      ...{ id, workspaceId },
      before: { state: before },
      after: { state, ...details },
    }], [{
      sql: `update alerts set value = :value, records = :records, clear_at = null, state = :state, state_at = :now
        where id = :id`,
      args: { id, value, records, state: found.state, now },
    }]);
    return { changed: true };
  },
});

const isMuted = ({ muteEndsAt }: Pick<Alert, "muteEndsAt">, now: number): boolean =>
  muteEndsAt !== null && now < muteEndsAt;

/** Checks the alerts that no service has checked in the last minute. */
export async function checkAlerts(store: Store, isOver: () => boolean = () => false): Promise<AlertRun> {
  const { database, clock } = store;
  const run: AlertRun = { checked: 0, fired: 0, resolved: 0 };
  for (const row of await database.read(findDue(clock()))) {
    if (isOver()) return run;
    const now = clock();
    const [claimed] = await database.write([claim(text(row, "ids"), now)]);
    if (claimed!.length === 0) continue;
    const turns = new Map(claimed!.map((row) => [text<AlertId>(row, "id"), integer(row, "turn")]));
    const alerts = await readAlerts(database, [...turns.keys()]);
    // Alerts on records are checked apart, since they must not depend on feedback.
    for (const together of groupBy(alerts, ({ condition }) => readCondition(condition).isFeedback).values()) {
      try {
        await checkTogether(store, together, turns, now, run);
      } catch (error) {
        // Its workspace was deleted meanwhile.
        if (error instanceof Refusal && error.kind === "not_found") continue;
        // A failure does not keep the other alerts from being checked.
        run.error ??= error;
      }
    }
  }
  return run;
}

/** Checks alerts that count the same records. */
async function checkTogether(
  session: Store,
  alerts: Alert[],
  turns: ReadonlyMap<AlertId, number>,
  now: number,
  run: AlertRun,
): Promise<void> {
  const { database } = session;
  const scope = await scopeOf(session, alerts[0]!);
  const conditions = new Map(alerts.map(({ id, condition }) => [id, readCondition(condition)]));
  const counts = await count(session, scope, [now - alerts[0]!.overMs, now], [...conditions.values()]);
  const unchanged: Statement[] = [];
  for (const alert of alerts) {
    const { id } = alert, turn = turns.get(id)!, condition = conditions.get(id)!;
    const found = outcomeOf(alert, condition, counts, now);
    run.checked++;
    if ((alert.state === "firing") === (found.state === "firing")) {
      unchanged.push(store(id, turn, found, now));
      continue;
    }
    const caller = { source: "embedded", actor: "alerts", role: "owner" } as const;
    const input = { id, turn, now, ...found, note: describe(alert, condition, found) };
    const { changed } = await perform(turnAlert, { ...session, caller } satisfies Session, { value: input });
    if (changed) run[found.state === "firing" ? "fired" : "resolved"]++;
  }
  if (unchanged.length > 0) await database.write(unchanged);
}

const readAlerts = async (database: Database, ids: AlertId[]): Promise<Alert[]> =>
  (await database.read(alertTable.where("id in (select value from json_each(?)) order by id", [JSON.stringify(ids)])))
    .map(alertTable.toItem);

/** Deployments that an alert watches. Archived ones take no calls: an alert on one of them watches nothing. */
async function scopeOf(store: Store, { workspaceId, deployId, promptId }: Alert): Promise<Scope> {
  if (deployId !== null) {
    const { workspace, deployments } = await scopeOfDeployment(store, deployId);
    return { workspace, deployments: deployments.filter(({ archivedAt }) => archivedAt === null) };
  }
  const { workspace, deployments } = await scopeOfWorkspace(store, { workspaceId });
  if (promptId === null) return { workspace, deployments };
  return {
    workspace,
    deployments: deployments.filter((each) => each.promptId === promptId && each.archivedAt === null),
  };
}

/** Counts records and reads. Undefined if nothing is watched any more. */
async function count(
  store: Store,
  scope: Scope,
  [from, to]: [number, number],
  conditions: Condition[],
): Promise<Counts | undefined> {
  if (scope.deployments.length === 0) return undefined;
  const { database } = store, deployIds = deployIdsOf(scope), { workspace } = scope;
  const names = conditions.flatMap(({ name, isFeedback }) => isFeedback ? [name] : []);
  const matching = await toCount(store, scope, { from, to }, names);
  const { all } = await countRecords(store, matching, { by: "version" }, () => {});
  const reads = conditions.some(needsReads)
    ? await countReads(database, { workspaceId: workspace.id, deployIds, from, to })
    : 0;
  // Alerts watch no labels.
  return { stats: toStats(all, workspace.statuses, createLabels()), reads };
}

/** Result of a condition; undetermined with too few records, or in too short a time for silence. */
function outcomeOf(alert: Alert, condition: Condition, counts: Counts | undefined, now: number): Outcome {
  const { overMs, changedAt, atLeast } = alert;
  if (counts === undefined) {
    const holds = alert.state === "firing" ? false : null;
    return { ...toState({ ...alert, keepFiringMs: 0 }, holds, now), value: null, records: 0 };
  }
  const { value, records } = readMeasure(condition, counts);
  const isTooNew = isSilence(condition) && now >= changedAt && now < changedAt + overMs;
  const isEnough = isTotal(condition) ? !isTooNew : records >= (atLeast ?? 1);
  const holds = value !== null && isEnough ? isBeyond(condition, value) : null;
  return { ...toState(alert, holds, now), value, records };
}

/** State that follows if a condition holds, or not; null if that is undetermined. */
function toState(
  { state, clearAt, keepFiringMs, muteEndsAt }: Pick<Alert, "state" | "clearAt" | "keepFiringMs" | "muteEndsAt">,
  holds: boolean | null,
  now: number,
): Pick<Outcome, "state" | "clearAt"> {
  const isQuiet = isMuted({ muteEndsAt }, now);
  if (state !== "firing") {
    if (holds === null) return { state: "no_data", clearAt: null };
    return { state: holds && !isQuiet ? "firing" : "ok", clearAt: null };
  }
  if (holds === null) return { state, clearAt };
  if (holds) return { state, clearAt: null };
  // A time that is ahead comes from a wrong clock.
  const since = Math.min(clearAt ?? now, now);
  return now - since < keepFiringMs || isQuiet ? { state, clearAt: since } : { state: "ok", clearAt: null };
}

/** Result of a check as text: `failures is 12 % over 15m with 80 records, beyond failures>5%`. */
function describe({ overMs }: Alert, condition: Condition, { state, value, records }: Outcome): string {
  const { name, text } = condition, isCount = ["records", "reads"].includes(name) && !condition.isFeedback;
  const limit = `${state === "firing" ? "" : "no longer "}beyond ${text}`;
  if (value === null) return "What it watches is archived";
  const counted = isCount ? "" : ` with ${records} ${records === 1 ? "record" : "records"}`;
  return `${name} is ${valueText(condition, value)} over ${durationText(overMs)}${counted}, ${limit}`;
}
