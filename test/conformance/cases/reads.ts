// GET /v1/prompts, and its effects on the quota and the call log.
import * as assert from "uvu/assert";
import { monthOf } from "../../../src/common/month.ts";
import { goodBody, promptFile } from "../../helpers.ts";
import { isAccepted, isExhausted, isNotFound, isRefusal, quotaHeaders, usedOf } from "../answers.ts";
import { bearer, callsOf, ownCase, read, recordsOf, submit, usageOf } from "../target.ts";
import type { Case, Target } from "../target.ts";

const served = ({ deployId, promptId, workspaceId }: Target) => ({
  id: promptId,
  ...promptFile,
  deploy: { id: deployId, name: "production", currentVersion: 1, isActive: true },
  workspace: { id: workspaceId, name: "Acme" },
});

const messages =
  '[{"role":"system","content":"Grüße {{name}}, שלום 👋\\n","z":1,"weight":[1.0]},{"role":"user","content":[{"type":"text","text":"{{question}}\\u0000"}]}]';
const llmConfig =
  '{"provider":"openai","temperature":1.0,"seed":12345678901234567890,"":1e400,"__proto__":{"b":1,"a":{"deep":[[]]}}}';

const badQueries = [
  "",
  "?deployId=",
  "?deployId=a&deployId=b",
  "?deployId=&deployId=a",
  `?deployId=${"x".repeat(301)}`,
];
const unknownIds = ["dep_0", "%00", "dep%00", "%ED%A0%80%FF", "x".repeat(300), "a@b", "@", "@production"];

const upgradeUrl = "https://example.com/upgrade";

export const readCases: Case[] = [
  ["GET answers 200 with all seven fields of the prompt, and the quota", async (target) => {
    isAccepted(await read(target), 200, served(target));
  }],
  ["GET serves an empty description and llmConfig if none was pushed", async (target) => {
    const bare = { ...target, ...await target.deploy(target.workspaceId, "bare", { title: "Bare", messages: [] }) };
    const { title, description, messages, llmConfig } = JSON.parse((await read(bare)).text);
    assert.equal([title, description, messages, llmConfig], ["Bare", "", [], {}]);
  }],
  ["GET serves messages and llmConfig exactly as they were pushed", async (target) => {
    const pushed = `{ "llmConfig": ${llmConfig}, "title": "Ünïcode", "messages": ${messages} }`;
    const { text } = await read({ ...target, ...await target.deploy(target.workspaceId, "exact", pushed) });
    assert.ok(text.includes(`"messages":${messages}`));
    assert.ok(text.includes(`"llmConfig":${llmConfig}`));
  }],
  ownCase("GET serves another version on the very next request after a promotion", async (own) => {
    await own.manage("POST", `/prompts/${own.promptId}/versions`, { ...promptFile, title: "Second" });
    for (const [version, title] of ["Greeting", "Second", "Greeting"].entries()) {
      if (version > 0) await own.manage("POST", `/deployments/${own.deployId}/promote`, { version: 3 - version });
      const prompt = JSON.parse((await read(own)).text);
      assert.equal([prompt.title, prompt.deploy.currentVersion], [title, version === 1 ? 2 : 1]);
    }
    assert.equal((await callsOf(own)).map(({ promptVersion }) => promptVersion), [1, 2, 1]);
  }),
  ownCase("GET and POST answer 404 on the very next request after a deployment is deactivated", async (own) => {
    assert.is((await read(own)).status, 200);
    await own.manage("POST", `/deployments/${own.deployId}/deactivate`);
    isNotFound(await read(own));
    isNotFound(await submit(own));
    await own.manage("POST", `/deployments/${own.deployId}/activate`);
    assert.is((await read(own)).status, 200);
    assert.equal(await recordsOf(own), []);
  }),
  ownCase(
    "each accepted read or submit uses one of the quota, and a refused one none",
    async (own) => {
      isAccepted(await read(own), 200, served(own), 1, 10);
      assert.equal(quotaHeaders(await submit(own), 10, 2)["x-ratelimit-remaining"], "8");
      assert.is((await submit(own, "{}")).status, 400);
      assert.is((await read({ ...own, deployId: "unknown" })).status, 404);
      assert.is((await read({ ...own, key: "unknown" })).status, 401);
      isAccepted(await read(own), 200, served(own), 3, 10);
    },
    { monthlyLimit: 10 },
  ),
  ownCase("an accepted request is one entry of the call log, with key, deployment, version and time", async (own) => {
    await read(own);
    const record = JSON.parse((await submit(own)).text);
    const [submitted, readOne] = await callsOf(own) as [Record<string, unknown>, Record<string, unknown>];
    assert.is(submitted.id, record.id.replace("diag_", "call_"));
    assert.match(String(readOne.id), /^call_/);
    const { keyId, deployId } = own;
    for (const [number, { id: _, createdAt, ...entry }] of [readOne, submitted].entries()) {
      assert.ok(Math.abs(Number(createdAt) - Date.now()) < 60_000);
      const numbered = { operation: number === 0 ? "read" : "submit", number: number + 1, promptVersion: 1 };
      assert.equal(entry, { ...numbered, month: monthOf(Number(createdAt)), keyId, deployId });
    }
  }),
  ownCase("HEAD answers as GET does, without the body, and counts", async (own) => {
    const head = (query: string) => own.send(`/v1/prompts${query}`, { method: "HEAD", headers: [bearer(own.key)] });
    const answer = await head(`?deployId=${own.deployId}`);
    assert.is(answer.text, "");
    isAccepted({ ...answer, text: "null" }, 200, null, 1);
    const refused = await head("");
    assert.equal([refused.status, refused.text], [400, ""]);
  }),
  ...badQueries.map((query): Case => [
    `GET answers 400 to the query "${query.slice(0, 24)}"`,
    async ({ send, key }) => {
      const answer = await send(`/v1/prompts${query}`, { headers: [bearer(key)] });
      isRefusal(answer, 400, "Missing or invalid deployId parameter");
    },
  ]),
  ["GET answers 404 to a deployment that is unknown or another workspace's", async (target) => {
    const other = await target.createTenant();
    for (const deployId of [...unknownIds, other.deployId]) isNotFound(await read({ ...target, deployId }));
  }],
  ownCase("429 has the limit, the use, the reset and the upgrade link, and stores nothing", async (own) => {
    assert.equal([(await read(own)).status, (await submit(own)).status], [200, 201]);
    for (const answer of [await read(own), await submit(own)]) isExhausted(answer, 2, 2, upgradeUrl);
    const { reads, submits, remaining } = await usageOf(own);
    assert.equal({ reads, submits, remaining }, { reads: 1, submits: 1, remaining: 0 });
    assert.is((await recordsOf(own)).length, 1);
  }, { monthlyLimit: 2, upgradeUrl }),
  ["a limit of 0 accepts nothing, and a limit lowered below the use leaves 0", async (target) => {
    const none = { ...target, ...await target.createTenant({ monthlyLimit: 0 }) };
    isExhausted(await read(none), 0, 0);
    const lowered = { ...target, ...await target.createTenant({ monthlyLimit: 5 }) };
    assert.is(usedOf(await read(lowered)) + usedOf(await submit(lowered, goodBody)), 3);
    await lowered.manage("PATCH", `/workspaces/${lowered.workspaceId}`, { monthlyLimit: 1 });
    isExhausted(await read(lowered), 1, 2);
    const { limit, used, remaining } = await usageOf(lowered);
    assert.equal({ limit, used, remaining }, { limit: 1, used: 2, remaining: 0 });
  }],
];
