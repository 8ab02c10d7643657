// Tools that scan much of the log: they keep their response alive, share a queue with management, and stop for a client that left.
// Runs on every runtime in CI.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { openGated } from "../http/gated.ts";

const test = suite("MCP: long work");

const bodyOf = (name: string, input: object) =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: input } });

const stats = bodyOf("stats", { deployment: "greeting@production" });

test("a response that takes long begins with spaces, and ends with its JSON", async () => {
  const gated = await openGated(2, 60_000, 5);
  gated.close();
  const answer = gated.send("/mcp", undefined, "POST", stats);
  await gated.asked();
  gated.state.pass(true);
  const quick = await gated.send("/mcp", undefined, "POST", '{"jsonrpc":"2.0","id":1,"method":"ping"}');
  assert.is(quick.text, '{"jsonrpc":"2.0","id":1,"result":{}}');
  assert.is((await answer).status, 200);
  gated.close();
  const slow = gated.send("/mcp", undefined, "POST", stats);
  await gated.begun(2);
  await new Promise((resolve) => setTimeout(resolve, 100));
  gated.state.pass(true);
  const { status, text, json, headers } = await slow;
  assert.equal([status, headers.get("X-Accel-Buffering")], [200, "no"]);
  assert.match(text, /^ +\{"jsonrpc"/);
  assert.is((json as { result: { isError: boolean } }).result.isError, false);
});

test("what waits too long for its turn is refused, in words for the model", async () => {
  const gated = await openGated(1, 20, 60_000);
  gated.close();
  const running = gated.send("/mcp", undefined, "POST", stats);
  await gated.begun(1);
  const { status, text } = await gated.send("/admin/v1/verify");
  assert.equal([status, JSON.parse(text).code], [503, "overloaded"]);
  gated.state.pass(true);
  assert.is((await running).status, 200);
  gated.close();
  const verifying = gated.send("/admin/v1/verify");
  await gated.begun(2);
  const refused = gated.send("/mcp", undefined, "POST", bodyOf("list_records", { workspaceId: gated.workspaceId }));
  const { json } = await refused;
  const { result } = json as { result: { isError: boolean; content: { text: string }[] } };
  assert.equal([result.isError, result.content[0]!.text], [
    true,
    "Too many long-running management requests (overloaded)",
  ]);
  gated.state.pass(true);
  await verifying;
});

test("it reads nothing more once its client has left", async () => {
  const gated = await openGated(1, 60_000, 60_000);
  await gated.addCall();
  const controller = new AbortController();
  gated.close();
  const left = gated.send(
    "/mcp",
    controller.signal,
    "POST",
    bodyOf("list_records", { workspaceId: gated.workspaceId, text: "x" }),
  );
  await gated.asked();
  const { reads } = gated.state;
  controller.abort();
  gated.state.pass(true);
  const { json } = await left;
  assert.match((json as { result: { content: { text: string }[] } }).result.content[0]!.text, "client_gone");
  assert.is(gated.state.reads, reads);
});

test.run();
