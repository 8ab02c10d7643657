// Bodies that stop before their last byte: sent by strangers and by another workspace to everything that has a path, they keep
// no application from submitting, and nobody from signing in.
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { newApiKey, newToken } from "../../src/common/ids.ts";
import type { WorkspaceId } from "../../src/common/ids.ts";
import { createToken } from "../../src/management/access/tokens.ts";
import { management } from "../../src/management.ts";
import { call } from "../actions.ts";
import { holding } from "../console/holding.ts";
import { cookieOf, ownPage, sendToken } from "../console/visitor.ts";
import { adminToken, bearer, captureLog, createTenant, createWorld, goodBody, openMemory } from "../helpers.ts";
import { serveContext, wholePages } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { pathsOf } from "./paths.ts";

const test = suite("stalled bodies");

// More than is read at once, and a budget in which one that grows still fits beside the share of another workspace.
const size = 70_000, budget = 6 * size;
const share = (budget + size) / 2; // of one workspace: what it takes last may take it past the half
const most = new Uint8Array(size).fill(0x20);

/** A body without its last byte. `waits` resolves when the rest of it is waited for. */
function stalledBody(bytes: number) {
  let controller: ReadableStreamDefaultController<Uint8Array>;
  let isSent = false, isWaiting = () => {};
  const waits = new Promise<void>((resolve) => isWaiting = resolve);
  const stream = new ReadableStream<Uint8Array>({
    start: (given) => void (controller = given),
    pull() {
      if (isSent) return isWaiting();
      isSent = true;
      controller.enqueue(most.subarray(0, bytes - 1));
    },
    // A discarded body is cancelled in the end.
    cancel: () => void (controller = undefined as never),
  }, { highWaterMark: 0 });
  return { stream, waits, finish: () => controller?.close() };
}

type Stalled = { answered: Promise<number>; finish(): void };

/** Sends requests whose bodies stall, and resolves when each is answered or waits. */
async function stall(
  { fetch }: Pick<World, "fetch">,
  path: string,
  init: RequestInit,
  count: number,
  bytes = size,
): Promise<Stalled[]> {
  return await Promise.all(Array.from({ length: count }, async (_, nth) => {
    const { stream, waits, finish } = stalledBody(bytes);
    const headers = { ...init.headers, ...(nth % 2 === 0 ? { "Content-Length": String(bytes) } : {}) };
    const request = new Request(`http://ledger.test${path}`, {
      ...{ ...init, headers, body: stream },
      duplex: "half",
    } as RequestInit);
    const answered = fetch(request).then(({ status }) => status);
    await Promise.race([waits, answered]);
    return { answered, finish };
  }));
}

async function heldBytes({ send }: World): Promise<number> {
  const { text } = await send("/metrics", { headers: bearer(adminToken) });
  return Number(/^promptledger_body_bytes (\d+)$/m.exec(text)![1]);
}

const methods = ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** Every path with every method that may have a body. */
async function targetsOf({ send }: World): Promise<[method: string, path: string][]> {
  const { text } = await send("/openapi.json", { headers: {} });
  return pathsOf(text).flatMap((path) => methods.map((method): [string, string] => [method, path]));
}

type Sender = { headers: Record<string, string>; isKnown?: true };

/** A token for a workspace, and the cookie of a session with it. */
async function signIn(world: World, workspaceId: WorkspaceId): Promise<{ token: string; cookie: string }> {
  const { token } = await call(createToken, world.admin, { name: "Other", role: "admin", workspaceId });
  return { token, cookie: cookieOf(await sendToken(world, token)) };
}

/** Who sends them: strangers, and all that another workspace has. */
async function sendersOf(world: World): Promise<Record<string, Sender>> {
  const { workspaceId, key } = await createTenant(world.admin, 1000, "Other");
  const { token, cookie } = await signIn(world, workspaceId);
  const forged = cookie.slice(0, -4) + (cookie.endsWith("AAAA") ? "BBBB" : "AAAA");
  return {
    "a stranger": { headers: ownPage },
    "a stranger with a key of their own making": { headers: { ...ownPage, ...bearer(newApiKey()) } },
    "a stranger with a token of their own making": { headers: { ...ownPage, ...bearer(newToken()) } },
    "a stranger with a forged cookie": { headers: { ...ownPage, Cookie: forged } },
    "another workspace's key": { headers: { ...ownPage, ...bearer(key) }, isKnown: true },
    "another workspace's token": { headers: { ...ownPage, ...bearer(token) }, isKnown: true },
    "another workspace's session": { headers: { ...ownPage, Cookie: cookie }, isKnown: true },
  };
}

const enough = 8; // that would fill the budget
const large = { ...goodBody, content: { input: "x".repeat(size - 1_000) } };

// In part, each path is tried by one of the seven senders or by none, and by all of them what reads the body of one or another.
const isTried = (sender: number, nth: number, target: string) =>
  isFull || (sender + nth) % 28 === 0 || reading.includes(target);
const looksEvery = 20; // paths
const reading = ["/v1/diagnosis", "/admin/v1/workspaces/none/prompts", "/console/sign-in", "/console/workspaces"]
  .map((path) => `POST ${path}`);

for (const [sender, name] of Object.keys(await sendersOf(await createWorld())).entries()) {
  test(`from ${name} to every path, they keep no application from submitting`, async () => {
    const world = await createWorld({ maxBodyBytes: size, bodyBudgetBytes: budget, servesMetrics: true });
    const { headers, isKnown } = (await sendersOf(world))[name]!;
    const all: Stalled[] = [];
    const targets = (await targetsOf(world)).filter(([method, path], nth) => isTried(sender, nth, `${method} ${path}`));
    for (const [nth, [method, path]] of targets.entries()) {
      all.push(...await stall(world, path, { method, headers }, enough));
      const { status } = await world.submit(large);
      assert.is(status, 201, `${status} after ${method} ${path}`);
      // What is held stays so until the end. The metrics of so many paths take longer than the rest.
      if (nth % looksEvery > 0 && nth < targets.length - 1) continue;
      const held = await heldBytes(world);
      const tried = targets.slice(Math.max(0, nth - looksEvery), nth + 1);
      assert.ok(held <= (isKnown ? share : 0), `${held} after one of ${tried.map((each) => each.join(" ")).join()}`);
    }
    for (const { finish } of all) finish();
    const statuses = new Set(await Promise.all(all.map(({ answered }) => answered)));
    assert.ok(!statuses.has(500), [...statuses].join());
    assert.is(await heldBytes(world), 0);
    await world.close();
  });
}

test("a workspace that stalls as many bodies as it may holds half of the budget, however many it sends", async () => {
  const world = await createWorld({ maxBodyBytes: size, bodyBudgetBytes: budget, servesMetrics: true });
  const path = `/v1/diagnosis?deployId=${world.deployId}`;
  const init = { method: "POST", headers: bearer(world.key) };
  const large = await stall(world, path, init, 40);
  assert.ok(await heldBytes(world) <= share);
  for (const { finish } of large) finish();
  await Promise.all(large.map(({ answered }) => answered));
  // Small bodies cost memory too, so their number is bounded as well.
  const small = await stall(world, path, init, 400, 2);
  assert.ok(await heldBytes(world) <= share);
  const other = await createTenant(world.admin, 1000, "Other");
  assert.is((await world.submit(goodBody, other.deployId, other.key)).status, 201);
  for (const { finish } of small) finish();
  const statuses = await Promise.all(small.map(({ answered }) => answered));
  assert.ok(statuses.filter((status) => status !== 503).length <= share / 4_096, `${statuses}`);
  await world.close();
});

for (
  const [sender, path] of [
    ["another workspace's token", "/admin/v1/workspaces"],
    ["another workspace's session", "/console/workspaces"],
  ] as const
) {
  test(`from ${sender}, they keep nobody of this workspace from sending to the same path`, async () => {
    const world = await createWorld({ maxBodyBytes: size, bodyBudgetBytes: budget });
    const { token, cookie } = await signIn(world, world.workspaceId);
    const own = { ...ownPage, ...(sender.endsWith("token") ? bearer(token) : { Cookie: cookie }) };
    const send = async () => (await world.send(path, { method: "POST", headers: own, body: "{}".padEnd(size) })).status;
    const status = await send();
    assert.is.not(status, 503);
    const { headers } = (await sendersOf(world))[sender]!;
    const all = await stall(world, path, { method: "POST", headers }, enough);
    assert.is(await send(), status);
    for (const { finish } of all) finish();
    const statuses = await Promise.all(all.map(({ answered }) => answered));
    assert.ok(statuses.includes(503), `${statuses}`);
    await world.close();
  });
}

const announcing: [sender: string, path: string][] = [
  ["a stranger with a key of their own making", "/v1/diagnosis?deployId=x"],
  ["another workspace's token", "/admin/v1/workspaces"],
  ["another workspace's session", "/console/workspaces"],
];

for (const [sender, path] of announcing) {
  test(`large bodies that ${sender} announces do not keep out the first submit of a new key`, async () => {
    const held = holding(await openMemory());
    const world = await createWorld({ database: held.database, maxBodyBytes: 1_048_576 });
    const headers = { ...(await sendersOf(world))[sender]!.headers, "Content-Length": "1048576" };
    held.hold();
    const others = Array.from({ length: 40 }, () => {
      const request = new Request(`http://ledger.test${path}`, { method: "POST", headers, body: "x" });
      return world.fetch(request).then(({ status }) => status);
    });
    await held.untilOneWaits();
    const own = world.submit();
    held.release();
    assert.is((await own).status, 201);
    const statuses = await Promise.all(others);
    assert.ok(statuses.includes(503) && statuses.some((status) => status !== 503), `${statuses}`);
    await world.close();
  });
}

test("a form that signs in has at most 4 kB", async () => {
  const world = await createWorld();
  const fits = await sendToken(world, `${adminToken}${"x".repeat(4_000)}`);
  const { status, text } = await sendToken(world, `${adminToken}${"x".repeat(4_096)}`);
  assert.equal([fits.status, status], [401, 413]);
  assert.match(text, "Request body must be at most 4096 bytes");
  await world.close();
});

test("forms that stall end after a while, and those that have stalled longest make room for one that signs in", async () => {
  const database = await openMemory();
  const { log } = captureLog("error");
  const pages = wholePages({ signInLimit: { bytes: 4_096, time: 600_000 } });
  const { fetch } = serveContext(database, { log, faces: [management({ adminToken }), pages] });
  const init = { method: "POST", headers: ownPage };
  const stalled = await stall({ fetch }, "/console/sign-in", init, 300, 1_000);
  const first = await Promise.all(stalled.slice(0, 300 - 256).map(({ answered }) => answered));
  assert.equal([...new Set(first)], [503]);
  const body = String(new URLSearchParams({ token: adminToken }));
  const signIn = () => fetch(new Request("http://ledger.test/console/sign-in", { ...init, body }));
  assert.equal([(await signIn()).status, await stalled[300 - 256]!.answered], [303, 503]);
  for (const { finish } of stalled) finish();
  const others = await Promise.all(stalled.slice(300 - 255).map(({ answered }) => answered));
  assert.equal([...new Set(others)].sort(), [401, 429]);

  const soon = serveContext(database, {
    log,
    faces: [management({ adminToken }), wholePages({ signInLimit: { bytes: 1_000, time: 20 } })],
  });
  const [late] = await stall(soon, "/console/sign-in", init, 1, 1_000);
  assert.is(await late!.answered, 408);
  await database.close();
});

test.run();
