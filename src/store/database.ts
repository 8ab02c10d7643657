// The one door to the database, and the only importer of @libsql/client: a file through one connection, or a libSQL
// server over HTTP. Everything is either one read or one atomic batch; there are no interactive transactions.
import { createClient, LibsqlError } from "@libsql/client";
import type { Client, InValue, ResultSet } from "@libsql/client";
import type { DatabaseLocation } from "../config.ts";
import { isFileUrl } from "../config.ts";

/** A statement; whole numbers are bound as integers. */
export type Statement = { sql: string; args?: (string | number | null)[] | Record<string, string | number | null> };

/** A row by column name, as the driver gives it. */
export type Row = ResultSet["rows"][number];

export type Database = {
  /** Runs one statement that changes nothing. */
  read(statement: Statement): Promise<Row[]>;
  /** Runs the statements in one transaction, all or nothing, in one round trip; gives the rows of each. */
  write(statements: Statement[]): Promise<Row[][]>;
  close(): void;
};

export type { Client };

/** Where a store is: a URL, a URL with its token, or a libSQL client of the caller's, which stays theirs to close. */
export type DatabaseSource = string | DatabaseLocation | Client;

/**
 * What a database is opened for. A service is the one process that checkpoints its file, and gives up on a server that
 * does not answer. Management may run beside it: it leaves checkpoints alone, since the SQLite inside libSQL can lose
 * commits when two processes write and checkpoint at the same instant, and it waits for long answers.
 */
export type Purpose = "serve" | "manage";

const requestTimeouts: Record<Purpose, number> = { serve: 10_000, manage: 600_000 }; // ms, for one round trip
const lockTimeout = 25; // ms that SQLite waits for a lock at a time; the event loop stands still for so long
const lockPatience = 5_000; // ms that an operation waits for a lock in all, from when it was asked for

const pragmas = ["pragma journal_mode = wal", "pragma synchronous = full", "pragma foreign_keys = on"];
const pragmasFor: Record<Purpose, string[]> = {
  serve: pragmas,
  manage: [...pragmas, "pragma wal_autocheckpoint = 0"],
};

/** Opens a database. The first use of it applies what a file needs; a server is asked nothing until then. */
export function openDatabase(source: DatabaseSource, purpose: Purpose = "serve"): Database {
  if (typeof source === "string") return openDatabase({ url: source }, purpose);
  if ("execute" in source) return source.protocol === "file" ? overFile(source, purpose) : overClient(source);
  const { url, authToken } = source;
  const isFile = isFileUrl(url) || url === ":memory:";
  const client = createClient({
    url,
    ...(authToken === undefined ? {} : { authToken }),
    // One connection: pragmas belong to a connection, and writers would only wait for each other.
    ...(isFile ? { concurrency: 1, timeout: lockTimeout } : { fetch: fetchWithin(requestTimeouts[purpose]) }),
  });
  return { ...(isFile ? overFile(client, purpose) : overClient(client)), close: () => client.close() };
}

function overClient(client: Client): Database {
  async function attempt<T>(operation: Promise<T>): Promise<T> {
    try {
      return await operation;
    } catch (error) {
      if (mayPass(error)) passing.add(error as object);
      throw error;
    }
  }
  return {
    read: async (statement) => (await attempt(client.execute(bind(statement)))).rows,
    write: async (statements) => (await attempt(client.batch(statements.map(bind), "write"))).map(({ rows }) => rows),
    close() {},
  };
}

/** One operation at a time on one connection, with its pragmas; a lock that another process holds is waited for. */
function overFile(client: Client, purpose: Purpose): Database {
  const { read, write, close } = overClient(client);
  let isReady = false;
  let isInMemory = false;
  let last: Promise<unknown> = Promise.resolve();

  async function prepare(): Promise<void> {
    if (isReady) return;
    for (const pragma of pragmasFor[purpose]) await client.execute(pragma);
    isInMemory = (await client.execute("pragma database_list")).rows[0]?.file === "";
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
        // After a busy error the connection keeps a statement open, and its later commits fail: take a new one.
        await client.reconnect();
        isReady = false;
        await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 20));
      }
    }
    const error = new Error(`Another process has held the database's lock for ${lockPatience} ms`);
    passing.add(error);
    throw error;
  }

  function inTurn<T>(operation: () => Promise<T>): Promise<T> {
    // Counted from here, so that those who wait in line wait no longer than the first.
    const deadline = performance.now() + lockPatience;
    const turn = last.then(() => attempt(operation, deadline));
    last = turn.catch(() => {});
    return turn;
  }

  return {
    read: (statement) => inTurn(() => read(statement)),
    write: (statements) => inTurn(() => write(statements)),
    close,
  };
}

const passing = new WeakSet<object>();

/** Whether a failure of a database lies with it as a whole and may pass: the same statements are worth another attempt. */
export const isPassing = (error: unknown): boolean => typeof error === "object" && error !== null && passing.has(error);

/** Told by class and code, never by the driver's words. */
function mayPass(error: unknown): boolean {
  // What fetch rejects with: refused or reset is a TypeError, a timeout a DOMException.
  if (!(error instanceof LibsqlError)) return error instanceof TypeError || error instanceof DOMException;
  if (error.code !== "SERVER_ERROR") return isBusy(error) || error.code.startsWith("HRANA_");
  const status = error.cause instanceof Error && "status" in error.cause ? Number(error.cause.status) : 0;
  return status === 429 || status >= 500;
}

const isBusy = (error: unknown) => error instanceof LibsqlError && error.code === "SQLITE_BUSY";

const fetchWithin = (timeout: number) => (request: Request) => fetch(request, { signal: AbortSignal.timeout(timeout) });

/** The driver binds a JavaScript number as REAL, and a bigint as INTEGER. */
function bind({ sql, args = [] }: Statement) {
  const convert = (value: string | number | null): InValue => Number.isInteger(value) ? BigInt(Number(value)) : value;
  if (Array.isArray(args)) return { sql, args: args.map(convert) };
  return { sql, args: Object.fromEntries(Object.entries(args).map(([name, value]) => [name, convert(value)])) };
}
