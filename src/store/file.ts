// A database in a file or in memory, through libsql itself, of which this is the only importer: it is what @libsql/client
// opens files with, but here statements are prepared once, which is half of what a small transaction costs.
import Libsql from "libsql";
import { createCache } from "../cache.ts";
import { filePathOf } from "../config.ts";
import { invalid } from "../errors.ts";
import { inTurn, lockTimeout } from "./connection.ts";
import type { Connection } from "./connection.ts";
import { bind } from "./database.ts";
import type { Database, Purpose, Row, Statement } from "./database.ts";

const mostStatements = 100;

/** Opens a file by its URL, or a database in memory by `:memory:`. */
export function openFile(url: string, purpose: Purpose = "serve"): Database {
  const path = filePathOf(url);
  // SQLite would take NUL for the end of the path.
  if (path.includes("\0")) throw invalid("The path of the database must not contain NUL");
  return inTurn(connect(path === ":memory:" ? path : uriOf(path), purpose), purpose);
}

let vfs: string | undefined;

/**
 * Makes a URI that names the VFS of the operating system. libSQL's default VFS, of SQLite3 Multiple Ciphers, reports success
 * when a read fails: then queries return wrong rows, checkpoints write wrong pages, and recovery drops commits. It cannot
 * slip in here, since SQLite refuses a VFS that it does not have.
 */
function uriOf(path: string): string {
  vfs ??= findVfs();
  const encoded = encodeURI(path.toWellFormed()).replace(/[?#]/g, encodeURIComponent);
  return `file:${path.startsWith("/") ? `//${encoded}` : `./${encoded}`}?vfs=${vfs}`;
}

/** Finds out which system's VFS this SQLite has, without a file. */
function findVfs(): string {
  for (const name of ["unix", "win32"]) {
    try {
      new Libsql(`file::memory:?vfs=${name}`).close();
      return name;
    } catch {
      // It is the other one.
    }
  }
  throw new Error("This SQLite has neither the VFS unix nor win32");
}

function connect(path: string, purpose: Purpose): Connection {
  const database = new Libsql(path, { timeout: lockTimeout });
  const statements = createCache<Libsql.Statement>(mostStatements);

  function prepare(sql: string): Libsql.Statement {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = database.prepare(sql);
    statements.set(sql, statement, 1);
    return statement;
  }

  function run(statement: Statement): Row[] {
    const { sql, args } = bind(statement);
    const prepared = prepare(sql);
    if (prepared.reader) return prepared.all(args) as Row[];
    prepared.run(args);
    return [];
  }

  return {
    // deno-lint-ignore require-await -- what libsql throws must be a rejection
    read: async (statement) => run(statement),
    // deno-lint-ignore require-await
    write: async (statements) => {
      // A busy error leaves a statement open, and commits fail until it is run again: this one always is.
      run({ sql: "begin immediate" });
      try {
        const results = statements.map(run);
        run({ sql: "commit" });
        return results;
      } catch (error) {
        if (database.inTransaction) run({ sql: "rollback" });
        throw error;
      }
    },
    close() {
      if (!database.open) return;
      if (database.inTransaction) run({ sql: "rollback" });
      try {
        // While prepared statements live, libsql leaves undone what SQLite does last: taking the log over into the file.
        if (purpose === "serve") run({ sql: "pragma wal_checkpoint(truncate)" });
      } catch {
        // The log stays beside the file, and is read with it.
      }
      database.close();
    },
  };
}
