// The events of the client's background work.
import type { PromptLedgerError } from "./errors.ts";
import { maxPrompts } from "./limits.ts";

/** The events, and what their listeners get. */
export type ClientEvents = {
  /** Another version of a prompt is served from now on. */
  change: { deployId: string; from: number; to: number };
  /** A prompt that could not be refreshed is served although it is older than `maxAge`. `age` is in ms. */
  stale: { deployId: string; version: number; age: number; error: PromptLedgerError };
  /**
   * A request has failed whose error no caller gets. Of several in a row, only the first one emits it. Each loss of records or
   * of feedback does, with their number.
   */
  error: { error: PromptLedgerError; deployId?: string | undefined; records?: number; feedback?: number };
  /** What had emitted `error` works again. */
  recover: { deployId?: string | undefined };
  /**
   * Records, or feedback, are dropped from now on. Emitted once for each, until its queue is at most half full again. `close()`
   * emits it too, with the number of `records` or pieces of `feedback` that it gave up.
   */
  drop: { error: PromptLedgerError; records?: number; feedback?: number };
};

export type Events = {
  /** Calls a listener from now on, and returns a function that ends that. */
  on<Name extends keyof ClientEvents>(name: Name, listener: (event: ClientEvents[Name]) => void): () => void;
  emit<Name extends keyof ClientEvents>(name: Name, event: ClientEvents[Name]): void;
  /** Emits `error`, unless what it is about has failed before, and not worked since. */
  fail(about: string, error: PromptLedgerError, deployId?: string): void;
  /** Emits `recover`, if that has failed. */
  succeed(about: string, deployId?: string): void;
  /** Nothing is emitted from now on. */
  close(): void;
};

export const createEvents = (): Events => {
  let listeners: Partial<Record<string, Set<(event: never) => void>>> = {};
  let hasWarned = false;
  const failing = new Set<string>();

  const emit: Events["emit"] = (name, event) => {
    const own = listeners[name];
    const { error } = event as Partial<ClientEvents["error"]>;
    // Losses that nobody listens for must not go unseen.
    if (!own && error && !hasWarned && name !== "stale") {
      hasWarned = true;
      console.warn("promptledger:", error.message);
    }
    for (const listener of own ?? []) {
      try {
        listener(event as never);
      } catch {
        // A listener that fails must not take down what the client does behind the application.
      }
    }
  };

  return {
    on(name, listener) {
      const own = listeners[name] ??= new Set();
      own.add(listener);
      return () => own.delete(listener);
    },
    emit,
    fail(about, error, deployId) {
      if (!failing.has(about)) emit("error", { error, deployId });
      if (failing.size > maxPrompts) failing.clear();
      failing.add(about);
    },
    succeed(about, deployId) {
      if (failing.delete(about)) emit("recover", { deployId });
    },
    close() {
      listeners = {};
      hasWarned = true;
    },
  };
};
