// The claim on a database file: one process serves it at a time, and only for as long as it is the file that was opened.
import { chownSync, closeSync, fstatSync, openSync, readSync, realpathSync, statSync, writeSync } from "node:fs";
import type { BigIntStats } from "node:fs";
import process from "node:process";
import { setInterval } from "node:timers";
import { pathToFileURL } from "node:url";
import Libsql from "libsql";
import { fileError, hasCode } from "./database.ts";
import type { Claim } from "./database.ts";

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

const headerLength = 100; // bytes at the start of a database that say how large it is and how often it has changed
const watchInterval = 1_000; // ms

/**
 * Tells whether the file, its log and its index are still those that were there at first. While a file is served nobody else
 * writes to the file itself, since nobody else checkpoints, and SQLite would not notice if they did.
 */
function identify(path: string, name: string): Omit<Claim, "release"> & { forget(): void } {
  // Kept open for as long as the file is: closing a descriptor frees SQLite's locks.
  const descriptor = openSync(path, "r");
  const stamp = 1 + Math.floor(Math.random() * (2 ** 31 - 2));
  let isStamped = false;
  const first = fstatSync(descriptor, { bigint: true });
  let known = { size: first.size, mtimeNs: first.mtimeNs, header: readHeader(descriptor) };
  // Beside the file itself, and not beside a link to it.
  const besides = new Map<string, BigIntStats>();
  let fault: string | undefined;
  let timer: ReturnType<typeof setInterval> | undefined;
  const reports: ((fault: string) => void)[] = [];

  function look(isOwnWrite: boolean): string | undefined {
    const now = statOf(path);
    if (now === undefined) return "The database file was removed";
    if (!isSame(now, first)) return "The database file was replaced";
    if (now.mtimeNs === known.mtimeNs && now.size === known.size) return undefined;
    const header = readHeader(descriptor);
    // Some systems set the time of a write later than the write, so the time alone proves nothing.
    const isOther = !isOwnWrite && (now.size !== known.size || header !== known.header);
    if (isOther || isStamped && stampOf(header) !== stamp) return "The database file was changed by another process";
    isStamped ||= stampOf(header) === stamp;
    known = { size: now.size, mtimeNs: now.mtimeNs, header };
    return undefined;
  }

  function lookBeside(suffix: "-wal" | "-shm"): string | undefined {
    const before = besides.get(suffix);
    const now = statOf(name + suffix);
    if (before !== undefined && (now === undefined || !isSame(now, before))) {
      return `The file ${suffix} beside the database was removed or replaced`;
    }
    if (now !== undefined) besides.set(suffix, now);
    return undefined;
  }

  function require(found: string | undefined): void {
    fault ??= found;
    if (fault !== undefined) throw fileError(fault);
  }

  function inspect(isOwnWrite = false): string | undefined {
    return fault ??= look(isOwnWrite) ?? lookBeside("-wal") ?? lookBeside("-shm");
  }

  function tick(): void {
    if (inspect() === undefined) return;
    clearInterval(timer);
    for (const report of reports) report(fault!);
  }

  return {
    stamp,
    check: () => require(fault ?? look(false)),
    checkAfterWrite: () => require(fault ?? look(true) ?? lookBeside("-wal")),
    isIntact: (hasWritten) => inspect(hasWritten) === undefined,
    watch(report) {
      reports.push(report);
      timer ??= setInterval(tick, watchInterval).unref();
    },
    forget() {
      clearInterval(timer);
      closeSync(descriptor);
    },
  };
}

const stampOffset = 60; // of the four bytes of `user_version` in a header

/** Takes the mark off a copy that nobody has open, so that it is never taken for the file that it was made of. */
export function clearStamp(path: string): void {
  const descriptor = openSync(path, "r+");
  try {
    writeSync(descriptor, new Uint8Array(4), 0, 4, stampOffset);
  } finally {
    closeSync(descriptor);
  }
}

/** The `user_version` in a header. */
const stampOf = (header: string): number =>
  [0, 1, 2, 3].reduce((value, index) => value * 256 + header.charCodeAt(stampOffset + index), 0);

const statOf = (path: string) => statSync(path, { bigint: true, throwIfNoEntry: false });

const isSame = (one: BigIntStats, other: BigIntStats) => one.ino === other.ino && one.dev === other.dev;

function readHeader(descriptor: number): string {
  const bytes = new Uint8Array(headerLength);
  const length = readSync(descriptor, bytes, 0, headerLength, 0);
  const header = String.fromCharCode(...bytes.subarray(0, length));
  if (length > 0 && !header.startsWith("SQLite format 3\0")) {
    throw Object.assign(new Error("The file is not a database"), { code: "SQLITE_NOTADB" });
  }
  return header;
}
