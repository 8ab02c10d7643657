// Management from code: every operation as a function, with the rules and the audit log of a request.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { Refusal } from "../../src/common/errors.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { createService } from "../../src/index.ts";
import { management } from "../../src/management.ts";
import { operations } from "../../src/management/index.ts";
import { migrate } from "../../src/migrate.ts";
import { createFolder } from "../conformance/processes.ts";
import { currentRuntime } from "../runtimes.ts";

const test = suite(`management from code on ${currentRuntime}`);

const folder = await createFolder();
const database = `file:${folder.path}/ledger.db`;
await migrate(database);
const service = createService({ database, faces: [management()] });
const { admin } = service;
test.after(async () => {
  await service.close();
  await folder.remove();
});

const refused = (promise: Promise<unknown>) =>
  promise.then(
    () => "accepted",
    (error: unknown) => error instanceof Refusal ? `${error.code}: ${error.message}` : error,
  );

test("has every operation", () => {
  assert.equal(Object.keys(admin), operations.map(({ id }) => id));
  assert.ok(operations.length > 40);
});

test("sets up a tenant, whose prompt is served and whose record is listed", async () => {
  const { id: workspaceId } = await admin.createWorkspace({ name: "Acme", monthlyLimit: 10 });
  const { key } = await admin.createApiKey({ workspaceId });
  const messages = [{ role: "user", content: "Hello {{name}}", cache: true }];
  const prompt = await admin.createPrompt({ workspaceId, title: "Greeting", messages, llmConfig: { model: "small" } });
  assert.equal([prompt.name, prompt.messages, prompt.llmConfig, prompt.variables], [
    "greeting",
    messages,
    { model: "small" },
    ["name"],
  ]);
  await admin.createDeployment({ workspaceId, promptId: prompt.name, name: "production" });
  const deployId = "greeting@production";
  assert.equal((await service.readPrompt({ key, deployId })).messages, messages);
  const { id } = await service.recordDiagnosis({ key, deployId }, {
    sessionId: "s",
    status: 1,
    content: { output: "x" },
  });
  const { items } = await admin.listDiagnoses({ deployId });
  assert.equal(items.map((record) => [record.id, record.content]), [[id, { output: "x" }]]);
  let exported = "";
  for await (const part of (await admin.exportDiagnoses({ deployId })).text) exported += part;
  assert.is(JSON.parse(exported).id, id);
  const { items: [entry] } = await admin.listAuditEntries({ limit: 1 });
  assert.equal([entry!.source, entry!.actor, entry!.action], ["embedded", "", "deployment.created"]);
});

test("an operation without input needs none", async () => {
  assert.ok((await admin.listWorkspaces()).items.length > 0);
  assert.ok((await admin.verify()).balanced);
});

test("refuses what a request is refused for", async () => {
  assert.is(
    await refused(admin.createWorkspace({ name: "" })),
    "invalid: Field name must be a name of 1 to 200 characters without control characters",
  );
  assert.is(await refused(admin.getWorkspace({ id: "ws_none" })), "workspace_not_found: Workspace ws_none not found");
  const misspelled = { name: "Acme", limit: 1 } as { name: string };
  assert.match(String(await refused(admin.createWorkspace(misspelled))), /^unknown_field: Unknown field limit/);
});

test("its HTTP API is off without a token", async () => {
  const response = await service.fetch(new Request("http://ledger.test/admin/v1/workspaces"));
  assert.equal([response.status, (await response.json() as { code: string }).code], [404, "management_off"]);
});

test("its changes and those over HTTP follow each other", async () => {
  const adminToken = "x".repeat(32);
  const own = createService({ database, faces: [management({ adminToken })] });
  const headers = { Authorization: `Bearer ${adminToken}` };
  const post = (name: string) =>
    own.fetch(
      new Request("http://ledger.test/admin/v1/workspaces", {
        method: "POST",
        headers,
        body: JSON.stringify({ name }),
      }),
    );
  const before = (await own.admin.listWorkspaces({ limit: 1000 })).items.length;
  await Promise.all(
    Array.from(
      { length: 20 },
      (_, index) => index % 2 ? own.admin.createWorkspace({ name: `code ${index}` }) : post(`HTTP ${index}`),
    ),
  );
  assert.is((await own.admin.listWorkspaces({ limit: 1000 })).items.length, before + 20);
  await own.close();
  assert.is(await refused(own.admin.listWorkspaces()), "unavailable: Service is stopping");
});

test("a failure of the database is a refusal with its cause", async () => {
  const empty = createService({ database: `file:${folder.path}/empty.db`, faces: [management()], log: silent });
  await openDatabase(`file:${folder.path}/empty.db`).write([{ sql: "create table other (id)" }]);
  const error = await empty.admin.listWorkspaces().catch((error: unknown) => error);
  assert.instance(error, Refusal);
  assert.is((error as Refusal).kind, "internal");
  assert.match(String((error as Refusal).cause), /no such table/);
  await empty.close();
});

const silent = { debug() {}, info() {}, warn() {}, error() {} };

test.run();
