import { createClient } from "@libsql/client";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { createService } from "../src/index.ts";
import { serveDatabase } from "../src/service.ts";
import { migrate } from "../src/runtime/migrations.ts";
import { openDatabase } from "../src/store/open.ts";
import { adminOf, createTenant, goodBody, noon, openMemory, readAnswer } from "./helpers.ts";

const test = suite("createService");

test("mounts under a base path, and answers 404 to all else", async () => {
  const database = await openMemory();
  const { key, deployId } = await createTenant(adminOf(database, Date.now));
  const service = serveDatabase(database, { basePath: "/tools/llm" });
  const get = async (path: string) => {
    const headers = { Authorization: `Bearer ${key}` };
    return (await service.fetch(new Request(`https://example.com${path}?deployId=${deployId}`, { headers }))).status;
  };
  assert.is(await get("/tools/llm/v1/prompts"), 200);
  assert.is(await get("/v1/prompts"), 404);
  assert.is(await get("/other/v1/prompts"), 404);
  assert.is(await get("/tools/llm/v1"), 404);
});

test("works on a client of the embedder's, and leaves it open", async () => {
  const client = createClient({ url: ":memory:" });
  assert.ok((await migrate(client)).length > 0);
  assert.equal(await migrate(client), []);
  const { key, deployId } = await createTenant(adminOf(openDatabase(client), Date.now));
  const service = createService({ client });
  const answer = await service.fetch(
    new Request(`https://example.com/v1/diagnosis?deployId=${deployId}`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}` },
      body: JSON.stringify(goodBody),
    }),
  );
  assert.is(answer.status, 201);
  service.close();
  assert.is((await client.execute("select count(*) as count from diagnoses")).rows[0]!.count, 1);
});

test("takes a location, a clock and a log; a database that was not migrated is a 500 that is logged", async () => {
  const logged: string[] = [];
  const write = (message: string) => void logged.push(message);
  const log = { debug: write, info: write, warn: write, error: write };
  const service = createService({ database: { url: ":memory:" }, clock: () => noon, log });
  const { key } = await createTenant(adminOf(await openMemory()));
  const headers = { Authorization: `Bearer ${key}` };
  const answer = await readAnswer(
    await service.fetch(new Request("https://example.com/v1/prompts?deployId=x", { headers })),
  );
  assert.equal([answer.status, answer.json, logged], [500, { error: "Internal server error" }, ["Request"]]);
  service.close();
});

test("limits a body to 1 MiB unless told otherwise", async () => {
  const database = await openMemory();
  const { key, deployId } = await createTenant(adminOf(database, Date.now));
  const submit = async (service: ReturnType<typeof createService>, bytes: number) => {
    const url = `https://example.com/v1/prompts?deployId=${deployId}`;
    const body = JSON.stringify({ ...goodBody, content: { input: "x".repeat(bytes) } });
    const headers = { Authorization: `Bearer ${key}` };
    return (await service.fetch(new Request(url, { method: "POST", headers, body }))).status;
  };
  assert.is(await submit(serveDatabase(database, {}), 1024 * 1024 - 200), 201);
  assert.is(await submit(serveDatabase(database, {}), 1024 * 1024), 413);
  assert.is(await submit(serveDatabase(database, { maxBodyBytes: 100 }), 100), 413);
});

const unusable: [name: string, options: object, error: string][] = [
  ["no store", {}, "createService needs a database or a client"],
  ["a base path without a slash", { database: ":memory:", basePath: "llm" }, "basePath must be a path"],
  ["a base path with a bracket", { database: ":memory:", basePath: "/a(b" }, "basePath must be a path"],
  ["a body limit of another type", { database: ":memory:", maxBodyBytes: "1mb" }, "maxBodyBytes must be"],
  ["no time for a body", { database: ":memory:", bodyTimeout: 0 }, "bodyTimeout must be"],
];

for (const [name, options, error] of unusable) {
  test(`refuses ${name} at once`, () => {
    assert.throws(
      () => createService(options as Parameters<typeof createService>[0]),
      (thrown: Error) => thrown.message.startsWith(error),
    );
  });
}

test.run();
