// `soak`: a service on a file under a steady mixture of requests for many minutes. Memory, descriptors and write-ahead log must
// stay flat after the warm-up, every answer must be right, and the ledger must balance in the end.
import { readdir, stat } from "node:fs/promises";
import process from "node:process";
import { openDatabase } from "../../src/database/file/open.ts";
import { memoryOf, startService } from "../conformance/processes.ts";
import { audit, createSeededDatabase } from "../faults/audit.ts";
import { adminToken, createTenant, managementOf } from "../helpers.ts";
import type { Runtime } from "../runtimes.ts";
import { pause } from "./load.ts";
import { startMixture } from "./mixed.ts";
import type { Options } from "./options.ts";
import { say, withStore } from "./stage.ts";
import { round } from "./tables.ts";
import type { Row, Table } from "./tables.ts";

const rate = 300; // requests a second
const sampleTime = 10_000; // ms
// Slopes over fewer minutes show only the start.
const minMinutes = 5;
const slopes = { "MiB a minute": 1, "descriptors a minute": 0.5 };
const limits = { "MiB of log": 20 };

type Sample = { minute: number; memory: number; descriptors: number; log: number };

export async function soak(options: Options): Promise<Table[]> {
  const rows: Row[] = [];
  for (const runtime of options.runtimes) rows.push(await watch(runtime, options));
  return [{
    title: `soak: ${options.minutes} minutes at ${rate} requests/s on ${options.connections} connections`,
    rows,
  }];
}

const watch = (runtime: Runtime, { minutes, connections }: Options): Promise<Row> =>
  withStore("file", async ({ url, folder }) => {
    const seeded = await createSeededDatabase(url);
    const database = openDatabase(url, "manage");
    const exhausted = await createTenant(managementOf(database, Date.now), 0, "Exhausted");
    database.close();
    const service = await startService(runtime, { DATABASE_URL: url, ADMIN_TOKEN: adminToken });
    const samples = [await sample(service.pid, folder, 0)];
    const mixture = startMixture({ url: service.url, tenant: seeded.tenant, exhausted }, { connections, rate });
    const began = performance.now();
    while (samples.at(-1)!.minute < minutes) {
      await pause(sampleTime);
      const taken = await sample(service.pid, folder, (performance.now() - began) / 60_000);
      samples.push(taken);
      say(`soak: ${runtime}, ${describe(taken)}, ${mixture.outcomes.requests} requests`);
    }
    await mixture.stop();
    const code = await service.stop();
    const row = toRow(samples, Math.min(2, minutes / 5));
    const found = await audit(seeded, mixture.outcomes);
    const wrong = [
      ...Object.entries(minutes < minMinutes ? limits : { ...limits, ...slopes }).flatMap(([name, max]) =>
        Number(row[name]) > max ? [`${name}: more than ${max}`] : []
      ),
      ...(found.lost + found.doubled === 0 ? [] : [`${found.lost} lost, ${found.doubled} doubled`]),
      ...found.faults,
      ...[...mixture.wrong].map(([answer, count]) => `${count} × ${answer}`),
      ...(code === 0 ? [] : [`the service ended with ${code}`]),
      ...(/^\S+ (warn|error) .*/m.exec(service.output()) ?? []),
    ];
    for (const sentence of wrong) say(`soak: ${runtime}, ${sentence}`);
    if (wrong.length > 0) process.exitCode = 1;
    return { runtime, requests: mixture.outcomes.requests, ...row, wrong: wrong.length };
  });

const describe = ({ minute, memory, descriptors, log }: Sample) =>
  `minute ${minute.toFixed(1)}: ${memory} MiB, ${descriptors} descriptors, log of ${log} MiB`;

/** Measures the process. A value that the system does not report is NaN, which exceeds no limit. */
async function sample(pid: number, folder: string, minute: number): Promise<Sample> {
  const bytes = await stat(`${folder}/ledger.db-wal`).then(({ size }) => size, () => 0);
  return {
    minute,
    memory: await memoryOf(pid, "VmRSS") ?? NaN,
    descriptors: await readdir(`/proc/${pid}/fd`).then(({ length }) => length, () => NaN),
    log: round(bytes / 1024 ** 2, 1),
  };
}

function toRow(samples: Sample[], warm: number): Row {
  const settled = samples.filter(({ minute }) => minute >= warm);
  const slopeOf = (name: "memory" | "descriptors") =>
    round(slope(settled.map((sample) => [sample.minute, sample[name]])), 2);
  return {
    "MiB at start": samples[0]!.memory,
    [`at minute ${warm}`]: settled[0]!.memory,
    "at the end": samples.at(-1)!.memory,
    "MiB a minute": slopeOf("memory"),
    "descriptors": settled[0]!.descriptors,
    "most": Math.max(...settled.map(({ descriptors }) => descriptors)),
    "descriptors a minute": slopeOf("descriptors"),
    "MiB of log": Math.max(...samples.map(({ log }) => log)),
  };
}

/** The slope of the best-fitting line through points. */
function slope(points: [x: number, y: number][]): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const spread = points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0);
  return points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0) / spread;
}
