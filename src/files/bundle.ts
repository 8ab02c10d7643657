// Bundles of prompts: client snapshots for applications that ship with their prompts.
import { stringify } from "../common/json-text.ts";
import type { PromptContent } from "../management/prompts/prompt-text.ts";
import type { TypedPrompt } from "./types.ts";

/** A prompt of a bundle. `version` is 0 if unknown, as for a file: then records name no version. */
export type BundledPrompt = TypedPrompt & {
  content: PromptContent;
  version: number;
  id: string;
  deployId: string;
  workspace: { id: string; name: string };
};

/**
 * Returns a snapshot in which clients find prompts by reference and by id, whatever their service and key. It counts as
 * older than anything from a service.
 */
export function toBundle(prompts: readonly BundledPrompt[]): string {
  const entries = prompts.flatMap(({ reference, content, version, id, deployId, workspace }) => {
    const { title, description, messages, llmConfig } = content;
    const [, name = ""] = /@(.*)$/.exec(reference) ?? [];
    const deploy = { id: deployId, name, currentVersion: version, isActive: true };
    const prompt = {
      id,
      title,
      description,
      messages,
      deploy,
      workspace: { id: workspace.id, name: workspace.name },
      llmConfig,
    };
    return [...new Set([reference, deployId])].map((key) => [key, { at: 0, prompt }] as const);
  });
  return `${stringify({ entries: Object.fromEntries(entries) })}\n`;
}
