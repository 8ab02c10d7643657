// Runs the test files on the runtime it is started with: `test/run.ts [PATTERN]`. Ends with a line `RUNTIME: N passed,
// N failed`, and fails when fewer tests ran than there are: a file that is not found or never ran must not pass. Some files
// run on Node alone.
import { basename } from "node:path";
import process from "node:process";
import { parse } from "uvu/parse";
import { currentRuntime } from "./runtimes.ts";

const leastTests = { Node: 3330, Bun: 2410, Deno: 2375 }[currentRuntime];

const onNodeAlone = new Set([
  // Pure functions: no server, database, file, process or clock.
  ...["arguments", "cache", "charts", "config", "ids", "json-fault", "json-text", "layers", "log", "metrics", "month"],
  ...["prompt-text", "struct", "table", "histogram"],
  // Thousands of cases of one rule, in process. Other files hold its parts that a runtime could change.
  ...["day", "openapi", "ranges", "roles"],
]);

type Suite = () => Promise<[errors: string | true, passed: number, skipped: number, total: number]>;
type Globals = { UVU_DEFER: number; UVU_INDEX: number; UVU_QUEUE: (string | null | Suite)[][] };

const globals = globalThis as unknown as Globals;
globals.UVU_DEFER = 1;
const uvu = await import("uvu");

// What tests have started ends with this process.
for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));

const pattern = process.argv[2];
const { suites } = await parse("test", /\.test\.ts$/);
const chosen = suites.filter(({ name }) => {
  const isElsewhere = currentRuntime !== "Node" && onNodeAlone.has(basename(name, ".test.ts"));
  return !isElsewhere && (pattern === undefined || name.includes(pattern));
});
let passed = 0, failed = 0;

for (const [index, { name, file }] of chosen.entries()) {
  globals.UVU_INDEX = index;
  globals.UVU_QUEUE.push([name]);
  await import(`file://${file}`);
  const queue = globals.UVU_QUEUE[index]!;
  globals.UVU_QUEUE[index] = queue.map((entry) => typeof entry === "function" ? counted(entry) : entry);
}

await uvu.exec();

if (pattern === undefined && passed + failed < leastTests) {
  console.error(`Only ${passed + failed} tests ran, of at least ${leastTests}`);
  failed++;
}
console.log(`${currentRuntime}: ${passed} passed, ${failed} failed`);
process.exit(failed === 0 && chosen.length > 0 ? 0 : 1);

function counted(suite: Suite): Suite {
  return async () => {
    const result = await suite();
    passed += result[1];
    failed += result[3] - result[1];
    return result;
  };
}
