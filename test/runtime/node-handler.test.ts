// The handler for servers that speak node:http: which URL it sees, and whose body. The hosts themselves are in test/hosts.
// Runs on Node alone.
import { Buffer } from "node:buffer";
import { createServer } from "node:http";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { Refusal } from "../../src/index.ts";
import type { Service } from "../../src/index.ts";
import { toNodeHandler } from "../../src/node.ts";
import { createTestService } from "../../src/testing.ts";
import { captureLog, goodBody } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";

const test = suite("handler of node:http");

type Host = (request: IncomingMessage & Record<string, unknown>) => Promise<unknown> | void;

/** Submits a record through a host that does something with the request first. */
async function submitThrough(host: Host, init: RequestInit = {}) {
  const { log, logged } = captureLog("warn");
  const service = await createTestService({ basePath: "/llm", log });
  const { key, deployId } = await service.tenant();
  const handler = toNodeHandler(service);
  const seen: (string | undefined)[] = [];
  const server = createServer(async (request, response) => {
    await host(request as IncomingMessage & Record<string, unknown>);
    const before = request.url;
    const answered = handler(request, response);
    seen.push(before, request.url);
    await answered;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/llm/v1/diagnosis?deployId=${deployId}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}` },
    body: JSON.stringify(goodBody),
    ...init,
  });
  await response.text();
  server.close();
  server.closeAllConnections();
  await service.close();
  return { status: response.status, seen, logged: logged.join("\n") };
}

const chunked = (): RequestInit => ({
  body: new Blob([JSON.stringify(goodBody)]).stream(),
  duplex: "half",
} as RequestInit);

/** Takes the mount path off the URL, as Express and Connect do. */
const mount: Host = (request) => {
  request.originalUrl = request.url;
  request.url = request.url!.slice("/llm".length);
};

// Bun and Deno have adapters of their own.
if (currentRuntime === "Node") {
  test("sees the whole URL where the host has taken its path off, and leaves the host its own", async () => {
    const { status, seen } = await submitThrough(mount);
    assert.is(status, 201);
    assert.is(seen[0], seen[1]);
    assert.match(seen[0]!, /^\/v1\/diagnosis/);
  });

  const kept: [name: string, keep: (body: string) => Record<string, unknown>][] = [
    ["bytes in rawBody", (body) => ({ rawBody: new TextEncoder().encode(body), body: JSON.parse(body) })],
    ["a text in rawBody", (body) => ({ rawBody: body })],
    ["bytes in body", (body) => ({ body: Buffer.from(body) })],
  ];
  for (const [name, keep] of kept) {
    test(`takes a body that the host has read and kept as ${name}`, async () => {
      const host: Host = async (request) => void Object.assign(request, keep(await text(request)));
      assert.is((await submitThrough(host)).status, 201);
      assert.is((await submitThrough(host, chunked())).status, 201);
    });
  }

  test("where a parser has taken the body the answer is 500, and the log says what to do", async () => {
    const parse: Host = async (request) => void (request.body = JSON.parse(await text(request)));
    for (const init of [{}, chunked()]) {
      const { status, logged } = await submitThrough(parse, init);
      assert.is(status, 500);
      assert.match(
        logged,
        "BodyTakenError: A body parser read the body before the service. Mount the service before body parsers, or have " +
          "each parser keep the raw body: express.json({ verify: keep }) and express.urlencoded({ verify: keep }), where " +
          "keep is (request, _response, body) => { request.rawBody = body }",
      );
      assert.not.match(logged, "because of");
    }
  });

  const noServices: [name: string, given: unknown, says: string][] = [
    ["nothing", undefined, ": toNodeHandler(service)"],
    ["null", null, ": toNodeHandler(service)"],
    ["an object without fetch", {}, ": toNodeHandler(service)"],
    ["a promise", Promise.resolve(), ", not a promise of one: toNodeHandler(await openService(…))"],
    ["the fetch of a service", () => Promise.resolve(new Response()), ", not its fetch: toNodeHandler(service)"],
  ];
  for (const [name, given, says] of noServices) {
    test(`refuses ${name} in place of a service at once`, () => {
      const message = `toNodeHandler needs a service${says}`;
      assert.throws(
        () => toNodeHandler(given as Service),
        (error: Error) => error instanceof Refusal && error.message === message,
      );
    });
  }

  test("leaves the host its Request and Response", () => {
    const { Request, Response } = globalThis;
    toNodeHandler({ fetch: () => Promise.resolve(new Response()) });
    assert.is(globalThis.Request, Request);
    assert.is(globalThis.Response, Response);
  });
}

test.run();
