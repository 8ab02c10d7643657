// Services whose clock a test moves, so that a rule about time holds however slow the machine is.
import { renameSync, writeFileSync } from "node:fs";
import { startFile } from "../conformance/processes.ts";
import type { Runtime } from "../runtimes.ts";

/** The clock of a service, which stands at 0 ms: what it takes from the environment, and how it is moved. */
export function createClock(path: string) {
  const set = (ms: number) => {
    writeFileSync(`${path}.new`, String(ms));
    // The service may be reading what is there.
    renameSync(`${path}.new`, path);
  };
  set(0);
  return { settings: { CLOCK: path }, set };
}

/** Starts a service on a clock, and resolves with what the pattern captures, by default its URL. */
export const startOnClock = (
  runtime: Runtime,
  clock: { settings: Record<string, string> },
  settings: Record<string, string>,
  pattern = /Listening.*?(http:\/\/[\d.]+:\d+)/,
) => startFile(runtime, "test/runtime/serve-on-clock.ts", { PORT: "0", ...clock.settings, ...settings }, pattern);
