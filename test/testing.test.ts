// promptledger/testing, and what embedders get besides the service: render and fromPino.
// Runs on every runtime in CI.
import { suite } from "./suite.ts";
import * as assert from "uvu/assert";
import { createClient } from "../src/client/index.ts";
import { fromPino, MissingVariablesError, render } from "../src/index.ts";
import { management } from "../src/management.ts";
import { openapi } from "../src/openapi.ts";
import { createTestService } from "../src/testing.ts";
import { goodBody } from "./helpers.ts";
import { currentRuntime } from "./runtimes.ts";

const test = suite(`testing on ${currentRuntime}`);

test("a service in memory has tenants with what a test gives, and defaults for the rest", async () => {
  const service = await createTestService();
  const messages = [{ role: "user", content: "Hi {{you}}" }];
  const own = await service.tenant({ limit: 2, prompt: { title: "Short", name: "short", messages } });
  const other = await service.tenant();
  assert.is(own.reference, "short@production");
  const { quota, ...prompt } = await service.readPrompt({ key: own.key, deployId: own.reference });
  assert.equal([prompt.messages, prompt.title, prompt.deploy.id, quota.limit], [messages, "Short", own.deployId, 2]);
  assert.is((await service.readPrompt(other)).quota.limit, 1000);
  assert.is((await service.admin.listWorkspaces()).items.length, 2);
  await service[Symbol.asyncDispose]();
  assert.is((await service.fetch(new Request("http://ledger.test/v1/usage"))).status, 503);
});

test("the client calls it without a socket", async () => {
  const service = await createTestService();
  const { key, reference } = await service.tenant();
  const client = createClient({ url: "http://ledger.test", apiKey: key, fetch: service.fetch });
  const prompt = await client.prompt(reference);
  assert.equal(prompt.fill({ name: "Ada" }), [{ role: "system", content: "Greet Ada" }]);
  prompt.call().done({ status: 1, output: "Hello Ada" });
  assert.is((await client.close()).sent, 1);
  await service.close();
});

test("takes the settings of a service, and its faces", async () => {
  const at = Date.UTC(2030, 0, 31);
  const adminToken = "x".repeat(32);
  const faces = [management({ adminToken }), openapi()] as const;
  const service = await createTestService({ clock: () => at, basePath: "/llm", faces });
  const { key, deployId } = await service.tenant();
  assert.is((await service.recordDiagnosis({ key, deployId }, goodBody)).quota.resetTime, Date.UTC(2030, 1) / 1000);
  const headers = { Authorization: `Bearer ${adminToken}` };
  const listed = await service.fetch(new Request("http://ledger.test/llm/admin/v1/workspaces", { headers }));
  assert.is((await listed.json() as { items: unknown[] }).items.length, 1);
  // A response is in flight, and holds up `close`, until its body has been read.
  const described = await service.fetch(new Request("http://ledger.test/llm/openapi.json"));
  assert.match(await described.text(), /"openapi":"3\.1/);
  await service.close();
  const invalid = createTestService({ basePath: "llm" as "/llm" }).catch((error: Error) => error.message);
  assert.is(await invalid, "basePath must be a path such as /llm");
  const elsewhere = createTestService({ database: "file:ledger.db" } as object).catch((error: Error) => error.message);
  assert.match(String(await elsewhere), /^Unknown option database of createTestService. Allowed: basePath, /);
});

test("render fills in what a prompt says, as the client does", () => {
  const messages = [{ role: "system", content: "Greet {{name}}" }, { role: "user", content: "{{history}}" }];
  const history = [{ role: "user", content: "Hello {{name}}" }];
  assert.equal(render(messages, { name: "Ada" }, { history }), [{ role: "system", content: "Greet Ada" }, ...history]);
  assert.throws(() => render(messages, {}), (error: Error) => error instanceof MissingVariablesError);
});

test("fromPino passes the fields first, and keeps the logger's own this", async () => {
  const logged: unknown[] = [];
  const logger = {
    prefix: "ledger",
    write(level: string, fields: object, message: string) {
      logged.push([this.prefix, level, message, fields]);
    },
    debug() {},
    info(fields: object, message: string) {
      this.write("info", fields, message);
    },
    warn(fields: object, message: string) {
      this.write("warn", fields, message);
    },
    error() {},
  };
  const log = fromPino(logger);
  log.warn("Slow");
  const service = await createTestService({ log });
  await service.fetch(new Request("http://ledger.test/v1/usage"));
  const [slow, [, , message, { status }]] = logged as [unknown, [string, string, string, { status: number }]];
  assert.equal([slow, message, status], [["ledger", "warn", "Slow", {}], "Request", 401]);
  await service.close();
});

test.run();
