// The folder of a demo. It is removed when the process ends; that of a demo that was killed, by the next demo that starts.
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { claimFile, createFile } from "../database/file-claim.ts";

const prefix = "promptledger-demo-";

/** The file that a demo claims for as long as it runs. It is not the database, which the demo fills before it serves it. */
const markIn = (folder: string): string => join(folder, "running");

/** Makes an empty folder that is removed when this process ends. Returns its path. */
export function openDemoFolder(): string {
  removeAbandoned();
  const folder = mkdtempSync(join(tmpdir(), prefix));
  process.once("exit", () => {
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // Windows removes no file that is open. The next demo removes it.
    }
  });
  createFile(markIn(folder));
  claimFile(markIn(folder));
  return folder;
}

const claimTime = 2_000; // ms within which a demo that starts has claimed its mark

/** Removes the folders of demos that no longer run. */
function removeAbandoned(): void {
  for (const entry of readdirSync(tmpdir(), { withFileTypes: true })) {
    if (!entry.isDirectory() || !entry.name.startsWith(prefix)) continue;
    const folder = join(tmpdir(), entry.name);
    try {
      if (Date.now() - statSync(folder).mtimeMs < claimTime) continue;
      const claim = claimFile(markIn(folder));
      try {
        rmSync(folder, { recursive: true, force: true });
      } finally {
        claim.release();
      }
    } catch {
      // Its demo runs, or it belongs to another user.
    }
  }
}
