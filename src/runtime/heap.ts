// The memory of a command.
import process from "node:process";
import v8 from "node:v8";

/**
 * Keeps the young generation of V8 as large as it is. Long work on the log would let it grow to 32 MB, which makes no command
 * faster.
 */
export function limitHeap(): void {
  if (process.versions.bun === undefined) v8.setFlagsFromString("--semi-space-growth-factor=1");
}
