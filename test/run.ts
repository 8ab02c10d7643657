// Runs test files on the runtime it is started with. `test/run.ts [PATTERN [NAME]]` runs the files whose path contains the
// pattern, or of them the tests with that name. `test/run.ts --worker` runs the files that schedule.ts names, a line each.
import process from "node:process";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import { run } from "uvu/run";
import { otherNames, outcomes, work } from "./outcomes.ts";
import { listFiles } from "./plan.ts";
import { currentRuntime, pathOf } from "./runtimes.ts";
import { resultMark } from "./schedule.ts";
import type { FileResult } from "./schedule.ts";
import "./threads.ts";

// Most of what tests call, they call too seldom for optimized code to pay: with less of that, they take a tenth less of the
// processors. Later versions of Node do not have the flag.
if (currentRuntime === "Node" && process.version.startsWith("v20.")) setFlagsFromString("--interrupt-budget=1000000");

// What tests have started ends with this process.
for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));

const maxSeconds = 120; // that a file takes, on an idle machine

/** Waits for midnight UTC if a file could run across it: days and quotas of services turn then, also of those on the real clock. */
async function passMidnight(): Promise<void> {
  const left = 86_400 - Date.now() / 1000 % 86_400;
  if (left > maxSeconds) return;
  console.log(`Waiting ${Math.ceil(left)} s for midnight UTC`);
  await new Promise((resolve) => setTimeout(resolve, left * 1000));
}

/** Hands a file to the loader, and returns how its tests ended. */
async function* load(file: string): AsyncGenerator<string, FileResult> {
  await passMidnight();
  const began = performance.now();
  yield file;
  const ended = outcomes.splice(0);
  const namesOf = (state: string) => ended.filter((outcome) => outcome.state === state).map(({ name }) => name);
  return {
    passed: namesOf("passed").length,
    failed: namesOf("failed"),
    skipped: namesOf("skipped").length,
    seconds: Math.round(performance.now() - began) / 1000,
  };
}

/** Loads the files that stdin names, and prints the result of each. */
async function* loadNamed(): AsyncGenerator<string> {
  for await (const file of createInterface({ input: process.stdin })) {
    const result = yield* load(file);
    await new Promise((resolve) => process.stdout.write(`\n${resultMark}${JSON.stringify(result)}\n`, resolve));
  }
}

/** Has uvu run the files. */
async function runFiles(files: AsyncIterator<string>): Promise<void> {
  work.files = files;
  // uvu puts file:/// before the path.
  await run([{ name: currentRuntime, file: pathToFileURL(pathOf("test/loader.ts")).pathname.slice(1) }]);
}

if (process.argv[2] === "--worker") await runFiles(loadNamed());
else await runChosen(process.argv[2] ?? "", process.argv[3]);
process.exit();

async function runChosen(pattern: string, name: string | undefined): Promise<void> {
  if (name !== undefined) process.env.TEST_NAME = name;
  const all = await listFiles();
  const named = all.filter(({ file }) => file.includes(pattern));
  const files = named.filter(({ runsInFull }) => runsInFull.includes(currentRuntime));
  const results: FileResult[] = [];
  await runFiles((async function* () {
    for (const { file } of files) results.push(yield* load(file));
  })());
  const passed = results.reduce((sum, result) => sum + result.passed, 0);
  const failed = results.flatMap((result) => result.failed).length;
  console.log(`${currentRuntime}: ${passed} passed, ${failed} failed`);
  const list = (text: string, items: string[]) => console.log([text, ...items].join("\n  "));
  if (named.length === 0) {
    list(`No file's path contains ${pattern}. The nearest:`, await findNearest(pattern, all.map(({ file }) => file)));
  } else if (files.length === 0) {
    list(`${currentRuntime} runs none of these files:`, named.map(({ file }) => file));
  } else if (results.every((result) => result.passed + result.failed.length + result.skipped === 0)) {
    if (name === undefined) console.log("These files have no tests here");
    else if (otherNames.includes(name)) console.log("This test runs in full alone: set TEST_SCOPE=full");
    else list(`No test has the name ${JSON.stringify(name)}. The nearest:`, await findNearest(name, otherNames));
  }
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
}

/** The five names that contain a word, or else are nearest to it. Of a path its end counts too. */
async function findNearest(word: string, names: string[]): Promise<string[]> {
  const { distanceOf } = await import("../src/cli/frame/parameters.ts");
  const distances = names.map((path): [string, number] => {
    const name = path.replace(/\.test\.ts$/, "");
    const ends = [name, name.slice(name.lastIndexOf("/") + 1)];
    return [name, name.includes(word) ? 0 : Math.min(...ends.map((end) => distanceOf(word, end)))];
  });
  return distances.sort(([, a], [, b]) => a - b).slice(0, 5).map(([name]) => name);
}
