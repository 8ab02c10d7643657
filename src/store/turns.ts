// Whose turn it is, on an event loop that a local database holds up while it works.
import type { Database } from "./database.ts";

/** After the input that has arrived already is handled; where a runtime cannot tell, at once. */
export const endOfTurn = (): Promise<void> =>
  typeof setImmediate === "function" ? new Promise((resolve) => setImmediate(resolve)) : Promise.resolve();

/** The same database, for long work that others share the process with: after each operation it is their turn. */
export function givingWay(database: Database): Database {
  async function thenOthers<T>(operation: Promise<T>): Promise<T> {
    try {
      return await operation;
    } finally {
      await endOfTurn();
    }
  }
  return {
    read: (statement) => thenOthers(database.read(statement)),
    write: (statements) => thenOthers(database.write(statements)),
    close: database.close,
  };
}
