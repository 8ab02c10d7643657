// `looking`: what reads and submits keep while people look at a file with a million records: at statistics, a search, an
// export, a verification, pages, and at all of them at once. The probe is asked meanwhile too.
import { get } from "node:http";
import { memoryOf } from "../conformance/processes.ts";
import { adminToken } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import type { Runtime } from "../runtimes.ts";
import { makeHistory } from "./fill.ts";
import { callOf, load, measure, methods, pause } from "./load.ts";
import type { Load, Method } from "./load.ts";
import type { Options } from "./options.ts";
import { say, withService, withStore } from "./stage.ts";
import type { Stage } from "./stage.ts";
import { ratio, round } from "./tables.ts";
import type { Row, Table } from "./tables.ts";

const days = 60;
const probeInterval = 20; // ms

/** What people look at, below `/admin/v1`. */
const views = ({ deployId }: Tenant): Record<string, string> => ({
  statistics: `/deployments/${deployId}/stats`,
  search: `/deployments/${deployId}/diagnoses?text=no%20such%20text`,
  export: `/deployments/${deployId}/diagnoses/export`,
  verify: "/verify",
  pages: `/deployments/${deployId}/diagnoses?limit=50`,
});

export async function looking(options: Options): Promise<Table[]> {
  const count = options.sizes.at(-1)!;
  const rows: Row[] = [];
  for (const runtime of options.runtimes) rows.push(...await measureRuntime(runtime, count, options));
  return [{ title: `looking: at ${count} records, beside ${options.connections} connections`, rows }];
}

const measureRuntime = (runtime: Runtime, count: number, options: Options): Promise<Row[]> =>
  withStore("file", async (store) => {
    const [tenant] = await makeHistory("looking", store.url, { count, days }) as [Tenant];
    return await withService(runtime, store, async (stage) => {
      const rows: Row[] = [];
      const all = Object.entries(views(tenant)).map(([name, path]) => ({ name, paths: [path] }));
      for (const method of methods) {
        for (const { name, paths } of [...all, { name: "all of them", paths: all.flatMap(({ paths }) => paths) }]) {
          const row = { runtime, method, beside: name, ...await measureBeside(stage, tenant, method, paths, options) };
          say(`looking: ${JSON.stringify(row)}`);
          rows.push(row);
        }
      }
      return rows;
    }, { ADMIN_TOKEN: adminToken, LOG_LEVEL: "warn" });
  });

/** A load beside lookers, and the same without them before and after it. */
async function measureBeside(
  { url, pid }: Stage,
  tenant: Tenant,
  method: Method,
  paths: string[],
  options: Options,
): Promise<Row> {
  const calls = [callOf(method)(tenant)];
  const before = await measure(url, calls, options);
  const controller = new AbortController();
  const looked = { times: 0 };
  const lookers = paths.map((path) => look(`${url}/admin/v1${path}`, controller.signal, looked));
  const probes = probe(`${url}/healthz`, controller.signal);
  // Each looker has begun, and with the first one the thread that it needs.
  await pause(500);
  const beside = await load(url, calls, options);
  controller.abort();
  await Promise.all(lookers);
  const slowest = await probes;
  const after = await load(url, calls, options);
  const quiet = (of: (load: Load) => number) => (of(before) + of(after)) / 2;
  return {
    "quiet/s": Math.round(quiet(({ perSecond }) => perSecond)),
    "beside/s": beside.perSecond,
    "of quiet": ratio(beside.perSecond, quiet(({ perSecond }) => perSecond)),
    "p50, p99 quiet": `${round(quiet(({ p50 }) => p50), 1)}, ${round(quiet(({ p99 }) => p99), 1)}`,
    "p50, p99 beside": `${round(beside.p50, 1)}, ${round(beside.p99, 1)}`,
    "p99 × quiet": ratio(beside.p99, quiet(({ p99 }) => p99)),
    "looks": looked.times,
    "slowest /healthz": round(slowest, 1),
    MiB: await memoryOf(pid, "VmRSS"),
    failed: before.failed + beside.failed + after.failed,
  };
}

/** Looks again and again until it is aborted. */
async function look(url: string, signal: AbortSignal, looked: { times: number }): Promise<void> {
  while (!signal.aborted) {
    const status = await read(url, signal);
    if (status === 200) looked.times++;
    else if (status !== undefined) throw new Error(`${url}: ${status}`);
  }
}

/** Asks now and then until it is aborted. Resolves with the longest time that a response took, in ms. */
async function probe(url: string, signal: AbortSignal): Promise<number> {
  let slowest = 0;
  while (!signal.aborted) {
    const start = performance.now();
    if (await read(url, signal) === 200) slowest = Math.max(slowest, performance.now() - start);
    await pause(probeInterval);
  }
  return slowest;
}

/** Reads a response to its end, and drops what it reads. Resolves with its status, or undefined once it is aborted. */
const read = (url: string, signal: AbortSignal): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const fail = (error: Error) => signal.aborted ? resolve(undefined) : reject(error);
    get(url, { headers: { Authorization: `Bearer ${adminToken}` }, signal }, (response) => {
      response.once("end", () => resolve(response.statusCode)).once("error", fail).resume();
    }).once("error", fail);
  });
