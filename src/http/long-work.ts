// Management that looks at much of the log: few at once, and none for a client that has left.
import { clientGone, managementOverloaded } from "../common/errors.ts";
import { around } from "../database/database.ts";
import type { Database } from "../database/database.ts";

/** Bounds how much long work is under way. */
export type LongWork = {
  /** Resolves when there is room, with what makes room again; rejects after a while. */
  enter(): Promise<() => void>;
};

export function createLongWork(most: number, timeout: number): LongWork {
  const waiting: (() => void)[] = [];
  let running = 0;

  function leave(): void {
    const next = waiting.shift();
    if (next === undefined) running--;
    else next();
  }

  return {
    async enter() {
      if (running < most) running++;
      else await waitForRoom();
      return leave;
    },
  };

  function waitForRoom(): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(enter), 1);
        reject(managementOverloaded());
      }, timeout);
      function enter(): void {
        clearTimeout(timer);
        resolve();
      }
      waiting.push(enter);
    });
  }
}

/** The same database, which does nothing more once `isGone` says that nobody waits for it. */
export const whileWanted = (database: Database, isGone: () => boolean): Database =>
  around(database, (operation) => isGone() ? Promise.reject(clientGone()) : operation());
