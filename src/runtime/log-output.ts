// Writes the log to stderr, in few writes, because each costs as much as a request. If the reader is slow or gone,
// lines are dropped. On Deno the service blocks instead.
import { writeSync } from "node:fs";
import process from "node:process";
import { createGuard, isInCi } from "../support/ci-text.ts";

export type LogOutput = {
  write(line: string): void;
  /** Resolves when all lines are written, or the reader has taken too long. */
  close(): Promise<void>;
};

const stderr = 2;
const delay = 10; // ms that a line waits for others
const maxDelay = 100; // ms between two attempts to write to a full pipe, after 1, 2, 4 …
const maxWaiting = 4_000_000; // characters that may wait for a slow reader
const closingTime = 500; // ms for a slow reader when the process exits

/**
 * Opens the log, once per process. When there is room again, `onDropped` gets the number of lines that were dropped.
 */
export function openLogOutput(onDropped: (count: number) => void): LogOutput {
  // The service must outlive the reader of its log. On Node and Bun, accessing `process.stderr` also makes a write to a
  // full pipe fail instead of blocking. On Node a child process may have undone that.
  process.stderr.on("error", () => {});
  (process.stderr as { _handle?: { setBlocking?(isBlocking: boolean): void } })._handle?.setBlocking?.(false);
  const encoder = new TextEncoder();
  const guard = isInCi(process.env) ? createGuard(process.env, false) : undefined;
  let lines = "";
  let dropped = 0;
  let unwritten: Uint8Array = new Uint8Array();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let retryDelay = 1; // ms

  function flush(): void {
    timer = undefined;
    if (unwritten.length === 0) {
      unwritten = encoder.encode(lines);
      lines = "";
      if (dropped > 0) onDropped(dropped);
      dropped = 0;
    }
    try {
      for (; unwritten.length > 0; retryDelay = 1) unwritten = unwritten.subarray(writeSync(stderr, unwritten));
    } catch (error) {
      retryDelay = Math.min(2 * retryDelay, maxDelay);
      if (!isFull(error)) unwritten = new Uint8Array();
    }
    if (unwritten.length > 0 || lines !== "") flushIn(retryDelay);
  }

  const flushIn = (ms: number) => timer ??= setTimeout(flush, ms);

  return {
    write(line) {
      if (lines.length > maxWaiting) {
        dropped++;
        return;
      }
      lines += guard?.(`${line}\n`) ?? `${line}\n`;
      flushIn(delay);
    },
    async close() {
      const deadline = performance.now() + closingTime;
      do {
        flush();
        clearTimeout(timer);
        timer = undefined;
        if (unwritten.length > 0) await new Promise((resolve) => setTimeout(resolve, delay));
      } while ((lines !== "" || unwritten.length > 0) && performance.now() < deadline);
    },
  };
}

const isFull = (error: unknown) => error instanceof Error && "code" in error && error.code === "EAGAIN";
