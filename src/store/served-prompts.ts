// Prompts as the specification serves them, kept as the JSON text of the answer. A version never changes, so what the
// database has given once need not be read again; it tells each time which version is current.
import { createCache } from "../cache.ts";
import type { JsonText } from "../json-text.ts";
import { jsonText, stringify } from "../json-text.ts";
import type { Finding } from "./admission.ts";

type Content = { title: string; description: string; messages: JsonText; llmConfig: JsonText };

type Served = { version: number; content: Content; names: string; text: JsonText };

export type ServedPrompts = {
  /** The version of a deployment's prompt that is at hand; 0 for none. */
  knownVersion(deployId: string): number;
  /** The prompt of a deployment as JSON text. */
  serve(deployId: string, finding: Finding): JsonText;
};

const mostCharacters = 16 * 1024 * 1024;

export function createServedPrompts(): ServedPrompts {
  const cache = createCache<Served>(mostCharacters);

  function serve(deployId: string, finding: Finding): JsonText {
    const known = cache.get(deployId);
    const names = JSON.stringify([finding.deployName, finding.workspaceName]);
    if (known?.version === finding.version && known.names === names) return known.text;
    const content = readContent(finding) ?? known?.content;
    if (content === undefined) throw new Error(`Prompt ${finding.promptId} has no version ${finding.version}`);
    const text = jsonText(stringify(compose(deployId, finding, content)));
    cache.set(deployId, { version: finding.version, content, names, text }, 2 * text.text.length);
    return text;
  }

  return { knownVersion: (deployId) => cache.get(deployId)?.version ?? 0, serve };
}

function readContent({ title, description, messages, llmConfig }: Finding): Content | undefined {
  if (title === null || description === null || messages === null || llmConfig === null) return undefined;
  return { title, description, messages: jsonText(messages), llmConfig: jsonText(llmConfig) };
}

/** The seven fields, in the specification's order. */
const compose = (deployId: string, finding: Finding, { title, description, messages, llmConfig }: Content) => ({
  id: finding.promptId,
  title,
  description,
  messages,
  deploy: { id: deployId, name: finding.deployName, currentVersion: finding.version, isActive: true },
  workspace: { id: finding.workspaceId, name: finding.workspaceName },
  llmConfig,
});
