// Files that commands write. A file gets its name once it is complete, and replaces another one only with `force`.
import { link, open, rename, rm, stat } from "node:fs/promises";
import { conflict } from "../common/errors.ts";
import { createPart, exists, onFile, syncFolderOf } from "./atomic-file.ts";
import { pathToWrite } from "./folder.ts";

/**
 * A file that is written as `partPath`, until `finish` gives it its name or `leave` keeps the part. A device or a pipe
 * is written directly.
 */
export type NewFile = {
  partPath: string;
  write(text: string): Promise<true>;
  finish(): Promise<void>;
  leave(): Promise<void>;
};

export async function createNewFile(path: string, { force }: { force: boolean }): Promise<NewFile> {
  const attempt = <T>(work: () => Promise<T>) => onFile(path, "written", work);
  const known = await stat(path).catch(() => undefined);
  if (known !== undefined && !known.isFile()) return openDevice(path);
  if (!force && await exists(path)) throw conflict(`${path} already exists; use --force to replace it`);
  // A link stays, and its target is replaced.
  const target = await pathToWrite(path);
  if (force) await attempt(() => rm(`${target}.part`, { force: true }));
  const { part: partPath, handle: file } = await createPart(target, known && known.mode & 0o777);
  return {
    partPath,
    write: (text) => attempt(() => file.appendFile(text)).then(() => true),
    finish: () =>
      attempt(async () => {
        await file.sync();
        await file.close();
        if (force) await rename(partPath, target);
        else {
          // Unlike a rename, a link never replaces a file that appeared meanwhile.
          await link(partPath, target);
          await rm(partPath);
        }
        await syncFolderOf(target);
      }),
    leave: () => attempt(() => file.close()),
  };
}

/** Writes to a device or a pipe directly. */
async function openDevice(path: string): Promise<NewFile> {
  const attempt = <T>(work: () => Promise<T>) => onFile(path, "written", work);
  const file = await attempt(() => open(path, "w"));
  return {
    partPath: path,
    write: (text) => attempt(() => file.appendFile(text)).then(() => true),
    finish: () => attempt(() => file.close()),
    leave: () => attempt(() => file.close()),
  };
}
