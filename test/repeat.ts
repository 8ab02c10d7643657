// `npm run test:repeat`: runs `npm test`, or the files whose path contains PATTERN, again and again, each time with random cases
// of their own, and prints a table of what failed. Options: --times N (default 20), --beside N busy loops, --syncs a loop that writes and syncs on the same disk.
import { spawn } from "node:child_process";
import process from "node:process";
import { parseArgs } from "node:util";
import { jobsOf, nameOf, repeatCommand } from "./plan.ts";
import { pathOf } from "./runtimes.ts";
import { defaultSlots, endAll, runJobs } from "./schedule.ts";

const { values: { times, beside, syncs }, positionals: [pattern = ""] } = parseArgs({
  allowPositionals: true,
  options: {
    times: { type: "string", default: "20" },
    beside: { type: "string", default: "0" },
    syncs: { type: "boolean", default: false },
  },
});

// The loops end with the process that began them.
const busyLoop = "const parent = process.ppid; while (process.ppid === parent);";
const syncLoop = `
  const { openSync, writeSync, fsyncSync, unlinkSync } = require("node:fs");
  const parent = process.ppid, path = process.argv[1] + "/syncs-" + process.pid;
  const file = openSync(path, "w");
  unlinkSync(path);
  while (process.ppid === parent) { writeSync(file, Buffer.alloc(65536), 0, 65536, 0); fsyncSync(file); }`;

const loops = [
  // Each has a session of its own: Linux may share the processors between sessions, and loops in one would get one share.
  ...Array.from(
    { length: Number(beside) },
    () => spawn("node", ["-e", busyLoop], { stdio: "inherit", detached: true }),
  ),
  ...(syncs ? [spawn("node", ["-e", syncLoop, pathOf(".cache")], { stdio: "inherit" })] : []),
];
process.on("exit", () => loops.forEach((loop) => loop.kill("SIGKILL")));
for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const) process.once(signal, () => end(130));

const all = (await Promise.all(["node", "bun", "deno"].map(jobsOf))).flat();
const jobs = all.filter(({ file }) => file!.includes(pattern)).sort((a, b) => b.seconds - a.seconds);
const failures = new Map<string, { times: number; repeat: string }>(); // by test
const seconds: number[] = []; // of each run
let green = 0;

while (seconds.length < Number(times)) {
  process.env.SEED = String(Math.floor(Math.random() * 1e9));
  const began = performance.now();
  const results = await runJobs(jobs, { slots: defaultSlots });
  const failed = results.filter(({ failed }) => failed.length > 0);
  for (const { job, failed: names, crash, output } of failed) {
    for (const name of names) {
      const test = `${nameOf(job)} ${name}`;
      const repeat = `SEED=${process.env.SEED} ${repeatCommand(job, crash === undefined ? name : undefined)}`;
      failures.set(test, { times: (failures.get(test)?.times ?? 0) + 1, repeat });
    }
    console.error(`FAILED ${nameOf(job)}\n${output.trimEnd()}`);
  }
  if (failed.length === 0) green++;
  seconds.push((performance.now() - began) / 1000);
  const passed = results.reduce((sum, { passed }) => sum + passed, 0);
  const sums = `${passed} passed, ${failed.length} files failed, ${seconds.at(-1)!.toFixed()} s`;
  console.error(`${seconds.length} of ${times}: ${sums}`);
}
end(failures.size === 0 ? 0 : 1);

/** Prints the table, and exits. */
function end(code: number): never {
  endAll();
  const rows = Array.from(failures, ([test, { times, repeat }]) => [`${times} of ${seconds.length}`, test, repeat]);
  if (rows.length > 0) {
    const table = [["failed", "test", "repeat"], ["---", "---", "---"], ...rows];
    console.log(table.map((row) => `| ${row.join(" | ")} |`).join("\n"));
  }
  const spread = seconds.length === 0
    ? ""
    : `, ${Math.min(...seconds).toFixed()} to ${Math.max(...seconds).toFixed()} s each`;
  console.log(`${green} of ${seconds.length} runs without a failure${spread}`);
  process.exit(code);
}
