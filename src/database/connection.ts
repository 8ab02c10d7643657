// The one connection to a local database: its pragmas, one operation at a time, the claim on its file, and how long it waits
// for the locks of others.
import { classifyErrors, closedError, hasCode, isBusy, isClosedError, isFileFault } from "./database.ts";
import type { Claim, Database, Failure, Purpose, Row, Statement } from "./database.ts";
import { createQueue } from "./queue.ts";

/** A database on one connection. */
export type Connection = {
  /** The path of its file; empty for a database in memory. */
  findPath(): string | Promise<string>;
  /** Opens it, if it is not open yet. */
  open?(): void;
  read(statement: Statement): Promise<Row[]>;
  write(statements: Statement[]): Promise<Row[][]>;
  close(): void;
  /** Takes a new connection, where a busy error makes the old one useless. */
  reopen?(): Promise<void>;
};

/** ms that SQLite waits for a lock at a time; the event loop stands still for so long. */
export const lockTimeout = 25;

const failureMemory = 2_000; // ms for which a write that failed is taken for the state of the disk
const lockTimeoutMs = 5_000; // ms that an operation waits for a lock in all, from when it was asked for

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

// Connections that must never be closed, nor collected, which would close them.
const abandoned: Connection[] = [];

/**
 * A local database: every operation waits for those before it, and for a lock that another process holds. A service claims
 * its file with `claimFile` first.
 */
export function serialized(connection: Connection, purpose: Purpose, claimFile?: (path: string) => Claim): Database {
  let isReady = false;
  let isStamped = false;
  let failure: { error: unknown; at: number } | undefined;
  let isClosed = false;
  let path = "";
  let claim: Claim | undefined;
  const reports: ((fault: string) => void)[] = [];
  const queue = createQueue();

  async function prepare(): Promise<void> {
    if (isReady) return;
    path = await connection.findPath();
    if (purpose === "serve" && path !== "" && claim === undefined) {
      claim = claimFile?.(path);
      for (const report of reports) claim?.watch(report);
    }
    connection.open?.();
    for (const sql of pragmas[purpose]) await connection.read({ sql });
    // Setting the pragmas may have written to the file.
    claim?.checkAfterWrite();
    isStamped = claim === undefined;
    isReady = true;
  }

  async function attempt<T>(operation: () => Promise<T>, deadline: number): Promise<T> {
    for (;;) {
      if (isClosed) throw closedError();
      try {
        await prepare();
        claim?.check();
        return await operation();
      } catch (error) {
        // What is in memory lives and dies with its connection.
        if (!isBusy(error) || isReady && path === "") throw error;
        if (connection.reopen !== undefined) {
          await connection.reopen();
          isReady = false;
        }
        if (performance.now() > deadline) {
          const message = `Timed out after ${lockTimeoutMs} ms waiting for the database lock`;
          throw Object.assign(new Error(message, { cause: error }), { code: "SQLITE_BUSY" });
        }
        await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 20));
      }
    }
  }

  function enqueue<T>(operation: () => Promise<T>): Promise<T> {
    // Counted from here, so that operations in the queue wait no longer than the first.
    const deadline = performance.now() + lockTimeoutMs;
    return queue(() => attempt(operation, deadline));
  }

  /** Writes, and looks at the file also after a failure: SQLite may have taken the log over into it before. */
  async function writeTo(statements: Statement[]): Promise<Row[][]> {
    try {
      const results = await connection.write(statements);
      failure = undefined;
      return results;
    } catch (error) {
      if (hasCode(error, fileFaults)) failure = { error, at: performance.now() };
      throw error;
    } finally {
      // What was committed to a file that is no longer there is lost.
      claim?.checkAfterWrite();
    }
  }

  const write = (statements: Statement[]) =>
    enqueue(async () => {
      if (isStamped) return await writeTo(statements);
      const results = await writeTo([...statements, setStamp()]);
      isStamped = true;
      // The mark must be in the file itself. If someone reads an older state now, a later checkpoint puts it there.
      await connection.read({ sql: "pragma wal_checkpoint(passive)" });
      claim?.checkAfterWrite();
      return results.slice(0, -1);
    });

  const setStamp = (): Statement => ({ sql: `pragma user_version = ${claim?.stamp ?? 0}` });

  return classifyErrors({
    read: (statement: Statement) => enqueue(() => connection.read(statement)),
    write,
    async probe() {
      // A full disk may have room for the page that is written here, and for no more.
      if (failure !== undefined && performance.now() - failure.at < failureMemory) throw failure.error;
      // Writes the value that is there: that takes a page in the log, as every write does.
      await enqueue(() => connection.write([setStamp()]));
    },
    watch(report) {
      reports.push(report);
      claim?.watch(report);
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      if (claim !== undefined && !claim.isIntact()) {
        abandoned.push(connection);
        return;
      }
      connection.close();
      // Closing it may have taken the log over into the file, which others of this process still have open.
      claim?.isIntact(true);
      claim?.release();
    },
  }, classifyError);
}

/** A fault of the file is no statement's fault, so the group need not be split to find one. */
function classifyError(error: unknown): Failure | undefined {
  if (isBusy(error)) return "retryable";
  if (isFileFault(error) || isClosedError(error)) return "unavailable";
  return hasCode(error, fileFaults) ? undefined : "rejected";
}

const fileFaults = /^SQLITE_(FULL|IOERR|CORRUPT|NOTADB|READONLY|CANTOPEN|NOMEM)/;
