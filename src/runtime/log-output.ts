// Where the log goes: standard error, in few writes, since each costs as much as a request. A reader that is slow, or gone,
// costs lines and no more; only Deno waits for it.
import { writeSync } from "node:fs";
import process from "node:process";

export type LogOutput = {
  write(line: string): void;
  /** Resolves when all lines are with the system, or the reader takes none. */
  close(): Promise<void>;
};

const stderr = 2;
const delay = 10; // ms that a line waits for others
const longestDelay = 100; // ms between two attempts to write to a full pipe, after 1, 2, 4 …
const mostWaiting = 4_000_000; // characters that wait for a slow reader
const closingTime = 500; // ms that a slow reader gets in the end

/** Opens the log, once in a process; `tellDropped` is called when there is room again for lines, of which some were dropped. */
export function openLogOutput(tellDropped: (count: number) => void): LogOutput {
  // Whoever reads the log may go; the service stays. On Node and Bun, touching this also makes a full pipe refuse what is
  // written rather than stop the process; on Node a child process may have undone that.
  process.stderr.on("error", () => {});
  (process.stderr as { _handle?: { setBlocking?(isBlocking: boolean): void } })._handle?.setBlocking?.(false);
  const encoder = new TextEncoder();
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
      if (dropped > 0) tellDropped(dropped);
      dropped = 0;
    }
    try {
      for (; unwritten.length > 0; retryDelay = 1) unwritten = unwritten.subarray(writeSync(stderr, unwritten));
    } catch (error) {
      retryDelay = Math.min(2 * retryDelay, longestDelay);
      if (!isFull(error)) unwritten = new Uint8Array();
    }
    if (unwritten.length > 0 || lines !== "") flushIn(retryDelay);
  }

  const flushIn = (ms: number) => timer ??= setTimeout(flush, ms);

  return {
    write(line) {
      if (lines.length > mostWaiting) {
        dropped++;
        return;
      }
      lines += `${line}\n`;
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
