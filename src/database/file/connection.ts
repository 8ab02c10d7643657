// The one connection to a local database: pragmas, one operation at a time, the claim on the file, and waiting for
// locks.
import type { Log } from "../../common/log.ts";
import { createCheckpoints } from "./checkpoints.ts";
import {
  afterCommit,
  classifyErrors,
  closedError,
  failureOf,
  hasCode,
  isBusy,
  isClosedError,
  isFileFault,
  isServed,
} from "../database.ts";
import type { Claim, Database, Failure, Purpose, Row, Statement } from "../database.ts";
import { createQueue } from "../queue.ts";
import { isReaderLost } from "./thread.ts";
import type { ReaderThread } from "./thread.ts";

/** A database on one connection. */
export type Connection = {
  /** The path of its file; empty for a database in memory. */
  findPath(): string | Promise<string>;
  /** Opens the connection, unless it is open. */
  open?(): void | Promise<void>;
  read(statement: Statement): Promise<Row[]>;
  write(statements: Statement[]): Promise<Row[][]>;
  close(): void;
  /** Resolves once a closed connection is released. Undefined if that is immediate. */
  gone?(): Promise<void>;
  /** Replaces the connection. Present if a busy error makes a connection useless. */
  reopen?(): Promise<void>;
};

/** Time that SQLite waits for a lock in one attempt, in ms. The event loop is blocked meanwhile. */
export const busyTimeoutMs = 25;

const failureTtlMs = 2_000; // a probe fails this long after a failed write
const lockTimeoutMs = 5_000; // for a whole operation, including its time in the queue

const common = [
  "pragma journal_mode = wal",
  "pragma synchronous = full",
  "pragma foreign_keys = on",
  // Deleted content is overwritten with zeros.
  "pragma secure_delete = on",
  // Commits do not checkpoint. Only a service does, as `checkpoints.ts` schedules.
  "pragma wal_autocheckpoint = 0",
];
const pragmas: Record<Purpose, string[]> = {
  // The page cache has 8 MiB.
  serve: [...common, "pragma cache_size = -8192"],
  manage: common,
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
  claimFile?: (path: string) => Claim | Promise<Claim>,
  { thread, restMs, clock = () => performance.now() }: {
    thread?: ReaderThread | undefined;
    restMs?: number;
    clock?: () => number;
  } = {},
): Database {
  let isReady = false;
  let failure: { error: unknown; at: number } | undefined;
  let isClosed = false;
  let path = "";
  let claim: Claim | undefined;
  let log: Log | undefined;
  const queue = createQueue();
  const checkpoints = createCheckpoints(checkpoint, () => log, restMs);

  async function prepare(): Promise<void> {
    if (isReady) return;
    path = await connection.findPath();
    if (purpose === "serve" && path !== "" && claim === undefined) {
      const own = await claimFile?.(path);
      if (isClosed) {
        own?.release();
        throw closedError();
      }
      claim = own;
      watchFile();
    }
    await changeFile(async () => {
      await connection.open?.();
      for (const sql of pragmas[purpose]) await connection.read({ sql });
    });
    isReady = true;
  }

  /** Runs work that may write to the file itself. All other work writes to its log alone. */
  async function changeFile<T>(work: () => Promise<T>): Promise<T> {
    const end = claim?.beginChange();
    try {
      return await work();
    } finally {
      // Failed work may have written too.
      end?.();
    }
  }

  function watchFile(): void {
    if (log === undefined) return;
    claim?.watch((cause) => log?.error("Database is unavailable until the service is restarted", { cause }));
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
        if (clock() > deadline) {
          const message = `Timed out after ${lockTimeoutMs} ms waiting for the database lock`;
          throw Object.assign(new Error(message, { cause: error }), { code: "SQLITE_BUSY" });
        }
        await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 20));
      }
    }
  }

  function enqueue<T>(operation: () => Promise<T>): Promise<T> {
    // The time in the queue counts, so that later operations wait no longer than the first.
    const deadline = clock() + lockTimeoutMs;
    return queue(() => attempt(operation, deadline));
  }

  /** Commits statements to the log, and returns when they are on disk. All writes come through here. */
  async function commit(statements: Statement[]): Promise<Row[][]> {
    let results: Row[][];
    try {
      results = await connection.write(statements);
    } catch (error) {
      if (hasCode(error, fileFaults)) failure = { error, at: clock() };
      throw error;
    }
    failure = undefined;
    if (claim !== undefined) checkpoints.noteCommit(await afterCommit(() => claim!.checkCommit()));
    return results;
  }

  /**
   * Writes the log back into the file. Returns true if that was all of it: a reader can hold back pages that it does
   * not see yet.
   */
  function checkpoint(): Promise<boolean> {
    return enqueue(async () => {
      const [row] = await changeFile(() => connection.read({ sql: "pragma wal_checkpoint(passive)" }));
      return row!.log === row!.checkpointed;
    });
  }

  const write = (statements: Statement[]) =>
    enqueue(async () => {
      if (claim === undefined || claim.isStamped()) return await commit(statements);
      const results = await commit([...statements, setStamp()]);
      return results.slice(0, -1);
    });

  const setStamp = (): Statement => ({ sql: `pragma user_version = ${claim?.stamp ?? 0}` });

  const read = (statement: Statement) => enqueue(() => connection.read(statement));

  /** Reads on the thread. The connection opens first, because it alone may create or recover the write-ahead log. */
  async function readAside(statement: Statement): Promise<Row[]> {
    if (!isReady) await enqueue(() => Promise.resolve());
    try {
      const rows = await attempt(() => thread!.read(statement), clock() + lockTimeoutMs);
      return rows ?? await read(statement);
    } finally {
      // The file may have been lost or damaged meanwhile, which is then the cause of a failure too.
      if (!isClosed) claim?.check();
    }
  }

  function close(): void {
    checkpoints.stop();
    let end: (() => void) | undefined;
    try {
      end = claim?.beginChange();
    } catch {
      // Closing the connection would write to a file that is not the one it opened.
      abandoned.push(connection);
      return;
    }
    connection.close();
    try {
      // Other connections of this process may use the file.
      end?.();
    } catch {
      // They detect the fault themselves.
    }
    claim?.release(connection.gone?.());
  }

  return classifyErrors({
    read,
    write,
    readAside: thread && readAside,
    async probe() {
      // A full disk may still have room for the one page that is written below.
      if (failure !== undefined && clock() - failure.at < failureTtlMs) throw failure.error;
      // Writes the present value again, which takes a page in the log as every write does.
      await enqueue(() => commit([setStamp()]));
    },
    watch(given) {
      log = given;
      watchFile();
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
  if (isBusy(error) || isReaderLost(error) || isServed(error)) return "retryable";
  if (isFileFault(error) || isClosedError(error)) return "unavailable";
  return hasCode(error, fileFaults) ? undefined : "rejected";
}

const fileFaults = /^SQLITE_(FULL|IOERR|CORRUPT|NOTADB|READONLY|CANTOPEN|NOMEM)/;
