// The files of a folder that belongs to a repository: read, listed and removed.
import { lstat, mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { invalid } from "../common/errors.ts";
import { onFile } from "./atomic-file.ts";

const maxFiles = 20_000;

/**
 * The paths of the files in a folder and those below it, relative to it and with `/`, in order. Links, folders that begin with
 * a dot and node_modules are left out.
 */
export async function listFiles(folder: string): Promise<string[]> {
  const found: string[] = [];
  const visit = async (path: string): Promise<void> => {
    const entries = await onFile(path, "read", () => readdir(path, { withFileTypes: true }));
    for (const entry of entries) {
      const own = join(path, entry.name);
      if (entry.isFile()) found.push(relative(folder, own).replaceAll("\\", "/"));
      else if (entry.isDirectory() && !isLeftOut(entry.name)) await visit(own);
      if (found.length > maxFiles) {
        throw invalid(`${folder} has more than ${maxFiles} files. Name the folder of the prompts`);
      }
    }
  };
  await visit(folder);
  return found.sort();
}

const isLeftOut = (folder: string): boolean => /^\.|^node_modules$/.test(folder);

/** Whether a folder that lists these files would list one more of this path, beside all of them. */
export function canAdd(files: ReadonlySet<string>, path: string): boolean {
  const folders = path.split("/").slice(0, -1);
  const isInFile = folders.some((_, nth) => files.has(folders.slice(0, nth + 1).join("/")));
  return !folders.some(isLeftOut) && !isInFile && ![...files].some((file) => `${file}/`.startsWith(`${path}/`));
}

/** The path of a file in a folder. */
export const pathIn = (folder: string, path: string): string => folder === "." ? path : join(folder, path);

/** Makes the folder of a file. */
export async function makeFolderOf(path: string): Promise<void> {
  await onFile(path, "written", () => mkdir(dirname(path), { recursive: true }));
}

export const removeFile = (path: string): Promise<void> => onFile(path, "written", () => rm(path, { force: true }));

/** Whether a path is a folder. */
export const isFolder = (path: string): Promise<boolean> =>
  lstat(path).then((found) => found.isDirectory(), () => false);
