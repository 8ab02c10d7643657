// The one connection to a local database: its pragmas, one operation at a time, and patience with the locks of others.
import { hasCode, isBusy, tellingFailures } from "./database.ts";
import type { Database, Failure, Purpose, Statement } from "./database.ts";

/** A database on one connection. `reopen` takes a new one, where a busy error makes the old one useless. */
export type Connection = Database & { reopen?(): Promise<void> };

/** ms that SQLite waits for a lock at a time; the event loop stands still for so long. */
export const lockTimeout = 25;

const lockPatience = 5_000; // ms that an operation waits for a lock in all, from when it was asked for

const common = [
  "pragma journal_mode = wal",
  "pragma synchronous = full",
  "pragma foreign_keys = on",
  // What is deleted is overwritten, and not only forgotten.
  "pragma secure_delete = on",
];
const pragmas: Record<Purpose, string[]> = {
  // The write-ahead log grows to 16 MiB before it is taken over into the file, and 8 MiB of the file are kept in memory.
  serve: [...common, "pragma wal_autocheckpoint = 4096", "pragma cache_size = -8192"],
  manage: [...common, "pragma wal_autocheckpoint = 0"],
};

/** A local database: every operation waits for those before it, and for a lock that another process holds. */
export function inTurn(connection: Connection, purpose: Purpose): Database {
  let isReady = false;
  let isInMemory = false;
  let last: Promise<unknown> = Promise.resolve();

  async function prepare(): Promise<void> {
    if (isReady) return;
    for (const sql of pragmas[purpose]) await connection.read({ sql });
    isInMemory = (await connection.read({ sql: "pragma database_list" }))[0]?.file === "";
    isReady = true;
  }

  async function attempt<T>(operation: () => Promise<T>, deadline: number): Promise<T> {
    while (performance.now() < deadline) {
      try {
        await prepare();
        return await operation();
      } catch (error) {
        // What is in memory lives and dies with its connection.
        if (!isBusy(error) || isInMemory) throw error;
        if (connection.reopen !== undefined) {
          await connection.reopen();
          isReady = false;
        }
        await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 20));
      }
    }
    throw Object.assign(new Error(`The database's lock was not to be had for ${lockPatience} ms`), {
      code: "SQLITE_BUSY",
    });
  }

  function afterOthers<T>(operation: () => Promise<T>): Promise<T> {
    // Counted from here, so that those who wait in line wait no longer than the first.
    const deadline = performance.now() + lockPatience;
    const turn = last.then(() => attempt(operation, deadline));
    last = turn.catch(() => {});
    return turn;
  }

  return tellingFailures({
    read: (statement: Statement) => afterOthers(() => connection.read(statement)),
    write: (statements: Statement[]) => afterOthers(() => connection.write(statements)),
    close: connection.close,
  }, judge);
}

/** What ails the file is no one statement's fault, so that it need not be found out whose. */
const judge = (error: unknown): Failure | undefined =>
  isBusy(error) ? "blocked" : hasCode(error, fileFaults) ? undefined : "refused";

const fileFaults = /^SQLITE_(FULL|IOERR|CORRUPT|NOTADB|READONLY|CANTOPEN|NOMEM)/;
