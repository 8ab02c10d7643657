// The one transaction of a publication: which rows it adds and changes, and under which conditions.
import { newId } from "../common/ids.ts";
import type { PromptId, WorkspaceId } from "../common/ids.ts";
import type { Row, Statement } from "../database/database.ts";
import { addDeployment, findDeployment, isNameFree as isDeploymentNameFree, toDeployment } from "./deployments.ts";
import type { Deployment, DeploymentResult } from "./deployments.ts";
import { addChange } from "./history.ts";
import type { Origin } from "./history.ts";
import type { PromptContent } from "./prompt-text.ts";
import { addPrompt, isNameFree, nameAfter, promptExists } from "./prompts.ts";
import { addVersion, findVersion, toVersion } from "./versions.ts";
import type { PushResult } from "./versions.ts";

/** What is to be written. `prompt` and `deployment` are what exists of it. */
export type Plan = {
  workspaceId: WorkspaceId;
  prompt: { id: PromptId } | undefined;
  /** The name of a new prompt. Without one it gets a name after its title. */
  name: string | undefined;
  deployment: Deployment | undefined;
  /** The name of a new deployment; undefined for none. */
  deploy: string | undefined;
  /** The revision and the version that the deployment must have still; undefined for any. */
  ifRevision: number | undefined;
  live: number | undefined;
  /** The condition that the caller may change the deployment. */
  isChangeable: string;
  content: PromptContent;
  origin: Origin;
};

/** The statements, by what their rows tell. */
type Statements = {
  prompt?: Statement;
  added: Statement;
  deployed?: Statement;
  changed?: Statement;
  version: Statement;
  deployment?: Statement;
};

const newestVersion = "(select max(version) from prompt_versions where prompt_id = :promptId)";

export function planStatements(plan: Plan): Statements {
  const { prompt, deployment, deploy, content, origin } = plan;
  const promptId = prompt?.id ?? newId("prompt", origin.now);
  const add = (sql: string, args = {}) => addVersion(promptId, content, origin.note, origin.now, { sql, args });
  const version = findVersion(promptId);
  if (deployment !== undefined) {
    const { isCurrent, args, ...statements } = promote(deployment, plan);
    const exists = `exists (select 1 from deployments where ${isCurrent})`;
    return { added: add(exists, args), ...statements, version, deployment: findDeployment(deployment.id) };
  }
  const made = prompt === undefined ? { prompt: makePrompt(promptId, plan) } : {};
  if (deploy === undefined) return { ...made, added: add(promptExists), version };
  const id = newId("dep", origin.now);
  const isFree = `${promptExists} and ${isDeploymentNameFree}`;
  const added = { id, workspaceId: plan.workspaceId, name: deploy, promptId };
  return {
    ...made,
    added: add(isFree, { name: deploy }),
    deployed: addDeployment(added, newestVersion, origin.now, {}, isFree),
    changed: addChange("created", "null", "json_quote(current_version)", "id = :id", { id, ...origin }),
    version,
    deployment: findDeployment(id),
  };
}

/** Makes the prompt where its name is free or, without one, where no prompt of the workspace has such a deployment. */
function makePrompt(id: PromptId, { workspaceId, name, deploy = "", content, origin }: Plan): Statement {
  const prompt = { id, workspaceId, createdAt: origin.now };
  if (name !== undefined) return addPrompt(prompt, name, isNameFree);
  const isFree = "not exists (select 1 from deployments where workspace_id = :workspaceId and name = :deploy)";
  return addPrompt(prompt, nameAfter(content.title), isFree, { deploy });
}

/** Makes the newest version live, where the deployment is as it was planned for. */
function promote({ id, promptId }: Deployment, { ifRevision, live, isChangeable, origin }: Plan) {
  const args = { id, ifRevision: ifRevision ?? null, live: live ?? null };
  const isCurrent = `id = :id and revision = coalesce(:ifRevision, revision)
    and current_version = coalesce(:live, current_version) and archived_at is null and prompt_archived_at is null
    and ${isChangeable}`;
  const differs = `${isCurrent} and current_version <> ${newestVersion}`;
  const change = { ...args, promptId, ...origin };
  return {
    isCurrent,
    args,
    changed: addChange("promoted", "json_quote(current_version)", `json_quote(${newestVersion})`, differs, change),
    deployed: {
      sql: `update deployments set current_version = ${newestVersion}, revision = revision + 1 where ${differs}`,
      args: { ...args, promptId },
    },
  };
}

/** What was written; undefined where another request has made the prompt or the deployment first. */
export function readPublication(
  statements: Statements,
  results: Row[][],
): PushResult & { deployment?: DeploymentResult } | undefined {
  const names = Object.keys(statements);
  const rowsOf = (name: keyof Statements) => results[names.indexOf(name)] ?? [];
  const [version] = rowsOf("version"), [deployment] = rowsOf("deployment");
  if (version === undefined || statements.deployment !== undefined && deployment === undefined) return undefined;
  const pushed = { ...toVersion(version), isNew: rowsOf("added").length > 0 };
  return deployment === undefined
    ? pushed
    : { ...pushed, deployment: { ...toDeployment(deployment), changed: rowsOf("changed").length > 0 } };
}
