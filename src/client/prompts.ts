// The prompts that the application has asked for: fresh, refreshed behind, stale, or replaced by what is left while the service
// is away.
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

/** How a prompt is asked for. */
export type PromptOptions<Config = Record<string, unknown>> = {
  /**
   * Whoever keeps the version that a rollout gives, such as the id of a user. Default: `sessionId`. Without either, each prompt
   * has a version at random.
   */
  key?: string | null | undefined;
  /** The session of the calls that are made with the prompt. */
  sessionId?: string | undefined;
  /** What to serve if there is nothing else. */
  fallback?: Fallback<Config> | undefined;
};

export type Prompts = {
  get(deployId: string, options?: PromptOptions): Promise<Prompt>;
  /** How many reads were answered. Each costs one of the quota. */
  reads(): number;
  stop(): void;
};

type CachedPrompt = {
  get(options: PromptOptions): Promise<Prompt>;
  /** Compares it with what was live at a moment (Unix ms), unless that could not be seen. */
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
    let checkedAt = 0; // when it was last known to be live
    let loading: Promise<BothServed> | undefined;
    let lastSeen: Parameters<typeof verify> | undefined;
    // Why it could not be loaded or confirmed last time, how often in a row, and from when on it is loaded again.
    let error: PromptLedgerError | undefined, failures = 0, nextAt = 0;
    let isStale: boolean | undefined; // and `stale` was emitted
    let waiting = 0; // callers of a load, who get its error themselves

    const confirm = (at: number): void => {
      checkedAt = at;
      error = undefined;
      isStale = false;
      failures = nextAt = 0;
      events.succeed(deployId, deployId);
    };

    /** Loads the prompt, unless that is under way. The promise may be left alone. */
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
      // Retries are for whoever waits. What is loaded behind is tried again later.
      const own = retry(attempt, retries, startedAt + readTimeout).then(([loaded, , sentAt]) => {
        reads++;
        // A load that was given up keeps what it brings to itself, as a later one may know better.
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

    /** The load goes on, but whoever asks next and has something else does not wait for it. */
    const giveUp = (): never => {
      throw error ??= tooSlow(readTimeout);
    };

    const get = async (asked: PromptOptions): Promise<Prompt> => {
      const as = (served: BothServed, source: PromptSource) => promptOf(deployId, served, source, asked);
      const at = now(), age = at - checkedAt;
      if (prompt && age < maxAge) return as(prompt, "cache");
      const isDue = at >= nextAt;
      if (prompt && age < maxStale) {
        // The service may not tell what is live. Then the prompt is read.
        if (isDue && !watch.look()) void load();
        if (error && !isStale) {
          isStale = true;
          events.emit("stale", { deployId, version: prompt.deploy.currentVersion, age, error });
        }
        return as(prompt, "stale");
      }
      // After a failure what else there is comes first. A refusal stands for a while.
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

  /** What one caller gets: the live version, or the candidate of a rollout. */
  const promptOf = async (reference: string, served: BothServed, source: PromptSource, asked: PromptOptions) => {
    const { rollout } = served;
    const key = asked.key || asked.sessionId || crypto.randomUUID();
    // Whatever a key is, the application goes on.
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
