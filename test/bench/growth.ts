// `growth`: requests per second on a file that grows to millions of records, and how long `verify` takes in the end.
import { verifyBalanced } from "../balanced.ts";
import { managementOf } from "../helpers.ts";
import type { Session } from "../../src/management/kernel/operation.ts";
import { migrate } from "../../src/migrate.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import type { Tenant } from "../helpers.ts";
import type { Runtime } from "../runtimes.ts";
import { fillCatalog, fillRecords, keys, workspaces } from "./fill.ts";
import { callOf, measure } from "./load.ts";
import type { Options } from "./options.ts";
import { createTenants, say, withService, withStore } from "./stage.ts";
import type { Store } from "./stage.ts";
import { ratio, round } from "./tables.ts";
import type { Row, Table } from "./tables.ts";

const busyWorkspaces = 50;

type Measured = { runtime: Runtime; records: number; fileMiB: number; get: number; post: number; failed: number };

export const growth = (options: Options): Promise<Table[]> =>
  withStore("file", async (store) => {
    await migrate(store.url);
    const tenants = await onFile(store, async (admin) => {
      const tenants = await createTenants(admin, busyWorkspaces);
      say(`growth: making ${workspaces} workspaces with ${keys} keys`);
      await fillCatalog(admin);
      return tenants;
    });
    const results: Measured[] = [];
    for (const size of options.sizes) {
      await onFile(store, (admin) => growTo(size, admin));
      for (const runtime of options.runtimes) {
        say(`growth: ${runtime} at ${size} records`);
        results.push(await measureAt(runtime, store, tenants, options));
      }
    }
    say("growth: verify");
    const verified = await onFile(store, timeVerify);
    const load = `${options.connections} connections over ${busyWorkspaces} of ${workspaces} workspaces`;
    return [
      { title: `growth: ${load}`, rows: results.map((result) => toRow(result, results)) },
      { title: "growth: verify at the end", rows: [verified] },
    ];
  });

/** Opens the file as a service does, which checkpoints the write-ahead log. No service may run. */
async function onFile<T>({ url }: Store, use: (admin: Session) => Promise<T>): Promise<T> {
  const database = openDatabase(url, "serve");
  try {
    return await use(managementOf(database, Date.now));
  } finally {
    database.close();
  }
}

async function growTo(size: number, admin: Session): Promise<void> {
  const missing = size - (await sizeOf(admin)).records;
  let reported = 0;
  await fillRecords(admin, missing, (done) => {
    if (done < missing && done - reported < 250_000) return;
    reported = done;
    say(`growth: made ${done} of ${missing} records`);
  });
}

async function sizeOf({ database }: Session): Promise<{ records: number; fileMiB: number }> {
  const [row] = await database.read({
    sql: `select (select count(*) from diagnoses) as records, page_count * page_size as bytes
      from pragma_page_count cross join pragma_page_size`,
  });
  return { records: Number(row!.records), fileMiB: Math.round(Number(row!.bytes) / 1024 ** 2) };
}

async function measureAt(runtime: Runtime, store: Store, tenants: Tenant[], options: Options): Promise<Measured> {
  const { records, fileMiB } = await onFile(store, sizeOf);
  return withService(runtime, store, async ({ url }) => {
    const get = await measure(url, tenants.map(callOf("GET")), options);
    const post = await measure(url, tenants.map(callOf("POST")), options);
    const failed = get.failed + post.failed;
    return { runtime, records, fileMiB, get: get.perSecond, post: post.perSecond, failed };
  });
}

async function timeVerify(admin: Session): Promise<Row> {
  const start = performance.now();
  await verifyBalanced(admin);
  const seconds = round((performance.now() - start) / 1000, 1);
  return { records: (await sizeOf(admin)).records, seconds, balanced: "yes" };
}

function toRow({ runtime, records, fileMiB, get, post, failed }: Measured, results: Measured[]): Row {
  const smallest = results.find((result) => result.runtime === runtime)!;
  return {
    runtime,
    records,
    "file MiB": fileMiB,
    "GET/s": get,
    "GET of smallest": ratio(get, smallest.get),
    "POST/s": post,
    "POST of smallest": ratio(post, smallest.post),
    failed,
  };
}
