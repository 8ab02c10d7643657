// Sharing the event loop, which a local database blocks while it works.
import { around } from "./database.ts";
import type { Database } from "./database.ts";
import { createQueue } from "./queue.ts";

/** Resolves once input that has already arrived is handled, or at once on runtimes without `setImmediate`. */
export const endOfTick = (): Promise<void> =>
  typeof setImmediate === "function" ? new Promise((resolve) => setImmediate(resolve)) : Promise.resolve();

const yieldedTicks = 8; // a request is read, decided and answered in fewer; Deno needs some more

/**
 * The same database for long work, which yields to requests: its operations run one at a time, however many are started at
 * once, and the event loop runs for some ticks after each.
 */
export function yielding(database: Database): Database {
  const enqueue = createQueue();
  return around(database, (operation) =>
    enqueue(async () => {
      try {
        return await operation();
      } finally {
        for (let tick = 0; tick < yieldedTicks; tick++) await endOfTick();
      }
    }));
}
