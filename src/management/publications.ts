// Publishing: a push that also makes the version live. Version and deployment are written in one transaction.
import { conflict, deployNameInUse, notFound, outdated } from "../common/errors.ts";
import { newId } from "../common/ids.ts";
import type { PromptId, WorkspaceId } from "../common/ids.ts";
import type { Row, Statement } from "../database/database.ts";
import { described, exactly, named, optional } from "../schema/struct.ts";
import type { Infer } from "../schema/struct.ts";
import * as v from "./values.ts";
import { addDeployment, DeploymentResult, findDeployment, toDeployment } from "./deployments.ts";
import type { Deployment } from "./deployments.ts";
import { addChange, originOf } from "./history.ts";
import type { Origin } from "./history.ts";
import { changeInfo, operation } from "./operation.ts";
import type { Management } from "./operation.ts";
import type { PromptContent } from "./prompt-text.ts";
import { addPrompt, nameAfter, requirePrompt } from "./prompts.ts";
import { addVersion, findVersion, newVersion, pushed, toContent, toVersion } from "./versions.ts";
import { requireWorkspace } from "./workspaces.ts";

const Publication = named("Publication", exactly({ ...pushed, deployment: DeploymentResult }));
export type Publication = Infer<typeof Publication>;

/**
 * Where the workspace has no deployment of that name, prompt and deployment are created; from then on the deployment tells
 * which prompt gets the version. What looks like an id is no name: it has been mistyped.
 */
export const publishPrompt = operation({
  id: "publishPrompt",
  tag: "Prompts",
  summary: "Push a prompt and make it live under the name or id of a deployment; both are created the first time",
  method: "POST",
  path: "/workspaces/{workspaceId}/publish",
  role: "editor",
  input: {
    workspaceId: v.id<WorkspaceId>(),
    deploy: described(v.name, "The name or id of a deployment of the workspace, or the name of a new one"),
    promptId: optional(
      described(v.id<PromptId>(), "The prompt that gets the version, where the deployment does not tell"),
    ),
    ...newVersion,
    actor: changeInfo.actor,
    ifRevision: optional(v.count),
  },
  output: Publication,
  locate: ({ deployment: { id, changed, revision } }) => changed && revision === 1 ? `/deployments/${id}` : undefined,
  refusals: ["not_found", "conflict", "outdated"],
  async run(management, input): Promise<Publication> {
    const { workspaceId, deploy, ifRevision } = input;
    await requireWorkspace(management, workspaceId);
    const [target, ...others] = await findCalled(management, workspaceId, deploy);
    if (others.length > 0) throw deployNameInUse([target!, ...others].map(({ id }) => id));
    if (target === undefined && deploy.startsWith("dep_")) throw notFound("Deployment", deploy);
    if (![undefined, target?.revision].includes(ifRevision)) throw outdated("Deployment", deploy);
    const promptId = input.promptId ?? target?.promptId;
    if (target !== undefined && target.promptId !== promptId) {
      throw conflict(`Deployment ${target.id} serves another prompt: ${target.promptId}`);
    }
    if (promptId !== undefined) await requirePrompt(management, promptId, workspaceId);
    const origin = originOf(management, input);
    const content = toContent(input);
    const statements = target === undefined
      ? createBoth({ workspaceId, name: deploy, promptId }, content, origin)
      : promote(target, content, ifRevision, origin);
    const published = toPublication(statements, await management.database.write(Object.values(statements)));
    // Another publication has created a deployment of that name meanwhile: its prompt gets the version.
    if (published === undefined) return await publishPrompt.run(management, input);
    const { changed, revision } = published.deployment;
    if (!changed && ![undefined, revision].includes(ifRevision)) throw outdated("Deployment", deploy);
    return published;
  },
});

/** The deployments of a workspace that have this name or id. */
async function findCalled({ database }: Management, workspaceId: WorkspaceId, call: string): Promise<Deployment[]> {
  const sql =
    "select * from deployments where workspace_id = :workspaceId and (id = :call or name = :call) order by id";
  return (await database.read({ sql, args: { workspaceId, call } })).map(toDeployment);
}

/** The statements of a publication, by what their rows tell. */
type Statements = {
  prompt?: Statement;
  added: Statement;
  deployed: Statement;
  changed: Statement;
  version: Statement;
  deployment: Statement;
};

const newestVersion = "(select max(version) from prompt_versions where prompt_id = :promptId)";

/** Creates a deployment of the pushed version, and the prompt too unless named, where the deployment's name is free. */
function createBoth(
  { workspaceId, name, promptId: known }: { workspaceId: WorkspaceId; name: string; promptId: PromptId | undefined },
  content: PromptContent,
  origin: Origin,
): Statements {
  const { now, note } = origin;
  const id = newId("dep", now);
  const promptId = known ?? newId("prompt", now);
  const args = { workspaceId, name };
  const isFree = "not exists (select 1 from deployments where workspace_id = :workspaceId and name = :name)";
  const prompt = addPrompt({ id: promptId, workspaceId, createdAt: now }, nameAfter(content.title), isFree, { name });
  return {
    ...(known === undefined ? { prompt } : {}),
    added: addVersion(promptId, content, note, now, { sql: isFree, args }),
    deployed: addDeployment({ id, workspaceId, name, promptId }, newestVersion, now, {}, isFree),
    changed: addChange("created", "null", "json_quote(current_version)", "id = :id", { id, ...origin }),
    version: findVersion(promptId),
    deployment: findDeployment(id),
  };
}

/** Makes the pushed version live; with `ifRevision` only where the deployment has not changed since. */
function promote(
  { id, promptId }: Pick<Deployment, "id" | "promptId">,
  content: PromptContent,
  ifRevision: number | undefined,
  origin: Origin,
): Statements {
  const args = { id, ifRevision: ifRevision ?? null };
  const isCurrent = "id = :id and revision = coalesce(:ifRevision, revision)";
  const differs = `${isCurrent} and current_version <> ${newestVersion}`;
  const exists = `exists (select 1 from deployments where ${isCurrent})`;
  return {
    added: addVersion(promptId, content, origin.note, origin.now, { sql: exists, args }),
    changed: addChange("promoted", "json_quote(current_version)", `json_quote(${newestVersion})`, differs, {
      ...args,
      promptId,
      ...origin,
    }),
    deployed: {
      sql: `update deployments set current_version = ${newestVersion}, revision = revision + 1 where ${differs}`,
      args: { ...args, promptId },
    },
    version: findVersion(promptId),
    deployment: findDeployment(id),
  };
}

/** Undefined where there is no such deployment. */
function toPublication(statements: Statements, results: Row[][]): Publication | undefined {
  const names = Object.keys(statements);
  const rowsOf = (name: keyof Statements) => results[names.indexOf(name)]!;
  const [version] = rowsOf("version"), [deployment] = rowsOf("deployment");
  if (version === undefined || deployment === undefined) return undefined;
  const changed = rowsOf("changed").length > 0;
  return {
    ...toVersion(version),
    isNew: rowsOf("added").length > 0,
    deployment: { ...toDeployment(deployment), changed },
  };
}
