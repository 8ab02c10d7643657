// `npm run check`: types, format, lint, and the tests on all runtimes. Prints one line each, and all of what fails.
import { spawn } from "node:child_process";
import process from "node:process";
import { pathOf } from "./runtimes.ts";

const steps: [name: string, command: string, ...args: string[]][] = [
  ["types", "tsc"],
  ["format", "deno", "fmt", "--check", "--quiet"],
  ["lint", "deno", "lint", "--quiet"],
  ["tests on Node", "npm", "run", "-s", "test:node"],
  ["tests on Bun", "npm", "run", "-s", "test:bun"],
  ["tests on Deno", "npm", "run", "-s", "test:deno"],
];

/** What the test runner prints of files and suites in which nothing failed. */
const passedSuites = /^(\S+\.test\.ts| .*\((\d+) \/ \2\))?\n/gm;

let failed = 0;
for (const [name, command, ...args] of steps) {
  const start = performance.now();
  const { code, output } = await run(command, args);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const remarks = output.match(/^(skipped: .*|\w+: \d+ passed, \d+ failed)$/gm) ?? [];
  console.log([code === 0 ? "ok    " : "FAILED", `${seconds.padStart(5)} s`, name, ...remarks].join("  "));
  if (code === 0) continue;
  failed++;
  console.log(output.replaceAll(passedSuites, ""));
}
process.exitCode = failed === 0 ? 0 : 1;

function run(command: string, args: string[]): Promise<{ code: number | null; output: string }> {
  const PATH = `${pathOf("node_modules/.bin")}:${process.env.PATH}`;
  const child = spawn(command, args, { cwd: pathOf("."), env: { ...process.env, PATH, NO_COLOR: "1" } });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => output += text);
  }
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, output })));
}
