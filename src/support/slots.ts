// Limits how much of one kind of work runs at once, shared fairly by owners.
import type { Refusal } from "../common/errors.ts";
import { createShares } from "../common/shares.ts";

/** Slots for work. The rest waits. */
export type Slots = {
  /** Resolves when there is room for work of this owner, with a function that frees it. Rejects after a timeout. */
  enter(owner: string): Promise<() => void>;
};

/**
 * Creates `max` slots, of which one owner gets half. Owners take turns, and the work of each runs in order of arrival.
 * Work that waits longer than the timeout, in ms, gets the refusal, and at once if its owner has taken half of
 * `maxWaiting`.
 */
export function createSlots(max: number, timeout: number, refusal: () => Refusal, maxWaiting = 200): Slots {
  const running = createShares(max), waiting = createShares(maxWaiting);
  const queues = new Map<string, (() => void)[]>(); // waiting work by owner, in the order of their turns

  /** Starts waiting work while there is room. */
  function startNext(): void {
    for (const [owner, queue] of [...queues]) {
      if (!running.take(owner, 1)) continue;
      queues.delete(owner);
      const [next, ...others] = queue;
      if (others.length > 0) queues.set(owner, others);
      next?.();
    }
  }

  function waitForRoom(owner: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const queue = queues.get(owner) ?? [];
      const leave = () => {
        clearTimeout(timer);
        waiting.giveBack(owner, 1);
      };
      const timer = setTimeout(() => {
        leave();
        const others = (queues.get(owner) ?? []).filter((other) => other !== enter);
        if (others.length > 0) queues.set(owner, others);
        else queues.delete(owner);
        reject(refusal());
      }, timeout);
      function enter(): void {
        leave();
        resolve();
      }
      queues.set(owner, [...queue, enter]);
    });
  }

  return {
    async enter(owner) {
      if (queues.has(owner) || !running.take(owner, 1)) {
        if (!waiting.take(owner, 1)) throw refusal();
        await waitForRoom(owner);
      }
      return () => {
        running.giveBack(owner, 1);
        startNext();
      };
    },
  };
}
