// Prompts: each belongs to a workspace, and has versions.
import { notFound } from "../common/errors.ts";
import type { PromptId, WorkspaceId } from "../common/ids.ts";
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

/** The prompt; refused where there is none, or none in the workspace named. */
export async function requirePrompt({ database }: Store, id: PromptId, workspaceId?: WorkspaceId): Promise<Prompt> {
  const prompt = await table.find(database, id);
  const isElsewhere = workspaceId !== undefined && prompt?.workspaceId !== workspaceId;
  if (prompt === undefined || isElsewhere) throw notFound("Prompt", id);
  return prompt;
}

export const promptOperations = [listPrompts];
