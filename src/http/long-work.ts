// Management requests that scan much of the log. Few run at once, and none for a client that has disconnected.
import { clientGone, managementOverloaded } from "../common/errors.ts";
import { around } from "../database/database.ts";
import type { Database } from "../database/database.ts";

/** Limits how many long-running requests run at once. */
export type LongWork = {
  /** Resolves when there is room, with a function that leaves. Rejects after a timeout. */
  enter(): Promise<() => void>;
};

const maxWaiting = 100; // requests; the others are refused at once

export function createLongWork(max: number, timeout: number): LongWork {
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
      else throw managementOverloaded();
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

/** The same database, whose operations fail once `isGone` says that the client has disconnected. */
export const untilGone = (database: Database, isGone: () => boolean): Database =>
  around(database, (operation) => isGone() ? Promise.reject(clientGone()) : operation());
