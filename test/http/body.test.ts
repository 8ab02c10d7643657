// Runs on every runtime.
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { readUsage, revokeApiKey } from "../actions.ts";
import { newApiKey } from "../../src/common/ids.ts";
import { heldBody } from "../held-body.ts";
import { adminToken, captureLog, counting, createWorld, goodBody, noon, openMemory, readAnswer } from "../helpers.ts";
import { serveContext } from "../helpers.ts";
import type { World } from "../helpers.ts";

const test = suite("request bodies");

const limit = 500;

/** A valid body of exactly so many bytes. Its last character takes two. */
function bodyOf(bytes: number): Uint8Array<ArrayBuffer> {
  const frame = JSON.stringify({ sessionId: "s", status: 1, content: { input: "é" } });
  const padding = "x".repeat(bytes - new TextEncoder().encode(frame).length);
  return new TextEncoder().encode(frame.replace("é", `${padding}é`)) as Uint8Array<ArrayBuffer>;
}

/** Yields bytes in chunks, and counts the chunks that were read. */
function streamOf(bytes: Uint8Array, chunkSize: number) {
  const taken = { chunks: 0, cancelled: false };
  let isCancelled = () => {};
  const cancelled = new Promise<void>((resolve) => isCancelled = resolve);
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      const start = taken.chunks++ * chunkSize;
      if (start >= bytes.length) controller.close();
      else controller.enqueue(bytes.slice(start, start + chunkSize));
    },
    cancel() {
      taken.cancelled = true;
      isCancelled();
    },
  }, { highWaterMark: 0 });
  return { stream, taken, cancelled };
}

async function send(world: World, body: RequestInit["body"], headers: Record<string, string> = {}) {
  const request = new Request(`http://ledger.test/v1/diagnosis?deployId=${world.deployId}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${world.key}`, ...headers },
    body: body ?? null,
    duplex: "half",
  } as RequestInit);
  return readAnswer(await world.fetch(request));
}

test("whatever reads a body refuses a compressed one with 415", async () => {
  const world = await createWorld({ monthlyLimit: 10 });
  const encode = (text: string) => new Uint8Array(gzipSync(text));
  const json = { "Content-Type": "application/json" }, own = { ...json, Authorization: `Bearer ${world.key}` };
  const admin = { ...json, Authorization: `Bearer ${adminToken}` };
  const routes: [method: string, path: string, headers: Record<string, string>][] = [
    ["POST", `/v1/diagnosis?deployId=${world.deployId}`, own],
    ["POST", `/v1/prompts?deployId=${world.deployId}`, own],
    ["POST", "/v1/diagnoses", own],
    ["POST", "/v1/feedback", own],
    ["PUT", `/v1/diagnosis/diag_${"0".repeat(26)}/feedback/thumb`, own],
    ["POST", "/admin/v1/workspaces", admin],
    ["PATCH", `/admin/v1/workspaces/${world.workspaceId}`, admin],
    ["POST", "/mcp", { ...admin, Accept: "application/json, text/event-stream" }],
  ];
  for (const [method, path, headers] of routes) {
    const request = new Request(`http://ledger.test${path}`, {
      ...{ method, headers: { ...headers, "Content-Encoding": "gzip" } },
      body: encode(JSON.stringify(goodBody)),
    });
    const { status, text, headers: received } = await readAnswer(await world.fetch(request));
    assert.is(status, 415, `${method} ${path}: ${text}`);
    assert.match(text, "Request body must be sent without Content-Encoding");
    assert.is(received.get("Accept-Encoding"), "identity");
  }
  assert.is((await readUsage(world.admin, world.workspaceId)).used, 0);
});

test("a body that is compressed at random is refused, and a plain one whose header says so is read", async () => {
  const world = await createWorld();
  const encodings = [gzipSync, deflateSync, deflateRawSync, brotliCompressSync];
  await fc.assert(
    fc.asyncProperty(
      fc.string({ minLength: 1, maxLength: 200 }),
      fc.constantFrom(...encodings),
      async (input, encode) => {
        const text = JSON.stringify({ ...goodBody, content: { input } }), headers = { "Content-Encoding": "x" };
        assert.is((await send(world, new Uint8Array(encode(text)), headers)).status, 415);
        // As a host leaves it that has decoded the body.
        assert.is((await send(world, text, headers)).status, 201);
      },
    ),
    { numRuns: 40 },
  );
});

/** A world in which the rest of a body may take any time until it is dropped. */
async function createPatientWorld(maxBodyBytes: number): Promise<World> {
  const world = await createWorld();
  const settings = { clock: () => noon, log: captureLog("warn").log, maxBodyBytes };
  const { fetch } = serveContext(world.database, settings, {}, { discards: { count: 0, time: 600_000 } });
  return { ...world, fetch };
}

/** How many bytes of bodies the service holds. */
async function heldBytes({ send }: World): Promise<number> {
  const { text } = await send("/metrics", { headers: { Authorization: `Bearer ${adminToken}` } });
  return Number(/^promptledger_body_bytes (\d+)$/m.exec(text)![1]);
}

test("counts the bytes that arrive, whatever Content-Length says", async () => {
  const world = await createWorld({ maxBodyBytes: limit });
  assert.is((await send(world, bodyOf(limit), { "Content-Length": "1" })).status, 201);
  assert.is((await send(world, bodyOf(limit + 1), { "Content-Length": "1" })).status, 413);
});

test("keeps no more than the limit, and drops the rest before it responds, so that the client reads the response", async () => {
  const world = await createPatientWorld(limit);
  for (const headers of [{}, { "Content-Length": "100000" }]) {
    const { stream, taken } = streamOf(bodyOf(100_000), 100);
    assert.is((await send(world, stream, headers)).status, 413);
    assert.equal(taken, { chunks: 1001, cancelled: false });
  }
});

test("drops at most 8 MiB of a body, and closes the connection", async () => {
  const world = await createPatientWorld(limit);
  const endless = () => streamOf(new Uint8Array(10_000_000), 1_000_000);
  const chunked = endless();
  const refused = await send(world, chunked.stream, { Authorization: "" });
  assert.equal([refused.status, refused.headers.get("Connection")], [401, "close"]);
  assert.equal(chunked.taken, { chunks: 9, cancelled: false });
  const declared = endless();
  assert.is((await send(world, declared.stream, { "Content-Length": "10000000" })).status, 413);
  assert.equal(declared.taken, { chunks: 0, cancelled: false });
});

test("cancels the rest of a body a second after the response", async () => {
  const world = await createPatientWorld(limit);
  const { stream, taken, cancelled } = streamOf(new Uint8Array(10_000_000), 1_000_000);
  const headers = { Authorization: `Bearer ${world.key}` };
  const init = { method: "POST", headers, body: stream, duplex: "half" } as RequestInit;
  const target = `http://ledger.test/v1/diagnosis?deployId=${world.deployId}`;
  const { status } = await world.fetch(new Request(target, init));
  assert.equal([status, taken.cancelled], [413, false]);
  await cancelled;
});

for (const [name, headers] of [["of known length", { "Content-Length": "100000" }], ["in chunks", {}]] as const) {
  test(`drops an unread body ${name}, so that its connection can serve the next request`, async () => {
    const world = await createPatientWorld(200_000);
    const { stream, taken } = streamOf(bodyOf(100_000), 1000);
    const refused = await send(world, stream, { Authorization: "", ...headers });
    assert.equal([refused.status, refused.headers.get("Connection")], [401, null]);
    assert.equal(taken, { chunks: 101, cancelled: false });
  });
}

test("keeps nothing of a body with an invalid key", async () => {
  const world = await createWorld({ maxBodyBytes: 200_000, bodyBudgetBytes: 200_000, servesMetrics: true });
  const stalled = heldBody("x".repeat(100_000));
  const refused = send(world, stalled.stream, { Authorization: `Bearer ${newApiKey()}` });
  await stalled.taken;
  assert.is(await heldBytes(world), 0);
  assert.equal([(await refused).status, (await refused).json], [401, { error: "Invalid API key" }]);
});

test("looks a key up before its first body, and not again while it is valid", async () => {
  const { database, counts } = counting(await openMemory());
  const world = await createWorld({ database });
  const roundTrips = async (status: number, key = world.key) => {
    counts.reads = counts.writes = 0;
    assert.is((await world.submit(goodBody, world.deployId, key)).status, status);
    return counts.reads + counts.writes;
  };
  assert.equal([await roundTrips(201), await roundTrips(201)], [2, 1]);
  await revokeApiKey(world.admin, world.keyId);
  assert.equal([await roundTrips(401), await roundTrips(401)], [1, 1]);
});

test("answers 400 to a body in many tiny chunks, and drops the rest", async () => {
  const world = await createPatientWorld(200_000);
  const { stream, taken } = streamOf(bodyOf(4_000), 1);
  const refused = await send(world, stream);
  assert.equal([refused.status, refused.json], [400, { error: "Request body must arrive in larger chunks" }]);
  assert.equal([taken, refused.headers.get("Connection")], [{ chunks: 4_001, cancelled: false }, null]);
  assert.is((await send(world, streamOf(bodyOf(100_000), 64).stream)).status, 201);
});

test("holds no more bytes of a workspace's bodies than half of the budget, and answers 503 to more", async () => {
  const world = await createWorld({ maxBodyBytes: 100_000, bodyBudgetBytes: 450_000, servesMetrics: true });
  assert.is((await world.submit()).status, 201);
  const held = [1, 2].map(() => heldBody(new TextDecoder().decode(bodyOf(99_000)), 98_000));
  const answers = held.map(({ stream }) => send(world, stream));
  await Promise.all(held.map(({ taken }) => taken));
  assert.ok(await heldBytes(world) > 190_000);
  const refused = await send(world, streamOf(bodyOf(99_000), 9_000).stream);
  assert.equal([refused.status, refused.json], [503, { error: "Too many request bodies are being received" }]);
  assert.equal([refused.headers.get("Retry-After"), refused.headers.get("Connection")], ["1", "close"]);
  for (const { finish } of held) finish();
  assert.equal((await Promise.all(answers)).map(({ status }) => status), [201, 201]);
  assert.is(await heldBytes(world), 0);
  assert.is((await send(world, streamOf(bodyOf(99_000), 9_000).stream)).status, 201);
});

test("answers 408 to a body that does not arrive in time, and counts nothing", async () => {
  const world = await createWorld({ bodyTimeout: 30 });
  const stalled = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array([0x7b])) });
  const answer = await send(world, stalled);
  assert.equal([answer.status, answer.json], [408, { error: "Request body must arrive within 0.03 seconds" }]);
  assert.is(answer.headers.get("Connection"), "close");
  assert.is((await readUsage(world.admin, world.workspaceId)).used, 0);
});

test("answers if something else reads the body, and if the body fails", async () => {
  const world = await createWorld({ maxBodyBytes: limit });
  const headers = { Authorization: "" };
  const url = `http://ledger.test/v1/diagnosis?deployId=${world.deployId}`;
  const locked = new Request(url, { method: "POST", headers, body: "x" });
  locked.body!.getReader();
  assert.is((await world.fetch(locked)).status, 401);
  const broken = new ReadableStream({ start: (controller) => controller.error(new Error("connection reset")) });
  assert.is((await send(world, broken, { "Content-Length": "1000" })).status, 413);
});

test("answers 400 to a body that breaks off", async () => {
  const world = await createWorld({ maxBodyBytes: limit });
  const broken = new ReadableStream({ pull: (controller) => controller.error(new Error("connection reset")) });
  const answer = await send(world, broken);
  assert.equal([answer.status, answer.json], [400, { error: "Request body must be complete" }]);
  assert.equal(world.logged, []);
});

test.run();
