// `backup`: what reads and submits keep while a backup of a file with many records is made: copied, checked, compressed and stored.
import { mkdir } from "node:fs/promises";
import { constants, setPriority } from "node:os";
import { startCommand } from "../conformance/processes.ts";
import { commandOf } from "../runtimes.ts";
import type { Tenant } from "../helpers.ts";
import { makeHistory } from "./fill.ts";
import { callOf, load, measure, methods } from "./load.ts";
import type { Load, Method } from "./load.ts";
import type { Options } from "./options.ts";
import { say, withService, withStore } from "./stage.ts";
import type { Stage } from "./stage.ts";
import { ratio, round } from "./tables.ts";
import type { Row, Table } from "./tables.ts";

const days = 60;

export async function backup(options: Options): Promise<Table[]> {
  const count = options.sizes.at(-1)!;
  return [{
    title: `backup: of ${count} records, beside ${options.connections} connections`,
    rows: await measureNode(count, options),
  }];
}

/** Node alone, as each runtime would make the records anew, which takes minutes for millions. */
const measureNode = (count: number, options: Options): Promise<Row[]> =>
  withStore("file", async (store) => {
    const [tenant] = await makeHistory("backup", store.url, { count, days }) as [Tenant];
    return await withService("Node", store, async (stage) => {
      const rows: Row[] = [];
      for (const method of methods) {
        const row = { method, ...await measureBeside(stage, tenant, method, options) };
        say(`backup: ${JSON.stringify(row)}`);
        rows.push(row);
      }
      return rows;
    }, { LOG_LEVEL: "warn" });
  });

/** Loads for as long as a backup takes, and one without it before and after. */
async function measureBeside(
  { url, store }: Stage,
  tenant: Tenant,
  method: Method,
  options: Options,
): Promise<Row> {
  const calls = [callOf(method)(tenant)], place = `${store.folder}/backups`;
  await mkdir(place, { recursive: true });
  const before = await measure(url, calls, options);
  const start = performance.now();
  const settings = { DATABASE_URL: store.url, BACKUP_TO: place, BACKUP_KEEP: "1 latest" };
  const making = startCommand([...commandOf.Node("src/cli.ts"), "backup", "now", "--json"], settings);
  // As the schedule of a service starts it.
  setPriority(making.pid, constants.priority.PRIORITY_LOW);
  let took = 0;
  const ended = making.ended.then((code) => {
    took = performance.now() - start;
    if (code !== 0) throw new Error(making.said());
  });
  const loads: Load[] = [];
  while (took === 0) loads.push(await load(url, calls, options));
  await ended;
  const after = await load(url, calls, options);
  const { bytes } = JSON.parse(making.out()) as { bytes: number };
  const mean = (all: Load[], of: (load: Load) => number) => all.reduce((sum, each) => sum + of(each), 0) / all.length;
  const perSecond = ({ perSecond }: Load) => perSecond;
  const quiet = mean([before, after], perSecond), beside = mean(loads, perSecond);
  return {
    "quiet/s": Math.round(quiet),
    "beside/s": Math.round(beside),
    "of quiet": ratio(beside, quiet),
    "least of quiet": ratio(Math.min(...loads.map(perSecond)), quiet),
    "p99 quiet": round(mean([before, after], ({ p99 }) => p99), 1),
    "p99 beside": round(mean(loads, ({ p99 }) => p99), 1),
    "backup s": round(took / 1000, 1),
    "backup MB": round(bytes / 1e6, 1),
    failed: [before, ...loads, after].reduce((sum, { failed }) => sum + failed, 0),
  };
}
