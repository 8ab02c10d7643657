// The data plane without HTTP: what it gives, and that it refuses what a request is refused for, in the same words.
// Runs on every runtime in CI.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { Refusal } from "../../src/common/errors.ts";
import { newApiKey } from "../../src/common/ids.ts";
import { serveDatabase } from "../../src/service/service.ts";
import type { DiagnosisRecord } from "../../src/index.ts";
import { createApiKey, listDiagnoses, revokeApiKey, verify } from "../actions.ts";
import { assertBalanced } from "../balanced.ts";
import { bearer, createTenant, createWorld, goodBody, managementOf, noon, openMemory, promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { publish, taken } from "../management/management.ts";
import { currentRuntime } from "../runtimes.ts";

const test = suite(`calls without HTTP on ${currentRuntime}`);

async function createStage(options: Parameters<typeof createWorld>[0] = {}) {
  const world = await createWorld(options);
  const { maxBodyBytes = 4096 } = options;
  const service = serveDatabase(world.database, { clock: () => world.now, maxBodyBytes, log: silent });
  return { world, service, target: { key: world.key, deployId: world.deployId } };
}

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** The refusal of a call. */
async function refusalOf(call: Promise<unknown>): Promise<Refusal> {
  const error = await call.then(() => undefined, (error: unknown) => error);
  assert.instance(error, Refusal);
  return error as Refusal;
}

test("a read gives the prompt as a response does, and the quota", async () => {
  const { world, service, target } = await createStage({ monthlyLimit: 10 });
  const { quota, ...prompt } = await service.readPrompt(target);
  assert.equal(quota, { limit: 10, used: 1, resetTime: Date.UTC(2026, 11) / 1000, upgradeUrl: null });
  const { json, headers } = await world.read();
  assert.equal(prompt, json);
  assert.equal([prompt.title, prompt.messages], [promptFile.title, promptFile.messages]);
  assert.is(headers.get("X-RateLimit-Used"), "2");
  await service.close();
});

test("during a rollout a read with a key gives the version that a response with the key has", async () => {
  const { world, service, target } = await createStage();
  taken(await publish(world, { name: "greeting", title: "Warmer", messages: promptFile.messages }), 201);
  const roll = (percent: number) =>
    world.manage("POST", `/deployments/${world.deployId}/rollout`, { version: 2, percent });
  taken(await roll(50));
  const served = new Set<unknown>();
  // With so many, some get each version, whatever the salt of the rollout.
  for (const rolloutKey of ["a b&c", ...Array.from({ length: 40 }, (_, nth) => `user ${nth}`)]) {
    const { quota: _, ...prompt } = await service.readPrompt({ ...target, rolloutKey });
    const query = `deployId=${world.deployId}&key=${encodeURIComponent(rolloutKey)}`;
    const { json } = await world.send(`/v1/prompts?${query}`, { headers: bearer(world.key) });
    assert.equal(prompt, json);
    served.add(prompt.rollout?.isCandidate);
  }
  assert.is(served.size, 2);
  taken(await roll(100));
  for (const rolloutKey of [undefined, ""]) {
    const { deploy, rollout } = await service.readPrompt({ ...target, rolloutKey });
    assert.equal([deploy.currentVersion, rollout], [1, undefined]);
  }
  const { deploy, rollout } = await service.readPrompt({ ...target, rolloutKey: "x".repeat(300) });
  const used = { promptVersion: deploy.currentVersion, rollout: rollout!.id };
  await service.recordDiagnosis(target, { ...goodBody, ...used });
  const [stored] = await listDiagnoses(world.admin, { deployId: world.deployId });
  assert.equal([stored!.promptVersion, stored!.rollout], [2, rollout!.id]);
  await service.close();
});

test("a record is stored as one that was sent", async () => {
  const { world, service, target } = await createStage();
  const record: DiagnosisRecord = { ...goodBody, latency: 1.5, additional_properties: { a: [1] }, extra: { b: null } };
  const { id, quota } = await service.recordDiagnosis(target, record);
  await world.submit(record);
  const [sent, stored] = await listDiagnoses(world.admin, { deployId: world.deployId });
  assert.is(stored!.id, id);
  assert.equal({ ...stored, id: "" }, { ...sent, id: "" });
  assert.is(quota.used, 1);
  assertBalanced(await verify(world.admin));
  await service.close();
});

test("an idempotency key is the same over HTTP and without", async () => {
  const { world, service, target } = await createStage();
  const header = { "Idempotency-Key": "once" };
  const { json } = await world.submit(goodBody, world.deployId, world.key, header);
  const repeated = await service.recordDiagnosis({ ...target, idempotencyKey: "once" }, goodBody);
  assert.equal([repeated.id, repeated.quota.used], [(json as { id: string }).id, 1]);
  const other = service.recordDiagnosis({ ...target, idempotencyKey: "once" }, { ...goodBody, status: 2 });
  assert.is((await refusalOf(other)).kind, "key_reused");
  await service.close();
});

type Given = { key?: string; deployId?: string; record?: unknown; idempotencyKey?: string };

const long = "x".repeat(301);
const faults: [name: string, given: Given | ((world: World) => Promise<Given>)][] = [
  ["no key", { key: "" }],
  ["what is no key", { key: "secret" }],
  ["an unknown key", { key: newApiKey() }],
  ["a revoked key", async ({ admin, workspaceId }) => {
    const { id, key } = await createApiKey(admin, workspaceId, {});
    await revokeApiKey(admin, id);
    return { key };
  }],
  ["an unknown key and an invalid record", { key: newApiKey(), record: {}, deployId: "" }],
  ["no deployment", { deployId: "" }],
  ["a deployment with too long a name", { deployId: long }],
  ["an unknown deployment", { deployId: "nobody@production" }],
  ["another workspace's deployment", async ({ admin }) => ({ deployId: (await createTenant(admin)).deployId })],
  ["a key that may only read or submit", async ({ admin, workspaceId }) => ({
    key: (await createApiKey(admin, workspaceId, { deployId: undefined, readOnly: true })).key,
  })],
  ["a record without content", { record: { sessionId: "s", status: 1, content: {} } }],
  ["a record with a wrong member", { record: { ...goodBody, startAt: -1 } }],
  ["a record that is no object", { record: [goodBody] }],
  ["a record that is too large", { record: { ...goodBody, content: { input: "ä".repeat(2100) } } }],
  ["a version that is not there", { record: { ...goodBody, promptVersion: 7 } }],
  ["an idempotency key that is none", { idempotencyKey: "" }],
];

for (const [name, made] of faults) {
  test(`refuses ${name} in the words of a response, and at no cost`, async () => {
    const { world, service, target } = await createStage();
    const { key = target.key, deployId = target.deployId, record = goodBody, idempotencyKey } =
      typeof made === "function" ? await made(world) : made;
    const headers = idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey };
    const over = [await world.read(deployId, key), await world.submit(record, deployId, key, headers)];
    const texts = over.map(({ status, json }) => status < 300 ? "accepted" : (json as { error: string }).error);
    const say = (promise: Promise<unknown>) =>
      promise.then(() => "accepted", (error: unknown) => error instanceof Refusal ? error.message : error);
    const direct = [
      await say(service.readPrompt({ key, deployId })),
      await say(service.recordDiagnosis({ key, deployId, idempotencyKey }, record as DiagnosisRecord)),
    ];
    assert.equal(direct, texts);
    assert.ok(texts.some((text) => text !== "accepted"));
    assertBalanced(await verify(world.admin));
    await service.close();
  });
}

test("what JSON cannot hold is refused, with the reason", async () => {
  const { service, target } = await createStage();
  for (const status of [1n, undefined]) {
    const record = status === undefined ? undefined : { ...goodBody, status };
    const { kind, message } = await refusalOf(service.recordDiagnosis(target, record as never));
    assert.equal([kind, message], ["invalid", "Record must be valid JSON"]);
  }
  await service.close();
});

test("an exhausted quota is refused with its details, and never exceeded", async () => {
  const { world, service, target } = await createStage({ monthlyLimit: 5 });
  const calls = Array.from(
    { length: 20 },
    (_, index) => index % 2 ? service.readPrompt(target) : service.recordDiagnosis(target, goodBody),
  );
  const [outcomes, responses] = await Promise.all([
    Promise.allSettled(calls),
    Promise.all([world.read(), world.submit()]),
  ]);
  const isAccepted = ({ status }: { status: number | string }) => ["fulfilled", 200, 201].includes(status);
  assert.is([...outcomes, ...responses].filter(isAccepted).length, 5);
  const refusal = await refusalOf(service.readPrompt(target));
  assert.equal([refusal.kind, refusal.code, refusal.message], [
    "quota_exhausted",
    "quota_exhausted",
    "Rate limit exceeded",
  ]);
  assert.equal(refusal.details, { limit: 5, used: 5, resetTime: Date.UTC(2026, 11) / 1000, upgradeUrl: null });
  assertBalanced(await verify(world.admin));
  await service.close();
});

test("a database that fails makes a refusal, with the failure as its cause", async () => {
  const database = await openMemory();
  const { key, deployId } = await createTenant(managementOf(database));
  const broken = new Error("broken");
  const service = serveDatabase({ ...database, write: () => Promise.reject(broken) }, { clock: () => noon });
  const refusal = await refusalOf(service.readPrompt({ key, deployId }));
  assert.equal([refusal.kind, refusal.message, refusal.cause], ["internal", "Internal server error", broken]);
});

test("close waits for calls, and refuses later ones", async () => {
  const { service, target } = await createStage();
  const calls = [service.readPrompt(target), service.recordDiagnosis(target, goodBody)];
  assert.is(service.countInFlight(), 2);
  const closed = service.close();
  const late = await refusalOf(service.readPrompt(target));
  assert.equal([late.kind, late.message], ["unavailable", "Service is stopping"]);
  const settled = await Promise.allSettled(calls);
  assert.equal(settled.map(({ status }) => status), ["fulfilled", "fulfilled"]);
  await closed;
  assert.is(service.countInFlight(), 0);
});

test.run();
