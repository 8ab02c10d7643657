// What backups and restores leave free on a disk: a service could store nothing on a full one.
import { statfs } from "node:fs/promises";
import { conflict } from "../common/errors.ts";
import { formatBytes } from "./atomic-file.ts";

export const reserve = 32 * 1024 * 1024; // bytes

const interval = 8 * 1024 * 1024; // bytes that are written between two looks

/** What is free on the disk of a folder. File systems that are no disk may say that they have no blocks at all. */
export async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return blocks === 0 ? Infinity : bavail * bsize;
}

/** A function to call before bytes are written to a folder. It throws once they would take the reserve. */
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
