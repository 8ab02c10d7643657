// Deployments. Each has a name and makes one version of a prompt live. The operations that change one are in
// deployment-changes.ts.
import { archived, deploymentNameTaken, invalidField, notFound } from "../../common/errors.ts";
import { newId } from "../../common/ids.ts";
import type { DeploymentId, PromptId, WorkspaceId } from "../../common/ids.ts";
import type { Statement } from "../../database/database.ts";
import { described, option, optional, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { ChangeRequest } from "./change-requests.ts";
import type { Change } from "../kernel/commit.ts";
import { createOperation, listOperation } from "../kernel/declare.ts";
import { changeInfo, operation, pageOf, protectedRole, requireProtectedRole } from "../kernel/operation.ts";
import type { Session, Store } from "../kernel/operation.ts";
import { requireOpenPrompt } from "../prompts/prompts.ts";
import type { Prompt } from "../prompts/prompts.ts";
import { ofDeployment } from "../kernel/references.ts";
import { requireRoom } from "../kernel/room.ts";
import { rolloutColumn, rolloutOfDeployment } from "../terms/rollouts.ts";
import { insertInto, tableOf } from "../kernel/table.ts";
import { requireVersion } from "../prompts/versions.ts";

export const approvals = v.integerIn(0, 1);

export const deployment = {
  id: v.textAs<DeploymentId>(),
  workspaceId: v.textAs<WorkspaceId>(),
  name: described(v.text, "Unique among the deployments of its prompt"),
  reference: described(v.text, "The name of its prompt, `@` and its own name, such as support/assistant@production"),
  promptId: v.textAs<PromptId>(),
  currentVersion: described(v.positive, "The version of the prompt that is live"),
  isActive: described(v.boolean, "Whether it accepts requests"),
  rollout: rolloutOfDeployment,
  isProtected: described(v.boolean, `Whether changing it requires the role ${protectedRole}`),
  approvals: described(approvals, "How many other people must approve a change of it. 0 if it changes at once"),
  revision: described(v.positive, "How often it has changed, including its creation. Its ETag has the same number"),
  createdAt: v.timestamp,
  archivedAt: described(v.moment, "When it or its prompt was archived, in Unix milliseconds, or null"),
};
const Deployment = shape("Deployment", deployment);
export type Deployment = Infer<typeof Deployment>;
export const DeploymentResult = shape("DeploymentResult", {
  ...deployment,
  changed: described(v.boolean, "Whether this request changed anything"),
  request: option(ChangeRequest, "The change request that waits for an approval, if the deployment needs one"),
});
export type DeploymentResult = Infer<typeof DeploymentResult>;

/** The change request that a change has opened. */
export const requestsOf = ({ request }: Pick<DeploymentResult, "request">): string[] =>
  request === undefined ? [] : [request.id];

const table = tableOf(
  Deployment,
  `select d.id, d.workspace_id, d.name, p.name || '@' || d.name as reference, d.prompt_id, d.current_version, d.is_active,
    d.is_protected, d.approvals, d.revision, d.created_at, coalesce(d.archived_at, d.prompt_archived_at) as archived_at,
  ${rolloutColumn}
  from deployments d join prompts p on p.id = d.prompt_id`,
);

/** Plans a new, active deployment of a prompt that is not archived. */
export function planDeployment(
  prompt: Pick<Prompt, "id" | "workspaceId" | "name">,
  name: string,
  currentVersion: number,
  createdAt: number,
): DeploymentPlan {
  const id: DeploymentId = newId("dep", createdAt);
  const { id: promptId, workspaceId } = prompt;
  const reference = `${prompt.name}@${name}`;
  const state = { promptId, currentVersion, isActive: true, isProtected: false, approvals: 0, revision: 1, createdAt };
  return {
    deployment: { id, workspaceId, name, reference, ...state, rollout: null, archivedAt: null },
    change: { action: "deployment.created", id, workspaceId, after: { name, ...state } },
    statements: [insertInto("deployments", { id, workspaceId, name, ...state })],
  };
}

/** Throws if a prompt has no room for more deployments. */
export async function requireDeploymentRoom(
  store: Store,
  { id, workspaceId }: Pick<Prompt, "id" | "workspaceId">,
  added: number,
): Promise<void> {
  await requireRoom(store, "deployments", workspaceId, added);
  await requireRoom(store, "deploymentsOfPrompt", id, added);
}

/** A planned change: the deployment as it will be, the entry of the audit log, and the statements. */
export type DeploymentPlan = { deployment: Deployment; change: Change; statements: Statement[] };

/** Statements that find a deployment by id, or deployments by a condition, and the reader of their rows. */
export const findDeployment = table.byId;
export const findDeployments = table.where;
export const toDeployment = table.toItem;

/** Input member: the source of the version. */
export const sourceDeployment = described(
  v.deploymentOfPrompt,
  "Instead of `version`: another deployment of the prompt, whose live version to take",
);

export const createDeployment = createOperation({
  id: "createDeployment",
  summary: "Create an active deployment of a version of a prompt, by default the newest",
  path: "/workspaces/{workspaceId}/deployments",
  revision: ["etag"],
  conflicts: true,
  role: "editor",
  command: "deploy create --name NAME --prompt REF [--version N] [--from DEPLOYMENT]",
  input: {
    workspaceId: v.workspaceId,
    name: described(v.deploymentName, "Its name"),
    promptId: v.promptReference,
    version: option(v.positive, "The version to make live. Default: the newest"),
    from: optional(sourceDeployment),
    ...changeInfo,
  },
  output: Deployment,
  locate: ({ id }) => `/deployments/${id}`,
  async run(management, { workspaceId, name, promptId, version, from }) {
    if (version !== undefined && from !== undefined) {
      throw invalidField("from", "Fields version and from exclude each other");
    }
    const prompt = await requireOpenPrompt(management, promptId, workspaceId);
    const { version: currentVersion } = await requireVersion(
      management,
      promptId,
      from === undefined ? version : await findLiveVersion(management, promptId, from),
    );
    await requireFreeName(management, promptId, name);
    await requireDeploymentRoom(management, prompt, 1);
    const { deployment, change, statements } = planDeployment(prompt, name, currentVersion, management.clock());
    await management.commit([change], statements);
    return deployment;
  },
});

/** Live version of a prompt's deployment with this name, id or reference. */
export async function findLiveVersion({ database }: Store, promptId: PromptId, ref: string): Promise<number> {
  const rows = await database.read(findDeployments("prompt_id = ? and ? in (id, name, reference)", [promptId, ref]));
  const [source] = rows.map(toDeployment);
  if (source === undefined) throw notFound("Deployment", ref);
  if (source.archivedAt !== null) throw archived("Deployment", source.reference);
  return source.currentVersion;
}

export async function requireFreeName({ database }: Store, promptId: PromptId, name: string): Promise<void> {
  const [other] = await database.read(findDeployments("prompt_id = ? and name = ?", [promptId, name]));
  if (other !== undefined) throw deploymentNameTaken(name);
}

/** The ids that the output of an operation has with a deployment. */
const idsOf = ({ id, promptId }: Deployment): string[] => [id, promptId];

export const listDeployments = listOperation({
  id: "listDeployments",
  summary: "List the deployments of a workspace, or of one prompt, newest first",
  path: "/workspaces/{workspaceId}/deployments",
  command: "deploy list [--prompt REF]",
  input: {
    workspaceId: v.workspaceId,
    promptId: option(v.promptReference, "Only deployments of this prompt"),
    ...v.archivable,
    ...v.page,
  },
  output: pageOf(Deployment),
  shows: ({ items }) => items.flatMap(idsOf),
  async run(management, { workspaceId, promptId, archived, ...page }) {
    const filter = promptId === undefined ? { workspaceId } : { workspaceId, promptId };
    return await table.list(management.database, filter, page, v.isListed(archived));
  },
});

export const getDeployment = operation({
  id: "getDeployment",
  summary: "Show a deployment. Send its ETag in If-Match to change it only if it is unchanged",
  method: "GET",
  path: "/deployments/{id}",
  revision: ["etag"],
  conflicts: true,
  command: "deploy show REF",
  input: ofDeployment,
  output: Deployment,
  shows: idsOf,
  run: (management, { id }) => requireDeployment(management, id),
});

/** All deployments of a workspace, archived ones too, oldest first. */
export const listOfWorkspace = async ({ database }: Store, workspaceId: WorkspaceId): Promise<Deployment[]> =>
  (await database.read(findDeployments("workspace_id = ? order by id", [workspaceId]))).map(toDeployment);

/** Returns a deployment. Throws if missing. */
export async function requireDeployment({ database }: Store, id: DeploymentId): Promise<Deployment> {
  const deployment = await table.find(database, id);
  if (deployment === undefined) throw notFound("Deployment", id);
  return deployment;
}

export function requireChangeable({ caller }: Session, { isProtected, reference }: Deployment): void {
  if (isProtected) requireProtectedRole(caller, reference);
}

export const deploymentOperations = [createDeployment, listDeployments, getDeployment];
