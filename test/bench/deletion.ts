// `deletion`: deletes a workspace with many records over HTTP, while another one is served and the ledger is verified.
import { startService } from "../conformance/processes.ts";
import type { Running } from "../conformance/processes.ts";
import { adminToken } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import { makeHistory } from "./fill.ts";
import { pause } from "./load.ts";
import type { Options, StoreKind } from "./options.ts";
import { ask } from "./manage.ts";
import { say, withStore } from "./stage.ts";
import { round } from "./tables.ts";
import type { Row, Table } from "./tables.ts";
import type { Runtime } from "../runtimes.ts";

const clients = 4, interval = 20; // ms between two reads of a client

export async function deletion(options: Options): Promise<Table[]> {
  const rows: Row[] = [];
  const count = options.sizes.at(-1)!;
  for (const runtime of options.runtimes) {
    for (const store of options.stores) rows.push(await measureDeletion(runtime, store, count, options.seconds));
  }
  return [{
    title: `deletion of a workspace of ${count} records, ${1000 / interval * clients} GET/s of another`,
    rows,
  }];
}

const measureDeletion = (runtime: Runtime, store: StoreKind, count: number, seconds: number): Promise<Row> =>
  withStore(store, async ({ url }) => {
    const [tenant, other] = await makeHistory("deletion", url, { count, days: 60 }, 2) as [Tenant, Tenant];
    const service = await startService(runtime, { DATABASE_URL: url, ADMIN_TOKEN: adminToken });
    try {
      await readWhile(service, other, pause(1000));
      const alone = await readWhile(service, other, pause(1000 * seconds));
      const start = performance.now();
      let isDone = false;
      const removing = removeAll(service, tenant).finally(() => isDone = true);
      const verifying = verifyUntil(service, () => isDone);
      const beside = await readWhile(service, other, Promise.all([removing, verifying]));
      const took = (performance.now() - start) / 1000;
      // The service's own upkeep may have deleted some.
      const { items: [{ submits }] } = await ask(service.url, "/deleted-workspaces");
      return {
        ...{ runtime, store, seconds: round(took, 1), records: submits, verified: await verifying },
        ...{ "p99 alone, ms": alone.p99, "p50, ms": beside.p50, "p99, ms": beside.p99, "most, ms": beside.most },
        failed: alone.failed + beside.failed,
      };
    } finally {
      await service.stop();
    }
  });

async function removeAll(service: Running, { workspaceId }: Tenant): Promise<void> {
  for (let isDone = false; !isDone;) {
    let records: number;
    ({ records, isDone } = await ask(service.url, `/workspaces/${workspaceId}?confirm=Acme`, "DELETE"));
    say(`deletion: ${records} records removed`);
  }
}

/** Verifies repeatedly, and once more at the end. Returns how often. */
async function verifyUntil(service: Running, isOver: () => boolean): Promise<number> {
  for (let times = 1;; times++) {
    const isLast = isOver();
    const { balanced, ledgers } = await ask(service.url, "/verify");
    if (!balanced) throw new Error(`The ledger does not balance: ${JSON.stringify(ledgers)}`);
    if (isLast) return times;
  }
}

/** Reads at a steady rate until some work is done. Latencies are in ms. */
async function readWhile(service: Running, { deployId, key }: Tenant, work: Promise<unknown>) {
  let isOver = false, failed = 0;
  const latencies: number[] = [];
  const reading = Array.from({ length: clients }, async () => {
    while (!isOver) {
      const start = performance.now();
      const response = await fetch(`${service.url}/v1/prompts?deployId=${deployId}`, {
        headers: { Authorization: `Bearer ${key}` },
      });
      await response.arrayBuffer();
      if (response.status !== 200) failed++;
      latencies.push(performance.now() - start);
      await pause(Math.max(0, interval - (performance.now() - start)));
    }
  });
  try {
    await work;
  } finally {
    isOver = true;
    await Promise.all(reading);
  }
  latencies.sort((a, b) => a - b);
  const at = (share: number) =>
    round(latencies[Math.min(latencies.length - 1, Math.floor(share * latencies.length))]!, 1);
  return { p50: at(0.5), p99: at(0.99), most: at(1), failed };
}
