// A workspace at every bound: each request about it, and each run of upkeep, reads and answers a bounded number of bytes. In
// full, a started service answers all of them in the memory of a small container.
// Runs on every runtime in CI.
import * as assert from "uvu/assert";
import type { Database, Row, Statement } from "../../src/database/database.ts";
import { runChecks } from "../../src/management/upkeep/checks.ts";
import { runUpkeep } from "../../src/management/upkeep/upkeep.ts";
import { operations } from "../../src/management/index.ts";
import { visit } from "../console/visitor.ts";
import { createTenant, createWorld, managementOf, noon, openMemory } from "../helpers.ts";
import type { World } from "../helpers.ts";
import type { OpenApi } from "../http/openapi-contract.ts";
import { deliverer } from "../management/deliverer.ts";
import { createAgent } from "../mcp/agent.ts";
import { currentRuntime } from "../runtimes.ts";
import { isFull, suite } from "../suite.ts";
import { small, whole } from "./rows.ts";
import { containerMebibytes, startFull } from "./service.ts";
import { agentSteps, faceSteps, operationSteps, pageSteps } from "./walk.ts";
import type { Step } from "./walk.ts";
import { fillWorkspace } from "./workspace.ts";
import type { Full } from "./workspace.ts";

const test = suite("a full workspace");

const mebibyte = 1024 * 1024;
const maxRead = 8 * mebibyte; // bytes that one statement returns. A libSQL server returns at most 10 MB
const maxAnswer = 8 * mebibyte; // bytes, unless the answer is a stream

/** The most bytes that one statement of a database has returned, and that statement. */
type Reads = { most: number; sql: string };

const bytesOf = (value: unknown): number => typeof value === "string" ? new TextEncoder().encode(value).length : 8;

function measuring(memory: Database): { database: Database; reads: Reads } {
  const reads: Reads = { most: 0, sql: "" };
  const measure = ({ sql }: Statement, rows: Row[]): Row[] => {
    const bytes = rows.reduce(
      (sum, row) => Object.values(row).reduce<number>((all, each) => all + bytesOf(each), sum),
      0,
    );
    if (bytes > reads.most) Object.assign(reads, { most: bytes, sql });
    return rows;
  };
  const database: Database = {
    ...memory,
    read: async (statement) => measure(statement, await memory.read(statement)),
    write: async (statements) => (await memory.write(statements)).map((rows, nth) => measure(statements[nth]!, rows)),
  };
  return { database, reads };
}

type Stage = { world: World; full: Full; reads: Reads; cookie: string };

let opened: Promise<Stage> | undefined;

/** A world whose workspace is full. Filling it takes most of the time, so that all tests share it. */
async function openStage(): Promise<Stage> {
  const memory = await openMemory();
  const tenant = await createTenant(managementOf(memory), Number.MAX_SAFE_INTEGER);
  const full = await fillWorkspace(memory, tenant, small);
  const { database, reads } = measuring(memory);
  const world = await createWorld({ database, tenant, maxBodyBytes: mebibyte, servesMetrics: true });
  test.after(() => world.close());
  return { world, full, reads, cookie: (await visit(world)).cookie };
}

const stage = (): Promise<Stage> => opened ??= openStage();

/** Takes steps one after the other. Returns those that read or answered too much, or were not answered as they should be. */
async function walk({ world, reads }: Stage, steps: readonly Step[]): Promise<string[]> {
  const faults: string[] = [];
  for (const { name, method, path, headers, body } of steps) {
    Object.assign(reads, { most: 0, sql: "" });
    const { status, text, headers: answered } = await world.send(path, { method, headers, ...body && { body } });
    const isStream = answered.get("Content-Length") === null && text.length >= 65_536;
    if (status >= 500 || [400, 401, 403, 404].includes(status)) {
      faults.push(`${name} is ${status}: ${text.slice(0, 200)}`);
    }
    if (reads.most > maxRead) faults.push(`${name} reads ${reads.most} bytes by ${reads.sql.replace(/\s+/g, " ")}`);
    const length = new TextEncoder().encode(text).length;
    if (!isStream && length > maxAnswer) faults.push(`${name} answers ${length} bytes`);
  }
  return faults;
}

test("the walk visits each route, each page and each tool", async () => {
  const { world, full, cookie } = await stage();
  const steps = [...operationSteps(full), ...faceSteps(full)];
  const { paths } = (await world.send("/openapi.json")).json as OpenApi;
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).filter((method) => method !== "head").map((method) => `${method.toUpperCase()} ${path}`)
  );
  assert.equal(steps.map(({ method, route }) => `${method} ${route}`).sort(), described.sort());
  assert.is(operationSteps(full).length, operations.length);
  const agents = agentSteps(full).map(({ name }) => name.replace("agent ", ""));
  for (const tool of await createAgent(world).tools()) assert.ok(agents.includes(tool), tool);
  for (const { path } of pageSteps(full, cookie)) assert.not.match(path, /undefined|:/, path);
});

test("a page of the console reads and answers a bounded number of bytes", async () => {
  const opened = await stage();
  assert.equal(await walk(opened, pageSteps(opened.full, opened.cookie)), []);
});

test("what an agent asks reads and answers a bounded number of bytes", async () => {
  const opened = await stage();
  assert.equal(await walk(opened, agentSteps(opened.full)), []);
});

test("an operation and a route read and answer a bounded number of bytes", async () => {
  const opened = await stage();
  assert.equal(await walk(opened, [...faceSteps(opened.full), ...operationSteps(opened.full)]), []);
});

test("a run of upkeep reads a bounded number of bytes", async () => {
  const { world, full, reads } = await stage();
  const { database } = world, store = { database, clock: () => world.now };
  Object.assign(reads, { most: 0, sql: "" });
  assert.equal(await runChecks({ store, isOver: () => false }), []);
  assert.ok(reads.most <= maxRead, `checks read ${reads.most} bytes by ${reads.sql}`);
  // Webhooks that have seen nothing of the log yet.
  const on = "update webhooks set disabled_at = null, disabled_reason = null, seen = 0 where workspace_id = ?";
  await database.write([{ sql: on, args: [full.workspaceId] }]);
  Object.assign(reads, { most: 0, sql: "" });
  await deliverer(world).run();
  assert.ok(reads.most <= maxRead, `a delivery reads ${reads.most} bytes by ${reads.sql}`);
  const day = 86_400_000;
  await database.write([{ sql: "update workspaces set keep_records_ms = ?, keep_calls_ms = ?", args: [day, 2 * day] }]);
  world.now = noon + 3 * day;
  Object.assign(reads, { most: 0, sql: "" });
  const run = await runUpkeep(store, { holder: "test", interval: 1, isOver: () => false });
  assert.ok("calls" in run && run.calls > 0, JSON.stringify(run));
  assert.ok(reads.most <= maxRead, `upkeep reads ${reads.most} bytes by ${reads.sql}`);
});

const atOnce = 60; // requests in a test. Each tells the runner that the work goes on

if (isFull) {
  const { steps, take, stop } = await startFull(currentRuntime, whole), most = containerMebibytes[currentRuntime];
  test.after(stop);
  for (let first = 0; first < steps.length; first += atOnce) {
    const some = steps.slice(first, first + atOnce);
    test(`a service answers in the memory of a small container: ${some[0]!.name} to ${some.at(-1)!.name}`, async () => {
      const faults: string[] = [];
      for (const step of some) {
        const { status, text, peak } = await take(step).catch((error) => {
          throw new Error(`${step.name} ended the service`, { cause: error });
        });
        if (status >= 500) faults.push(`${step.name} is ${status}: ${text}`);
        if (peak !== null && peak > most) faults.push(`${step.name} takes ${peak} MiB`);
      }
      assert.equal(faults, []);
    });
  }
}

test.run();
