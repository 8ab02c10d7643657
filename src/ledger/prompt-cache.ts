// Prompts as the specification serves them, cached as the JSON text of the response. A version never changes, so its texts
// are read once. The database says with every read which version is current.
import { createCache } from "../common/cache.ts";
import type { DeploymentId, PromptId, WorkspaceId } from "../common/ids.ts";
import type { Cache } from "../common/cache.ts";
import type { JsonText } from "../common/json-text.ts";
import { jsonText, stringify } from "../common/json-text.ts";
import type { Database } from "../database/database.ts";
import { integer, text } from "../database/row.ts";
import { readReference } from "../common/reference.ts";
import type { CallBatch } from "./admission.ts";

/** What SQL returns for a read. If the read was not accepted, the time and the texts are null. Cached texts are null too. */
export type FoundPrompt = {
  workspaceId: WorkspaceId;
  workspaceName: string;
  deployName: string;
  promptId: PromptId;
  version: number;
  /** In Unix ms. */
  publishedAt: number | null;
  title: string | null;
  description: string | null;
  messages: string | null;
  llmConfig: string | null;
};

type Content = { title: string; description: string; messages: JsonText; llmConfig: JsonText };

/** The prompt of a deployment as JSON text, and its parts. */
type ServedPrompt = {
  /** `DEPLOYMENT@VERSION@TIME`: a database restored from a backup may have another version of the same number. */
  stamp: string;
  deployName: string;
  workspaceName: string;
  content: Content;
  text: JsonText;
};

// A prompt may have one or two megabytes. A reply of a libSQL server has at most ten.
export const maxTexts = 4; // prompts with their texts in one reply

const maxCharacters = 16 * 1024 * 1024;

export type PromptCache = Cache<ServedPrompt>;

/** A cache of prompts, by the id or reference in the request. */
export const createPromptCache = (): PromptCache => createCache(maxCharacters);

/** Returns the prompt of a batch's deployment as JSON text. */
export type Serve = (batch: Target, deployId: DeploymentId, found: FoundPrompt) => JsonText;

type Target = Pick<CallBatch, "keyHash" | "deployId">;
/** An accepted batch, its deployment, and the prompt if it is a read. */
type Accepted = { batch: Target; deployId: DeploymentId; prompt: FoundPrompt | null };

/** The cache key of a batch's prompt. It has the API key beside a reference, which another workspace may have too. */
const cacheKeyOf = ({ keyHash, deployId }: Target): string =>
  readReference(deployId) === undefined ? deployId : `${keyHash} ${deployId}`;

/**
 * Serves the prompts of a group. It reads the cache right away, because SQL returns no texts that are cached now, and they must
 * still be here when the group is decided.
 */
export function serveFrom(cache: PromptCache, batches: Target[]) {
  const known = new Map(batches.map(cacheKeyOf).map((key) => [key, cache.get(key)]));

  const prompt: Serve = (batch, deployId, found) => {
    const key = cacheKeyOf(batch);
    const before = known.get(key);
    const served = isCurrent(before, deployId, found) ? before : compose(deployId, found, before);
    if (served !== before) cache.set(key, served, 2 * served.text.text.length);
    known.set(key, served);
    return served.text;
  };

  return {
    /** The stamp of the version whose texts are cached, or empty. */
    knownVersion: (batch: Target) => known.get(cacheKeyOf(batch))?.stamp ?? "",
    prompt,
    /** Reads the texts that are neither cached nor in the states, since one reply holds only `maxTexts` prompts. */
    async addTexts(database: Database, served: Accepted[]): Promise<void> {
      // One request for a prompt suffices: serving it caches the prompt for the others.
      const seen = new Set<string>();
      const missing: FoundPrompt[] = [];
      for (const { batch, deployId, prompt: found } of served) {
        const key = cacheKeyOf(batch);
        if (found === null || seen.has(key)) continue;
        seen.add(key);
        if (known.get(key)?.stamp !== stampOf(deployId, found) && readContent(found) === undefined) {
          missing.push(found);
        }
      }
      for (let at = 0; at < missing.length; at += maxTexts) {
        await readTexts(database, missing.slice(at, at + maxTexts));
      }
    },
  };
}

/** Versions never change, so they can be read at any time. */
async function readTexts(database: Database, prompts: FoundPrompt[]): Promise<void> {
  const rows = await database.read({
    sql: `select r.key as ordinal, title, description, messages, llm_config from json_each(:versions) r
      cross join prompt_versions v on v.prompt_id = r.value ->> 0 and v.version = r.value ->> 1`,
    args: { versions: JSON.stringify(prompts.map(({ promptId, version }) => [promptId, version])) },
    onDamage: "refuse",
  });
  for (const row of rows) {
    Object.assign(prompts[integer(row, "ordinal")]!, {
      title: text(row, "title"),
      description: text(row, "description"),
      messages: text(row, "messages"),
      llmConfig: text(row, "llm_config"),
    });
  }
}

const stampOf = (deployId: DeploymentId, { version, publishedAt }: FoundPrompt) =>
  `${deployId}@${version}@${publishedAt}`;

const isCurrent = (
  known: ServedPrompt | undefined,
  deployId: DeploymentId,
  found: FoundPrompt,
): known is ServedPrompt =>
  known?.stamp === stampOf(deployId, found) && known.workspaceName === found.workspaceName &&
  known.deployName === found.deployName;

/** Composes the seven fields in the order of the specification. */
function compose(deployId: DeploymentId, found: FoundPrompt, known: ServedPrompt | undefined): ServedPrompt {
  const { workspaceId, workspaceName, deployName, promptId: id, version } = found;
  const content = readContent(found) ?? known?.content;
  if (content === undefined) throw new Error(`Prompt ${id} has no version ${version}`);
  const { title, description, messages, llmConfig } = content;
  const deploy = { id: deployId, name: deployName, currentVersion: version, isActive: true };
  const workspace = { id: workspaceId, name: workspaceName };
  const text = jsonText(stringify({ id, title, description, messages, deploy, workspace, llmConfig }));
  return { stamp: stampOf(deployId, found), deployName, workspaceName, content, text };
}

function readContent({ title, description, messages, llmConfig }: FoundPrompt): Content | undefined {
  if (title === null || description === null || messages === null || llmConfig === null) return undefined;
  return { title, description, messages: jsonText(messages), llmConfig: jsonText(llmConfig) };
}
