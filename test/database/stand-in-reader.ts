// Stands in for the reader thread: answers each statement with its text, and fails in the way that a statement names.
import { parentPort, workerData } from "node:worker_threads";
import type { Statement } from "../../src/database/database.ts";
import { idle } from "../../src/database/file/thread.ts";
import type { ThreadData } from "../../src/database/file/thread.ts";

const { path, state }: ThreadData = workerData;
// It runs no native code.
Atomics.store(state, 0, idle);

const reply = (text: string) => parentPort!.postMessage({ rows: [{ text }] });
const late: string[] = [];

parentPort!.on("message", (statement: Statement | null) => {
  const sql = statement?.sql ?? "end";
  if (sql === "die") throw new Error("it was told to die");
  if (sql === "answer late") late.push(sql);
  else [...late, sql].forEach(reply);
});
if (path === "cannot open") parentPort!.postMessage({ error: { message: "no", code: "SQLITE_CANTOPEN" } });
else if (path === "cannot start") throw new Error("it cannot start");
else reply("ready");
