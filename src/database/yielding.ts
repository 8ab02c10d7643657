// Sharing the event loop with requests, which long work must not hold up.
import { around } from "./database.ts";
import type { Database } from "./database.ts";
import { createQueue } from "./queue.ts";

/** Resolves once input that has already arrived is handled, or at once on runtimes without `setImmediate`. */
export const endOfTick = (): Promise<void> =>
  typeof setImmediate === "function" ? new Promise((resolve) => setImmediate(resolve)) : Promise.resolve();

const leastTicks = 8; // a request is read, decided and answered in fewer; Deno needs some more
const emptyTickMs = 0.1; // in less time no request is handled
const share = 3; // times as long as the work with a result took

/**
 * The same database for long work, which yields to requests: its operations run one at a time, however many are started at
 * once, and each leaves the event loop to requests before the next one.
 */
export function yielding(database: Database): Database {
  const enqueue = createQueue();
  let rested = Promise.resolve();
  return around(database, (operation) =>
    enqueue(async () => {
      await rested;
      try {
        return await operation();
      } finally {
        rested = rest();
      }
    }));
}

/**
 * Leaves the event loop to requests for some ticks, and for `share` times as long as the tick that works with the result of an
 * operation. Ends early if there are no requests.
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
