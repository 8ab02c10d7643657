// Versions of prompts. A version never changes, and content that equals the newest version makes no new one.
import { notFound, outdated } from "../../common/errors.ts";
import { newId, sha256 } from "../../common/ids.ts";
import type { PromptId, WorkspaceId } from "../../common/ids.ts";
import { jsonText } from "../../common/json-text.ts";
import type { Row, Statement } from "../../database/database.ts";
import { readPage } from "../../database/page.ts";
import { readerOf, textOrNull } from "../../database/row.ts";
import { LlmConfig, Messages } from "../../schema/serving.ts";
import { described, exactly, listOf, oneOf, option, optional, orNull, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import type { Change } from "../kernel/commit.ts";
import { Declarations, toDeclarations } from "./declarations.ts";
import { createOperation, listOperation } from "../kernel/declare.ts";
import { operation, pageOf, sources } from "../kernel/operation.ts";
import type { Management, Source, Store } from "../kernel/operation.ts";
import { knownOrigin } from "../kernel/origin.ts";
import type { Origin } from "../kernel/origin.ts";
import { textsOf, variablesOf } from "./prompt-text.ts";
import type { ContentTexts, PromptContent } from "./prompt-text.ts";
import { findFreeName, Prompt, requireOpenPrompt, requirePrompt } from "./prompts.ts";
import { ofPrompt } from "../kernel/references.ts";
import { requireRoom } from "../kernel/room.ts";
import { insertInto } from "../kernel/table.ts";

const stored = {
  id: described(v.textAs<PromptId>(), "The id of the prompt"),
  name: described(v.text, "The name of the prompt"),
  version: v.positive,
  title: v.text,
  description: v.text,
  messages: Messages,
  llmConfig: LlmConfig,
  declarations: optional(Declarations),
  note: described(v.text, "The reason for the version. It may be empty"),
  createdAt: v.timestamp,
};
const StoredVersion = exactly(stored);
const version = { ...stored, variables: described(listOf(v.text), "The names of the {{variables}} in its messages") };
export const PromptVersion = shape("PromptVersion", version);
export type PromptVersion = Infer<typeof PromptVersion>;

const PromptDetails = shape("PromptDetails", {
  ...version,
  prompt: described(Prompt, "The prompt itself, as in lists"),
});
export type PromptDetails = Infer<typeof PromptDetails>;

/** The response to a push. */
export const pushed = { ...version, isNew: described(v.boolean, "Whether this push created the version") };
const PushResult = shape("PushResult", pushed);
type PushResult = Infer<typeof PushResult>;

/** Author of a version, from the audit log. */
export const authorship = {
  actor: described(v.text, "Who pushed it, as the audit log knows. It may be empty"),
  source: orNull(oneOf(...sources), "How it was pushed. Null if it is older than the audit log"),
  origin: knownOrigin,
};

const summary = { version: v.positive, title: v.text, note: stored.note };
const VersionSummary = shape("PromptVersionSummary", { ...summary, ...authorship, createdAt: v.timestamp });
export type VersionSummary = Infer<typeof VersionSummary>;

/** Content by an author. Messages may have more members, which are stored and served. */
export const promptContent = {
  title: v.name,
  description: optional(v.plainText),
  messages: Messages,
  llmConfig: optional(LlmConfig),
  declarations: optional(Declarations),
};
export const newVersion = { ...promptContent, note: option(v.note, "The reason for the version") };
const promptInput = exactly(newVersion);
export type PromptInput = Infer<typeof promptInput>;

/** The content of a version, with defaults for what the author left out. */
export const toContent = (
  { title, description = "", messages, llmConfig = jsonText("{}"), declarations }: PromptInput,
): PromptContent => ({ title, description, messages, llmConfig, declarations: toDeclarations(declarations) });

/** Bytes of the texts of a version, in SQL. */
export const bytesOfVersion = ["title", "description", "note", "messages", "llm_config"]
  .map((column) => `octet_length(${column})`).join(" + ") + " + coalesce(octet_length(declarations), 0)";

const toStored = readerOf(StoredVersion);
const readSummary = readerOf(exactly({ ...summary, createdAt: v.timestamp }));
const toSummary = (row: Row): VersionSummary => ({ ...readSummary(row), ...toAuthorship(row) });

/** Author of a version in a row. `origin` is JSON text. */
export function toAuthorship(row: Row) {
  const origin = textOrNull(row, "origin");
  return {
    actor: textOrNull(row, "actor") ?? "",
    source: textOrNull(row, "source") as Source | null,
    origin: origin === null ? null : JSON.parse(origin) as Origin,
  };
}

/** A row of `findVersion` as a version. */
export function toVersion(row: Row): PromptVersion {
  const stored = toStored(row);
  return { ...stored, variables: variablesOf(stored.messages) };
}

/** Finds a version of a prompt, by default the newest. */
const findVersion = (promptId: PromptId, version?: number): Statement => ({
  sql: `select v.prompt_id as id, p.name, v.version, v.title, v.description, v.messages, v.llm_config, v.declarations,
      v.note, v.created_at
    from prompt_versions v join prompts p on p.id = v.prompt_id
    where v.prompt_id = ? and v.version = coalesce(?, v.version) order by v.version desc limit 1`,
  args: [promptId, version ?? null],
});

/** A planned push: its response, the identity of its content in the audit log, and its statements. */
type PushPlan = {
  pushed: PushResult;
  content: { latestVersion: number; hash: string };
  statements: Statement[];
};

/** Hash of the content of a version, which identifies it in the audit log. */
export const contentHash = (texts: ContentTexts): Promise<string> => sha256(JSON.stringify(texts));

/** Plans the next version of a prompt. Content that equals the newest version makes no new one. */
async function planPush(
  { id, name, newest }: { id: PromptId; name: string; newest?: PromptVersion | undefined },
  input: PromptInput,
  createdAt: number,
): Promise<PushPlan> {
  const content = toContent(input), texts = textsOf(content);
  const hash = await contentHash(texts);
  const isNew = newest === undefined || await contentHash(textsOf(newest)) !== hash;
  if (!isNew) return { pushed: { ...newest, isNew }, content: { latestVersion: newest.version, hash }, statements: [] };
  const version = (newest?.version ?? 0) + 1;
  const { note = "" } = input;
  const variables = variablesOf(content.messages);
  return {
    pushed: { id, name, version, ...content, note, createdAt, variables, isNew },
    content: { latestVersion: version, hash },
    statements: [insertInto("prompt_versions", { promptId: id, version, ...texts, note, createdAt })],
  };
}

export const createPrompt = createOperation({
  id: "createPrompt",
  summary: "Create a prompt with version 1",
  path: "/workspaces/{workspaceId}/prompts",
  conflicts: true,
  role: "editor",
  input: {
    workspaceId: v.workspaceId,
    name: option(v.promptName, "A name that no other prompt of the workspace has. Default: a name made from the title"),
    ...newVersion,
  },
  output: PushResult,
  locate: ({ id }) => `/prompts/${id}`,
  async run(management, { workspaceId, ...input }) {
    const { added, ...push } = await planPrompt(management, workspaceId, input);
    await management.commit([added], push.statements);
    return push.pushed;
  },
});

/** Plans a new prompt with version 1. */
export async function planPrompt(
  management: Management,
  workspaceId: WorkspaceId,
  input: PromptInput & { name?: string | undefined },
): Promise<PushPlan & { added: Change }> {
  const createdAt = management.clock();
  const id: PromptId = newId("prompt", createdAt);
  const name = await findFreeName(management, workspaceId, input);
  await requireRoom(management, "prompts", workspaceId);
  const { pushed, content, statements } = await planPush({ id, name }, input, createdAt);
  return {
    pushed,
    content,
    added: { action: "prompt.created", id, workspaceId, after: { name, createdAt, ...content }, note: pushed.note },
    statements: [insertInto("prompts", { id, workspaceId, name, createdAt }), ...statements],
  };
}

export const pushPrompt = operation({
  id: "pushPrompt",
  summary: "Push the next version of a prompt. Content that equals the newest version makes no new one",
  method: "POST",
  path: "/prompts/{id}/versions",
  answers: "found or created",
  conflicts: true,
  role: "editor",
  input: {
    ...ofPrompt,
    ...newVersion,
    ifLatest: option(v.positive, "Push only if this is still the newest version"),
  },
  output: PushResult,
  locate: ({ id, version, isNew }) => isNew ? `/prompts/${id}/versions/${version}` : undefined,
  refusals: ["outdated"],
  async run(management, { id, ifLatest, ...input }) {
    const prompt = await requireOpenPrompt(management, id);
    if (![undefined, prompt.latestVersion].includes(ifLatest)) throw outdated("Prompt", prompt.name);
    const { pushed, added, statements } = await planVersion(management, prompt, input);
    if (added !== undefined) await management.commit([added], statements);
    return pushed;
  },
});

/** Plans the next version of an existing prompt. `added` is undefined if its content equals the newest version. */
export async function planVersion(
  management: Management,
  { id, name, workspaceId, latestVersion }: Prompt,
  input: PromptInput,
): Promise<PushPlan & { added: Change | undefined }> {
  const newest = await requireVersion(management, id, latestVersion);
  const push = await planPush({ id, name, newest }, input, management.clock());
  if (push.pushed.isNew) await requireRoom(management, "versions", id);
  const { note } = push.pushed;
  const change = { action: "prompt.pushed", id, workspaceId, before: { latestVersion }, after: push.content, note };
  return { ...push, added: push.pushed.isNew ? change : undefined };
}

/**
 * A query for the version that each entry of the log has made of some prompts, and its position. Nothing finds the entry of one
 * version, so that those of a prompt are read once for all versions of a page.
 */
export const pushesOf = (prompts: string): string => `
  select target_id as prompt_id, iif(json_valid(after), after ->> 'latestVersion', null) as version, position
  from audit_log where target_id in (${prompts}) and action in ('prompt.created', 'prompt.pushed')`;

export const listPromptVersions = listOperation({
  id: "listPromptVersions",
  summary: "List a prompt's versions, newest first",
  path: "/prompts/{id}/versions",
  conflicts: true,
  command: "prompt versions REF",
  input: { ...ofPrompt, ...v.numberedPage },
  output: pageOf(VersionSummary),
  async run(management, { id, ...page }) {
    const isKnown = requirePrompt(management, id);
    const sql = `with pushes as materialized (${pushesOf("select :id")})
      select v.version, v.title, v.note, e.actor, e.source, e.after -> 'origin' as origin, v.created_at
      from prompt_versions v left join pushes p on p.version = v.version left join audit_log e on e.position = p.position
      where v.prompt_id = :id and v.version < coalesce(cast(:cursor as integer), ${Number.MAX_SAFE_INTEGER})
      order by v.version desc limit :rows`;
    const query = (page: { cursor: string | null; rows: number }) => ({ sql, args: { id, ...page } });
    const [versions] = await Promise.all([
      readPage(management.database, page, query, toSummary, ({ version }) => version),
      isKnown,
    ]);
    return versions;
  },
});

export const getPrompt = operation({
  id: "getPrompt",
  summary: "Show a prompt and its newest version",
  method: "GET",
  path: "/prompts/{id}",
  conflicts: true,
  input: { ...ofPrompt },
  output: PromptDetails,
  async run(management, { id }) {
    const prompt = await requirePrompt(management, id);
    return { ...await requireVersion(management, id, prompt.latestVersion), prompt };
  },
});

export const getPromptVersion = operation({
  id: "getPromptVersion",
  summary: "Show a version of a prompt",
  method: "GET",
  path: "/prompts/{id}/versions/{version}",
  conflicts: true,
  input: { ...ofPrompt, version: described(v.positive, "The number of the version") },
  output: PromptVersion,
  run: (management, { id, version }) => requireVersion(management, id, version),
});

/** Returns a version of a prompt, by default the newest. Throws if missing. */
export async function requireVersion(store: Store, id: PromptId, version?: number): Promise<PromptVersion> {
  const [row] = await store.database.read(findVersion(id, version));
  if (row !== undefined) return toVersion(row);
  await requirePrompt(store, id);
  throw notFound(`Version ${version} of prompt`, id, "version");
}

export const versionOperations = [
  createPrompt,
  pushPrompt,
  getPrompt,
  listPromptVersions,
  getPromptVersion,
];
