// Counts the requests in flight, and waits for them.
import { overloaded, stopping } from "../common/errors.ts";
import type { Refusal } from "../common/errors.ts";

export type InFlight = {
  /** Counts a request, or the response to one that is still being sent. Returns a function that ends it. */
  begin(isAnswered?: boolean): () => void;
  count(): number;
  /** True if too many requests are unanswered. Responses that a client does not read do not count. */
  isFull(): boolean;
  isDraining(): boolean;
  isClosing(): boolean;
  /** Announces that the service will stop. Resolves when every request that is in flight now has been answered. */
  drain(): Promise<void>;
  /** Announces that new requests are refused. Resolves when all earlier requests have been answered. */
  close(): Promise<void>;
};

const maxInFlight = 20_000; // requests: more than may wait for the ledger, because some are still sending their bodies

/** Refusal of new requests now; undefined if accepted. */
export const findRefusal = ({ isClosing, isFull }: InFlight): Refusal | undefined =>
  isClosing() ? stopping() : isFull() ? overloaded() : undefined;

export function createInFlight(): InFlight {
  let total = 0, answered = 0;
  // Requests that arrive after a wait has begun do not prolong it.
  let generation = { count: 0, end() {} };
  let drained: Promise<void> | undefined;
  let closed: Promise<void> | undefined;

  function untilAnswered(): Promise<void> {
    const before = generation;
    generation = { count: 0, end() {} };
    return new Promise((resolve) => {
      before.end = resolve;
      if (before.count === 0) resolve();
    });
  }

  const drain = () => drained ??= untilAnswered();

  return {
    begin(isAnswered = false) {
      const own = generation, sent = Number(isAnswered);
      own.count++;
      total++;
      answered += sent;
      return () => {
        own.count--;
        total--;
        answered -= sent;
        if (own.count === 0) own.end();
      };
    },
    count: () => total,
    isFull: () => total - answered > maxInFlight,
    isDraining: () => drained !== undefined,
    isClosing: () => closed !== undefined,
    drain,
    close: () => closed ??= Promise.all([drain(), untilAnswered()]).then(() => {}),
  };
}
