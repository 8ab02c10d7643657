// A database in a file or in memory, through libsql, which @libsql/client uses for files too. Here statements are
// prepared once, which halves the cost of a small transaction.
import { resolve } from "node:path";
import { createCache } from "../../common/cache.ts";
import { filePathOf } from "../location.ts";
import { invalid } from "../../common/errors.ts";
import { busyTimeoutMs, serialized } from "./connection.ts";
import type { Connection } from "./connection.ts";
import { bind, closedError, hasCode } from "../database.ts";
import type { Database, Purpose, Row, Statement } from "../database.ts";
import { loadDriver } from "./driver.ts";
import type { NativeDatabase, NativeStatement } from "./driver.ts";
import { claimFile, uriOf } from "./file-claim.ts";
import { collected } from "./held-files.ts";
import { asBytes, isQuery, readTexts } from "./stored-text.ts";
import { createThread } from "./thread.ts";

const maxPrepared = 300; // statements, of which a workspace in daily use needs half

/** The URL of a path in settings: without a slash before a Windows drive, unlike that of `pathToFileURL`. */
export const fileUrlOf = (path: string): string => `file:${path.replace(/[%?#]/g, encodeURIComponent)}`;

/**
 * Opens the file of a URL, or a database in memory for `:memory:`, on first use. A service requires that the file
 * exists.
 */
export function openFile(url: string, purpose: Purpose): Database {
  const path = filePathOf(url);
  // SQLite would end the path at NUL.
  if (path.includes("\0")) throw invalid("The path of the database must not contain NUL");
  const file = path === ":memory:" ? "" : resolve(path);
  const thread = purpose === "serve" && file !== "" ? createThread(file) : undefined;
  return serialized(connect(file, purpose), purpose, claimFile, { thread });
}

const modes = { serve: "rw", manage: "rwc", read: "ro" } as const;

/** Creates the connection to a file, or to a database in memory for an empty path. `read` is for a reader thread. */
export function connect(path: string, purpose: keyof typeof modes): Connection {
  let database: NativeDatabase | undefined;
  const statements = createCache<NativeStatement>(maxPrepared);
  let gone = Promise.resolve(), isClosed = false;

  function prepare(sql: string): NativeStatement {
    const given = database!.prepare(sql);
    const statement = isQuery(sql) && given.reader ? database!.prepare(asBytes(sql, given.columns())) : given;
    statements.set(sql, statement, 1);
    return statement;
  }

  function run(statement: Statement): Row[] {
    const { sql, args } = bind(statement);
    const execute = (prepared: NativeStatement): Row[] => {
      if (prepared.reader) return readTexts(prepared.all(args) as Record<string, unknown>[], statement.onDamage);
      prepared.run(args);
      return [];
    };
    try {
      return execute(statements.get(sql) ?? prepare(sql));
    } catch (error) {
      // The columns of a prepared query are fixed. Another connection may have changed the table since.
      if (!isQuery(sql) || !hasCode(error, /^SQLITE_ERROR$/)) throw error;
      return execute(prepare(sql));
    }
  }

  return {
    findPath: () => path,
    async open() {
      const name = path === "" ? ":memory:" : uriOf(path, modes[purpose]);
      if (database !== undefined) return;
      const Driver = await loadDriver();
      if (isClosed) throw closedError();
      database = new Driver(name, { timeout: busyTimeoutMs });
      // Without this, a sync on macOS leaves its data in the cache of the disk. Elsewhere it has no effect.
      database.exec("pragma fullfsync = on");
      // A statement keeps SQLite's closed connection alive. Both become garbage together.
      gone = collected(database);
    },
    // deno-lint-ignore require-await -- makes what libsql throws a rejection
    read: async (statement) => run(statement),
    // deno-lint-ignore require-await
    write: async (statements) => {
      // A busy error leaves its statement open, and commits fail until that runs again. This one runs before every
      // commit.
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
      isClosed = true;
      if (database === undefined) return;
      if (database.inTransaction) run({ sql: "rollback" });
      try {
        // With prepared statements alive, libsql skips the checkpoint that SQLite does on close.
        if (purpose === "serve") run({ sql: "pragma wal_checkpoint(truncate)" });
      } catch {
        // The log stays beside the file, and the next process reads it.
      }
      statements.clear();
      database.close();
      database = undefined;
    },
    gone: () => gone,
  };
}
