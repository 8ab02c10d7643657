// Files that are written under a name of their own, `….part`, and get theirs once they are whole and on disk.
import { lstat, open, rm } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { conflict, invalid } from "../common/errors.ts";

/** Does something to a file; what goes wrong is said in one sentence. */
export async function onFile<T>(path: string, verb: "read" | "written", work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw invalid(`${path} cannot be ${verb}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Whether there is anything of that name, be it a link that leads nowhere. */
export const exists = (path: string): Promise<boolean> => lstat(path).then(() => true, () => false);

type Part = { part: string; handle: FileHandle };

/** Makes the part of a file, which only its owner may read unless `mode` says otherwise. */
export async function createPart(path: string, mode = 0o600): Promise<Part> {
  const part = `${path}.part`;
  if (await exists(part)) throw conflict(`${part} exists: remove it if nothing is writing to it`);
  // An exclusive open follows no link that someone else has put there.
  return { part, handle: await onFile(path, "written", () => open(part, "wx", mode)) };
}

/** Makes the part of a file that is a database. */
export async function createDatabasePart(path: string): Promise<Part> {
  const created = await createPart(path);
  await removeLogs(created.part);
  return created;
}

/** Removes a part that is a database, and what SQLite has beside it. */
export async function removeDatabasePart(part: string): Promise<void> {
  await rm(part, { force: true });
  await removeLogs(part);
}

/** A log that was left by another file of that name would be taken for this one's. */
async function removeLogs(path: string): Promise<void> {
  for (const suffix of ["-wal", "-shm", "-journal"]) await rm(path + suffix, { force: true });
}

/** Puts what was written to a file, or a file's new name in its folder, on disk. */
async function sync(path: string, flags: "r" | "r+"): Promise<void> {
  const handle = await open(path, flags);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export const syncFile = (path: string) => onFile(path, "written", () => sync(path, "r+"));

/** Not every system syncs folders. */
export const syncFolderOf = (path: string) => sync(dirname(path), "r").catch(() => {});

/** `1.2 GB` */
export function formatBytes(bytes: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${(bytes / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}
