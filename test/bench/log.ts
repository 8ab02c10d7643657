// `log`: the cost of the log line of each request. Loads two services alternately, one with the default log and one with a
// silent log, because the speed of a machine varies over time.
import type { Runtime } from "../runtimes.ts";
import { callOf, load } from "./load.ts";
import type { Call, Method } from "./load.ts";
import type { Options, StoreKind } from "./options.ts";
import { cpuTime, createTenants, rowsOf, withFreshService } from "./stage.ts";
import type { Stage } from "./stage.ts";
import { ratio, round } from "./tables.ts";
import type { Row, Table } from "./tables.ts";

const pairs = 8;

export async function log(options: Options): Promise<Table[]> {
  const rows = await rowsOf("log", options, (runtime, store, method) => compare(runtime, store, method, options));
  return [{ title: `log: with a line per request and without, ${pairs} alternating loads each`, rows }];
}

type Loaded = { perSecond: number; cpu: number };

const compare = (runtime: Runtime, store: StoreKind, method: Method, options: Options): Promise<Row> =>
  withFreshService(runtime, store, (loud) =>
    withFreshService(runtime, store, async (silent) => {
      const contestants: { stage: Stage; calls: Call[]; loads: Loaded[] }[] = [];
      for (const stage of [loud, silent]) {
        const calls = (await createTenants(stage.admin, 1)).map(callOf(method));
        await loadOnce(stage, calls, options);
        contestants.push({ stage, calls, loads: [] });
      }
      for (let pair = 0; pair < pairs; pair++) {
        for (const { stage, calls, loads } of pair % 2 === 0 ? contestants : contestants.toReversed()) {
          loads.push(await loadOnce(stage, calls, options));
        }
      }
      const [loudest, quiet] = contestants.map(({ loads }) => ({
        perSecond: median(loads.map(({ perSecond }) => perSecond)),
        cpu: median(loads.map(({ cpu }) => cpu)),
      }));
      return {
        runtime,
        store,
        method,
        "requests/s": loudest!.perSecond,
        "without": quiet!.perSecond,
        "ratio": ratio(loudest!.perSecond, quiet!.perSecond),
        "CPU µs/request": round(loudest!.cpu, 1),
        "CPU without": round(quiet!.cpu, 1),
      };
    }, { LOG_LEVEL: "error" }));

async function loadOnce({ url, pid }: Stage, calls: Call[], options: Options): Promise<Loaded> {
  const before = await cpuTime(pid);
  const { perSecond, requests } = await load(url, calls, options);
  return { perSecond, cpu: (await cpuTime(pid) - before) / requests };
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
