// What the client tells while it works behind the application.
import type { PromptLedgerError } from "./errors.ts";

/** The events, and what their listeners get. */
export type ClientEvents = {
  /** Another version of a prompt is served from now on. */
  change: { deployId: string; from: number; to: number };
  /** A prompt that could not be refreshed is served although it is older than `maxAge`. `age` is in ms. */
  stale: { deployId: string; version: number; age: number; error: PromptLedgerError };
  /** A request that nobody may be waiting for has failed. `records` counts the records that are lost with it. */
  error: { error: PromptLedgerError; deployId?: string; records?: number };
  /** Records are dropped from now on. It is told once, until one is queued again. */
  drop: { error: PromptLedgerError };
};

export type Events = {
  /** Calls a listener from now on, and returns a function that ends that. */
  on<Name extends keyof ClientEvents>(name: Name, listener: (event: ClientEvents[Name]) => void): () => void;
  emit<Name extends keyof ClientEvents>(name: Name, event: ClientEvents[Name]): void;
  /** Nothing is told from now on. */
  close(): void;
};

export function createEvents(): Events {
  let listeners: Partial<Record<string, Set<(event: never) => void>>> = {};
  let hasWarned = false;
  return {
    on(name, listener) {
      const own = listeners[name] ??= new Set();
      own.add(listener);
      return () => void own.delete(listener);
    },
    emit(name, event) {
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
    },
    close() {
      listeners = {};
      hasWarned = true;
    },
  };
}
