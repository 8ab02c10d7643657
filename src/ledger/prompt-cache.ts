// Prompts as the specification serves them, cached as the JSON text of the response. A version never changes, so its
// texts are read once. Every read gets the current version from the database.
import { createCache } from "../common/cache.ts";
import type { DeploymentId, PromptId, RolloutId, WorkspaceId } from "../common/ids.ts";
import type { Cache } from "../common/cache.ts";
import type { JsonText } from "../common/json-text.ts";
import { jsonText, stringify } from "../common/json-text.ts";
import type { Database } from "../database/database.ts";
import { integer, text } from "../database/row.ts";
import { readReference } from "../common/reference.ts";
import type { Admission, Served, ServedRollout } from "./admission.ts";

/**
 * A version as SQL returns it. If the read was not accepted, the stamp and the texts are null. Cached texts are null
 * too.
 */
type FoundVersion = {
  promptId: PromptId;
  version: number;
  /** Differs from that of any other version that is served, but may be that of the candidate of the same rollout. */
  stamp: string | null;
  title: string | null;
  description: string | null;
  messages: string | null;
  llmConfig: string | null;
};

/** An active rollout, as SQL returns it. The version is its candidate. */
export type FoundRollout = FoundVersion & { id: RolloutId; share: number; salt: string };

/** A read's prompt, as SQL returns it. */
export type FoundPrompt = FoundVersion & {
  workspaceId: WorkspaceId;
  workspaceName: string;
  deployName: string;
  rollout: FoundRollout | null;
};

type Content = { title: string; description: string; messages: JsonText; llmConfig: JsonText };

/** The prompt of a deployment as JSON text, and its parts. */
type ServedPrompt = {
  stamp: string | null;
  deployName: string;
  workspaceName: string;
  content: Content;
  text: JsonText;
  /** The rollout whose candidate this is. It stays the same object while nothing of it changes. */
  rollout?: ServedRollout;
};

// A prompt may have one or two megabytes. A reply of a libSQL server has at most ten.
export const maxTexts = 4; // prompts with their texts in one reply

const maxCharacters = 16 * 1024 * 1024;

export type PromptCache = Cache<ServedPrompt>;

/** A cache of prompts, by the id or reference in the request. */
export const createPromptCache = (): PromptCache => createCache(maxCharacters);

/** The prompt of a deployment as JSON text, and its active rollout. */
export type ServedTexts = Pick<Served, "prompt" | "rollout">;

/** Returns what a batch's deployment serves. */
export type Serve = (batch: Target, deployId: DeploymentId, found: FoundPrompt) => ServedTexts;

type Target = { first: Pick<Admission, "keyHash" | "deployId"> };
/** An accepted batch, and the prompt if it is a read. */
type Accepted = { batch: Target; prompt: FoundPrompt | null };

/**
 * The cache key of a batch's prompt. A reference is combined with the API key, as another workspace may use the same
 * one.
 */
const cacheKeyOf = ({ first: { keyHash, deployId } }: Target): string =>
  readReference(deployId) === undefined ? deployId : `${keyHash} ${deployId}`;

/** The cache key of the candidate of a batch's rollout. */
const candidateKeyOf = (batch: Target): string => `${cacheKeyOf(batch)} candidate`;

/** The candidate of a rollout as a separate prompt. */
const candidateOf = (found: FoundPrompt, rollout: FoundRollout): FoundPrompt => ({ ...found, ...rollout });

/**
 * Serves the prompts of a group. Reads the cache at once: SQL returns no texts that are cached now, so they must be
 * kept until the group is decided.
 */
export function serveFrom(cache: PromptCache, batches: Target[]) {
  const keysOf = (batch: Target) => [cacheKeyOf(batch), candidateKeyOf(batch)];
  const known = new Map(batches.flatMap(keysOf).map((key) => [key, cache.get(key)]));

  const serve = (key: string, deployId: DeploymentId, found: FoundPrompt): ServedPrompt => {
    const before = known.get(key);
    const served = isCurrent(before, found) ? before : compose(deployId, found, before);
    if (served !== before) cache.set(key, served, 2 * served.text.text.length);
    known.set(key, served);
    return served;
  };

  const prompt: Serve = (batch, deployId, found) => {
    const { text } = serve(cacheKeyOf(batch), deployId, found);
    if (found.rollout === null) return { prompt: text };
    const candidate = serve(candidateKeyOf(batch), deployId, candidateOf(found, found.rollout));
    const { id, version, share, salt } = found.rollout;
    if (candidate.rollout?.id !== id || candidate.rollout.share !== share) {
      candidate.rollout = { id, version, share, salt, prompt: candidate.text, texts: {} };
    }
    return { prompt: text, rollout: candidate.rollout };
  };

  return {
    /** The stamps of the versions whose texts are cached, or empty. */
    knownVersion: (batch: Target) => keysOf(batch).map((key) => known.get(key)?.stamp).join(""),
    prompt,
    /** Reads the texts that are neither cached nor in the states, since one reply holds only `maxTexts` prompts. */
    async addTexts(database: Database, served: Accepted[]): Promise<void> {
      // One request for a prompt suffices: serving it caches the prompt for the others.
      const seen = new Set<string>();
      const missing: FoundVersion[] = [];
      const add = (key: string, found: FoundVersion | null) => {
        if (found === null || seen.has(key)) return;
        seen.add(key);
        if (known.get(key)?.stamp !== found.stamp && readContent(found) === undefined) missing.push(found);
      };
      for (const { batch, prompt } of served) {
        add(cacheKeyOf(batch), prompt);
        add(candidateKeyOf(batch), prompt && prompt.rollout);
      }
      for (let at = 0; at < missing.length; at += maxTexts) {
        await readTexts(database, missing.slice(at, at + maxTexts));
      }
    },
  };
}

/** Versions never change, so they can be read at any time. */
async function readTexts(database: Database, prompts: FoundVersion[]): Promise<void> {
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

const isCurrent = (known: ServedPrompt | undefined, found: FoundPrompt): known is ServedPrompt =>
  known?.stamp === found.stamp && known.workspaceName === found.workspaceName &&
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
  return { stamp: found.stamp, deployName, workspaceName, content, text };
}

function readContent({ title, description, messages, llmConfig }: FoundVersion): Content | undefined {
  if (title === null || description === null || messages === null || llmConfig === null) return undefined;
  return { title, description, messages: jsonText(messages), llmConfig: jsonText(llmConfig) };
}
