// Where the log goes: standard error, in few writes, since each costs as much as a request. A reader that is slow, or gone,
// costs lines and no more; only Deno waits for it.
import process from "node:process";

export type LogOutput = {
  write(line: string): void;
  /** Resolves when all lines are with the system, or the reader takes none. */
  close(): Promise<void>;
};

const delay = 10; // ms that a line waits for others
const mostWaiting = 4_000_000; // characters that wait for a slow reader
const closingTime = 500; // ms that a slow reader gets in the end

export function openLogOutput(): LogOutput {
  const { stderr } = process;
  let waiting = "";
  let dropped = 0;
  let isBehind = false;

  function flush(done: () => void = () => {}): void {
    if (waiting === "") return done();
    const lines = waiting + (dropped === 0 ? "" : `${dropped} lines of the log were dropped, since no one read them\n`);
    waiting = "";
    dropped = 0;
    isBehind = !stderr.write(lines, () => done());
  }

  // Whoever reads the log may go; the service stays.
  stderr.on("error", () => {});
  stderr.on("drain", () => {
    isBehind = false;
    flush();
  });

  return {
    write(line) {
      if (waiting.length > mostWaiting) {
        dropped++;
        return;
      }
      if (waiting === "") setTimeout(() => isBehind || flush(), delay);
      waiting += `${line}\n`;
    },
    close: () =>
      new Promise((resolve) => {
        setTimeout(resolve, closingTime);
        flush(resolve);
      }),
  };
}
