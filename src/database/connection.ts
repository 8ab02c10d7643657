// The one connection to a local database: pragmas, one operation at a time, the claim on the file, and waiting for locks.
import {
  afterCommit,
  classifyErrors,
  closedError,
  failureOf,
  hasCode,
  isBusy,
  isClosedError,
  isFileFault,
} from "./database.ts";
import type { Claim, Database, Failure, Purpose, Row, Statement } from "./database.ts";
import { createQueue } from "./queue.ts";
import { isReaderLost } from "./thread.ts";
import type { ReaderThread } from "./thread.ts";

/** A database on one connection. */
export type Connection = {
  /** The path of its file; empty for a database in memory. */
  findPath(): string | Promise<string>;
  /** Opens the connection, unless it is open. */
  open?(): void;
  read(statement: Statement): Promise<Row[]>;
  write(statements: Statement[]): Promise<Row[][]>;
  close(): void;
  /** Replaces the connection. Present if a busy error makes a connection useless. */
  reopen?(): Promise<void>;
};

/** How long SQLite waits for a lock at a time, in ms. The event loop is blocked meanwhile. */
export const busyTimeoutMs = 25;

const failureTtlMs = 2_000; // a probe fails for so long after a write has failed
const lockTimeoutMs = 5_000; // for an operation in all, the time in the queue included

const common = [
  "pragma journal_mode = wal",
  "pragma synchronous = full",
  "pragma foreign_keys = on",
  // Deleted content is overwritten with zeros.
  "pragma secure_delete = on",
];
const pragmas: Record<Purpose, string[]> = {
  // Checkpoints once the write-ahead log has 16 MiB. The page cache has 8 MiB.
  serve: [...common, "pragma wal_autocheckpoint = 4096", "pragma cache_size = -8192"],
  manage: [...common, "pragma wal_autocheckpoint = 0"],
};

// Connections that must never be closed. Being referenced here keeps the garbage collector from closing them.
const abandoned: Connection[] = [];

/**
 * A local database, which runs one operation at a time and retries while another process holds a lock. A service claims
 * the file with `claimFile` first.
 */
export function serialized(
  connection: Connection,
  purpose: Purpose,
  claimFile?: (path: string) => Claim,
  thread?: ReaderThread,
): Database {
  let isReady = false;
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
    // The pragmas may have written to the file.
    claim?.checkAfterWrite();
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
        // A database in memory is lost with its connection.
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
    // The time in the queue counts, so that later operations wait no longer than the first.
    const deadline = performance.now() + lockTimeoutMs;
    return queue(() => attempt(operation, deadline));
  }

  /** Writes, then checks the file, even after a failure: SQLite may have checkpointed before it failed. */
  async function writeTo(statements: Statement[]): Promise<Row[][]> {
    let results: Row[][];
    try {
      results = await connection.write(statements);
    } catch (error) {
      if (hasCode(error, fileFaults)) failure = { error, at: performance.now() };
      claim?.checkAfterWrite();
      throw error;
    }
    failure = undefined;
    await afterCommit(() => claim?.checkAfterWrite());
    return results;
  }

  const write = (statements: Statement[]) =>
    enqueue(async () => {
      if (claim === undefined || claim.isStamped()) return await writeTo(statements);
      const results = await writeTo([...statements, setStamp()]);
      await afterCommit(async () => {
        // The stamp must reach the file itself. If a reader blocks this checkpoint, the next write tries again.
        await connection.read({ sql: "pragma wal_checkpoint(passive)" });
        claim!.checkAfterWrite();
      });
      return results.slice(0, -1);
    });

  const setStamp = (): Statement => ({ sql: `pragma user_version = ${claim?.stamp ?? 0}` });

  const read = (statement: Statement) => enqueue(() => connection.read(statement));

  /** Reads on the thread. The connection opens first, because it alone may create or recover the write-ahead log. */
  async function readAside(statement: Statement): Promise<Row[]> {
    if (!isReady) await enqueue(() => Promise.resolve());
    try {
      const rows = await attempt(() => thread!.read(statement), performance.now() + lockTimeoutMs);
      return rows ?? await read(statement);
    } finally {
      // The file may have been lost or damaged meanwhile, which is then the cause of a failure too.
      claim?.check();
    }
  }

  function close(): void {
    if (claim !== undefined && !claim.isIntact()) {
      abandoned.push(connection);
      return;
    }
    connection.close();
    // Closing may have checkpointed the file, which other holders in this process still use.
    claim?.isIntact(true);
    claim?.release();
  }

  return classifyErrors({
    read,
    write,
    readAside: thread && readAside,
    async probe() {
      // A full disk may still have room for the one page that is written below.
      if (failure !== undefined && performance.now() - failure.at < failureTtlMs) throw failure.error;
      // Writes the present value again, which takes a page in the log as every write does.
      await enqueue(() => connection.write([setStamp()]));
    },
    watch(report) {
      reports.push(report);
      claim?.watch(report);
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      const ending = thread?.end();
      return ending === undefined ? close() : ending.then(close);
    },
  }, classifyError);
}

/** No statement causes a fault of the file, so the ledger must not split the group to find one. */
function classifyError(error: unknown): Failure | undefined {
  const known = failureOf(error);
  if (known !== undefined) return known;
  if (isBusy(error) || isReaderLost(error)) return "retryable";
  if (isFileFault(error) || isClosedError(error)) return "unavailable";
  return hasCode(error, fileFaults) ? undefined : "rejected";
}

const fileFaults = /^SQLITE_(FULL|IOERR|CORRUPT|NOTADB|READONLY|CANTOPEN|NOMEM)/;
