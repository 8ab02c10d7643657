// Malformed requests over sockets, on the runtime that runs the tests: bodies of another length than declared, and control
// characters where the runtime lets them through. test/http/log-injection tests both formats of the log.
// Runs on every runtime.
import { Buffer } from "node:buffer";
import { connect } from "node:net";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { migrations } from "../../src/database/migrations.ts";
import { migrate } from "../../src/database/migrate.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { verifyBalanced } from "../balanced.ts";
import { createFolder, startService } from "../conformance/processes.ts";
import type { Running } from "../conformance/processes.ts";
import { send } from "../conformance/http-client.ts";
import { createTenant, goodBody, managementOf } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";

const test = suite(`raw requests on ${currentRuntime}`);

const limit = 1000;
const timeoutMs = 120_000; // it only ends what hangs

const folder = await createFolder();
const database = openDatabase(`file:${folder.path}/ledger.db`, "manage");
let service: Running;
let tenant: Tenant;

test.before(async () => {
  await migrate(database, migrations, Date.now());
  tenant = await createTenant(managementOf(database, Date.now), 1e9);
  const DATABASE_URL = `file:${folder.path}/ledger.db`;
  service = await startService(currentRuntime, { DATABASE_URL, MAX_BODY_BYTES: String(limit), LOG_LEVEL: "debug" });
});

test.after(async () => {
  await service.stop("SIGKILL");
  database.close();
  await folder.remove();
});

/**
 * Sends bytes on a new connection, and returns what arrives. With `ends` it closes its side after them, and waits until the
 * other side closes too. Without, it waits for an answer.
 */
function exchange(bytes: Uint8Array, ends: boolean): Promise<string> {
  const { hostname, port } = new URL(service.url);
  return new Promise((resolve) => {
    let received = "";
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    const timer = setTimeout(() => socket.destroy(), timeoutMs);
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      received += text;
      if (!ends && /^HTTP\/1\.1 [2-5][^]*\r\n\r\n.*}$/m.test(received)) socket.destroy();
    });
    socket.on("error", () => {});
    socket.on("end", () => socket.end());
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(received);
    });
    socket.write(bytes);
    if (ends) socket.end();
  });
}

const body = JSON.stringify(goodBody);
const { length } = body;
const chunk = (text: string, size = text.length.toString(16)) => `${size}\r\n${text}\r\n`;
const chunked = "Transfer-Encoding: chunked";
const filler = (size: number) => body.replace("Hello", "x".repeat(size - length + 5));

const never = [0], once = [1], perhaps = [0, 1];

const lengths: [name: string, headers: string[], body: string, stored: number[]][] = [
  ["says more than is sent", [`Content-Length: ${length + 10}`], body, never],
  ["says one byte more than is sent", [`Content-Length: ${length + 1}`], body, never],
  ["says less than is sent", [`Content-Length: ${length - 5}`], body, never],
  ["says that it has none", ["Content-Length: 0"], body, never],
  ["says nothing", [], body, never],
  ["says a length that is negative", ["Content-Length: -1"], body, never],
  ["says a length in hexadecimal", [`Content-Length: 0x${length.toString(16)}`], body, never],
  ["says a length with a sign", [`Content-Length: +${length}`], body, never],
  ["says a length with an exponent", [`Content-Length: ${length}e0`], body, never],
  ["says a length that is no number", ["Content-Length: all of it"], body, never],
  ["says a length beyond all numbers", ["Content-Length: 99999999999999999999999"], body, never],
  ["says two lengths", [`Content-Length: ${length}`, `Content-Length: ${length - 5}`], body, never],
  ["says one length twice", [`Content-Length: ${length}`, `Content-Length: ${length}`], body, perhaps],
  ["says a length and comes in chunks", [`Content-Length: ${length}`, chunked], `${chunk(body)}0\r\n\r\n`, perhaps],
  ["says a length and should come in chunks", [`Content-Length: ${length}`, chunked], body, never],
  ["comes in a chunk that is shorter than it says", [chunked], chunk(body, (length + 9).toString(16)), never],
  [
    "comes in a chunk that is longer than it says",
    [chunked],
    `${chunk(body, (length - 9).toString(16))}0\r\n\r\n`,
    never,
  ],
  ["comes in a chunk of no size", [chunked], `${chunk(body, "xyz")}0\r\n\r\n`, never],
  ["comes in a chunk beyond all sizes", [chunked], chunk(body, "ffffffffffffffffff"), never],
  ["comes in chunks without an end", [chunked], chunk(body), never],
  [
    "is one byte over the limit, in chunks",
    [chunked],
    `${[...filler(limit + 1)].map((byte) => chunk(byte)).join("")}0\r\n\r\n`,
    never,
  ],
  [
    "is at the limit, in chunks of a byte",
    [chunked],
    `${[...filler(limit)].map((byte) => chunk(byte)).join("")}0\r\n\r\n`,
    once,
  ],
  ["is at the limit", [`Content-Length: ${limit}`], filler(limit), once],
];

const statusesOf = (received: string) =>
  [...received.matchAll(/^HTTP\/1\.[01] (\d{3})/gm)].map(([, status]) => Number(status));

const countUsed = async () => {
  const ledgers = await verifyBalanced(managementOf(database, Date.now));
  return ledgers.reduce((sum, { used }) => sum + used, 0);
};

function bytesOf(
  headers: string[],
  body: string,
  method = "POST",
  target = `/v1/diagnosis?deployId=${tenant.deployId}`,
) {
  const lines = [`${method} ${target} HTTP/1.1`, "Host: ledger.test", "Connection: close", ...headers];
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`, "latin1");
}

const isServed = async () => {
  const headers = [`Authorization: Bearer ${tenant.key}`];
  const answer = await send(service.url, `/v1/diagnosis?deployId=${tenant.deployId}`, {
    method: "POST",
    headers,
    body,
  });
  assert.is(answer.status, 201);
};

for (const [name, headers, body, counts] of lengths) {
  test(`a body that ${name} is stored ${counts.join(" or ")} times, and answered so`, async () => {
    const before = await countUsed();
    const bytes = bytesOf([`Authorization: Bearer ${tenant.key}`, ...headers], body);
    // A client that closes before the answer may get none, although the record is stored.
    const statuses = statusesOf(await exchange(bytes, counts === never));
    const stored = await countUsed() - before;
    assert.is(statuses.filter((status) => status === 201).length, stored, `${stored} times, ${statuses}`);
    assert.ok(counts.includes(stored), `${stored} times, ${statuses}`);
    assert.ok(statuses.every((status) => [201, 400, 408, 413].includes(status)), statuses.join());
    await isServed();
  });
}

for (
  const [name, headers, start] of [
    ["says that it is too long", [`Content-Length: ${limit + 1}`], "{"],
    ["asks whether to go on, and is too long", [`Content-Length: ${limit + 1}`, "Expect: 100-continue"], ""],
    ["has come to be too long, and has no end", [chunked], chunk("x".repeat(limit + 1))],
  ] as const
) {
  test(`a body that ${name} is answered 413 before the rest of it is sent`, async () => {
    const bytes = bytesOf([`Authorization: Bearer ${tenant.key}`, ...headers], start);
    const statuses = statusesOf(await exchange(bytes, false));
    assert.equal(statuses.filter((status) => status !== 100), [413]);
    await isServed();
  });
}

/** Sends a head without a body, and returns the status. */
async function statusOf(...lines: string[]): Promise<number | undefined> {
  const received = await exchange(Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), false);
  return statusesOf(received).at(-1);
}

const hostless: [name: string, headers: string[]][] = [["without a Host", []], ["with an empty Host", ["Host:"]]];

for (const [name, headers] of hostless) {
  // As the health checks of HAProxy and other load balancers are.
  test(`a request of HTTP/1.0 ${name} is answered as any other`, async () => {
    const used = await countUsed(), authorization = `Authorization: Bearer ${tenant.key}`;
    const path = `/v1/prompts?deployId=${tenant.deployId}`;
    const expected: [target: string, status: number, method?: string, more?: string[]][] = [
      ["/readyz", 200],
      ["/healthz", 200, "HEAD"],
      ["/readyz?a=b", 200],
      ["http://ledger.test/readyz", 200],
      [path, 401],
      [path, 200, "GET", [authorization]],
      ["/nowhere", 404],
      ["//readyz", 404],
      ["/", 405, "OPTIONS"],
      [path, 405, "PUT", ["Content-Length: 0"]],
    ];
    for (const [target, status, method = "GET", more = []] of expected) {
      assert.is(await statusOf(`${method} ${target} HTTP/1.0`, ...headers, ...more), status, `${method} ${target}`);
    }
    const posted = `POST /v1/diagnosis?deployId=${tenant.deployId} HTTP/1.0`;
    const head = [posted, ...headers, authorization, `Content-Length: ${length}`];
    const received = await exchange(Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`, "latin1"), false);
    assert.equal(statusesOf(received), [201]);
    assert.is(await countUsed(), used + 2);
  });
}

test("a Host that is none is 400, and never becomes a part of the path", async () => {
  for (const host of ["a b", "a/healthz?", "/healthz?", "a#", "a\\b", "a@b/healthz?", "x:99999", "[::1"]) {
    for (const version of ["1.0", "1.1"]) {
      const status = await statusOf(`GET /nowhere HTTP/${version}`, `Host: ${host}`, "Connection: close");
      assert.is(status, 400, `${host} in ${version}`);
    }
  }
});

test("OPTIONS of the whole server is refused as of a path that is not there", async () => {
  // Bun's own parser refuses the target.
  const status = currentRuntime === "Bun" ? 400 : 404;
  assert.is(await statusOf("OPTIONS * HTTP/1.1", "Host: ledger.test", "Connection: close"), status);
});

const controls = ["\x1b[31m", "\x9b31m", "\x85", "\x07", "\x7f", "\0", "\x0b", "\r", "\nX: y", "\u00e2\u0080\u00a8"];

test("control characters make no second line in the log, and do not reach a terminal", async () => {
  const authorization = `Authorization: Bearer ${tenant.key}`;
  const target = `/v1/prompts?deployId=${tenant.deployId}`;
  for (const text of controls) {
    const requests = [
      bytesOf([authorization], "", "GET", `${target}${text}`),
      bytesOf([authorization], "", "GET", `/v1/${text}`),
      bytesOf([authorization], "", `GET${text}`, target),
      bytesOf([`${authorization}${text}`], "", "GET", target),
      ...["X-Request-Id", "traceparent", "User-Agent", "Idempotency-Key", "If-None-Match", `X-${text}`].map((name) =>
        bytesOf([authorization, `${name}: a${text}b`, `Content-Length: ${length}`], body)
      ),
    ];
    for (const bytes of requests) {
      const statuses = statusesOf(await exchange(bytes, true));
      // A runtime may parse what follows a control character as another version of HTTP.
      assert.ok(statuses.every((status) => status < 500 || status === 505), `${statuses} to ${JSON.stringify(text)}`);
    }
  }
  await isServed();
  assert.is(await service.stop(), 0);
  const lines = service.output().split("\n").filter((line) => line !== "");
  assert.ok(lines.length >= 2);
  for (const line of lines) {
    // deno-lint-ignore no-control-regex
    assert.not.match(line, /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
    assert.match(line, /^\d{4}-\d\d-\d\dT[\d:.]+Z (debug|info |warn |error) \S/);
    assert.not.ok(line.includes(tenant.key) || /^\S+ error/.test(line), line);
  }
});

test.run();
