// `throughput`: requests per second of the service, compared with a bare handler on the same runtime, with the same service with
// a transaction per request, and with a service written by hand.
import { newApiKey } from "../../src/common/ids.ts";
import { memoryOf, startFile } from "../conformance/processes.ts";
import type { Runtime } from "../runtimes.ts";
import { workOf } from "./counting.ts";
import type { Work } from "./counting.ts";
import { callOf, load, measure, methods, warmUp } from "./load.ts";
import type { Load, Method } from "./load.ts";
import type { Options, StoreKind } from "./options.ts";
import { createTenants, say, withFreshService, withStore } from "./stage.ts";
import { ratio, round } from "./tables.ts";
import type { Row, Table } from "./tables.ts";

type Measured = Load & { peakMiB: number | null; work?: Work };

export async function throughput(options: Options): Promise<Table[]> {
  const rows: Row[] = [];
  for (const runtime of options.runtimes) {
    say(`throughput: ${runtime}, a bare handler`);
    const bare = await measureFile(runtime, "test/bench/bare.ts", options);
    for (const method of methods) rows.push(toRow({ runtime, handler: "bare", store: null, method }, bare[method]));
    say(`throughput: ${runtime}, a service written by hand`);
    const byHand = await measureByHand(runtime, options);
    for (const method of methods) {
      rows.push(toRow({ runtime, handler: "by hand", store: "file", method }, byHand[method], { bare: bare[method] }));
    }
    for (const store of options.stores) {
      for (const method of methods) {
        say(`throughput: ${runtime}, ${method} on ${store}`);
        const ones = await measureService(runtime, store, method, options, { GROUP_OF: "1" });
        const service = await measureService(runtime, store, method, options);
        rows.push(
          toRow({ runtime, handler: "service", store, method }, service, {
            bare: bare[method],
            ones,
            ...(store === "file" ? { byHand: byHand[method] } : {}),
          }),
          toRow({ runtime, handler: "groups of one", store, method }, ones),
        );
      }
    }
  }
  return [{ title: `throughput at ${options.connections} connections`, rows }];
}

async function measureFile(
  runtime: Runtime,
  file: string,
  options: Options,
  settings: Record<string, string> = {},
): Promise<Record<Method, Measured>> {
  const tenant = { deployId: "dep_01m7xrpdf9cja9djqs6nnv9k4r", key: newApiKey() };
  const env = { PORT: "0", DEPLOY_ID: tenant.deployId, KEY: tenant.key, ...settings };
  const server = await startFile(runtime, file, env, /url=(\S+)/);
  try {
    const of = async (method: Method) => ({
      ...await measure(server.seen, [callOf(method)(tenant)], options),
      peakMiB: await memoryOf(server.pid, "VmHWM"),
    });
    return { GET: await of("GET"), POST: await of("POST") };
  } finally {
    await server.stop("SIGKILL");
  }
}

const measureByHand = (runtime: Runtime, options: Options) =>
  withStore(
    "file",
    ({ folder }) => measureFile(runtime, "test/bench/by-hand.ts", options, { FILE: `${folder}/by-hand.db` }),
  );

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

type Compared = { bare?: Load; ones?: Load; byHand?: Load };

const toRow = (what: Row, measured: Measured, { bare, ones, byHand }: Compared = {}): Row => ({
  ...what,
  "requests/s": measured.perSecond,
  "of bare": bare ? ratio(measured.perSecond, bare.perSecond) : null,
  "of groups of one": ones ? ratio(measured.perSecond, ones.perSecond) : null,
  "of by hand": byHand ? ratio(measured.perSecond, byHand.perSecond) : null,
  "p50 ms": round(measured.p50, 2),
  "p99 ms": round(measured.p99, 2),
  "peak MiB": measured.peakMiB,
  "round trips/request": measured.work ? round(measured.work.roundTrips / measured.work.accepted, 3) : null,
  "commits/request": measured.work ? round(measured.work.commits / measured.work.accepted, 3) : null,
  failed: measured.failed,
});
