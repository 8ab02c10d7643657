// Prompts as the specification serves them, kept as the JSON text of the answer. A version never changes, so what the
// database has given once need not be read again; it tells each time which version is current.
import { createCache } from "../common/cache.ts";
import type { Cache } from "../common/cache.ts";
import type { JsonText } from "../common/json-text.ts";
import { jsonText, stringify } from "../common/json-text.ts";
import type { Database } from "../database/database.ts";
import { integer, text } from "../database/row.ts";
import type { FoundPrompt } from "./statements.ts";

type Content = { title: string; description: string; messages: JsonText; llmConfig: JsonText };

/** The prompt of a deployment as JSON text, and what it was made of. */
type ServedPrompt = {
  /** `VERSION@TIME`: a database that was set back may have another version of the same number. */
  stamp: string;
  deployName: string;
  workspaceName: string;
  content: Content;
  text: JsonText;
};

// A prompt may have a megabyte or two, and a libSQL server sends no more than ten.
export const mostTexts = 4; // in one reply

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

  return {
    /** The stamp of the version whose texts are known; empty where none are. */
    knownVersion: (deployId: string) => known.get(deployId)?.stamp ?? "",
    prompt,
    /** Reads the texts of prompts that are neither known nor were found, since their group would have asked for too many. */
    async addTexts(database: Database, served: [deployId: string, FoundPrompt][]): Promise<void> {
      // The first that is served of a deployment's prompt makes it known to the others.
      const seen = new Set<string>();
      const lacking: FoundPrompt[] = [];
      for (const [deployId, found] of served) {
        if (seen.has(deployId)) continue;
        seen.add(deployId);
        if (known.get(deployId)?.stamp !== stampOf(found) && readContent(found) === undefined) lacking.push(found);
      }
      for (let at = 0; at < lacking.length; at += mostTexts) {
        await readTexts(database, lacking.slice(at, at + mostTexts));
      }
    },
  };
}

/** Versions never change, so that they can be read at any time. */
async function readTexts(database: Database, prompts: FoundPrompt[]): Promise<void> {
  const rows = await database.read({
    sql: `select r.key as place, title, description, messages, llm_config from json_each(:versions) r
      cross join prompt_versions v on v.prompt_id = r.value ->> 0 and v.version = r.value ->> 1`,
    args: { versions: JSON.stringify(prompts.map(([, , , promptId, version]) => [promptId, version])) },
  });
  for (const row of rows) {
    const texts = ["title", "description", "messages", "llm_config"].map((column) => text(row, column));
    prompts[integer(row, "place")]!.splice(6, 4, ...texts);
  }
}

const stampOf = ([, , , , version, publishedAt]: FoundPrompt) => `${version}@${publishedAt}`;

const isCurrent = (known: ServedPrompt | undefined, found: FoundPrompt): known is ServedPrompt =>
  known?.stamp === stampOf(found) && known.workspaceName === found[1] && known.deployName === found[2];

/** The seven fields, in the specification's order. */
function compose(deployId: string, found: FoundPrompt, known: ServedPrompt | undefined): ServedPrompt {
  const [workspaceId, workspaceName, deployName, id, version] = found;
  const content = readContent(found) ?? known?.content;
  if (content === undefined) throw new Error(`Prompt ${id} has no version ${version}`);
  const { title, description, messages, llmConfig } = content;
  const deploy = { id: deployId, name: deployName, currentVersion: version, isActive: true };
  const workspace = { id: workspaceId, name: workspaceName };
  const text = jsonText(stringify({ id, title, description, messages, deploy, workspace, llmConfig }));
  return { stamp: stampOf(found), deployName, workspaceName, content, text };
}

function readContent([, , , , , , title, description, messages, llmConfig]: FoundPrompt): Content | undefined {
  if (title === null || description === null || messages === null || llmConfig === null) return undefined;
  return { title, description, messages: jsonText(messages), llmConfig: jsonText(llmConfig) };
}
