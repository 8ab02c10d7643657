// Publishing a prompt: its version and the deployment that serves it are written in one transaction.
import type { Deployment, PromptContent, PromptVersion } from "../common/domain.ts";
import type { Database, Row, Statement } from "../database/database.ts";
import { addChange, toDeployment } from "./deployments.ts";
import type { Origin } from "./deployments.ts";
import { addVersion, toPromptVersion } from "./prompts.ts";

/** The newest version of the prompt, whether it is new, and the deployment, which serves it, and whether that changed. */
export type Published = { prompt: PromptVersion; isNew: boolean; deployment: Deployment; changed: boolean };

/** A deployment that is to be made, of a prompt that is there or to be made too. */
export type NewDeployment = Pick<Deployment, "id" | "workspaceId" | "name" | "promptId"> & { isNewPrompt: boolean };

const newestVersion = "(select max(version) from prompt_versions where prompt_id = :promptId)";

/**
 * Pushes a version and makes a deployment that serves it, and the prompt too where that is new. Does nothing and gives
 * undefined where the workspace has a deployment of that name.
 */
export async function publishToNew(
  database: Database,
  { id, workspaceId, name, promptId, isNewPrompt }: NewDeployment,
  content: PromptContent,
  origin: Origin,
): Promise<Published | undefined> {
  const { now, note } = origin;
  const isFree = "not exists (select 1 from deployments where workspace_id = :workspaceId and name = :name)";
  const named = { workspaceId, name };
  const addPrompt: Statement = {
    sql: `insert into prompts (id, workspace_id, created_at) select :promptId, :workspaceId, :now where ${isFree}`,
    args: { ...named, promptId, now },
  };
  const results = await database.write([
    ...(isNewPrompt ? [addPrompt] : []),
    addVersion(promptId, content, note, now, { sql: isFree, args: named }),
    {
      sql:
        `insert into deployments (id, workspace_id, name, prompt_id, current_version, is_active, revision, created_at)
        select :id, :workspaceId, :name, :promptId, ${newestVersion}, 1, 1, :now where ${isFree}`,
      args: { id, ...named, promptId, now },
    },
    addChange("created", "null", "json_quote(current_version)", "id = :id", { id, ...origin }),
    ...findPublished(promptId, id),
  ]);
  return toPublished(isNewPrompt ? results.slice(1) : results);
}

/**
 * Pushes a version of a deployment's prompt and makes it live. With `ifRevision` does nothing where the deployment has
 * changed since it had that revision. Gives undefined where there is no such deployment.
 */
export async function publishTo(
  database: Database,
  { id, promptId }: Pick<Deployment, "id" | "promptId">,
  content: PromptContent,
  ifRevision: number | undefined,
  origin: Origin,
): Promise<Published | undefined> {
  const args = { id, ifRevision: ifRevision ?? null };
  const isCurrent = "id = :id and revision = coalesce(:ifRevision, revision)";
  const differs = `${isCurrent} and current_version <> ${newestVersion}`;
  const exists = `exists (select 1 from deployments where ${isCurrent})`;
  const [added, changed, , ...found] = await database.write([
    addVersion(promptId, content, origin.note, origin.now, { sql: exists, args }),
    addChange("promoted", "json_quote(current_version)", `json_quote(${newestVersion})`, differs, {
      ...args,
      promptId,
      ...origin,
    }),
    {
      sql: `update deployments set current_version = ${newestVersion}, revision = revision + 1 where ${differs}`,
      args: { ...args, promptId },
    },
    ...findPublished(promptId, id),
  ]);
  return toPublished([added!, [], changed!, ...found]);
}

const findPublished = (promptId: string, id: string): Statement[] => [
  { sql: "select * from prompt_versions where prompt_id = ? order by version desc limit 1", args: [promptId] },
  { sql: "select * from deployments where id = ?", args: [id] },
];

/** From the rows of adding a version, making a deployment, changing it, and of what is there then. */
function toPublished([added, , changed, newest, found]: Row[][]): Published | undefined {
  const [prompt] = newest!, [deployment] = found!;
  if (prompt === undefined || deployment === undefined) return undefined;
  return {
    prompt: toPromptVersion(prompt),
    isNew: added!.length > 0,
    deployment: toDeployment(deployment),
    changed: changed!.length > 0,
  };
}
