// Opens a database with an up-to-date schema.
import { existsSync } from "node:fs";
import { conflict } from "../../common/errors.ts";
import type { DatabaseSource } from "../client.ts";
import { isServed } from "../database.ts";
import type { Claim, Database, Purpose } from "../database.ts";
import { openFile } from "./file.ts";
import { claimFile, createFile } from "./file-claim.ts";
import { isMigrated, listMissing, migrate, requireMigrated } from "../migrate.ts";
import type { MigrateOptions } from "../migrate.ts";
import { migrations } from "../migrations.ts";
import { fileOf, isLocal, urlOf } from "./source.ts";

/**
 * Opens a database as `openDatabase` does, but loads the client of servers only for a server. That client takes 10 MB.
 */
export async function openWithDriver(source: DatabaseSource, purpose: Purpose): Promise<Database> {
  if (isLocal(source)) return openFile(urlOf(source), purpose);
  const { openDatabase } = await import("./open.ts");
  return openDatabase(source, purpose);
}

/** Handling of a schema: `create` makes one in an empty database, `migrate` also updates an outdated one. */
export type SchemaPolicy = "check" | "create" | "migrate";

export type OpenOptions = MigrateOptions & { schema?: SchemaPolicy | undefined };

/**
 * Opens a database whose schema is up to date, and returns the names of the migrations that were applied to it. Throws
 * if `schema` does not allow the missing ones. Unless `schema` is `check`, creates a file that does not exist.
 */
export async function openMigrated(
  source: DatabaseSource,
  purpose: Purpose,
  { schema = "migrate", ...options }: OpenOptions = {},
): Promise<{ database: Database; applied: string[] }> {
  const path = fileOf(source);
  if (path !== undefined && schema !== "check") makeFile(path);
  else if (path !== undefined && !existsSync(path)) throw conflict("it does not exist: run promptledger migrate");
  const database = await openWithDriver(source, purpose);
  const applied = await closeOnError(database, async () => {
    const isNew = !await isMigrated(database);
    if (schema === "check" || schema === "create" && !isNew) {
      await requireMigrated(database, migrations, { path });
      return [];
    }
    const claim = path === undefined || isNew ? undefined : await claimOutdated(database, path, options);
    try {
      return await migrate(database, migrations, Date.now(), { ...options, path });
    } finally {
      claim?.release();
    }
  });
  return { database, applied };
}

/** Claims a file with missing migrations. A service in another process might not work with them. */
async function claimOutdated(database: Database, path: string, options: MigrateOptions): Promise<Claim | undefined> {
  if ((await listMissing(database, migrations, options)).length === 0) return undefined;
  try {
    return await claimFile(path);
  } catch (error) {
    if (!isServed(error)) throw error;
    throw conflict("Another process serves the database, and may not work with a newer schema: stop it first");
  }
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
