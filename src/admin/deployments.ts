// Managing deployments: which version of a prompt is live, and whether it is.
import type { Deployment, DeploymentChange } from "../domain.ts";
import { conflict, notFound } from "../errors.ts";
import { newId } from "../ids.ts";
import { check, DeploymentInput } from "../schema.ts";
import * as store from "../store/deployments.ts";
import { getPrompt, getPromptVersion, pushPrompt } from "./prompts.ts";
import type { PushResult } from "./prompts.ts";
import { getWorkspace } from "./workspaces.ts";
import type { Admin } from "./workspaces.ts";

/** A deployment, and whether the action made a difference. */
export type DeploymentResult = Deployment & { changed: boolean };

type NewDeployment = { workspaceId: string; name: string; promptId: string; version?: number | undefined };

/** Makes an active deployment of a version, or of the newest where none is named. */
export async function createDeployment(admin: Admin, input: NewDeployment): Promise<Deployment> {
  const deployment = await composeDeployment(admin, input);
  await store.createDeployment(admin.database, deployment, false);
  return deployment;
}

async function composeDeployment(admin: Admin, input: NewDeployment): Promise<Deployment> {
  const { workspaceId, promptId } = input;
  const { name } = check(DeploymentInput, { name: input.name });
  await getWorkspace(admin, workspaceId);
  await getPrompt(admin, promptId, workspaceId);
  const { version } = await getPromptVersion(admin, promptId, input.version);
  const createdAt = admin.clock();
  const id = newId("dep", createdAt);
  return { id, workspaceId, name, promptId, currentVersion: version, isActive: true, createdAt };
}

/**
 * Pushes a prompt and makes the pushed version live under a deployment, called by its name or id. Where the workspace
 * has none of that name, prompt and deployment are made; from then on the deployment tells which prompt gets the version.
 */
export async function publishPrompt(
  admin: Admin,
  input: { workspaceId: string; deploy: string; promptId?: string | undefined; source: string },
): Promise<PushResult & { deployment: DeploymentResult }> {
  const { workspaceId, deploy, source } = input;
  const [target, ...others] = (await listDeployments(admin, workspaceId))
    .filter(({ id, name }) => id === deploy || name === deploy);
  if (others.length > 0) {
    const ids = [target!, ...others].map(({ id }) => id).join(", ");
    throw conflict(`Several deployments have that name: ${ids}. Call the one that is meant by its id`);
  }
  const promptId = input.promptId ?? target?.promptId;
  if (target !== undefined && target.promptId !== promptId) {
    throw conflict(`Deployment ${target.id} serves another prompt: ${target.promptId}`);
  }
  check(DeploymentInput, { name: deploy });
  const pushed = await pushPrompt(admin, { workspaceId, promptId, source });
  if (target !== undefined) {
    return { ...pushed, deployment: await promoteDeployment(admin, target.id, pushed.version) };
  }
  const live = { workspaceId, name: deploy, promptId: pushed.id, version: pushed.version };
  const deployment = await composeDeployment(admin, live);
  const isMade = await store.createDeployment(admin.database, deployment, true);
  // Where another push has made it meanwhile, that one's prompt gets the version.
  return isMade ? { ...pushed, deployment: { ...deployment, changed: true } } : publishPrompt(admin, input);
}

export async function listDeployments(admin: Admin, workspaceId: string): Promise<Deployment[]> {
  await getWorkspace(admin, workspaceId);
  return store.listDeployments(admin.database, workspaceId);
}

/** Points a deployment at another version of its prompt, from the next request on. */
export async function promoteDeployment(admin: Admin, id: string, version: number): Promise<DeploymentResult> {
  const { promptId } = await getDeployment(admin, id);
  await getPromptVersion(admin, promptId, version);
  return resultOf(id, await store.promoteDeployment(admin.database, id, version, admin.clock()));
}

/** Opens or closes a deployment to requests, from the next one on. */
export async function setDeploymentActive(admin: Admin, id: string, isActive: boolean): Promise<DeploymentResult> {
  return resultOf(id, await store.setDeploymentActive(admin.database, id, isActive, admin.clock()));
}

/** Every change of a deployment, newest first. */
export async function listDeploymentChanges(admin: Admin, id: string): Promise<DeploymentChange[]> {
  await getDeployment(admin, id);
  return store.listDeploymentChanges(admin.database, id);
}

/** The deployment, or a refusal where there is none. */
export async function getDeployment({ database }: Admin, id: string): Promise<Deployment> {
  const deployment = await store.findDeployment(database, id);
  if (deployment === undefined) throw notFound("Deployment", id);
  return deployment;
}

function resultOf(id: string, result: { deployment: Deployment; changed: boolean } | undefined): DeploymentResult {
  if (result === undefined) throw notFound("Deployment", id);
  return { ...result.deployment, changed: result.changed };
}
