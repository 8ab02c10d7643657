// Rows of deployments and their history. Whatever changes a deployment adds to its history in the same transaction.
import type { Deployment, DeploymentChange } from "../domain.ts";
import type { Database, Row, Statement } from "./database.ts";
import { integer, integerOrNull, text } from "./row.ts";

/** Stores a deployment and the first entry of its history; with `ifNameIsFree` only where no other has its name. */
export async function createDeployment(
  database: Database,
  deployment: Deployment,
  ifNameIsFree: boolean,
): Promise<boolean> {
  const { id, workspaceId, name, promptId, currentVersion, createdAt } = deployment;
  const [made] = await database.write([
    {
      sql: `insert into deployments (id, workspace_id, name, prompt_id, current_version, is_active, created_at)
        select :id, :workspaceId, :name, :promptId, :currentVersion, 1, :createdAt
        where not :ifNameIsFree
          or not exists (select 1 from deployments where workspace_id = :workspaceId and name = :name)
        returning id`,
      args: { id, workspaceId, name, promptId, currentVersion, createdAt, ifNameIsFree: Number(ifNameIsFree) },
    },
    {
      sql: `insert into deployment_changes (deployment_id, action, from_version, to_version, created_at)
        select id, 'created', null, current_version, created_at from deployments where id = ?`,
      args: [id],
    },
  ]);
  return made!.length > 0;
}

/** Points the deployment at a version that exists. Gives it, and whether it changed; undefined where there is none. */
export function promoteDeployment(database: Database, id: string, version: number, now: number) {
  return change(database, id, [
    {
      sql: `insert into deployment_changes (deployment_id, action, from_version, to_version, created_at)
        select id, 'promoted', current_version, :version, :now from deployments
        where id = :id and current_version <> :version returning id`,
      args: { id, version, now },
    },
    { sql: "update deployments set current_version = :version where id = :id", args: { id, version } },
  ]);
}

/** Opens or closes the deployment to requests. Gives it, and whether it changed; undefined where there is none. */
export function setDeploymentActive(database: Database, id: string, isActive: boolean, now: number) {
  return change(database, id, [
    {
      sql: `insert into deployment_changes (deployment_id, action, from_version, to_version, created_at)
        select id, iif(:isActive, 'activated', 'deactivated'), current_version, current_version, :now from deployments
        where id = :id and is_active <> :isActive returning id`,
      args: { id, isActive: Number(isActive), now },
    },
    { sql: "update deployments set is_active = :isActive where id = :id", args: { id, isActive: Number(isActive) } },
  ]);
}

/** Runs a change whose first statement gives a row where something changes. */
async function change(
  database: Database,
  id: string,
  statements: Statement[],
): Promise<{ deployment: Deployment; changed: boolean } | undefined> {
  const results = await database.write([
    ...statements,
    { sql: "select * from deployments where id = ?", args: [id] },
  ]);
  const deployment = results.at(-1)!.map(toDeployment)[0];
  return deployment && { deployment, changed: results[0]!.length > 0 };
}

export async function findDeployment(database: Database, id: string): Promise<Deployment | undefined> {
  return (await database.read({ sql: "select * from deployments where id = ?", args: [id] })).map(toDeployment)[0];
}

/** The deployments of a workspace, oldest first, inactive ones too. */
export async function listDeployments(database: Database, workspaceId: string): Promise<Deployment[]> {
  const sql = "select * from deployments where workspace_id = ? order by id";
  return (await database.read({ sql, args: [workspaceId] })).map(toDeployment);
}

/** Every change of a deployment, newest first. */
export async function listDeploymentChanges(database: Database, id: string): Promise<DeploymentChange[]> {
  const sql = "select * from deployment_changes where deployment_id = ? order by id desc";
  return (await database.read({ sql, args: [id] })).map(toDeploymentChange);
}

const toDeployment = (row: Row): Deployment => ({
  id: text(row, "id"),
  workspaceId: text(row, "workspace_id"),
  name: text(row, "name"),
  promptId: text(row, "prompt_id"),
  currentVersion: integer(row, "current_version"),
  isActive: row.is_active === 1,
  createdAt: integer(row, "created_at"),
});

const toDeploymentChange = (row: Row): DeploymentChange => ({
  action: row.action as DeploymentChange["action"],
  fromVersion: integerOrNull(row, "from_version"),
  toVersion: integer(row, "to_version"),
  createdAt: integer(row, "created_at"),
});
