// The options of a client: their defaults, and what is wrong with them.
import { need } from "./errors.ts";
import { watchEvery } from "./limits.ts";
import type { PromptDefaults } from "./prompt.ts";
import type { Mask } from "./record.ts";
import type { Runtime } from "./runtime.ts";
import type { SnapshotStore } from "./snapshot.ts";

/** All times are in milliseconds. */
export type ClientOptions = {
  /**
   * Where the service is, without `/v1`, credentials and query. Default: the environment's PROMPTLEDGER_URL. With `fetch` it may be
   * left out.
   */
  url?: string | undefined;
  /**
   * An API key of the workspace. Default: the environment's PROMPTLEDGER_API_KEY. null sends no key, for a page whose
   * requests pass a server of yours that adds it.
   */
  apiKey?: string | null | undefined;
  /** Sends requests. Default: the global `fetch`. `service.fetch` of an embedded service opens no socket. */
  fetch?: ((request: Request) => Promise<Response>) | undefined;
  /** How long a prompt counts as fresh after it was last known to be live. Default: 60,000. */
  maxAge?: number | undefined;
  /** How long a prompt is served while it cannot be refreshed. Default: 24 hours. */
  maxStale?: number | undefined;
  /** Within which time a promotion arrives: asks after 80 to 90 % of it. false: only before a prompt is read again. Default: 15,000. */
  watch?: number | false | undefined;
  /** The path of a file, or a store, that keeps the last prompts for the next start. Default: none. */
  snapshot?: string | SnapshotStore | undefined;
  /** How long `prompt()` waits for the service. Default: 3,000. */
  readTimeout?: number | undefined;
  /** How long a request may take, that of a read that `prompt()` no longer waits for too. Default: 20,000. */
  submitTimeout?: number | undefined;
  /** How often a read and `submit()` are sent again. Default: 2. */
  retries?: number | undefined;
  /** How many records may be queued, and how many pieces of feedback. Default: 10,000. */
  maxQueued?: number | undefined;
  /** How many bytes of records may be queued, and how many of feedback. Default: 32 MiB. */
  maxQueuedBytes?: number | undefined;
  /** The constant `prompts` that `promptledger types` writes: `fill` then knows which variables need no value. Default: none. */
  prompts?: PromptDefaults | undefined;
  /** Removes from each record what must stay in the process: null leaves out the record. Default: none. */
  mask?: Mask | undefined;
  /** Has the platform keep the process until a promise has settled, as Workers and Vercel do. Default: none. */
  waitUntil?: ((promise: Promise<unknown>) => void) | undefined;
};

const urlName = "PROMPTLEDGER_URL", keyName = "PROMPTLEDGER_API_KEY";

const numbers = {
  maxAge: 60_000,
  maxStale: 86_400_000,
  readTimeout: 3_000,
  submitTimeout: 20_000,
  retries: 2,
  maxQueued: 10_000,
  maxQueuedBytes: 33_554_432,
};

/** The options with their defaults. Throws the first fault. */
export const readOptions = (options: ClientOptions, { env, hasTimers }: Runtime) => {
  const { fetch, waitUntil } = options;
  const { url = env(urlName) ?? (fetch && "http://promptledger.invalid") } = options;
  const { apiKey = env(keyName) } = options;
  // A key that was read from a file may end with a line break. The error of an invalid header would show the key.
  const key = apiKey?.trim();
  // Errors show the url, and a request may have no credentials in its own.
  need(/^https?:[^?#@]+$/.test(url!), `Give url (http(s), no credentials or query), or set ${urlName}`);
  need(apiKey === null || /^[!-~]+$/.test(key ?? ""), `Give apiKey (no spaces), or set ${keyName}`);
  // A process that is frozen between requests cannot look behind.
  const read = { ...numbers, watch: hasTimers && !waitUntil ? watchEvery : 0 };
  for (const name of Object.keys(read) as (keyof typeof read)[]) {
    read[name] = +(options[name] ?? read[name]);
    need(read[name] >= 0, `${name} must be at least 0`);
  }
  return {
    ...options,
    ...read,
    url: url!.replace(/\/*(\/v1)?\/*$/, ""),
    apiKey: key,
    // Looked up with each request, as others may replace it.
    fetch: fetch ?? ((request: Request) => globalThis.fetch(request)),
  };
};
