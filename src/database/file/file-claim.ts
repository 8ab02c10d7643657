// The claim on a database file: one process serves it at a time, for as long as the file is the one that was opened.
import { chownSync, closeSync, existsSync, openSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { fileFaulty } from "../../common/errors.ts";
import { fileError, hasCode, isBusy, isServed, servedError } from "../database.ts";
import type { Claim } from "../database.ts";
import { loadDriver } from "./driver.ts";
import type { Driver } from "./driver.ts";
import { identify } from "./file-identity.ts";

/**
 * The VFS of the operating system. libSQL's default, of SQLite3 Multiple Ciphers, reports success when a read fails.
 * Then queries return wrong rows, checkpoints write wrong pages, and recovery drops commits. SQLite refuses a VFS that
 * it does not have, so it never falls back to that default.
 */
const vfs = process.platform === "win32" ? "win32" : "unix";

/**
 * The URI by which SQLite opens a file. Without `rwc` the file must exist. `ro` never checkpoints, not even on close.
 */
export const uriOf = (path: string, mode: "ro" | "rw" | "rwc"): string =>
  `${pathToFileURL(path).href}?vfs=${vfs}&mode=${mode}`;

/** Creates an empty file that only its owner may read, unless the file exists. Returns true if it did. */
export function createFile(path: string, mode = 0o600): boolean {
  try {
    // Closing a descriptor frees the locks that this process has on the file, so an existing file must not be opened.
    closeSync(openSync(path, "wx", mode));
    return true;
  } catch (error) {
    if (hasCode(error, /^EEXIST$/)) return false;
    throw error;
  }
}

type ClaimedFile = Claim & { holders: number };

// Shared by all copies of this module in a thread, as a development server makes by reloading. Connections of one
// thread never run at the same time, so they cannot harm each other.
const registryKey = Symbol.for("promptledger.claimed-files");
const claimed: Map<string, ClaimedFile> = Reflect.get(globalThis, registryKey) ?? new Map();
Reflect.set(globalThis, registryKey, claimed);

/** Claims an existing file. Throws an error of `isServed` while another process has claimed it. */
export async function claimFile(path: string): Promise<Claim> {
  // Nothing is awaited from here on, so that no other claim comes in between.
  const driver = await loadDriver(), name = resolveLinks(path);
  const file = claimed.get(name) ?? claim(path, name, driver);
  file.holders++;
  return file;
}

const claimInterval = 100; // ms between two attempts

/**
 * Makes an attempt at a file that must not be served, such as `claimFile`. Waits up to `timeout` ms for another process
 * that serves it to stop, and calls `notify` before it waits. Throws if that process keeps serving. Returns undefined
 * if the attempt fails for another reason, which opening the file reports.
 */
export async function whileServed<T>(
  attempt: () => Promise<T>,
  timeout: number,
  notify: (notice: string) => unknown,
): Promise<T | undefined> {
  const deadline = performance.now() + timeout;
  for (let isFirst = true;; isFirst = false) {
    try {
      return await attempt();
    } catch (error) {
      if (!isServed(error)) return undefined;
      if (performance.now() > deadline) throw Object.assign(fileFaulty(error.message), { cause: error.cause });
    }
    if (isFirst) await notify("Waiting for the process that serves this database to stop");
    await new Promise((resolve) => setTimeout(resolve, claimInterval));
  }
}

/**
 * Throws an error of `isServed` if another process has claimed an existing file. Creates nothing, and does not open the
 * file: closing it again would free the locks of this process's connections to it.
 */
export async function requireUnserved(path: string): Promise<void> {
  const driver = await loadDriver(), name = resolveLinks(path);
  if (!claimed.has(name) && existsSync(`${name}-lock`)) lockWith(driver, path, `${name}-lock`, statSync(name))();
}

/** Follows the links of a path. */
function resolveLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (!hasCode(error, /^ENOENT$/)) throw error;
    const folder = dirname(path);
    throw fileError(
      existsSync(folder)
        ? "The database file does not exist"
        : `The folder ${folder} of the database file does not exist. Create it first`,
    );
  }
}

function claim(path: string, name: string, driver: Driver): ClaimedFile {
  const { forget, ...identity } = identify(path, name);
  let unlock: () => void;
  try {
    unlock = lockWith(driver, path, `${name}-lock`, statSync(name));
  } catch (error) {
    forget(Promise.resolve());
    throw error;
  }
  const gone: Promise<void>[] = [];
  const file: ClaimedFile = {
    ...identity,
    holders: 0,
    release(connection = Promise.resolve()) {
      gone.push(connection);
      file.holders--;
      if (file.holders > 0) return;
      claimed.delete(name);
      forget(Promise.all(gone).then(() => {}));
      unlock();
    },
  };
  claimed.set(name, file);
  return file;
}

type Owner = { mode: number; uid: number; gid: number };

/**
 * Locks an empty SQLite database beside the file at `path`. The operating system frees that lock however this process
 * ends. Throws an error of `isServed` if another process has it.
 */
export const lock = async (path: string, name: string, owner: Owner): Promise<() => void> =>
  lockWith(await loadDriver(), path, name, owner);

function lockWith(Driver: Driver, path: string, name: string, { mode, uid, gid }: Owner): () => void {
  if (createFile(name, mode & 0o777) && process.getuid?.() === 0) chownSync(name, uid, gid);
  const database = new Driver(uriOf(name, "rw"), { timeout: 0 });
  try {
    database.exec("pragma locking_mode = exclusive");
    database.exec("pragma journal_mode = off");
    database.exec("begin exclusive");
    database.exec("commit");
  } catch (error) {
    database.close();
    throw isBusy(error) ? servedError(path, error) : error;
  }
  return () => database.close();
}
