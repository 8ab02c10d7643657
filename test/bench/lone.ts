// `lone`: the latency of a lone request on an idle server, compared with a bare round trip to the libSQL server.
import { createClient } from "@libsql/client";
import type { Runtime } from "../runtimes.ts";
import { callOf, measure } from "./load.ts";
import type { Method } from "./load.ts";
import type { Options, StoreKind } from "./options.ts";
import { createTenants, rowsOf, withFreshService } from "./stage.ts";
import { round } from "./tables.ts";
import type { Row, Table } from "./tables.ts";

export async function lone(options: Options): Promise<Table[]> {
  const rows = await rowsOf(
    "lone",
    options,
    (runtime, store, method) => measureLone(runtime, store, method, options.seconds),
  );
  return [{ title: "lone: one connection to an idle service", rows }];
}

const measureLone = (runtime: Runtime, kind: StoreKind, method: Method, seconds: number): Promise<Row> =>
  withFreshService(runtime, kind, async ({ url, store, admin }) => {
    const calls = (await createTenants(admin, 1)).map(callOf(method));
    const { p50, p99, perSecond, failed } = await measure(url, calls, { connections: 1, seconds });
    return {
      runtime,
      store: kind,
      method,
      "requests/s": perSecond,
      "p50 ms": round(p50, 2),
      "p99 ms": round(p99, 2),
      "`select 1` p50 ms": kind === "sqld" ? round(await medianRoundTrip(store.url), 2) : null,
      failed,
    };
  });

/** The median of a `select 1` to a libSQL server from this process, in ms. */
async function medianRoundTrip(url: string): Promise<number> {
  const client = createClient({ url });
  const times: number[] = [];
  for (let nth = 0; nth < 1000; nth++) {
    const start = performance.now();
    await client.execute("select 1");
    times.push(performance.now() - start);
  }
  client.close();
  // The first half warms up.
  return times.slice(500).sort((a, b) => a - b)[250]!;
}
