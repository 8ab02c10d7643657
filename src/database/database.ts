// What the store asks of a database, whatever it is: one read, or one atomic batch; there are no interactive transactions.
// Knows no driver.

/** A statement; whole numbers are bound as integers. */
export type Statement = { sql: string; args?: (string | number | null)[] | Record<string, string | number | null> };

/** A row by column name. */
export type Row = Readonly<Record<string, unknown>>;

export type Database = {
  /** Runs one statement that changes nothing. */
  read(statement: Statement): Promise<Row[]>;
  /** Runs the statements in one transaction, all or nothing, in one round trip; gives the rows of each. */
  write(statements: Statement[]): Promise<Row[][]>;
  /** Closes it; from then on every operation rejects as unavailable. */
  close(): void;
  /** Throws where nothing can be written now. Only files have it: a server says so itself when it is asked to write. */
  probe?(): Promise<void>;
  /** Calls `report` once if the file is no longer the one that was opened. Only files have it. */
  watch?(report: (fault: string) => void): void;
};

/** The same database; `run` is called with each operation, to run it. */
export const around = (database: Database, run: <T>(operation: () => Promise<T>) => Promise<T>): Database => ({
  ...database,
  read: (statement) => run(() => database.read(statement)),
  write: (statements) => run(() => database.write(statements)),
});

/** The right to serve a database file. */
export type Claim = {
  /** What marks the file as the one that is served now, as its `user_version`: a copy from elsewhere has another. */
  readonly stamp: number;
  /** Throws with the code of a file fault if the file is no longer the one that was claimed. */
  check(): void;
  /** The same after a write of this process, which changes the file too. */
  checkAfterWrite(): void;
  /**
   * Whether the file is still the one that was claimed, of which this process may just have written. If it is not, its
   * connection must not be closed, which would write to it.
   */
  isIntact(hasWritten?: boolean): boolean;
  watch(report: (fault: string) => void): void;
  release(): void;
};

/**
 * What a database is opened for. A service is the one process that checkpoints its file, and gives up on a server that
 * does not answer. Management may run beside it: it leaves checkpoints alone, since the SQLite inside libSQL can lose
 * commits when two processes write and checkpoint at the same instant, and it waits for long answers.
 */
export type Purpose = "serve" | "manage";

/**
 * Why an operation failed.
 * - `retryable`: it had no effect and may succeed later.
 * - `indeterminate`: no valid reply came, so it may have had its effect.
 * - `rejected`: one of its statements cannot run, so none had an effect.
 * - `unavailable`: it had no effect, and nothing will succeed until the service or its database is restarted.
 */
export type Failure = "retryable" | "indeterminate" | "rejected" | "unavailable";

const failures = new WeakMap<object, Failure>();

/** Why a database operation rejected with this error. Undefined for an error of no known kind, or from elsewhere. */
export const failureOf = (error: unknown): Failure | undefined =>
  typeof error === "object" && error !== null ? failures.get(error) : undefined;

/** An error that leaves open whether the operation had its effect. */
export function indeterminateError(message: string): Error {
  const error = new Error(message);
  failures.set(error, "indeterminate");
  return error;
}

/** The same database; `classify` says what `failureOf` returns for its errors. */
export const classifyErrors = (database: Database, classify: (error: unknown) => Failure | undefined): Database =>
  onError(database, (error) => {
    const failure = classify(error);
    // Anything can be thrown, and only objects can be keys of the map.
    if (failure !== undefined && typeof error === "object" && error !== null) failures.set(error, failure);
  });

/** The same database; calls `report` with every error. */
export const onError = (database: Database, report: (error: unknown) => void): Database =>
  around(database, async (operation) => {
    try {
      return await operation();
    } catch (error) {
      report(error);
      throw error;
    }
  });

/** A database file is no longer there, or no longer the one that was opened; `fault` says which. */
export const fileError = (fault: string): Error => Object.assign(new Error(fault), { code: "DATABASE_FILE_FAULT" });
export const isFileFault = (error: unknown): error is Error => hasCode(error, /^DATABASE_FILE_FAULT$/);

/** An operation came after the database was closed. */
export const closedError = (): Error => Object.assign(new Error("The database is closed"), { code: "DATABASE_CLOSED" });
export const isClosedError = (error: unknown): boolean => hasCode(error, /^DATABASE_CLOSED$/);

/** Whether another process holds the lock that was needed; told by the code that both drivers give. */
export const isBusy = (error: unknown): boolean => hasCode(error, /^SQLITE_BUSY/);

export const hasCode = (error: unknown, pattern: RegExp): boolean =>
  error instanceof Error && "code" in error && pattern.test(String(error.code));

/** What the drivers take: they bind a JavaScript number as REAL, and a bigint as INTEGER. */
export function bind({ sql, args = [] }: Statement) {
  const convert = (value: string | number | null) => Number.isInteger(value) ? BigInt(Number(value)) : value;
  if (Array.isArray(args)) return { sql, args: args.map(convert) };
  return { sql, args: Object.fromEntries(Object.entries(args).map(([name, value]) => [name, convert(value)])) };
}
