// A person's week at the console in a real Chromium, wherever the service runs: on each runtime, on Workers, and mounted in a
// host; with scripts, and on Node without them too.
// Runs on Node alone.
// Runs in CI alone.
import { copyFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import express from "express";
import { suite } from "../suite.ts";
import { Refusal } from "../../src/common/errors.ts";
import { createSlots } from "../../src/support/slots.ts";
import { consolePages } from "../../src/console.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { createService } from "../../src/index.ts";
import { management } from "../../src/management.ts";
import { migrate } from "../../src/migrate.ts";
import { toNodeHandler } from "../../src/node.ts";
import { writeHistory } from "../../src/runtime/demo/demo-history.ts";
import { createFolder, startService, startSqld } from "../conformance/processes.ts";
import { findSqld } from "../conformance/sqld.ts";
import { startWorker } from "../conformance/workerd.ts";
import { currentRuntime } from "../runtimes.ts";
import type { Runtime } from "../runtimes.ts";
import { startBrowser } from "./browser.ts";
import { liveThroughWeek } from "./week.ts";

const test = suite("a person's week");

/** Writes the history of the demo to a database, all of it into the file itself. Returns the token of an owner. */
async function fill(url: string): Promise<string> {
  await migrate(url);
  const database = openDatabase(url, "serve");
  const { token } = await writeHistory(database, Date.now());
  await database.close();
  return token;
}

/** A service that runs: its URL, the token of an owner, and how it ends. */
type Served = { url: string; token: string; end(): Promise<unknown> };

/** Copies a file with the history of the demo, which is made once. */
function fileOf(folder: string) {
  let model: Promise<string> | undefined;
  return async (path: string) => {
    model ??= fill(`file:${folder}/model.db`);
    const token = await model;
    await copyFile(`${folder}/model.db`, path);
    return { database: `file:${path}`, token };
  };
}

type Files = ReturnType<typeof fileOf>;

const on = (runtime: Runtime) => async (files: Files, path: string): Promise<Served> => {
  const { database, token } = await files(path);
  const { url, stop } = await startService(runtime, { DATABASE_URL: database, MANAGEMENT: "true" });
  return { url, token, end: () => stop() };
};

async function inExpress(files: Files, path: string): Promise<Served> {
  const { database, token } = await files(path);
  const faces = [management({ tokens: true }), consolePages()];
  const service = createService({ database, basePath: "/llm", faces });
  const server = express().use("/llm", toNodeHandler(service)).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/llm`, token, end: () => service.close().then(() => server.close()) };
}

const onWorkers = (sqld: string) => async (_: Files, path: string): Promise<Served> => {
  const server = await startSqld(sqld, `${path}.sqld`);
  const token = await fill(server.url);
  const worker = await startWorker("src/worker.ts", path, { DATABASE_URL: server.url, MANAGEMENT: "true" });
  const end = () => worker.stop("SIGKILL").then(() => server.stop("SIGKILL"));
  return { url: worker.url, token, end };
};

type Week = { name: string; hasScripts?: false; serve(files: Files, path: string): Promise<Served> };

const all: Week[] = [
  { name: "on Node", serve: on("Node") },
  { name: "on Node, without scripts", hasScripts: false, serve: on("Node") },
  { name: "on Bun", serve: on("Bun") },
  { name: "on Deno", serve: on("Deno") },
  { name: "mounted under /llm in Express", serve: inExpress },
];

const lanes = 3; // weeks at once: a browser waits most of the time

// One process of tests lives through them all.
if (currentRuntime === "Node") {
  const sqld = await findSqld();
  if ("missing" in sqld) console.log(`skipped: a person's week on Workers: ${sqld.missing}`);
  // It takes longest, so it comes first.
  else all.unshift({ name: "on Workers", serve: onWorkers(sqld.binary) });

  const lived = new Map<string, Promise<void>>();
  test.before(async () => {
    const { path: folder, remove } = await createFolder();
    const browser = await startBrowser();
    const files = fileOf(folder);
    const room = createSlots(lanes, 300_000, () => new Refusal("overloaded", "The weeks before took too long"));
    for (const [index, { name, hasScripts = true, serve }] of all.entries()) {
      const live = async () => {
        const { url, token, end } = await serve(files, `${folder}/${index}.db`);
        await liveThroughWeek(browser, { url: `${url}/console`, token }, hasScripts).finally(end);
      };
      lived.set(name, room.enter(name).then((leave) => live().finally(leave)));
    }
    // A test awaits each of them. All have ended when the browser does.
    void Promise.allSettled(lived.values()).then(() => Promise.all([browser.close(), remove()]));
  });

  for (const { name } of all) test(name, () => lived.get(name));
}

test.run();
