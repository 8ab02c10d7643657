// The reader thread of a served file, started by thread.ts: it returns the rows of each statement. Its name is
// distinctive because thread.ts looks for it in its own folder, which in a bundle has other files.
import process from "node:process";
import v8 from "node:v8";
import vm from "node:vm";
import { parentPort, workerData } from "node:worker_threads";
import { connect } from "./file.ts";
import type { Row, Statement } from "../database.ts";
import { busy, idle, stopped } from "./thread.ts";
import type { Reply, ThreadData } from "./thread.ts";

declare const Bun: { gc(isSynchronous: boolean): void };

const { path, state }: ThreadData = workerData;
const connection = connect(path, "read");

/**
 * Replies with the result of `run`, unless the process is exiting. The thread is busy meanwhile, and from its start.
 */
async function answer(run: () => Promise<Row[] | void>, before = idle): Promise<void> {
  if (Atomics.compareExchange(state, 0, before, busy) === stopped) return;
  const answered = await reply(run);
  Atomics.store(state, 0, idle);
  Atomics.notify(state, 0);
  parentPort!.postMessage(answered);
}

async function reply(run: () => Promise<Row[] | void>): Promise<Reply> {
  try {
    return { rows: await run() ?? [] };
  } catch (error) {
    const { message, code } = error as { message?: unknown; code?: unknown };
    return { error: { message: String(message), code: typeof code === "string" ? code : undefined } };
  }
}

/** Takes the first snapshot, which opens the write-ahead log too. */
async function open(): Promise<void> {
  await connection.open!();
  await connection.read({ sql: "pragma query_only = on" });
  await connection.read({ sql: "pragma schema_version" });
}

/**
 * Closes the connection. libSQL leaves that to the garbage collector while a statement exists, and only Node finalizes
 * the objects of an ended thread.
 */
async function close(): Promise<void> {
  connection.close();
  if (process.versions.bun === undefined && process.versions.deno === undefined) return;
  // The statements are out of reach in the next task only, and what they held is freed in the one after that.
  await nextTask();
  collectGarbage();
  await nextTask();
}

const nextTask = () => new Promise((resolve) => setTimeout(resolve, 1));

function collectGarbage(): void {
  if (process.versions.bun !== undefined) return Bun.gc(true);
  v8.setFlagsFromString("--expose-gc");
  vm.runInNewContext("gc")();
}

let isClosing = false;

parentPort!.on("message", (statement: Statement | null) => {
  if (isClosing) return;
  isClosing = statement === null;
  void answer(() => statement === null ? close() : connection.read(statement));
});
await answer(open, busy);
