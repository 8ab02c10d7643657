// Prompts: each belongs to a workspace, and has versions.
import { archived, notFound, promptNameTaken, roleRequired } from "../common/errors.ts";
import type { PromptId, WorkspaceId } from "../common/ids.ts";
import type { Statement } from "../database/database.ts";
import { text } from "../database/row.ts";
import { described, exactly, listOf, named } from "../schema/struct.ts";
import type { Infer } from "../schema/struct.ts";
import * as v from "./values.ts";
import { addChange, originOf } from "./history.ts";
import { changeInfo, hasRole, operation, pageOf, protectedRole } from "./operation.ts";
import type { ChangeInfo, Management, Store } from "./operation.ts";
import { ofPrompt } from "./references.ts";
import { tableOf } from "./table.ts";
import { requireWorkspace } from "./workspaces.ts";

const prompt = {
  id: v.textAs<PromptId>(),
  workspaceId: v.textAs<WorkspaceId>(),
  name: described(v.text, "Unique in its workspace"),
  title: v.text,
  latestVersion: v.positive,
  createdAt: v.timestamp,
  archivedAt: described(v.moment, "When it was archived, in Unix milliseconds, or null"),
};
const Prompt = named("Prompt", exactly(prompt));
export type Prompt = Infer<typeof Prompt>;

/** The references that changed with a name. */
export const renamed = {
  references: described(
    listOf(exactly({ from: v.text, to: v.text })),
    "The references that changed; from now on the old ones are not found",
  ),
};
const changed = described(v.isTrue, "Whether this request made a difference");
const RenamedPrompt = named("RenamedPrompt", exactly({ ...prompt, changed, ...renamed }));
export type RenamedPrompt = Infer<typeof RenamedPrompt>;
const PromptResult = named("PromptResult", exactly({ ...prompt, changed }));
export type PromptResult = Infer<typeof PromptResult>;

const table = tableOf(
  Prompt,
  `select p.id, p.workspace_id, p.name, v.title, v.version as latest_version, p.created_at, p.archived_at
  from prompts p join prompt_versions v on v.prompt_id = p.id
    and v.version = (select max(version) from prompt_versions where prompt_id = p.id)`,
);

export const listPrompts = operation({
  id: "listPrompts",
  summary: "List a workspace's prompts with their newest version, newest first",
  method: "GET",
  path: "/workspaces/{workspaceId}/prompts",
  role: "viewer",
  command: "prompt list --workspace ID [--archived]",
  input: { workspaceId: v.workspaceId, ...v.archivable, ...v.page },
  output: pageOf(Prompt),
  refusals: ["not_found"],
  async run(management, { workspaceId, archived: all, ...page }) {
    await requireWorkspace(management, workspaceId);
    return await table.list(management.database, { workspaceId }, page, v.isListed(all));
  },
});

export const renamePrompt = operation({
  id: "renamePrompt",
  summary: "Give a prompt another name, which changes the references of its deployments; its id stays",
  method: "POST",
  path: "/prompts/{id}/rename",
  role: "editor",
  guardsProtected: true,
  command: "prompt rename REF --name NAME [--workspace ID]",
  input: { ...ofPrompt, name: described(v.promptName, "The new name") },
  output: RenamedPrompt,
  refusals: ["not_found", "conflict"],
  async run({ database, caller }, { id, name }): Promise<RenamedPrompt> {
    const mayChangeAll = hasRole(caller, protectedRole);
    const isProtected = "exists (select 1 from deployments where prompt_id = :id and is_protected = 1)";
    const [before, changes, after, deployments] = await database.write([
      table.byId(id),
      {
        sql: `update prompts set name = :name where id = :id and name <> :name and not exists (
            select 1 from prompts other where other.workspace_id = prompts.workspace_id and other.name = :name
          ) and (${mayChangeAll} or not ${isProtected}) returning id`,
        args: { id, name },
      },
      table.byId(id),
      { sql: "select name, is_protected from deployments where prompt_id = ? order by name", args: [id] },
    ]);
    const [from] = before!.map(table.toItem), [to] = after!.map(table.toItem);
    if (from === undefined || to === undefined) throw notFound("Prompt", id);
    if (!mayChangeAll && deployments!.some((row) => row.is_protected === 1)) throw roleRequired(protectedRole);
    if (to.name !== name) throw promptNameTaken(name);
    const references = deployments!.map((row) => text(row, "name"))
      .map((deployment) => ({ from: `${from.name}@${deployment}`, to: `${name}@${deployment}` }));
    const changed = changes!.length > 0;
    return { ...to, changed, references: changed ? references : [] };
  },
});

export const archivePrompt = operation({
  id: "archivePrompt",
  summary: "Hide a prompt and its deployments from lists, and refuse them to clients; their names stay taken",
  method: "POST",
  path: "/prompts/{id}/archive",
  role: "publisher",
  command: "prompt archive REF [--note TEXT] [--actor NAME] [--workspace ID]",
  input: { ...ofPrompt, ...changeInfo },
  output: PromptResult,
  refusals: ["not_found", "conflict"],
  run: (management, input) => setArchived(management, true, input),
});

export const unarchivePrompt = operation({
  id: "unarchivePrompt",
  summary: "Undo the archiving of a prompt; deployments that were archived themselves stay so",
  method: "POST",
  path: "/prompts/{id}/unarchive",
  role: "publisher",
  command: "prompt unarchive REF [--note TEXT] [--actor NAME] [--workspace ID]",
  input: { ...ofPrompt, ...changeInfo },
  output: PromptResult,
  refusals: ["not_found", "conflict"],
  run: (management, input) => setArchived(management, false, input),
});

/** Its deployments change with it, but for those that are archived themselves. */
async function setArchived(
  management: Management,
  isArchived: boolean,
  { id, ...info }: { id: PromptId } & ChangeInfo,
): Promise<PromptResult> {
  const origin = originOf(management, info);
  const args = { id, archivedAt: isArchived ? origin.now : null };
  const differs = `prompt_archived_at is ${isArchived ? "null" : "not null"}`;
  const action = isArchived ? "archived" : "unarchived";
  const ofOthers = `prompt_id = :id and archived_at is null and ${differs}`;
  const [, , changes, found] = await management.database.write([
    addChange(action, `'${!isArchived}'`, `'${isArchived}'`, ofOthers, { id, ...origin }),
    {
      sql: `update deployments set prompt_archived_at = :archivedAt, revision = revision + (archived_at is null)
        where prompt_id = :id and ${differs}`,
      args,
    },
    {
      sql: `update prompts set archived_at = :archivedAt
        where id = :id and archived_at is ${isArchived ? "null" : "not null"} returning id`,
      args,
    },
    table.byId(id),
  ]);
  const [prompt] = found!.map(table.toItem);
  if (prompt === undefined) throw notFound("Prompt", id);
  return { ...prompt, changed: changes!.length > 0 };
}

/** A title as a name. */
export const nameAfter = (title: string): string =>
  title.toLowerCase().replace(/[^a-z0-9._]+/g, "-").slice(0, 150).replace(/^[-.]+|[-.]+$/g, "") || "prompt";

/** The statement that finds the prompts for which a condition holds, and what reads a row. */
export const findPrompts = table.where;
export const toPrompt = table.toItem;

/** The condition that no prompt of the workspace has the name. */
export const isNameFree = "not exists (select 1 from prompts where workspace_id = :workspaceId and name = :promptName)";

/** The condition that a prompt exists. */
export const promptExists = "exists (select 1 from prompts where id = :promptId)";

/** The statement that adds a prompt under a name, or under that with the first free number behind it. */
export const addPrompt = (
  { id, workspaceId, createdAt }: Pick<Prompt, "id" | "workspaceId" | "createdAt">,
  name: string,
  condition = "true",
  args: Record<string, string> = {},
): Statement => ({
  sql: `
    insert into prompts (id, workspace_id, name, created_at)
    with recursive taken(nth, name) as (
      select 1, :promptName
      union all
      select nth + 1, :promptName || '-' || (nth + 1) from taken
      where exists (select 1 from prompts p where p.workspace_id = :workspaceId and p.name = taken.name)
    )
    select :id, :workspaceId, name, :createdAt from taken where ${condition} order by nth desc limit 1`,
  args: { ...args, id, workspaceId, createdAt, promptName: name },
});

/** The prompt; refused where there is none, or none in the workspace named. */
export async function requirePrompt({ database }: Store, id: PromptId, workspaceId?: WorkspaceId): Promise<Prompt> {
  const prompt = await table.find(database, id);
  const isElsewhere = workspaceId !== undefined && prompt?.workspaceId !== workspaceId;
  if (prompt === undefined || isElsewhere) throw notFound("Prompt", id);
  return prompt;
}

/** The prompt, to which something is to be added; refused where it is archived too. */
export async function requireOpenPrompt(store: Store, id: PromptId, workspaceId?: WorkspaceId): Promise<Prompt> {
  const prompt = await requirePrompt(store, id, workspaceId);
  if (prompt.archivedAt !== null) throw archived("Prompt", prompt.name);
  return prompt;
}

export const promptOperations = [listPrompts, renamePrompt, archivePrompt, unarchivePrompt];
