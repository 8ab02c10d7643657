// Prompts. Each belongs to a workspace, and has versions.
import { approvalRequired, archived, notFound, promptNameTaken } from "../../common/errors.ts";
import type { PromptId, WorkspaceId } from "../../common/ids.ts";
import { integer, text, textOrNull } from "../../database/row.ts";
import { described, exactly, listOf, option, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { searchPrompts } from "./prompt-search.ts";
import { listOperation } from "../kernel/declare.ts";
import { changeInfo, operation, pageOf, requireProtectedRole } from "../kernel/operation.ts";
import type { Management, Store } from "../kernel/operation.ts";
import { ofPrompt } from "../kernel/references.ts";
import { endRolloutsOf, rolloutColumn } from "../terms/rollouts.ts";
import { tableOf, updateOf } from "../kernel/table.ts";

const prompt = {
  id: v.textAs<PromptId>(),
  workspaceId: v.textAs<WorkspaceId>(),
  name: described(v.text, "Unique in its workspace"),
  title: v.text,
  latestVersion: v.positive,
  createdAt: v.timestamp,
  archivedAt: described(v.moment, "When it was archived, in Unix milliseconds, or null"),
};
export const Prompt = shape("Prompt", prompt);
export type Prompt = Infer<typeof Prompt>;

/** The references that a rename changed. */
export const renamed = {
  references: described(
    listOf(exactly({ from: v.text, to: v.text })),
    "The references that changed. The old ones are no longer found",
  ),
};
const changed = described(v.boolean, "Whether this request changed anything");
const RenamedPrompt = shape("RenamedPrompt", { ...prompt, changed, ...renamed });
export type RenamedPrompt = Infer<typeof RenamedPrompt>;
const PromptResult = shape("PromptResult", { ...prompt, changed });
type PromptResult = Infer<typeof PromptResult>;

const select = `
  select p.id, p.workspace_id, p.name, v.title, v.version as latest_version, p.created_at, p.archived_at
  from prompts p join prompt_versions v on v.prompt_id = p.id
    and v.version = (select max(version) from prompt_versions where prompt_id = p.id)`;
const table = tableOf(Prompt, select);

export const listPrompts = listOperation({
  id: "listPrompts",
  summary:
    "List a workspace's prompts with the title and number of their newest version, newest first. A page may be short or " +
    "empty after a long search",
  path: "/workspaces/{workspaceId}/prompts",
  command: "prompt list",
  input: {
    workspaceId: v.workspaceId,
    text: option(
      v.needle,
      "Only prompts with this text in the name, or in the title or a text of the messages of the newest version. Case does not matter",
    ),
    ...v.archivable,
    ...v.page,
  },
  output: pageOf(Prompt),
  async run({ database }, { workspaceId, text, archived: all, ...page }) {
    const listed = v.isListed(all);
    if (text === undefined) return await table.list(database, { workspaceId }, page, listed);
    return await searchPrompts(database, { workspaceId, text, select, listed, toItem: table.toItem }, page);
  },
});

export const renamePrompt = operation({
  id: "renamePrompt",
  summary: "Rename a prompt. The references of its deployments change, its id does not",
  method: "POST",
  path: "/prompts/{id}/rename",
  conflicts: true,
  role: "editor",
  guardsProtected: true,
  command: "prompt rename REF --name NAME",
  input: { ...ofPrompt, name: described(v.promptName, "The new name") },
  output: RenamedPrompt,
  async run(management, { id, name }): Promise<RenamedPrompt> {
    const before = await requirePrompt(management, id);
    const { after, deployments, change, statement } = await planRename(management, before, name);
    if (before.name === name) return { ...before, changed: false, references: [] };
    await management.commit([change], [statement]);
    const references = deployments.map((deployment) => ({
      from: `${before.name}@${deployment}`,
      to: `${name}@${deployment}`,
    }));
    return { ...after, changed: true, references };
  },
});

/** Plans to rename a prompt. `deployments` has the names of its deployments, whose references change. */
export async function planRename(management: Management, before: Prompt, name: string) {
  const { id, workspaceId } = before;
  const sql = "select name, is_protected, approvals from deployments where prompt_id = ? order by name";
  const deployments = await management.database.read({ sql, args: [id] });
  const guarded = deployments.find((row) => row.is_protected === 1);
  if (guarded !== undefined) requireProtectedRole(management.caller, `${before.name}@${text(guarded, "name")}`);
  if (before.name !== name) {
    const approved = deployments.find((row) => row.approvals !== 0);
    if (approved !== undefined) {
      throw approvalRequired(`${before.name}@${text(approved, "name")}`, "Rename that deployment alone");
    }
    await requireFreeName(management, workspaceId, name);
  }
  const after = { ...before, name };
  return {
    after,
    deployments: deployments.map((row) => text(row, "name")),
    change: { action: "prompt.renamed", id, workspaceId, before, after },
    statement: updateOf("prompts", id, { name }),
  };
}

export const archivePrompt = operation({
  id: "archivePrompt",
  summary:
    "Archive a prompt and its deployments. Lists hide them, requests to them are refused, and their names stay taken",
  method: "POST",
  path: "/prompts/{id}/archive",
  conflicts: true,
  role: "publisher",
  command: "prompt archive REF",
  input: { ...ofPrompt, ...changeInfo },
  output: PromptResult,
  run: (management, { id }) => setArchived(management, true, id),
});

export const unarchivePrompt = operation({
  id: "unarchivePrompt",
  summary: "Unarchive a prompt. Deployments that were archived themselves stay archived",
  method: "POST",
  path: "/prompts/{id}/unarchive",
  conflicts: true,
  role: "publisher",
  command: "prompt unarchive REF",
  input: { ...ofPrompt, ...changeInfo },
  output: PromptResult,
  run: (management, { id }) => setArchived(management, false, id),
});

/** Archives or unarchives a prompt. */
async function setArchived(management: Management, isArchived: boolean, id: PromptId): Promise<PromptResult> {
  const before = await requirePrompt(management, id);
  if ((before.archivedAt !== null) === isArchived) return { ...before, changed: false };
  const { after, changes, statements } = await planArchiving(management, before, isArchived);
  await management.commit(changes, statements);
  return { ...after, changed: true };
}

/** Plans to archive or unarchive a prompt with its deployments, except those that are archived themselves. */
export async function planArchiving(management: Management, before: Prompt, isArchived: boolean) {
  const { id } = before;
  const archivedAt = isArchived ? management.clock() : null;
  const after = { ...before, archivedAt };
  const { workspaceId } = before;
  const action = isArchived ? "archived" : "unarchived";
  const sql = `select d.id, d.name, d.revision, d.approvals, ${rolloutColumn} from deployments d
    where d.prompt_id = ? and d.archived_at is null order by d.id`;
  const deployments = await management.database.read({ sql, args: [id] });
  const approved = deployments.find((row) => row.approvals !== 0);
  if (approved !== undefined) {
    throw approvalRequired(`${before.name}@${text(approved, "name")}`, "Archive that deployment first");
  }
  const changes = deployments.map((row) => {
    const revision = integer(row, "revision"), rollout = JSON.parse(textOrNull(row, "rollout") ?? "null");
    return {
      ...{ action: `deployment.${action}`, id: text(row, "id"), workspaceId },
      before: { archivedAt: before.archivedAt, rollout, revision },
      after: { archivedAt, rollout: null, revision: revision + 1 },
    };
  });
  return {
    after,
    changes: [{ action: `prompt.${action}`, id, workspaceId, before, after }, ...changes],
    statements: [
      updateOf("prompts", id, { archivedAt }),
      {
        sql: `update deployments set prompt_archived_at = :archivedAt, revision = revision + (archived_at is null)
          where prompt_id = :id`,
        args: { id, archivedAt },
      },
      ...(archivedAt === null ? [] : [endRolloutsOf(id, archivedAt)]),
    ],
  };
}

/** Makes a name from a title. */
const nameAfter = (title: string): string =>
  title.toLowerCase().replace(/[^a-z0-9._]+/g, "-").slice(0, 150).replace(/^[-.]+|[-.]+$/g, "") || "prompt";

/** The statement that finds prompts by a condition, and the reader of their rows. */
export const findPrompts = table.where;
export const toPrompt = table.toItem;

/**
 * The name for a new prompt. A given name must be free. Without one it is made from the title, with a number if that is
 * taken.
 */
export async function findFreeName(
  store: Store,
  workspaceId: WorkspaceId,
  { name, title }: { name?: string | undefined; title: string },
): Promise<string> {
  if (name !== undefined) {
    await requireFreeName(store, workspaceId, name);
    return name;
  }
  const base = nameAfter(title);
  const rows = await store.database.read({
    sql: "select name from prompts where workspace_id = :workspaceId and name glob :base || '*'",
    args: { workspaceId, base },
  });
  const taken = new Set(rows.map((row) => text(row, "name")));
  let free = base;
  for (let nth = 2; taken.has(free); nth++) free = `${base}-${nth}`;
  return free;
}

async function requireFreeName({ database }: Store, workspaceId: WorkspaceId, name: string): Promise<void> {
  const [other] = await database.read(findPrompts("workspace_id = ? and name = ?", [workspaceId, name]));
  if (other !== undefined) throw promptNameTaken(name);
}

/** Returns a prompt. Throws if it does not exist, or is in another workspace than the given one. */
export async function requirePrompt({ database }: Store, id: PromptId, workspaceId?: WorkspaceId): Promise<Prompt> {
  const prompt = await table.find(database, id);
  const isElsewhere = workspaceId !== undefined && prompt?.workspaceId !== workspaceId;
  if (prompt === undefined || isElsewhere) throw notFound("Prompt", id);
  return prompt;
}

/** Returns a prompt to add something to. Throws if it is archived, too. */
export async function requireOpenPrompt(store: Store, id: PromptId, workspaceId?: WorkspaceId): Promise<Prompt> {
  const prompt = await requirePrompt(store, id, workspaceId);
  if (prompt.archivedAt !== null) throw archived("Prompt", prompt.name);
  return prompt;
}

export const promptOperations = [listPrompts, renamePrompt, archivePrompt, unarchivePrompt];
