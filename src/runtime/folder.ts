// The files of a folder that belongs to a repository: read, listed and removed.
import { mkdir, readdir, readlink, realpath, rm, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import process from "node:process";
import { invalid } from "../common/errors.ts";
import { onFile } from "./atomic-file.ts";

const maxFiles = 20_000;

/**
 * The paths of the files in a folder and its subfolders, relative to it and with `/`, in order. Links, folders that
 * begin with a dot and node_modules are left out.
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

/** True if a file could be added at this path without conflict, and the folder's listing would include it. */
export function canAdd(files: ReadonlySet<string>, path: string): boolean {
  const folders = path.split("/").slice(0, -1);
  const isInFile = folders.some((_, nth) => files.has(folders.slice(0, nth + 1).join("/")));
  return !folders.some(isLeftOut) && !isInFile && ![...files].some((file) => `${file}/`.startsWith(`${path}/`));
}

/** The path of a file in a folder. */
export const pathIn = (folder: string, path: string): string => folder === "." ? path : join(folder, path);

const maxLinks = 40; // one after the other, as Linux follows

/** Follows the links of a path. For one that does not exist yet, follows those of its folders, and its own. */
async function followLinks(path: string, links = 0): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || links === maxLinks) throw error;
  }
  const parent = dirname(resolve(path));
  const target = await readlink(path).catch(() => undefined);
  if (target !== undefined) return await followLinks(resolve(parent, target), links + 1);
  return parent === resolve(path) ? parent : join(await followLinks(parent, links), basename(path));
}

const isIn = (folder: string, path: string): boolean => {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
};

/** The path of a file from a folder that it is in, with `/`. Outside of it, the path as it is. */
export function pathFromRoot(root: string, path: string): string {
  const own = resolve(path);
  return isIn(root, own) ? relative(root, own).replaceAll("\\", "/") : path;
}

/**
 * The path of a file in a folder with its links followed, which is to be used from then on. Throws if it is not below the folder,
 * whose own links may lead anywhere. `name` names it in messages, in place of its path.
 */
export async function pathBelow(folder: string, path: string, name?: string): Promise<string> {
  const own = isAbsolute(path) ? path : join(folder, path);
  const [root, target] = await onFile(name ?? own, "read", () => Promise.all([followLinks(folder), followLinks(own)]));
  if (isIn(root, target) && isIn(resolve(folder), resolve(own))) return target;
  throw invalid(`${name ?? own} leads out of ${folder}: only files below it are read and written`);
}

/**
 * The path of a file to write that a user names, with its links followed. Links must stay in the current folder, if the
 * path is in it, or else in the folder of the file.
 */
export function pathToWrite(path: string): Promise<string> {
  const current = process.cwd(), own = resolve(path);
  return pathBelow(isIn(current, own) ? current : dirname(own), own);
}

/**
 * The paths of files as names are made of them: from the current folder on, or from its folder `prompts`. Those of files elsewhere
 * begin where they differ.
 */
export function pathsForNames(paths: readonly string[]): Map<string, string> {
  const current = process.cwd(), own = paths.map((path) => resolve(path));
  const outside = own.filter((path) => !isIn(current, path)).map((path) => dirname(path).split(sep));
  const shared = (outside[0] ?? []).findIndex((part, nth) => outside.some((parts) => parts[nth] !== part));
  const root = (shared < 0 ? outside[0] ?? [] : outside[0]!.slice(0, shared)).join(sep) || sep;
  return new Map(paths.map((path, nth) => {
    const name = relative(isIn(current, own[nth]!) ? current : root, own[nth]!).replaceAll("\\", "/");
    return [path, name.replace(/^prompts\//, "")];
  }));
}

/** The last folder of a path and its file, wherever the path begins. */
export const endOfPath = (path: string): string => resolve(path).split(sep).slice(-2).join("/");

/** Makes the folder of a file. */
export async function makeFolderOf(path: string): Promise<void> {
  await onFile(path, "written", () => mkdir(dirname(path), { recursive: true }));
}

export const removeFile = (path: string): Promise<void> => onFile(path, "written", () => rm(path, { force: true }));

/** Determines if a path is a folder, or a link to one. */
export const isFolder = (path: string): Promise<boolean> =>
  stat(path).then((found) => found.isDirectory(), () => false);
