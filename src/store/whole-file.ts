// What is done with a database file as a whole.
import type { Database } from "./database.ts";
import { integer } from "./row.ts";

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
