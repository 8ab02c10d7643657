// A libSQL client on a database in memory that fails on demand. Its errors are classified like those of a file's
// driver, or of a server's.
import { LibsqlError } from "@libsql/client";
import type { Client } from "../../src/database/client.ts";
import type { Database, Row, Statement } from "../../src/database/database.ts";

/** A text in each error that no answer may contain. */
export const secret = "secret-of-the-database";

/** How one operation, or each, fails. */
export type Fault = {
  /** Before it takes effect; after, so that its reply is lost; or at a statement of a batch, from 0. */
  at: "before" | "after" | number;
  thrown: unknown;
  /** The index of the operation that fails, from 0. */
  operation: number;
  /** Whether later operations fail too. */
  lasts: boolean;
};

type FaultyClient = {
  client: Client;
  /** Sets how operations fail from now on. Undefined ends the failures. */
  fail(fault: Fault | undefined): void;
  /** Since then: how many operations there were, whether one failed, and how many statements the last failed one had. */
  seen: { operations: number; failed: boolean; statements: number };
};

export function createFaultyClient(database: Database, protocol: "file" | "http"): FaultyClient {
  let fault: Fault | undefined;
  const seen = { operations: 0, failed: false, statements: 0 };

  async function operate(statements: Statement[], run: (statements: Statement[]) => Promise<Row[][]>) {
    const number = seen.operations++;
    const { at, thrown, operation, lasts } = fault ?? { at: "before", thrown: undefined, operation: Infinity };
    if (number < operation || number > operation && !lasts) return run(statements);
    seen.statements = statements.length;
    if (typeof at === "number" && at >= statements.length) return run(statements);
    seen.failed = true;
    if (at === "after") await run(statements);
    if (typeof at === "number") {
      // Fails within its transaction, after the statements before it.
      const broken = statements.map((statement, index) =>
        index === at ? { sql: "select nothing from nowhere" } : statement
      );
      await run(broken).then(() => Promise.reject(new Error("It has not failed")), () => {});
    }
    throw thrown;
  }

  const client = {
    protocol,
    execute: async (statement: Statement) => ({
      // Without its columns, a query is sent as it is.
      rows: statement.sql.endsWith("limit 0")
        ? []
        : (await operate([statement], async ([statement]) => [await database.read(statement!)]))[0],
    }),
    batch: async (statements: Statement[]) => (await operate(statements, database.write)).map((rows) => ({ rows })),
    reconnect() {},
    close() {},
  };
  return {
    client: client as unknown as Client,
    seen,
    fail(next) {
      fault = next;
      Object.assign(seen, { operations: 0, failed: false });
    },
  };
}

const ofSqlite = (code: string) => new LibsqlError(`${secret} at ./ledger.db`, code);

const ofServer = (status: number) => {
  const cause = Object.assign(new Error(`Server returned HTTP status ${status} ${secret}`), { status });
  return new LibsqlError(cause.message, "SERVER_ERROR", undefined, undefined, cause);
};

/** The outcome of a request when an operation fails once: `retried` until it succeeds, or `refused` with a 500. */
export type Outcome = "retried" | "refused" | "retried or refused";

const refused = { file: "refused", http: "refused" } as const;
const retried = { file: "retried", http: "retried" } as const;
const either = { file: "retried or refused", http: "retried or refused" } as const;

/** Errors, and the outcome of a request that meets one: on a file, if it can have such an error, and on a server. */
export const errors: { name: string; make: () => unknown; file?: Outcome; http: Outcome }[] = [
  { name: "SQLITE_BUSY", make: () => ofSqlite("SQLITE_BUSY"), ...retried },
  { name: "SQLITE_FULL", make: () => ofSqlite("SQLITE_FULL"), ...refused },
  { name: "SQLITE_IOERR", make: () => ofSqlite("SQLITE_IOERR"), ...refused },
  { name: "SQLITE_CONSTRAINT", make: () => ofSqlite("SQLITE_CONSTRAINT"), ...refused },
  { name: "SQLITE_CORRUPT", make: () => ofSqlite("SQLITE_CORRUPT"), ...refused },
  { name: "a status of 401", make: () => ofServer(401), http: "refused" },
  { name: "a status of 429", make: () => ofServer(429), http: "retried" },
  { name: "a status of 500", make: () => ofServer(500), http: "retried" },
  { name: "a status of 502", make: () => ofServer(502), http: "retried" },
  {
    name: "a TypeError of the network",
    make: () => new TypeError("fetch failed", { cause: new Error(`ECONNRESET ${secret}`) }),
    http: "retried",
  },
  { name: "a TimeoutError", make: () => new DOMException(`No answer of ${secret}`, "TimeoutError"), http: "retried" },
  { name: "a text that is thrown", make: () => `${secret} thrown`, ...either },
  { name: "undefined that is thrown", make: () => undefined, ...either },
];
