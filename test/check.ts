// `npm run check` and `npm test`: runs the steps that are named, or all, whatever the others say. Prints a line for each, all
// of what fails, and in the end `N passed, N failed`, in which types, format and lint count as a test each.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import process from "node:process";
import { reportOn } from "../src/runtime/terminal.ts";
import { pathOf } from "./runtimes.ts";

const steps: Record<string, string[]> = {
  types: ["tsc"],
  format: ["deno", "fmt", "--check", "--quiet"],
  lint: ["deno", "lint", "--quiet"],
  node: ["npm", "run", "-s", "test:node"],
  bun: ["npm", "run", "-s", "test:bun"],
  deno: ["npm", "run", "-s", "test:deno"],
};

/** What the test runner prints of files and suites in which nothing failed. */
const passedSuites = /^(\S+\.test\.ts| .*\((\d+) \/ \2\))?\n/gm;

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(steps);
const unknown = names.find((name) => !Object.hasOwn(steps, name));
if (unknown !== undefined) {
  console.error(`Unknown step ${unknown}. Steps: ${Object.keys(steps).join(", ")}`);
  process.exit(2);
}

let passed = 0, failed = 0;
let running: number | undefined; // the process group of the step

function end(code: number): never {
  report("");
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(code);
}

for (const signal of ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"] as const) {
  process.once(signal, () => {
    failed++;
    end(128 + constants.signals[signal]);
  });
}
process.on("exit", killGroup);

/** Ends whatever the step has left. */
function killGroup(): void {
  try {
    if (running !== undefined) process.kill(-running, "SIGKILL");
  } catch {
    // Nothing is left.
  }
}

const report = process.stderr.isTTY ? reportOn(process.stderr, () => performance.now()) : () => {};

for (const name of names) {
  const start = performance.now();
  const seconds = (digits: number) => ((performance.now() - start) / 1000).toFixed(digits);
  const { code, output } = await run(steps[name]!, (output) => {
    const suites = [...output.matchAll(/\((\d+) \/ (\d+)\)$/gm)];
    const sum = (group: number) => suites.reduce((total, match) => total + Number(match[group]), 0);
    const tests = suites.length === 0 ? "" : `${sum(1)} passed, ${sum(2) - sum(1)} failed, `;
    report(`${name}: ${tests}${seconds(0)} s`);
  });
  report("");

  const counts = /^\w+: (\d+) passed, (\d+) failed$/m.exec(output);
  const isTests = steps[name]!.includes("npm");
  // Tests that end without their counts have crashed.
  const isGood = code === 0 && (!isTests || counts !== null);
  const failures = Number(counts?.[2] ?? 0);
  passed += isTests ? Number(counts?.[1] ?? 0) : Number(isGood);
  failed += isGood ? failures : Math.max(failures, 1);
  const remarks = output.match(/^(skipped: .*|\w+: \d+ passed, \d+ failed)$/gm) ?? [];
  console.log([isGood ? "ok    " : "FAILED", `${seconds(1).padStart(5)} s`, name, ...remarks].join("  "));
  if (!isGood) console.log(output.replaceAll(passedSuites, ""));
}
end(failed === 0 ? 0 : 1);

/** Runs a command in a process group of its own, which ends with this process, and shows what it has printed so far. */
function run(
  [command, ...args]: string[],
  show: (output: string) => void,
): Promise<{ code: number | null; output: string }> {
  const PATH = `${pathOf("node_modules/.bin")}:${process.env.PATH}`;
  const env = { ...process.env, PATH, NO_COLOR: "1" };
  const child = spawn(command!, args, { cwd: pathOf("."), env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  running = child.pid;
  let output = "";
  const timer = setInterval(() => show(output), 1000);
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => output += text);
  }
  return new Promise((resolve) => {
    const ended = (code: number | null) => {
      clearInterval(timer);
      running = undefined;
      resolve({ code, output });
    };
    child.once("error", (error) => {
      output += `${error.message}\n`;
      ended(null);
    });
    // What outlives a crash would hold its outputs open.
    child.once("exit", killGroup).once("close", ended);
  });
}
