// A bound on how much of one kind of work runs at once.
import type { Refusal } from "./errors.ts";

/** Places for work. The rest waits in order of arrival. */
export type Slots = {
  /** Resolves when there is room, with a function that leaves. Rejects after a timeout. */
  enter(): Promise<() => void>;
};

/**
 * Makes so many slots. Work that waits longer than the timeout, in ms, gets the refusal, and at once if `maxWaiting` wait
 * already.
 */
export function createSlots(max: number, timeout: number, refusal: () => Refusal, maxWaiting = 100): Slots {
  const waiting: (() => void)[] = [];
  let running = 0;

  function leave(): void {
    const next = waiting.shift();
    if (next === undefined) running--;
    else next();
  }

  return {
    async enter() {
      if (running < max) running++;
      else if (waiting.length < maxWaiting) await waitForRoom();
      else throw refusal();
      return leave;
    },
  };

  function waitForRoom(): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(enter), 1);
        reject(refusal());
      }, timeout);
      function enter(): void {
        clearTimeout(timer);
        resolve();
      }
      waiting.push(enter);
    });
  }
}
