// The response to a batch of records when something else fails.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createWorld, goodBody, openMemory } from "../helpers.ts";
import type { Database } from "../../src/database/database.ts";

const test = suite("batches of records");

const bodyOf = (deployId: string, count: number) =>
  JSON.stringify({ records: Array.from({ length: count }, () => ({ deployId, ...goodBody })) });

test("a failure after records are stored does not fail the request", async () => {
  const memory = await openMemory();
  let isAway = false;
  const database: Database = {
    ...memory,
    read: (statement) => isAway ? Promise.reject(new Error("away")) : memory.read(statement),
  };
  const world = await createWorld({ database, monthlyLimit: 10 });
  const post = { method: "POST", body: bodyOf(world.deployId, 3) };
  await world.submit({});
  isAway = true;
  const { status, text, headers } = await world.send("/v1/diagnoses", post);
  assert.is(status, 200, text);
  assert.equal(JSON.parse(text).results.map(({ status }: { status: number }) => status), [201, 201, 201]);
  assert.is(headers.get("X-RateLimit-Used"), "3");
});

test("the request fails if every record fails, with an unknown outcome if that of one is unknown", async () => {
  const memory = await openMemory();
  let isAway = false;
  const database: Database = {
    ...memory,
    write: (statements) => isAway ? Promise.reject(new Error("disk on fire")) : memory.write(statements),
  };
  const world = await createWorld({ database });
  await world.read();
  isAway = true;
  const { status, json } = await world.send("/v1/diagnoses", { method: "POST", body: bodyOf(world.deployId, 10) });
  assert.equal([status, json], [500, { error: "Internal server error" }]);
});

test.run();
