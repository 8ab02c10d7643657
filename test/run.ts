// Runs test files on the runtime it is started with. `test/run.ts [PATTERN [NAME]]` runs the files whose path contains the
// pattern, or of them the tests with that name. `test/run.ts --worker` runs the files that schedule.ts names, a line each.
import { readFileSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import { otherNames } from "./chosen.ts";
import { currentRuntime } from "./runtimes.ts";
import { listFiles, testFolder } from "./plan.ts";
import { resultMark } from "./schedule.ts";
import type { FileResult } from "./schedule.ts";

type Suite = () => Promise<[errors: string | true, passed: number, skipped: number, total: number]>;
type Globals = { UVU_DEFER: number; UVU_INDEX: number; UVU_QUEUE: (string | null | Suite)[][] };

const globals = globalThis as unknown as Globals;
// Most of what tests call, they call too seldom for optimized code to pay: with less of that, they take a tenth less of the
// processors. Later versions of Node do not have the flag.
if (currentRuntime === "Node" && process.version.startsWith("v20.")) setFlagsFromString("--interrupt-budget=1000000");

globals.UVU_DEFER = 1;
await import("uvu");
await import("./threads.ts");

// What tests have started ends with this process.
for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));

const day = 86_400_000;
const longest = 120_000; // that a file takes, on an idle machine

/** Waits for midnight UTC if a file could run across it: days and quotas of services turn then, also of those on the real clock. */
async function passMidnight(): Promise<void> {
  const left = day - Date.now() % day;
  if (left > longest) return;
  console.log(`Waiting ${Math.ceil(left / 1000)} s for midnight UTC`);
  await new Promise((resolve) => setTimeout(resolve, left));
}

/** Imports a file, which queues its suites, and runs those. */
async function runFile(file: string): Promise<FileResult> {
  await passMidnight();
  const began = performance.now(), before = processorSeconds();
  const index = globals.UVU_QUEUE.push([]) - 1;
  globals.UVU_INDEX = index;
  const result: FileResult = { file, passed: 0, failed: [], skipped: 0, seconds: 0, processorSeconds: 0 };
  await import(pathToFileURL(`${testFolder}/${file}`).href);
  for (const suite of globals.UVU_QUEUE[index] as Suite[]) {
    const [errors, passed, skipped] = await suite();
    result.passed += passed;
    result.skipped += skipped;
    if (errors === true) continue;
    process.stdout.write(`\n${errors}\n`);
    result.failed.push(...Array.from(errors.matchAll(failures), ([, name]) => name!));
  }
  globals.UVU_QUEUE[index] = [];
  result.seconds = Math.round(performance.now() - began) / 1000;
  result.processorSeconds = processorSeconds() - before;
  return result;
}

/** The processor time of this process and of those that it has started and that have ended. Only Linux says. */
function processorSeconds(): number {
  if (process.platform !== "linux") return 0;
  const stat = readFileSync("/proc/self/stat", "utf8");
  // Behind the name, which is in parentheses: utime, stime, cutime and cstime.
  const ticks = stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 15).map(Number);
  return ticks.reduce((sum, each) => sum + each) / ticksPerSecond;
}

const ticksPerSecond = 100; // what Linux tells programs on every common machine

// How uvu heads what it prints of a test that failed.
// deno-lint-ignore no-control-regex -- colours
const failures = /^(?:\x1b\[\d+m| )*FAIL(?:\x1b\[\d+m| )+.*?"(?:\x1b\[\d+m)*(.*?)(?:\x1b\[\d+m)*"(?:\x1b\[\d+m)*$/gm;

if (process.argv[2] === "--worker") {
  for await (const file of createInterface({ input: process.stdin })) {
    const result = await runFile(file);
    await new Promise<void>((resolve) =>
      process.stdout.write(`\n${resultMark}${JSON.stringify(result)}\n`, () => resolve())
    );
  }
} else {
  await runChosen(process.argv[2] ?? "", process.argv[3]);
}
process.exit();

async function runChosen(pattern: string, name: string | undefined): Promise<void> {
  if (name !== undefined) process.env.TEST_NAME = name;
  const all = listFiles();
  const named = all.filter(({ file }) => file.includes(pattern));
  const files = named.filter(({ runsInFull }) => runsInFull.includes(currentRuntime));
  let passed = 0, failed = 0, skipped = 0;
  for (const { file } of files) {
    console.log(file);
    const result = await runFile(file);
    passed += result.passed;
    failed += result.failed.length;
    skipped += result.skipped;
  }
  console.log(`\n${currentRuntime}: ${passed} passed, ${failed} failed`);
  const say = (text: string, others: string[] = []) => console.log([text, ...others].join("\n  "));
  if (named.length === 0) {
    const paths = all.map(({ file }) => file.replace(/\.test\.ts$/, ""));
    say(`No file's path contains ${pattern}. The nearest:`, await findNearest(pattern, paths));
  } else if (files.length === 0) {
    say(`${currentRuntime} runs none of these files:`, named.map(({ file }) => file));
  } else if (passed + failed + skipped === 0) {
    if (name === undefined) say("These files have no tests here");
    else if (otherNames.includes(name)) say("This test runs in full alone: set TEST_SCOPE=full");
    else say(`No test has the name ${JSON.stringify(name)}. The nearest:`, await findNearest(name, otherNames));
  }
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
}

/** The five names that contain a word, or else are nearest to it. Of a path its end counts too. */
async function findNearest(word: string, names: string[]): Promise<string[]> {
  const { distanceOf } = await import("../src/cli/frame/parameters.ts");
  const distances = names.map((name): [string, number] => [
    name,
    name.includes(word) ? 0 : Math.min(distanceOf(word, name), distanceOf(word, name.slice(name.lastIndexOf("/") + 1))),
  ]);
  return distances.sort(([, a], [, b]) => a - b).slice(0, 5).map(([name]) => name);
}
