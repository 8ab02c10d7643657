// Managing workspaces.
import type { Page, PageRequest, Workspace } from "../common/domain.ts";
import { notFound } from "../common/errors.ts";
import { newId } from "../common/ids.ts";
import * as store from "../store/workspaces.ts";
import type { Admin } from "./admin.ts";

export const defaultMonthlyLimit = 10_000;

type NewWorkspace = { name: string; monthlyLimit?: number | undefined; upgradeUrl?: string | null | undefined };

type WorkspaceChange = Omit<NewWorkspace, "name"> & { name?: string | undefined };

/** Makes a workspace; `monthlyLimit` counts accepted requests, and 0 accepts none. */
export async function createWorkspace({ database, clock }: Admin, input: NewWorkspace): Promise<Workspace> {
  const { name, monthlyLimit = defaultMonthlyLimit, upgradeUrl = null } = input;
  const createdAt = clock();
  const workspace = { id: newId("ws", createdAt), name, monthlyLimit, upgradeUrl, createdAt };
  await store.createWorkspace(database, workspace);
  return workspace;
}

/** Changes what is given; a new limit holds from the next request on. */
export async function updateWorkspace({ database }: Admin, id: string, change: WorkspaceChange): Promise<Workspace> {
  const workspace = await store.updateWorkspace(database, id, change);
  if (workspace === undefined) throw notFound("Workspace", id);
  return workspace;
}

/** All workspaces, newest first. */
export const listWorkspaces = ({ database }: Admin, page: PageRequest = {}): Promise<Page<Workspace>> =>
  store.listWorkspaces(database, page);

/** The workspace, or a refusal where there is none. */
export async function getWorkspace({ database }: Admin, id: string): Promise<Workspace> {
  const workspace = await store.findWorkspace(database, id);
  if (workspace === undefined) throw notFound("Workspace", id);
  return workspace;
}
