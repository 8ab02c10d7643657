import { suite } from "uvu";
import * as assert from "uvu/assert";
import { newApiKey } from "../../src/common/ids.ts";
import { balancedBooks, refused, taken } from "../management/management.ts";
import { createTenant, createWorld, noon } from "../helpers.ts";
import type { World } from "../helpers.ts";

const test = suite("GET /v1/usage");

/** A month's use by management's account. */
async function managed(world: World, { workspaceId } = world, month = "2026-11") {
  const { days: _, ...usage } = taken(await world.manage("GET", `/workspaces/${workspaceId}/usage/${month}`));
  return usage;
}

test("tells what the key's workspace has used and has left, as management does", async () => {
  const world = await createWorld({ monthlyLimit: 4 });
  const other = await createTenant(world.admin);
  await world.read(other.deployId, other.key);
  const fresh = taken(await world.send("/v1/usage"));
  const resetTime = Date.UTC(2026, 11, 1) / 1000;
  const month = "2026-11";
  assert.equal(fresh, { month, limit: 4, used: 0, remaining: 4, reads: 0, submits: 0, resetTime });
  for (const send of [world.read, world.submit, world.submit]) await send();
  const usage = taken(await world.send("/v1/usage"));
  assert.equal(usage, { month, limit: 4, used: 3, remaining: 1, reads: 1, submits: 2, resetTime });
  assert.equal(usage, await managed(world));
});

test("costs nothing, however often it is asked for, and leaves no trace", async () => {
  const world = await createWorld({ monthlyLimit: 1 });
  for (let times = 0; times < 5; times++) {
    assert.is(taken(await world.send("/v1/usage")).used, 0);
    assert.is(
      (await world.send("/v1/usage", { method: "HEAD", headers: { Authorization: `Bearer ${world.key}` } })).status,
      200,
    );
  }
  assert.equal(taken(await world.manage("GET", `/workspaces/${world.workspaceId}/calls`)).items, []);
  assert.is(taken(await world.manage("GET", `/keys/${world.keyId}`)).lastUsedAt, null);
  assert.equal(taken(await world.manage("GET", "/verify")), balancedBooks([]));
  assert.is((await world.read()).headers.get("X-RateLimit-Used"), "1");
});

test("has no headers of a quota that it does not touch, and is kept by no cache", async () => {
  const world = await createWorld();
  const { headers } = await world.send("/v1/usage");
  assert.equal([headers.get("Content-Type"), headers.get("Cache-Control")], ["application/json", "no-store"]);
  assert.is(headers.get("X-RateLimit-Limit"), null);
});

test("is answered when the quota is exhausted, and when it was lowered below what is used", async () => {
  const world = await createWorld({ monthlyLimit: 2 });
  await Promise.all([world.read(), world.read(), world.read()]);
  assert.equal(taken<Record<string, number>>(await world.send("/v1/usage")).remaining, 0);
  await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { monthlyLimit: 1 });
  const { limit, used, remaining } = taken(await world.send("/v1/usage"));
  assert.equal({ limit, used, remaining }, { limit: 1, used: 2, remaining: 0 });
});

test("begins anew with each month, to the millisecond", async () => {
  const world = await createWorld();
  world.now = Date.UTC(2026, 11, 1) - 1;
  await world.read();
  assert.is(taken(await world.send("/v1/usage")).used, 1);
  world.now++;
  const { month, used, resetTime } = taken(await world.send("/v1/usage"));
  assert.equal({ month, used, resetTime }, { month: "2026-12", used: 0, resetTime: Date.UTC(2027, 0, 1) / 1000 });
  assert.is((await managed(world)).used, 1);
});

test("answers 401 as every other request does", async () => {
  const world = await createWorld();
  const make = async (body: object) =>
    taken<{ id: string; key: string }>(await world.manage("POST", `/workspaces/${world.workspaceId}/keys`, body), 201);
  const expiring = await make({ expiresAt: noon + 1 });
  const revoked = await make({});
  const rotated = await make({});
  await world.manage("POST", `/keys/${revoked.id}/revoke`);
  await world.manage("POST", `/keys/${rotated.id}/rotate`, { overlapMs: 1 });
  const ask = (Authorization?: string) =>
    world.send("/v1/usage", { headers: Authorization === undefined ? {} : { Authorization } });
  taken(await ask(`Bearer ${expiring.key}`));
  taken(await ask(`Bearer ${rotated.key}`));
  world.now++;
  refused(await ask(), 401, "Missing or invalid authorization header");
  refused(await ask("Bearer"), 401, "No API key provided");
  for (const key of [newApiKey(), expiring.key, revoked.key, rotated.key, "x"]) {
    refused(await ask(`Bearer ${key}`), 401, "Invalid API key");
  }
});

for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
  test(`answers 405 to ${method}`, async () => {
    const answer = await (await createWorld()).send("/v1/usage", { method });
    refused(answer, 405, "Method not allowed");
    assert.is(answer.headers.get("Allow"), "GET, HEAD");
  });
}

test.run();
