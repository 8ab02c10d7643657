// Folders of demos and trials. They are removed when the process ends. Folders of a killed process are removed by the
// next one.
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { claimFile, createFile } from "../database/file/file-claim.ts";

/**
 * The file that the process claims while it runs. It is not a database, so others can serve the databases in the
 * folder.
 */
const markIn = (folder: string): string => join(folder, "running");

/** Creates an empty folder that is removed when this process ends. Returns its path. */
export async function openOwnFolder(parent: string, prefix: string): Promise<string> {
  await removeAbandoned(parent, prefix);
  const folder = mkdtempSync(join(parent, prefix));
  process.once("exit", () => {
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // Windows does not remove an open file. The next process removes it.
    }
  });
  createFile(markIn(folder));
  await claimFile(markIn(folder));
  return folder;
}

const claimTime = 2_000; // ms within which a process that starts has claimed its mark

/** Removes the folders of processes that no longer run. */
async function removeAbandoned(parent: string, prefix: string): Promise<void> {
  for (const entry of readdirSync(parent, { withFileTypes: true })) {
    if (!entry.isDirectory() || !entry.name.startsWith(prefix)) continue;
    const folder = join(parent, entry.name);
    try {
      if (Date.now() - statSync(folder).mtimeMs < claimTime) continue;
      const claim = await claimFile(markIn(folder));
      try {
        rmSync(folder, { recursive: true, force: true });
      } finally {
        claim.release();
      }
    } catch {
      // Its process runs, or it belongs to another user.
    }
  }
}
