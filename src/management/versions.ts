// Versions of prompts: pushed, shown, filled in and compared. A version never changes, and content that equals the newest
// version makes no new one.
import { notFound, promptNameTaken } from "../common/errors.ts";
import { newId } from "../common/ids.ts";
import type { PromptId } from "../common/ids.ts";
import { jsonText } from "../common/json-text.ts";
import type { Row, Statement } from "../database/database.ts";
import { readPage } from "../database/page.ts";
import { LlmConfig, Messages } from "../schema/serving.ts";
import { described, exactly, listOf, named, optional } from "../schema/struct.ts";
import type { Infer } from "../schema/struct.ts";
import * as v from "./values.ts";
import { operation, pageOf } from "./operation.ts";
import type { Management, Store } from "./operation.ts";
import { variablesOf } from "./prompt-text.ts";
import type { PromptContent } from "./prompt-text.ts";
import { addPrompt, isNameFree, nameAfter, promptExists, requireOpenPrompt, requirePrompt } from "./prompts.ts";
import { ofPrompt } from "./references.ts";
import { readerOf } from "./table.ts";
import { requireWorkspace } from "./workspaces.ts";

const stored = {
  id: described(v.textAs<PromptId>(), "The id of the prompt"),
  name: described(v.text, "The name of the prompt"),
  version: v.positive,
  title: v.text,
  description: v.text,
  messages: Messages,
  llmConfig: LlmConfig,
  note: described(v.text, "Why the version was made; may be empty"),
  createdAt: v.timestamp,
};
const StoredVersion = exactly(stored);
const version = { ...stored, variables: described(listOf(v.text), "The names of the {{variables}} in its messages") };
const PromptVersion = named("PromptVersion", exactly(version));
export type PromptVersion = Infer<typeof PromptVersion>;

/** What a push answers with. */
export const pushed = { ...version, isNew: described(v.isTrue, "Whether this push made the version") };
const PushResult = named("PushResult", exactly(pushed));
export type PushResult = Infer<typeof PushResult>;

const VersionSummary = named(
  "PromptVersionSummary",
  exactly({ version: v.positive, title: v.text, note: stored.note, createdAt: v.timestamp }),
);
/** What an author writes. Members of a message that are not named here are kept and served. */
export const promptContent = {
  title: v.name,
  description: optional(v.plainText),
  messages: Messages,
  llmConfig: optional(LlmConfig),
};
export const newVersion = { ...promptContent, note: optional(described(v.note, "Why the version is made")) };
const promptInput = exactly(newVersion);
export type PromptInput = Infer<typeof promptInput>;

/** The content of a version, with what an author may leave out. */
export const toContent = (
  { title, description = "", messages, llmConfig = jsonText("{}") }: PromptInput,
): PromptContent => ({ title, description, messages, llmConfig });

const toStored = readerOf(StoredVersion);
const toSummary = readerOf(VersionSummary);

/** A row of `findVersion` as a version. */
export function toVersion(row: Row): PromptVersion {
  const stored = toStored(row);
  return { ...stored, variables: variablesOf(stored.messages) };
}

/** Finds a version of a prompt, or the newest. */
export const findVersion = (promptId: PromptId, version?: number): Statement => ({
  sql:
    `select v.prompt_id as id, p.name, v.version, v.title, v.description, v.messages, v.llm_config, v.note, v.created_at
    from prompt_versions v join prompts p on p.id = v.prompt_id
    where v.prompt_id = ? and v.version = coalesce(?, v.version) order by v.version desc limit 1`,
  args: [promptId, version ?? null],
});

type Condition = { sql: string; args: Record<string, string | number | null> };

/** Adds the next version where a condition holds, unless the newest has the same content. Gives a row where it did. */
export const addVersion = (
  promptId: PromptId,
  { title, description, messages, llmConfig }: PromptContent,
  note: string,
  now: number,
  condition: Condition = { sql: "true", args: {} },
): Statement => ({
  sql: `
    insert into prompt_versions (prompt_id, version, title, description, messages, llm_config, note, created_at)
    select :promptId, coalesce(newest.version, 0) + 1, :title, :description, :messages, :llmConfig, :note, :now
    from (select max(version) as version from prompt_versions where prompt_id = :promptId) newest
    where ${condition.sql} and not exists (
      select 1 from prompt_versions
      where prompt_id = :promptId and version = newest.version and title = :title and description = :description
        and messages = :messages and llm_config = :llmConfig
    )
    returning version`,
  args: {
    ...condition.args,
    promptId,
    title,
    description,
    messages: messages.text,
    llmConfig: llmConfig.text,
    note,
    now,
  },
});

export const createPrompt = operation({
  id: "createPrompt",
  summary: "Create a prompt, with its version 1",
  method: "POST",
  path: "/workspaces/{workspaceId}/prompts",
  role: "editor",
  input: {
    workspaceId: v.workspaceId,
    name: optional(described(v.promptName, "A free name of the workspace; one after the title unless given")),
    ...newVersion,
  },
  output: PushResult,
  locate: ({ id }) => `/prompts/${id}`,
  refusals: ["not_found", "conflict"],
  async run(management, { workspaceId, name, ...input }) {
    await requireWorkspace(management, workspaceId);
    const createdAt = management.clock();
    const id = newId("prompt", createdAt);
    const prompt = { id, workspaceId, createdAt };
    const added = name === undefined ? addPrompt(prompt, nameAfter(input.title)) : addPrompt(prompt, name, isNameFree);
    const pushed = await push(management, id, input, [added]);
    if (pushed === undefined) throw promptNameTaken(name ?? "");
    return pushed;
  },
});

export const pushPrompt = operation({
  id: "pushPrompt",
  summary: "Push the next version of a prompt; content that equals the newest version makes no new one",
  method: "POST",
  path: "/prompts/{id}/versions",
  role: "editor",
  input: { ...ofPrompt, ...newVersion },
  output: PushResult,
  locate: ({ id, version, isNew }) => isNew ? `/prompts/${id}/versions/${version}` : undefined,
  refusals: ["not_found", "conflict"],
  async run(management, { id, ...input }) {
    await requireOpenPrompt(management, id);
    const pushed = await push(management, id, input);
    if (pushed === undefined) throw notFound("Prompt", id);
    return pushed;
  },
});

/** Undefined where there is no such prompt. */
async function push(
  { database, clock }: Management,
  id: PromptId,
  input: PromptInput,
  before: Statement[] = [],
): Promise<PushResult | undefined> {
  const results = await database.write([
    ...before,
    addVersion(id, toContent(input), input.note ?? "", clock(), { sql: promptExists, args: {} }),
    findVersion(id),
  ]);
  const [added, [newest] = []] = results.slice(before.length);
  return newest && { ...toVersion(newest), isNew: added!.length > 0 };
}

export const listPromptVersions = operation({
  id: "listPromptVersions",
  summary: "List a prompt's versions, newest first",
  method: "GET",
  path: "/prompts/{id}/versions",
  role: "viewer",
  command: "prompt versions REF [--workspace ID]",
  input: { ...ofPrompt, ...v.numberedPage },
  output: pageOf(VersionSummary),
  refusals: ["not_found", "conflict"],
  async run(management, { id, ...page }) {
    await requirePrompt(management, id);
    const sql = `select version, title, note, created_at from prompt_versions
      where prompt_id = :id and version < coalesce(cast(:cursor as integer), ${Number.MAX_SAFE_INTEGER})
      order by version desc limit :rows`;
    const query = (page: { cursor: string | null; rows: number }) => ({ sql, args: { id, ...page } });
    return await readPage(management.database, page, query, toSummary, ({ version }) => version);
  },
});

export const getPrompt = operation({
  id: "getPrompt",
  summary: "Show a prompt's newest version",
  method: "GET",
  path: "/prompts/{id}",
  role: "viewer",
  input: { ...ofPrompt },
  output: PromptVersion,
  refusals: ["not_found", "conflict"],
  run: (management, { id }) => requireVersion(management, id),
});

export const getPromptVersion = operation({
  id: "getPromptVersion",
  summary: "Show a version of a prompt",
  method: "GET",
  path: "/prompts/{id}/versions/{version}",
  role: "viewer",
  input: { ...ofPrompt, version: described(v.positive, "The number of the version") },
  output: PromptVersion,
  refusals: ["not_found", "conflict"],
  run: (management, { id, version }) => requireVersion(management, id, version),
});

/** A version of a prompt, the newest unless named; refused where there is none. */
export async function requireVersion(store: Store, id: PromptId, version?: number): Promise<PromptVersion> {
  const [row] = await store.database.read(findVersion(id, version));
  if (row !== undefined) return toVersion(row);
  await requirePrompt(store, id);
  throw notFound(`Version ${version} of prompt`, id);
}

export const versionOperations = [
  createPrompt,
  pushPrompt,
  getPrompt,
  listPromptVersions,
  getPromptVersion,
];
