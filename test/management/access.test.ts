// Workspaces and API keys, managed over HTTP.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { defaultStatuses } from "../../src/management/kernel/statuses.ts";
import type { ApiKey } from "../../src/management/access/api-keys.ts";
import { newApiKey } from "../../src/common/ids.ts";
import { createTenant, createWorld, noon, openMemory } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { readAll, refused, taken } from "./management.ts";

const test = suite("workspaces and keys");

const hour = 3_600_000;

type NewKey = ApiKey & { key: string };

const makeKey = async (world: World, body: object = {}): Promise<NewKey> =>
  taken(await world.manage("POST", `/workspaces/${world.workspaceId}/keys`, body), 201);

const showKey = async (world: World, id: string): Promise<ApiKey> => taken(await world.manage("GET", `/keys/${id}`));

const rotate = (world: World, id: string, body: object = {}) => world.manage("POST", `/keys/${id}/rotate`, body);

const rotated = async (world: World, id: string, body: object = {}): Promise<NewKey> =>
  taken(await rotate(world, id, body));

/** The status of a read with each of the keys. */
const tryKeys = (world: World, ...keys: string[]) =>
  Promise.all(keys.map(async (key) => (await world.read(world.deployId, key)).status));

test("a workspace has by default a limit of 1,000,000, no upgrade link and no retention", async () => {
  const world = await createWorld();
  const forEver = { keepRecordsMs: null, keepCallsMs: null, statuses: defaultStatuses, costSource: "provider" };
  const made = taken(await world.manage("POST", "/workspaces", { name: "Bare" }), 201);
  assert.equal(made, {
    id: made.id,
    name: "Bare",
    monthlyLimit: 1_000_000,
    upgradeUrl: null,
    ...forEver,
    createdAt: noon,
  });
  const full = { name: "Füll 👋", monthlyLimit: Number.MAX_SAFE_INTEGER, upgradeUrl: "https://example.com/?a=b#c" };
  const { id, createdAt: _, ...given } = taken(await world.manage("POST", "/workspaces", full), 201);
  assert.equal(given, { ...full, ...forEver });
  assert.is(taken(await world.manage("GET", `/workspaces/${id}`)).name, full.name);
});

test("a change of a workspace leaves other members as they are", async () => {
  const world = await createWorld();
  const path = `/workspaces/${world.workspaceId}`;
  let workspace = taken(await world.manage("GET", path));
  const changes = [
    { name: "b" },
    { monthlyLimit: 0 },
    { upgradeUrl: "https://example.com" },
    {},
    { upgradeUrl: null, monthlyLimit: 7 },
  ];
  for (const change of changes) {
    workspace = { ...workspace, ...change };
    assert.equal(taken(await world.manage("PATCH", path, change)), workspace);
    assert.equal(taken(await world.manage("GET", path)), workspace);
  }
});

test("a new limit and upgrade link apply from the next request on", async () => {
  const world = await createWorld({ monthlyLimit: 1 });
  const change = (body: object) => world.manage("PATCH", `/workspaces/${world.workspaceId}`, body);
  await world.read();
  await change({ upgradeUrl: "https://example.com/more" });
  const { details } = taken<{ details: object }>(await world.read(), 429);
  const resetTime = Date.UTC(2026, 11, 1) / 1000;
  assert.equal(details, { limit: 1, used: 1, resetTime, upgradeUrl: "https://example.com/more" });
  await change({ monthlyLimit: 2 });
  taken(await world.read());
  await change({ monthlyLimit: 0 });
  assert.is((await world.read()).headers.get("X-RateLimit-Remaining"), "0");
  assert.is((await world.read()).status, 429);
});

const faults: [body: object, error: string][] = [
  [{ name: "" }, "Field name must be a name of 1 to 200 characters without control characters"],
  [{ name: " " }, "Field name must be a name of 1 to 200 characters without control characters"],
  [{ name: "x".repeat(201) }, "Field name must be a name of 1 to 200 characters without control characters"],
  [{ name: "a\nb" }, "Field name must be a name of 1 to 200 characters without control characters"],
  [{ name: 1 }, "Field name must be a name of 1 to 200 characters without control characters"],
  ...[-1, 1.5, 2 ** 53, "5", null, true].map((monthlyLimit): [object, string] => [
    { name: "x", monthlyLimit },
    "Field monthlyLimit must be an integer from 0 to 9007199254740991",
  ]),
  ...["", "example.com", "ftp://example.com", "javascript:alert(1)", "https://", 1, "https://a.test/\0b"].map((
    upgradeUrl,
  ): [object, string] => [
    { name: "x", upgradeUrl },
    "Field upgradeUrl must be an http or https URL, or null",
  ]),
];

test("a number that a double would round is refused where an integer is required", async () => {
  const world = await createWorld();
  const { workspaceId, keyId, promptId, deployId } = world;
  const bodies: [method: string, path: string, body: string, name: string][] = [
    ["POST", "/workspaces", '{"name":"x","monthlyLimit":9007199254740990.6}', "monthlyLimit"],
    ["PATCH", `/workspaces/${workspaceId}`, '{"monthlyLimit":4503599627370497.2}', "monthlyLimit"],
    ["POST", `/workspaces/${workspaceId}/keys`, '{"expiresAt":9007199254740990.6}', "expiresAt"],
    ["POST", `/keys/${keyId}/rotate`, '{"overlapMs":1.00000000000000001}', "overlapMs"],
    ["POST", `/prompts/${promptId}/render`, '{"version":1.00000000000000001,"values":{}}', "version"],
    ["POST", `/deployments/${deployId}/promote`, '{"version":1.00000000000000001}', "version"],
  ];
  for (const [method, path, body, name] of bodies) {
    const { status, text } = await world.manage(method, path, body);
    assert.is(status, 400, path);
    assert.match(text, `Field ${name} must be an integer`);
  }
  taken(await world.manage("PATCH", `/workspaces/${workspaceId}`, '{"monthlyLimit":1.50e1}'));
});

for (const [body, error] of faults) {
  test(`a workspace cannot be ${JSON.stringify(body).slice(0, 60)}`, async () => {
    const world = await createWorld();
    refused(await world.manage("POST", "/workspaces", body), 400, error);
    refused(await world.manage("PATCH", `/workspaces/${world.workspaceId}`, body), 400, error);
    assert.is((await readAll(world, "/workspaces")).length, 1);
  });
}

test("a key's secret is shown once, and lists show its first characters", async () => {
  const world = await createWorld();
  const expiresAt = noon + hour;
  const { key, ...made } = await makeKey(world, { name: "staging", expiresAt });
  const { id, prefix } = made;
  const scope = { readOnly: false, submitOnly: false, feedbackOnly: false, deployId: null };
  const never = { ...scope, revokedAt: null, rotatedAt: null, overlapEndsAt: null, lastUsedAt: null };
  const { workspaceId } = world;
  assert.equal(made, { id, workspaceId, name: "staging", prefix, createdAt: noon, expiresAt, ...never });
  assert.ok(key.startsWith(prefix));
  assert.is(prefix.length, 9);
  assert.equal(await showKey(world, id), made);
  const listed = await readAll<ApiKey>(world, `/workspaces/${world.workspaceId}/keys`);
  assert.equal(listed.find((entry) => entry.id === id), made);
});

test("a key works only in its workspace, and is listed only there", async () => {
  const world = await createWorld();
  const other = await createTenant(world.admin);
  const { key } = await makeKey(world);
  assert.is((await world.read(other.deployId, key)).status, 404);
  const listed = await readAll<ApiKey>(world, `/workspaces/${other.workspaceId}/keys`);
  assert.equal(listed.map(({ id }) => id), [other.keyId]);
});

test("a key is valid until it expires, to the millisecond, which must be in the future when it is created", async () => {
  const world = await createWorld();
  const { key } = await makeKey(world, { expiresAt: noon + 1 });
  for (const expiresAt of [noon, 0]) {
    const answer = await world.manage("POST", `/workspaces/${world.workspaceId}/keys`, { expiresAt });
    refused(answer, 400, "Field expiresAt must be in the future");
  }
  assert.is((await readAll(world, `/workspaces/${world.workspaceId}/keys`)).length, 2);
  assert.equal(await tryKeys(world, key), [200]);
  world.now++;
  assert.equal(await tryKeys(world, key), [401]);
});

for (const expiresAt of [-1, 1.5, 2 ** 53, "2027-01-01", true]) {
  test(`a key cannot expire at ${JSON.stringify(expiresAt)}`, async () => {
    const world = await createWorld();
    const error = "Field expiresAt must be an integer of Unix milliseconds from 0 to 9007199254740991";
    refused(await world.manage("POST", `/workspaces/${world.workspaceId}/keys`, { expiresAt }), 400, error);
    refused(await rotate(world, world.keyId, { expiresAt }), 400, error);
    assert.equal(await tryKeys(world, world.key), [200]);
  });
}

test("all secrets of a revoked key are refused from the next request on", async () => {
  const world = await createWorld();
  const { key } = await rotated(world, world.keyId, { overlapMs: hour });
  assert.equal(await tryKeys(world, world.key, key), [200, 200]);
  const revoked = taken<ApiKey>(await world.manage("POST", `/keys/${world.keyId}/revoke`));
  assert.is(revoked.revokedAt, noon);
  assert.equal(await tryKeys(world, world.key, key), [401, 401]);
  assert.equal(await showKey(world, world.keyId), revoked);
});

test("revoking again changes nothing, and a revoked key stays refused when the clock goes back", async () => {
  const world = await createWorld();
  const revoke = () => world.manage("POST", `/keys/${world.keyId}/revoke`);
  const revoked = taken(await revoke());
  world.now += hour;
  assert.equal(taken(await revoke()), revoked);
  world.now -= 365 * 24 * hour;
  assert.equal(await tryKeys(world, world.key), [401]);
  refused(
    await rotate(world, world.keyId, { overlapMs: hour, expiresAt: null }),
    409,
    `API key ${world.keyId} is revoked`,
  );
  assert.equal(await tryKeys(world, world.key), [401]);
});

test("after a rotation the new secret is valid at once, and the old one stays valid until the overlap ends", async () => {
  const world = await createWorld();
  world.now += 5;
  const overlapEndsAt = world.now + hour;
  const { key, ...rotation } = await rotated(world, world.keyId, { overlapMs: hour });
  assert.equal(rotation, await showKey(world, world.keyId));
  const { id, prefix, createdAt, rotatedAt, lastUsedAt } = rotation;
  assert.equal(
    { id, prefix, createdAt, rotatedAt, overlapEndsAt: rotation.overlapEndsAt, lastUsedAt },
    {
      id: world.keyId,
      prefix: key.slice(0, 9),
      createdAt: noon,
      rotatedAt: world.now,
      overlapEndsAt,
      lastUsedAt: null,
    },
  );
  assert.equal(await tryKeys(world, world.key, key), [200, 200]);
  world.now = overlapEndsAt - 1;
  assert.equal(await tryKeys(world, world.key, key), [200, 200]);
  world.now = overlapEndsAt;
  assert.equal(await tryKeys(world, world.key, key), [401, 200]);
});

test("without an overlap the old secret is refused from the next request on, even when the clock goes back", async () => {
  const world = await createWorld();
  const zero = await rotated(world, world.keyId, { overlapMs: 0 });
  assert.equal(await tryKeys(world, world.key, zero.key), [401, 200]);
  const none = await rotated(world, world.keyId);
  world.now -= hour;
  assert.equal(await tryKeys(world, world.key, zero.key, none.key), [401, 401, 200]);
});

test("rotating an expired key requires a new expiry, and its old secret stays refused", async () => {
  const world = await createWorld();
  const { id, key } = await makeKey(world, { expiresAt: noon + 1 });
  world.now++;
  const error = `API key ${id} has expired: give it a new expiry`;
  refused(await rotate(world, id, { overlapMs: hour }), 409, error);
  refused(await rotate(world, id, { overlapMs: hour, expiresAt: world.now }), 409, error);
  const renewed = await rotated(world, id, { overlapMs: hour, expiresAt: null });
  assert.equal(await tryKeys(world, key, renewed.key), [401, 200]);
  assert.equal([renewed.expiresAt, renewed.overlapEndsAt], [null, null]);
});

for (const overlapMs of [-1, 0.5, 10 * 366 * 24 * hour + 1, "1", null]) {
  test(`an overlap cannot be ${JSON.stringify(overlapMs)}`, async () => {
    const world = await createWorld();
    const error = "Field overlapMs must be an integer of milliseconds from 0 to 316224000000";
    refused(await rotate(world, world.keyId, { overlapMs }), 400, error);
    assert.is((await showKey(world, world.keyId)).rotatedAt, null);
  });
}

test("of two concurrent rotations, the later one makes the secret, and the other one ends with its overlap", async () => {
  const world = await createWorld();
  const both = await Promise.all([rotated(world, world.keyId), rotated(world, world.keyId)]);
  const { prefix } = await showKey(world, world.keyId);
  const last = both.findIndex((made) => made.prefix === prefix);
  assert.equal(await tryKeys(world, both[last]!.key, both[1 - last]!.key, world.key), [200, 401, 401]);
});

test("a key shows when it was last used, to the hour", async () => {
  const world = await createWorld();
  const lastUsed = async () => (await showKey(world, world.keyId)).lastUsedAt;
  assert.is(await lastUsed(), null);
  await world.read();
  assert.is(await lastUsed(), noon);
  world.now = noon + hour - 1;
  await world.submit();
  assert.is(await lastUsed(), noon);
  world.now++;
  await world.submit();
  assert.is(await lastUsed(), noon + hour);
  world.now -= 30 * 60_000;
  await world.read();
  assert.is(await lastUsed(), noon + hour);
});

test("a key shows when it was last used, also if an unknown key was in the same group", async () => {
  const world = await createWorld();
  for (const minutes of [0, 40, 80, 120]) {
    world.now = noon + minutes * 60_000;
    await Promise.all([world.read(), world.read(world.deployId, newApiKey())]);
  }
  assert.is((await showKey(world, world.keyId)).lastUsedAt, noon + 80 * 60_000);
});

test("only accepted requests count as a use of the key", async () => {
  const world = await createWorld({ monthlyLimit: 1 });
  const { id, key } = await makeKey(world);
  const { key: expired, id: expiredId } = await makeKey(world, { expiresAt: noon + 1 });
  world.now++;
  const refusals = [
    () => world.read("unknown", key),
    () => world.submit("{}", world.deployId, key),
    () => world.read(world.deployId, expired),
    () => world.send("/v1/usage", { headers: { Authorization: `Bearer ${key}` } }),
  ];
  for (const refuse of refusals) await refuse();
  // A request that is accepted in the same group makes no difference to the others.
  await Promise.all([world.read(), ...refusals.map((refuse) => refuse())]);
  assert.is((await world.read(world.deployId, key)).status, 429);
  assert.is((await showKey(world, world.keyId)).lastUsedAt, world.now);
  for (const unused of [id, expiredId]) assert.is((await showKey(world, unused)).lastUsedAt, null);
});

test("a rotated key keeps its last use, and both of its secrets update it", async () => {
  const world = await createWorld();
  await world.read();
  const { key, lastUsedAt } = await rotated(world, world.keyId, { overlapMs: 9 * hour });
  assert.is(lastUsedAt, noon);
  world.now += 2 * hour;
  await world.read(world.deployId, key);
  assert.is((await showKey(world, world.keyId)).lastUsedAt, noon + 2 * hour);
  world.now += 2 * hour;
  await world.read();
  assert.is((await showKey(world, world.keyId)).lastUsedAt, noon + 4 * hour);
  assert.is((await world.manage("POST", `/keys/${world.keyId}/revoke`)).status, 200);
  assert.is((await showKey(world, world.keyId)).lastUsedAt, noon + 4 * hour);
});

test("a use is stored at most once an hour, even by several processes", async () => {
  const memory = await openMemory();
  const world = await createWorld({ database: memory });
  const second = await createWorld({ database: memory });
  await world.read();
  for (const [offset, stored] of [[hour - 1, noon], [hour, noon + hour], [2 * hour - 1, noon + hour]] as const) {
    world.now = second.now = noon + offset;
    await second.read(world.deployId, world.key);
    await world.read();
    assert.is((await showKey(world, world.keyId)).lastUsedAt, stored);
  }
});

test("a secret sent as an id is refused, and not repeated", async () => {
  const world = await createWorld();
  for (const [method, action] of [["GET", ""], ["POST", "/revoke"], ["POST", "/rotate"]]) {
    const answer = await world.manage(method!, `/keys/${world.key}${action}`);
    refused(answer, 400, "A key is named by its id, key_…, not by its secret");
  }
});

test("no response contains the hash of a secret", async () => {
  const world = await createWorld();
  await rotated(world, world.keyId, { overlapMs: hour });
  await world.read();
  const hashes = await world.database.read({ sql: "select hash from api_key_secrets" });
  assert.is(hashes.length, 2);
  const { workspaceId, keyId } = world;
  for (const path of [`/workspaces/${workspaceId}/keys`, `/keys/${keyId}`, `/workspaces/${workspaceId}/calls`]) {
    const { text } = await world.manage("GET", path);
    for (const { hash } of hashes) assert.not.ok(text.includes(String(hash)));
  }
});

test.run();
