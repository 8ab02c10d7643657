// The prompts that the application requested: fresh, refreshed in the background, stale, or a substitute while the
// service is unavailable.
import { NotFoundError, toClientError, tooSlow } from "./errors.ts";
import type { PromptLedgerError } from "./errors.ts";
import type { Events } from "./events.ts";
import { own } from "./fill.ts";
import type { UseSnapshot } from "./kept.ts";
import { maxBackOff, maxPrompts } from "./limits.ts";
import { createPrompt, freeze, isPrompt } from "./prompt.ts";
import type { BothServed, Calls, Fallback, Prompt, PromptContent, PromptDefaults, PromptSource } from "./prompt.ts";
import { getsCandidate } from "./rollout.ts";
import { within } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";
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

/** Options of `prompt()`. */
export type PromptOptions<Config = Record<string, unknown>> = {
  /**
   * Key that always gets the same version of a rollout, such as a user id. Default: `sessionId`. Without either, each
   * prompt has a version at random.
   */
  key?: string | null | undefined;
  /** Session of the calls made with the prompt. */
  sessionId?: string | undefined;
  /** Served if nothing else is available. */
  fallback?: Fallback<Config> | undefined;
};

export type Prompts = {
  get(deployId: string, options?: PromptOptions): Promise<Prompt>;
  /** Number of reads that were answered. Each counts against the quota. */
  reads(): number;
  stop(): void;
};

type CachedPrompt = {
  get(options: PromptOptions): Promise<Prompt>;
  /** Compares it with what was live at a moment (Unix ms). With `reason`, that is unknown. */
  verify(live: Live, at: number, reason?: PromptLedgerError): void;
};

export const createPrompts = (
  { maxAge, maxStale, watch: interval, readTimeout, submitTimeout, retries, prompts = {} }: PromptsOptions,
  transport: Transport,
  useSnapshot: UseSnapshot,
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
    let prompt: BothServed | undefined;
    let checkedAt = 0; // when it was last confirmed to be live
    let loading: Promise<BothServed> | undefined;
    let lastSeen: Parameters<typeof verify> | undefined;
    // Cause of the last failure to load or confirm it, failures in a row, and earliest time of the next load.
    let error: PromptLedgerError | undefined, failures = 0, nextAt = 0;
    let isStale: boolean | undefined; // true once `stale` was emitted
    let waiting = 0; // callers that await a load and receive its error

    const confirm = (at: number): void => {
      checkedAt = at;
      error = undefined;
      isStale = false;
      failures = nextAt = 0;
      events.succeed(deployId, deployId);
    };

    /** Loads the prompt, or returns the load in progress. The promise need not be awaited. */
    const load = (): Promise<BothServed> => {
      const startedAt = now();
      if (loading && startedAt < nextAt) return loading;
      // On Workers a load is lost with the request that began it.
      nextAt = startedAt + readTimeout + (hasTimers ? submitTimeout : 0);
      const attempt = async () =>
        await send<BothServed>(
          `/v1/prompts?deployId=${encodeURIComponent(deployId)}`,
          submitTimeout,
          isPrompt,
          { "Accept-Rollout": "1" },
        );
      // Retries are for callers that wait. Background loads are tried again later.
      const own = retry(attempt, retries, startedAt + readTimeout).then(([loaded, , sentAt]) => {
        reads++;
        // The result of a superseded load is not kept, as a later one may be newer.
        if (own !== loading) return loaded;
        const from = prompt?.deploy.currentVersion, to = loaded.deploy.currentVersion;
        loading = undefined;
        prompt = freeze(loaded);
        confirm(sentAt);
        void useSnapshot((snapshot) => snapshot.set(deployId, now() - sentAt, loaded));
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
        void useSnapshot((snapshot) => snapshot.set(deployId, 0));
      }
      nextAt = now() + pauseAfter(error, ++failures, maxBackOff);
      if (!waiting) tell();
    };

    const tell = (): void => events.fail(deployId, error!, deployId);

    const verify = (live: Live, at: number, reason?: PromptLedgerError): void => {
      const { id, version, isActive, rollout } = live.get(deployId) ?? {};
      if (reason) {
        error ??= reason;
        return;
      }
      lastSeen = [live, at];
      if (!prompt) {
        if (error?.retryable || error instanceof NotFoundError && isActive) void load();
        return;
      }
      if (at <= checkedAt) return;
      const { deploy, rollout: known } = prompt;
      const isSame = id === deploy.id && version === deploy.currentVersion && rollout?.id === known?.id &&
        rollout?.percent === known?.percent;
      if (isActive && isSame) confirm(at);
      else if (now() >= nextAt) void load();
    };

    /** The load goes on, but the next caller that has a substitute does not wait for it. */
    const giveUp = (): never => {
      throw error ??= tooSlow(readTimeout);
    };

    const get = async (asked: PromptOptions): Promise<Prompt> => {
      const as = (served: BothServed, source: PromptSource) => promptOf(deployId, served, source, asked);
      const at = now(), age = at - checkedAt;
      if (prompt && age < maxAge) return as(prompt, "cache");
      const isDue = at >= nextAt;
      if (prompt && age < maxStale) {
        // If the service does not report what is live, the prompt is read.
        if (isDue && !watch.look()) void load();
        if (error && !isStale) {
          isStale = true;
          events.emit("stale", { deployId, version: prompt.deploy.currentVersion, age, error });
        }
        return as(prompt, "stale");
      }
      // On failure, substitutes come first. Refusals are cached briefly.
      let reason = error;
      let found = reason && await findSubstitute(deployId, asked, reason);
      if (isDue || !found && reason?.retryable !== false) {
        if (found) void load();
        else {
          waiting++;
          try {
            const served = await within(runtime, readTimeout, load(), giveUp).finally(() => waiting--);
            return await as(served, "server");
          } catch (thrown) {
            reason = thrown as PromptLedgerError;
            found = await findSubstitute(deployId, asked, reason);
            if (found && error) tell();
          }
        }
      }
      if (found) return found;
      throw reason;
    };

    return { get, verify };
  };

  const findSubstitute = async (deployId: string, asked: PromptOptions, reason: PromptLedgerError) => {
    const kept = reason instanceof NotFoundError
      ? undefined
      : await within(runtime, readTimeout, useSnapshot((snapshot) => snapshot.find(deployId)));
    if (isPrompt(kept)) return await promptOf(deployId, freeze(kept as BothServed), "snapshot", asked);
    if (!asked.fallback) return undefined;
    const content = { title: "", description: "", llmConfig: {}, version: 0, ...asked.fallback, deployId };
    return create(deployId, content, "fallback", asked);
  };

  /** Selects a caller's version: the live one, or the candidate of a rollout. */
  const promptOf = async (reference: string, served: BothServed, source: PromptSource, asked: PromptOptions) => {
    const { rollout } = served;
    const key = asked.key || asked.sessionId || crypto.randomUUID();
    // An unusable key must not fail the application.
    const isCandidate = rollout && await getsCandidate(served.deploy.id, rollout, key).catch(() => false);
    const { deploy, ...content } = isCandidate ? rollout.prompt : served;
    const found = { ...content, deployId: deploy.id, version: deploy.currentVersion, rollout: rollout?.id };
    return create(reference, found, source, asked);
  };

  const create = (
    reference: string,
    content: Omit<PromptContent, "reference" | "sessionId">,
    source: PromptSource,
    { sessionId }: PromptOptions,
  ) => createPrompt({ ...content, reference, sessionId }, source, own(prompts, reference)?.optional, calls);

  return {
    get(deployId, options = {}) {
      touch();
      watch.touch();
      let prompt = cached.get(deployId);
      if (!prompt) {
        if (cached.size >= maxPrompts) cached.delete(cached.keys().next().value!);
        cached.set(deployId, prompt = createCached(deployId));
      }
      return prompt.get(options);
    },
    reads: () => reads,
    stop: watch.stop,
  };
};
