// Management on a served file reads on the reader thread, so that nobody waits for it, and it waits for nobody.
// Runs on every runtime in CI.
import { stat } from "node:fs/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { verifyBalanced } from "../balanced.ts";
import { classifyErrors } from "../../src/database/database.ts";
import type { Database, Statement } from "../../src/database/database.ts";
import { openMigrated } from "../../src/database/file/open-migrated.ts";
import { createFolder } from "../conformance/processes.ts";
import { adminToken, createWorld, goodBody, openMemory, promptFile } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";

const test = suite(`management on the reader thread, on ${currentRuntime}`);

const folder = await createFolder();
test.after(() => folder.remove());

let files = 0;

/** A world on a served file, and how many reads management has made on the thread and on the connection. */
async function createServed() {
  const path = `${folder.path}/${++files}.db`;
  const { database } = await openMigrated(`file:${path}`, "serve");
  const counts = { aside: 0, direct: 0 };
  const counted: Database = {
    ...database,
    read: (statement) => (counts.direct++, database.read(statement)),
    readAside: (statement: Statement) => (counts.aside++, database.readAside!(statement)),
  };
  const world = await createWorld({ database: counted, monthlyLimit: 1e9, maxBodyBytes: 65_536 });
  return { world, path, counts, logSize: () => stat(`${path}-wal`).then(({ size }) => size) };
}

test("reads there alone, and sees what was written before", async () => {
  const { world, counts } = await createServed();
  const { deployId, promptId, workspaceId } = world;
  await Promise.all([world.read(), world.submit(), world.submit()]);
  counts.direct = 0;
  for (let version = 2; version <= 20; version++) {
    await world.manage("POST", `/prompts/${promptId}/versions`, { ...promptFile, title: `Title ${version}` });
    await world.manage("POST", `/deployments/${deployId}/promote`, { version });
    const { json } = await world.manage("GET", `/deployments/${deployId}`);
    assert.is((json as { currentVersion: number }).currentVersion, version);
  }
  for (
    const path of [
      `/deployments/${deployId}/diagnoses`,
      `/deployments/${deployId}/diagnoses?text=hello`,
      `/deployments/${deployId}/diagnoses/export`,
      `/deployments/${deployId}/stats`,
      `/workspaces/${workspaceId}/calls`,
      `/workspaces/${workspaceId}/usage`,
      "/verify",
    ]
  ) {
    const { status, text } = await world.manage("GET", path);
    assert.is(status, 200, path);
    assert.ok(text.length > 10, path);
  }
  assert.is(counts.direct, 0);
  assert.ok(counts.aside > 60);
  await world.close();
});

test("is 503 when its thread is lost, and is served again", async () => {
  let isLost = true;
  const memory = await openMemory();
  const readAside = (statement: Statement) =>
    isLost ? Promise.reject(new Error("The reader thread was lost: it ended")) : memory.read(statement);
  const database = classifyErrors({ ...memory, readAside }, () => "retryable");
  const world = await createWorld({ database });
  for (const path of ["/workspaces", "/verify"]) {
    isLost = true;
    const { status, json, headers } = await world.manage("GET", path);
    assert.equal([status, json], [503, { error: "Database is busy", code: "unavailable" }], path);
    assert.ok(headers.has("Retry-After"));
    assert.match(JSON.parse(world.logged.at(-1)!).cause, /reader thread was lost/);
    assert.is((await world.read()).status, 200);
    isLost = false;
    assert.is((await world.manage("GET", path)).status, 200, path);
  }
});

test.full("keeps the write-ahead log bounded while an export is read slowly, statistics are read, and records come in", async () => {
  const { world, logSize } = await createServed();
  const { deployId } = world;
  const output = "x".repeat(32_768);
  const submitMany = (count: number) =>
    Promise.all(Array.from({ length: count }, () => world.submit({ ...goodBody, content: { output } })));
  for (let time = 0; time < 10; time++) await submitMany(64);
  const headers = { Authorization: `Bearer ${adminToken}` };
  const request = new Request(`http://ledger.test/admin/v1/deployments/${deployId}/diagnoses/export`, { headers });
  const reader = (await world.fetch(request)).body!.getReader();
  let largest = 0, written = 0;
  while (!(await reader.read()).done) {
    // Statistics hold a checkpoint back for as long as they are read, so they end with the records beside them.
    const [{ status }] = await Promise.all([
      world.manage("GET", `/deployments/${deployId}/stats`),
      submitMany(128),
    ]);
    assert.is(status, 200);
    written += 128 * output.length;
    largest = Math.max(largest, await logSize());
  }
  assert.ok(written > 64 * 1024 * 1024, `${written} bytes written`);
  // The service checkpoints from 16 MiB on, and tries again every 4 MiB.
  assert.ok(largest < 32 * 1024 * 1024, `a log of ${largest} bytes`);
  await verifyBalanced(world.admin);
  await world.close();
});

test("closes while an export is read", async () => {
  const { world } = await createServed();
  await Promise.all(Array.from({ length: 100 }, () => world.submit()));
  const headers = { Authorization: `Bearer ${adminToken}` };
  const path = `/admin/v1/deployments/${world.deployId}/diagnoses/export`;
  const response = await world.fetch(new Request(`http://ledger.test${path}`, { headers }));
  const closed = world.close();
  assert.match(await response.text(), /^(\{.*\}\n){100}$/);
  await closed;
});

test.run();
