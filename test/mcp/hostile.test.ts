// Any message at all gets an error of the protocol or a result, never a 5xx.
// Runs on Node alone.
import fc from "fast-check";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createWorld } from "../helpers.ts";
import { bodyOf, createAgent, headersOf, post } from "./agent.ts";
import type { Result } from "./agent.ts";

const test = suite("MCP: hostile messages");
const numRuns = isFull ? 2_000 : 200;

const world = await createWorld({ maxBodyBytes: 100_000 });
const { id: record } = (await world.submit()).json as { id: string };
const agent = createAgent(world);
const { tools } = await agent.request("tools/list") as Result & {
  tools: { name: string; inputSchema: { properties: object } }[];
};

const known = fc.constantFrom<unknown>(
  ...["greeting", "greeting@production", world.promptId, world.deployId, world.workspaceId, record, "__proto__"],
  ...[1, 0, -1, 2 ** 53, 1e300, "", "\u0000", "\ud800", "a".repeat(300), null, true, [], {}],
);
const value = fc.oneof(known, fc.jsonValue(), fc.string({ unit: "binary" }));

test("any arguments of any tool", async () => {
  const call = fc.constantFrom(...tools).chain(({ name, inputSchema: { properties } }) =>
    fc.tuple(
      fc.constant(name),
      fc.record(Object.fromEntries(Object.keys(properties).map((member) => [member, value])), { requiredKeys: [] }),
    )
  );
  await fc.assert(
    fc.asyncProperty(call, async ([name, input]) => {
      const params = { name, arguments: input };
      const { status, text, json } = await post(world, bodyOf("tools/call", params), headersOf("tools/call", params));
      assert.is(status, 200, text);
      const { result } = json as { result: Result };
      assert.ok(!result.isError || !/\((internal|unavailable)\)$/.test(result.content[0]!.text), text);
    }),
    { numRuns },
  );
});

test("any params of any method", async () => {
  const methods = [
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/read",
    "resources/templates/list",
  ];
  const params = fc.record({
    name: value,
    uri: value,
    arguments: value,
    cursor: value,
    protocolVersion: value,
    _meta: value,
  }, { requiredKeys: [] });
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...methods), fc.oneof(params, value), async (method, params) => {
      const { status, text } = await post(world, JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
      assert.ok(status < 500, text);
      assert.not.match(text, "-32603");
    }),
    { numRuns },
  );
});

test("any body and any headers", async () => {
  const header = fc.string({ unit: fc.constantFrom(..."aZ0-=?/ 2026MCP"), maxLength: 30 });
  const headers = fc.record({ "MCP-Protocol-Version": header, "Mcp-Method": header, "Mcp-Name": header }, {
    requiredKeys: [],
  });
  const message = fc.record({ jsonrpc: value, id: value, method: value, params: value }, { requiredKeys: [] });
  const body = fc.oneof(fc.string({ unit: "binary" }), fc.json(), message.map((message) => JSON.stringify(message)));
  await fc.assert(
    fc.asyncProperty(body, headers, async (body, headers) => {
      const { status, text } = await post(world, body, { ...headers });
      assert.ok(status < 500 && !text.includes("-32603"), text);
    }),
    { numRuns },
  );
  assert.equal(world.logged.filter((line) => line.includes('"level":"error"')), []);
});

test("none of it uses quota", async () => {
  const { used } = (await world.send("/v1/usage")).json as { used: number };
  assert.is(used, 1);
});

test.run();
