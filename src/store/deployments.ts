// Rows of deployments and their history. Whatever changes a deployment adds to its history in the same transaction.
import type { Deployment, DeploymentChange, Page, PageRequest, Reason, Source } from "../common/domain.ts";
import type { Database, Row, Statement } from "../database/database.ts";
import { readPage } from "../database/page.ts";
import { integer, text } from "../database/row.ts";

/** What the history says of a change besides what changed. */
export type Origin = Reason & { source: Source; now: number };

/** Stores a deployment and the first entry of its history. */
export async function createDeployment(database: Database, deployment: Deployment, origin: Origin): Promise<void> {
  const { id, workspaceId, name, promptId, currentVersion, createdAt } = deployment;
  await database.write([
    {
      sql:
        `insert into deployments (id, workspace_id, name, prompt_id, current_version, is_active, revision, created_at)
        values (:id, :workspaceId, :name, :promptId, :currentVersion, 1, 1, :createdAt)`,
      args: { id, workspaceId, name, promptId, currentVersion, createdAt },
    },
    addChange("created", "null", "json_quote(current_version)", "id = :id", { id, ...origin }),
  ]);
}

/** What may be changed: its column, and how the history writes what it holds. */
const written = {
  current_version: (value: string) => `json_quote(${value})`,
  is_active: (value: string) => `iif(${value}, 'true', 'false')`,
  name: (value: string) => `json_quote(${value})`,
};

/** One change; with `ifRevision` only where the deployment has not changed since it had that revision. */
export type Change = {
  column: keyof typeof written;
  value: number | string;
  action: DeploymentChange["action"];
  ifRevision?: number | undefined;
};

/** Gives the deployment as it then is, and whether it changed; undefined where there is none. */
export async function changeDeployment(
  database: Database,
  id: string,
  { column, value, action, ifRevision }: Change,
  origin: Origin,
): Promise<{ deployment: Deployment; changed: boolean } | undefined> {
  const condition = `id = :id and ${column} <> :value and revision = coalesce(:ifRevision, revision)`;
  const args = { id, value, ifRevision: ifRevision ?? null };
  const write = written[column];
  const [changed, , found] = await database.write([
    addChange(action, write(column), write(":value"), condition, { ...args, ...origin }),
    { sql: `update deployments set ${column} = :value, revision = revision + 1 where ${condition}`, args },
    { sql: "select * from deployments where id = ?", args: [id] },
  ]);
  const deployment = found!.map(toDeployment)[0];
  return deployment && { deployment, changed: changed!.length > 0 };
}

/** Adds to the history of the deployment that a condition holds for; `from` and `to` are SQL. Gives a row where it did. */
export const addChange = (
  action: DeploymentChange["action"],
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

export async function findDeployment(database: Database, id: string): Promise<Deployment | undefined> {
  return (await database.read({ sql: "select * from deployments where id = ?", args: [id] })).map(toDeployment)[0];
}

/** The deployments of a workspace that are called so, by name or id. */
export async function findDeploymentsCalled(
  database: Database,
  workspaceId: string,
  call: string,
): Promise<Deployment[]> {
  const sql =
    "select * from deployments where workspace_id = :workspaceId and (id = :call or name = :call) order by id";
  return (await database.read({ sql, args: { workspaceId, call } })).map(toDeployment);
}

/** The deployments of a workspace, newest first, inactive ones too. */
export function listDeployments(
  database: Database,
  workspaceId: string,
  request: PageRequest,
): Promise<Page<Deployment>> {
  const sql = `select * from deployments where workspace_id = :workspaceId and id < coalesce(:cursor, '~')
    order by id desc limit :rows`;
  return readPage(database, request, (page) => ({ sql, args: { workspaceId, ...page } }), toDeployment, ({ id }) => id);
}

/** The changes of a deployment, newest first. */
export function listDeploymentChanges(
  database: Database,
  id: string,
  request: PageRequest,
): Promise<Page<DeploymentChange>> {
  const sql = `select * from deployment_changes where deployment_id = :id
      and revision < coalesce(cast(:cursor as integer), ${Number.MAX_SAFE_INTEGER})
    order by revision desc limit :rows`;
  const query = (page: { cursor: string | null; rows: number }) => ({ sql, args: { id, ...page } });
  return readPage(database, request, query, toDeploymentChange, ({ revision }) => revision);
}

/** The changes that made a version live, oldest first. */
export async function listVersionChanges(
  database: Database,
  id: string,
): Promise<Pick<DeploymentChange, "action" | "to">[]> {
  const rows = await database.read({
    sql: `select action, to_value from deployment_changes
      where deployment_id = ? and action in ('created', 'promoted', 'rolled_back') order by revision`,
    args: [id],
  });
  return rows.map((row) => ({ action: toAction(row), to: Number(text(row, "to_value")) }));
}

const toAction = (row: Row) => row.action as DeploymentChange["action"];

export const toDeployment = (row: Row): Deployment => ({
  id: text(row, "id"),
  workspaceId: text(row, "workspace_id"),
  name: text(row, "name"),
  promptId: text(row, "prompt_id"),
  currentVersion: integer(row, "current_version"),
  isActive: row.is_active === 1,
  revision: integer(row, "revision"),
  createdAt: integer(row, "created_at"),
});

const toDeploymentChange = (row: Row): DeploymentChange => ({
  revision: integer(row, "revision"),
  action: toAction(row),
  from: row.from_value === null ? null : JSON.parse(text(row, "from_value")),
  to: JSON.parse(text(row, "to_value")),
  source: row.source as DeploymentChange["source"],
  actor: text(row, "actor"),
  note: text(row, "note"),
  createdAt: integer(row, "created_at"),
});
