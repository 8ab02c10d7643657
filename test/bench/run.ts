// `npm run bench`: requests per second of the service, on each runtime and store, beside those of a bare handler on the
// same runtime in the same run. Options: --seconds N, --connections N, --runtime NAME, --store NAME, --json.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { parseArgs, promisify } from "node:util";
import { openDatabase } from "../../src/store/open.ts";
import { verify } from "../../src/admin/records.ts";
import { createTenant } from "../helpers.ts";
import { createFolder, startFile, startService, startSqld } from "../conformance/processes.ts";
import { findSqld } from "../conformance/sqld.ts";
import { pathOf } from "../runtimes.ts";
import type { Runtime } from "../runtimes.ts";

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "5" },
    connections: { type: "string", default: "64" },
    runtime: { type: "string", multiple: true, default: ["Node", "Bun", "Deno"] },
    store: { type: "string", multiple: true, default: ["file", "sqld"] },
    json: { type: "boolean", default: false },
  },
});

type Method = "GET" | "POST";
type Load = { perSecond: number; p50: number; p99: number; failed: number };
type Result = Load & { runtime: string; store: string; method: Method; ofBare: number; peakMiB: number };

const body = JSON.stringify({
  sessionId: "order-4711",
  status: 1,
  content: { input: "Where is my parcel? I ordered it a week ago.", output: "It arrives tomorrow between 9 and 12." },
  latency: 840.5,
  startAt: 1763000000000,
  endAt: 1763000000840,
  additional_properties: {
    trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
    token_usage: { prompt_tokens: 52, completion_tokens: 9 },
  },
});

async function measure(url: string, method: Method, key: string): Promise<Load> {
  const { seconds, connections } = options;
  const { stdout } = await promisify(execFile)(
    "wrk",
    ["-t1", `-c${connections}`, `-d${seconds}s`, "-s", pathOf("test/bench/wrk.lua"), url],
    {
      env: {
        ...process.env,
        BENCH_METHOD: method,
        BENCH_AUTHORIZATION: `Bearer ${key}`,
        ...(method === "POST" ? { BENCH_BODY: body } : {}),
      },
    },
  );
  const { requests, seconds: taken, ...rest } = JSON.parse(stdout.trim().split("\n").at(-1)!);
  return { perSecond: Math.round(requests / taken), ...rest };
}

async function peakMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
}

const methods: Method[] = ["GET", "POST"];

async function measureBare(runtime: Runtime): Promise<Record<Method, Load>> {
  const bare = await startFile(runtime, "test/bench/bare.ts", { PORT: "0" }, /url=(\S+)/);
  try {
    const target = `${bare.seen}/v1/prompts?deployId=dep_01m7xrpdf9cja9djqs6nnv9k4r`;
    return { GET: await measure(target, "GET", "pl_"), POST: await measure(target, "POST", "pl_") };
  } finally {
    await bare.stop("SIGKILL");
  }
}

async function measureService(runtime: Runtime, store: string, bare: Record<Method, Load>): Promise<Result[]> {
  const folder = await createFolder();
  const sqld = store === "sqld" ? await startSqld(await sqldBinary(), folder.path) : undefined;
  const url = sqld?.url ?? `file:${folder.path}/ledger.db`;
  const service = await startService(runtime, { DATABASE_URL: url });
  const database = openDatabase(url);
  try {
    const admin = { database, clock: Date.now };
    const { key, deployId } = await createTenant(admin, Number.MAX_SAFE_INTEGER);
    const results: Result[] = [];
    for (const method of methods) {
      const load = await measure(`${service.url}/v1/prompts?deployId=${deployId}`, method, key);
      const ofBare = Number((load.perSecond / bare[method].perSecond).toFixed(2));
      results.push({ runtime, store, method, ...load, ofBare, peakMiB: await peakMiB(service.pid) });
    }
    await service.stop();
    if (!(await verify(admin)).balanced) throw new Error(`The books of ${runtime} on ${store} do not balance`);
    return results;
  } finally {
    database.close();
    await service.stop("SIGKILL");
    await sqld?.stop("SIGKILL");
    await folder.remove();
  }
}

async function sqldBinary(): Promise<string> {
  const found = await findSqld();
  if ("missing" in found) throw new Error(found.missing);
  return found.binary;
}

function print(results: Result[]): void {
  const rows = results.map((result) => [
    result.runtime,
    result.store,
    result.method,
    String(result.perSecond),
    result.ofBare.toFixed(2),
    result.p50.toFixed(1),
    result.p99.toFixed(1),
    String(result.peakMiB),
    String(result.failed),
  ]);
  const head = ["runtime", "store", "method", "requests/s", "of bare", "p50 ms", "p99 ms", "peak MiB", "failed"];
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  console.log(lines.join("\n"));
}

const hasWrk = await promisify(execFile)("wrk", ["-v"]).then(() => true, (error) => error.code !== "ENOENT");
if (!hasWrk) {
  console.error("The bench needs wrk: apt-get install wrk, or brew install wrk");
  process.exit(1);
}

const results: Result[] = [];
for (const runtime of options.runtime as Runtime[]) {
  console.error(`${runtime}: a bare handler`);
  const bare = await measureBare(runtime);
  for (const method of methods) {
    results.push({ runtime, store: "none", method, ...bare[method], ofBare: 1, peakMiB: 0 });
  }
  for (const store of options.store) {
    console.error(`${runtime}: the service on ${store}`);
    results.push(...await measureService(runtime, store, bare));
  }
}
if (options.json) console.log(JSON.stringify(results));
else print(results);
