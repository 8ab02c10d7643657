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

const requestTimeout = 10_000; // ms, for one round trip to a server
const lockTimeout = 250; // ms that SQLite waits for a lock at a time; it blocks the event loop for so long
const lockPatience = 5_000; // ms that a statement waits for a lock in all

const pragmas = ["pragma journal_mode = wal", "pragma synchronous = full", "pragma foreign_keys = on"];

/** Opens a database. The first use of it applies what a file needs; a server is asked nothing until then. */
export function openDatabase(source: DatabaseSource): Database {
  if (typeof source === "string") return openDatabase({ url: source });
  if ("execute" in source) return source.protocol === "file" ? overFile(source) : overClient(source);
  const { url, authToken } = source;
  const isFile = isFileUrl(url) || url === ":memory:";
  const client = createClient({
    url,
    ...(authToken === undefined ? {} : { authToken }),
    // One connection: pragmas belong to a connection, and writers would only wait for each other.
    ...(isFile ? { concurrency: 1, timeout: lockTimeout } : { fetch: fetchWithTimeout }),
  });
  const close = () => client.close();
  if (!isFile) return { ...overClient(client), close };
  // A database in memory lives and dies with its connection.
  const reconnect = url.includes(":memory:") ? undefined : () => client.reconnect();
  return { ...overFile(client, reconnect), close };
}

function overClient(client: Client): Database {
  return {
    read: async (statement) => (await client.execute(bind(statement))).rows,
    write: async (statements) => (await client.batch(statements.map(bind), "write")).map(({ rows }) => rows),
    close() {},
  };
}

/** One operation at a time on one connection, with its pragmas; a lock that another process holds is waited for. */
function overFile(client: Client, reconnect?: () => Promise<void> | void): Database {
  const { read, write, close } = overClient(client);
  let isReady = false;
  let last: Promise<unknown> = Promise.resolve();

  async function attempt<T>(operation: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + lockPatience;
    for (;;) {
      try {
        if (!isReady) { for (const pragma of pragmas) await client.execute(pragma); }
        isReady = true;
        return await operation();
      } catch (error) {
        if (!isBusy(error) || reconnect === undefined || performance.now() > deadline) throw error;
        // After a busy error the connection keeps a statement open, and its later commits fail: take a new one.
        await reconnect();
        isReady = false;
        await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 20));
      }
    }
  }

  function inTurn<T>(operation: () => Promise<T>): Promise<T> {
    const turn = last.then(() => attempt(operation));
    last = turn.catch(() => {});
    return turn;
  }

  return {
    read: (statement) => inTurn(() => read(statement)),
    write: (statements) => inTurn(() => write(statements)),
    close,
  };
}

const isBusy = (error: unknown) => error instanceof LibsqlError && error.code === "SQLITE_BUSY";

const fetchWithTimeout = (request: Request) => fetch(request, { signal: AbortSignal.timeout(requestTimeout) });

/** The driver binds a JavaScript number as REAL, and a bigint as INTEGER. */
function bind({ sql, args = [] }: Statement) {
  const convert = (value: string | number | null): InValue => Number.isInteger(value) ? BigInt(Number(value)) : value;
  if (Array.isArray(args)) return { sql, args: args.map(convert) };
  return { sql, args: Object.fromEntries(Object.entries(args).map(([name, value]) => [name, convert(value)])) };
}
