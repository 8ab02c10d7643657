// Reasons why a database file cannot be opened. SQLite reports a missing folder, a folder in its place and another
// owner as error 14.
import { access, constants, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { dirname, resolve } from "node:path";
import process from "node:process";
import { describeDatabase } from "../database/location.ts";
import type { DatabaseLocation } from "../database/location.ts";
import { Refusal, unusable } from "../common/errors.ts";
import { describeError } from "../common/log.ts";
import { fileOf } from "../database/file/source.ts";

/** The error for a configured database that cannot be used. */
export async function unusableDatabase({ url }: DatabaseLocation, error: unknown): Promise<Refusal> {
  const cause = await describeDatabaseError(error, fileOf(url));
  return unusable(`the database ${describeDatabase(url)} (DATABASE_URL) cannot be used: ${cause}`);
}

/** Describes the error of an operation on a database. For a file, the cause may be in the file system. */
export async function describeDatabaseError(error: unknown, path: string | undefined): Promise<string> {
  if (error instanceof Refusal) return error.message;
  return path !== undefined && await findFileFault(path) || describeError(error);
}

const { R_OK, W_OK, X_OK } = constants;

/** Describes the fault of a database's path; undefined if this process may read and write it. */
export async function findFileFault(path: string, check = access): Promise<string | undefined> {
  const isAllowed = (file: string, mode: number) => check(file, mode).then(() => true, () => false);
  const folder = dirname(resolve(path));
  const folderStats = await stat(folder).catch((error: NodeJS.ErrnoException) => error);
  if (folderStats instanceof Error) return describeStatError(folderStats, folder);
  if (!folderStats.isDirectory()) return `${folder} is not a folder`;
  for (const file of [path, `${path}-wal`, `${path}-shm`, `${path}-lock`]) {
    const stats = await stat(file).catch(() => undefined);
    if (stats?.isDirectory()) return `${file} is a folder. Name a file`;
    if (stats !== undefined && !await isAllowed(file, R_OK | W_OK)) return describeOwner(file, stats);
  }
  return await isAllowed(folder, R_OK | W_OK | X_OK) ? undefined : describeOwner(folder, folderStats);
}

function describeStatError({ code, message }: NodeJS.ErrnoException, folder: string): string {
  if (code === "ENOENT") return `the folder ${folder} does not exist. Create it first`;
  if (code === "ENOTDIR") return `a part of ${folder} is not a folder`;
  return `the folder ${folder} cannot be read: ${message}`;
}

const describeOwner = (file: string, { uid, mode }: { uid: number; mode: number }): string =>
  `${file} belongs to ${nameOfUser(uid)} (mode ${
    (mode & 0o777).toString(8).padStart(4, "0")
  }), and this process, which ` +
  `runs as ${nameOfUser(process.getuid?.())}, cannot read and write it`;

function nameOfUser(uid: number | undefined): string {
  if (uid === 0) return "root";
  if (uid !== undefined && uid !== process.getuid?.()) return `uid ${uid}`;
  try {
    return `${userInfo().username} (uid ${uid})`;
  } catch {
    return `uid ${uid}`;
  }
}
