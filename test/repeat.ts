// `npm run test:repeat`: runs `npm test`, or the files whose path contains PATTERN, again and again, each time with random cases
// of their own, and prints a table of what failed. Options: --times N (default 20), --beside N busy loops, --syncs a loop that writes and syncs on the same disk.
import { spawn } from "node:child_process";
import process from "node:process";
import { parseArgs } from "node:util";
import { jobsOf, nameOf, repeatCommand } from "./plan.ts";
import { pathOf } from "./runtimes.ts";
import { defaultSlots, endAll, runJobs } from "./schedule.ts";
import type { Job } from "./schedule.ts";

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
const failures = new Map<string, { job: Job; name: string | undefined; times: number; SEED: string }>();
let runs = 0, green = 0;
const seconds: number[] = [];

while (runs < Number(times)) {
  const SEED = String(Math.floor(Math.random() * 1e9));
  process.env.SEED = SEED;
  const began = performance.now();
  const results = await runJobs(jobs, { slots: defaultSlots });
  const failed = results.filter(({ failed }) => failed.length > 0);
  const passed = results.reduce((sum, { passed }) => sum + passed, 0);
  for (const { job, failed: names, crash, output } of failed) {
    for (const name of names) {
      const key = `${nameOf(job)} ${name}`;
      const before = failures.get(key)?.times ?? 0;
      failures.set(key, { job, name: crash === undefined ? name : undefined, times: before + 1, SEED });
    }
    console.error(`FAILED ${nameOf(job)}\n${output.trimEnd()}`);
  }
  runs++;
  if (failed.length === 0) green++;
  seconds.push((performance.now() - began) / 1000);
  console.error(`${runs} of ${times}: ${passed} passed, ${failed.length} files failed, ${seconds.at(-1)!.toFixed()} s`);
}
end(failures.size === 0 ? 0 : 1);

/** Prints the table, and exits. */
function end(code: number): never {
  endAll();
  const rows = [...failures].map((
    [name, { job, name: test, times, SEED }],
  ) => [`${times} of ${runs}`, name, `SEED=${SEED} ${repeatCommand(job, test)}`]);
  if (rows.length > 0) {
    console.log(
      [["failed", "test", "repeat"], ["---", "---", "---"], ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n"),
    );
  }
  const sorted = [...seconds].sort((a, b) => a - b);
  const spread = sorted.length === 0 ? "" : `, ${sorted[0]!.toFixed()} to ${sorted.at(-1)!.toFixed()} s each`;
  console.log(`${green} of ${runs} runs without a failure${spread}`);
  process.exit(code);
}
