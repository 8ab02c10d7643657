import { suite } from "uvu";
import * as assert from "uvu/assert";
import { listCalls, listDiagnoses, readUsage, setDeploymentActive, verify } from "../actions.ts";
import { stringify } from "../../src/common/json-text.ts";
import { createWorld, goodBody } from "../helpers.ts";
import type { World } from "../helpers.ts";

const test = suite("POST /v1/diagnosis");

/** The newest record, as the JSON text in which it is returned. */
async function newestRecord(world: World): Promise<string> {
  const [record] = (await listDiagnoses(world.admin, { deployId: world.deployId }, { limit: 1 })).items;
  return stringify(record);
}

for (const path of ["/v1/diagnosis", "/v1/prompts"]) {
  test(`POST ${path} answers 201 with the record's id, and tells the quota`, async () => {
    const world = await createWorld({ monthlyLimit: 10 });
    const headers = { Authorization: `Bearer ${world.key}`, "Content-Type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(goodBody) };
    const answer = await world.send(`${path}?deployId=${world.deployId}`, init);
    assert.is(answer.status, 201);
    const { id, ...rest } = answer.json as { id: string };
    assert.match(id, /^diag_[0-9a-z]{26}$/);
    assert.equal(rest, { status: "success", message: "Diagnosis data recorded successfully" });
    assert.is(answer.headers.get("X-RateLimit-Limit"), "10");
    assert.is(answer.headers.get("X-RateLimit-Used"), "1");
    assert.is(answer.headers.get("X-RateLimit-Remaining"), "9");
    assert.is(answer.headers.get("X-RateLimit-Reset"), String(Date.UTC(2026, 11, 1) / 1000));
  });
}

test("stores the record with every field that was sent, and the version that was live", async () => {
  const world = await createWorld();
  const body = {
    ...goodBody,
    latency: 12.5,
    startAt: 1700000000000,
    endAt: 1700000000012,
    additional_properties: { trace_id: "4bf92f35", token_usage: { prompt_tokens: 52, completion_tokens: 9 } },
  };
  const { id } = (await world.submit(body)).json as { id: string };
  assert.equal(JSON.parse(await newestRecord(world)), { id, ...body, promptVersion: 1, createdAt: world.now });
});

test("returns null for what was not sent", async () => {
  const world = await createWorld();
  const { id } = (await world.submit()).json as { id: string };
  const nothing = { latency: null, startAt: null, endAt: null, additional_properties: null };
  assert.equal(JSON.parse(await newestRecord(world)), {
    id,
    ...goodBody,
    ...nothing,
    promptVersion: 1,
    createdAt: world.now,
  });
});

test("logs the submit in the transaction that stores the record", async () => {
  const world = await createWorld();
  const { id } = (await world.submit()).json as { id: string };
  const [call] = (await listCalls(world.admin, { workspaceId: world.workspaceId }, { limit: 10 })).items;
  assert.equal([call!.operation, call!.number, call!.promptVersion], ["submit", 1, 1]);
  assert.is(call!.id, id.replace("diag_", "call_"));
});

const properties = [
  '{"n":12345678901234567890,"f":1.0,"e":1e400,"m":-0.0,"t":0.1000}',
  '{"":1,"__proto__":{"a":1},"constructor":null,"10":1,"9":2,"b":1,"a":2}',
  '{ "spaced" : [ 1 , 2 ],\n\t"same":1,"same":2 }',
  '{"escaped":"\\u00e9\\/\\uD83D\\uDE00\\u0000\\u007f","literal":"é😀"}',
  "{}",
];

for (const text of properties) {
  test(`additional_properties come back as they were sent: ${JSON.stringify(text).slice(1, 40)}…`, async () => {
    const world = await createWorld();
    const { status } = await world.submit(
      `{"additional_properties":${text},"sessionId":"s","status":0,"content":{"input":""}}`,
    );
    assert.is(status, 201);
    assert.ok((await newestRecord(world)).includes(`"additional_properties":${text}`));
  });
}

test("lone surrogates become U+FFFD, and nothing else changes", async () => {
  const world = await createWorld();
  const lone = String.raw`{"\udc00k":"a\ud800b\uD83D\uDE00\\ud800"}`;
  const body = String
    .raw`{"sessionId":"s\ud800","status":0,"content":{"input":"\udfff"},"additional_properties":${lone}}`;
  assert.is((await world.submit(body)).status, 201);
  const record = await newestRecord(world);
  assert.ok(record.includes(String.raw`"additional_properties":{"\ufffdk":"a\ufffdb\uD83D\uDE00\\ud800"}`));
  assert.equal(JSON.parse(record).content, { input: "\ufffd" });
  assert.is(JSON.parse(record).sessionId, "s\ufffd");
});

test("NUL survives in every string, and a session id with one can be asked for", async () => {
  const world = await createWorld();
  const body = { ...goodBody, sessionId: "a\0b", content: { input: "\0", output: "x\0y" } };
  assert.is((await world.submit(body)).status, 201);
  const found = (await listDiagnoses(world.admin, { deployId: world.deployId, sessionId: "a\0b" }, { limit: 1 })).items;
  const { sessionId, content } = JSON.parse(stringify(found[0]));
  assert.equal({ sessionId, content }, { sessionId: "a\0b", content: body.content });
});

for (const depth of [10, 997, 998]) {
  test(`stores and returns ${depth} nested levels`, async () => {
    const world = await createWorld({ maxBodyBytes: 1024 * 1024 });
    const deep = `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`;
    const body = `{"sessionId":"s","status":0,"content":{"output":"o"},"additional_properties":${deep}}`;
    assert.is((await world.submit(body)).status, 201);
    assert.ok((await newestRecord(world)).includes(deep));
  });
}

test("members that the specification does not name are kept and returned", async () => {
  const world = await createWorld();
  const body =
    '{"sessionId":"s","status":0,"content":{"input":"i","extra":1.0},"tags":["a"],"cost":0.10,"__proto__":{"x":1}}';
  assert.is((await world.submit(body)).status, 201);
  const record = await newestRecord(world);
  for (const part of ['"content":{"input":"i","extra":1.0}', '"tags":["a"]', '"cost":0.10', '"__proto__":{"x":1}']) {
    assert.ok(record.includes(part), part);
  }
});

test("a member with the name of one of ours is returned in submitted", async () => {
  const world = await createWorld();
  const body = { ...goodBody, id: "mine", createdAt: 1, promptVersion: "x", submitted: true };
  const { id } = (await world.submit(body)).json as { id: string };
  const record = JSON.parse(await newestRecord(world));
  assert.equal([record.id, record.promptVersion, record.createdAt], [id, 1, world.now]);
  assert.equal(record.submitted, { id: "mine", createdAt: 1, promptVersion: "x", submitted: true });
});

test("of a repeated member the last one counts", async () => {
  const world = await createWorld();
  const body = '{"sessionId":"first","status":1,"content":{"input":"i"},"sessionId":"last","x":1,"x":2}';
  assert.is((await world.submit(body)).status, 201);
  const record = JSON.parse(await newestRecord(world));
  assert.equal([record.sessionId, record.x], ["last", 2]);
});

const latencies: [sent: string, stored: string][] = [
  ["1.50", "1.5"],
  ["-0.0", "0"],
  ["15e2", "1500"],
  ["0.1", "0.1"],
  ["12345678901234567890", "12345678901234567890"],
  ["0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"],
  ["1e-400", "1e-400"],
];

for (const [sent, stored] of latencies) {
  test(`stores a latency of ${sent} as ${stored}`, async () => {
    const world = await createWorld();
    const body = `${JSON.stringify(goodBody).slice(0, -1)},"latency":${sent}}`;
    assert.is((await world.submit(body)).status, 201);
    assert.match(await newestRecord(world), `"latency":${stored},`);
  });
}

const accepted: [name: string, change: Record<string, unknown> | string][] = [
  ["an empty input", { content: { input: "" } }],
  ["an output alone", { content: { output: "" } }],
  ["an empty session id", { sessionId: "" }],
  ["a negative status", { status: -1 }],
  ["the largest status", { status: Number.MAX_SAFE_INTEGER }],
  ["the smallest status", { status: Number.MIN_SAFE_INTEGER }],
  ["a status written as 1.0", '"status":1.0'],
  ["a status written as 2e2", '"status":2e2'],
  ["a latency of 0", { latency: 0 }],
  ["a latency of -0", '"latency":-0'],
  ["a large latency", { latency: 1e300 }],
  ["an endAt before the startAt", { startAt: 2, endAt: 1 }],
  ["timestamps of 0", { startAt: 0, endAt: 0 }],
  ["a byte order mark", "\ufeff"],
];

for (const [name, change] of accepted) {
  test(`accepts ${name}`, async () => {
    const world = await createWorld();
    const text = JSON.stringify(typeof change === "string" ? goodBody : { ...goodBody, ...change });
    const body = change === "\ufeff"
      ? change + text
      : typeof change === "string"
      ? `${text.slice(0, -1)},${change}}`
      : text;
    assert.is((await world.submit(body)).status, 201);
  });
}

const safe = "an integer from -9007199254740991 to 9007199254740991";
const time = "an integer of Unix milliseconds from 0 to 9007199254740991";
const duration = "a finite number of milliseconds, at least 0";

const refusals: [name: string, change: Record<string, unknown> | string, error: string][] = [
  ["no sessionId", { sessionId: undefined }, "Missing required field sessionId"],
  ["a sessionId that is a number", { sessionId: 1 }, "Field sessionId must be a string of at most 512 characters"],
  [
    "a sessionId of 513 characters",
    { sessionId: "x".repeat(513) },
    "Field sessionId must be a string of at most 512 characters",
  ],
  [
    "a sessionId that cannot be printed",
    { sessionId: { toString: 1 } },
    "Field sessionId must be a string of at most 512 characters",
  ],
  ["no status", { status: undefined }, "Missing required field status"],
  ["a status that is a string", { status: "1" }, `Field status must be ${safe}`],
  ["a status with a fraction", { status: 1.5 }, `Field status must be ${safe}`],
  ["a status of 2^53", '"status":9007199254740992', `Field status must be ${safe}`],
  ["a status of 2^53 + 1", '"status":9007199254740993', `Field status must be ${safe}`],
  ["a status of 1e20", '"status":1e20', `Field status must be ${safe}`],
  ["a status of null", { status: null }, `Field status must be ${safe}`],
  ["no content", { content: undefined }, "Missing required field content"],
  ["a content that is a string", { content: "x" }, "Field content must be an object"],
  ["a content that is an array", { content: [] }, "Field content must be an object"],
  ["an empty content", { content: {} }, "Field content must be an object with input or output"],
  ["a content with neither", { content: { text: "x" } }, "Field content must be an object with input or output"],
  ["an input that is a number", { content: { input: 1 } }, "Field content.input must be a string"],
  ["an output of null", { content: { input: "x", output: null } }, "Field content.output must be a string"],
  ["a status that a double rounds to an integer", '"status":1.00000000000000001', `Field status must be ${safe}`],
  ["a startAt that a double rounds", '"startAt":9007199254740990.6', `Field startAt must be ${time}`],
  ["an endAt that a double rounds to 0", '"endAt":1e-400', `Field endAt must be ${time}`],
  ["a latency just below 0", '"latency":-1e-400', `Field latency must be ${duration}`],
  ["a negative latency", { latency: -0.1 }, `Field latency must be ${duration}`],
  ["a latency of 1e999", '"latency":1e999', `Field latency must be ${duration}`],
  ["a latency that is a string", { latency: "12" }, `Field latency must be ${duration}`],
  ["a latency of null", { latency: null }, `Field latency must be ${duration}`],
  ["a negative startAt", { startAt: -1 }, `Field startAt must be ${time}`],
  ["a startAt in ISO 8601", { startAt: "2026-11-15" }, `Field startAt must be ${time}`],
  ["an endAt with a fraction", { endAt: 1.5 }, `Field endAt must be ${time}`],
  ["an endAt of 1e999", '"endAt":1e999', `Field endAt must be ${time}`],
  [
    "additional_properties that are an array",
    { additional_properties: [] },
    "Field additional_properties must be an object",
  ],
  ["additional_properties of null", { additional_properties: null }, "Field additional_properties must be an object"],
];

for (const [name, change, error] of refusals) {
  test(`answers 400 to ${name}`, async () => {
    const world = await createWorld();
    const text = JSON.stringify(typeof change === "string" ? goodBody : { ...goodBody, ...change });
    const answer = await world.submit(typeof change === "string" ? `${text.slice(0, -1)},${change}}` : text);
    assert.equal([answer.status, answer.json], [400, { error }]);
  });
}

const deep = `${"[".repeat(1900)}${"]".repeat(1900)}`;

const bodies: [name: string, body: string, error: string][] = [
  ["no body", "", "Request body must be valid JSON"],
  ["white space", " \n", "Request body must be valid JSON"],
  ["a body cut short", '{"sessionId":"s"', "Request body must be valid JSON"],
  ["two documents", "{}{}", "Request body must be valid JSON"],
  ["half a surrogate's escape", String.raw`{"sessionId":"\ud8zz"}`, "Request body must be valid JSON"],
  ["a quote in a surrogate's escape", String.raw`{"sessionId":"\udc\"}`, "Request body must be valid JSON"],
  ["a literal NUL in a string", '{"sessionId":"\0"}', "Request body must be valid JSON"],
  ["an array", "[]", "Request body must be an object"],
  ["a nested array", "[".repeat(1000) + "]".repeat(1000), "Request body must be an object"],
  ["nested deeper than 1,000 levels", deep, "Request body must be nested at most 1000 levels deep"],
  ["opened deeper than 1,000 levels", "[".repeat(1001), "Request body must be nested at most 1000 levels deep"],
  ["null", "null", "Request body must be an object"],
  ["a string", '"text"', "Request body must be an object"],
  ["an empty object", "{}", "Missing required field sessionId"],
  ["a field that is deep", `{"sessionId":${deep}}`, "Request body must be nested at most 1000 levels deep"],
];

for (const [name, body, error] of bodies) {
  test(`answers 400 to a body that is ${name}`, async () => {
    const world = await createWorld();
    const answer = await world.submit(body);
    assert.equal([answer.status, answer.json], [400, { error }]);
    assert.is((await verify(world.admin)).ledgers.length, 0);
  });
}

test("answers 400 to a body that is not UTF-8", async () => {
  const world = await createWorld();
  for (const bytes of [[0x7b, 0xff, 0x7d], [0xff, 0xfe, 0x7b, 0x00], [0x22, 0xed, 0xa0, 0x80, 0x22]]) {
    const init = { method: "POST", headers: { Authorization: `Bearer ${world.key}` }, body: new Uint8Array(bytes) };
    const answer = await world.send(`/v1/diagnosis?deployId=${world.deployId}`, init);
    assert.equal([answer.status, answer.json], [400, { error: "Request body must be UTF-8" }]);
  }
});

test("takes a body without a Content-Type, and with another one", async () => {
  const world = await createWorld();
  for (const type of [undefined, "text/plain", "application/x-www-form-urlencoded"]) {
    const headers = { Authorization: `Bearer ${world.key}`, ...(type === undefined ? {} : { "Content-Type": type }) };
    const body = new TextEncoder().encode(JSON.stringify(goodBody));
    const answer = await world.send(`/v1/diagnosis?deployId=${world.deployId}`, { method: "POST", headers, body });
    assert.is(answer.status, 201);
  }
});

for (const [name, deployId, status] of [["no", "", 400], ["an unknown", "dep_0", 404]] as const) {
  test(`answers ${status} to ${name} deployId, but only when the body is good`, async () => {
    const world = await createWorld();
    assert.is((await world.submit(goodBody, deployId)).status, status);
    assert.is((await world.submit("{}", deployId)).status, 400);
  });
}

test("answers 404 when the deployment is inactive, and stores nothing", async () => {
  const world = await createWorld();
  await setDeploymentActive(world.admin, world.deployId, false);
  const answer = await world.submit();
  assert.equal([answer.status, answer.json], [404, { error: "Deploy not found or not accessible" }]);
  assert.equal((await listDiagnoses(world.admin, { deployId: world.deployId })).items, []);
});

test("answers 429 once the quota is used, by reads and submits alike, and stores nothing", async () => {
  const world = await createWorld({ monthlyLimit: 2 });
  assert.is((await world.read()).status, 200);
  assert.is((await world.submit()).status, 201);
  const answer = await world.submit();
  assert.is(answer.status, 429);
  assert.is((answer.json as { error: string }).error, "Rate limit exceeded");
  const { reads, submits, remaining } = await readUsage(world.admin, world.workspaceId);
  assert.equal({ reads, submits, remaining }, { reads: 1, submits: 1, remaining: 0 });
  assert.is((await listDiagnoses(world.admin, { deployId: world.deployId }, { limit: 10 })).items.length, 1);
});

test.run();
