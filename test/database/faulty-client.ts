// A libSQL client over a database in memory that fails as it is told, so that the store judges its errors as it judges a
// driver's: as those of a file, or of a server.
import { LibsqlError } from "@libsql/client";
import type { Client } from "../../src/database/client.ts";
import type { Database, Row, Statement } from "../../src/database/database.ts";

/** What no answer may hold: it stands in each of the errors. */
export const secret = "secret-of-the-database";

/** How one operation fails, or each of them. */
export type Fault = {
  /** Before it takes effect; after, so that its reply is lost; or at one of a batch's statements, from 0. */
  at: "before" | "after" | number;
  thrown: unknown;
  /** Which of the operations from now on fails, from 0. */
  operation: number;
  /** Whether those after it fail too. */
  lasts: boolean;
};

export type FaultyClient = {
  client: Client;
  /** Fails so from now on; undefined fails no more. */
  fail(fault: Fault | undefined): void;
  /** How many operations were asked for since then, whether one has failed, and of how many statements the last such was. */
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
      // Fails in the midst of its transaction, with what stands before it done.
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
      rows: (await operate([statement], async ([statement]) => [await database.read(statement!)]))[0],
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

/** What becomes of a request when an operation fails once: `retried` until it succeeds, or `refused` with a 500. */
export type Outcome = "retried" | "refused" | "retried or refused";

const refused = { file: "refused", http: "refused" } as const;
const retried = { file: "retried", http: "retried" } as const;
const either = { file: "retried or refused", http: "retried or refused" } as const;

/** Errors, and what becomes of a request that meets one, on a file, where there are such errors, and on a server. */
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
