// Usage, the root, probes, and unknown paths and methods.
import * as assert from "uvu/assert";
import { version } from "../../../src/common/version.ts";
import { isAnswer, isRefusal, usedOf } from "../answers.ts";
import { bearer, callsOf, ownCase, read, submit, usageOf } from "../target.ts";
import type { Case } from "../target.ts";

const notFound = [
  ...["/v1", "/v1/nothing", "/v1/prompt", "/v1/prompts/extra", "/v2/prompts", "/x/v1/prompts", "//v1//prompts"],
];

const wrongMethods: [path: string, allow: string, methods: string[]][] = [
  ["/v1/prompts?deployId=dep_0", "GET, HEAD, POST", ["PUT", "DELETE", "PATCH", "OPTIONS"]],
  ["/v1/diagnosis", "POST", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"]],
  ["/v1/usage", "GET, HEAD", ["POST", "PUT", "DELETE", "OPTIONS"]],
  ["/", "GET, HEAD", ["POST"]],
];

export const routeCases: Case[] = [
  ownCase("usage has what the workspace has used and has left, as management does", async (own) => {
    const { month, resetTime, ...fresh } = await usageOf(own);
    assert.equal(fresh, { limit: 4, used: 0, remaining: 4, reads: 0, submits: 0 });
    await read(own);
    await submit(own);
    const reset = Number((await submit(own)).headers.get("x-ratelimit-reset"));
    const { lastCallAt, days: _, keys: __, others: ___, ...managed } = await own.manage(
      "GET",
      `/workspaces/${own.workspaceId}/usage/${month}`,
    );
    const usage = await usageOf(own);
    assert.equal(usage, { month, limit: 4, used: 3, remaining: 1, reads: 1, submits: 2, resetTime: reset });
    assert.equal([usage, resetTime], [managed, reset]);
    assert.equal(new Date(lastCallAt as number).toISOString().slice(0, 7), month);
  }, { monthlyLimit: 4 }),
  ownCase("usage costs nothing, however often it is requested, and leaves no trace", async (own) => {
    for (const method of ["GET", "HEAD", "GET", "HEAD"]) {
      assert.is((await own.send("/v1/usage", { method, headers: [bearer(own.key)] })).status, 200);
    }
    assert.equal([await callsOf(own), (await own.manage("GET", `/keys/${own.keyId}`)).lastUsedAt], [[], null]);
    assert.is(usedOf(await read(own)), 1);
    assert.is((await usageOf(own)).remaining, 0);
  }, { monthlyLimit: 1 }),
  ["usage has no quota headers, and is not cached", async ({ send, key }) => {
    const answer = await send("/v1/usage", { headers: [bearer(key)] });
    isAnswer(answer, 200, JSON.parse(answer.text));
  }],
  ["an unknown path is 404", async ({ send, key }) => {
    for (const path of notFound) isRefusal(await send(path, { headers: [bearer(key)] }), 404, "Not found");
  }],
  ["a wrong method is 405, and Allow lists the right ones", async ({ send, key }) => {
    for (const [path, allow, methods] of wrongMethods) {
      for (const method of methods) {
        const answer = await send(path, { method, headers: [bearer(key)] });
        if (method === "HEAD") assert.equal([answer.status, answer.text], [405, ""]);
        else isRefusal(answer, 405, "Method not allowed", { allow });
      }
    }
  }],
  ["the root describes the service to programs", async ({ send }) => {
    const answer = await send("/");
    const { description, ...rest } = JSON.parse(answer.text);
    assert.equal([answer.status, rest], [200, { name: "promptledger", version, openapi: "openapi.json" }]);
    assert.match(description, /^Serves the prompts/);
  }],
  ["an answer has the request's own id, unless that is invalid or looks like a key", async ({ send, key }) => {
    const answered = async (id: string) =>
      (await send("/healthz", { headers: [`X-Request-Id: ${id}`] })).headers.get("x-request-id")!;
    for (const id of ["a", "4bf92f35-77b3", "a/b:c+d@e=f.g_h", "x".repeat(128)]) assert.is(await answered(id), id);
    for (const id of ["", "two words", "<script>", "x".repeat(129), "é", '"', key]) {
      assert.match(await answered(id), /^req_[0-9a-f-]{36}$/, id);
    }
  }],
  ["/healthz and /readyz are 200", async ({ send }) => {
    isAnswer(await send("/readyz"), 200, { status: "ok" });
    const { commit = "0".repeat(12), ...rest } = JSON.parse((await send("/healthz")).text);
    assert.equal(rest, { status: "ok", version });
    assert.match(commit, /^[\da-f]{12}$/);
  }],
];
