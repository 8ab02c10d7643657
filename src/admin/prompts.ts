// Managing prompts and their versions.
import type {
  Page,
  PageRequest,
  Prompt,
  PromptContent,
  PromptVersion,
  PromptVersionSummary,
} from "../common/domain.ts";
import { conflict, notFound } from "../common/errors.ts";
import { newId } from "../common/ids.ts";
import type { JsonText } from "../common/json-text.ts";
import { jsonText } from "../common/json-text.ts";
import { diffPrompts, fillVariables, variablesOf } from "../management/prompt-text.ts";
import * as store from "../store/prompts.ts";
import type { Admin } from "./admin.ts";
import { getWorkspace } from "./workspaces.ts";

/** What an author sends; a description and a configuration may be left out. */
export type PromptInput =
  & Pick<PromptContent, "title" | "messages">
  & { description?: string | undefined; llmConfig?: JsonText | undefined; note?: string | undefined };

/** A version, and the names of the `{{variables}}` in its messages. */
export type PromptWithVariables = PromptVersion & { variables: string[] };

/** What a push did: the newest version, and whether the push made it. */
export type PushResult = PromptWithVariables & { isNew: boolean };

/** The content of a version, with what may be left out. */
export const toContent = (
  { title, description = "", messages, llmConfig = jsonText("{}") }: PromptInput,
): PromptContent => ({
  title,
  description,
  messages,
  llmConfig,
});

export const withVariables = <P extends PromptVersion>(prompt: P) => ({
  ...prompt,
  variables: variablesOf(prompt.messages),
});

/** Makes a prompt of a content, its version 1. */
export async function createPrompt(admin: Admin, workspaceId: string, input: PromptInput): Promise<PushResult> {
  await getWorkspace(admin, workspaceId);
  const now = admin.clock();
  const content = toContent(input);
  const prompt = { id: newId("prompt", now), version: 1, ...content, note: input.note ?? "", createdAt: now };
  await store.createPrompt(admin.database, { ...prompt, workspaceId });
  return { ...withVariables(prompt), isNew: true };
}

/** Pushes the next version of a prompt. Content that equals the newest version makes no new one, whatever the note. */
export async function pushPrompt(admin: Admin, id: string, input: PromptInput): Promise<PushResult> {
  await getPrompt(admin, id);
  const pushed = await store.addPromptVersion(
    admin.database,
    id,
    toContent(input),
    input.note ?? "",
    admin.clock(),
  );
  return { ...withVariables(pushed.prompt), isNew: pushed.isNew };
}

/** The prompts of a workspace, newest first. */
export async function listPrompts(admin: Admin, workspaceId: string, page: PageRequest = {}): Promise<Page<Prompt>> {
  await getWorkspace(admin, workspaceId);
  return store.listPrompts(admin.database, workspaceId, page);
}

/** The versions of a prompt, newest first. */
export async function listPromptVersions(
  admin: Admin,
  id: string,
  page: PageRequest = {},
): Promise<Page<PromptVersionSummary>> {
  await getPrompt(admin, id);
  return store.listPromptVersions(admin.database, id, page);
}

/** One version of a prompt, or the newest where none is named. */
export async function getPromptVersion(admin: Admin, id: string, version?: number): Promise<PromptWithVariables> {
  const found = await store.findPromptVersion(admin.database, id, version);
  if (found !== undefined) return withVariables(found);
  await getPrompt(admin, id);
  throw notFound(`Version ${version} of prompt`, id);
}

/** A version's messages with its variables filled in; every one of them needs a value. */
export async function renderPrompt(
  admin: Admin,
  id: string,
  { version, values }: { version?: number | undefined; values: Record<string, string> },
): Promise<{ id: string; version: number; messages: JsonText }> {
  const prompt = await getPromptVersion(admin, id, version);
  const { messages, missing } = fillVariables(prompt.messages, values);
  if (missing.length > 0) throw conflict(`Variables without a value: ${missing.join(", ")}`);
  return { id, version: prompt.version, messages };
}

/** What differs between two versions, as a unified diff for people; empty where nothing does. */
export async function diffVersions(
  admin: Admin,
  id: string,
  { from, to }: { from: number; to?: number | undefined },
): Promise<{ id: string; from: number; to: number; diff: string }> {
  const before = await getPromptVersion(admin, id, from);
  const after = await getPromptVersion(admin, id, to);
  const labelled = (content: PromptVersion) => ({ label: `version ${content.version}`, content });
  return { id, from, to: after.version, diff: diffPrompts(labelled(before), labelled(after)) };
}

/** The prompt, or a refusal where there is none, or none in the workspace named. */
export async function getPrompt({ database }: Admin, id: string, workspaceId?: string): Promise<Prompt> {
  const prompt = await store.findPrompt(database, id);
  const isElsewhere = workspaceId !== undefined && prompt?.workspaceId !== workspaceId;
  if (prompt === undefined || isElsewhere) throw notFound("Prompt", id);
  return prompt;
}
