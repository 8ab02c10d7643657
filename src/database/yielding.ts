// Whose turn it is, on an event loop that a local database holds up while it works.
import type { Database } from "./database.ts";

/** After the input that has arrived already is handled; where a runtime cannot tell, at once. */
export const endOfTurn = (): Promise<void> =>
  typeof setImmediate === "function" ? new Promise((resolve) => setImmediate(resolve)) : Promise.resolve();

const turnsGiven = 8; // what it takes to read a request, decide it and answer it, and some more on Deno

/**
 * The same database, for long work that others share the process with: they wait for one of its operations at most, however
 * many are asked for at once, and after each they get their turns.
 */
export function yielding(database: Database): Database {
  let last: Promise<unknown> = Promise.resolve();

  async function thenYield<T>(operate: () => Promise<T>): Promise<T> {
    try {
      return await operate();
    } finally {
      for (let turn = 0; turn < turnsGiven; turn++) await endOfTurn();
    }
  }

  function enqueue<T>(operate: () => Promise<T>): Promise<T> {
    const operation = last.then(() => thenYield(operate));
    last = operation.catch(() => undefined);
    return operation;
  }

  return {
    read: (statement) => enqueue(() => database.read(statement)),
    write: (statements) => enqueue(() => database.write(statements)),
    close: database.close,
  };
}
