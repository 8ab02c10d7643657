// The disk space that backups and restores leave free: a service could store nothing on a full disk.
import { statfs } from "node:fs/promises";
import { conflict } from "../common/errors.ts";
import { formatBytes } from "./atomic-file.ts";

export const reserve = 32 * 1024 * 1024; // bytes

const interval = 8 * 1024 * 1024; // bytes that are written between two checks

/** Free space on the disk of a folder, in bytes. Virtual file systems may report no blocks at all. */
export async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return blocks === 0 ? Infinity : bavail * bsize;
}

/** A function to call before bytes are written to a folder. It throws once they would use the reserve. */
export function guardReserve(folder: string): (bytes: number) => Promise<void> {
  let unchecked = interval;
  return async (bytes) => {
    unchecked += bytes;
    if (unchecked < interval) return;
    unchecked = 0;
    const free = await freeBytesOf(folder);
    if (free >= reserve + interval) return;
    throw conflict(`${folder} has ${formatBytes(free)} free, of which ${formatBytes(reserve)} are left to the service`);
  };
}
