// Prompts: each belongs to a workspace, and has versions.
import { notFound } from "../common/errors.ts";
import type { PromptId, WorkspaceId } from "../common/ids.ts";
import type { Statement } from "../database/database.ts";
import { exactly, named } from "../schema/struct.ts";
import type { Infer } from "../schema/struct.ts";
import * as v from "./values.ts";
import { operation, pageOf } from "./operation.ts";
import type { Store } from "./operation.ts";
import { tableOf } from "./table.ts";
import { requireWorkspace } from "./workspaces.ts";

const Prompt = named(
  "Prompt",
  exactly({
    id: v.textAs<PromptId>(),
    workspaceId: v.textAs<WorkspaceId>(),
    title: v.text,
    latestVersion: v.positive,
    createdAt: v.timestamp,
  }),
);
export type Prompt = Infer<typeof Prompt>;

const table = tableOf(
  Prompt,
  `select p.id, p.workspace_id, v.title, v.version as latest_version, p.created_at
  from prompts p join prompt_versions v on v.prompt_id = p.id
    and v.version = (select max(version) from prompt_versions where prompt_id = p.id)`,
);
export const listPrompts = operation({
  id: "listPrompts",
  tag: "Prompts",
  summary: "List a workspace's prompts with their newest version, newest first",
  method: "GET",
  path: "/workspaces/{workspaceId}/prompts",
  role: "viewer",
  command: "prompt list --workspace ID",
  input: { workspaceId: v.id<WorkspaceId>(), ...v.page },
  output: pageOf(Prompt),
  refusals: ["not_found"],
  async run(management, { workspaceId, ...page }) {
    await requireWorkspace(management, workspaceId);
    return await table.list(management.database, { workspaceId }, page);
  },
});

/** A title as a name. */
export const nameAfter = (title: string): string =>
  title.toLowerCase().replace(/[^a-z0-9._]+/g, "-").slice(0, 150).replace(/^[-.]+|[-.]+$/g, "") || "prompt";

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

export const promptOperations = [listPrompts];
