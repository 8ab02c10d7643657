// Managing deployments: which version of a prompt is live, and whether it is.
import type { Deployment, DeploymentChange, Page, PageRequest, Reason } from "../common/domain.ts";
import { conflict, deployNameInUse, notFound, outdated } from "../common/errors.ts";
import { newId } from "../common/ids.ts";
import * as store from "../store/deployments.ts";
import type { Change, Origin } from "../store/deployments.ts";
import { publishTo, publishToNew } from "../store/publications.ts";
import type { Admin } from "./admin.ts";
import { getPrompt, getPromptVersion, toContent, withVariables } from "./prompts.ts";
import type { PromptInput, PushResult } from "./prompts.ts";
import { findRollbackTargets } from "./rollback.ts";
import { getWorkspace } from "./workspaces.ts";

/** A deployment, and whether the action made a difference. */
export type DeploymentResult = Deployment & { changed: boolean };

type Why = { [name in keyof Reason]?: string | undefined };
/** Why a deployment is changed, and the revision it must have, where it matters that no one else has changed it. */
export type ChangeInput = Why & { ifRevision?: number | undefined };

const originOf = ({ clock, source }: Admin, { actor = "", note = "" }: Why): Origin => ({
  source,
  actor,
  note,
  now: clock(),
});

type NewDeployment = Why & { name: string; promptId: string; version?: number | undefined };

/** Makes an active deployment of a version, or of the newest where none is named. */
export async function createDeployment(admin: Admin, workspaceId: string, input: NewDeployment): Promise<Deployment> {
  const { name, promptId, version } = input;
  await getWorkspace(admin, workspaceId);
  await getPrompt(admin, promptId, workspaceId);
  const { version: currentVersion } = await getPromptVersion(admin, promptId, version);
  const createdAt = admin.clock();
  const id = newId("dep", createdAt);
  const deployment = { id, workspaceId, name, promptId, currentVersion, isActive: true, revision: 1, createdAt };
  await store.createDeployment(admin.database, deployment, originOf(admin, input));
  return deployment;
}

type Publication = PromptInput & ChangeInput & { deploy: string; promptId?: string | undefined };

/**
 * Pushes a prompt and makes the pushed version live under a deployment, called by its name or id. Where the workspace
 * has none of that name, prompt and deployment are made; from then on the deployment tells which prompt gets the version.
 * What looks like an id is no name: it has been mistyped.
 */
export async function publishPrompt(
  admin: Admin,
  workspaceId: string,
  input: Publication,
): Promise<PushResult & { deployment: DeploymentResult }> {
  await getWorkspace(admin, workspaceId);
  const [target, ...others] = await store.findDeploymentsCalled(admin.database, workspaceId, input.deploy);
  if (others.length > 0) throw deployNameInUse([target!, ...others].map(({ id }) => id));
  if (target === undefined && isDeploymentId(input.deploy)) throw notFound("Deployment", input.deploy);
  if (![undefined, target?.revision].includes(input.ifRevision)) throw outdated("Deployment", input.deploy);
  const promptId = input.promptId ?? target?.promptId;
  if (target !== undefined && target.promptId !== promptId) {
    throw conflict(`Deployment ${target.id} serves another prompt: ${target.promptId}`);
  }
  if (promptId !== undefined) await getPrompt(admin, promptId, workspaceId);
  const origin = originOf(admin, input);
  const content = toContent(input);
  const published = target === undefined
    ? await publishToNew(admin.database, newDeployment(workspaceId, input.deploy, promptId, origin), content, origin)
    : await publishTo(admin.database, target, content, input.ifRevision, origin);
  // Another publication has made a deployment of that name meanwhile: its prompt gets the version.
  if (published === undefined) return publishPrompt(admin, workspaceId, input);
  const { prompt, isNew, deployment, changed } = published;
  const isOutdated = !changed && ![undefined, deployment.revision].includes(input.ifRevision);
  if (isOutdated) throw outdated("Deployment", input.deploy);
  return { ...withVariables(prompt), isNew, deployment: { ...deployment, changed } };
}

const newDeployment = (workspaceId: string, name: string, promptId: string | undefined, { now }: Origin) => ({
  id: newId("dep", now),
  workspaceId,
  name,
  promptId: promptId ?? newId("prompt", now),
  isNewPrompt: promptId === undefined,
});

const isDeploymentId = (text: string): boolean => text.startsWith("dep_");

/** The deployments of a workspace, newest first, inactive ones too. */
export async function listDeployments(
  admin: Admin,
  workspaceId: string,
  page: PageRequest = {},
): Promise<Page<Deployment>> {
  await getWorkspace(admin, workspaceId);
  return store.listDeployments(admin.database, workspaceId, page);
}

/** Points a deployment at another version of its prompt, from the next request on. */
export async function promoteDeployment(
  admin: Admin,
  id: string,
  { version, ...input }: ChangeInput & { version: number },
): Promise<DeploymentResult> {
  const { promptId } = await getDeployment(admin, id);
  await getPromptVersion(admin, promptId, version);
  return change(admin, id, { column: "current_version", value: version, action: "promoted" }, input);
}

/**
 * Points a deployment at the version that was live before the current one; the next rollback goes one further back. A version
 * that is named must have been live before.
 */
export async function rollBackDeployment(
  admin: Admin,
  id: string,
  { version, ...input }: ChangeInput & { version?: number | undefined } = {},
): Promise<DeploymentResult> {
  const { revision } = await getDeployment(admin, id);
  // What was before depends on what is now, so it is a matter of this revision even where the caller names none.
  const { ifRevision = revision } = input;
  if (ifRevision !== revision) throw outdated("Deployment", id);
  const { live, previous, served } = findRollbackTargets(await store.listVersionChanges(admin.database, id));
  const target = version ?? previous;
  if (target === undefined) {
    const others = served.length === 0 ? "" : `. Versions it has served: ${served.join(", ")}`;
    throw conflict(`Deployment ${id} has no earlier version to roll back to${others}`);
  }
  if (target !== live && !served.includes(target)) {
    throw conflict(`Deployment ${id} has not served version ${target}. Promote it instead`);
  }
  const back: Change = { column: "current_version", value: target, action: "rolled_back" };
  return change(admin, id, back, { ...input, ifRevision });
}

/** Opens or closes a deployment to requests, from the next one on. */
export const setDeploymentActive = (
  admin: Admin,
  id: string,
  isActive: boolean,
  input: ChangeInput = {},
): Promise<DeploymentResult> =>
  change(admin, id, {
    column: "is_active",
    value: Number(isActive),
    action: isActive ? "activated" : "deactivated",
  }, input);

/** Gives a deployment another name, from the next request on; its id stays. */
export const renameDeployment = (
  admin: Admin,
  id: string,
  { name, ...input }: ChangeInput & { name: string },
): Promise<DeploymentResult> => change(admin, id, { column: "name", value: name, action: "renamed" }, input);

async function change(admin: Admin, id: string, change: Change, input: ChangeInput): Promise<DeploymentResult> {
  const { ifRevision } = input;
  const result = await store.changeDeployment(admin.database, id, { ...change, ifRevision }, originOf(admin, input));
  if (result === undefined) throw notFound("Deployment", id);
  const { deployment, changed } = result;
  if (!changed && ifRevision !== undefined && ifRevision !== deployment.revision) throw outdated("Deployment", id);
  return { ...deployment, changed };
}

/** The changes of a deployment, newest first. */
export async function listDeploymentChanges(
  admin: Admin,
  id: string,
  page: PageRequest = {},
): Promise<Page<DeploymentChange>> {
  await getDeployment(admin, id);
  return store.listDeploymentChanges(admin.database, id, page);
}

/** The deployment, or a refusal where there is none. */
export async function getDeployment({ database }: Admin, id: string): Promise<Deployment> {
  const deployment = await store.findDeployment(database, id);
  if (deployment === undefined) throw notFound("Deployment", id);
  return deployment;
}
