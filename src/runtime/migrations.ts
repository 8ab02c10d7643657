// The migrations of sql/, read from the package's own files, and databases that have them; for runtimes that have a file
// system.
import { closeSync, existsSync, openSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { conflict } from "../errors.ts";
import type { DatabaseSource } from "../store/client.ts";
import type { Database, Purpose } from "../store/database.ts";
import { migrate as migrateDatabase, requireMigrated } from "../store/migrate.ts";
import type { Migration } from "../store/migrate.ts";
import { fileOf, openDatabase } from "../store/open.ts";

const folder = new URL("../../sql/", import.meta.url);

/** All migrations, in order. */
export async function readMigrations(): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => /^\d{3}-.+\.sql$/.test(file)).sort();
  return Promise.all(files.map(async (file) => ({
    name: file.replace(/\.sql$/, ""),
    sql: await readFile(new URL(file, folder), "utf8"),
  })));
}

/** Prepares a database for a service that is embedded elsewhere; gives the names of the migrations it applied. */
export async function migrate(source: DatabaseSource): Promise<string[]> {
  const { database, applied } = await openUpToDate(source, "manage");
  database.close();
  return applied;
}

/** Opens a database, which is made where there is none, and brings its schema up to date, or refuses one that is not. */
export async function openUpToDate(
  source: DatabaseSource,
  purpose: Purpose,
  migrates = true,
): Promise<{ database: Database; applied: string[] }> {
  const path = fileOf(source);
  if (path !== undefined) {
    if (migrates) createPrivately(path);
    else if (!existsSync(path)) throw conflict("it does not exist: run promptledger migrate");
  }
  const database = openDatabase(source, purpose);
  try {
    const migrations = await readMigrations();
    if (!migrates) await requireMigrated(database, migrations);
    return { database, applied: migrates ? await migrateDatabase(database, migrations, Date.now()) : [] };
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Makes an empty file, where there is none, that only its owner may read: SQLite would let all. Its log gets the same mode.
 * Closing a file frees the locks that this process has on it, so that one which is there is not opened, and nothing else
 * gets a turn in between.
 */
function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch {
    // It is there, or opening it as a database says why it cannot be.
  }
}
