// A thread that reads a served file, so that long reads do not hold up the thread that serves.
import { closeSync, existsSync, openSync } from "node:fs";
import process from "node:process";
import { clearTimeout, setTimeout } from "node:timers";
import { Worker } from "node:worker_threads";
import { describeError } from "../../common/log.ts";
import { hasCode } from "../database.ts";
import type { Row, Statement } from "../database.ts";
import { createQueue } from "../queue.ts";

/** Reply of the thread. */
export type Reply = { rows: Row[]; error?: undefined } | {
  rows?: undefined;
  error: { message: string; code: string | undefined };
};

const lostCode = "READER_LOST";
export const isReaderLost = (error: unknown): boolean => hasCode(error, /^READER_LOST$/);

export type ReaderThread = {
  /**
   * Runs a statement on the thread, one at a time, and starts the thread unless it runs. Returns undefined if it cannot
   * be started here. Rejects as `isReaderLost` if it ends meanwhile.
   */
  read(statement: Statement): Promise<Row[] | undefined>;
  /** Ends the thread for good, once the read that runs has ended. Returns undefined if it never ran. */
  end(): Promise<void> | undefined;
};

const defaultTimes = {
  // The thread ends after this time without a read. On Deno it stays, because each thread that has loaded libsql leaks
  // two file descriptors.
  idleMs: process.versions.deno === undefined ? 60_000 : Infinity,
  replyMs: 60_000, // for a read, more than any slice of long work takes
};
const endMs = 10_000; // for the thread to end, with the statement that it runs
const retryMs = 60_000; // until the next attempt where the thread could not be started

/** `entry` is the program of the thread. The times are in ms, and are looked up when they begin. */
type ThreadOptions = { entry?: Entry | undefined; idleMs?: number; replyMs?: number };

/** Creates the reader thread of a file, which starts with the first read. */
export function createThread(path: string, options: ThreadOptions = {}): ReaderThread {
  const { entry } = { entry: findEntry(), ...options };
  const queue = createQueue();
  let reader: Reader | undefined;
  let failedAt = -Infinity;
  let isOver = false;

  async function start(): Promise<Reader | undefined> {
    if (reader?.isEnding() === false) return reader;
    if (isOver || entry === undefined || performance.now() - failedAt < retryMs) return undefined;
    try {
      requireDescriptors(entry);
      reader = startReader(entry, path, options);
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

function startReader(entry: Entry, path: string, times: ThreadOptions): Reader {
  const state = new Int32Array(new SharedArrayBuffer(4)).fill(busy);
  const worker = new Worker(...argumentsOf(entry, { path, state }));
  const waiting: ((reply: Reply) => void)[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ending: Promise<void> | undefined;
  delayExit(state);

  worker.on("message", (reply: Reply) => waiting.shift()?.(reply));
  worker.on("error", lose);
  const exited = new Promise<void>((resolve) =>
    worker.on("exit", () => {
      states.delete(state);
      lose(new Error("it ended"));
      resolve();
    })
  );

  /** Fails all waiting reads. Their replies may still come, so they stay in the list. */
  function lose(cause: unknown): void {
    const error = { message: `The reader thread was lost: ${describeError(cause)}`, code: lostCode };
    for (const settle of waiting) settle({ error });
    void end();
  }

  /** Resolves with the next reply. It keeps the process alive meanwhile. */
  async function nextReply(): Promise<Row[]> {
    const { idleMs, replyMs } = { ...defaultTimes, ...times };
    clearTimeout(timer);
    timer = setTimeout(() => lose(new Error(`no reply within ${replyMs} ms`)), replyMs);
    worker.ref();
    const { rows, error } = await new Promise<Reply>((resolve) => waiting.push(resolve));
    clearTimeout(timer);
    // The statement may not have run to its end. Then it holds a snapshot, and the write-ahead log would grow forever.
    if (error !== undefined) void end();
    if (ending === undefined) {
      worker.unref();
      if (idleMs < Infinity) timer = setTimeout(end, idleMs).unref();
    }
    if (rows !== undefined) return rows;
    throw Object.assign(new Error(error.message), { code: error.code });
  }

  const end = () => ending ??= close();

  /** Ends the thread once it has closed its connection. Waits no longer than `endMs`, and lets it end later. */
  async function close(): Promise<void> {
    worker.ref();
    worker.postMessage(null);
    const closed = new Promise<Reply>((resolve) => waiting.push(resolve)).then(() => worker.terminate());
    const timeout = new Promise((resolve) => setTimeout(resolve, endMs).unref());
    await Promise.race([closed, exited, timeout]);
    worker.unref();
  }

  return {
    ready: nextReply(),
    read(statement) {
      worker.postMessage(statement);
      return nextReply();
    },
    end,
    isEnding: () => ending !== undefined,
  };
}

// A thread must not be ended while it runs native code: libsql then aborts the process. So a thread is ended only after
// it has reported that its connection is closed, and it shares its state with this thread, because Node ends all
// threads on exit.
export const idle = 0, busy = 1, stopped = 2;

const states = new Set<Int32Array>(); // of the running threads
let delaysExit = false;

/** Lets the process exit only while the thread is idle, and stops the thread then. */
function delayExit(state: Int32Array): void {
  states.add(state);
  if (!delaysExit) process.on("exit", () => states.forEach(stop));
  delaysExit = true;
}

function stop(state: Int32Array): void {
  while (Atomics.compareExchange(state, 0, idle, stopped) === busy) {
    if (Atomics.wait(state, 0, busy, endMs) === "timed-out") return;
  }
}

/** Start of the thread: a file, or a script that loads it. */
type Entry = { url: URL; script?: string };

/** Data passed to the thread: the path of the file, and its state. */
export type ThreadData = { path: string; state: Int32Array };

const argumentsOf = ({ url, script }: Entry, workerData: ThreadData): ConstructorParameters<typeof Worker> =>
  script === undefined ? [url, { workerData }] : [script, { workerData, eval: true }];

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

/** Entry of a file as a thread. Throws if it is TypeScript, which neither this runtime nor tsx can run. */
export const entryOf = (url: URL): Entry =>
  readsTypeScript() || !url.pathname.endsWith(".ts") ? { url } : { url, script: scriptOf(url) };

/** True if the runtime runs TypeScript. Node 20 needs tsx, which translates that of the main thread only. */
const readsTypeScript = (): boolean =>
  process.versions.bun !== undefined || process.versions.deno !== undefined ||
  Boolean(Reflect.get(process.features, "typescript"));

const scriptOf = ({ href }: URL): string =>
  `import("${import.meta.resolve("tsx/esm/api")}").then((tsx) => { tsx.register(); return import("${href}"); });`;
