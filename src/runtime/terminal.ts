// The terminal that the command line runs in: the same on Node, Bun and Deno.
import { Buffer } from "node:buffer";
import { fstatSync } from "node:fs";
import { appendFile, readFile, stat } from "node:fs/promises";
import { isAbsolute, relative } from "node:path";
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { describeBuild } from "../common/build.ts";
import { invalid } from "../common/errors.ts";
import { loadCommit } from "./commit.ts";
import { createNewFile } from "./new-file.ts";
import type { NewFile } from "./new-file.ts";
import { onFile } from "./atomic-file.ts";
import { outgoingFetch } from "./proxy.ts";

/** Node's own reader of arguments, which Bun and Deno have too. */
export { parseArgs };

export type Terminal = {
  /** The version and the commit of this build. */
  version(): Promise<string>;
  args: string[];
  env: Record<string, string | undefined>;
  /** True if data may be coloured. */
  isColoured: boolean;
  /** The width of the terminal in columns; undefined if data goes elsewhere. */
  columns?: number | undefined;
  /** True if data goes to a file, which is not read as a log. */
  isToFile?: boolean | undefined;
  /**
   * Writes data to stdout. Resolves once it is written, which lets a slow reader slow down the writer. Resolves to
   * false once the reader has gone.
   */
  write(text: string): Promise<boolean>;
  /** Writes a message to stderr. */
  say(text: string): void;
  /** Shows the progress of long work. The next report replaces it, and an empty one removes it. */
  report(progress: string): void;
  /** The text of a file, or of stdin for `-`. `name` names it in messages, in place of its path. */
  read(path: string, name?: string): Promise<string>;
  /** True if the path exists. */
  exists(path: string): Promise<boolean>;
  /** Appends to a file. */
  append(path: string, text: string): Promise<void>;
  /** Asks the user at the terminal. Anything but yes means no. Undefined without a user. */
  ask?: ((question: string) => Promise<boolean>) | undefined;
  /** Creates a file, which gets its name once it is complete, and replaces another one only with `force`. */
  create(path: string, options: { force: boolean }): Promise<NewFile>;
};

const { stdout, stderr, env } = process;

/** The terminal of this process. */
export const terminal: Terminal = {
  version: () => loadCommit().then(describeBuild),
  args: process.argv.slice(2),
  env,
  isColoured: stdout.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb",
  columns: stdout.isTTY === true ? stdout.columns || 80 : undefined,
  isToFile: isFile(stdout.fd),
  write(text) {
    if (stdout.isTTY) report("");
    if (isUnread) return Promise.resolve(false);
    return new Promise((resolve) => {
      endWait = () => resolve(false);
      stdout.write(text, () => resolve(!isUnread));
    });
  },
  say(text) {
    report("");
    stderr.write(text);
  },
  report: (progress) => report(progress),
  read: readUtf8,
  append: (path, text) => onFile(path, "written", () => appendFile(path, text)),
  ask: process.stdin.isTTY && stderr.isTTY && !env.CI ? ask : undefined,
  exists: (path) => stat(path).then(() => true, () => false),
  create: createNewFile,
};

function isFile(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isFile();
  } catch {
    return false;
  }
}

const report = reportOn(stderr, () => performance.now());

type Screen = { isTTY?: boolean | undefined; columns?: number | undefined; write(text: string): unknown };

/**
 * Shows progress. On a terminal it overwrites one line, at most ten times a second. Elsewhere it writes a line every 10
 * s. Work that ends before that shows nothing.
 */
export function reportOn(screen: Screen, now: () => number): (progress: string) => void {
  const interval = screen.isTTY ? 100 : 10_000; // ms
  let due: number | undefined;
  let shown = 0;

  function show(progress: string): void {
    const line = progress.slice(0, (screen.columns || 80) - 1);
    screen.write(`\r${line.padEnd(shown)}${line === "" ? "\r" : ""}`);
    shown = line.length;
  }

  return (progress) => {
    if (progress === "") {
      if (shown > 0) show("");
      return;
    }
    due ??= now() + interval;
    if (now() < due) return;
    due = now() + interval;
    if (screen.isTTY) show(progress);
    else screen.write(`${progress}\n`);
  };
}

// A reader that goes away (`| head`) is not an error. A full disk is.
let isUnread = false;
let endWait = () => {};
stdout.on("error", (error: NodeJS.ErrnoException) => {
  isUnread = true;
  endWait();
  if (error.code === "EPIPE") return;
  stderr.write(`promptledger: cannot write to stdout: ${error.message}\n`);
  process.exit(1);
});

stderr.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") process.exit(1);
});

/** fetch that sends a request once. Deno would repeat it if a kept-alive connection fails. */
export const fetchOnce = (url: string, init: RequestInit): Promise<Response> =>
  outgoingFetch(url, { ...init, ...(client ??= createClient()) } as RequestInit);

declare const Deno: { createHttpClient(options: object): object };

let client: object | undefined;

const createClient = (): object =>
  "Deno" in globalThis ? { client: Deno.createHttpClient({ poolMaxIdlePerHost: 0 }) } : {};

/** Exits with this code once no work is left. */
export function exitWith(code: number): void {
  process.exitCode = code;
}

async function ask(question: string): Promise<boolean> {
  report("");
  const reader = createInterface({ input: process.stdin, output: stderr });
  try {
    // Ctrl-D closes the input without an answer.
    const answer = await Promise.race([reader.question(`${question} [y/N] `), once(reader, "close").then(() => "")]);
    return /^y(es)?$/i.test(String(answer).trim());
  } finally {
    reader.close();
  }
}

/** The name of a file in messages. */
export const nameOfFile = (path: string): string => path === "-" ? "Standard input" : path;

/** The path of a file relative to a folder. Throws for a file outside of it. */
export function pathFrom(folder: string, path: string): string {
  const found = relative(folder, path);
  if (found === "" || isAbsolute(found) || /^\.\.($|[/\\])/.test(found)) throw invalid(`${path} is not in ${folder}`);
  return found;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

async function readUtf8(path: string, name = nameOfFile(path)): Promise<string> {
  const bytes = await onFile(name, "read", () => path === "-" ? readInput() : readFile(path));
  try {
    return utf8.decode(bytes);
  } catch {
    throw invalid(`${name} cannot be read: it is not UTF-8`);
  }
}

async function readInput(): Promise<Buffer> {
  if (process.stdin.isTTY) terminal.say("Reading a prompt from the terminal: type or paste its JSON, then Ctrl-D\n");
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}
