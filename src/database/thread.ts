// A thread that reads a served file, so that long reads do not hold up the thread that serves.
import { closeSync, existsSync, openSync } from "node:fs";
import process from "node:process";
import { clearTimeout, setTimeout } from "node:timers";
import { Worker } from "node:worker_threads";
import { describeError } from "../common/log.ts";
import { hasCode } from "./database.ts";
import type { Row, Statement } from "./database.ts";
import { createQueue } from "./queue.ts";

/** What the thread answers. */
export type Reply = { rows: Row[]; error?: undefined } | {
  rows?: undefined;
  error: { message: string; code: string | undefined };
};

const lostCode = "READER_LOST";
export const isReaderLost = (error: unknown): boolean => hasCode(error, /^READER_LOST$/);

export type ReaderThread = {
  /**
   * Runs a statement on the thread, one at a time, and starts the thread unless it runs. Returns undefined if it cannot be
   * started here. Rejects as `isReaderLost` if it ends meanwhile.
   */
  read(statement: Statement): Promise<Row[] | undefined>;
  /** Ends the thread for good, once the read that runs has ended. Returns undefined if it never ran. */
  end(): Promise<void> | undefined;
};

// Without a read, after which the thread ends. Deno leaks two file descriptors with each thread that has loaded libsql, so there
// it stays.
const idleMs = process.versions.deno === undefined ? 60_000 : Infinity;
const replyMs = 60_000; // that a read may take, which is more than any slice of long work does
const endMs = 10_000; // that the thread may take to close its connection
const retryMs = 60_000; // until the next attempt where the thread could not be started

/** `entry` is what the thread runs. The times are in ms. */
export type ThreadOptions = { entry?: Entry | undefined; idleMs?: number; replyMs?: number };

/** Makes the reader thread of a file, which starts with the first read. */
export function createThread(path: string, options: ThreadOptions = {}): ReaderThread {
  const { entry, ...times } = { entry: findEntry(), idleMs, replyMs, ...options };
  const queue = createQueue();
  let reader: Reader | undefined;
  let failedAt = -Infinity;
  let isOver = false;

  async function start(): Promise<Reader | undefined> {
    if (reader?.isEnding() === false) return reader;
    if (isOver || entry === undefined || performance.now() - failedAt < retryMs) return undefined;
    try {
      requireDescriptors(entry);
      reader = startReader(entry, path, times);
      await reader.ready;
      return reader.isEnding() ? undefined : reader;
    } catch {
      failedAt = performance.now();
      return undefined;
    }
  }

  return {
    read: (statement) => queue(async () => (await start())?.read(statement)),
    end() {
      isOver = true;
      return reader?.end();
    },
  };
}

type Reader = {
  /** Rejects if the thread cannot open the file. */
  ready: Promise<unknown>;
  read(statement: Statement): Promise<Row[]>;
  end(): Promise<void>;
  isEnding(): boolean;
};

const freeDescriptors = 64; // more than a thread opens, with room for connections that arrive meanwhile

/** Throws if few file descriptors are left. Deno and Bun end the process if a thread finds none when it starts. */
function requireDescriptors({ url }: Entry): void {
  const descriptors: number[] = [];
  try {
    while (descriptors.length < freeDescriptors) descriptors.push(openSync(url, "r"));
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}

function startReader(entry: Entry, path: string, { idleMs, replyMs }: Required<Omit<ThreadOptions, "entry">>): Reader {
  const worker = new Worker(...argumentsOf(entry, path));
  const waiting: ((reply: Reply) => void)[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ending: Promise<void> | undefined;

  /** A thread that is not heard of is left alone: libsql aborts the process if a thread is ended in the midst of a call. */
  function lose(cause: unknown): void {
    clearTimeout(timer);
    worker.unref();
    ending ??= Promise.resolve();
    const error = { message: `The reader thread was lost: ${describeError(cause)}`, code: lostCode };
    for (const settle of waiting.splice(0)) settle({ error });
  }
  worker.on("message", (reply: Reply) => waiting.shift()?.(reply));
  worker.on("messageerror", lose);
  worker.on("error", lose);
  worker.on("exit", () => lose(new Error("it ended")));

  /** Resolves with the next reply. It keeps the process alive meanwhile. */
  async function nextReply(ms: number): Promise<Row[]> {
    clearTimeout(timer);
    timer = setTimeout(() => lose(new Error(`no reply within ${ms} ms`)), ms);
    worker.ref();
    const { rows, error } = await new Promise<Reply>((resolve) => waiting.push(resolve));
    if (waiting.length === 0) clearTimeout(timer);
    // A thread that ends keeps the process alive until then.
    if (waiting.length === 0 && ending === undefined) {
      worker.unref();
      if (idleMs < Infinity) timer = setTimeout(end, idleMs).unref();
    }
    if (error === undefined) return rows;
    // The statement may not have run to its end. Then it holds a snapshot, and the write-ahead log would grow forever.
    void end();
    throw Object.assign(new Error(error.message), { code: error.code });
  }

  async function close(): Promise<void> {
    worker.postMessage(null);
    const isClosed = await nextReply(endMs).then(() => true, () => false);
    if (isClosed) await worker.terminate();
  }

  const end = () => ending ??= close();

  return {
    ready: nextReply(replyMs),
    read(statement) {
      worker.postMessage(statement);
      return nextReply(replyMs);
    },
    end,
    isEnding: () => ending !== undefined,
  };
}

/** How the thread starts: by a file, or by a script that loads it. */
type Entry = { url: URL; script?: string };

const argumentsOf = ({ url, script }: Entry, path: string): ConstructorParameters<typeof Worker> =>
  script === undefined ? [url, { workerData: path }] : [script, { workerData: path, eval: true }];

/** The file of the thread, which is beside this one. Undefined in a bundle, which leaves it behind. */
function findEntry(): Entry | undefined {
  try {
    const [extension] = /\.\w+$/.exec(import.meta.url)!;
    const url = new URL(`promptledger-reader${extension}`, import.meta.url);
    return existsSync(url) ? entryOf(url) : undefined;
  } catch {
    return undefined;
  }
}

/** How a file starts as a thread. Throws if this runtime reads no TypeScript, and the file is in that. */
export const entryOf = (url: URL): Entry =>
  readsTypeScript() || !url.pathname.endsWith(".ts") ? { url } : { url, script: scriptOf(url) };

/** Node 20 needs tsx to run TypeScript, which translates that of the main thread only. */
const readsTypeScript = (): boolean =>
  process.versions.bun !== undefined || process.versions.deno !== undefined ||
  Boolean(Reflect.get(process.features, "typescript"));

const scriptOf = ({ href }: URL): string =>
  `import("${import.meta.resolve("tsx/esm/api")}").then((tsx) => { tsx.register(); return import("${href}"); });`;
