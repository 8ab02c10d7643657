// The terminal that the command line runs in: the same on Node, Bun and Deno.
import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { parseArgs } from "node:util";

export { parseArgs };

export type Terminal = {
  args: string[];
  env: Record<string, string | undefined>;
  /** Data goes out here. */
  write(text: string): void;
  /** What is said about it goes here. */
  say(text: string): void;
  /** The text of a file, or of standard input for `-`. */
  read(path: string): Promise<string>;
};

/** The terminal of this process. */
export const terminal: Terminal = {
  args: process.argv.slice(2),
  env: process.env,
  write: (text) => void process.stdout.write(text),
  say: (text) => void process.stderr.write(text),
  read: async (path) => utf8.decode(path === "-" ? await readInput() : await readFile(path)),
};

/** Ends the process with this code as soon as nothing is left to do. */
export function exitWith(code: number): void {
  process.exitCode = code;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

async function readInput(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}
