// `npm test` and `npm run check`: runs the named steps, or the default ones, and prints `N passed, N failed` in its last line.
// Types, format, lint and prose count as a test each. `--record` stores how long each file took in durations.json, and
// `--shuffle` runs the files in a random order.
import { writeFileSync } from "node:fs";
import { constants } from "node:os";
import process from "node:process";
import { parseArgs } from "node:util";
import { reportOn } from "../src/runtime/terminal.ts";
import {
  cures,
  defaultSteps,
  durations,
  durationsPath,
  fullName,
  jobsOf,
  listFiles,
  nameOf,
  repeatCommand,
  steps,
  stepSets,
} from "./plan.ts";
import { defaultSlots, endAll, runJobs } from "./schedule.ts";
import type { Job, JobResult } from "./schedule.ts";

const slots = Number(process.env.CHECK_SLOTS ?? defaultSlots);

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { record: { type: "boolean", default: false }, shuffle: { type: "boolean", default: false } },
});
const unknown = positionals.find((name) => !steps.includes(name) && !(name in stepSets));
if (unknown !== undefined) {
  console.error(`Unknown step ${unknown}. Steps: ${steps.join(", ")}; ${Object.keys(stepSets).join(", ")}`);
  process.exit(2);
}
const chosen = positionals.length === 0 ? defaultSteps : positionals.flatMap((name) => stepSets[name] ?? name);

let passed = 0, failed = 0;
const results: JobResult[] = [];
const running = new Map<Job, number>(); // since when
const began = performance.now();
const secondsSince = (start: number) => Math.round((performance.now() - start) / 1000);

const report = process.stderr.isTTY ? reportOn(process.stderr, () => performance.now()) : () => {};

const timer = setInterval(() => {
  const now = [...running].map(([job, since]) => `${nameOf(job)} ${secondsSince(since)} s`);
  report(`${passed} passed, ${failed} failed, ${secondsSince(began)} s: ${now.join(", ")}`);
}, 200);

function end(code: number): never {
  clearInterval(timer);
  report("");
  endAll();
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(code);
}

for (const signal of ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"] as const) {
  process.once(signal, () => {
    failed++;
    end(128 + constants.signals[signal]);
  });
}

const jobs = (await Promise.all([...new Set(chosen)].map(jobsOf))).flat();
// The longest first, so that none of them is alone at the end.
jobs.sort(options.shuffle ? () => Math.random() - 0.5 : (a, b) => b.seconds - a.seconds);
await runJobs(jobs, {
  slots,
  onStart: (job) => void running.set(job, performance.now()),
  onEnd(result) {
    running.delete(result.job);
    results.push(result);
    passed += result.passed;
    failed += result.failed.length;
    if (result.failed.length > 0) show(result);
  },
});
summarize();
if (options.record) await record();
end(failed === 0 ? 0 : 1);

/** Prints what a file or a command that failed has printed, and how to repeat what failed. */
function show({ job, output, failed, crash }: JobResult): void {
  report("");
  console.log(`FAILED ${nameOf(job)}${crash === undefined ? "" : `: ${crash}`}\n${output.trimEnd()}`);
  for (const name of job.file === undefined ? [] : failed) {
    console.log(`repeat: ${repeatCommand(job, crash === undefined ? name : undefined)}`);
  }
  if (cures[job.on] !== undefined) console.log(`mend: ${cures[job.on]}`);
  console.log();
}

/** Prints each warning, each reason why tests were skipped, and the slowest files. */
function summarize(): void {
  report("");
  const notes = new Map<string, number>();
  for (const { job, output } of results) {
    const pattern = job.file === undefined ? /^warning: .*$/gm : /\bskipped: .*$/gm;
    for (const [note] of output.matchAll(pattern)) notes.set(note, (notes.get(note) ?? 0) + 1);
  }
  for (const [note, count] of notes) console.log(count === 1 ? note : `${note} (${count} times)`);
  const slowest = [...results].sort((a, b) => b.seconds - a.seconds).slice(0, 5);
  console.log(`slowest: ${slowest.map(({ job, seconds }) => `${nameOf(job)} ${seconds.toFixed(1)} s`).join(", ")}`);
  const sum = results.reduce((sum, { seconds }) => sum + seconds, 0).toFixed();
  console.log(`${results.length} files and commands took ${sum} s, ${slots} at a time ${secondsSince(began)} s`);
}

/** Stores how long each file took. Those that did not run keep what they took before. */
async function record(): Promise<void> {
  for (const { job: { on, runtime, file, env }, seconds } of results) {
    // Other versions of Node are taken to be as fast.
    if (file === undefined || on !== runtime) continue;
    (durations[env === undefined ? on : fullName(on)] ??= {})[file] = Math.round(seconds * 10) / 10;
  }
  const known = new Set((await listFiles()).map(({ file }) => file));
  const sorted = Object.entries(durations).map(([on, times]) => [
    on,
    Object.fromEntries(Object.entries(times).filter(([file]) => known.has(file)).sort(([a], [b]) => a < b ? -1 : 1)),
  ]);
  writeFileSync(durationsPath, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
}
