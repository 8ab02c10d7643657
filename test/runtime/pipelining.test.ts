// Pipelined requests, invalid bytes after a request, and clients that disconnect before they read their responses: over
// sockets, on the runtime that runs the tests.
// Runs on every runtime.
import { connect } from "node:net";
import type { Socket } from "node:net";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createFolder, startService, until } from "../conformance/processes.ts";
import type { Running } from "../conformance/processes.ts";
import { readMetric } from "../conformance/held.ts";
import { send } from "../conformance/http-client.ts";
import { createSeededDatabase } from "../faults/audit.ts";
import { adminToken, goodBody } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";

const test = suite(`pipelining on ${currentRuntime}`);

const folder = await createFolder();
let service: Running;
let tenant: Tenant;

test.before(async () => {
  const seeded = await createSeededDatabase(`file:${folder.path}/ledger.db`);
  tenant = seeded.tenant;
  service = await startService(currentRuntime, { DATABASE_URL: seeded.url, ADMIN_TOKEN: adminToken });
  // From now on the key is cached, and a submit takes one transaction.
  assert.is((await exchange(submit())).filter((status) => status === 201).length, 1);
});

test.after(async () => {
  await service.stop("SIGKILL");
  await folder.remove();
});

const body = JSON.stringify(goodBody);
const head = (method: string) =>
  `${method} /v1/prompts?deployId=${tenant.deployId} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${tenant.key}\r\n`;
const read = () => `${head("GET")}\r\n`;
const submit = () => `${head("POST")}Content-Length: ${body.length}\r\n\r\n${body}`;

async function open(): Promise<Socket> {
  const { hostname, port } = new URL(service.url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("connect", resolve));
  return socket;
}

/** The last request on a connection: the service closes it after the response. */
const last = "GET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/**
 * The statuses of the answers to bytes on a new connection. Once as many as are expected have come, the last request is sent,
 * whose 404 is left out, and the service closes the connection.
 */
async function exchange(bytes: string, expected = 1): Promise<number[]> {
  const socket = await open();
  let received = "";
  let isLast = false;
  const statuses = () => [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
  socket.setEncoding("latin1").on("data", (text: string) => {
    received += text;
    if (isLast || statuses().length < expected) return;
    isLast = true;
    socket.write(last);
  });
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.write(bytes);
  await closed;
  return statuses().filter((status) => status !== 404);
}

async function countUsed(): Promise<number> {
  const { text } = await send(service.url, "/v1/usage", { headers: [`Authorization: Bearer ${tenant.key}`] });
  return JSON.parse(text).used;
}

const pipelined: [name: string, requests: () => string, statuses: number[]][] = [
  ["two reads", () => read() + read(), [200, 200]],
  ["two submits", () => submit() + submit(), [201, 201]],
  ["a read and a submit", () => read() + submit(), [200, 201]],
  ["ten of them", () => (read() + submit()).repeat(5), [200, 201, 200, 201, 200, 201, 200, 201, 200, 201]],
];

for (const [name, requests, statuses] of pipelined) {
  // Bun closes such a connection without an answer.
  const expected = currentRuntime === "Bun" ? [] : statuses;
  test(`${name} pipelined: ${expected.length} are answered, and as many counted`, async () => {
    const before = await countUsed();
    assert.equal(await exchange(requests(), statuses.length), expected);
    assert.is(await countUsed() - before, expected.length);
  });
}

for (const rest of ["garbage", "garbage\r\n\r\n", "\r\n\r\n", "\r\n\r\ngarbage\r\n\r\n", "\0\0\0\0", "POST\r\n\r\n"]) {
  test(`${JSON.stringify(rest)} after a submit: the submit is answered if it is counted`, async () => {
    const before = await countUsed();
    const statuses = await exchange(submit() + rest);
    const counted = await countUsed() - before;
    assert.is(statuses.filter((status) => status === 201).length, counted);
    assert.ok(statuses.every((status) => status === 201 || status === 400), statuses.join());
    if (currentRuntime !== "Bun") assert.is(counted, 1);
  });
}

/** How many requests are in flight, including the one that reads this. */
const countInFlight = () => readMetric(service.url, "promptledger_http_requests_in_flight");

const untilIdle = () => until(async () => await countInFlight() === 1);

/** Resolves when the first answer on a connection begins, and reads no more of it, or when the service closes it. */
const untilAnswered = (socket: Socket) =>
  new Promise<void>((resolve) => {
    socket.once("close", () => resolve()).once("data", () => {
      socket.pause();
      resolve();
    });
  });

const describe = "GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n";

test("one request of a connection is answered at a time, and none is in flight when its client has disconnected", async () => {
  const sockets = await Promise.all(Array.from({ length: 20 }, open));
  const answered = sockets.map(untilAnswered);
  for (const socket of sockets) socket.write(describe.repeat(30));
  await Promise.all(answered);
  const count = await countInFlight();
  assert.ok(count <= 21, `${count} in flight`);
  for (const socket of sockets) socket.destroy();
  await untilIdle();
});

if (currentRuntime === "Node") {
  test("a connection with more than 32 unanswered requests is closed", async () => {
    const socket = await open();
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.resume().write(describe.repeat(33));
    await closed;
    await untilIdle();
    assert.equal(await exchange(read().repeat(32), 32), Array(32).fill(200));
  });
}

const chunked = "Transfer-Encoding: chunked\r\n\r\n";
const unfinished: [name: string, bytes: () => string][] = [
  ["a head", () => `${head("POST")}Content-Le`],
  ["a small body", () => `${head("POST")}Content-Length: ${body.length}\r\n\r\n${body.slice(0, -1)}`],
  ["a large body", () => `${head("POST")}Content-Length: 900000\r\n\r\n${"x".repeat(300_000)}`],
  ["a chunk", () => `${head("POST")}${chunked}ff\r\n{`],
  ["a body in chunks", () => `${head("POST")}${chunked}1\r\n{\r\n`],
  ["a body with a chunk that is none", () => `${head("POST")}${chunked}1\r\n{\r\nzz\r\n`],
  ["a body without a key", () => `POST /v1/prompts HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\n{`],
  ["a body to nowhere", () => `POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\n{`],
];

for (const [name, bytes] of unfinished) {
  for (const leave of ["end", "destroy"] as const) {
    test(`a client that disconnects during ${name} by ${leave} leaves nothing in flight`, async () => {
      const before = await countUsed();
      const socket = await open();
      await new Promise((resolve) => socket.write(bytes(), resolve));
      // When another request is answered, this one has arrived.
      assert.is((await send(service.url, "/healthz")).status, 200);
      socket[leave]();
      await untilIdle();
      assert.is(await countUsed(), before);
      socket.destroy();
    });
  }
}

test("the service works after all of this", async () => {
  assert.is((await send(service.url, "/readyz")).status, 200);
  assert.is(await service.stop(), 0);
  assert.not.match(service.output(), /^\S+ (warn|error) |uncaught|unhandled/im);
});

test.run();
