import { suite } from "uvu";
import * as assert from "uvu/assert";
import { createApiKey, readUsage, revokeApiKey } from "../actions.ts";
import { newApiKey } from "../../src/common/ids.ts";
import { createWorld, goodBody } from "../helpers.ts";

const test = suite("authorization");

const world = await createWorld();
const typingError = world.key.slice(0, -1) + (world.key.endsWith("a") ? "b" : "a");

const refusals: [name: string, authorization: string | undefined, error: string][] = [
  ["no header", undefined, "Missing or invalid authorization header"],
  ["an empty header", "", "Missing or invalid authorization header"],
  ["another scheme", "Basic dXNlcjpwYXNz", "Missing or invalid authorization header"],
  ["a key without a scheme", world.key, "Missing or invalid authorization header"],
  ["a scheme that only begins so", `Bearers ${world.key}`, "Missing or invalid authorization header"],
  ["Bearer with nothing after it", "Bearer", "No API key provided"],
  ["Bearer with spaces after it", "Bearer   ", "No API key provided"],
  ["a key with a typing error", `Bearer ${typingError}`, "Invalid API key"],
  ["a key that was never issued", `Bearer ${newApiKey()}`, "Invalid API key"],
  ["two keys", `Bearer ${world.key}, Bearer ${world.key}`, "Invalid API key"],
  ["a key and more", `Bearer ${world.key} x`, "Invalid API key"],
];

for (const [name, authorization, error] of refusals) {
  test(`answers 401 to ${name}`, async () => {
    const headers: Record<string, string> = authorization === undefined ? {} : { Authorization: authorization };
    const requests: [string, RequestInit][] = [
      [`/v1/prompts?deployId=${world.deployId}`, { headers }],
      [`/v1/prompts?deployId=${world.deployId}`, { headers, method: "POST", body: JSON.stringify(goodBody) }],
      [`/v1/diagnosis?deployId=${world.deployId}`, { headers, method: "POST", body: JSON.stringify(goodBody) }],
    ];
    for (const [path, init] of requests) {
      const answer = await world.send(path, init);
      assert.is(answer.status, 401);
      assert.equal(answer.json, { error });
      assert.is(answer.headers.get("WWW-Authenticate"), "Bearer");
    }
  });
}

for (const scheme of ["bearer", "BEARER", "Bearer ", "bEaReR"]) {
  test(`takes the scheme as "${scheme}"`, async () => {
    const headers = { Authorization: `${scheme} ${world.key}` };
    assert.is((await world.send(`/v1/prompts?deployId=${world.deployId}`, { headers })).status, 200);
  });
}

test("an invalid key is refused before anything else is", async () => {
  const headers = { Authorization: `Bearer ${newApiKey()}` };
  const faults: [string, RequestInit][] = [
    ["/v1/prompts", { headers }],
    ["/v1/prompts?deployId=unknown", { headers }],
    ["/v1/diagnosis", { headers, method: "POST", body: "{}" }],
    [`/v1/diagnosis?deployId=${world.deployId}`, { headers, method: "POST", body: "not JSON" }],
    [`/v1/diagnosis?deployId=${world.deployId}`, { headers, method: "POST", body: "x".repeat(5000) }],
  ];
  for (const [path, init] of faults) {
    const answer = await world.send(path, init);
    assert.is(answer.status, 401, path);
    assert.equal(answer.json, { error: "Invalid API key" });
  }
});

test("a key is valid up to the millisecond before it expires", async () => {
  const expiresAt = world.now + 1000;
  const { key } = await createApiKey(world.admin, world.workspaceId, { name: "", expiresAt });
  world.now = expiresAt - 1;
  assert.is((await world.read(world.deployId, key)).status, 200);
  world.now = expiresAt;
  const answer = await world.read(world.deployId, key);
  assert.is(answer.status, 401);
  assert.equal(answer.json, { error: "Invalid API key" });
});

test("a revoked key is refused on the very next request", async () => {
  const { key, id } = await createApiKey(world.admin, world.workspaceId, { name: "", expiresAt: null });
  assert.is((await world.submit(goodBody, world.deployId, key)).status, 201);
  await revokeApiKey(world.admin, id);
  assert.is((await world.submit(goodBody, world.deployId, key)).status, 401);
  assert.is((await world.submit("{}", world.deployId, key)).status, 401);
});

test("a refused request costs nothing", async () => {
  const before = await readUsage(world.admin, world.workspaceId);
  await world.read(world.deployId, newApiKey());
  await world.submit("{}");
  await world.read("unknown");
  assert.equal(await readUsage(world.admin, world.workspaceId), before);
});

test.run();
