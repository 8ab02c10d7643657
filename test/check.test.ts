// What `npm test`, `npm run check` and the CI script make of steps that pass, fail, crash or are interrupted. A shell script
// stands in for npm, and so for the tests.
import { execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { promisify } from "node:util";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { createFolder, findTerminal, startCommand, startInTerminal } from "./conformance/processes.ts";
import { currentRuntime, pathOf } from "./runtimes.ts";

const test = suite("check");

// The program runs on Node, whatever it starts.
if (currentRuntime === "Node") {
  const folder = await createFolder();
  test.after(() => folder.remove());

  /** The PATH on which npm does what is given for its arguments. */
  const withNpm = async (commands: Record<string, string>): Promise<{ PATH: string }> => {
    const path = await mkdtemp(`${folder.path}/npm-`);
    const cases = Object.entries(commands).map(([args, command]) => `"${args}") ${command};;`);
    await writeFile(`${path}/npm`, `#!/bin/sh\ncase "$*" in\n${cases.join("\n")}\nesac\n`, { mode: 0o755 });
    return { PATH: `${path}:${process.env.PATH}` };
  };

  const { scripts } = JSON.parse(await readFile(pathOf("package.json"), "utf8"));
  const npmTest = ["sh", "-c", scripts.test];

  const runCommand = async (command: string[], settings: Record<string, string>) => {
    const child = startCommand(command, settings);
    const code = await child.ended;
    return { code, out: child.out(), said: child.said() };
  };

  const passing = (runtime: string, count: number) => `echo "${runtime}: ${count} passed, 0 failed"`;

  test("npm test runs all runtimes, prints what failed, and sums up in the last line", async () => {
    const settings = await withNpm({
      "run -s test:node": 'echo "the reason"; echo "Node: 3 passed, 2 failed"; exit 1',
      "run -s test:bun": "kill -9 $$",
      "run -s test:deno": passing("Deno", 5),
    });
    const { code, out } = await runCommand(npmTest, settings);
    assert.is(code, 1);
    const lines = out.split("\n").map((line) => line.replace(/ +[\d.]+ s +/, " "));
    // Each runtime is reported when it ends.
    assert.equal(lines.filter((line) => /^(ok|FAILED) /.test(line)).sort(), [
      "FAILED bun",
      "FAILED node  Node: 3 passed, 2 failed",
      "ok deno  Deno: 5 passed, 0 failed",
    ]);
    assert.ok(lines.includes("the reason"));
    assert.equal(lines.slice(-2), ["8 passed, 3 failed", ""]);
  });

  test("of a runtime that fails, only what its failing test files printed is shown", async () => {
    const passed = "a.test.ts\n a  • noise\n•   (2 / 2)\n";
    const failed = 'b.test.ts\n b  • ✘   (1 / 2)\n\n   FAIL  b  "second"\n    the reason\n\n';
    const settings = await withNpm({
      "run -s test:node": `printf '${
        (passed + failed).replaceAll("\n", "\\n")
      }'; echo "Node: 5 passed, 1 failed"; exit 1`,
      "run -s test:bun": passing("Bun", 1),
      "run -s test:deno": passing("Deno", 1),
    });
    const { out } = await runCommand(npmTest, settings);
    assert.match(out, /\n b +• ✘ +\(1 \/ 2\)\n +FAIL +b +"second"\n +the reason\n/);
    assert.not.match(out, "noise");
  });

  test("npm test exits 0 when nothing failed", async () => {
    const settings = await withNpm({
      "run -s test:node": passing("Node", 1),
      "run -s test:bun": passing("Bun", 2),
      "run -s test:deno": passing("Deno", 3),
    });
    const { code, out } = await runCommand(npmTest, settings);
    assert.equal([code, out.split("\n").slice(-2)], [0, ["6 passed, 0 failed", ""]]);
  });

  test("a runtime that fails after its last test, or says nothing, counts as a failure", async () => {
    const settings = await withNpm({
      "run -s test:node": `${passing("Node", 1)}; exit 1`,
      "run -s test:bun": "true",
      "run -s test:deno": passing("Deno", 3),
    });
    const { code, out } = await runCommand(npmTest, settings);
    assert.equal([code, out.split("\n").at(-2)], [1, "4 passed, 2 failed"]);
  });

  test("an unknown step is refused", async () => {
    const { code, said } = await runCommand([...npmTest.slice(0, 2), `${scripts.check} nodejs`], {});
    assert.equal([code, said], [
      2,
      "Unknown step nodejs. Steps: types, format, lint, node, node22, node24, bun, deno; or all\n",
    ]);
  });

  test("two runtimes run at the same time", async () => {
    const [first, second] = await Promise.all(["first", "second"].map(createPipe));
    // Each waits until the other one runs.
    const settings = await withNpm({
      "run -s test:node": `echo > "${first}"; cat "${second}" > /dev/null; ${passing("Node", 1)}`,
      "run -s test:bun": `cat "${first}" > /dev/null; echo > "${second}"; ${passing("Bun", 2)}`,
      "run -s test:deno": passing("Deno", 3),
    });
    const { code, out } = await runCommand(npmTest, settings);
    assert.equal([code, out.split("\n").at(-2)], [0, "6 passed, 0 failed"]);
  });

  /** Makes a named pipe. */
  const createPipe = async (name: string): Promise<string> => {
    const pipe = `${await mkdtemp(`${folder.path}/pipe-`)}/${name}`;
    await promisify(execFile)("mkfifo", [pipe]);
    return pipe;
  };

  /** Tests that start what never ends: `started` resolves once it runs, `ended` when none of its processes is left. */
  const startEndless = async (then: string) => {
    const pipe = await createPipe("started");
    const reader = spawn("cat", [pipe], { stdio: ["ignore", "pipe", "ignore"] });
    const started = new Promise<void>((resolve) => reader.stdout.once("data", () => resolve()));
    const ended = new Promise<void>((resolve) => reader.once("close", () => resolve()));
    const command = `exec > "${pipe}"; echo started; sleep 1000 & ${then}`;
    const settings = await withNpm({
      "run -s test:node": passing("Node", 2),
      "run -s test:bun": command,
      "run -s test:deno": then,
    });
    return { settings, started, ended };
  };

  for (const [signal, expected] of [["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 129]] as const) {
    test(`${signal} ends it at once, with all that it started and a sum`, async () => {
      const { settings, started, ended } = await startEndless("sleep 1000");
      const check = startCommand(npmTest, settings);
      await Promise.all([started, check.seen(/(Node: 2 passed)/)]);
      assert.is(await check.stop(signal), expected);
      assert.is(check.out().split("\n").at(-2), "2 passed, 1 failed");
      await ended;
    });
  }

  test("a runtime that crashes leaves nothing running, and the next one runs", async () => {
    const { settings, ended } = await startEndless("kill -9 $$");
    const { code, out } = await runCommand(npmTest, settings);
    assert.equal([code, out.split("\n").at(-2)], [1, "2 passed, 2 failed"]);
    await ended;
  });

  test("a runtime that hangs is ended, shows the suite that does, and the next one runs", async () => {
    const { settings, ended } = await startEndless('printf "c.test.ts\\n hangs  • • "; sleep 1000');
    const { code, out } = await runCommand(npmTest, { ...settings, CHECK_PATIENCE: "2" });
    assert.equal([code, out.split("\n").at(-2)], [1, "2 passed, 2 failed"]);
    assert.match(out, "\n hangs  • • \nEnded, as it printed nothing for 2 s\n");
    await ended;
  });

  test("a terminal shows how far the tests are", async () => {
    const terminal = await findTerminal();
    if (terminal !== "found") {
      console.log(`skipped: progress on a terminal: ${terminal.missing}`);
      return;
    }
    const suites = 'printf "a.test.ts\\n a  • • •   (3 / 3)\\n b  • ✘   (1 / 2)\\n"; sleep 1000';
    const settings = await withNpm({ "run -s test:node": suites, "run -s test:bun": "sleep 1000" });
    const check = await startInTerminal(scripts.test, settings, /(node: 4 passed, 1 failed, \d+ s)/);
    check.type("\x03");
    assert.is(await check.ended, 130);
    assert.match(check.out(), /[\r\n]0 passed, 1 failed\s*$/);
  });

  const ci = ["bash", pathOf(".ci/run")];
  const outcomes: [name: string, commands: Record<string, string>, code: number, lastLine: string][] = [
    ["the checks pass", { "run -s check -- all": 'echo "7 passed, 0 failed"' }, 0, "7 passed, 0 failed"],
    ["a check fails", { "run -s check -- all": 'echo "5 passed, 2 failed"; exit 1' }, 1, "5 passed, 2 failed"],
    ["the checks are killed", { "run -s check -- all": "kill -9 $$" }, 1, "0 passed, 1 failed"],
    ["the checks say nothing", { "run -s check -- all": "true" }, 1, "0 passed, 1 failed"],
    ["nothing can be installed", { "ci": "exit 1" }, 1, "0 passed, 1 failed"],
  ];
  for (const [name, commands, expected, lastLine] of outcomes) {
    test(`the CI script ends with the sum where ${name}`, async () => {
      const { code, out } = await runCommand(ci, await withNpm(commands));
      assert.equal([code, out.split("\n").at(-2)], [expected, lastLine]);
    });
  }
}

test.run();
