// The claim on a database file: one process serves it at a time, and only for as long as it is the file that was opened.
import { chownSync, closeSync, openSync, realpathSync, statSync } from "node:fs";
import process from "node:process";
import { pathToFileURL } from "node:url";
import Libsql from "libsql";
import { fileError, hasCode } from "./database.ts";
import type { Claim } from "./database.ts";
import { identify } from "./file-identity.ts";

/**
 * The VFS of the operating system. libSQL's default, of SQLite3 Multiple Ciphers, reports success when a read fails: then
 * queries return wrong rows, checkpoints write wrong pages, and recovery drops commits. It cannot slip in, since SQLite
 * refuses a VFS that it does not have.
 */
const vfs = process.platform === "win32" ? "win32" : "unix";

/** The URI by which SQLite opens a file, with `rw` one that exists. */
export const uriOf = (path: string, mode: "rw" | "rwc"): string =>
  `${pathToFileURL(path).href}?vfs=${vfs}&mode=${mode}`;

/** Makes an empty file that only its owner may read, unless there is one; gives whether it did. */
export function createFile(path: string, mode = 0o600): boolean {
  try {
    // Closing a descriptor frees the locks that this process has on the file, so one that exists is not opened.
    closeSync(openSync(path, "wx", mode));
    return true;
  } catch (error) {
    if (hasCode(error, /^EEXIST$/)) return false;
    throw error;
  }
}

type ClaimedFile = Claim & { holders: number };

// Shared by all copies of this module in the thread, such as those of a development server that reloads it: connections of
// one thread never run at the same time, and so cannot harm each other.
const registryKey = Symbol.for("promptledger.claimed-files");
const claimed: Map<string, ClaimedFile> = Reflect.get(globalThis, registryKey) ?? new Map();
Reflect.set(globalThis, registryKey, claimed);

/** Claims a file that exists. Throws with the code SQLITE_BUSY while another process has claimed it. */
export function claimFile(path: string): Claim {
  const name = findFile(path);
  const file = claimed.get(name) ?? claim(path, name);
  file.holders++;
  return file;
}

/** The file that a path leads to. */
function findFile(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (!hasCode(error, /^ENOENT$/)) throw error;
    throw fileError("The database file does not exist");
  }
}

function claim(path: string, name: string): ClaimedFile {
  const { forget, ...identity } = identify(path, name);
  let unlock: () => void;
  try {
    unlock = lock(`${name}-lock`, statSync(name));
  } catch (error) {
    forget();
    throw error;
  }
  const file: ClaimedFile = {
    ...identity,
    holders: 0,
    release() {
      file.holders--;
      if (file.holders > 0) return;
      claimed.delete(name);
      forget();
      unlock();
    },
  };
  claimed.set(name, file);
  return file;
}

/** Takes the lock that an empty SQLite database beside the file stands for: it ends with this process, however that ends. */
function lock(path: string, { mode, uid, gid }: { mode: number; uid: number; gid: number }): () => void {
  if (createFile(path, mode & 0o777) && process.getuid?.() === 0) chownSync(path, uid, gid);
  const database = new Libsql(uriOf(path, "rw"), { timeout: 0 });
  try {
    database.exec("pragma locking_mode = exclusive");
    database.exec("pragma journal_mode = off");
    database.exec("begin exclusive");
    database.exec("commit");
  } catch (error) {
    database.close();
    if (!hasCode(error, /^SQLITE_BUSY/)) throw error;
    throw Object.assign(new Error("Another process serves this database file", { cause: error }), {
      code: "SQLITE_BUSY",
    });
  }
  return () => database.close();
}
