// Backs up a database file while a service serves it.
import { link, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { describeDatabase } from "../../database/location.ts";
import type { DatabaseLocation } from "../../database/location.ts";
import { conflict, invalid, unusable } from "../../common/errors.ts";
import { clearStamp } from "../../database/file/file-identity.ts";
import { isMigrated } from "../../database/migrate.ts";
import { openFile } from "../../database/file/file.ts";
import { fileOf } from "../../database/file/source.ts";
import { copyTo, sizeOf } from "../../database/file/maintenance.ts";
import { describeDatabaseError } from "../file-fault.ts";
import {
  createDatabasePart,
  exists,
  formatBytes,
  onFile,
  removeDatabasePart,
  syncFile,
  syncFolderOf,
} from "../atomic-file.ts";
import type { Terminal } from "../terminal.ts";

type Backup = { file: string; bytes: number; createdAt: number };

/** Copies the database in its current state to a new file, with any schema. */
export async function backUp(location: DatabaseLocation, file: string, { say }: Terminal): Promise<Backup> {
  const path = databaseFileOf(location);
  if (!await exists(path)) {
    throw invalid(`The database ${describeDatabase(location.url)} (DATABASE_URL) does not exist`);
  }
  if (await exists(file)) throw conflict(`${file} already exists; choose a new file name`);
  const { part, handle } = await createDatabasePart(file);
  try {
    await handle.close();
    const createdAt = await copy(location, file, part, say);
    await syncFile(part);
    const { size: bytes } = await stat(part);
    // Unlike a rename, a link never replaces a file that appeared meanwhile.
    await onFile(file, "written", () => link(part, file));
    await syncFolderOf(file);
    return { file, bytes, createdAt };
  } finally {
    await removeDatabasePart(part);
  }
}

/** Copies the database to the part. Returns the time of the copied state. */
async function copy(location: DatabaseLocation, file: string, part: string, say: Terminal["say"]): Promise<number> {
  const database = openFile(location.url, "manage");
  try {
    if (!await isMigrated(database)) throw conflict("it is not a promptledger database");
    say(`Copying ${formatBytes(await sizeOf(database))} …\n`);
    const createdAt = Date.now();
    await copyTo(database, resolve(part));
    clearStamp(part);
    return createdAt;
  } catch (error) {
    const cause = await describeDatabaseError(error, fileOf(location));
    throw unusable(`The database ${describeDatabase(location.url)} cannot be copied to ${file}: ${cause}`);
  } finally {
    database.close();
  }
}

/** The path of a database file. Throws if the database is on a server. */
export function databaseFileOf(location: DatabaseLocation): string {
  const path = fileOf(location);
  if (path !== undefined) return path;
  throw conflict(`The database ${describeDatabase(location.url)} is on a server. Use the backups of that server`);
}
