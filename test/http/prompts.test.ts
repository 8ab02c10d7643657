import { suite } from "uvu";
import * as assert from "uvu/assert";
import { readPromptFile } from "../../src/management/prompt-file.ts";
import {
  listCalls,
  promoteDeployment,
  publishPrompt,
  pushPrompt,
  setDeploymentActive,
  updateWorkspace,
} from "../actions.ts";
import { createTenant, createWorld, promptFile, toPrompt } from "../helpers.ts";

const test = suite("GET /v1/prompts");

test("answers 200 with the prompt of the deployment's current version, all seven fields", async () => {
  const world = await createWorld();
  const answer = await world.read();
  assert.is(answer.status, 200);
  assert.is(answer.headers.get("Content-Type"), "application/json");
  assert.equal(answer.json, {
    id: world.promptId,
    title: promptFile.title,
    description: promptFile.description,
    messages: promptFile.messages,
    deploy: { id: world.deployId, name: "production", currentVersion: 1, isActive: true },
    workspace: { id: world.workspaceId, name: "Acme" },
    llmConfig: promptFile.llmConfig,
  });
});

test("tells the quota in the headers", async () => {
  const world = await createWorld({ monthlyLimit: 10 });
  await world.read();
  const { headers } = await world.read();
  assert.is(headers.get("X-RateLimit-Limit"), "10");
  assert.is(headers.get("X-RateLimit-Used"), "2");
  assert.is(headers.get("X-RateLimit-Remaining"), "8");
  assert.is(headers.get("X-RateLimit-Reset"), String(Date.UTC(2026, 11, 1) / 1000));
});

test("serves description and llmConfig as empty where none was pushed", async () => {
  const world = await createWorld();
  const bare = { deploy: "bare", ...toPrompt({ title: "Bare", messages: [] }) };
  const { deployment } = await publishPrompt(world.admin, world.workspaceId, bare);
  const { json } = await world.read(deployment.id);
  const { description, messages, llmConfig } = json as Record<string, unknown>;
  assert.equal({ description, messages, llmConfig }, { description: "", messages: [], llmConfig: {} });
});

test("serves messages and llmConfig as they were pushed: every digit, key, character and order", async () => {
  const world = await createWorld();
  const messages =
    '[{"role":"system","content":"Grüße, {{name}} 👋\\u0000\\n","z":1,"a":[1.0]},{"role":"user","content":[{"type":"text","text":"שלום"}]}]';
  const llmConfig =
    '{"temperature":1.0,"seed":12345678901234567890,"":1e400,"__proto__":{"b":1,"a":2},"nested":{"x":[[]]}}';
  const source = `{ "llmConfig": ${llmConfig}, "title": "Ünïcode", "messages": ${messages} }`;
  const exact = { deploy: "exact", ...readPromptFile(source) };
  const { deployment } = await publishPrompt(world.admin, world.workspaceId, exact);
  const { text } = await world.read(deployment.id);
  assert.ok(text.includes(`"messages":${messages}`));
  assert.ok(text.includes(`"llmConfig":${llmConfig}`));
});

const refusals: [name: string, path: string, status: number, error: string][] = [
  ["no deployId", "/v1/prompts", 400, "Missing or invalid deployId parameter"],
  ["an empty deployId", "/v1/prompts?deployId=", 400, "Missing or invalid deployId parameter"],
  ["two deployIds", "/v1/prompts?deployId=a&deployId=b", 400, "Missing or invalid deployId parameter"],
  ["an empty and a full deployId", "/v1/prompts?deployId=&deployId=b", 400, "Missing or invalid deployId parameter"],
  [
    "a deployId of 129 characters",
    `/v1/prompts?deployId=${"x".repeat(129)}`,
    400,
    "Missing or invalid deployId parameter",
  ],
  [
    "a deployId of 128 characters",
    `/v1/prompts?deployId=${"x".repeat(128)}`,
    404,
    "Deploy not found or not accessible",
  ],
  ["an unknown deployId", "/v1/prompts?deployId=dep_0", 404, "Deploy not found or not accessible"],
  ["a deployId with a NUL", "/v1/prompts?deployId=dep%00", 404, "Deploy not found or not accessible"],
  ["a deployId that is not UTF-8", "/v1/prompts?deployId=%ED%A0%80%FF", 404, "Deploy not found or not accessible"],
];

for (const [name, path, status, error] of refusals) {
  test(`answers ${status} to ${name}`, async () => {
    const world = await createWorld();
    const answer = await world.send(path);
    assert.is(answer.status, status);
    assert.equal(answer.json, { error });
  });
}

test("answers 404 when the deployment is inactive, from the very next request on", async () => {
  const world = await createWorld();
  await setDeploymentActive(world.admin, world.deployId, false);
  const answer = await world.read();
  assert.is(answer.status, 404);
  assert.equal(answer.json, { error: "Deploy not found or not accessible" });
  await setDeploymentActive(world.admin, world.deployId, true);
  assert.is((await world.read()).status, 200);
});

test("answers to another workspace's deployment as to one that does not exist", async () => {
  const world = await createWorld();
  const tenants = await Promise.all(
    Array.from({ length: 4 }, (_, index) => createTenant(world.admin, 100, `T${index}`)),
  );
  const unknown = await world.read("dep_unknown");
  for (const { key } of tenants) {
    for (const { deployId, key: owner } of tenants) {
      const answer = await world.read(deployId, key);
      if (key === owner) {
        assert.is(answer.status, 200);
      } else {
        assert.equal([answer.status, answer.text, [...answer.headers]], [404, unknown.text, [...unknown.headers]]);
      }
    }
  }
});

test("serves another version as soon as the deployment is promoted, and logs which one", async () => {
  const world = await createWorld();
  await world.read();
  await pushPrompt(world.admin, world.promptId, toPrompt({ ...promptFile, title: "Second" }));
  assert.is(((await world.read()).json as { title: string }).title, "Greeting");
  await promoteDeployment(world.admin, world.deployId, { version: 2 });
  const { title, deploy } = (await world.read()).json as { title: string; deploy: { currentVersion: number } };
  assert.equal([title, deploy.currentVersion], ["Second", 2]);
  const calls = (await listCalls(world.admin, { workspaceId: world.workspaceId }, { limit: 10 })).items;
  assert.equal(calls.map(({ number, promptVersion }) => [number, promptVersion]), [[3, 2], [2, 1], [1, 1]]);
});

test("logs an accepted read with its key, deployment and time", async () => {
  const world = await createWorld();
  await world.read();
  const [call] = (await listCalls(world.admin, { workspaceId: world.workspaceId }, { limit: 10 })).items;
  const { id, ...rest } = call!;
  assert.match(id, /^call_/);
  assert.equal(rest, {
    operation: "read",
    number: 1,
    month: "2026-11",
    keyId: world.keyId,
    deployId: world.deployId,
    promptVersion: 1,
    createdAt: world.now,
  });
});

test("answers 429 with the details once the quota is used, and tells when to come back", async () => {
  const world = await createWorld({ monthlyLimit: 1 });
  await updateWorkspace(world.admin, world.workspaceId, { upgradeUrl: "https://example.com/upgrade" });
  assert.is((await world.read()).status, 200);
  const answer = await world.read();
  const resetTime = Date.UTC(2026, 11, 1) / 1000;
  assert.is(answer.status, 429);
  assert.equal(answer.json, {
    error: "Rate limit exceeded",
    details: { limit: 1, used: 1, resetTime, upgradeUrl: "https://example.com/upgrade" },
  });
  assert.is(answer.headers.get("X-RateLimit-Remaining"), "0");
  assert.is(answer.headers.get("X-RateLimit-Used"), "1");
  assert.is(answer.headers.get("Retry-After"), String(resetTime - world.now / 1000));
});

test("a limit of 0 accepts nothing, and one lowered below what is used leaves 0", async () => {
  const none = await createWorld({ monthlyLimit: 0 });
  assert.is((await none.read()).status, 429);
  const world = await createWorld({ monthlyLimit: 5 });
  await world.read();
  await world.read();
  await updateWorkspace(world.admin, world.workspaceId, { monthlyLimit: 1 });
  const answer = await world.read();
  assert.is(answer.status, 429);
  assert.is(answer.headers.get("X-RateLimit-Remaining"), "0");
  assert.is(answer.headers.get("X-RateLimit-Used"), "2");
  assert.is((answer.json as { details: { upgradeUrl: unknown } }).details.upgradeUrl, null);
});

test("HEAD answers as GET does, without the body, and counts", async () => {
  const world = await createWorld();
  const init = { method: "HEAD", headers: { Authorization: `Bearer ${world.key}` } };
  const answer = await world.send(`/v1/prompts?deployId=${world.deployId}`, init);
  assert.equal([answer.status, answer.text], [200, ""]);
  assert.is(answer.headers.get("X-RateLimit-Used"), "1");
  const refused = await world.send("/v1/prompts", init);
  assert.equal([refused.status, refused.text], [400, ""]);
});

test.run();
