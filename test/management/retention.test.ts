// Retention removes records and calls that are older than their workspace keeps them, and nothing else.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { defaultStatuses } from "../../src/management/kernel/statuses.ts";
import { createMetrics } from "../../src/common/metrics.ts";
import { createLog } from "../../src/common/log.ts";
import type { Call } from "../../src/schema/ledger.ts";
import { runUpkeep } from "../../src/management/upkeep/upkeep.ts";
import type { UpkeepOptions } from "../../src/management/upkeep/upkeep.ts";
import { startUpkeep } from "../../src/runtime/serving/upkeep.ts";
import { verifyBalanced } from "../balanced.ts";
import { createTenant, createWorld, goodBody } from "../helpers.ts";
import type { Tenant, World } from "../helpers.ts";
import { until } from "../conformance/processes.ts";
import { readAll, refused, taken } from "./management.ts";

const test = suite("retention");

const hour = 3_600_000, day = 24 * hour;

const keep = (world: World, change: object, { workspaceId }: Tenant = world) =>
  world.manage("PATCH", `/workspaces/${workspaceId}`, change);

const run = (world: World, options: Partial<UpkeepOptions> = {}) =>
  runUpkeep(world.admin, { holder: "test", interval: hour, isOver: () => false, ...options });

const callsOf = (world: World, { workspaceId }: Tenant = world) =>
  readAll<Call>(world, `/workspaces/${workspaceId}/calls?limit=1000`);

test("a workspace keeps records and calls forever by default", async () => {
  const world = await createWorld();
  const path = `/workspaces/${world.workspaceId}`;
  const kept = async () => {
    const { keepRecordsMs, keepCallsMs } = taken(await world.manage("GET", path));
    return [keepRecordsMs, keepCallsMs];
  };
  assert.equal(await kept(), [null, null]);
  taken(await keep(world, { keepRecordsMs: 90 * day, keepCallsMs: 400 * day }));
  taken(await keep(world, { name: "Other" }));
  assert.equal(await kept(), [90 * day, 400 * day]);
  taken(await keep(world, { keepRecordsMs: null }));
  assert.equal(await kept(), [null, 400 * day]);
  for (const value of [0, day - 1, 1.5, "90d", 10 * 366 * day + 1]) {
    assert.is((await keep(world, { keepRecordsMs: value })).status, 400);
  }
  assert.equal(await kept(), [null, 400 * day]);
});

test("retention can be set when a workspace is created", async () => {
  const { manage } = await createWorld();
  const body = { name: "Short", keepRecordsMs: day, keepCallsMs: 2 * day };
  const { id, createdAt: _, ...made } = taken(await manage("POST", "/workspaces", body), 201);
  assert.equal(made, {
    ...body,
    monthlyLimit: 1_000_000,
    upgradeUrl: null,
    statuses: defaultStatuses,
    costSource: "provider",
  });
  assert.is(taken(await manage("GET", `/workspaces/${id}`)).keepCallsMs, 2 * day);
});

test("records and calls past retention are removed, in that workspace only", async () => {
  const world = await createWorld();
  const other = await createTenant(world.admin);
  const ids: string[] = [], others: string[] = [];
  for (let nth = 0; nth < 10; nth++) {
    const [own, theirs] = await Promise.all([
      world.submit(),
      world.submit(goodBody, other.deployId, other.key),
      world.read(),
    ]);
    ids.push(taken<{ id: string }>(own, 201).id);
    others.push(taken<{ id: string }>(theirs, 201).id);
    world.now += day;
  }
  const before = { calls: await callsOf(world, other), usage: (await world.send("/v1/usage")).json };
  taken(await keep(world, { keepRecordsMs: 3 * day, keepCallsMs: 6 * day }));
  // The fifth last is exactly that old, and stays.
  const removed = await run(world);
  assert.equal(removed, { calls: 8, records: 4 + 3, feedback: 0 });
  const statuses = [];
  for (const id of ids) statuses.push((await world.manage("GET", `/diagnoses/${id}`)).status);
  assert.equal(statuses, [404, 404, 404, 404, 410, 410, 410, 200, 200, 200]);
  assert.equal((await callsOf(world)).map(({ number }) => number), Array.from({ length: 12 }, (_, at) => 20 - at));
  assert.equal(await callsOf(world, other), before.calls);
  for (const id of others) assert.is((await world.manage("GET", `/diagnoses/${id}`)).status, 200);
  assert.equal((await world.send("/v1/usage")).json, before.usage);
  const ledgers = await verifyBalanced(world.admin);
  const own = ledgers.find(({ workspaceId }) => workspaceId === world.workspaceId)!;
  assert.equal([own.used, own.pruned, own.deleted], [20, 8, 3]);
});

test("prune works on one workspace, or all", async () => {
  const world = await createWorld();
  const other = await createTenant(world.admin);
  await Promise.all([world.submit(), world.submit(goodBody, other.deployId, other.key)]);
  world.now += 2 * day;
  await world.read();
  const prune = async (body: object) => taken(await world.manage("POST", "/prune", { olderThanMs: day, ...body }));
  assert.equal(await prune({ workspaceId: world.workspaceId }), { calls: 1, records: 1, isDone: true });
  assert.equal([(await callsOf(world)).length, (await callsOf(world, other)).length], [1, 1]);
  await verifyBalanced(world.admin);
  assert.equal(await prune({}), { calls: 1, records: 1, isDone: true });
  const [commits] = await world.database.read({ sql: "select count(*) as count from commits" });
  assert.is(commits!.count, 1);
  refused(
    await world.manage("POST", "/prune", { olderThanMs: day, workspaceId: "ws_x" }),
    404,
    "Workspace ws_x not found",
  );
});

test("a commit is removed with its last calls, even if its other calls were pruned before", async () => {
  const world = await createWorld();
  const other = await createTenant(world.admin);
  await Promise.all([world.submit(), world.submit(goodBody, other.deployId, other.key)]);
  world.now += 2 * day;
  await world.read();
  const countCommits = async () => (await world.database.read({ sql: "select position from commits" })).length;
  const before = await countCommits();
  for (const { workspaceId } of [world, other]) {
    taken(await world.manage("POST", "/prune", { olderThanMs: day, workspaceId }));
  }
  assert.ok(before > 1);
  assert.is(await countCommits(), 1);
});

test("upkeep runs at most once an hour, in one process at a time", async () => {
  const world = await createWorld();
  await world.submit();
  world.now += 2 * day;
  await world.read();
  taken(await keep(world, { keepCallsMs: day }));
  const start = world.now;
  assert.equal(await run(world, { holder: "a" }), { calls: 1, records: 1, feedback: 0 });
  assert.equal(await run(world, { holder: "b" }), { nextAt: start + hour });
  world.now += hour - 1;
  assert.equal(await run(world, { holder: "b" }), { nextAt: start + hour });
  world.now++;
  // While one process runs it, no other does.
  await world.submit();
  world.now += 2 * day;
  await world.read();
  let during: unknown;
  const second = await run(world, {
    holder: "b",
    onRemoved: () => void (during ??= run(world, { holder: "a" })),
  });
  assert.equal(second, { calls: 2, records: 1, feedback: 0 });
  assert.ok("nextAt" in await (during as Promise<object>));
});

test("a lease ends when its holder has crashed, and one taken with a wrong clock does not last", async () => {
  const world = await createWorld();
  const lease = (expiresAt: number) =>
    world.database.write([{ sql: "update upkeep set holder = 'x', expires_at = ?", args: [expiresAt] }]);
  await lease(world.now + 300_000);
  assert.equal(await run(world), { nextAt: world.now + 300_000 });
  world.now += 300_000;
  assert.equal(await run(world), { calls: 0, records: 0, feedback: 0 });
  await lease(world.now + 400 * day);
  assert.equal(await run(world), { calls: 0, records: 0, feedback: 0 });
});

test("the next run, by any process, continues one that was cut off", async () => {
  const world = await createWorld({ monthlyLimit: 1e6 });
  for (let nth = 0; nth < 8; nth++) {
    await Promise.all(Array.from({ length: 200 }, () => world.submit()));
    world.now += 1;
  }
  world.now += 2 * day;
  await world.read();
  taken(await keep(world, { keepCallsMs: day }));
  let steps = 0;
  const first = await run(world, { holder: "a", isOver: () => steps > 0, onRemoved: () => void steps++ });
  const second = await run(world, { holder: "b" });
  assert.ok("calls" in first && "calls" in second);
  assert.ok(steps === 1 && first.calls > 0 && first.calls < 1600, JSON.stringify(first));
  assert.is(first.calls + second.calls, 1600);
  await verifyBalanced(world.admin);
});

test("a service runs upkeep in the background, counts it in metrics, and continues after an error", async () => {
  const world = await createWorld();
  await world.submit();
  world.now += 2 * day;
  await world.read();
  taken(await keep(world, { keepRecordsMs: day }));
  const metrics = createMetrics();
  const logged: string[] = [];
  const clock = () => world.now;
  const log = createLog({ level: "info", format: "json", clock, write: (line) => void logged.push(line) });
  const failing = { ...world.database, read: () => Promise.reject(new Error("no database")) };
  const failed = startUpkeep({ database: failing, clock, log, metrics: createMetrics() }, 0);
  await until(() => logged.length > 0);
  failed.stop();
  assert.match(logged.pop()!, /"Background upkeep failed; it runs again in an hour","cause":".*no database/);
  const upkeep = startUpkeep({ database: world.database, clock, log, metrics }, 0);
  await until(() => logged.length > 0);
  upkeep.stop();
  assert.match(logged.pop()!, /"Removed calls and records past their retention","calls":0,"records":1/);
  assert.match(metrics.text(), /^promptledger_deleted_records_total 1$/m);
  assert.match(metrics.text(), /^promptledger_pruned_calls_total 0$/m);
  assert.match(metrics.text(), /^promptledger_upkeep_failures_total 0$/m);
  assert.match(metrics.text(), new RegExp(`^promptledger_upkeep_last_run_timestamp_seconds ${world.now / 1000}$`, "m"));
});

test.run();
