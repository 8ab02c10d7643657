// Every statement of the specification as a named case that speaks plain HTTP. A case gives whole answers to compare:
// status, body, and each header of ours, present or absent, so what passes on every runtime is identical on all.
import * as assert from "uvu/assert";
import { listDiagnoses } from "../actions.ts";
import { newApiKey } from "../../src/common/ids.ts";
import { stringify } from "../../src/common/json-text.ts";
import { endOfMonth, monthOf } from "../../src/common/month.ts";
import { goodBody, promptFile } from "../helpers.ts";
import type { Fixture } from "./fixture.ts";
import { openConnection, send, serialize } from "./http-client.ts";
import type { HttpAnswer, HttpRequest } from "./http-client.ts";

export type Target = Fixture & { base: string; maxBodyBytes: number };

export type Case = [name: string, run: (target: Target) => Promise<void>];

const ourHeaders = [
  "content-type",
  "www-authenticate",
  "allow",
  "retry-after",
  "cache-control",
  "x-content-type-options",
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-used",
  "x-ratelimit-reset",
];

const json = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

/** Compares a whole answer; a header that is not named must be absent. */
function isAnswer(answer: HttpAnswer, status: number, body: unknown, headers: Record<string, string> = {}): void {
  const ours = Object.fromEntries(
    ourHeaders.filter((name) => answer.headers.has(name)).map((name) => [name, answer.headers.get(name)]),
  );
  assert.equal([answer.status, JSON.parse(answer.text), ours], [status, body, { ...json, ...headers }]);
  assert.match(answer.headers.get("x-request-id") ?? "none", /^req_\w{26}$/);
}

const isRefusal = (answer: HttpAnswer, status: number, error: string, headers: Record<string, string> = {}) =>
  isAnswer(answer, status, { error }, status === 401 ? { "www-authenticate": "Bearer", ...headers } : headers);

const bearer = (key: string) => `Authorization: Bearer ${key}`;

const read = ({ base, key }: Target, deployId: string, headers = [bearer(key)]) =>
  send(base, `/v1/prompts?deployId=${deployId}`, { headers });

/** Submits a body: text and bytes as they are, anything else as JSON. */
function submit({ base, key, deployId }: Target, body: unknown, request: HttpRequest = {}, path = "/v1/diagnosis") {
  const sent = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
  const headers = [bearer(key), "Content-Type: application/json"];
  return send(base, `${path}?deployId=${deployId}`, { method: "POST", headers, body: sent, ...request });
}

/** The quota headers, where so much of the limit is used. The month may turn while a case runs. */
function quotaHeaders(answer: HttpAnswer, limit: number, used: number): Record<string, string> {
  const reset = Number(answer.headers.get("x-ratelimit-reset")) * 1000;
  assert.ok([endOfMonth(monthOf(Date.now())), endOfMonth(monthOf(Date.now() - 60_000))].includes(reset));
  return {
    "x-ratelimit-limit": String(limit),
    "x-ratelimit-remaining": String(limit - used),
    "x-ratelimit-used": String(used),
    "x-ratelimit-reset": String(reset / 1000),
  };
}

/** A 200 or 201, with whatever number it has in its month. */
function isAccepted(answer: HttpAnswer, status: 200 | 201, body: unknown, limit = 100_000): void {
  isAnswer(answer, status, body, {
    ...quotaHeaders(answer, limit, Number(answer.headers.get("x-ratelimit-used"))),
    ...(status === 200 ? { "cache-control": "private, no-cache" } : {}),
  });
}

function isRecorded(answer: HttpAnswer): string {
  const id = String(JSON.parse(answer.text).id);
  assert.match(id, /^diag_[0-9a-z]{26}$/);
  isAccepted(answer, 201, { id, status: "success", message: "Diagnosis data recorded successfully" });
  return id;
}

/** The newest record, as the text in which every face returns it. */
async function newestRecord({ admin, deployId }: Target): Promise<string> {
  return stringify((await listDiagnoses(admin, { deployId }, { limit: 1 })).items[0]);
}

const served = ({ deployId, promptId, workspaceId }: Target) => ({
  id: promptId,
  ...promptFile,
  deploy: { id: deployId, name: "production", currentVersion: 1, isActive: true },
  workspace: { id: workspaceId, name: "Acme" },
});

const readCases: Case[] = [
  ["GET answers 200 with all seven fields of the prompt, and the quota", async (target) => {
    isAccepted(await read(target, target.deployId), 200, served(target));
  }],
  ["GET serves the current version of the deployment", async (target) => {
    const { title, description, llmConfig, deploy } = JSON.parse(
      (await read(target, target.secondVersionDeployId)).text,
    );
    assert.equal([title, description, llmConfig, deploy.currentVersion], ["Second", "", {}, 2]);
  }],
  ["GET serves messages and llmConfig exactly as they were pushed", async (target) => {
    const { text } = await read(target, target.exact.deployId);
    assert.ok(text.includes(`"messages":${target.exact.messages}`));
    assert.ok(text.includes(`"llmConfig":${target.exact.llmConfig}`));
  }],
  ["each accepted request uses one of the quota, reads and submits alike", async (target) => {
    const used = (answer: HttpAnswer) => Number(answer.headers.get("x-ratelimit-used"));
    const first = used(await read(target, target.deployId));
    assert.is(used(await submit(target, goodBody)), first + 1);
    assert.is((await submit(target, "{}")).status, 400);
    assert.is((await read(target, "unknown")).status, 404);
    assert.is(used(await read(target, target.deployId)), first + 2);
  }],
  ["HEAD answers as GET does, without the body", async (target) => {
    const request = { method: "HEAD", headers: [bearer(target.key)] };
    const answer = await send(target.base, `/v1/prompts?deployId=${target.deployId}`, request);
    assert.is(answer.text, "");
    isAccepted({ ...answer, text: "null" }, 200, null);
  }],
  ...["", "?deployId=", "?deployId=a&deployId=b", "?deployId=&deployId=a", `?deployId=${"x".repeat(129)}`].map((
    query,
  ): Case => [
    `GET answers 400 to the query "${query.slice(0, 24)}"`,
    async (target) => {
      const answer = await send(target.base, `/v1/prompts${query}`, { headers: [bearer(target.key)] });
      isRefusal(answer, 400, "Missing or invalid deployId parameter");
    },
  ]),
  ["GET answers 404 to a deployment that is unknown, inactive or another workspace's", async (target) => {
    for (const deployId of ["dep_0", "%00", "x".repeat(128), target.inactiveDeployId, target.other.deployId]) {
      isRefusal(await read(target, deployId), 404, "Deploy not found or not accessible");
    }
  }],
  ["429 carries the limit, what is used, the reset and the upgrade link", async (target) => {
    const { key, deployId } = target.exhaustible;
    const exhaustible = { ...target, key, deployId };
    assert.is((await read(exhaustible, deployId)).status, 200);
    for (const answer of [await read(exhaustible, deployId), await submit(exhaustible, goodBody)]) {
      const resetTime = Number(answer.headers.get("x-ratelimit-reset"));
      const wait = Number(answer.headers.get("retry-after"));
      assert.ok(wait >= 1 && Math.abs(wait - (resetTime - Date.now() / 1000)) < 60);
      isAnswer(
        answer,
        429,
        {
          error: "Rate limit exceeded",
          details: { limit: 1, used: 1, resetTime, upgradeUrl: "https://example.com/upgrade" },
        },
        { ...quotaHeaders(answer, 1, 1), "retry-after": String(wait) },
      );
    }
  }],
];

const authorizations: [name: string, headers: (target: Target) => string[], error: string][] = [
  ["no Authorization header", () => [], "Missing or invalid authorization header"],
  ["an empty Authorization header", () => ["Authorization:"], "Missing or invalid authorization header"],
  ["another scheme", () => ["Authorization: Basic dTpw"], "Missing or invalid authorization header"],
  ["Bearer with nothing after it", () => ["Authorization: Bearer"], "No API key provided"],
  ["Bearer with a space after it", () => ["Authorization: Bearer "], "No API key provided"],
  [
    "a key with a typing error",
    ({ key }) => [bearer(key.slice(0, -1) + (key.endsWith("a") ? "b" : "a"))],
    "Invalid API key",
  ],
  ["a key that was never issued", () => [bearer(newApiKey())], "Invalid API key"],
  ["an expired key", ({ expiredKey }) => [bearer(expiredKey)], "Invalid API key"],
  ["a revoked key", ({ revokedKey }) => [bearer(revokedKey)], "Invalid API key"],
  ["two Authorization headers", ({ key }) => [bearer(key), bearer(key)], "Invalid API key"],
];

const authorizationCases: Case[] = [
  ...authorizations.map((
    [name, headersOf, error],
  ): Case => [`answers 401 to ${name}, on every operation`, async (target) => {
    const headers = headersOf(target);
    isRefusal(await read(target, target.deployId, headers), 401, error);
    isRefusal(await submit(target, goodBody, { headers }), 401, error);
    isRefusal(await submit(target, goodBody, { headers }, "/v1/prompts"), 401, error);
  }]),
  ["the scheme matches in any case", async (target) => {
    for (const scheme of ["bearer", "BEARER", "Bearer  "]) {
      assert.is((await read(target, target.deployId, [`authorization: ${scheme} ${target.key}`])).status, 200);
    }
  }],
  ["checks 401, then 400, then 404, then 429", async (target) => {
    const nobody = { headers: [bearer(newApiKey())] };
    isRefusal(await submit(target, "not JSON", nobody), 401, "Invalid API key");
    isRefusal(await submit(target, "x".repeat(target.maxBodyBytes + 1), nobody), 401, "Invalid API key");
    isRefusal(await submit({ ...target, deployId: "dep_0" }, "not JSON"), 400, "Request body must be valid JSON");
    const { key } = target.exhaustible;
    isRefusal(await read({ ...target, key }, "dep_0", [bearer(key)]), 404, "Deploy not found or not accessible");
  }],
];

const properties =
  '{"trace_id":"4bf9","n":12345678901234567890,"f":1.0,"e":1e400,"":0,"__proto__":{"b":1,"a":2},"same":1,"same":2}';

const submitCases: Case[] = [
  ...["/v1/prompts", "/v1/diagnosis"].map((path): Case => [
    `POST ${path} answers 201 with the new record's id, and the quota`,
    async (target) => void isRecorded(await submit(target, goodBody, {}, path)),
  ]),
  ["a record is stored with every field, and the version that was live", async (target) => {
    const body = {
      ...goodBody,
      latency: 12.5,
      startAt: 1,
      endAt: 0,
      additional_properties: { token_usage: { prompt_tokens: 5 } },
    };
    const id = isRecorded(await submit(target, body));
    const { createdAt, ...record } = JSON.parse(await newestRecord(target));
    assert.equal(record, { id, ...body, promptVersion: 1 });
    assert.ok(Math.abs(createdAt - Date.now()) < 60_000);
  }],
  ["additional_properties are stored as given: every digit, key and order", async (target) => {
    isRecorded(
      await submit(target, `{"sessionId":"s","status":0,"content":{"input":""},"additional_properties":${properties}}`),
    );
    assert.ok((await newestRecord(target)).includes(`"additional_properties":${properties}`));
  }],
  ["unknown members are kept and returned", async (target) => {
    isRecorded(await submit(target, { ...goodBody, tags: ["a"], id: "mine" }));
    const { tags, submitted } = JSON.parse(await newestRecord(target));
    assert.equal([tags, submitted], [["a"], { id: "mine" }]);
  }],
  ["lone surrogates become U+FFFD, and NUL survives", async (target) => {
    const body = String
      .raw`{"sessionId":"\u0000\ud800","status":0,"content":{"output":"\udc00\u0000"},"additional_properties":{"\ud800":"\ud83d\ude00"}}`;
    isRecorded(await submit(target, body));
    const { sessionId, content, additional_properties } = JSON.parse(await newestRecord(target));
    assert.equal([sessionId, content], ["\0\ufffd", { output: "\ufffd\0" }]);
    assert.equal(additional_properties, { "\ufffd": "😀" });
  }],
  ["1,000 nested levels are stored and returned, one more is 400", async (target) => {
    const nested = (levels: number) => `${'{"b":'.repeat(levels)}1${"}".repeat(levels)}`;
    const bodyWith = (deep: string) =>
      `{"sessionId":"s","status":0,"content":{"input":""},"additional_properties":${deep}}`;
    isRecorded(await submit(target, bodyWith(nested(999))));
    assert.ok((await newestRecord(target)).includes(nested(999)));
    for (const levels of [1000, 1500]) {
      const answer = await submit(target, bodyWith(nested(levels)));
      isRefusal(answer, 400, "Request body must be nested at most 1000 levels deep");
    }
  }],
  ["a body may come in chunks, without a type, and as any type", async (target) => {
    isRecorded(await submit(target, goodBody, { chunkSize: 10 }));
    isRecorded(await submit(target, goodBody, { headers: [bearer(target.key)] }));
    isRecorded(await submit(target, goodBody, { headers: [bearer(target.key), "Content-Type: text/plain"] }));
  }],
];

const invalidBodies: [name: string, body: unknown, error: string][] = [
  ["no sessionId", { ...goodBody, sessionId: undefined }, "Missing required field sessionId"],
  ["no status", { ...goodBody, status: undefined }, "Missing required field status"],
  ["no content", { ...goodBody, content: undefined }, "Missing required field content"],
  ["empty content", { ...goodBody, content: {} }, "Field content must be an object with input or output"],
  ["an input of another type", { ...goodBody, content: { input: 1 } }, "Field content.input must be a string"],
  [
    "a status of 2^53 + 1",
    '{"sessionId":"s","status":9007199254740993,"content":{"input":""}}',
    "Field status must be an integer from -9007199254740991 to 9007199254740991",
  ],
  [
    "a latency of 1e999",
    '{"sessionId":"s","status":1,"content":{"input":""},"latency":1e999}',
    "Field latency must be a finite number of milliseconds, at least 0",
  ],
  [
    "a timestamp in ISO 8601",
    { ...goodBody, startAt: "2026-11-15" },
    "Field startAt must be an integer of Unix milliseconds from 0 to 9007199254740991",
  ],
  [
    "a negative timestamp",
    { ...goodBody, endAt: -1 },
    "Field endAt must be an integer of Unix milliseconds from 0 to 9007199254740991",
  ],
  [
    "additional_properties that are no object",
    { ...goodBody, additional_properties: 1 },
    "Field additional_properties must be an object",
  ],
  ["a body that is not JSON", "{", "Request body must be valid JSON"],
  ["an empty body", "", "Request body must be valid JSON"],
  ["an array", "[]", "Request body must be an object"],
  ["900 nested arrays", `${"[".repeat(900)}${"]".repeat(900)}`, "Request body must be an object"],
  ["5,000 nested arrays", "[".repeat(5000), "Request body must be nested at most 1000 levels deep"],
  ["bad UTF-8", new Uint8Array([0x7b, 0xff, 0x7d]), "Request body must be UTF-8"],
];

const bodyCases: Case[] = [
  ...invalidBodies.map(([name, body, error]): Case => [
    `POST answers 400 to ${name}`,
    async (target) => isRefusal(await submit(target, body), 400, error),
  ]),
  ["POST without any body answers 400", async (target) => {
    const request = { method: "POST", headers: [bearer(target.key)] };
    const answer = await send(target.base, `/v1/diagnosis?deployId=${target.deployId}`, request);
    isRefusal(answer, 400, "Request body must be valid JSON");
  }],
  ["a body at the limit is accepted, one byte more is 413, with its length and in chunks", async (target) => {
    const { maxBodyBytes } = target;
    const empty = JSON.stringify({ ...goodBody, content: { input: "" } });
    const full = empty.replace('""', `"${"x".repeat(maxBodyBytes - empty.length)}"`);
    const error = `Request body must be at most ${maxBodyBytes} bytes`;
    for (const request of [{}, { chunkSize: 65536 }]) {
      isRecorded(await submit(target, full.replace("xx", "x"), request));
      isRecorded(await submit(target, full, request));
      const refused = await submit(target, full.replace("xx", "xxx"), request);
      isRefusal(refused, 413, error);
      assert.is(refused.headers.get("connection"), "close");
    }
    assert.is(JSON.parse(await newestRecord(target)).content.input.length, maxBodyBytes - empty.length);
  }],
];

/** Submits under an Idempotency-Key. */
const submitUnder = (target: Target, idempotencyKey: string, body: unknown = goodBody, path?: string) =>
  submit(target, body, { headers: [bearer(target.key), `Idempotency-Key: ${idempotencyKey}`] }, path);

const idempotencyCases: Case[] = [
  ["a submit repeated under its Idempotency-Key, bare or quoted, is stored and counted once", async (target) => {
    const first = await submitUnder(target, "repeated");
    const id = isRecorded(first);
    for (const [key, path] of [["repeated", "/v1/diagnosis"], ['"repeated"', "/v1/prompts"]] as const) {
      const repeat = await submitUnder(target, key, goodBody, path);
      assert.is(isRecorded(repeat), id);
      assert.is(repeat.headers.get("x-ratelimit-used"), first.headers.get("x-ratelimit-used"));
    }
    const [newest, before] = (await listDiagnoses(target.admin, { deployId: target.deployId }, { limit: 2 })).items;
    assert.is(newest?.id, id);
    assert.is.not(before?.id, id);
  }],
  ["many submits at once under one Idempotency-Key are answered with one record", async (target) => {
    const sessionId = "under one key";
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => submitUnder(target, "at once", { ...goodBody, sessionId })),
    );
    const found = (await listDiagnoses(target.admin, { deployId: target.deployId, sessionId }, { limit: 20 })).items;
    assert.equal(found.map(({ id }) => id), [...new Set(answers.map(isRecorded))]);
  }],
  ["an Idempotency-Key that was used with another request answers 422, one that is malformed 400", async (target) => {
    isRecorded(await submitUnder(target, "used"));
    const reused = "Idempotency-Key was used with another request";
    isRefusal(await submitUnder(target, "used", { ...goodBody, status: 2 }), 422, reused);
    isRefusal(await submitUnder({ ...target, deployId: target.secondVersionDeployId }, "used"), 422, reused);
    const malformed = "Idempotency-Key header must be 1 to 255 printable ASCII characters";
    for (const key of ["", '""', "x".repeat(256), "é"]) isRefusal(await submitUnder(target, key), 400, malformed);
  }],
];

const protocolCases: Case[] = [
  ["an unknown path is 404", async (target) => {
    for (const path of ["/v1", "/v1/nothing", "/v2/prompts", "/v1/prompts/x"]) {
      isRefusal(await send(target.base, path, { headers: [bearer(target.key)] }), 404, "Not found");
    }
  }],
  ["the root says what this is, as JSON or as a page", async (target) => {
    const answer = await send(target.base, "/");
    const { name, openapi } = JSON.parse(answer.text);
    assert.equal([answer.status, name, openapi], [200, "promptledger", "openapi.json"]);
    const page = await send(target.base, "/", { headers: ["Accept: text/html,*/*;q=0.8"] });
    assert.equal([page.status, page.headers.get("content-type")], [200, "text/html; charset=utf-8"]);
    assert.match(page.text, '<a href="openapi.json">');
  }],
  ["without an admin token the management API is 404, and says so", async ({ base }) => {
    const error = "Management is off: the service has no admin token";
    isAnswer(await send(base, "/admin/v1/workspaces"), 404, { error, code: "management_off" }, {});
  }],
  ["a wrong method is 405 with Allow", async (target) => {
    for (const method of ["PUT", "DELETE", "PATCH", "OPTIONS"]) {
      const request = { method, headers: [bearer(target.key)] };
      const prompts = await send(target.base, `/v1/prompts?deployId=${target.deployId}`, request);
      isRefusal(prompts, 405, "Method not allowed", { allow: "GET, HEAD, POST" });
      isRefusal(await send(target.base, "/v1/diagnosis", request), 405, "Method not allowed", { allow: "POST" });
    }
    isRefusal(await send(target.base, "/v1/diagnosis"), 405, "Method not allowed", { allow: "POST" });
  }],
  ["TRACE and methods that are none are refused, and cost nothing", async (target) => {
    const before = (await read(target, target.deployId)).headers.get("x-ratelimit-used");
    for (const method of ["TRACE", "PROPFIND", "FOO", "get"]) {
      const request = { method, headers: [bearer(target.key)] };
      // Bun's own parser answers some of them, and hangs up on others.
      const status = await send(target.base, `/v1/prompts?deployId=${target.deployId}`, request)
        .then((answer) => answer.status, (error) => /closed the connection/.test(String(error)) ? "hung up" : error);
      assert.ok([400, 405, 501, "hung up"].includes(status), `${method}: ${status}`);
    }
    const after = (await read(target, target.deployId)).headers.get("x-ratelimit-used");
    assert.is(Number(after), Number(before) + 1);
  }],
  ["a request's own id is answered with, unless it looks like a key", async (target) => {
    for (const id of ["4bf92f35-77b3", "a/b:c+d@e=f.g_h"]) {
      const answer = await send(target.base, "/healthz", { headers: [`X-Request-Id: ${id}`] });
      assert.is(answer.headers.get("x-request-id"), id);
    }
    for (const id of ["two words", "<script>", "x".repeat(129), target.key, ""]) {
      const answer = await send(target.base, "/healthz", { headers: [`X-Request-Id: ${id}`] });
      assert.match(answer.headers.get("x-request-id")!, /^req_\w{26}$/, id);
    }
  }],
  ["/healthz and /readyz say that all is well", async (target) => {
    for (const path of ["/healthz", "/readyz"]) isAnswer(await send(target.base, path), 200, { status: "ok" });
  }],
  ["a request whose Host is none is 400", async (target) => {
    const connection = openConnection(target.base);
    connection.write("GET /v1/prompts HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n");
    isRefusal(await connection.readAnswer(), 400, "Request target or Host header must be valid");
    connection.close();
  }],
  ["a connection serves one request after another, also after refusals whose body nobody reads", async (target) => {
    const connection = openConnection(target.base);
    const path = `/v1/diagnosis?deployId=${target.deployId}`;
    const body = JSON.stringify({ ...goodBody, content: { input: "x".repeat(100_000) } });
    const requests: [target: string, request: HttpRequest, status: number][] = [
      [path, { method: "POST", headers: [bearer(target.key)], body }, 201],
      [path, { method: "POST", headers: [bearer("wrong")], body }, 401],
      ["/nowhere", { method: "POST", headers: [], body, chunkSize: 1000 }, 404],
      [path, { method: "PUT", headers: [bearer(target.key)], body }, 405],
      [path, { method: "POST", headers: [bearer(target.key)], body: "{" }, 400],
      [path, { method: "POST", headers: [bearer(target.key)], body, chunkSize: 1000 }, 201],
    ];
    for (const [path, request, status] of requests) {
      connection.write(serialize(target.base, path, request, "keep-alive"));
      assert.is((await connection.readAnswer()).status, status);
    }
    connection.close();
  }],
  ["a client that goes away in the middle of a body leaves nothing behind", async (target) => {
    const before = Number((await read(target, target.deployId)).headers.get("x-ratelimit-used"));
    for (let round = 0; round < 5; round++) {
      const connection = openConnection(target.base);
      const request = { method: "POST", headers: [bearer(target.key)], body: JSON.stringify(goodBody) };
      const bytes = serialize(target.base, `/v1/diagnosis?deployId=${target.deployId}`, request, "close");
      connection.write(bytes.subarray(0, bytes.length - 10));
      await new Promise((resolve) => setTimeout(resolve, 20));
      connection.close();
    }
    assert.is(Number((await read(target, target.deployId)).headers.get("x-ratelimit-used")), before + 1);
  }],
];

export const cases: Case[] = [
  ...readCases,
  ...authorizationCases,
  ...submitCases,
  ...bodyCases,
  ...idempotencyCases,
  ...protocolCases,
];
