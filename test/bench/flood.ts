// `flood`: the throughput of a client while another, with as many connections, sends requests that are refused. For comparison
// also while the other's requests are accepted.
import { newApiKey } from "../../src/common/ids.ts";
import type { Runtime } from "../runtimes.ts";
import { callOf, load, measure } from "./load.ts";
import type { Call, Method } from "./load.ts";
import type { Options, StoreKind } from "./options.ts";
import { createTenants, rowsOf, withFreshService } from "./stage.ts";
import type { Stage } from "./stage.ts";
import { ratio } from "./tables.ts";
import type { Row, Table } from "./tables.ts";

const connections = 32; // of each client
const unknownKeys = 300;

export async function flood(options: Options): Promise<Table[]> {
  const rows = await rowsOf(
    "flood",
    options,
    (runtime, store, method) => measureFloods(runtime, store, method, options.seconds),
  );
  return [{ title: `flood: a good client and another at ${connections} connections each`, rows }];
}

const measureFloods = (runtime: Runtime, store: StoreKind, method: Method, seconds: number): Promise<Row[]> =>
  withFreshService(runtime, store, async (stage) => {
    const { good, others } = await createClients(stage, method);
    const rows: Row[] = [];
    for (const [other, calls] of Object.entries(others)) {
      const alone = await measure(stage.url, good, { connections, seconds });
      // The other's load lasts from the good client's warm-up until shortly after its load.
      const [beside, flooding] = await Promise.all([
        measure(stage.url, good, { connections, seconds }),
        load(stage.url, calls, { connections, seconds: seconds + 2 }),
      ]);
      rows.push({
        runtime,
        store,
        method,
        "the other": other,
        "good alone/s": alone.perSecond,
        "good beside it/s": beside.perSecond,
        ratio: ratio(beside.perSecond, alone.perSecond),
        "the other/s": flooding.perSecond,
        "failed good": alone.failed + beside.failed,
      });
    }
    return rows;
  });

async function createClients({ admin }: Stage, method: Method): Promise<{
  good: Call[];
  others: Record<string, Call[]>;
}> {
  const [good, another] = await createTenants(admin, 2);
  const exhausted = await createTenants(admin, 1, 10);
  const unknown = Array.from({ length: unknownKeys }, () => ({ deployId: good!.deployId, key: newApiKey() }));
  const toCall = callOf(method);
  return {
    good: [toCall(good!)],
    others: {
      "accepted": [toCall(another!)],
      ...(method === "POST" ? { "under one Idempotency-Key": [{ ...toCall(another!), idempotencyKey: "one" }] } : {}),
      "unknown keys": unknown.map(toCall),
      "exhausted quota": exhausted.map(toCall),
    },
  };
}
