// Copies a database file and its write-ahead log in slices, while others write to them.
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { open, writeFile } from "node:fs/promises";
import type { Database } from "../database.ts";
import { holdFile } from "./held-files.ts";

const slice = 1024 * 1024; // bytes
const syncedSlices = 32; // a commit of the service never waits for more than this to reach the disk

const logHeaderLength = 32; // bytes, with a salt that changes each time the log is restarted

/**
 * Copies the file at a path, which `database` has open, to a new file, and its log beside that. Together they are the
 * database at the last commit in the log. `onSlice` receives the bytes of each slice. Returns a time, in Unix ms:
 * everything committed before it is in the copy.
 *
 * A read transaction lasts as long as the copying. Pages that SQLite writes back into the file meanwhile stay in the
 * log, so pages that are torn in the copy of the file are whole in that of the log. Only a log that was written back
 * completely before may be restarted, and once: then nothing is written back any more.
 * https://sqlite.org/walformat.html
 */
export async function copySnapshot(
  database: Database,
  path: string,
  copy: string,
  onSlice: (bytes: number) => void,
): Promise<number> {
  // Closing any other descriptor would free the locks of this process's connections.
  const file = holdFile(path);
  await database.read({ sql: "begin" });
  try {
    // Only a query begins the transaction.
    await database.read({ sql: "select count(*) from sqlite_schema" });
    await copySlices(file.descriptor, copy, onSlice);
    return await copyLog(`${path}-wal`, `${copy}-wal`, onSlice);
  } finally {
    await database.read({ sql: "rollback" });
    file.release(Promise.resolve());
  }
}

/**
 * Copies a log. The start of an old log and the end of a new one would restore older pages, so a restart repeats it.
 */
async function copyLog(path: string, copy: string, onSlice: (bytes: number) => void): Promise<number> {
  const log = openSync(path, "r");
  const readHeader = () => {
    const header = new Uint8Array(logHeaderLength);
    return String(header.subarray(0, readSync(log, header, 0, logHeaderLength, 0)));
  };
  try {
    for (;;) {
      const at = Date.now(), header = readHeader();
      await writeFile(copy, "", { mode: 0o600 });
      // A log that grows faster than it is copied would have no end.
      await copySlices(log, copy, onSlice, fstatSync(log).size);
      if (readHeader() === header) return at;
    }
  } finally {
    closeSync(log);
  }
}

/** Appends the content of a descriptor up to a position to a file, which is created if missing. */
async function copySlices(
  from: number,
  to: string,
  onSlice: (bytes: number) => void,
  end = Infinity,
): Promise<void> {
  const bytes = new Uint8Array(slice);
  const target = await open(to, "a", 0o600);
  try {
    for (let copied = 0, slices = 1;; slices++) {
      const length = readSync(from, bytes, 0, Math.min(slice, end - copied), copied);
      if (length === 0) return;
      await target.appendFile(bytes.subarray(0, length));
      if (slices % syncedSlices === 0) await target.datasync();
      copied += length;
      onSlice(length);
    }
  } finally {
    await target.close();
  }
}
