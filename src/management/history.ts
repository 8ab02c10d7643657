// The history of a deployment: one entry for each change, and where a rollback can go.
import type { Page, PageRequest } from "../common/domain.ts";
import type { DeploymentId } from "../common/ids.ts";
import type { Database, Row, Statement } from "../database/database.ts";
import { readPage } from "../database/page.ts";
import { integer, text } from "../database/row.ts";
import { described, exactly, named, nullable, oneOf } from "../schema/struct.ts";
import type { Infer } from "../schema/struct.ts";
import * as v from "./values.ts";
import { sources } from "./operation.ts";
import type { ChangeInfo, Management, Source } from "./operation.ts";

const action = oneOf(
  "created",
  "promoted",
  "rolled_back",
  "activated",
  "deactivated",
  "renamed",
  "archived",
  "unarchived",
);
export type Action = Infer<typeof action>;

export const DeploymentChange = named(
  "DeploymentChange",
  exactly({
    revision: v.positive,
    action,
    from: described(
      nullable(v.versionStateOrName),
      "The version, whether it was active or archived, or the name before; null where it was created",
    ),
    to: described(v.versionStateOrName, "The version, whether it is active or archived, or the name after"),
    source: described(oneOf(...sources), "How the change was made"),
    actor: described(v.text, "The name that the caller gave; may be empty"),
    note: described(v.text, "Why; may be empty"),
    createdAt: v.timestamp,
  }),
);
export type DeploymentChange = Infer<typeof DeploymentChange>;

/** What the history says of a change besides what changed. */
export type Origin = { actor: string; note: string; source: Source; now: number };

export const originOf = ({ clock, caller }: Management, { actor, note = "" }: ChangeInfo): Origin => ({
  source: caller.source,
  actor: actor ?? caller.actor,
  note,
  now: clock(),
});

/** Adds to the history of the deployment that a condition holds for; `from` and `to` are SQL. Gives a row where it did. */
export const addChange = (
  action: Action,
  from: string,
  to: string,
  condition: string,
  args: Extract<Statement["args"], Record<string, unknown>>,
): Statement => ({
  sql: `
    insert into deployment_changes
      (deployment_id, revision, action, from_value, to_value, source, actor, note, created_at)
    select id, revision + ${action === "created" ? 0 : 1}, :action, ${from}, ${to}, :source, :actor, :note, :now
    from deployments where ${condition} returning revision`,
  args: { ...args, action },
});

/** The changes of a deployment, newest first. */
export function listChanges(
  database: Database,
  id: DeploymentId,
  request: PageRequest,
): Promise<Page<DeploymentChange>> {
  const sql = `select * from deployment_changes where deployment_id = :id
      and revision < coalesce(cast(:cursor as integer), ${Number.MAX_SAFE_INTEGER})
    order by revision desc limit :rows`;
  const query = (page: { cursor: string | null; rows: number }) => ({ sql, args: { id, ...page } });
  return readPage(database, request, query, toChange, ({ revision }) => revision);
}

/** The changes that made a version live, oldest first. */
export async function listVersionChanges(database: Database, id: DeploymentId): Promise<VersionChange[]> {
  const rows = await database.read({
    sql: `select action, to_value from deployment_changes
      where deployment_id = ? and action in ('created', 'promoted', 'rolled_back') order by revision`,
    args: [id],
  });
  return rows.map((row) => ({ action: text(row, "action"), to: Number(text(row, "to_value")) }));
}

const toChange = (row: Row): DeploymentChange => ({
  revision: integer(row, "revision"),
  action: text(row, "action"),
  from: row.from_value === null ? null : JSON.parse(text(row, "from_value")),
  to: JSON.parse(text(row, "to_value")),
  source: text(row, "source"),
  actor: text(row, "actor"),
  note: text(row, "note"),
  createdAt: integer(row, "created_at"),
});

type VersionChange = Pick<DeploymentChange, "action" | "to">;

/** `previous` is where a rollback goes unless told otherwise; `served` are all versions but the live one, latest first. */
export type RollbackTargets = { live: number | undefined; previous: number | undefined; served: number[] };

/**
 * Reads a history, oldest change first. Promotions form a stack: a rollback removes what stands above the version that it
 * goes to. Going to a version that was removed earlier puts that on top.
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
