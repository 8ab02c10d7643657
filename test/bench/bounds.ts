// `bounds`: the cost of each request on a workspace at every bound, in a service with the memory of a small container. Figures of
// the first runtime go to sql/bounds.json, for the table in src/deploy/README.md.
import { writeFile } from "node:fs/promises";
import { availableParallelism, loadavg } from "node:os";
import process from "node:process";
import { figuresFile, rows } from "../../sql/bounds.ts";
import type { Figures } from "../../sql/bounds.ts";
import { startFull } from "../full/service.ts";
import { whole } from "../full/rows.ts";
import type { Runtime } from "../runtimes.ts";
import type { Options } from "./options.ts";
import { say } from "./stage.ts";
import { round } from "./tables.ts";
import type { Table } from "./tables.ts";

export async function requestsAtBounds({ runtimes }: Options): Promise<Table[]> {
  const tables: Table[] = [];
  for (const runtime of runtimes) {
    const figures = await measure(runtime);
    if (tables.length === 0) await store(figures);
    const rows = Object.entries(figures.steps).map(([request, cost]) => ({ runtime, request, ...cost }));
    tables.push({ title: `bounds: ${runtime}, ${figures.peak} MiB at most`, rows });
  }
  return tables;
}

/** Stores the figures of the steps that the table has. */
async function store({ steps, ...rest }: Figures): Promise<void> {
  const names = new Set(rows.flatMap(({ steps = [] }) => steps));
  const shown = Object.fromEntries([...names].map((name) => [name, steps[name]]));
  await writeFile(figuresFile, `${JSON.stringify({ ...rest, steps: shown }, null, 2)}\n`);
}

async function measure(runtime: Runtime): Promise<Figures> {
  const load = round(loadavg()[0]!, 0), { steps, take, stop } = await startFull(runtime, whole);
  const figures: Figures = {
    date: new Date().toISOString().slice(0, 10),
    runtime: runtime === "Node" ? `Node ${process.versions.node}` : runtime,
    cores: availableParallelism(),
    load,
    peak: 0,
    steps: {},
  };
  try {
    for (const step of steps) {
      const { ms, before, peak } = await take(step);
      if (before === null || peak === null) throw new Error("The memory of a process is known on Linux alone");
      const cost = { ms: round(ms, 0), mebibytes: Math.max(peak - before, 0) };
      figures.steps[step.name] = cost;
      figures.peak = Math.max(figures.peak, peak);
      say(`bounds: ${runtime}, ${step.name}: ${cost.ms} ms, ${cost.mebibytes} MiB more`);
    }
  } finally {
    await stop();
  }
  return figures;
}
