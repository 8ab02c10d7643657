import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  createApiKey,
  createDeployment,
  listDiagnoses,
  readUsage,
  setDeploymentActive,
  updateWorkspace,
  verify,
} from "../actions.ts";
import { newApiKey } from "../../src/common/ids.ts";
import { createTenant, createWorld, goodBody } from "../helpers.ts";
import type { Answer, Tenant, World } from "../helpers.ts";

const test = suite("Idempotency-Key");

const otherBody = { ...goodBody, sessionId: "session-2" };
const reused = { error: "Idempotency-Key was used with another request" };
const malformed = { error: "Idempotency-Key header must be 1 to 255 printable ASCII characters" };

/** Submits under an idempotency key, by default as the world's own tenant. */
const submitUnder = (world: World, idempotencyKey: string, body: unknown = goodBody, by: Partial<Tenant> = {}) =>
  world.submit(body, by.deployId, by.key, { "Idempotency-Key": idempotencyKey });

/** The id of the record that an answer tells of. */
function recordOf({ status, json, text }: Answer): string {
  assert.is(status, 201, text);
  return (json as { id: string }).id;
}

const countRecords = async ({ admin, deployId }: World) =>
  (await listDiagnoses(admin, { deployId }, { limit: 1000 })).items.length;

test("a repeat gets the first answer's record, stores nothing and costs nothing", async () => {
  const world = await createWorld({ monthlyLimit: 10 });
  const first = await submitUnder(world, "a");
  await world.read();
  const repeat = await submitUnder(world, "a");
  assert.equal([repeat.status, repeat.text], [201, first.text]);
  assert.is(repeat.headers.get("X-RateLimit-Used"), "2");
  assert.is(repeat.headers.get("X-RateLimit-Remaining"), "8");
  assert.is(await countRecords(world), 1);
  const { reads, submits } = await readUsage(world.admin, world.workspaceId);
  assert.equal({ reads, submits }, { reads: 1, submits: 1 });
  assert.ok((await verify(world.admin)).balanced);
});

test("another key, or none, is another record", async () => {
  const world = await createWorld();
  const answers = [await submitUnder(world, "a"), await submitUnder(world, "A"), await world.submit()];
  assert.is(new Set(answers.map(recordOf)).size, 3);
});

test("another body or another deployment under the same key is refused, and the first can still be repeated", async () => {
  const world = await createWorld();
  const { workspaceId, promptId } = world;
  const { id: deployId } = await createDeployment(world.admin, workspaceId, { name: "other", promptId });
  const id = recordOf(await submitUnder(world, "a"));
  for (
    const answer of [await submitUnder(world, "a", otherBody), await submitUnder(world, "a", goodBody, { deployId })]
  ) {
    assert.equal([answer.status, answer.json], [422, reused]);
    assert.not.ok(answer.headers.has("X-RateLimit-Used"));
  }
  assert.is(recordOf(await submitUnder(world, "a")), id);
  assert.is((await readUsage(world.admin, workspaceId)).used, 1);
});

test("a key is the workspace's own, whichever API key and path it comes with", async () => {
  const world = await createWorld();
  const other = await createTenant(world.admin);
  const id = recordOf(await submitUnder(world, "a"));
  assert.is.not(recordOf(await submitUnder(world, "a", otherBody, other)), id);
  const { key } = await createApiKey(world.admin, world.workspaceId, { name: "second", expiresAt: null });
  assert.is(recordOf(await submitUnder(world, "a", goodBody, { key })), id);
  const headers = { Authorization: `Bearer ${world.key}`, "Idempotency-Key": "a" };
  const init = { method: "POST", headers, body: JSON.stringify(goodBody) };
  assert.is(recordOf(await world.send(`/v1/prompts?deployId=${world.deployId}`, init)), id);
});

const text = JSON.stringify(goodBody);
const { content, ...rest } = goodBody;

const bodies: [name: string, body: string, isRepeat: boolean][] = [
  ["white space around its members", text.replace("{", "{ ").replace(',"status":', '\n,\t"status" : '), true],
  ["an integer written as 1.0", text.replace('"status":1', '"status":1.0'), true],
  ["a member that is repeated, of which the last counts", text.replace("{", '{"sessionId":"other",'), true],
  ["white space within a member", text.replace('"input":', '"input": '), false],
  ["the members in another order", JSON.stringify({ content, ...rest }), false],
  ["one member more", JSON.stringify({ ...goodBody, more: 1 }), false],
];

for (const [name, body, isRepeat] of bodies) {
  test(`a body with ${name} is ${isRepeat ? "the same" : "another"} body`, async () => {
    const world = await createWorld();
    assert.is.not(body, text);
    const id = recordOf(await submitUnder(world, "a"));
    const answer = await submitUnder(world, "a", body);
    if (isRepeat) assert.is(recordOf(answer), id);
    else assert.equal([answer.status, answer.json], [422, reused]);
  });
}

const longest = "x".repeat(255);

const forms: [name: string, quoted: string, bare: string][] = [
  ["quotes around it", '"abc"', "abc"],
  ["quotes around 255 characters", `"${longest}"`, longest],
  ["escaped quotes", String.raw`"a\"b"`, 'a"b'],
  ["an escaped backslash", String.raw`"a\\b"`, String.raw`a\b`],
];

for (const [name, quoted, bare] of forms) {
  test(`a key with ${name} is the bare one`, async () => {
    const world = await createWorld();
    assert.is(recordOf(await submitUnder(world, quoted)), recordOf(await submitUnder(world, bare)));
  });
}

for (
  const [name, idempotencyKey] of [
    ["empty", ""],
    ["empty within quotes", '""'],
    ["of 256 characters", `${longest}x`],
    ["of 256 characters within quotes", `"${longest}x"`],
    ["not ASCII", "é"],
    ["not printable", "a\tb"],
  ] as const
) {
  test(`answers 400 to a key that is ${name}, and costs nothing`, async () => {
    const world = await createWorld();
    const answer = await submitUnder(world, idempotencyKey, goodBody, { deployId: "dep_0" });
    assert.equal([answer.status, answer.json], [400, malformed]);
    assert.is((await submitUnder(world, idempotencyKey)).status, 400);
    assert.is((await submitUnder(world, idempotencyKey, goodBody, { key: newApiKey() })).status, 401);
    assert.is((await readUsage(world.admin, world.workspaceId)).used, 0);
  });
}

test("a repeat is answered although the quota is exhausted and the deployment inactive by now", async () => {
  const world = await createWorld({ monthlyLimit: 1 });
  const id = recordOf(await submitUnder(world, "a"));
  assert.is((await world.submit()).status, 429);
  assert.is(recordOf(await submitUnder(world, "a")), id);
  assert.is((await submitUnder(world, "a", otherBody)).status, 422);
  await setDeploymentActive(world.admin, world.deployId, false);
  const repeat = await submitUnder(world, "a");
  assert.equal([recordOf(repeat), repeat.headers.get("X-RateLimit-Remaining")], [id, "0"]);
});

test("a submit that is refused keeps nothing, so that its key serves another", async () => {
  const world = await createWorld({ monthlyLimit: 0 });
  const refusals: [refuse: () => Promise<Answer>, status: number][] = [
    [() => submitUnder(world, "a", "{}"), 400],
    [() => submitUnder(world, "a", goodBody, { key: newApiKey() }), 401],
    [() => submitUnder(world, "a", goodBody, { deployId: "dep_0" }), 404],
    [() => submitUnder(world, "a"), 429],
  ];
  for (const [refuse, status] of refusals) assert.is((await refuse()).status, status);
  await updateWorkspace(world.admin, world.workspaceId, { monthlyLimit: 1 });
  assert.is(recordOf(await submitUnder(world, "a", otherBody)), recordOf(await submitUnder(world, "a", otherBody)));
  assert.ok((await verify(world.admin)).balanced);
});

test("of many submits under one key at once one is stored, and all are answered with it", async () => {
  const world = await createWorld();
  const answers = await Promise.all(Array.from({ length: 30 }, () => submitUnder(world, "a")));
  assert.is(new Set(answers.map(recordOf)).size, 1);
  assert.equal(new Set(answers.map(({ headers }) => headers.get("X-RateLimit-Used"))), new Set(["1"]));
  assert.is(await countRecords(world), 1);
  assert.ok((await verify(world.admin)).balanced);
});

test("of two submits under one key at once with different bodies one is stored, and the other refused", async () => {
  const world = await createWorld();
  const answers = await Promise.all([submitUnder(world, "a"), submitUnder(world, "a", otherBody)]);
  assert.equal(answers.map(({ status }) => status).sort(), [201, 422]);
  assert.is(await countRecords(world), 1);
  assert.is((await readUsage(world.admin, world.workspaceId)).used, 1);
});

test("a key means nothing to a read, whatever it is", async () => {
  const world = await createWorld();
  for (const [index, key] of ["a", "a", ""].entries()) {
    const headers = { Authorization: `Bearer ${world.key}`, "Idempotency-Key": key };
    const answer = await world.send(`/v1/prompts?deployId=${world.deployId}`, { headers });
    assert.equal([answer.status, answer.headers.get("X-RateLimit-Used")], [200, String(index + 1)]);
  }
  recordOf(await submitUnder(world, "a"));
  assert.is((await readUsage(world.admin, world.workspaceId)).used, 4);
});

test("a key is kept for two days, and then serves another submit", async () => {
  const world = await createWorld();
  const id = recordOf(await submitUnder(world, "a"));
  world.now += 2 * 86_400_000;
  assert.is(recordOf(await submitUnder(world, "a")), id);
  world.now += 1;
  assert.is.not(recordOf(await submitUnder(world, "a", otherBody)), id);
  assert.is(await countRecords(world), 2);
  assert.ok((await verify(world.admin)).balanced);
});

test("keys that were kept for two days no longer act, however many have not been forgotten yet", async () => {
  const world = await createWorld({ monthlyLimit: 10_000 });
  const names = Array.from({ length: 1100 }, (_, nth) => `key-${nth}`);
  const first = await Promise.all(names.map((name) => submitUnder(world, name)));
  world.now += 2 * 86_400_000 + 1;
  // Each group forgets 512.
  const last = names.slice(-3);
  const again = await Promise.all(last.map((name) => submitUnder(world, name, otherBody)));
  assert.equal(again.map(({ status }) => status), [201, 201, 201]);
  assert.is(new Set([...first, ...again].map(recordOf)).size, 1103);
  const repeated = await Promise.all(last.map((name) => submitUnder(world, name, otherBody)));
  assert.equal(repeated.map(recordOf), again.map(recordOf));
  assert.is((await readUsage(world.admin, world.workspaceId)).submits, 1103);
  assert.ok((await verify(world.admin)).balanced);
});

test("a key that was kept for two days is forgotten too where nothing more can be accepted", async () => {
  const world = await createWorld({ monthlyLimit: 1 });
  recordOf(await submitUnder(world, "a"));
  // After requests that are refused, those that come at once are looked at before anything is written.
  assert.is((await world.read()).status, 429);
  world.now += 2 * 86_400_000 + 1;
  const answers = await Promise.all([submitUnder(world, "a"), submitUnder(world, "b"), world.read()]);
  assert.equal(answers.map(({ status }) => status), [429, 429, 429]);
});

test.run();
