// Prompts as the specification serves them, kept as the JSON text of the answer. A version never changes, so what the
// database has given once need not be read again; it tells each time which version is current.
import { createCache } from "../cache.ts";
import type { Cache } from "../cache.ts";
import type { JsonText } from "../json-text.ts";
import { jsonText, stringify } from "../json-text.ts";
import type { FoundPrompt } from "./statements.ts";

type Content = { title: string; description: string; messages: JsonText; llmConfig: JsonText };

/** The prompt of a deployment as JSON text, and what it was made of. */
type ServedPrompt = {
  version: number;
  deployName: string;
  workspaceName: string;
  content: Content;
  text: JsonText;
};

const mostCharacters = 16 * 1024 * 1024;

export type PromptCache = Cache<ServedPrompt>;

/** A cache of prompts by deployment. */
export const createPromptCache = (): PromptCache => createCache(mostCharacters);

/** Gives the prompt of a deployment as it was found, as JSON text. */
export type Serve = (deployId: string, found: FoundPrompt) => JsonText;

/**
 * Serves the prompts of a group. What is known of its deployments is taken out of the cache at once: the texts that are
 * not read because of it must be there when the group has been decided.
 */
export function serveFrom(cache: PromptCache, deployIds: string[]) {
  const known = new Map(deployIds.map((deployId) => [deployId, cache.get(deployId)]));

  const prompt: Serve = (deployId, found) => {
    const before = known.get(deployId);
    const served = isCurrent(before, found) ? before : compose(deployId, found, before);
    if (served !== before) cache.set(deployId, served, 2 * served.text.text.length);
    known.set(deployId, served);
    return served.text;
  };

  return { knownVersion: (deployId: string) => known.get(deployId)?.version ?? 0, prompt };
}

const isCurrent = (
  known: ServedPrompt | undefined,
  [, workspaceName, deployName, , version]: FoundPrompt,
): known is ServedPrompt =>
  known?.version === version && known.deployName === deployName && known.workspaceName === workspaceName;

/** The seven fields, in the specification's order. */
function compose(deployId: string, found: FoundPrompt, known: ServedPrompt | undefined): ServedPrompt {
  const [workspaceId, workspaceName, deployName, id, version] = found;
  const content = readContent(found) ?? known?.content;
  if (content === undefined) throw new Error(`Prompt ${id} has no version ${version}`);
  const { title, description, messages, llmConfig } = content;
  const deploy = { id: deployId, name: deployName, currentVersion: version, isActive: true };
  const workspace = { id: workspaceId, name: workspaceName };
  const text = jsonText(stringify({ id, title, description, messages, deploy, workspace, llmConfig }));
  return { version, deployName, workspaceName, content, text };
}

function readContent([, , , , , title, description, messages, llmConfig]: FoundPrompt): Content | undefined {
  if (title === null || description === null || messages === null || llmConfig === null) return undefined;
  return { title, description, messages: jsonText(messages), llmConfig: jsonText(llmConfig) };
}
