// A database in a file or in memory, through libsql itself: it is what @libsql/client opens files with, but here statements
// are prepared once, which is half of what a small transaction costs.
import { resolve } from "node:path";
import Libsql from "libsql";
import { createCache } from "../common/cache.ts";
import { filePathOf } from "../common/config.ts";
import { invalid } from "../common/errors.ts";
import { lockTimeout, serialized } from "./connection.ts";
import type { Connection } from "./connection.ts";
import { bind } from "./database.ts";
import type { Database, Purpose, Row, Statement } from "./database.ts";
import { claimFile, uriOf } from "./file-claim.ts";

const mostStatements = 100;

/** Opens a file by its URL, or a database in memory by `:memory:`, on first use. A service opens no file that is not there. */
export function openFile(url: string, purpose: Purpose): Database {
  const path = filePathOf(url);
  // SQLite would take NUL for the end of the path.
  if (path.includes("\0")) throw invalid("The path of the database must not contain NUL");
  return serialized(connect(path === ":memory:" ? "" : resolve(path), purpose), purpose, claimFile);
}

function connect(path: string, purpose: Purpose): Connection {
  let database: Libsql.Database | undefined;
  const statements = createCache<Libsql.Statement>(mostStatements);

  function prepare(sql: string): Libsql.Statement {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = database!.prepare(sql);
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
    findPath: () => path,
    open() {
      const name = path === "" ? ":memory:" : uriOf(path, purpose === "serve" ? "rw" : "rwc");
      database ??= new Libsql(name, { timeout: lockTimeout });
    },
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
        if (database!.inTransaction) run({ sql: "rollback" });
        throw error;
      }
    },
    close() {
      if (database === undefined) return;
      if (database.inTransaction) run({ sql: "rollback" });
      try {
        // While prepared statements live, libsql leaves undone what SQLite does last: taking the log over into the file.
        if (purpose === "serve") run({ sql: "pragma wal_checkpoint(truncate)" });
      } catch {
        // The log stays beside the file, and is read with it.
      }
      statements.clear();
      database.close();
    },
  };
}
