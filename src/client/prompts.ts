// The prompts that the application has asked for: fresh, refreshed behind, stale, or replaced by what is left while the service
// is away.
import { NotFoundError, toClientError, tooSlow } from "./errors.ts";
import type { PromptLedgerError } from "./errors.ts";
import type { Events } from "./events.ts";
import { own } from "./fill.ts";
import { maxBackOff, maxPrompts } from "./limits.ts";
import { createPrompt, freeze, isPrompt } from "./prompt.ts";
import type { Calls, Fallback, Prompt, PromptContent, PromptDefaults, PromptSource } from "./prompt.ts";
import { within } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";
import type { ServedPrompt } from "./shapes.ts";
import type { Snapshot } from "./snapshot.ts";
import type { Transport } from "./transport.ts";
import { createWatch } from "./watch.ts";
import type { Live } from "./watch.ts";

type PromptsOptions = {
  maxAge: number;
  maxStale: number;
  watch: number;
  readTimeout: number;
  submitTimeout: number;
  retries: number;
  prompts?: PromptDefaults | undefined;
};

/** How a prompt is asked for. */
export type PromptOptions = {
  /** What to serve if there is nothing else. */
  fallback?: Fallback | undefined;
};

export type Prompts = {
  get(deployId: string, options?: PromptOptions): Promise<Prompt>;
  /** How many reads were answered. Each costs one of the quota. */
  reads(): number;
  stop(): void;
};

type CachedPrompt = {
  get(fallback: Fallback | undefined): Promise<Prompt>;
  /** Compares it with what was live at a moment (Unix ms), unless that could not be seen. */
  verify(live: Live, at: number, reason?: PromptLedgerError): void;
};

export const createPrompts = (
  { maxAge, maxStale, watch: interval, readTimeout, submitTimeout, retries, prompts = {} }: PromptsOptions,
  transport: Transport,
  snapshot: Snapshot,
  events: Events,
  calls: Calls,
  runtime: Runtime,
): Prompts => {
  const { send, touch, retry, pauseAfter } = transport;
  const { now, hasTimers } = runtime;
  const cached = new Map<string, CachedPrompt>();
  let reads = 0;

  const watch = createWatch(
    interval,
    submitTimeout,
    (...seen) => cached.forEach(({ verify }) => verify(...seen)),
    events,
    transport,
    runtime,
  );

  const createCached = (deployId: string): CachedPrompt => {
    let prompt: Prompt | undefined;
    let checkedAt = 0; // when it was last known to be live
    let loading: Promise<Prompt> | undefined;
    let lastSeen: Parameters<typeof verify> | undefined;
    // Why it could not be loaded or confirmed last time, how often in a row, and from when on it is loaded again.
    let error: PromptLedgerError | undefined, failures = 0, nextAt = 0;
    let isStale = false; // and `stale` was emitted
    let waiting = 0; // callers of a load, who get its error themselves

    const confirm = (at: number): void => {
      checkedAt = at;
      error = undefined;
      isStale = false;
      failures = nextAt = 0;
      events.succeed(deployId, deployId);
    };

    /** Loads the prompt, unless that is under way. The promise may be left alone. */
    const load = (): Promise<Prompt> => {
      const startedAt = now();
      if (loading && startedAt < nextAt) return loading;
      // On Workers a load is lost with the request that began it.
      nextAt = startedAt + readTimeout + (hasTimers ? submitTimeout : 0);
      const attempt = async () =>
        await send<ServedPrompt>(`/v1/prompts?deployId=${encodeURIComponent(deployId)}`, submitTimeout, isPrompt);
      // Retries are for whoever waits. What is loaded behind is tried again later.
      const own = retry(attempt, retries, startedAt + readTimeout).then(([served, , sentAt]) => {
        reads++;
        const loaded = promptOf(deployId, served, "cache");
        // A load that was given up keeps what it brings to itself, as a later one may know better.
        if (own !== loading) return loaded;
        const from = prompt?.version, to = loaded.version;
        loading = undefined;
        prompt = loaded;
        confirm(sentAt);
        snapshot.set(deployId, served, sentAt);
        if (from && from !== to) events.emit("change", { deployId, from, to });
        if (lastSeen) verify(...lastSeen);
        return loaded;
      }).catch((thrown) => {
        const reason = toClientError(thrown, "invalid_argument");
        if (own === loading) refuse(reason);
        throw reason;
      });
      own.catch(() => {});
      return loading = own;
    };

    const refuse = (reason: PromptLedgerError): void => {
      loading = undefined;
      error = reason;
      if (error instanceof NotFoundError) {
        prompt = undefined;
        snapshot.set(deployId, prompt, now());
      }
      nextAt = now() + pauseAfter(error, ++failures, maxBackOff);
      if (!waiting) tell();
    };

    const tell = (): void => events.fail(deployId, error!, deployId);

    const verify = (live: Live, at: number, reason?: PromptLedgerError): void => {
      const { id, version, isActive } = live.get(deployId) ?? {};
      if (reason) {
        error ??= reason;
        return;
      }
      lastSeen = [live, at];
      if (!prompt) {
        if (error?.retryable || error instanceof NotFoundError && isActive) void load();
      } else if (at > checkedAt || checkedAt > now()) { // or the clock was set back
        if (isActive && id === prompt.deployId && version === prompt.version) confirm(at);
        else if (now() >= nextAt) void load();
      }
    };

    /** The load goes on, but whoever asks next and has something else does not wait for it. */
    const giveUp = (): never => {
      throw error ??= tooSlow(readTimeout);
    };

    const get = async (fallback: Fallback | undefined): Promise<Prompt> => {
      const at = now(), age = at - checkedAt;
      // A negative age is that of a clock that was set back.
      if (prompt && age >= 0 && age < maxAge) return prompt;
      const isDue = at >= nextAt;
      if (prompt && age < maxStale) {
        // The service may not tell what is live. Then the prompt is read.
        if (isDue && !watch.look()) void load();
        if (error && !isStale) {
          isStale = true;
          events.emit("stale", { deployId, version: prompt.version, age, error });
        }
        return { ...prompt, source: "stale" };
      }
      // After a failure what else there is comes first. A refusal stands for a while.
      let reason = error;
      let found = reason && await findSubstitute(deployId, fallback, reason);
      if (isDue || !found && reason?.retryable !== false) {
        if (found) void load();
        else {
          waiting++;
          try {
            const served = await within(runtime, readTimeout, load(), giveUp).finally(() => waiting--);
            return { ...served, source: "server" };
          } catch (thrown) {
            reason = thrown as PromptLedgerError;
            found = await findSubstitute(deployId, fallback, reason);
            if (found && error) tell();
          }
        }
      }
      if (found) return found;
      throw reason;
    };

    return { get, verify };
  };

  const findSubstitute = async (deployId: string, fallback: Fallback | undefined, reason: PromptLedgerError) => {
    const kept = reason instanceof NotFoundError
      ? undefined
      : await within(runtime, readTimeout, snapshot.find(deployId));
    if (isPrompt(kept)) return promptOf(deployId, kept!, "snapshot");
    if (!fallback) return undefined;
    const content = { title: "", description: "", llmConfig: {}, version: 0, ...fallback, deployId };
    return create(deployId, content, "fallback");
  };

  const promptOf = (asked: string, { deploy, ...served }: ServedPrompt, source: PromptSource) =>
    create(asked, freeze({ ...served, deployId: deploy.id, version: deploy.currentVersion }), source);

  const create = (asked: string, content: Omit<PromptContent, "reference">, source: PromptSource) =>
    createPrompt({ ...content, reference: asked }, source, own(prompts, asked)?.optional, calls, runtime);

  return {
    get(deployId, { fallback } = {}) {
      touch();
      watch.touch();
      let prompt = cached.get(deployId);
      if (!prompt) {
        if (cached.size >= maxPrompts) cached.delete(cached.keys().next().value!);
        cached.set(deployId, prompt = createCached(deployId));
      }
      return prompt.get(fallback);
    },
    reads: () => reads,
    stop: watch.stop,
  };
};
