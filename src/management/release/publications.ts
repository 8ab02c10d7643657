// Publishes prompts: pushes a version under the name of a prompt, and can make it live. One transaction writes the
// prompt, the version and the deployment.
import {
  ambiguousDeployment,
  archived,
  conflict,
  invalidField,
  noRevision,
  notFound,
  outdated,
  promptNotUnique,
  variablesRemoved,
} from "../../common/errors.ts";
import type { DeploymentId, WorkspaceId } from "../../common/ids.ts";
import { check, described, exactly, listOf, option, optional, orNull, shape } from "../../schema/struct.ts";
import type { Infer, Members } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import {
  DeploymentResult,
  findDeployment,
  findDeployments,
  planDeployment,
  requestsOf,
  requireChangeable,
  requireDeploymentRoom,
  toDeployment,
} from "../deployments/deployments.ts";
import type { Deployment } from "../deployments/deployments.ts";
import { settleNew, settlePromotion } from "../deployments/deployment-writes.ts";
import { changeInfo, operation } from "../kernel/operation.ts";
import type { Management } from "../kernel/operation.ts";
import { variablesOf } from "../prompts/prompt-text.ts";
import type { PromptContent } from "../prompts/prompt-text.ts";
import { findPrompts, requirePrompt, toPrompt } from "../prompts/prompts.ts";
import type { Prompt } from "../prompts/prompts.ts";
import { newVersion, planPrompt, planVersion, pushed, requireVersion, toContent } from "../prompts/versions.ts";
import type { PromptVersion } from "../prompts/versions.ts";

const variableChanges = exactly({
  since: orNull(v.positive, "The version compared with: the live one, or else the newest. Null for a new prompt"),
  added: listOf(v.text),
  removed: listOf(v.text),
});
const Publication = shape("Publication", {
  ...pushed,
  isNewPrompt: described(v.boolean, "Whether this push created the prompt"),
  variableChanges: described(variableChanges, "The variables that this push added and removed"),
  deployment: optional(DeploymentResult),
});
export type Publication = Infer<typeof Publication>;

const input = {
  workspaceId: v.workspaceId,
  name: option(v.promptName, "The name of the prompt. It is created if it does not exist"),
  promptId: option(v.promptReference, "Instead of `name`: the id or name of an existing prompt"),
  deploy: option(
    v.deploymentOrName,
    "The deployment in which to make the version live: its id, its reference, or its name, which may be new",
  ),
  force: option(v.boolean, "Whether to remove variables that are live"),
  ifUnique: option(
    v.boolean,
    "Whether to refuse a new prompt if another one of the workspace has its title or its content",
  ),
  ...newVersion,
  actor: changeInfo.actor,
  ifRevision: optional(v.count),
};
type PublicationInput = Members<typeof input>;

export const publishPrompt = operation({
  id: "publishPrompt",
  summary:
    "Push a version of a prompt by name, and make it live in a deployment. Both are created if they do not exist",
  method: "POST",
  path: "/workspaces/{workspaceId}/publish",
  answers: "found or created",
  revision: ["if-match"],
  conflicts: true,
  role: "editor",
  guardsProtected: true,
  input,
  output: Publication,
  requests: ({ deployment }) => deployment === undefined ? [] : requestsOf(deployment),
  locate({ id, version, isNew, deployment }) {
    if (deployment === undefined) return isNew ? `/prompts/${id}/versions/${version}` : undefined;
    return deployment.changed && deployment.revision === 1 ? `/deployments/${deployment.id}` : undefined;
  },
  async run(management, input): Promise<Publication> {
    const { workspaceId, deploy, ifRevision, force = false, ifUnique = false } = input;
    if (ifRevision !== undefined && deploy === undefined) throw noRevision();
    const { prompt, deployment } = await findTarget(management, input);
    if (prompt !== undefined && prompt.archivedAt !== null) throw archived("Prompt", prompt.name);
    if (deployment !== undefined && deployment.archivedAt !== null) throw archived("Deployment", deployment.reference);
    if (deployment !== undefined) requireChangeable(management, deployment);
    if (![undefined, deployment?.revision].includes(ifRevision)) throw outdated("Deployment", deploy ?? "");
    const before = prompt && await requireVersion(management, prompt.id, deployment?.currentVersion);
    const variableChanges = compareVariables(before, toContent(input));
    if (deployment !== undefined && variableChanges.removed.length > 0 && !force) {
      throw variablesRemoved(deployment.reference, variableChanges.removed);
    }
    if (prompt === undefined && ifUnique) await requireUnique(management, workspaceId, toContent(input));
    if (deployment === undefined && deploy !== undefined) check(exactly({ deploy: v.deploymentName }), { deploy });
    const { pushed, added, content, statements } = prompt === undefined
      ? await planPrompt(management, workspaceId, input)
      : await planVersion(management, prompt, input);
    const { id, name, version } = pushed;
    if (deployment === undefined && deploy !== undefined) {
      await requireDeploymentRoom(management, { id, workspaceId }, 1);
    }
    const settled = deployment !== undefined
      ? await settlePromotion(management, deployment, version, content.hash)
      : deploy !== undefined
      ? settleNew(planDeployment({ id, name, workspaceId }, deploy, version, management.clock()))
      : undefined;
    const changes = [...added === undefined ? [] : [added], ...settled?.changes ?? []];
    statements.push(...settled?.statements ?? []);
    if (changes.length > 0) await management.commit(changes, statements);
    return {
      ...{ ...pushed, isNewPrompt: prompt === undefined, variableChanges },
      ...settled === undefined ? {} : { deployment: settled.result },
    };
  },
});

type Target = { prompt?: Prompt | undefined; deployment?: Deployment | undefined };

/** The existing prompt and deployment that a publication names. */
async function findTarget(management: Management, input: PublicationInput): Promise<Target> {
  const { workspaceId, deploy, name, promptId } = input;
  if (name !== undefined && promptId !== undefined) {
    throw invalidField("promptId", "Fields name and promptId exclude each other");
  }
  const isNamed = name !== undefined || promptId !== undefined;
  const prompt = promptId === undefined
    ? await findByName(management, workspaceId, name)
    : await requirePrompt(management, promptId, workspaceId);
  if (deploy === undefined) {
    if (!isNamed) throw invalidField("name", "One of the fields name, promptId and deploy must be given");
    return { prompt };
  }
  const deployment = await findById(management, deploy);
  if (deployment !== undefined) {
    if (deployment.workspaceId !== workspaceId) throw notFound("Deployment", deploy);
    if (isNamed && prompt?.id !== deployment.promptId) {
      throw conflict(`Deployment ${deployment.reference} serves another prompt: ${deployment.promptId}`);
    }
    return { prompt: await requirePrompt(management, deployment.promptId), deployment };
  }
  // A text that looks like an id makes no new deployment: it is a mistyped id.
  const isNewName = !deploy.startsWith("dep_");
  if (isNamed && prompt === undefined && isNewName) return {};
  const found = await management.database.read(
    prompt === undefined
      ? findDeployments("workspace_id = ? and name = ? order by reference", [workspaceId, deploy])
      : findDeployments("prompt_id = ? and name = ?", [prompt.id, deploy]),
  );
  // Without the name of a prompt, the deployment determines the prompt.
  const all = found.map(toDeployment), open = all.filter(({ archivedAt }) => archivedAt === null);
  const [named, ...others] = open.length > 0 ? open : all;
  if (named === undefined && isNewName) return { prompt };
  if (named === undefined || isNamed && prompt === undefined) throw notFound("Deployment", deploy);
  if (others.length > 0) throw ambiguousDeployment([named, ...others].map(({ reference }) => reference));
  return { prompt: prompt ?? await requirePrompt(management, named.promptId), deployment: named };
}

/** The deployment with this id. A name may begin like an id too. */
async function findById({ database }: Management, id: string): Promise<Deployment | undefined> {
  if (!id.startsWith("dep_")) return undefined;
  return (await database.read(findDeployment(id as DeploymentId))).map(toDeployment)[0];
}

async function findByName({ database }: Management, workspaceId: WorkspaceId, name: string | undefined) {
  if (name === undefined) return undefined;
  return (await database.read(findPrompts("workspace_id = ? and name = ?", [workspaceId, name]))).map(toPrompt)[0];
}

/**
 * Throws if the newest version of another prompt has the title, or the messages and the configuration, of a new one.
 */
async function requireUnique(
  { database }: Management,
  workspaceId: WorkspaceId,
  { title, messages, llmConfig }: PromptContent,
): Promise<void> {
  const hasContent = `exists (
    select 1 from prompt_versions v
    where v.prompt_id = id and v.version = latest_version and v.messages = ? and v.llm_config = ?
  )`;
  const [same] = (await database.read(
    findPrompts(
      `workspace_id = ? and archived_at is null and (title = ? or ${hasContent}) order by title <> ?, name limit 1`,
      [workspaceId, title, messages.text, llmConfig.text, title],
    ),
  )).map(toPrompt);
  if (same !== undefined) throw promptNotUnique(same.name, same.title === title ? "title" : "content");
}

function compareVariables(before: PromptVersion | undefined, { messages }: PromptContent) {
  const now = variablesOf(messages);
  if (before === undefined) return { since: null, added: now, removed: [] };
  const { version: since, variables } = before;
  return {
    since,
    added: now.filter((name) => !variables.includes(name)),
    removed: variables.filter((name) => !now.includes(name)),
  };
}
