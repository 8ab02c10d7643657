// What is done with a database file as a whole.
import type { Database } from "./database.ts";
import { integer, text } from "./row.ts";

/** The size of the database in bytes, with what still stands in its write-ahead log. */
export async function sizeOf(database: Database): Promise<number> {
  const sql = "select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()";
  const [row] = await database.read({ sql });
  return integer(row!, "bytes");
}

/** Writes the database as it is at this moment to a file that is empty or not there, and does not sync it. */
export async function copyTo(database: Database, path: string): Promise<void> {
  await database.read({ sql: "vacuum into ?", args: [path] });
}

/** What SQLite finds wrong with the structure of the database, if anything. */
export async function findDamage(database: Database): Promise<string | undefined> {
  const [row] = await database.read({ sql: "pragma integrity_check(1)" });
  // Before what is found in a page stands a line with the database's name.
  const found = text(row!, "integrity_check").split("\n").at(-1);
  return found === "ok" ? undefined : found;
}

/** Takes the write-ahead log over into the file and does without it; fails as busy where anyone else has the file open. */
export async function removeLog(database: Database): Promise<void> {
  await database.read({ sql: "pragma journal_mode = delete" });
}

/**
 * Keeps everyone else out of the file, from now on until this process ends; fails as busy where anyone is in. Whoever waits
 * for it while another file takes its place cannot write a log, which that one would be read with: where there is none yet,
 * SQLite looks whether a file is still the one of that name before it writes.
 */
export async function keepAlone(database: Database): Promise<void> {
  await removeLog(database);
  await database.read({ sql: "pragma locking_mode = exclusive" });
  await database.write([]);
}
