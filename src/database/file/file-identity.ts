// Checks that a database file is still the one that was opened.
import { closeSync, fstatSync, openSync, readSync, statSync, writeSync } from "node:fs";
import type { BigIntStats } from "node:fs";
import { setInterval } from "node:timers";
import { fileError } from "../database.ts";
import type { Claim } from "../database.ts";
import { openLog } from "./file-log.ts";
import { holdFile } from "./held-files.ts";

const headerLength = 100; // bytes at the start of a database, among them its size and its change counter
const watchInterval = 1_000; // ms

/**
 * Checks if others remove, replace or change the file at a path, its log or its shared memory. `name` is the target of
 * a link at the path. `forget` releases it once its connections are `gone`. This process writes to the file itself only
 * from `beginChange` until it reports the end of the change. So any other change is foreign. SQLite would not notice
 * one.
 */
export function identify(path: string, name: string): Omit<Claim, "release"> & { forget(gone: Promise<void>): void } {
  const file = holdFile(path), { descriptor } = file;
  const stamp = 1 + Math.floor(Math.random() * (2 ** 31 - 2));
  let isStamped = false;
  // True from a change by this process until the header has been read.
  let isChangeUnseen = false;
  const first = fstatSync(descriptor, { bigint: true });
  let known = lookOf(first, readHeader(descriptor));
  // SQLite puts them beside the file itself, not beside a link to it.
  const siblings = new Map<string, BigIntStats>();
  let log: ReturnType<typeof openLog> | undefined;
  let pages: number | undefined; // of the log, after the last commit
  // Until the database is open, the last connection to close, such as one that awaits garbage collection, removes the
  // log.
  let isLogHeld = false;
  let fault: string | undefined;
  let timer: ReturnType<typeof setInterval> | undefined;
  const reports: ((fault: string) => void)[] = [];

  function checkFile(): string | undefined {
    const now = statOf(path);
    if (now === undefined) return "The database file was removed";
    if (!isSame(now, first)) return "The database file was replaced";
    // Until the stamp has been seen, the header is always read.
    const isAlike = now.mtimeNs === known.mtimeNs && now.size === known.size && !known.isYoung;
    if (isStamped && !isChangeUnseen && isAlike) return undefined;
    const header = readHeader(descriptor);
    // Some systems set the modification time later than they write, so a new time alone proves nothing.
    const isOther = !isChangeUnseen && (now.size !== known.size || header !== known.header);
    if (isOther || isStamped && stampOf(header) !== stamp) return `The database file ${changed}`;
    isStamped ||= stampOf(header) === stamp;
    isChangeUnseen = false;
    known = lookOf(now, header);
    return undefined;
  }

  function checkSibling(suffix: "-wal" | "-shm"): string | undefined {
    const before = siblings.get(suffix);
    const now = statOf(name + suffix);
    if (before !== undefined && (now === undefined || !isSame(now, before))) {
      return `The file ${suffix} beside the database was removed or replaced`;
    }
    if (now !== undefined) siblings.set(suffix, now);
    return undefined;
  }

  /** Unless this process has just committed, a log with the same size and time as before has not changed. */
  function checkLog(hasCommitted: boolean): string | undefined {
    const before = siblings.get("-wal");
    const found = checkSibling("-wal");
    const now = siblings.get("-wal");
    if (found !== undefined || now === undefined) return found;
    // A crash may have left an index that is out of date. Once this process has committed, it is not.
    if (hasCommitted && log === undefined && statOf(`${name}-shm`) !== undefined) log = openLog(name);
    if (log === undefined) return undefined;
    if (!hasCommitted && now.mtimeNs === before?.mtimeNs && now.size === before.size) return undefined;
    const state = log.inspect(now.size);
    pages = state?.pages;
    return state?.isChanged ? `The file -wal beside the database ${changed}` : undefined;
  }

  function throwIf(found: string | undefined): void {
    fault ??= found;
    if (fault !== undefined) throw fileError(fault);
  }

  const inspect = () => fault ??= checkFile() ?? (isLogHeld ? checkLog(false) ?? checkSibling("-shm") : undefined);

  /** Checks the files between operations. There is no caller to handle an error. */
  function poll(): void {
    try {
      if (inspect() === undefined) return;
    } catch (error) {
      // A failed read may succeed next time. A file that is not a database was overwritten externally.
      if ((error as { code?: unknown }).code !== notDatabase) return;
      fault ??= `The database file ${changed}`;
    }
    clearInterval(timer);
    for (const report of reports) report(fault!);
  }

  return {
    stamp,
    isStamped: () => isStamped,
    check() {
      isLogHeld = true;
      throwIf(fault ?? checkFile() ?? checkLog(false));
    },
    checkCommit() {
      throwIf(fault ?? checkFile() ?? checkLog(true));
      return pages;
    },
    beginChange() {
      throwIf(inspect());
      isChangeUnseen = true;
      return () => {
        isChangeUnseen = true;
        throwIf(inspect());
      };
    },
    watch(report) {
      reports.push(report);
      timer ??= setInterval(poll, watchInterval).unref();
    },
    forget(gone) {
      clearInterval(timer);
      log?.close(gone);
      file.release(gone);
    },
  };
}

const notDatabase = "SQLITE_NOTADB"; // SQLite's own code
const changed = "was changed by another process";

const clockStep = 20; // ms: the clock of modification times may advance in steps of some ms

/** State of the file at a check. If it is young, a change right after the check may have the same modification time. */
const lookOf = ({ size, mtimeNs, mtimeMs }: BigIntStats, header: string) => ({
  ...{ size, mtimeNs, header },
  isYoung: Math.abs(Date.now() - Number(mtimeMs)) < clockStep,
});

const stampOffset = 60; // of the four bytes of `user_version` in a header

/** Removes the stamp from a copy that is not open, so that it never passes for the original. */
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
  let length = 0;
  let cause: unknown;
  try {
    length = readSync(descriptor, bytes, 0, headerLength, 0);
  } catch (error) {
    cause = error;
  }
  const header = String.fromCharCode(...bytes.subarray(0, length));
  // Bun returns nothing if a read fails.
  if (length < headerLength && fstatSync(descriptor).size >= headerLength) {
    const error = new Error("The header of the database file cannot be read", { cause });
    throw Object.assign(error, { code: "SQLITE_IOERR_READ" });
  }
  if (length > 0 && !header.startsWith("SQLite format 3\0")) {
    throw Object.assign(new Error("The file is not a database"), { code: notDatabase });
  }
  return header;
}
