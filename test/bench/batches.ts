// `batches`: records per second in batches of 100 and of 500, compared with single submits in the same run.
import { openConnection, serialize } from "../conformance/http-client.ts";
import type { Tenant } from "../helpers.ts";
import { callOf, load, postBody, warmUp } from "./load.ts";
import type { Options } from "./options.ts";
import { createTenants, say, withFreshService } from "./stage.ts";
import { ratio, round } from "./tables.ts";
import type { Row, Table } from "./tables.ts";

const sizes = [100, 500]; // records in a batch
const connections = 4;

export async function batches(options: Options): Promise<Table[]> {
  const rows: Row[] = [];
  for (const runtime of options.runtimes) {
    for (const store of options.stores) {
      say(`batches: ${runtime} on ${store}`);
      rows.push(
        ...await withFreshService(runtime, store, async (stage) => {
          const [tenant] = await createTenants(stage.admin, 1);
          const submits = [callOf("POST")(tenant!)];
          await warmUp(stage.url, submits, options);
          const single = await load(stage.url, submits, options);
          const rows: Row[] = [];
          for (const records of sizes) {
            await loadBatches(stage.url, tenant!, records, 1, false);
            const plain = await loadBatches(stage.url, tenant!, records, options.seconds, false);
            const keyed = await loadBatches(stage.url, tenant!, records, options.seconds, true);
            rows.push({
              runtime,
              store,
              "single submits/s": single.perSecond,
              "in a batch": records,
              "records/s": plain.perSecond,
              ratio: ratio(plain.perSecond, single.perSecond),
              "p50 ms of a batch": round(plain.p50, 0),
              "records/s with keys": keyed.perSecond,
              "ratio with keys": ratio(keyed.perSecond, single.perSecond),
              failed: single.failed + plain.failed + keyed.failed,
            });
          }
          return rows;
        }),
      );
    }
  }
  return [{ title: `batches at ${connections} connections, compared with single submits`, rows }];
}

/** Sends batches on a few connections for a time. */
async function loadBatches(
  url: string,
  { deployId, key }: Tenant,
  records: number,
  seconds: number,
  hasKeys: boolean,
) {
  const deadline = performance.now() + 1000 * seconds;
  const began = performance.now();
  const times: number[] = [];
  let stored = 0, failed = 0, sent = 0;
  const record = `{"deployId":"${deployId}",${postBody.slice(1)}`;
  const plainBody = `{"records":[${Array(records).fill(record).join()}]}`;
  const run = crypto.randomUUID();
  const keyedBody = (number: number) => {
    const keyed = Array.from(
      { length: records },
      (_, index) => `{"idempotencyKey":"${run}-${number}-${index}",${record.slice(1)}`,
    );
    return `{"records":[${keyed.join()}]}`;
  };
  const headers = [`Authorization: Bearer ${key}`, "Content-Type: application/json"];
  await Promise.all(Array.from({ length: connections }, async () => {
    const connection = openConnection(url);
    await connection.opened;
    while (performance.now() < deadline) {
      const body = hasKeys ? keyedBody(sent++) : plainBody;
      const sentAt = performance.now();
      connection.write(serialize(url, "/v1/diagnoses", { method: "POST", headers, body }, "keep-alive"));
      const { text } = await connection.readAnswer();
      times.push(performance.now() - sentAt);
      const accepted = text.match(/"status":201/g)?.length ?? 0;
      stored += accepted;
      failed += records - accepted;
    }
    connection.close();
  }));
  times.sort((a, b) => a - b);
  const perSecond = round(stored / ((performance.now() - began) / 1000), 0);
  return { perSecond, failed, p50: times[Math.floor(times.length / 2)] ?? NaN };
}
