// `npm run check` and `npm test`: runs the named steps, or the default ones, two at a time. Prints a line for each when it ends,
// the output of those that fail, and at last `N passed, N failed`, in which types, format and lint count as a test each.
// `all` also runs the tests on Node 24, and those of the package on Node 22. A step that prints nothing for CHECK_PATIENCE seconds is ended: its
// output shows the suite that hangs, and how many of its tests have passed.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import process from "node:process";
import { reportOn } from "../src/runtime/terminal.ts";
import { installNode, nodeVersions } from "./node-versions.ts";
import { pathOf } from "./runtimes.ts";

/** `node` names another version of Node to put first in PATH. */
type Step = { command: string[]; isTests?: true; node?: string };

const testsOnNode: Step = { command: ["npm", "run", "-s", "test:node"], isTests: true };

// The longest come first, so that both lanes end at about the same time.
const steps: Record<string, Step> = {
  types: { command: ["tsc"] },
  format: { command: ["deno", "fmt", "--check", "--quiet"] },
  lint: { command: ["deno", "lint", "--quiet"] },
  node: testsOnNode,
  ...Object.fromEntries(nodeVersions.map((node) => [node, { ...testsOnNode, node }])),
  // Between the oldest and the newest version it is enough that the package works.
  node22: { command: [...testsOnNode.command, "--", "package.test"], isTests: true, node: "node22" },
  bun: { command: ["npm", "run", "-s", "test:bun"], isTests: true },
  deno: { command: ["npm", "run", "-s", "test:deno"], isTests: true },
};

// Tests wait most of the time, so that two runtimes share the processors well.
const lanes = 2;

const patience = Number(process.env.CHECK_PATIENCE ?? 240); // in seconds

/** What the test runner prints of suites in which nothing failed, and the names of files. */
const passedSuites = /^(\S+\.test\.ts| .*\((\d+) \/ \2\))?\n/gm;

/** Leaves out what test files printed in which nothing failed. A crash or a hang shows in the last file. */
function failuresOf(output: string): string {
  const files = `\n${output}`.split(/\n(?=\S+\.test\.ts\n)/);
  const kept = files.filter((text, index) => index === 0 || index === files.length - 1 || /^ +FAIL /m.test(text));
  return kept.join("\n").replaceAll(passedSuites, "");
}

const args = process.argv.slice(2);
const defaults = Object.keys(steps).filter((name) => !nodeVersions.includes(name));
const names = args.length === 0 ? defaults : args[0] === "all" ? Object.keys(steps) : args;
const unknown = names.find((name) => !Object.hasOwn(steps, name));
if (unknown !== undefined) {
  console.error(`Unknown step ${unknown}. Steps: ${Object.keys(steps).join(", ")}; or all`);
  process.exit(2);
}

let passed = 0, failed = 0;
const groups = new Set<number>(); // the process groups of the steps that run
const progress = new Map<string, string>(); // of the steps that run, by name

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
process.on("exit", () => groups.forEach(killGroup));

/** Ends what a step has left running. */
function killGroup(group: number): void {
  groups.delete(group);
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // Nothing is left.
  }
}

const report = process.stderr.isTTY ? reportOn(process.stderr, () => performance.now()) : () => {};

const waiting = names.values();
await Promise.all(Array.from({ length: lanes }, async () => {
  for (const name of waiting) await runStep(name, steps[name]!);
}));
end(failed === 0 ? 0 : 1);

/** Runs a step, prints what came of it, and adds it to the sum. */
async function runStep(name: string, { command, isTests, node }: Step): Promise<void> {
  const start = performance.now();
  const seconds = (digits: number) => ((performance.now() - start) / 1000).toFixed(digits);
  const { code, output } = await run(command, node, (output) => {
    const suites = [...output.matchAll(/\((\d+) \/ (\d+)\)$/gm)];
    const sum = (group: number) => suites.reduce((total, match) => total + Number(match[group]), 0);
    const tests = suites.length === 0 ? "" : `${sum(1)} passed, ${sum(2) - sum(1)} failed, `;
    progress.set(name, `${name}: ${tests}${seconds(0)} s`);
    report([...progress.values()].join("; "));
  });
  progress.delete(name);
  report("");

  const counts = /^\w+: (\d+) passed, (\d+) failed$/m.exec(output);
  // Tests that end without their counts have crashed.
  const isGood = code === 0 && (!isTests || counts !== null);
  const failures = Number(counts?.[2] ?? 0);
  passed += isTests ? Number(counts?.[1] ?? 0) : Number(isGood);
  failed += isGood ? failures : Math.max(failures, 1);
  const remarks = output.match(/^(skipped: .*|\w+: \d+ passed, \d+ failed)$/gm) ?? [];
  console.log([isGood ? "ok    " : "FAILED", `${seconds(1).padStart(5)} s`, name, ...remarks].join("  "));
  if (!isGood) console.log(failuresOf(output));
}

/** Runs a command in a process group of its own, which ends with this process, and shows what it has printed so far. */
async function run(
  [command, ...args]: string[],
  node: string | undefined,
  show: (output: string) => void,
): Promise<{ code: number | null; output: string }> {
  const folders = [pathOf("node_modules/.bin"), process.env.PATH];
  try {
    if (node !== undefined) folders.unshift(await installNode(node));
  } catch (error) {
    return { code: null, output: `${node} cannot be had: ${error instanceof Error ? error.message : error}\n` };
  }
  const env = { ...process.env, PATH: folders.join(":"), NO_COLOR: "1" };
  const child = spawn(command!, args, { cwd: pathOf("."), env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const group = child.pid;
  if (group !== undefined) groups.add(group);
  let output = "";
  let idle = 0; // in seconds
  const timer = setInterval(() => {
    show(output);
    if (++idle !== patience) return;
    output += `\nEnded, as it printed nothing for ${patience} s\n`;
    if (group !== undefined) killGroup(group);
  }, 1000);
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => {
      idle = 0;
      output += text;
    });
  }
  return await new Promise((resolve) => {
    const ended = (code: number | null) => {
      clearInterval(timer);
      resolve({ code, output });
    };
    child.once("error", (error) => {
      output += `${error.message}\n`;
      ended(null);
    });
    // What outlives a crash would hold its outputs open.
    child.once("exit", () => killGroup(group!)).once("close", ended);
  });
}
