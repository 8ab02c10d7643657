// Options of a client: defaults and validation.
import { need } from "./errors.ts";
import { watchEvery } from "./limits.ts";
import type { PromptDefaults } from "./prompt.ts";
import type { Mask } from "./record.ts";
import type { Runtime } from "./runtime.ts";
import type { SnapshotStore } from "./snapshot.ts";

/** All times are in milliseconds. */
export type ClientOptions = {
  /**
   * URL of the service, without `/v1`, credentials and query. Default: the environment's PROMPTLEDGER_URL. Optional
   * with `fetch`.
   */
  url?: string | undefined;
  /**
   * API key of the workspace. Default: the environment's PROMPTLEDGER_API_KEY. null sends no key, for a page whose
   * requests pass through your own server, which adds it.
   */
  apiKey?: string | null | undefined;
  /** Sends requests. Default: the global `fetch`. `service.fetch` of an embedded service opens no socket. */
  fetch?: ((request: Request) => Promise<Response>) | undefined;
  /** Time that a prompt counts as fresh after it was last known to be live. Default: 60,000. */
  maxAge?: number | undefined;
  /** Time that a prompt is served while it cannot be refreshed. Default: 24 hours. */
  maxStale?: number | undefined;
  /**
   * Maximum delay of a promotion: polls after 80 to 90 % of it. false: only before a prompt is read again. Default:
   * 15,000.
   */
  watch?: number | false | undefined;
  /** Path of a file, or a store, that keeps the last prompts for the next start. Default: none. */
  snapshot?: string | SnapshotStore | undefined;
  /** Time that `prompt()` waits for the service. Default: 3,000. */
  readTimeout?: number | undefined;
  /** Timeout of a request, also of a read that `prompt()` no longer waits for. Default: 20,000. */
  submitTimeout?: number | undefined;
  /** Number of retries of a read and of `submit()`. Default: 2. */
  retries?: number | undefined;
  /** Maximum number of queued records, and of queued pieces of feedback. Default: 10,000. */
  maxQueued?: number | undefined;
  /** Maximum size of queued records, and of queued feedback, in bytes. Default: 32 MiB. */
  maxQueuedBytes?: number | undefined;
  /** The constant `prompts` from `promptledger types`, which lists the variables that need no value. Default: none. */
  prompts?: PromptDefaults | undefined;
  /** Removes from each record what must not leave the process; null drops the record. Default: none. */
  mask?: Mask | undefined;
  /** Keeps the process alive until a promise has settled, as on Workers and Vercel. Default: none. */
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

/** Applies defaults. Throws on the first invalid option. */
export const readOptions = (options: ClientOptions, { env, hasTimers }: Runtime) => {
  const { fetch, waitUntil } = options;
  const { url = env(urlName) ?? (fetch && "http://promptledger.invalid") } = options;
  const { apiKey = env(keyName) } = options;
  // A key that was read from a file may end with a line break. The error of an invalid header would show the key.
  const key = apiKey?.trim();
  // Errors contain the url, and `Request` accepts no credentials in one.
  need(/^https?:[^?#@]+$/.test(url!), `Give url (http(s), no credentials or query), or set ${urlName}`);
  need(apiKey === null || /^[!-~]+$/.test(key ?? ""), `Give apiKey (no spaces), or set ${keyName}`);
  // A process frozen between requests cannot poll in the background.
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
    // Looked up with each request, as it may be replaced.
    fetch: fetch ?? ((request: Request) => globalThis.fetch(request)),
  };
};
