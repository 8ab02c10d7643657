// Opens a database and migrates it, or checks that it is migrated.
import { existsSync } from "node:fs";
import { conflict } from "../common/errors.ts";
import type { DatabaseSource } from "./client.ts";
import type { Database, Purpose } from "./database.ts";
import { openFile } from "./file.ts";
import { createFile } from "./file-claim.ts";
import { isMigrated, migrate, requireMigrated } from "./migrate.ts";
import type { MigrateOptions } from "./migrate.ts";
import { migrations } from "./migrations.ts";
import { fileOf, isLocal, urlOf } from "./source.ts";

/** Opens a database as `openDatabase` does, but loads the client of servers only for a server. That client takes 10 MB. */
export async function openWithDriver(source: DatabaseSource, purpose: Purpose): Promise<Database> {
  if (isLocal(source)) return openFile(urlOf(source), purpose);
  const { openDatabase } = await import("./open.ts");
  return openDatabase(source, purpose);
}

export type OpenOptions = MigrateOptions & { onEmpty?: "create" | "refuse" };

/**
 * Opens a database, applies the migrations that it lacks, and returns their names. Creates a database that does not exist
 * or is empty, unless the options forbid that.
 */
export async function openMigrated(
  source: DatabaseSource,
  purpose: Purpose,
  { onEmpty = "create", ...options }: OpenOptions = {},
): Promise<{ database: Database; applied: string[] }> {
  const path = fileOf(source);
  if (path !== undefined && onEmpty === "create") makeFile(path);
  const database = await openWithDriver(source, purpose);
  const applied = await closeOnError(database, async () => {
    if (onEmpty === "refuse" && !await isMigrated(database)) {
      throw conflict("it is empty. workspace create and migrate set it up");
    }
    return await migrate(database, migrations, Date.now(), options);
  });
  return { database, applied };
}

/** Opens a database that exists and lacks no migration, and refuses any other. */
export async function openChecked(source: DatabaseSource, purpose: Purpose): Promise<Database> {
  const path = fileOf(source);
  if (path !== undefined && !existsSync(path)) throw conflict("it does not exist: run promptledger migrate");
  const database = await openWithDriver(source, purpose);
  await closeOnError(database, () => requireMigrated(database, migrations));
  return database;
}

async function closeOnError<T>(database: Database, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Creates the file unless it exists. SQLite would create it readable for everyone. */
export function makeFile(path: string): void {
  try {
    createFile(path);
  } catch {
    // Opening it as a database then fails with the reason.
  }
}
