// Operations on a database file as a whole.
import type { Database } from "../database.ts";
import { integer, text } from "../row.ts";

/** The size of the database in bytes, including pages that are only in its write-ahead log. */
export async function sizeOf(database: Database): Promise<number> {
  const sql = "select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()";
  const [row] = await database.read({ sql });
  return integer(row!, "bytes");
}

/** Writes a snapshot of the database to a new or empty file, without syncing it. */
export async function copyTo(database: Database, path: string): Promise<void> {
  await database.read({ sql: "vacuum into ?", args: [path] });
}

/** The first fault that SQLite finds in the structure of the database, if any. */
export async function findDamage(database: Database): Promise<string | undefined> {
  const [row] = await database.read({ sql: "pragma integrity_check(1)" });
  // A line with the name of the database may precede the fault.
  const found = text(row!, "integrity_check").split("\n").at(-1);
  return found === "ok" ? undefined : found;
}

/** Rebuilds all indexes from their tables. */
export async function rebuildIndexes(database: Database): Promise<void> {
  await database.write([{ sql: "reindex" }]);
}

/** Checkpoints the write-ahead log and removes it. Fails as busy if the file is open elsewhere. */
export async function removeLog(database: Database): Promise<void> {
  await database.read({ sql: "pragma journal_mode = delete" });
}

/**
 * Locks the file exclusively until this process ends. Fails as busy if it is open elsewhere. A process that waits for
 * the lock while another file replaces this one cannot add a log to the new file: without an existing log, SQLite
 * checks that the file still has its name before it writes.
 */
export async function lockExclusively(database: Database): Promise<void> {
  await removeLog(database);
  await database.read({ sql: "pragma locking_mode = exclusive" });
  await database.write([]);
}
