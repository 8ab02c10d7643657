// Managing prompts and their versions.
import type { Prompt, PromptContent, PromptVersion, PromptVersionSummary } from "../domain.ts";
import { invalid, notFound } from "../errors.ts";
import { newId } from "../ids.ts";
import { compact, jsonText } from "../json-text.ts";
import { parse, PromptContentInput } from "../schema.ts";
import * as store from "../store/prompts.ts";
import { getWorkspace } from "./workspaces.ts";
import type { Admin } from "./workspaces.ts";

/** What a push did: the newest version, and whether the push made it. */
export type PushResult = PromptVersion & { isNew: boolean };

/**
 * Pushes the JSON text of a prompt's content: as version 1 of a new prompt, or as the next version of the one named.
 * Content that equals the newest version makes no new one.
 */
export async function pushPrompt(
  admin: Admin,
  { workspaceId, promptId, source }: { workspaceId: string; promptId?: string | undefined; source: string },
): Promise<PushResult> {
  const content = readContent(source);
  await getWorkspace(admin, workspaceId);
  const now = admin.clock();
  if (promptId === undefined) {
    const prompt = { id: newId("prompt", now), version: 1, ...content, createdAt: now };
    await store.createPrompt(admin.database, { ...prompt, workspaceId });
    return { ...prompt, isNew: true };
  }
  await getPrompt(admin, promptId, workspaceId);
  const { prompt, isNew } = await store.addPromptVersion(admin.database, promptId, content, now);
  return { ...prompt, isNew };
}

export async function listPrompts(admin: Admin, workspaceId: string): Promise<Prompt[]> {
  await getWorkspace(admin, workspaceId);
  return store.listPrompts(admin.database, workspaceId);
}

export async function listPromptVersions(admin: Admin, promptId: string): Promise<PromptVersionSummary[]> {
  await getPrompt(admin, promptId);
  return store.listPromptVersions(admin.database, promptId);
}

/** One version of a prompt, or the newest where none is named. */
export async function getPromptVersion(
  { database }: Admin,
  promptId: string,
  version: number | undefined,
): Promise<PromptVersion> {
  const found = await store.findPromptVersion(database, promptId, version);
  if (found !== undefined) return found;
  throw notFound(version === undefined ? "Prompt" : `Version ${version} of prompt`, promptId);
}

/** The prompt, or a refusal where there is none, or none in the workspace named. */
export async function getPrompt({ database }: Admin, id: string, workspaceId?: string): Promise<Prompt> {
  const prompt = await store.findPrompt(database, id);
  const isElsewhere = workspaceId !== undefined && prompt?.workspaceId !== workspaceId;
  if (prompt === undefined || isElsewhere) throw notFound("Prompt", id);
  return prompt;
}

// As much as a service reads of a body, and as fits in an argument of a libSQL server.
const longestSource = 1024 * 1024; // characters

/** Numbers, keys and their order stay as written; only white space between tokens goes. */
function readContent(source: string): PromptContent {
  if (source.length > longestSource) throw invalid(`Prompt must be at most ${longestSource} characters`);
  const { value, members } = parse(PromptContentInput, source, "Prompt");
  return {
    title: value.title,
    description: value.description ?? "",
    messages: jsonText(compact(members.get("messages") ?? "[]")),
    llmConfig: jsonText(compact(members.get("llmConfig") ?? "{}")),
  };
}
