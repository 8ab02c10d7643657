// Alerts: conditions on the records, or the calls, of a deployment, a prompt or a workspace in the last minutes or
// hours. Services check them in the background, and write to the audit log when one fires or resolves. That entry is an
// event, which webhooks send.
import { durationText } from "../../support/duration.ts";
import { archived, byLeavingOut, invalidField, notFound } from "../../common/errors.ts";
import { newId } from "../../common/ids.ts";
import type { AlertId, DeploymentId, PromptId, WorkspaceId } from "../../common/ids.ts";
import type { Page, PageRequest } from "../../common/domain.ts";
import type { Database, Row } from "../../database/database.ts";
import { readPage } from "../../database/page.ts";
import { integer } from "../../database/row.ts";
import { described, listOf, oneOf, option, orNull, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { condition, conditionInput, isTotal, readCondition, requireSuited } from "./alert-conditions.ts";
import { toEntry } from "../kernel/audit-chain.ts";
import type { Change } from "../kernel/commit.ts";
import { listSealed } from "../kernel/cursors.ts";
import { requireDeployment } from "../deployments/deployments.ts";
import { readFeedbackNames } from "../terms/feedback-names.ts";
import { createOperation, listOperation } from "../kernel/declare.ts";
import { changeInfo, operation, pageOf } from "../kernel/operation.ts";
import type { Store } from "../kernel/operation.ts";
import { requireOpenPrompt } from "../prompts/prompts.ts";
import { requireRoom } from "../kernel/room.ts";
import { withoutSpaces } from "../terms/limits.ts";
import { insertInto, tableOf } from "../kernel/table.ts";
import { requireWorkspace } from "../kernel/workspaces.ts";

const minute = 60_000, hour = 60 * minute, day = 24 * hour; // ms
const shownChanges = 20; // unless more are asked for

/** Minimum records of a share or a mean, unless an alert sets another. */
const defaultAtLeast = 50;
const defaultOver = 15 * minute;
/** A longer window changes so slowly that its condition seldom recurs. */
const defaultKeepFiring = (overMs: number): number => Math.min(overMs, hour);

const window = v.integerIn(5 * minute, day, " of milliseconds");
const records = v.integerIn(1, 1_000_000);

const conditionText =
  "When it fires: a measure, > or <, and a limit, as in failures>5%, p95>4s, cost>1, thumb<80% or records<1";
const definition = {
  condition: described(condition, conditionText),
  overMs: described(v.period, "The window up to now in which records and calls are counted, in milliseconds"),
  atLeast: orNull(v.positive, "How many records the condition needs. Null for what is counted in total"),
  keepFiringMs: described(
    v.period,
    "How long the condition must be false before the alert resolves, in milliseconds",
  ),
};

const states = ["ok", "firing", "no_data"] as const;

const alert = {
  id: v.textAs<AlertId>(),
  workspaceId: v.textAs<WorkspaceId>(),
  deployId: orNull(v.textAs<DeploymentId>(), "The deployment that it watches, or null"),
  promptId: orNull(v.textAs<PromptId>(), "The prompt whose deployments it watches, or null"),
  reference: orNull(
    v.text,
    "The deployment as NAME@DEPLOYMENT, or the name of the prompt. Null if it watches the whole workspace",
  ),
  ...definition,
  createdAt: v.timestamp,
  changedAt: described(v.timestamp, "When its condition was set, in Unix milliseconds"),
  muteEndsAt: described(v.moment, "Until when it neither fires nor resolves, in Unix milliseconds, or null"),
  state: described(
    oneOf(...states),
    "no_data: there were fewer records than it needs, or it was not checked yet. One that fires stays firing meanwhile",
  ),
  stateAt: described(v.timestamp, "When it got this state, in Unix milliseconds"),
  clearAt: described(
    v.moment,
    "Since when the condition of an alert that fires does not hold, in Unix milliseconds, or null",
  ),
  value: orNull(
    v.numeric,
    "What the last check found: a share from 0 to 1, milliseconds, USD or a count. Null if nothing",
  ),
  records: orNull(v.count, "Of how many records, or reads, that is. Null if it was not checked yet"),
  checkedAt: described(v.moment, "When the last check began, in Unix milliseconds, or null"),
};
export const Alert = shape("Alert", alert);
export type Alert = Infer<typeof Alert>;

export const alertTable = tableOf(
  Alert,
  `select a.*, a.deployment_id as deploy_id, coalesce(q.name || '@' || d.name, p.name) as reference
  from alerts a left join deployments d on d.id = a.deployment_id left join prompts q on q.id = d.prompt_id
    left join prompts p on p.id = a.prompt_id`,
);

export async function requireAlert({ database }: Store, id: AlertId): Promise<Alert> {
  const found = await alertTable.find(database, id);
  if (found === undefined) throw notFound("Alert", id);
  return found;
}

/** Number of firing alerts in all workspaces. */
export async function countFiring(database: Database): Promise<number> {
  const [row] = await database.read({ sql: "select count(*) as alerts from alerts where state = 'firing'" });
  return integer(row!, "alerts");
}

/** Definition of an alert as in the audit log. */
export const definitionOf = ({ deployId, promptId, condition, overMs, atLeast, keepFiringMs }: Alert) => ({
  ...{ deployId, promptId, condition, overMs, atLeast, keepFiringMs },
});

/** Changes that resolve a firing alert before it ends: receivers can then close what it opened. */
export const resolvedBy = ({ id, workspaceId, state }: Alert, note: string): Change[] =>
  state === "firing"
    ? [{ action: "alert.resolved", id, workspaceId, before: { state }, after: { state: "ok" }, note }]
    : [];

/** Minimum records of a condition: the input, or the default, and null for a total over all records. */
export function toAtLeast(text: string, given: number | null | undefined, before: number | null = null): number | null {
  if (!isTotal(readCondition(text))) return given ?? before ?? defaultAtLeast;
  if (given !== undefined && given !== null) {
    throw invalidField("atLeast", `${text} is counted in total: ${byLeavingOut("atLeast")}`);
  }
  return null;
}

/** Throws if a workspace has no data for a condition. */
export async function requireCondition(store: Store, workspaceId: WorkspaceId, text: string): Promise<void> {
  const [{ statuses }, names] = await Promise.all([
    requireWorkspace(store, workspaceId),
    readFeedbackNames(store, workspaceId),
  ]);
  requireSuited(readCondition(text), names, statuses);
}

/** The input members of a definition. */
export const definitionInput = {
  condition: described(conditionInput, `${conditionText}. Spaces around each part are allowed`),
  overMs: option(
    window,
    `The window up to now in which records and calls are counted, from ${durationText(5 * minute)} to ` +
      `${durationText(day)}, in milliseconds`,
    { default: defaultOver },
  ),
  atLeast: option(
    records,
    `How many records a share, a mean or a percentile needs. With fewer, the alert neither fires nor resolves. Default: ` +
      defaultAtLeast,
  ),
  keepFiringMs: option(
    v.period,
    "How long the condition must be false before the alert resolves, in milliseconds. Default: the window, but at " +
      `most ${durationText(hour)}`,
  ),
};

type Watched = { deployId?: DeploymentId | undefined; promptId?: PromptId | undefined };

/** The watched deployment or prompt, with its reference. Throws if it is archived or in another workspace. */
async function findWatched(
  store: Store,
  workspaceId: WorkspaceId,
  { deployId, promptId }: Watched,
): Promise<Pick<Alert, "deployId" | "promptId" | "reference">> {
  const prompt = promptId && await requireOpenPrompt(store, promptId, workspaceId);
  if (deployId === undefined) return { deployId: null, promptId: promptId ?? null, reference: prompt?.name ?? null };
  const { reference, archivedAt, ...deployment } = await requireDeployment(store, deployId);
  if (deployment.workspaceId !== workspaceId) throw notFound("Deployment", deployId);
  if (prompt !== undefined && deployment.promptId !== promptId) {
    throw invalidField("deployId", `${reference} is no deployment of ${prompt.name}: give one of the two`);
  }
  if (archivedAt !== null) throw archived("Deployment", reference);
  return { deployId, promptId: null, reference };
}

export const createAlert = createOperation({
  id: "createAlert",
  summary: "Create an alert, which fires when a condition holds: on a deployment, a prompt or the whole workspace",
  path: "/workspaces/{workspaceId}/alerts",
  conflicts: true,
  role: "editor",
  command: "alert create --when LIMIT [--prompt REF] [--over WINDOW] [--at-least N] [--keep-firing DURATION]",
  input: {
    workspaceId: v.workspaceId,
    deployId: option(v.deploymentReference, "Watch this deployment. Default: all of the workspace"),
    promptId: option(v.promptReference, "Watch the deployments of this prompt"),
    ...definitionInput,
    ...changeInfo,
  },
  output: Alert,
  locate: ({ id }) => `/alerts/${id}`,
  async run(management, { workspaceId, condition: typed, deployId, promptId, ...input }) {
    const condition = withoutSpaces(typed);
    const { overMs = defaultOver, keepFiringMs = defaultKeepFiring(overMs) } = input;
    const watched = await findWatched(management, workspaceId, { deployId, promptId });
    await requireCondition(management, workspaceId, condition);
    await requireRoom(management, "alerts", workspaceId);
    const now = management.clock(), id = newId("alert", now);
    const made: Alert = {
      ...{ id, workspaceId, ...watched },
      ...{ condition, overMs, atLeast: toAtLeast(condition, input.atLeast), keepFiringMs },
      ...{ createdAt: now, changedAt: now, muteEndsAt: null },
      ...{ state: "no_data", stateAt: now, clearAt: null, value: null, records: null, checkedAt: null },
    };
    const { deployId: deploymentId, reference: _, ...row } = made;
    await management.commit([{ action: "alert.created", id, workspaceId, after: definitionOf(made) }], [
      insertInto("alerts", { ...row, deploymentId, turn: 0 }),
    ]);
    return made;
  },
});

export const listAlerts = listOperation({
  id: "listAlerts",
  summary: "List the alerts of a workspace with their states, newest first",
  path: "/workspaces/{workspaceId}/alerts",
  command: "alert list [--state STATE]",
  input: {
    workspaceId: v.workspaceId,
    state: option(oneOf(...states), "Only those in this state"),
    ...v.page,
  },
  output: pageOf(Alert),
  run: ({ database }, { workspaceId, state, ...page }) =>
    alertTable.list(database, { workspaceId, ...state !== undefined && { state } }, page),
});

const AlertChange = shape("AlertChange", {
  at: v.timestamp,
  action: described(v.text, "What happened, such as alert.fired"),
  actor: described(v.text, "Who did it. It is alerts for what a check found"),
  value: orNull(v.numeric, "What the check found. Null for a change that somebody made"),
  note: described(v.text, "The reason, or what the check found, in words. It may be empty"),
});
const AlertWithChanges = shape("AlertWithChanges", {
  ...alert,
  changes: described(listOf(AlertChange), "Its changes, the newest first, from the audit log"),
  nextCursor: orNull(v.cursor, "The cursor of the next page of changes, or null on the last page"),
});
export type AlertWithChanges = Infer<typeof AlertWithChanges>;

type Placed = Infer<typeof AlertChange> & { position: number };

/** A page of the changes of an alert. A cursor is a position in the audit log. */
const listChanges = (database: Database, id: AlertId, page: PageRequest): Promise<Page<Placed>> => {
  const sql = `select * from audit_log where target_id = :id and action glob 'alert.*'
      and position < coalesce(cast(:cursor as integer), ${Number.MAX_SAFE_INTEGER})
    order by position desc limit :rows`;
  return readPage(database, page, (page) => ({ sql, args: { id, ...page } }), toChange, ({ position }) => position);
};

function toChange(row: Row): Placed {
  const { createdAt: at, action, actor, after, note, position } = toEntry(row);
  const { value = null } = JSON.parse(after ?? "{}") as { value?: number | null };
  return { at, action, actor, value, note, position };
}

export const readAlert = operation({
  id: "readAlert",
  summary: "Show an alert, and when it fired and resolved",
  method: "GET",
  path: "/alerts/{id}",
  paged: "all",
  command: "alert show ID",
  input: {
    id: v.alertId,
    limit: option(v.integerIn(1, 1_000), "How many changes to return at most", { default: shownChanges }),
    cursor: v.page.cursor,
  },
  output: AlertWithChanges,
  async run(management, { id, limit = shownChanges, cursor }) {
    const alert = await requireAlert(management, id), request = { limit, cursor };
    const list = (page: PageRequest) => listChanges(management.database, id, page);
    const { items, nextCursor } = await listSealed(management, `alert ${id}`, alert.workspaceId, request, list);
    return { ...alert, changes: items.map(({ position: _, ...change }) => change), nextCursor };
  },
});

export const deleteAlert = operation({
  id: "deleteAlert",
  summary: "Delete an alert. A firing alert resolves first",
  method: "DELETE",
  path: "/alerts/{id}",
  role: "editor",
  command: "alert delete ID",
  input: { id: v.alertId, ...changeInfo },
  output: Alert,
  async run(management, { id }) {
    const found = await requireAlert(management, id);
    const { workspaceId } = found;
    const deleted = { action: "alert.deleted", id, workspaceId, before: definitionOf(found) };
    await management.commit([...resolvedBy(found, "The alert was deleted"), deleted], [
      { sql: "delete from alerts where id = ?", args: [id] },
    ]);
    return found;
  },
});

export const alertOperations = [createAlert, listAlerts, readAlert, deleteAlert] as const;
