// `throughput`: requests per second of the service, compared with a bare handler on the same runtime, and with the same service
// with a transaction per request.
import { newApiKey } from "../../src/common/ids.ts";
import { memoryOf, startFile } from "../conformance/processes.ts";
import type { Runtime } from "../runtimes.ts";
import { workOf } from "./counting.ts";
import type { Work } from "./counting.ts";
import { callOf, load, measure, methods, warmUp } from "./load.ts";
import type { Load, Method } from "./load.ts";
import type { Options, StoreKind } from "./options.ts";
import { createTenants, say, withFreshService } from "./stage.ts";
import { ratio, round } from "./tables.ts";
import type { Row, Table } from "./tables.ts";

type Measured = Load & { peakMiB: number | null; work?: Work };

export async function throughput(options: Options): Promise<Table[]> {
  const rows: Row[] = [];
  for (const runtime of options.runtimes) {
    say(`throughput: ${runtime}, a bare handler`);
    const bare = await measureBare(runtime, options);
    for (const method of methods) rows.push(toRow({ runtime, handler: "bare", store: null, method }, bare[method]));
    for (const store of options.stores) {
      for (const method of methods) {
        say(`throughput: ${runtime}, ${method} on ${store}`);
        const ones = await measureService(runtime, store, method, options, { GROUP_OF: "1" });
        const service = await measureService(runtime, store, method, options);
        rows.push(
          toRow({ runtime, handler: "service", store, method }, service, bare[method], ones),
          toRow({ runtime, handler: "groups of one", store, method }, ones),
        );
      }
    }
  }
  return [{ title: `throughput at ${options.connections} connections`, rows }];
}

async function measureBare(runtime: Runtime, options: Options): Promise<Record<Method, Measured>> {
  const bare = await startFile(runtime, "test/bench/bare.ts", { PORT: "0" }, /url=(\S+)/);
  try {
    const tenant = { deployId: "dep_01m7xrpdf9cja9djqs6nnv9k4r", key: newApiKey() };
    const of = async (method: Method) => ({
      ...await measure(bare.seen, [callOf(method)(tenant)], options),
      peakMiB: await memoryOf(bare.pid, "VmHWM"),
    });
    return { GET: await of("GET"), POST: await of("POST") };
  } finally {
    await bare.stop("SIGKILL");
  }
}

/** Uses a fresh store, so that every load starts from the same state. */
const measureService = (
  runtime: Runtime,
  store: StoreKind,
  method: Method,
  options: Options,
  settings: Record<string, string> = {},
): Promise<Measured> =>
  withFreshService(runtime, store, async (stage) => {
    const calls = (await createTenants(stage.admin, 1)).map(callOf(method));
    await warmUp(stage.url, calls, options);
    const { result, work } = await workOf(stage, () => load(stage.url, calls, options));
    return { ...result, work, peakMiB: await memoryOf(stage.pid, "VmHWM") };
  }, settings);

const toRow = (what: Row, measured: Measured, bare?: Load, ones?: Load): Row => ({
  ...what,
  "requests/s": measured.perSecond,
  "of bare": bare ? ratio(measured.perSecond, bare.perSecond) : null,
  "of groups of one": ones ? ratio(measured.perSecond, ones.perSecond) : null,
  "p50 ms": round(measured.p50, 2),
  "p99 ms": round(measured.p99, 2),
  "peak MiB": measured.peakMiB,
  "round trips/request": measured.work ? round(measured.work.roundTrips / measured.work.accepted, 3) : null,
  "commits/request": measured.work ? round(measured.work.commits / measured.work.accepted, 3) : null,
  failed: measured.failed,
});
