// The events of the client's background work.
import type { PromptLedgerError } from "./errors.ts";
import { maxPrompts } from "./limits.ts";

/** Events, and the arguments of their listeners. */
export type ClientEvents = {
  /** Another version of a prompt is served from now on. */
  change: { deployId: string; from: number; to: number };
  /** A prompt that could not be refreshed is served although it is older than `maxAge`. `age` is in ms. */
  stale: { deployId: string; version: number; age: number; error: PromptLedgerError };
  /**
   * A request failed whose error no caller receives. Emitted for the first of several failures in a row, and for each
   * loss of records or feedback, with their number.
   */
  error: { error: PromptLedgerError; deployId?: string | undefined; records?: number; feedback?: number };
  /** The source of an `error` event works again. */
  recover: { deployId?: string | undefined };
  /**
   * A queue of records or feedback began to drop items. Emitted once, until that queue is at most half full again.
   * `close()` emits it too, with the number of `records` or pieces of `feedback` that it gave up.
   */
  drop: { error: PromptLedgerError; records?: number; feedback?: number };
};

export type Events = {
  /** Adds a listener. Returns a function that removes it. */
  on<Name extends keyof ClientEvents>(name: Name, listener: (event: ClientEvents[Name]) => void): () => void;
  emit<Name extends keyof ClientEvents>(name: Name, event: ClientEvents[Name]): void;
  /** Emits `error`, unless `about` is failing already. */
  fail(about: string, error: PromptLedgerError, deployId?: string): void;
  /** Emits `recover` if `about` was failing. */
  succeed(about: string, deployId?: string): void;
  /** Stops all events. */
  close(): void;
};

export const createEvents = (): Events => {
  let listeners: Partial<Record<string, Set<(event: never) => void>>> = {};
  let hasWarned = false;
  const failing = new Set<string>();

  const emit: Events["emit"] = (name, event) => {
    const own = listeners[name];
    const { error } = event as Partial<ClientEvents["error"]>;
    // The first loss without a listener is printed.
    if (!own && error && !hasWarned && name !== "stale") {
      hasWarned = true;
      console.warn("promptledger:", error.message);
    }
    for (const listener of own ?? []) {
      try {
        listener(event as never);
      } catch {
        // A failing listener must not stop the client's background work.
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
