// Only one process at a time serves a database file.
// Runs on every runtime in CI.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { requireUnserved, whileServed } from "../../src/database/file/file-claim.ts";
import { createService, openService, Refusal } from "../../src/index.ts";
import { atOnce } from "../at-once.ts";
import { runIn } from "../cli/places.ts";
import { send } from "../conformance/http-client.ts";
import { createFolder, startFile, startService } from "../conformance/processes.ts";
import { createSeededDatabase } from "../faults/audit.ts";
import { goodBody, readAnswer } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";
import { createClock, startOnClock } from "./clock.ts";

const claims = suite(`claim on ${currentRuntime}`);
const test = atOnce(claims, 3);

const folder = await createFolder();
claims.after(() => folder.remove());

let files = 0;
async function createFile() {
  const path = `${folder.path}/${++files}.db`;
  return { path, ...await createSeededDatabase(`file:${path}`) };
}

const servedElsewhere = (path: string) =>
  `Another process serves the database ${path}: stop it first. ` +
  "Several processes can share a database on a libSQL server";

const log = { debug() {}, info() {}, warn() {}, error() {} };

const waiting = /(Waiting for the process that serves this database to stop)/;

const submitTo = (base: string, { key, deployId }: Tenant) =>
  send(base, `/v1/prompts?deployId=${deployId}`, {
    method: "POST",
    headers: [`Authorization: Bearer ${key}`],
    body: JSON.stringify(goodBody),
  });

for (const signal of ["SIGKILL", "SIGTERM"] as const) {
  test(`a second service waits for the first, and takes over when that ends after ${signal}`, async () => {
    const { url, tenant } = await createFile();
    const first = await startService(currentRuntime, { DATABASE_URL: url });
    const settings = { DATABASE_URL: url, PORT: "0", SHUTDOWN_TIMEOUT: "3600" };
    const second = await startFile(currentRuntime, "src/cli.ts", settings, waiting, ["serve"]);
    assert.is((await submitTo(first.url, tenant)).status, 201);
    await first.stop(signal);
    const base = await second.until(/Listening.*?(http:\/\/[\d.]+:\d+)/);
    assert.is((await submitTo(base, tenant)).status, 201);
    assert.is(await second.stop(), 0);
  });
}

test("a second service says at once that its port is taken too, and takes over both", async () => {
  const { url, tenant } = await createFile();
  const first = await startService(currentRuntime, { DATABASE_URL: url });
  const { port } = new URL(first.url);
  const both = new RegExp(`${waiting.source}.*cannot listen on 127.0.0.1:${port} .*: the port is in use`);
  const second = await startFile(currentRuntime, "src/cli.ts", { DATABASE_URL: url, PORT: port }, both, ["serve"]);
  await first.stop();
  const base = await second.until(/Listening.*?(http:\/\/[\d.]+:\d+)/);
  assert.equal([base, (await submitTo(base, tenant)).status], [first.url, 201]);
  assert.is(await second.stop(), 0);
});

test("a second service exits with an error if the first keeps serving for 5 s longer than a stop may take", async () => {
  const { path, url, tenant } = await createFile();
  const first = await startService(currentRuntime, { DATABASE_URL: url });
  const clock = createClock(`${folder.path}/clock`);
  const second = await startOnClock(currentRuntime, clock, { DATABASE_URL: url, SHUTDOWN_TIMEOUT: "1" }, waiting);
  clock.set(6_001);
  assert.is(await second.ended, 1);
  assert.ok(second.said().endsWith(`promptledger: ${servedElsewhere(path)}\n`), second.said());
  assert.is((await submitTo(first.url, tenant)).status, 201);
  await first.stop();
});

test("an embedded service is unavailable while another process serves its file, and serves afterwards", async () => {
  const { path, url, tenant } = await createFile();
  const first = await startService(currentRuntime, { DATABASE_URL: url });
  const embedded = createService({ database: url, log });
  const ready = async () => {
    const { status, json } = await readAnswer(await embedded.fetch(new Request("http://ledger.test/readyz")));
    return [status, json];
  };
  assert.equal(await ready(), [503, { error: servedElsewhere(path) }]);
  assert.is((await submitTo(first.url, tenant)).status, 201);
  await first.stop();
  const { key, deployId } = tenant;
  const headers = { Authorization: `Bearer ${key}` };
  const target = `http://ledger.test/v1/prompts?deployId=${deployId}`;
  assert.is((await embedded.fetch(new Request(target, { headers }))).status, 200);
  await embedded.close();
});

for (const schema of ["migrate", "check"] as const) {
  test(`openService waits for the process that serves its file to stop, with schema ${schema}`, async () => {
    const { url, tenant } = await createFile();
    const first = await startService(currentRuntime, { DATABASE_URL: url });
    let waits = () => {};
    const isWaiting = new Promise<void>((resolve) => waits = resolve);
    const warn = (message: string) => void (waiting.test(message) && waits());
    const opening = openService({ database: url, schema, log: { ...log, warn } });
    await isWaiting;
    assert.is((await submitTo(first.url, tenant)).status, 201);
    await first.stop();
    await using service = await opening;
    assert.is((await service.readPrompt(tenant)).quota.used, 2);
  });
}

test("an embedder whose file another process keeps serving gets the reason, with its cause", async () => {
  const { path, url } = await createFile();
  const first = await startService(currentRuntime, { DATABASE_URL: url });
  const service = createService({ database: url, log });
  for (const refused of [whileServed(() => requireUnserved(path), -1, () => {}), service.ready()]) {
    const error = await refused.then(() => undefined, (error: unknown) => error);
    assert.instance(error, Refusal);
    const { kind, message, cause } = error as Refusal;
    assert.equal([kind, message], ["unavailable", servedElsewhere(path)]);
    assert.instance(cause, Error);
  }
  await service.close();
  await first.stop();
});

test("the command line writes beside a service", async () => {
  const { url, tenant } = await createFile();
  const service = await startService(currentRuntime, { DATABASE_URL: url });
  const { code, out } = await runIn(["key", "create", "--workspace", tenant.workspaceId, "--json"], {
    DATABASE_URL: url,
  });
  assert.is(code, 0);
  assert.is((await submitTo(service.url, { ...tenant, key: JSON.parse(out).key })).status, 201);
  assert.is(await service.stop(), 0);
});

claims.run();
