// Checks that the write-ahead log of a served file is as SQLite left it. SQLite keeps the end of the log in shared
// memory, the index. If another process empties, cuts or overwrites the log in place, SQLite writes on behind that end,
// and the next start finds nothing.
import { closeSync, openSync, readSync } from "node:fs";
import { endianness } from "node:os";
import { holdFile } from "./held-files.ts";

/** Pages of the log since its last restart. `isChanged` if it is no longer as SQLite left it. */
export type LogState = { pages: number; isChanged: boolean };

// The format: https://sqlite.org/walformat.html. Lengths are in bytes.
const indexHeaderLength = 48; // stored twice, so that a reader detects a write in progress
const logHeaderLength = 32;
const frameHeaderLength = 24; // before each page

// The index uses the machine's byte order, the log big-endian order.
const isLittle = endianness() === "LE";

const maxReads = 100; // while another process adds to the log

/** Opens the log of a file and its index. */
export function openLog(name: string) {
  const log = openSync(`${name}-wal`, "r");
  const index = holdFile(`${name}-shm`);
  const buffer = new DataView(new ArrayBuffer(2 * indexHeaderLength));
  const halves = new BigUint64Array(buffer.buffer);

  /** Reads bytes to the start of the buffer; zeros where the file has fewer. */
  function read(descriptor: number, position: number, length: number): DataView {
    halves.fill(0n);
    readSync(descriptor, buffer, 0, length, position);
    return buffer;
  }

  /** Reads the end of the log; undefined while another process writes it. */
  function readEnd(): LogEnd | undefined {
    const header = read(index.descriptor, 0, 2 * indexHeaderLength);
    const length = halves.length / 2;
    for (let half = 0; half < length; half++) if (halves[half] !== halves[half + length]) return undefined;
    const pageSize = header.getUint16(14, isLittle);
    return {
      commit: header.getUint32(8, isLittle),
      pages: header.getUint32(16, isLittle),
      pageSize: pageSize === 1 ? 65_536 : pageSize,
      checksum: [header.getUint32(24, isLittle), header.getUint32(28, isLittle)],
      salt: header.getBigUint64(32),
    };
  }

  // The end that was last found in the log.
  let known: LogEnd | undefined;

  /** Offset of the last frame before an end. */
  const lastFrameOf = ({ pages, pageSize }: LogEnd) => logHeaderLength + (pages - 1) * (frameHeaderLength + pageSize);

  /** True if the last frame before an end has its checksum. */
  function hasFrame(end: LogEnd): boolean {
    const frame = read(log, lastFrameOf(end), frameHeaderLength);
    return frame.getUint32(16) === end.checksum[0] && frame.getUint32(20) === end.checksum[1];
  }

  /**
   * True if a log of this size reaches its end, begins with its salt, and has the frames before this and the known end.
   */
  function isWhole(size: bigint, end: LogEnd): boolean {
    const { pages, pageSize, salt } = end;
    if (pages === 0) return true;
    if (size < lastFrameOf(end) + frameHeaderLength + pageSize) return false;
    if (read(log, 0, logHeaderLength).getBigUint64(16) !== salt || !hasFrame(end)) return false;
    // A commit refills a log that was cut while the commit ran. If only the last page was cut, that is not noticed.
    return known?.salt !== salt || known.pages === 0 || hasFrame(known);
  }

  return {
    /**
     * Compares a log of this size, in bytes, with its index. Returns undefined if another process writes all the time.
     */
    inspect(size: bigint): LogState | undefined {
      for (let reads = 0; reads < maxReads; reads++) {
        const end = readEnd();
        if (end === undefined) continue;
        const { pages, commit, salt } = end;
        if (isWhole(size, end)) {
          known = end;
          return { pages, isChanged: false };
        }
        // Another process may have written meanwhile.
        const again = readEnd();
        if (again?.commit === commit && again.salt === salt) return { pages, isChanged: true };
      }
      return undefined;
    },
    /** Closes both files. SQLite has locks on the index, so that one stays open until `gone`. */
    close(gone: Promise<void>) {
      closeSync(log);
      index.release(gone);
    },
  };
}

/**
 * The number of the last commit, the pages of the log, their size in bytes, the checksum of all pages, and the salt,
 * which changes each time the log is restarted.
 */
type LogEnd = { commit: number; pages: number; pageSize: number; checksum: [number, number]; salt: bigint };
