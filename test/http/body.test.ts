import { suite } from "uvu";
import * as assert from "uvu/assert";
import { readUsage } from "../../src/admin/records.ts";
import { createWorld, readAnswer } from "../helpers.ts";
import type { World } from "../helpers.ts";

const test = suite("request bodies");

const limit = 500;

/** A good body of exactly so many bytes; its last character takes two. */
function bodyOf(bytes: number): Uint8Array<ArrayBuffer> {
  const frame = JSON.stringify({ sessionId: "s", status: 1, content: { input: "é" } });
  const padding = "x".repeat(bytes - new TextEncoder().encode(frame).length);
  return new TextEncoder().encode(frame.replace("é", `${padding}é`)) as Uint8Array<ArrayBuffer>;
}

/** Yields the bytes in chunks, and tells how many chunks were taken. */
function streamOf(bytes: Uint8Array, chunkSize: number) {
  const taken = { chunks: 0, cancelled: false };
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      const start = taken.chunks++ * chunkSize;
      if (start >= bytes.length) controller.close();
      else controller.enqueue(bytes.slice(start, start + chunkSize));
    },
    cancel() {
      taken.cancelled = true;
    },
  }, { highWaterMark: 0 });
  return { stream, taken };
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

for (const [bytes, status] of [[limit - 1, 201], [limit, 201], [limit + 1, 413]] as const) {
  test(`answers ${status} to ${bytes} bytes, of a limit of ${limit}`, async () => {
    const world = await createWorld({ maxBodyBytes: limit });
    const whole = bodyOf(bytes);
    const declared = await send(world, whole, { "Content-Length": String(whole.length) });
    const streamed = await send(world, streamOf(whole, 7).stream);
    const understated = await send(world, whole, { "Content-Length": "1" });
    for (const answer of [declared, streamed, understated]) {
      assert.is(answer.status, status);
      if (status === 201) continue;
      assert.equal(answer.json, { error: `Request body must be at most ${limit} bytes` });
      assert.is(answer.headers.get("Connection"), "close");
    }
    const { used } = await readUsage(world.admin, world.workspaceId);
    assert.is(used, status === 201 ? 3 : 0);
  });
}

test("reads no further than the limit", async () => {
  const world = await createWorld({ maxBodyBytes: limit });
  const { stream, taken } = streamOf(bodyOf(100_000), 100);
  assert.is((await send(world, stream)).status, 413);
  assert.is(taken.chunks, limit / 100 + 1);
  assert.ok(taken.cancelled);
});

test("reads nothing of a body that says it is too long", async () => {
  const world = await createWorld({ maxBodyBytes: limit });
  const { stream, taken } = streamOf(bodyOf(1000), 100);
  assert.is((await send(world, stream, { "Content-Length": "1000" })).status, 413);
  assert.equal(taken, { chunks: 0, cancelled: true });
});

test("takes in the body of a request that is refused for its key, no further than the limit", async () => {
  const world = await createWorld({ maxBodyBytes: limit });
  const short = streamOf(bodyOf(100), 10);
  const answered = await send(world, short.stream, { Authorization: "" });
  assert.equal([answered.status, answered.headers.get("Connection")], [401, null]);
  assert.equal(short.taken, { chunks: 11, cancelled: false });
  const long = streamOf(bodyOf(100_000), 100);
  const refused = await send(world, long.stream, { Authorization: "" });
  assert.equal([refused.status, refused.headers.get("Connection")], [401, "close"]);
  assert.equal(long.taken, { chunks: limit / 100 + 1, cancelled: true });
});

test("answers 408 to a body that does not arrive in time, and counts nothing", async () => {
  const world = await createWorld({ bodyTimeout: 30 });
  const stalled = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array([0x7b])) });
  const answer = await send(world, stalled);
  assert.equal([answer.status, answer.json], [408, { error: "Request body must arrive within 0.03 seconds" }]);
  assert.is(answer.headers.get("Connection"), "close");
  assert.is((await readUsage(world.admin, world.workspaceId)).used, 0);
});

test("does not let a refused request's body keep its answer back", async () => {
  const world = await createWorld({ bodyTimeout: 30 });
  const stalled = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array([0x7b])) });
  assert.is((await send(world, stalled, { Authorization: "" })).status, 401);
});

test("answers where someone else reads the body, and where it has failed", async () => {
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
