// Managing workspaces. Every action of src/admin takes what it needs as its first argument and throws a Refusal.
import type { Clock, Workspace } from "../domain.ts";
import { notFound } from "../errors.ts";
import { newId } from "../ids.ts";
import { check, WorkspaceChange, WorkspaceInput } from "../schema.ts";
import type { Database } from "../store/database.ts";
import * as store from "../store/workspaces.ts";

/** What management works on. */
export type Admin = { database: Database; clock: Clock };

export const defaultMonthlyLimit = 10_000;

/** Makes a workspace; `monthlyLimit` counts accepted requests, and 0 accepts none. */
export async function createWorkspace({ database, clock }: Admin, input: WorkspaceInput): Promise<Workspace> {
  const { name, monthlyLimit, upgradeUrl } = check(WorkspaceInput, input);
  const createdAt = clock();
  const workspace = { id: newId("ws", createdAt), name, monthlyLimit, upgradeUrl, createdAt };
  await store.createWorkspace(database, workspace);
  return workspace;
}

/** Changes what is given; a new limit holds from the next request on. */
export async function updateWorkspace({ database }: Admin, id: string, change: WorkspaceChange): Promise<Workspace> {
  const workspace = await store.updateWorkspace(database, id, check(WorkspaceChange, change));
  if (workspace === undefined) throw notFound("Workspace", id);
  return workspace;
}

export const listWorkspaces = ({ database }: Admin): Promise<Workspace[]> => store.listWorkspaces(database);

/** The workspace, or a refusal where there is none. */
export async function getWorkspace({ database }: Admin, id: string): Promise<Workspace> {
  const workspace = await store.findWorkspace(database, id);
  if (workspace === undefined) throw notFound("Workspace", id);
  return workspace;
}
