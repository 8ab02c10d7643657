// Long management work: few requests at once, and only while the client is connected.
// Runs on every runtime in CI.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { managementOverloaded } from "../../src/common/errors.ts";
import { createSlots } from "../../src/support/slots.ts";
import { operations } from "../../src/management/index.ts";
import type { WorkspaceId } from "../../src/common/ids.ts";
import { createToken } from "../../src/management/access/tokens.ts";
import { call } from "../actions.ts";
import { adminToken, bearer, createTenant, createWorld } from "../helpers.ts";
import { openGated } from "./gated.ts";

const test = suite("long management work");

const longPaths = ({ workspaceId, deployId }: { workspaceId: string; deployId: string }) => [
  "/admin/v1/verify",
  `/admin/v1/deployments/${deployId}/stats`,
  `/admin/v1/deployments/${deployId}/diagnoses?text=x`,
  `/admin/v1/workspaces/${workspaceId}/calls`,
  `/admin/v1/workspaces/${workspaceId}/usage/2026-11`,
];

const busy = { error: "Too many long-running management requests", code: "overloaded" };

test("waits while too many are running, and is 503 with Retry-After after a timeout", async () => {
  const gated = await openGated(2, 20);
  gated.close();
  const running = [gated.send("/admin/v1/verify"), gated.send("/admin/v1/verify")];
  await gated.begun(2);
  for (const path of longPaths(gated)) {
    const { status, json, headers } = await gated.send(path);
    assert.equal([status, json, headers.get("Retry-After")], [503, busy, "1"], path);
  }
  const short = gated.send(`/admin/v1/workspaces/${gated.workspaceId}`);
  gated.state.pass(true);
  for (const { status } of await Promise.all([...running, short])) assert.is(status, 200);
  for (const path of longPaths(gated)) assert.is((await gated.send(path)).status, 200, path);
});

test("runs in order of arrival when there is room, and no owner has more than half of the slots", async () => {
  const work = createSlots(4, 60_000, managementOverloaded);
  const order: number[] = [];
  let running = 0, most = 0;
  await Promise.all(Array.from({ length: 20 }, async (_, index) => {
    const leave = await work.enter("one");
    order.push(index);
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve));
    running--;
    leave();
  }));
  assert.equal([order, most], [Array.from({ length: 20 }, (_, index) => index), 2]);
});

test("is refused at once where a hundred wait already", async () => {
  const work = createSlots(1, 60_000, managementOverloaded);
  const leave = await work.enter("one");
  const waiting = Array.from({ length: 100 }, () => work.enter("one").then((leave) => leave()));
  await work.enter("one").then(() => assert.unreachable(), ({ kind }) => assert.is(kind, "overloaded"));
  leave();
  await Promise.all(waiting);
});

test("owners take turns, however much work of another one waits", async () => {
  const work = createSlots(1, 60_000, managementOverloaded);
  const leave = await work.enter("one");
  const order: string[] = [];
  const queue = ["one", "one", "one", "other", "other", "third"];
  const waiting = queue.map(async (owner) => {
    const leave = await work.enter(owner);
    order.push(owner);
    leave();
  });
  leave();
  await Promise.all(waiting);
  assert.equal(order, ["one", "other", "third", "one", "other", "one"]);
});

test("work that waited too long frees its place, and the work behind it keeps its turn", async () => {
  const work = createSlots(1, 20, managementOverloaded, 4);
  const leave = await work.enter("one");
  const late = [work.enter("one"), work.enter("one")];
  for (const each of late) await each.then(() => assert.unreachable(), ({ kind }) => assert.is(kind, "overloaded"));
  const waiting = [work.enter("one"), work.enter("one")];
  leave();
  for (const each of waiting) (await each)();
});

test("stops at the next slice when its client disconnects, and makes room for the next", async () => {
  const gated = await openGated(1, 60_000);
  await gated.addCall();
  for (const path of longPaths(gated)) {
    const controller = new AbortController();
    gated.close();
    const left = gated.send(path, controller.signal);
    await gated.asked();
    const waiting = gated.send(path);
    controller.abort();
    gated.state.reads = 0;
    gated.state.pass(true);
    assert.is((await left).status, 499, path);
    const { error, level } = JSON.parse(gated.logged.at(-1)!);
    assert.equal([error, level], ["client_gone", "info"]);
    assert.is((await waiting).status, 200, path);
    gated.state.reads = 0;
  }
});

test("reads nothing if its client disconnects while it waits", async () => {
  const gated = await openGated(1, 60_000);
  for (const path of longPaths(gated)) {
    const controller = new AbortController();
    controller.abort();
    assert.is((await gated.send(path, controller.signal)).status, 499);
  }
  assert.is(gated.state.reads, 0);
});

test("a cancelled export reads no further, even if it has found nothing to send", async () => {
  const gated = await openGated(1, 60_000);
  const { deployId, submit } = await createWorld({ database: gated.memory });
  await submit();
  const read = async (isCancelled: boolean) => {
    const path = `http://ledger.test/admin/v1/deployments/${deployId}/diagnoses/export?text=nothing`;
    const response = await gated.fetch(new Request(path, { headers: { Authorization: `Bearer ${adminToken}` } }));
    gated.state.reads = 0;
    gated.close();
    const reader = response.body!.getReader();
    const reading = reader.read().catch(() => {});
    await gated.asked();
    const cancelled = isCancelled ? reader.cancel() : undefined;
    gated.state.pass(true);
    await Promise.all([reading, cancelled]);
    return gated.state.reads;
  };
  assert.ok(await read(false) > 1);
  assert.is(await read(true), 1);
});

test("exports of a workspace that nobody reads leave room for those of others", async () => {
  const world = await createWorld();
  const open = async (token: string, deployId: string) => {
    const path = `http://ledger.test/admin/v1/deployments/${deployId}/diagnoses/export`;
    return await world.fetch(new Request(path, { headers: bearer(token) }));
  };
  const issue = async (workspaceId: WorkspaceId) =>
    (await call(createToken, world.admin, { name: "Ada", role: "viewer", workspaceId })).token;
  const own = await issue(world.workspaceId), second = await issue(world.workspaceId);
  const tenant = await createTenant(world.admin, 1000, "Other"), other = await issue(tenant.workspaceId);
  const unread = [];
  for (let nth = 0; nth < 4; nth++) unread.push(await open(own, world.deployId));
  assert.equal(unread.map(({ status }) => status), [200, 200, 200, 200]);
  for (const token of [own, second]) assert.is((await open(token, world.deployId)).status, 503);
  const read = await open(other, tenant.deployId);
  assert.equal([read.status, await read.text()], [200, ""]);
  await unread[0]!.body!.cancel();
  assert.is((await open(second, world.deployId)).status, 200);
  await world.close({ timeout: 1 });
});

test("a short write is made even if its client has disconnected", async () => {
  const gated = await openGated(1, 60_000);
  const controller = new AbortController();
  controller.abort();
  const path = `/admin/v1/deployments/${gated.deployId}/deactivate`;
  assert.is((await gated.send(path, controller.signal, "POST")).status, 200);
});

test("changes wait for the one before, and are 503 with Retry-After after a while; a rendering waits for none", async () => {
  const gated = await openGated(1, 20);
  const change = `/admin/v1/deployments/${gated.deployId}/deactivate`;
  const rendering = JSON.stringify({ values: { name: "Ann" } });
  gated.close();
  const first = gated.send(change, undefined, "POST");
  await gated.asked();
  const { status, json, headers } = await gated.send(change, undefined, "POST");
  const contended = { error: "Too many changes at once: try again", code: "overloaded" };
  assert.equal([status, json, headers.get("Retry-After")], [503, contended, "1"]);
  const render = gated.send(`/admin/v1/prompts/${gated.promptId}/render`, undefined, "POST", rendering);
  gated.state.pass(true);
  for (const { status } of await Promise.all([first, render])) assert.is(status, 200);
  assert.is((await gated.send(change, undefined, "POST")).status, 200);
});

test("starts its response before its output is ready, and sends spaces meanwhile, which no proxy may hold back", async () => {
  const gated = await openGated(1, 60_000);
  const early = await openGated(1, 60_000, 10);
  for (const path of longPaths(early)) {
    early.close();
    const response = await early.fetch(withToken(path));
    assert.equal([response.status, response.headers.get("Content-Type")], [200, "application/json"], path);
    assert.is(response.headers.get("X-Accel-Buffering"), "no", path);
    const reader = response.body!.getReader();
    for (let nth = 0; nth < 3; nth++) assert.equal((await reader.read()).value, new Uint8Array([0x20]), path);
    early.state.pass(true);
    let text = "";
    for (let read; !(read = await reader.read()).done;) text += new TextDecoder().decode(read.value);
    const same = longPaths(gated)[longPaths(early).indexOf(path)]!;
    assert.equal(withoutIds(JSON.parse(text)), withoutIds((await gated.send(same)).json), path);
  }
});

const withToken = (path: string) =>
  new Request(`http://ledger.test${path}`, { headers: { Authorization: `Bearer ${adminToken}` } });

const withoutIds = (value: unknown) =>
  JSON.parse(JSON.stringify(value).replace(/\b(ws|dep)_\w+|\b[0-9a-f]{64}\b/g, "$1"));

test("breaks off a started response when it fails, and logs the cause", async () => {
  const gated = await openGated(1, 60_000, 10);
  gated.close();
  const response = await gated.fetch(withToken("/admin/v1/workspaces/ws_none/calls"));
  assert.is(response.status, 200);
  gated.state.pass(true);
  await response.text().then(() => assert.unreachable(), () => {});
  assert.match(gated.logged.at(-1)!, /Response broke off.*ws_none not found/);
});

test("stops when a started response is cancelled", async () => {
  const gated = await openGated(1, 60_000, 10);
  gated.close();
  const response = await gated.fetch(withToken("/admin/v1/verify"));
  await gated.asked();
  const reads = gated.state.reads;
  const reader = response.body!.getReader();
  await reader.read();
  const cancelled = reader.cancel();
  gated.state.pass(true);
  await cancelled;
  assert.is((await gated.send("/admin/v1/verify?workspaceId=ws_none")).status, 404);
  // One for the second request.
  assert.is(gated.state.reads, reads + 1);
});

test("are the operations that scan the log", () => {
  const long = operations.filter(({ isLong }) => isLong).map(({ id }) => id);
  assert.equal(long.sort(), [
    ...[
      "compareStats",
      "createReview",
      "deleteSession",
      "deleteWorkspace",
      "deleteWorkspaceSession",
      "exportAuditEntries",
    ],
    ...["exportDiagnoses", "exportWorkspaceDiagnoses"],
    ...["listBudgets", "listCalls", "listDiagnoses", "listSessions"],
    ...[
      "listWorkspaceDiagnoses",
      "prune",
      "readBudget",
      "readCosts",
      "readFeedbackAgreement",
      "readRolloutStats",
      "readStats",
      "readUsage",
      "readWorkspaceStats",
      "reindex",
    ],
    ...["showSession", "verify"],
  ]);
});

test.run();
