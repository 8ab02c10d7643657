// Opens any database, including files, which not every runtime has.
import { existsSync } from "node:fs";
import process from "node:process";
import { filePathOf, isFileUrl } from "../common/config.ts";
import { conflict } from "../common/errors.ts";
import { openRemote } from "./client.ts";
import type { Client, DatabaseSource } from "./client.ts";
import { serialized } from "./connection.ts";
import type { Database, Purpose } from "./database.ts";
import { openFile } from "./file.ts";
import { claimFile, createFile } from "./file-claim.ts";
import { isMigrated, migrate, requireMigrated } from "./migrate.ts";
import type { MigrateOptions } from "./migrate.ts";
import { migrations } from "./migrations.ts";
import { sendOnNode } from "./node-send.ts";
import { text } from "./row.ts";

/** Opens a database lazily: nothing is opened or sent before the first operation. */
export function openDatabase(source: DatabaseSource, purpose: Purpose = "manage"): Database {
  const url = urlOf(source);
  return isFileUrl(url) || url === ":memory:"
    ? openFile(url, purpose)
    : openRemote(source, purpose, openFileClient, send);
}

const isNode = process.versions.bun === undefined && process.versions.deno === undefined;
const send = isNode ? sendOnNode : undefined;

/** The file of an embedder's client, which runs one operation at a time and is claimed like any other file. */
function openFileClient(client: Client, database: Database, purpose: Purpose): Database {
  const connection = {
    ...database,
    async findPath() {
      const [main] = await database.read({ sql: "select file from pragma_database_list where name = 'main'" });
      return text(main!, "file");
    },
    // After a busy error the client leaves a statement open on its connection, and later commits fail there.
    reopen: () => Promise.resolve(client.reconnect()),
  };
  return serialized(connection, purpose, claimFile);
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
  const database = openDatabase(source, purpose);
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
  const database = openDatabase(source, purpose);
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

/** The path of the file of a database; undefined if it is on a server, in memory or a client of the caller. */
export function fileOf(source: DatabaseSource): string | undefined {
  const url = urlOf(source);
  const path = isFileUrl(url) ? filePathOf(url) : ":memory:";
  return path === ":memory:" ? undefined : path;
}

const urlOf = (source: DatabaseSource): string =>
  typeof source === "string" ? source : "url" in source ? source.url : "";
