// The migrations of sql/, read from the package's own files; for runtimes that have a file system.
import { readdir, readFile } from "node:fs/promises";
import { openDatabase } from "../store/open.ts";
import type { DatabaseSource } from "../store/client.ts";
import { migrate as migrateDatabase } from "../store/migrate.ts";
import type { Migration } from "../store/migrate.ts";

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
  const database = openDatabase(source, "manage");
  try {
    return await migrateDatabase(database, await readMigrations(), Date.now());
  } finally {
    database.close();
  }
}
