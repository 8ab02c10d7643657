// The client in a Worker, on workerd, whose requests must not wait for each other, and which ends what a request has begun.
// Runs on Node alone.
// Runs in CI alone.
import { readFile } from "node:fs/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { sha256 } from "../../src/common/ids.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { createFolder, startService, until } from "../conformance/processes.ts";
import { startWorker } from "../conformance/workerd.ts";
import { createSeededDatabase } from "../faults/audit.ts";
import { currentRuntime, pathOf } from "../runtimes.ts";

const test = suite("client in a Worker");

// What serves the Worker is the same everywhere.
if (currentRuntime === "Node") {
  test("its requests share the cache and choose as elsewhere, and their records are stored after their responses", async () => {
    const folder = await createFolder();
    const seeded = await createSeededDatabase(`file:${folder.path}/ledger.db`);
    const service = await startService("Node", { DATABASE_URL: seeded.url });
    const bindings = { PROMPTLEDGER_URL: service.url, PROMPTLEDGER_API_KEY: seeded.tenant.key };
    const worker = await startWorker("test/client/worker.ts", `${folder.path}/worker`, bindings);
    const ask = async (path: string) => {
      const response = await fetch(worker.url + path);
      assert.is(response.status, 200, worker.output());
      return await response.json() as { source: string; version: number; reads: number; sent: number; choices: string };
    };
    try {
      // Each of these comes while the prompt is being read, and some end before others.
      const first = await Promise.all(Array.from({ length: 30 }, () => ask("/")));
      assert.ok(first.every(({ source, version }) => ["server", "cache"].includes(source) && version === 1));
      const sessions = Array.from({ length: 30 }, (_, number) => `session-${number}`);
      await Promise.all(sessions.map((session) => ask(`/record?session=${session}`)));
      await until(async () => (await ask("/")).sent === sessions.length);
      const { reads, source } = await ask("/");
      assert.equal([reads, source], [1, "cache"]);
      const { choices: { digest } } = JSON.parse(await readFile(pathOf("test/client/cases.json"), "utf8"));
      assert.is(await sha256((await ask("/choices")).choices), digest);

      assert.is(await service.stop(), 0);
      const database = openDatabase(seeded.url, "manage");
      const stored = await database.read({ sql: "select session_id from diagnoses" });
      database.close();
      assert.equal(stored.map((row) => row.session_id).sort(), sessions.sort());
    } finally {
      await worker.stop("SIGKILL");
      await service.stop("SIGKILL");
      await folder.remove();
    }
  });
}

test.run();
