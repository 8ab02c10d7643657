// The terminal that the command line runs in: the same on Node, Bun and Deno.
import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { parseArgs } from "node:util";
import { invalid } from "../errors.ts";

/** Node's own reader of arguments, which Bun and Deno have too. */
export { parseArgs };

export type Terminal = {
  /** The package's version. */
  version(): Promise<string>;
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
  version: async () => JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8")).version,
  args: process.argv.slice(2),
  env: process.env,
  write: (text) => void process.stdout.write(text),
  say: (text) => void process.stderr.write(text),
  read: readUtf8,
};

// A reader that goes away (`| head`) is no fault; a disk that is full is one.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  process.stderr.write(`promptledger: standard output cannot be written: ${error.message}\n`);
  process.exit(1);
});

/** Ends the process with this code as soon as nothing is left to do. */
export function exitWith(code: number): void {
  process.exitCode = code;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

async function readUtf8(path: string): Promise<string> {
  const name = path === "-" ? "Standard input" : path;
  let bytes: Buffer;
  try {
    bytes = path === "-" ? await readInput() : await readFile(path);
  } catch (error) {
    throw invalid(`${name} cannot be read: ${error instanceof Error ? error.message : error}`);
  }
  try {
    return utf8.decode(bytes);
  } catch {
    throw invalid(`${name} cannot be read: it is not UTF-8`);
  }
}

async function readInput(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}
