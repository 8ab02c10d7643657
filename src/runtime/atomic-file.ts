// Atomic files: written as `….part`, and renamed once they are complete and on disk.
import { lstat, open, rm } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { conflict, invalid, Refusal } from "../common/errors.ts";

/** Runs `work` on a file. An error becomes one sentence that names the file. */
export async function onFile<T>(path: string, verb: "read" | "written", work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw invalid(`${path} cannot be ${verb}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** True if the name is taken, even by a dangling link. */
export const exists = (path: string): Promise<boolean> => lstat(path).then(() => true, () => false);

type Part = { part: string; handle: FileHandle };

/** Creates the `….part` of a file. By default only its owner may read it. */
export async function createPart(path: string, mode = 0o600): Promise<Part> {
  const part = `${path}.part`;
  if (await exists(part)) throw conflict(`${part} already exists; remove it if nothing is writing to it`);
  // An exclusive open does not follow a link that someone else has planted.
  return { part, handle: await onFile(path, "written", () => open(part, "wx", mode)) };
}

/** Creates the `….part` of a database file. */
export async function createDatabasePart(path: string): Promise<Part> {
  const created = await createPart(path);
  await removeLogs(created.part);
  return created;
}

/** Removes the `….part` of a database file, the part of that part, and their SQLite logs. */
export async function removeDatabasePart(part: string): Promise<void> {
  for (const path of [`${part}.part`, part]) {
    await rm(path, { force: true });
    await removeLogs(path);
  }
}

/** SQLite would apply a log that is left over from another file of that name. */
async function removeLogs(path: string): Promise<void> {
  for (const suffix of ["-wal", "-shm", "-journal"]) await rm(path + suffix, { force: true });
}

/** Syncs a file, or a folder with the names in it, to disk. */
async function sync(path: string, flags: "r" | "r+"): Promise<void> {
  const handle = await open(path, flags);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export const syncFile = (path: string) => onFile(path, "written", () => sync(path, "r+"));

/** Errors are ignored, because not every system can sync folders. */
export const syncFolderOf = (path: string) => sync(dirname(path), "r").catch(() => {});

/** `1.2 GB` */
export function formatBytes(bytes: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${(bytes / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}
