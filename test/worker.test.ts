// The Worker entry, bundled as a Worker is, so that what it pulls in is what a Worker would get.
import { writeFile } from "node:fs/promises";
import { build } from "esbuild";
import { management } from "../src/management.ts";
import { listDeploymentChanges } from "../src/management/deployments/deployment-changes.ts";
import { getDeployment } from "../src/management/deployments/deployments.ts";
import type { Session } from "../src/management/kernel/operation.ts";
import { listRollouts, setRollout } from "../src/management/deployments/rollout-operations.ts";
import { call, pushPrompt } from "./actions.ts";
import { testWebhook } from "../src/management/events/webhook-deliveries.ts";
import { createWebhook } from "../src/management/events/webhooks.ts";
import { suite } from "./suite.ts";
import * as assert from "uvu/assert";
import { migrations } from "../src/database/migrations.ts";
import { openDatabase } from "../src/database/file/open.ts";
import { createFolder, startSqld } from "./conformance/processes.ts";
import { findSqld } from "./conformance/sqld.ts";
import { adminToken, createTenant, goodBody, managementOf, promptFile, readAnswer, toPrompt } from "./helpers.ts";
import type { Tenant } from "./helpers.ts";
import { createReceiver } from "./runtime/receiver.ts";
import { currentRuntime, pathOf } from "./runtimes.ts";

const migrationNames = migrations.map(({ name }) => name);

const test = suite("worker");

type WorkerModule = typeof import("../src/worker.ts");

/** Bindings as Workers have them: an interface, with more in it than settings. */
interface Env {
  DATABASE_URL: string;
  LOG_LEVEL: string;
  CORS_ORIGIN?: string;
  WEBHOOK_ALLOW?: string;
  BUCKET: object;
}

const sqld = await findSqld();
const folder = await createFolder();
test.after(() => folder.remove());

// Bundling is the same on every runtime.
const bundled = currentRuntime === "Node" ? await bundle() : undefined;

async function bundle() {
  const { outputFiles, metafile } = await build({
    entryPoints: [pathOf("src/worker.ts")],
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "browser",
    conditions: ["workerd", "worker"],
    logLevel: "error",
  });
  const text = outputFiles[0]!.text;
  await writeFile(`${folder.path}/worker.mjs`, text);
  return { text, inputs: Object.keys(metafile.inputs), url: `file://${folder.path}/worker.mjs` };
}

if (bundled !== undefined) {
  test("the bundle pulls in no native module and nothing of Node's", () => {
    assert.ok(bundled.inputs.some((name) => name.includes("@libsql/client/lib-esm/http.js")));
    assert.not.ok(bundled.inputs.some((name) => /sqlite3|\.node$|node_modules\/libsql\//.test(name)));
    assert.not.match(bundled.text, /from ?"node:|require\("/);
  });
}

async function servesAndRecords(binary: string, workerUrl: string): Promise<void> {
  const { default: worker, ...named }: WorkerModule = await import(workerUrl);
  const server = await startSqld(binary, `${folder.path}/data-${workerUrl.length}`);
  const database = openDatabase(server.url);
  try {
    assert.equal(await named.migrate(server.url), migrationNames);
    assert.equal(await named.migrate({ url: server.url }), []);
    const admin = managementOf(database, Date.now), tenant = await createTenant(admin);
    const { key, deployId } = tenant;
    const env: Env = { DATABASE_URL: server.url, LOG_LEVEL: "warn", BUCKET: {} };
    const url = `https://example.com/v1/prompts?deployId=${deployId}`;
    const headers = { Authorization: `Bearer ${key}` };
    const read = await readAnswer(await worker.fetch(new Request(url, { headers }), env));
    assert.equal([read.status, (read.json as { title: string }).title], [200, "Greeting"]);
    const submit = new Request(url, { method: "POST", headers, body: JSON.stringify(goodBody) });
    assert.is((await worker.fetch(submit, env)).status, 201);
    // A Worker's request that waits for what another one does is never answered: none shares a transaction.
    const atOnce = Array.from({ length: 8 }, () => worker.fetch(new Request(url, { headers }), env));
    for (const answer of await Promise.all(atOnce)) assert.is(answer.status, 200);
    const [row] = await database.read({ sql: "select count(*) as commits from commits" });
    assert.is(row!.commits, 10);
    await givesFeedback((path, init) =>
      worker.fetch(new Request(`https://example.com${path}`, { headers, ...init }), env)
    );
    const asking = { Origin: "https://app.example.com", "Access-Control-Request-Method": "POST" };
    const preflight = new Request(url, { method: "OPTIONS", headers: asking });
    const allowed = await worker.fetch(preflight, { ...env, CORS_ORIGIN: asking.Origin });
    assert.equal([allowed.status, allowed.headers.get("Access-Control-Allow-Origin")], [204, asking.Origin]);
    await database.write([
      { sql: "update workspaces set keep_records_ms = 86400000" },
      { sql: "update commits set created_at = created_at - 2 * 86400000" },
    ]);
    const receiver = await createReceiver((response) =>
      response.writeHead(302, { Location: "/other" }).end("x".repeat(9_000))
    );
    const { id } = await call(createWebhook, { ...admin, urlFault: () => undefined }, { url: receiver.url });
    await call(testWebhook, admin, { id });
    await worker.scheduled({}, { ...env, WEBHOOK_ALLOW: receiver.host });
    receiver.close();
    const [delivery] = await database.read({
      sql: "select status, length(response) as characters from webhook_deliveries",
    });
    assert.equal([receiver.received.length, delivery], [1, { status: 302, characters: 1024 }]);
    await sendsSoonAfterChange(worker, env, tenant);
    const [deleted] = await database.read({ sql: "select count(*) as records from deleted_diagnoses" });
    assert.is(deleted!.records, 1);
    await stopsByGuard(
      admin,
      tenant,
      (body) => worker.fetch(new Request("https://example.com/v1/diagnoses", { method: "POST", headers, body }), env),
      () => worker.scheduled({}, env),
    );
    assert.is((await worker.fetch(new Request("https://example.com/readyz"), env)).status, 200);
    assert.is((await worker.fetch(new Request("https://example.com/metrics"), env)).status, 404);
    await servesFromModuleScope(named, server.url, new Request(url, { headers }));
  } finally {
    database.close();
    await server.stop("SIGKILL");
  }
}

/** A change reaches webhooks after its response, without the cron trigger. What changes nothing looks for nothing. */
async function sendsSoonAfterChange({ fetch }: WorkerModule["default"], env: Env, { workspaceId }: Tenant) {
  const receiver = await createReceiver((response) => response.writeHead(204).end());
  const bindings = { ...env, ADMIN_TOKEN: adminToken, WEBHOOK_ALLOW: receiver.host };
  const sentAfter = async (method: string, path: string, body?: object) => {
    const before = receiver.received.length, waited: Promise<unknown>[] = [];
    const context = { waitUntil: (promise: Promise<unknown>) => void waited.push(promise) };
    const headers = { Authorization: `Bearer ${adminToken}`, "Content-Type": "application/json" };
    const init = { method, headers, ...body && { body: JSON.stringify(body) } };
    const { status } = await fetch(new Request(`https://example.com/admin/v1${path}`, init), bindings, context);
    assert.is((await Promise.all(waited)).length, method === "GET" ? 0 : 1);
    return [status, receiver.received.length - before];
  };
  const path = `/workspaces/${workspaceId}`;
  assert.equal(await sentAfter("POST", "/webhooks", { url: receiver.url, events: "workspace.updated" }), [201, 0]);
  assert.equal(await sentAfter("PATCH", path, { name: "New" }), [200, 1]);
  assert.equal(await sentAfter("PATCH", path, { name: "" }), [400, 0]);
  assert.equal(await sentAfter("GET", path), [200, 0]);
  receiver.close();
}

/** The cron trigger checks guards, and stops a rollout once. */
async function stopsByGuard(
  admin: Session,
  { promptId, deployId: id }: Tenant,
  send: (body: string) => Promise<Response>,
  trigger: () => Promise<void>,
): Promise<void> {
  await pushPrompt(admin, promptId, toPrompt({ ...promptFile, title: "Warmer" }));
  const { rollout } = await call(setRollout, admin, { id, version: 2, percent: 50, guard: "failures=+2%" });
  await trigger();
  assert.is((await call(getDeployment, admin, { id })).rollout?.id, rollout!.id);
  const records = [1, 2].flatMap((promptVersion) =>
    Array.from({ length: 100 }, (_, nth) => ({
      ...{ ...goodBody, deployId: id, promptVersion, rollout: rollout!.id, sessionId: `${promptVersion} ${nth}` },
      status: nth < (promptVersion === 1 ? 5 : 80) ? 0 : 1,
    }))
  );
  assert.is((await send(JSON.stringify({ records }))).status, 200);
  // A rollout is checked once a minute.
  await admin.database.write([{ sql: "update rollouts set checked_at = checked_at - 61000" }]);
  await Promise.all([trigger(), trigger()]);
  const { items: [stopped] } = await call(listRollouts, admin, { id });
  assert.is(stopped!.outcome, "guard");
  const { items: changes } = await call(listDeploymentChanges, admin, { id });
  assert.equal(changes.map(({ action, actor }) => [action, actor]).slice(0, 2), [
    ["rollout_stopped", "guard"],
    ["rollout_started", ""],
  ]);
  assert.match(changes[0]!.note, "failures 75 points");
}

/** Feedback that comes at the same moment shares no transaction either. Early feedback joins its record. */
async function givesFeedback(send: (path: string, init: RequestInit) => Promise<Response>): Promise<void> {
  const give = (name: string, value: unknown) =>
    send(`/v1/diagnosis/early/feedback/${name}`, { method: "PUT", body: JSON.stringify({ value }) });
  const answers = await Promise.all(["a", "b", "c", "d"].map((name) => give(name, true)));
  assert.equal(answers.map(({ status }) => status), [200, 200, 200, 200]);
  const feedback = [{ record: "early", name: "a", value: false }, { record: "diag_x", name: "a", value: true }];
  const many = await readAnswer(await send("/v1/feedback", { method: "POST", body: JSON.stringify({ feedback }) }));
  const waiting = { status: 200, recordId: null, isChanged: true };
  assert.equal(many.json, { results: [waiting, waiting] });
  const { json } = await readAnswer(await give("a", false));
  assert.equal((json as { isChanged: boolean }).isChanged, false);
}

/** While a Worker's module is loaded there are no random values and no timers. */
async function servesFromModuleScope(
  { createService, createLog }: Omit<WorkerModule, "default">,
  database: string,
  request: Request,
): Promise<void> {
  const { random } = Math;
  const { setTimeout, setInterval } = globalThis;
  const { getRandomValues } = crypto;
  const forbid = () => {
    throw new Error("Disallowed operation called within global scope");
  };
  crypto.getRandomValues = forbid;
  Object.assign(Math, { random: forbid });
  Object.assign(globalThis, { setTimeout: forbid, setInterval: forbid });
  let service;
  try {
    const log = createLog({ level: "warn", format: "json", clock: Date.now, write: () => {} });
    service = createService({ database, log, faces: [management({ adminToken: "x".repeat(32) })] });
  } finally {
    crypto.getRandomValues = getRandomValues;
    Object.assign(Math, { random });
    Object.assign(globalThis, { setTimeout, setInterval });
  }
  assert.is((await service.fetch(request.clone() as Request)).status, 200);
  assert.is(service.countInFlight(), 0);
  await service.close();
  assert.is((await service.fetch(request)).status, 503);
  assert.throws(
    () => createService({ database: "file:ledger.db" }),
    /database must be remote: there are no files here/,
  );
}

for (
  const [name, url] of [["source", `file://${pathOf("src/worker.ts")}`], ["bundle", bundled?.url]] as const
) {
  if (url === undefined) continue;
  if ("binary" in sqld) {
    // What a Worker gets is the bundle.
    const add = name === "source" && bundled !== undefined ? test.full : test;
    add(`the ${name} serves and records over HTTP, as its bindings say`, () => servesAndRecords(sqld.binary, url));
  } else {
    console.log(`skipped: a Worker's ${name} on its store: ${sqld.missing}`);
    test.skip();
  }
}

test.run();
