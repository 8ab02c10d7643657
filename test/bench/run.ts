// `npm run bench`: measures the service under load from wrk, one scenario after the other. See options.ts, and the file of each
// scenario. Tables go to stdout, and progress to stderr.
import process from "node:process";
import { backup } from "./backup.ts";
import { requestsAtBounds } from "./bounds.ts";
import { batches } from "./batches.ts";
import { client } from "./client.ts";
import { consolePages } from "./console.ts";
import { deletion } from "./deletion.ts";
import { embedded } from "./embedded.ts";
import { feedback } from "./feedback.ts";
import { flood } from "./flood.ts";
import { growth } from "./growth.ts";
import { insight } from "./insight.ts";
import { hasWrk } from "./load.ts";
import { log } from "./log.ts";
import { lone } from "./lone.ts";
import { looking } from "./looking.ts";
import { readOptions } from "./options.ts";
import type { Options, ScenarioName } from "./options.ts";
import { records } from "./records.ts";
import { references } from "./references.ts";
import { soak } from "./soak.ts";
import { spread } from "./spread.ts";
import { say } from "./stage.ts";
import { toMarkdown } from "./tables.ts";
import type { Table } from "./tables.ts";
import { throughput } from "./throughput.ts";
import { weight } from "./weight.ts";

const scenarios: Record<ScenarioName, (options: Options) => Promise<Table[]>> = {
  throughput,
  lone,
  log,
  spread,
  flood,
  references,
  batches,
  soak,
  growth,
  records,
  deletion,
  client,
  embedded,
  looking,
  console: consolePages,
  insight,
  feedback,
  weight,
  backup,
  bounds: requestsAtBounds,
};

function fail(code: number, error: unknown): never {
  say(`bench: ${error instanceof Error ? error.message : error}`);
  process.exit(code);
}

function readArguments(): Options {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    return fail(2, error);
  }
}

const options = readArguments();
const needsWrk = options.scenarios.some((name) => !["client", "bounds"].includes(name));
if (needsWrk && !await hasWrk()) fail(1, "wrk is needed: apt-get install wrk, or brew install wrk");

const tables: Table[] = [];
try {
  for (const name of options.scenarios) tables.push(...await scenarios[name](options));
} catch (error) {
  fail(1, error);
}
console.log(options.json ? JSON.stringify(tables, null, 2) : tables.map(toMarkdown).join("\n\n"));
