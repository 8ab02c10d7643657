// Whose turn it is, on an event loop that a local database holds up while it works.
import type { Database } from "./database.ts";

/** After the input that has arrived already is handled; where a runtime cannot tell, at once. */
export const endOfTurn = (): Promise<void> =>
  typeof setImmediate === "function" ? new Promise((resolve) => setImmediate(resolve)) : Promise.resolve();

const turnsGiven = 8; // what it takes to read a request, decide it and answer it, and some more on Deno

/** The same database, for long work that others share the process with: after each operation they get their turns. */
export function givingWay(database: Database): Database {
  async function thenOthers<T>(operation: Promise<T>): Promise<T> {
    try {
      return await operation;
    } finally {
      for (let turn = 0; turn < turnsGiven; turn++) await endOfTurn();
    }
  }
  return {
    read: (statement) => thenOthers(database.read(statement)),
    write: (statements) => thenOthers(database.write(statements)),
    close: database.close,
  };
}
