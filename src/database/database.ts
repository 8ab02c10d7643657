// Interface of any database: a read, or an atomic batch. No interactive transactions, and no particular driver.
import type { Log } from "../common/log.ts";

/** A statement. Whole numbers are bound as integers. */
export type Statement = {
  sql: string;
  args?: (string | number | null)[] | Record<string, string | number | null>;
  /**
   * Handling of text that is not valid UTF-8, which a bad sector may leave in a file. Without it, U+FFFD replaces
   * unreadable bytes. `refuse` rejects, and `select` returns only the rows with such text. A server refuses it anyway.
   */
  onDamage?: "refuse" | "select";
};

/** The values of a row, by column name. */
export type Row = Readonly<Record<string, unknown>>;

export type Database = {
  /** Runs a statement that changes nothing, and returns its rows. */
  read(statement: Statement): Promise<Row[]>;
  /** Runs statements in one transaction and one round trip, and returns the rows of each. */
  write(statements: Statement[]): Promise<Row[][]>;
  /**
   * Runs a read on a separate thread, where it holds up no other operation. It sees everything written before. Only
   * served files have it.
   */
  readAside?: ((statement: Statement) => Promise<Row[]>) | undefined;
  /** Closes the database, at once unless a thread has to end first. Every later operation rejects as unavailable. */
  close(): void | Promise<void>;
  /** Throws if nothing can be written now. Only files have it: a server rejects the write itself. */
  probe?(): Promise<void>;
  /** Logs if another process removes, replaces or changes the file, or if checkpoints fail. Only files have it. */
  watch?(log: Log): void;
};

/** Wraps a database so that `run` runs each of its operations. */
export const around = (database: Database, run: <T>(operation: () => Promise<T>) => Promise<T>): Database => ({
  ...database,
  read: (statement) => run(() => database.read(statement)),
  write: (statements) => run(() => database.write(statements)),
  readAside: database.readAside && ((statement) => run(() => database.readAside!(statement))),
});

/** Wraps a database so that its reads run on a separate thread, if there is one. */
export const readingAside = (database: Database): Database => ({
  ...database,
  read: database.readAside ?? database.read,
});

/** True if the reads of a database run on a separate thread. */
export const readsAside = ({ read, readAside }: Database): boolean => read === readAside;

/** True if a database is a file or in memory, whose texts are read as bytes. */
export const isFile = ({ probe }: Database): boolean => probe !== undefined;

/** The right to serve a database file. */
export type Claim = {
  /** Identifies the file that is served now, as its `user_version`. A copy from elsewhere has another. */
  readonly stamp: number;
  /** True once the stamp was seen in the file. Until then, another process's change may pass for one made here. */
  isStamped(): boolean;
  /** Throws a file fault if the file or its log is no longer the one that was claimed. Requires an open database. */
  check(): void;
  /** Like `check`, after this process has committed. Returns the number of pages in the log, if known. */
  checkCommit(): number | undefined;
  /**
   * Checks the file, and lets this process change it until the returned function is called, which checks it again.
   * Commits write to the log alone. Only opening, checkpoints and closing change the file itself.
   */
  beginChange(): () => void;
  watch(report: (fault: string) => void): void;
  release(gone?: Promise<void>): void;
};

/**
 * Purpose of opening a database. `serve`: the only process that checkpoints the file; times out soon on a server.
 * `manage`: may run beside a service, waits for slow replies, and never checkpoints, because the SQLite inside libSQL
 * can lose commits when two processes write and checkpoint at the same instant.
 */
export type Purpose = "serve" | "manage";

/**
 * Reason why an operation failed.
 * - `retryable`: it had no effect and may succeed later.
 * - `indeterminate`: no valid reply came, so it may have taken effect.
 * - `rejected`: one of its statements cannot run, so none took effect.
 * - `unavailable`: it had no effect, and nothing succeeds until the service or its database is restarted.
 */
export type Failure = "retryable" | "indeterminate" | "rejected" | "unavailable";

const failures = new WeakMap<object, Failure>();

/** Reason why a database operation failed. Undefined for an unknown error, or one from elsewhere. */
export const failureOf = (error: unknown): Failure | undefined =>
  typeof error === "object" && error !== null ? failures.get(error) : undefined;

/** Error of an operation that may or may not have taken effect. */
export function indeterminateError(message: string, cause?: unknown): Error {
  const error = new Error(message, { cause });
  failures.set(error, "indeterminate");
  return error;
}

/**
 * Runs work after a commit. If that fails, the commit has taken effect all the same, so it must not be made again under
 * another id. It is lost only if the file is not the one that was opened.
 */
export async function afterCommit<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isOver = isFileFault(error) || failureOf(error) === "unavailable";
    throw isOver ? error : indeterminateError("An operation failed after its commit", error);
  }
}

/** Wraps a database so that `failureOf` returns the result of `classify` for its errors. */
export const classifyErrors = (database: Database, classify: (error: unknown) => Failure | undefined): Database =>
  onError(database, (error) => {
    const failure = classify(error);
    // Anything can be thrown, and only objects can be keys of the map.
    if (failure !== undefined && typeof error === "object" && error !== null) failures.set(error, failure);
  });

/** Wraps a database to call `report` with every error. */
export const onError = (database: Database, report: (error: unknown) => void): Database =>
  around(database, async (operation) => {
    try {
      return await operation();
    } catch (error) {
      report(error);
      throw error;
    }
  });

/** The error for a file that is no longer the one that was opened; `fault` describes the change. */
export const fileError = (fault: string): Error => Object.assign(new Error(fault), { code: "DATABASE_FILE_FAULT" });
export const isFileFault = (error: unknown): error is Error => hasCode(error, /^DATABASE_FILE_FAULT$/);

/** The error for a file that another process serves; `cause` is that of its lock. */
export const servedError = (path: string, cause: unknown): Error =>
  Object.assign(
    fileError(
      `Another process serves the database ${path}: stop it first. ` +
        "Several processes can share a database on a libSQL server",
    ),
    { cause },
  );
export const isServed = (error: unknown): error is Error => isFileFault(error) && isBusy(error.cause);

/** The error for an operation after the database was closed. */
export const closedError = (): Error => Object.assign(new Error("The database is closed"), { code: "DATABASE_CLOSED" });
export const isClosedError = (error: unknown): boolean => hasCode(error, /^DATABASE_CLOSED$/);

/** True if another process holds the required lock. Both drivers set this code. */
export const isBusy = (error: unknown): boolean => hasCode(error, /^SQLITE_BUSY/);

/** True if a row violates a constraint, such as that of a primary key. Both drivers set this code. */
export const isConstraintError = (error: unknown): boolean => hasCode(error, /^SQLITE_CONSTRAINT/);

export const hasCode = (error: unknown, pattern: RegExp): boolean =>
  error instanceof Error && "code" in error && pattern.test(String(error.code));

/** A statement with only the arguments that it names. */
export const withArgs = (sql: string, args: Record<string, string | number | null>): Statement => ({
  sql,
  args: Object.fromEntries(Object.entries(args).filter(([name]) => new RegExp(`:${name}\\b`).test(sql))),
});

/** A statement for a driver. Drivers bind a JavaScript number as REAL, and a bigint as INTEGER. */
export function bind({ sql, args = [] }: Statement) {
  const convert = (value: string | number | null) => Number.isInteger(value) ? BigInt(Number(value)) : value;
  if (Array.isArray(args)) return { sql, args: args.map(convert) };
  return { sql, args: Object.fromEntries(Object.entries(args).map(([name, value]) => [name, convert(value)])) };
}
