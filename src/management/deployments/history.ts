// The history of a deployment, read from the audit log, and the possible versions of a rollback.
import type { Page, PageRequest } from "../../common/domain.ts";
import type { DeploymentId } from "../../common/ids.ts";
import type { Database, Row } from "../../database/database.ts";
import { readPage } from "../../database/page.ts";
import { integer, text } from "../../database/row.ts";
import type { TimeRange } from "../../ledger/blocks.ts";
import { described, exactly, nullable, oneOf, option, orNull, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { toEntry } from "../kernel/audit-chain.ts";
import type { Deployment } from "./deployments.ts";
import { knownOrigin, originIn } from "../kernel/origin.ts";
import { guardMembers } from "../terms/guards.ts";
import { sources } from "../kernel/operation.ts";
import type { Source } from "../kernel/operation.ts";
import { describeGuarded, percent } from "../terms/rollouts.ts";
import type { ActiveRollout } from "../terms/rollouts.ts";

const changedRollout = exactly({ id: v.text, version: v.positive, percent, ...guardMembers });

/** The member that each action changes. Archiving sets a time, which the history shows as true or false. */
const members = {
  created: "currentVersion",
  promoted: "currentVersion",
  rolled_back: "currentVersion",
  activated: "isActive",
  deactivated: "isActive",
  renamed: "name",
  archived: "archivedAt",
  unarchived: "archivedAt",
  protected: "isProtected",
  approvals_changed: "approvals",
  unprotected: "isProtected",
  rollout_started: "rollout",
  rollout_changed: "rollout",
  rollout_stopped: "rollout",
} as const satisfies Record<string, keyof Deployment>;
const action = oneOf(...Object.keys(members) as (keyof typeof members)[]);
export type Action = Infer<typeof action>;

export const DeploymentChange = shape("DeploymentChange", {
  revision: v.positive,
  action,
  from: orNull(
    v.versionStateOrName,
    "The version, the name, the rollout, or whether it was active, protected, archived or needed approvals, before. Null for its creation",
  ),
  to: described(
    v.versionStateOrName,
    "The version, the name, the rollout, or whether it is active, protected, archived or needs approvals, after",
  ),
  rollout: option(nullable(changedRollout), "The rollout after a change of it. Null if the change ended it"),
  source: described(oneOf(...sources), "How the change was made"),
  actor: described(v.text, "The name of the token, or the user of the command line. It may be empty"),
  note: described(v.text, "The reason that was given. It may be empty"),
  requestedBy: option(v.text, "Who requested it, if the actor approved it. It may be empty"),
  withoutApproval: option(v.boolean, "True if it needed no approval, though other changes of the deployment did"),
  origin: knownOrigin,
  createdAt: v.timestamp,
});
export type DeploymentChange = Infer<typeof DeploymentChange>;

const ofDeployment = "from audit_log where target_id = :id and action glob 'deployment.*'";

/** The changes of a deployment, newest first. */
export function listChanges(
  database: Database,
  id: DeploymentId,
  request: PageRequest,
): Promise<Page<DeploymentChange>> {
  const sql = `select * ${ofDeployment}
      and after ->> 'revision' < coalesce(cast(:cursor as integer), ${Number.MAX_SAFE_INTEGER})
    order by position desc limit :rows`;
  const query = (page: { cursor: string | null; rows: number }) => ({ sql, args: { id, ...page } });
  return readPage(database, request, query, toChange, ({ revision }) => revision);
}

const knownChanges = 10_000; // that made a version live, for rollbacks

/** The last changes that made a version live, oldest first: so many of those that were made in a time (Unix ms). */
export async function listVersionChanges(
  database: Database,
  id: DeploymentId,
  { limit = knownChanges, from = 0, to = Number.MAX_SAFE_INTEGER }: { limit?: number } & TimeRange = {},
): Promise<(VersionChange & { to: number; revision: number; at: number })[]> {
  const rows = await database.read({
    sql:
      `select action, created_at, after ->> 'currentVersion' as version, after ->> 'revision' as revision ${ofDeployment} and version is not null
        and created_at >= :from and created_at < :to
      order by position desc limit :limit`,
    args: { id, limit, from, to },
  });
  return rows.reverse().map((row) => ({
    action: actionOf(row),
    to: integer(row, "version"),
    revision: integer(row, "revision"),
    at: integer(row, "created_at"),
  }));
}

export const LiveVersion = shape("LiveVersion", {
  deployId: v.text,
  reference: described(v.text, "The deployment as NAME@DEPLOYMENT, as it is called now"),
  promptId: v.text,
  at: v.timestamp,
  version: orNull(v.positive, "The version that was live. Null if the deployment did not exist yet"),
  isActive: described(v.boolean, "Whether it was active and not archived then"),
  change: orNull(DeploymentChange, "What had made the version live: by whom, when and why"),
});
export type LiveVersion = Infer<typeof LiveVersion>;

/** Live version of a deployment at a time (Unix ms): the change that made it live, and if it accepted requests. */
export async function findLiveAt(
  database: Database,
  id: DeploymentId,
  time: number,
): Promise<{ change: DeploymentChange; isActive: boolean } | undefined> {
  const last = (member: string) =>
    `(select max(position) ${ofDeployment} and created_at <= :time and after -> '${member}' is not null)`;
  const [row] = await database.read({
    sql: `select *,
        (select after ->> 'isActive' from audit_log where position = ${last("isActive")}) as active,
        (select after ->> 'archivedAt' from audit_log where position = ${last("archivedAt")}) as archived
      from audit_log where position = ${last("currentVersion")}`,
    args: { id, time },
  });
  return row && { change: toChange(row), isActive: integer(row, "active") === 1 && row.archived === null };
}

const actionOf = (row: Row): Action => text(row, "action").slice("deployment.".length) as Action;

function toChange(row: Row): DeploymentChange {
  const { createdAt, source, actor, note, before, after } = toEntry(row);
  const action = actionOf(row), member = members[action];
  const valueIn = (state: Record<string, unknown>) =>
    member === "rollout" ? describeGuarded(state.rollout as ActiveRollout) : state[member] as DeploymentChange["to"];
  const was = before === null ? null : JSON.parse(before), is = JSON.parse(after!);
  const { rollout, requestedBy, withoutApproval } = is;
  return {
    revision: is.revision,
    action,
    ...member === "archivedAt"
      ? { from: action === "unarchived", to: action === "archived" }
      : member === "approvals"
      ? { from: was.approvals > 0, to: is.approvals > 0 }
      : { from: was && valueIn(was), to: valueIn(is) },
    ...rollout === undefined ? {} : { rollout: rollout && toChangedRollout(rollout) },
    ...{ source: source as Source, actor, note },
    ...requestedBy === undefined ? {} : { requestedBy },
    ...withoutApproval === undefined ? {} : { withoutApproval },
    ...{ origin: originIn(is), createdAt },
  };
}

const toChangedRollout = ({ id, version, percent, guard = null, certain = null }: ActiveRollout) => ({
  ...{ id, version, percent, guard, certain },
});

type VersionChange = Pick<DeploymentChange, "action" | "to">;

/**
 * `previous` is the default target of a rollback. `served` has all versions that were live but the current one, latest
 * first.
 */
type RollbackTargets = { live: number | undefined; previous: number | undefined; served: number[] };

/**
 * Reads a history, oldest change first. Promotions form a stack. A rollback removes the versions above its target. A
 * rollback to a version that was removed earlier puts it on top.
 */
export function findRollbackTargets(history: readonly VersionChange[]): RollbackTargets {
  const stack: number[] = [];
  const served = new Set<number>();
  for (const { action, to } of history) {
    if (typeof to !== "number") continue;
    const index = action === "rolled_back" ? stack.lastIndexOf(to, -2) : -1;
    if (index < 0) stack.push(to);
    else stack.length = index + 1;
    served.delete(to);
    served.add(to);
  }
  const live = stack.at(-1);
  return { live, previous: stack.at(-2), served: [...served].filter((version) => version !== live).reverse() };
}

/** The versions that were made live, each under the revision of the last change that did. The newest change comes first. */
export function findLastLive(changes: readonly Pick<DeploymentChange, "revision" | "to">[]): Map<number, number> {
  const lastLive = new Map<number, number>();
  const found = new Set<number>();
  for (const { revision, to } of changes) {
    if (typeof to !== "number" || found.has(to)) continue;
    found.add(to);
    lastLive.set(revision, to);
  }
  return lastLive;
}
