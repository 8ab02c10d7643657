// Sharing the event loop with requests, which long work must not hold up.
import { around, isFile, readsAside } from "./database.ts";
import type { Database } from "./database.ts";
import { createQueue } from "./queue.ts";

/** Resolves once input that has already arrived is handled, or at once on runtimes without `setImmediate`. */
export const endOfTick = (): Promise<void> =>
  typeof setImmediate === "function" ? new Promise((resolve) => setImmediate(resolve)) : Promise.resolve();

const leastTicks = 8; // a request is read, decided and answered in fewer; Deno needs some more
const emptyTickMs = 0.1; // in less time no request is handled
const share = 3; // times as long as the work with a result took

/**
 * Wraps a database for long work, which yields to requests: operations run one at a time, however many are started at
 * once, and each leaves the event loop to requests before the next one. A read on the reader thread or on a server
 * starts at once, and only its result waits.
 */
export function yielding(database: Database): Database {
  const enqueue = createQueue();
  let rested = Promise.resolve();
  const run = <T>(operation: () => Promise<T>): Promise<T> =>
    enqueue(async () => {
      await rested;
      try {
        return await operation();
      } finally {
        rested = rest();
      }
    });
  const yielded = around(database, run);
  if (isFile(database) && !readsAside(database)) return yielded;
  return {
    ...yielded,
    read(statement) {
      const reading = database.read(statement);
      // It may fail before it is awaited.
      reading.catch(() => {});
      return run(() => reading);
    },
  };
}

/**
 * Leaves the event loop to requests for some ticks, and for `share` times as long as the tick that works with the
 * result of an operation. Ends early if there are no requests.
 */
async function rest(): Promise<void> {
  const began = performance.now();
  await endOfTick();
  let now = performance.now();
  const until = now + share * (now - began);
  for (let ticks = 1, empty = 0; ticks < leastTicks || empty < leastTicks && now < until; ticks++) {
    const before = now;
    await endOfTick();
    now = performance.now();
    empty = now - before < emptyTickMs ? empty + 1 : 0;
  }
}
