// Backups in a folder, such as a mounted folder of another machine.
import { constants } from "node:fs";
import { lstat, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { conflict, invalid } from "../../common/errors.ts";
import { createPart, exists, onFile, syncFolderOf } from "../atomic-file.ts";
import { guardReserve } from "../disk-reserve.ts";
import { timeOf } from "./backup-names.ts";
import { listBackups, markName } from "./backup-place.ts";
import type { Place } from "./backup-place.ts";

const suffix = ".part"; // of a backup that is not complete

// Blocks links planted by others who may write to the folder. Windows does not have the flag.
const readOnly = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0);

function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}

/**
 * The folder must exist: creating it where a disk is not mounted would keep backups on this machine. `setting` is the
 * name of the setting that contains it.
 */
export function openFolderPlace(folder: string, setting: string): Place {
  const pathOf = (name: string) => join(folder, name);

  async function readNames(): Promise<string[]> {
    try {
      return await readdir(folder);
    } catch (error) {
      const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
      throw invalid(
        isMissing
          ? `The folder ${folder} (${setting}) does not exist`
          : `The folder ${folder} (${setting}) cannot be read: ${(error as Error).message}`,
      );
    }
  }

  const markPath = pathOf(markName);

  return {
    name: folder,
    async list() {
      const names = (await readNames()).filter((name) => timeOf(name) !== undefined);
      const files = names.map(async (name) => {
        // Another process may have removed it meanwhile.
        const found = await onFile(pathOf(name), "read", () => lstat(pathOf(name)).catch(ignoreMissing));
        return found?.isFile() === true ? [{ name, bytes: found.size }] : [];
      });
      return listBackups((await Promise.all(files)).flat());
    },
    async tidy() {
      for (const part of await readNames()) {
        if (!part.endsWith(suffix) || timeOf(part.slice(0, -suffix.length)) === undefined) continue;
        const found = await lstat(pathOf(part)).catch(ignoreMissing);
        if (found?.isFile() === true) await onFile(pathOf(part), "written", () => rm(pathOf(part), { force: true }));
      }
    },
    async put(name, content) {
      const path = pathOf(name);
      if (await exists(path)) throw conflict(`${path} already exists`);
      const { part, handle } = await createPart(path);
      try {
        let bytes = 0;
        const guard = guardReserve(folder);
        try {
          for await (const chunk of content) {
            await guard(chunk.length);
            await onFile(path, "written", () => handle.appendFile(chunk));
            bytes += chunk.length;
          }
          await onFile(path, "written", () => handle.sync());
        } finally {
          await handle.close();
        }
        // Not a link, which backups of commands use: mounted folders may not support links. No two backups have the
        // same time.
        await onFile(path, "written", () => rename(part, path));
        await syncFolderOf(path);
        return bytes;
      } finally {
        await rm(part, { force: true });
      }
    },
    async *get(name) {
      const file = await onFile(pathOf(name), "read", () => open(pathOf(name), readOnly));
      yield* file.createReadStream();
    },
    remove: (name) => onFile(pathOf(name), "written", () => rm(pathOf(name), { force: true })),
    async readMark() {
      const file = await onFile(markPath, "read", () => open(markPath, readOnly).catch(ignoreMissing));
      if (file === undefined) return undefined;
      // An older version may have been killed while it wrote an empty file.
      const text = await onFile(markPath, "read", () => file.readFile("utf8")).finally(() => file.close());
      return text.trim() || undefined;
    },
    async writeMark(owner) {
      // A killed process may have left one.
      await rm(`${markPath}${suffix}`, { force: true });
      const { part, handle } = await createPart(markPath);
      try {
        await onFile(markPath, "written", () => handle.writeFile(`${owner}\n`)).finally(() => handle.close());
        await onFile(markPath, "written", () => rename(part, markPath));
      } finally {
        await rm(part, { force: true });
      }
    },
  };
}
