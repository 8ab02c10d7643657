// The protocol itself: what is answered to faulty messages, to older clients, and to what is no message.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createApp } from "../../src/service/app.ts";
import { serveDatabase } from "../../src/service/service.ts";
import { management } from "../../src/management.ts";
import { mcp } from "../../src/mcp.ts";
import { adminToken, createWorld, openMemory } from "../helpers.ts";
import type { Answer } from "../helpers.ts";
import { bodyOf, createAgent, current, headersOf, makeToken, post } from "./agent.ts";

const test = suite("MCP: protocol");

type Error = {
  jsonrpc: string;
  id?: unknown;
  error: { code: number; message: string; data?: Record<string, unknown> };
};

function isError({ status, json, text }: Answer, expected: number, code: number, id?: unknown): Error["error"] {
  const { jsonrpc, error, ...rest } = json as Error;
  assert.equal([status, jsonrpc, error?.code], [expected, "2.0", code], text);
  assert.equal(rest, id === undefined ? {} : { id });
  return error;
}

const supported = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"];

test("server/discover says what there is", async () => {
  const { result } = (await createAgent(await createWorld()).send("server/discover")).json as { result: object };
  const { instructions, _meta, ...others } = result as Record<string, unknown>;
  assert.equal(others, {
    resultType: "complete",
    ttlMs: 3_600_000,
    cacheScope: "private",
    supportedVersions: supported,
    capabilities: { tools: {}, prompts: {}, resources: {} },
  });
  assert.match(String(instructions), /promote when the user asks/);
  assert.is((_meta as Record<string, { name: string }>)["io.modelcontextprotocol/serverInfo"]!.name, "promptledger");
});

test("a version that is not known is refused, with those that are", async () => {
  const world = await createWorld();
  const unknown = await post(world, bodyOf("tools/list", {}, "1900-01-01"), headersOf("tools/list", {}, "1900-01-01"));
  assert.equal(isError(unknown, 400, -32022, 1).data, { supported, requested: "1900-01-01" });
  const older = await post(world, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}', {
    "MCP-Protocol-Version": "2024-11-05",
  });
  assert.equal(isError(older, 400, -32022, 1).data, { supported, requested: "2024-11-05" });
});

test("headers must be there and equal the body", async () => {
  const world = await createWorld();
  const params = { name: "list_prompts", arguments: {} };
  const headers: Record<string, string> = headersOf("tools/call", params);
  assert.is((await post(world, bodyOf("tools/call", params), headers)).status, 200);
  for (const name of Object.keys(headers)) {
    const { [name]: _, ...others } = headers;
    assert.match(isError(await post(world, bodyOf("tools/call", params), others), 400, -32020, 1).message, name);
    const wrong = await post(world, bodyOf("tools/call", params), { ...headers, [name]: "other" });
    assert.match(isError(wrong, 400, -32020, 1).message, name);
  }
  const faulty = await post(world, bodyOf("tools/call", params), { ...headers, "Mcp-Name": "=?base64?//8=?=" });
  isError(faulty, 400, -32020, 1);
  const lowerCase = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  assert.is((await post(world, bodyOf("tools/call", params), lowerCase)).status, 200);
});

test("a name beyond ASCII comes encoded", async () => {
  const world = await createWorld();
  const uri = "promptledger://ws_1/größe";
  const headers = headersOf("resources/read", { uri });
  assert.match(headers["Mcp-Name"]!, /^=\?base64\?/);
  isError(await post(world, bodyOf("resources/read", { uri }), headers), 200, -32602, 1);
});

test("the version and the capabilities must be in the message", async () => {
  const world = await createWorld();
  const send = (params: object) =>
    post(world, JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params }), headersOf("tools/list", {}));
  isError(await send({}), 400, -32602, 1);
  isError(await send({ _meta: {} }), 400, -32602, 1);
  isError(await send({ _meta: 5 }), 400, -32602, 1);
  isError(await send({ _meta: { "io.modelcontextprotocol/protocolVersion": 5 } }), 400, -32602, 1);
  isError(await send({ _meta: { "io.modelcontextprotocol/protocolVersion": current } }), 400, -32602, 1);
});

test("an unknown method gets 404, and 200 for an older client, whose session a 404 would end", async () => {
  const world = await createWorld();
  for (const method of ["tools/lost", "subscriptions/listen", "initialize", "ping", "constructor", "__proto__"]) {
    isError(await createAgent(world).send(method), 404, -32601, 1);
  }
  for (const method of ["tools/lost", "server/discover", "logging/setLevel", "toString"]) {
    isError(await post(world, JSON.stringify({ jsonrpc: "2.0", id: 1, method })), 200, -32601, 1);
  }
});

test("an unknown tool, prompt and resource get -32602", async () => {
  const agent = createAgent(await createWorld());
  isError(await agent.send("tools/call", { name: "drop_table" }), 200, -32602, 1);
  isError(await agent.send("tools/call", { name: 5 }), 200, -32602, 1);
  isError(await agent.send("tools/call", { name: "list_prompts", arguments: [] }), 200, -32602, 1);
  isError(await agent.send("prompts/get", { name: "none@here" }), 200, -32602, 1);
  isError(await agent.send("prompts/get", {}), 200, -32602, 1);
  for (const cursor of ["no cursor", null, 5, ["."], {}, { toString: 1 }]) {
    isError(await agent.send("prompts/list", { cursor }), 200, -32602, 1);
  }
  isError(await agent.send("resources/read", { uri: "file:///etc/passwd" }), 200, -32602, 1);
  isError(await agent.send("resources/read", { uri: "promptledger://ws_1/none" }), 200, -32602, 1);
});

test("a notification gets 202 and does nothing", async () => {
  const world = await createWorld();
  const notifications = ["notifications/initialized", "notifications/cancelled", "notifications/unknown", "tools/call"];
  for (const method of notifications) {
    const { status, text } = await post(world, JSON.stringify({ jsonrpc: "2.0", method, params: {} }));
    assert.equal([status, text], [202, ""]);
  }
});

test("only POST is there", async () => {
  const world = await createWorld();
  for (const method of ["GET", "DELETE", "PUT", "PATCH"]) {
    const answer = await world.send("/mcp", { method });
    isError(answer, 405, -32600);
    assert.is(answer.headers.get("Allow"), "POST");
  }
  assert.is((await world.send("/mcp/other")).status, 404);
});

test("a page of another origin is refused, before its token is looked at", async () => {
  const world = await createWorld();
  for (const origin of ["https://evil.test", "null", "http://ledger.test"]) {
    isError(await post(world, "{}", { Origin: origin }), 403, -32600);
  }
  const open = await createWorld({ corsOrigins: ["https://app.test"] });
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  assert.is((await post(open, body, { Origin: "https://app.test" })).status, 200);
  assert.is((await post(open, body, { Origin: "https://evil.test" })).status, 403);
});

test("without a valid token there is nothing", async () => {
  const world = await createWorld();
  for (const headers of [{}, { Authorization: "Bearer wrong" }, { Authorization: `Bearer ${world.key}` }]) {
    const answer = await world.send("/mcp", { method: "POST", headers, body: bodyOf("tools/list", {}) });
    isError(answer, 401, -32600);
    assert.is(answer.headers.get("WWW-Authenticate"), "Bearer");
  }
  let last: Answer | undefined;
  for (let count = 0; count < 40; count++) last = await post(world, "{}", {}, "wrong");
  isError(last!, 429, -32600);
  assert.ok(last!.headers.has("Retry-After"));
});

const bodies: [body: string, code: number, id?: unknown][] = [
  ["", -32700],
  ["{", -32700],
  ['{"jsonrpc":"2.0","id":1,}', -32700],
  ["[]", -32600],
  ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600],
  ["5", -32600],
  ["null", -32600],
  ["{}", -32600],
  ['{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600, 1],
  ['{"jsonrpc":"2.0","id":1}', -32600, 1],
  ['{"jsonrpc":"2.0","id":"a","result":{}}', -32600, "a"],
  ['{"jsonrpc":"2.0","id":1,"method":5}', -32600, 1],
  ['{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600],
  ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600],
  ['{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600],
  ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602, 1],
  ['{"jsonrpc":"2.0","id":1,"method":"ping","params":null}', -32602, 1],
  ['{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', -32602, 1],
  [`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${"[".repeat(500)}${"]".repeat(500)}}}`, -32600],
];

test("what is no message gets the error of JSON-RPC", async () => {
  const world = await createWorld();
  for (const [body, code, id] of bodies) isError(await post(world, body), 400, code, id);
  isError(await post(world, " ".repeat(5_000)), 413, -32600);
  const invalid = await world.fetch(
    new Request("http://ledger.test/mcp", {
      method: "POST",
      headers: { Authorization: "Bearer admin-token-of-at-least-32-characters" },
      body: Uint8Array.of(0xff, 0xfe),
    }),
  );
  assert.is(invalid.status, 400);
});

test("a body that never ends is given up", async () => {
  const world = await createWorld({ bodyTimeout: 50 });
  const body = new ReadableStream({ pull: () => new Promise(() => {}) });
  const headers = { Authorization: "Bearer admin-token-of-at-least-32-characters" };
  const request = new Request(
    "http://ledger.test/mcp",
    { method: "POST", headers, body, duplex: "half" } as RequestInit,
  );
  const response = await world.fetch(request);
  assert.is(response.status, 408);
  assert.is((await response.json() as Error).error.code, -32600);
});

test("an id comes back as it was sent", async () => {
  const world = await createWorld();
  for (const id of ["1", "-7", "0", "12345678901234567890", '"a"', '"\\u0041"', '"1"']) {
    const { text } = await post(world, `{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
    assert.is(text, `{"jsonrpc":"2.0","id":${id},"result":{}}`);
  }
});

test("older clients agree on a version, and keep it without a session", async () => {
  const world = await createWorld();
  const initialize = async (protocolVersion: unknown) => {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: "old", version: "1" } };
    const answer = await post(world, JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params }));
    assert.is(answer.status, 200);
    assert.not.ok(answer.headers.has("Mcp-Session-Id"));
    return (answer.json as { result: Record<string, unknown> }).result;
  };
  for (const version of supported.slice(1)) assert.is((await initialize(version)).protocolVersion, version);
  for (const version of ["2024-11-05", current, "2999-01-01", 5, undefined]) {
    assert.is((await initialize(version)).protocolVersion, "2025-11-25");
  }
  const { serverInfo, capabilities } = await initialize("2025-06-18");
  assert.equal([(serverInfo as { name: string }).name, capabilities], ["promptledger", {
    tools: {},
    prompts: {},
    resources: {},
  }]);
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
  for (const headers of [{}, { "MCP-Protocol-Version": "2025-06-18", "Mcp-Session-Id": "any" }]) {
    const { result } = (await post(world, body, headers)).json as { result: object };
    assert.equal(Object.keys(result), ["tools"]);
  }
});

test("the log has the token of a request, and no content of it", async () => {
  const world = await createWorld({ logLevel: "info" });
  const token = await makeToken(world, "viewer");
  await createAgent(world, token).call("list_prompts", { text: "secret needle" });
  const line = JSON.parse(world.logged.at(-1)!) as Record<string, unknown>;
  assert.equal([line.route, line.status, typeof line.tokenId], ["/mcp", 200, "string"]);
  assert.not.match(world.logged.join("\n"), "secret needle");
});

test("below a base path it is there too", async () => {
  const faces = [management({ adminToken }), mcp()];
  const service = serveDatabase(await openMemory(), { basePath: "/llm", faces });
  const send = async (path: string) => {
    const headers = { ...headersOf("server/discover", {}), Authorization: `Bearer ${adminToken}` };
    const init = { method: "POST", headers, body: bodyOf("server/discover", {}) };
    return (await service.fetch(new Request(`http://host.test${path}`, init))).status;
  };
  assert.equal([await send("/llm/mcp"), await send("/mcp")], [200, 404]);
});

test("without somebody who can call it, it refuses to be mounted", () => {
  assert.throws(() => createApp({ faces: [mcp()] }), /mcp\(\) needs management\(\) beside it/);
  assert.throws(() => createApp({ faces: [management(), mcp()] }), /nobody can call it/);
});

test.run();
