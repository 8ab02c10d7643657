// Runs on every runtime.
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { sendOnNode } from "../../src/database/file/node-send.ts";

const test = suite("node-send");

/** Sends a request to a server that answers by `listener`. */
async function sendTo(listener: RequestListener, signal = new AbortController().signal): Promise<Response> {
  const server = createServer({ keepAlive: false }, listener).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2/pipeline`;
    const headers = { authorization: "Bearer token" };
    return await sendOnNode(new Request(url, { method: "POST", headers, body: "prüfen" }), signal);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

test("sends the method, path, headers and body, and returns the status, type and body of the response", async () => {
  const response = await sendTo(({ method, url, headers: { authorization } }, answer) => {
    answer.writeHead(418, { "Content-Type": "application/json" });
    answer.end(JSON.stringify({ method, url, authorization }));
  });
  assert.is(response.status, 418);
  assert.is(response.headers.get("Content-Type"), "application/json");
  assert.equal(await response.json(), { method: "POST", url: "/v2/pipeline", authorization: "Bearer token" });
});

test("sends a body as UTF-8", async () => {
  const response = await sendTo((request, answer) => void request.pipe(answer));
  assert.is(await response.text(), "prüfen");
});

test("rejects with the reason of its signal", async () => {
  const reason = new DOMException("No answer", "TimeoutError");
  const controller = new AbortController();
  const sent = sendTo(() => controller.abort(reason), controller.signal);
  assert.is(await sent.catch((error) => error), reason);
});

test("rejects if the response breaks off", async () => {
  const sent = sendTo((_request, answer) => {
    answer.writeHead(200, { "Content-Length": 10 });
    answer.write("half", () => answer.destroy());
  });
  assert.instance(await sent.catch((error) => error), Error);
});

test("returns a response that has no body", async () => {
  const response = await sendTo((_request, answer) => void answer.writeHead(204).end());
  assert.is(response.status, 204);
});

test.run();
