// Runs the cases against a started service on a file, and in full also in process, on a libSQL server, and on workerd. With
// TARGET_URL in the environment they run against the service there, which must have the tests' admin token.
// Runs on every runtime.
import process from "node:process";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { openDatabase } from "../../src/database/file/open.ts";
import { serveDatabase } from "../../src/service/service.ts";
import { migrate } from "../../src/migrate.ts";
import { assertBalanced } from "../balanced.ts";
import { adminToken, openMemory, withManagement } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";
import { cases } from "./cases.ts";
import { connectionCases } from "./cases/connections.ts";
import { liveDay, makeArchive } from "./cases/day.ts";
import { send } from "./http-client.ts";
import { inProcess } from "./in-process.ts";
import { createFolder, startService, startSqld } from "./processes.ts";
import type { Running } from "./processes.ts";
import { findSqld } from "./sqld.ts";
import { createTarget } from "./target.ts";
import type { Send, Target } from "./target.ts";
import { startWorker } from "./workerd.ts";

/** A running service. `archive` is a workspace with old records in its database. */
type Served = { send: Send; base?: string; archive?: string; service?: Running };

const ago = () => Date.now() - 100 * 86_400_000;

async function serveInProcess(): Promise<Served> {
  const database = await openMemory();
  const before = serveDatabase(database, { faces: withManagement, clock: ago });
  const archive = await makeArchive(inProcess(before.fetch));
  const { fetch } = serveDatabase(database, { faces: withManagement });
  return { send: inProcess(fetch), archive };
}

type Start = (settings: Record<string, string>) => Promise<Running>;

async function serveOn(url: string, start: Start): Promise<Served> {
  await migrate(url);
  const database = openDatabase(url);
  const before = serveDatabase(database, { faces: withManagement, clock: ago });
  const archive = await makeArchive(inProcess(before.fetch));
  database.close();
  const service = await start({ DATABASE_URL: url, ADMIN_TOKEN: adminToken });
  return { send: send.bind(undefined, service.url), base: service.url, archive, service };
}

const sqld = await findSqld();

type Plan = {
  name: string;
  store?: "sqld";
  /** Whether it runs in full alone, because it finds little that the others do not. */
  isExtra?: boolean;
  serve(url: string, folder: string): Promise<Served>;
};

const start: Start = (settings) => startService(currentRuntime, settings);

const plans: Plan[] = [
  { name: `${currentRuntime} in process`, isExtra: true, serve: serveInProcess },
  { name: `${currentRuntime} with file`, serve: (_, folder) => serveOn(`file:${folder}/ledger.db`, start) },
  {
    name: `${currentRuntime} with sqld`,
    store: "sqld",
    isExtra: true,
    serve: (url) => serveOn(url, start),
  },
];
if (currentRuntime === "Node") {
  const serve = (url: string, folder: string) =>
    serveOn(url, (settings) => startWorker("src/worker.ts", `${folder}/worker`, settings));
  plans.push({ name: "workerd with sqld", store: "sqld", isExtra: true, serve });
}
const { TARGET_URL } = process.env;
if (TARGET_URL !== undefined) {
  const serve = () => Promise.resolve({ base: TARGET_URL, send: send.bind(undefined, TARGET_URL) });
  plans.splice(0, plans.length, { name: TARGET_URL, serve });
}

for (const { name, store, serve } of plans.filter(({ isExtra }) => isFull || isExtra !== true)) {
  const test = suite(`conformance on ${name}`);
  if (store === "sqld" && "missing" in sqld) {
    console.log(`skipped: conformance on ${name}: ${sqld.missing}`);
    for (const [name] of cases) test.skip(name);
    test.run();
    continue;
  }

  const folder = await createFolder();
  let server: Running | undefined;
  let served: Served;
  let target: Target;

  test("the service starts", async () => {
    if (store === "sqld" && "binary" in sqld) server = await startSqld(sqld.binary, folder.path);
    served = await serve(server?.url ?? "", folder.path);
    target = await createTarget(served.send);
  });

  for (const [name, run] of cases) test(name, () => run(target));

  if (!name.includes("in process")) {
    for (const [name, run] of connectionCases) test(name, () => run(target, served.base!));
  }

  if (TARGET_URL === undefined) {
    const add = name === "Node with file" ? test : test.full;
    add("a team's day, with everything it does to its prompts, keys and records", () =>
      // A Worker has a transaction for each request, and sqld stalls for seconds when many come at once.
      liveDay(target, served.archive!, name.startsWith("workerd") ? 2 : 8));
  }

  test("the ledger balances", async () => void assertBalanced(await target.manage("GET", "/verify")));

  test("SIGTERM ends the service with exit code 0, and its log has no failure and no key", async () => {
    const code = await served.service?.stop() ?? 0;
    // A Worker has no say in how workerd ends.
    if (!name.startsWith("workerd")) assert.is(code, 0);
    // Some cases use their quota up, which is a warning.
    const lines = (served.service?.output().split("\n") ?? []).filter((line) => !line.includes("Quota is used up"));
    assert.equal(lines.filter((line) => /^\S+ (warn|error) |internal|pl_/i.test(line)), []);
  });

  test.after(async () => {
    await served?.service?.stop("SIGKILL");
    await server?.stop("SIGKILL");
    await folder.remove();
  });
  test.run();
}
