// What `npm test`, `npm run check` and the CI script make of files that pass, fail, crash, hang or are interrupted.
// Runs on Node alone.
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { pathToFileURL } from "node:url";
import * as assert from "uvu/assert";
import { atOnce } from "./at-once.ts";
import { createFolder, findTerminal, startCommand, startInTerminal, until } from "./conformance/processes.ts";
import { pathOf } from "./runtimes.ts";
import { suite } from "./suite.ts";

const checks = suite("check");
const test = atOnce(checks, 2);

const folder = await createFolder();
checks.after(() => folder.remove());

const everywhere = "// Runs on every runtime.\n";
const everywhereInCi = "// Runs on every runtime in CI.\n";

/** A test file with one test for each body. */
const fileOf = (name: string, bodies: string[], head = ""): string =>
  `${head}import { suite } from "${pathToFileURL(pathOf("test/suite.ts")).href}";
  const test = suite("${name}");
  ${bodies.map((body, index) => `test("does ${index + 1}", async () => { ${body} });`).join("\n")}
  test.run();
  `;

/** Settings for a folder with these test files. */
async function withFiles(files: Record<string, string>): Promise<{ TEST_FOLDER: string }> {
  const path = await mkdtemp(`${folder.path}/tests-`);
  await writeFile(`${path}/package.json`, '{ "type": "module" }\n');
  for (const [name, text] of Object.entries(files)) await writeFile(`${path}/${name}.test.ts`, text);
  return { TEST_FOLDER: path };
}

const { scripts } = JSON.parse(await readFile(pathOf("package.json"), "utf8"));
const npmTest = ["sh", "-c", scripts.test];

const runCommand = async (command: string[], settings: Record<string, string>) => {
  const child = startCommand(command, settings);
  const code = await child.ended;
  return { code, out: child.out(), said: child.said(), last: child.out().split("\n").at(-2) };
};

test("npm test runs each file where it says, and exits 0 with the sum when nothing failed", async () => {
  const say = 'console.log("runs on " + ("Bun" in globalThis ? "Bun" : "Deno" in globalThis ? "Deno" : "Node"))';
  const settings = await withFiles({
    here: fileOf("here", [""]),
    all: fileOf("all", ["", say], everywhere),
    later: fileOf("later", [""], everywhereInCi),
  });
  const { code, out, last } = await runCommand(npmTest, settings);
  assert.equal([code, last], [0, "8 passed, 0 failed"], out);
});

test("of what fails, the output is shown, with the command that repeats each test alone", async () => {
  const settings = await withFiles({
    good: fileOf("good", ['console.log("noise")']),
    bad: fileOf("bad", ["", 'throw new Error("the reason")', 'throw new Error("another")'], everywhere),
  });
  const { code, out, last } = await runCommand(npmTest, settings);
  assert.equal([code, last], [1, "4 passed, 6 failed"]);
  assert.not.match(out, "noise");
  for (const runtime of ["node", "bun", "deno"]) {
    assert.match(out, `repeat: npm run -s test:${runtime} -- bad.test.ts "does 2"\n`);
  }
  assert.match(
    out,
    /FAILED Deno bad\.test\.ts\n(?:Deno\n)?bad.test.ts .*\n bad +• ✘ ✘ +\(1 \/ 3\)\n+ +FAIL +bad +"does 2"\n +the reason\n/,
  );
});

test.full("one test of a file can be repeated", async () => {
  const { TEST_FOLDER } = await withFiles({ bad: fileOf("bad", ["", 'throw new Error("the reason")']) });
  const one = (name: string) =>
    runCommand(["sh", "-c", `${scripts["test:node"]} bad.test.ts "${name}"`], { TEST_FOLDER });
  assert.equal([(await one("does 1")).last, (await one("does 2")).last], [
    "Node: 1 passed, 0 failed",
    "Node: 0 passed, 1 failed",
  ]);
});

test("a file or a test that is not there gets the nearest ones, and fails", async () => {
  const { TEST_FOLDER } = await withFiles({
    bad: fileOf("bad", ["", ""]),
    worse: fileOf("worse", [""], "// Runs on Node alone.\n"),
  });
  const run = async (runtime: string, ...args: string[]) => {
    const { code, out } = await runCommand([
      "sh",
      "-c",
      `${scripts[`test:${runtime}`]} ${args.map((arg) => `'${arg}'`).join(" ")}`,
    ], { TEST_FOLDER });
    return [code, out.slice(out.indexOf(" failed\n") + 8)];
  };
  assert.equal(await run("node", "wors", "does 3"), [1, 'No test has the name "does 3". The nearest:\n  does 1\n']);
  assert.equal(await run("node", "bat"), [1, "No file's path contains bat. The nearest:\n  bad\n  worse\n"]);
  assert.equal(await run("bun", "worse"), [1, "Bun runs none of these files:\n  worse.test.ts\n"]);
});

test("a file that is badly formatted is named, with the command that mends it", async () => {
  const { TEST_FOLDER } = await withFiles({ neat: "const neat = 1;\n", untidy: "const  untidy = 1\n" });
  const { code, out } = await runCommand(["sh", "-c", `${scripts.check} format`], { TEST_FOLDER });
  assert.is(code, 1);
  assert.match(out, `${TEST_FOLDER}/untidy.test.ts`);
  assert.not.match(out, "neat.test.ts");
  assert.match(out, "\nmend: npx deno fmt\n");
});

test("a README that outgrows its form is a warning, and no failure", async () => {
  const { TEST_FOLDER } = await withFiles({});
  await writeFile(`${TEST_FOLDER}/README.md`, `## Start\n${"A line\n".repeat(150)}`);
  const { code, out, last } = await runCommand(["sh", "-c", `${scripts.check} prose`], { TEST_FOLDER });
  assert.equal([code, last], [0, "1 passed, 0 failed"]);
  assert.match(out, "warning: README.md has 151 lines, more than 150\n");
  assert.match(out, "\nwarning: the sections of README.md are Start instead of Start, Use it from an app");
});

/** Whether a process has ended. One that nobody has waited for is still listed. */
const hasEnded = (id: string) => async () =>
  !/^State:\s+[^ZX]/m.test(await readFile(`/proc/${id}/status`, "utf8").catch(() => ""));

const crashes: [name: string, body: string, how: string][] = [
  ["is killed", 'process.kill(process.pid, "SIGKILL")', "ended by SIGKILL"],
  ["exits", "process.exit(0)", "exited with 1"],
  ["throws where nobody catches it", 'setTimeout(() => { throw new Error("loose") }); await new Promise(() => {})', ""],
];

for (const [name, body, how] of crashes) {
  const add = name === "exits" ? test : test.full;
  add(`a file that ${name} costs that file, and the others run`, async () => {
    const files = Object.fromEntries(["a", "c", "d"].map((name) => [name, fileOf(name, ["", ""])]));
    const settings = await withFiles({ ...files, b: fileOf("b", ["", body]) });
    const { code, out, last } = await runCommand(npmTest, { ...settings, CHECK_SLOTS: "1" });
    assert.equal([code, last], [1, "6 passed, 1 failed"], out);
    assert.match(out, `FAILED Node b.test.ts: ${how}`);
    assert.match(out, "repeat: npm run -s test:node -- b.test.ts\n");
  });
}

test("a file that hangs is ended with all that it started, and shows the suite that does", async () => {
  const started =
    'const { spawn } = await import("node:child_process"); console.log("child", spawn("sleep", ["1000"]).pid);';
  const settings = await withFiles({
    a: fileOf("hangs", ["", `${started} await new Promise(() => {})`]),
    b: fileOf("b", [""]),
  });
  // With too little patience for this machine, a file is ended before it begins.
  for (const patience of [3, 60]) {
    const { code, out, last } = await runCommand(npmTest, { ...settings, CHECK_PATIENCE: String(patience) });
    const [, id] = /^ hangs +• child (\d+)/m.exec(out) ?? [];
    if (patience === 3 && (id === undefined || last !== "1 passed, 1 failed")) continue;
    assert.equal([code, last], [1, "1 passed, 1 failed"], out);
    assert.match(out, `FAILED Node a.test.ts: printed nothing for ${patience} s\n`);
    return await until(hasEnded(id!));
  }
});

test("tests whose preparation fails count as failures, and say why", async () => {
  const prepared = fileOf("b", ["", ""]).replace(
    "test.run()",
    'test.before(() => { throw new Error("the reason") });\n$&',
  );
  const { code, out, last } = await runCommand(npmTest, await withFiles({ a: fileOf("a", [""]), b: prepared }));
  assert.equal([code, last], [1, "1 passed, 2 failed"], out);
  assert.match(out, "Error: the reason");
  assert.match(out, 'repeat: npm run -s test:node -- b.test.ts "does 2"\n');
});

test("a file without tests, one that cannot be loaded, and a suite that is never run count as failures", async () => {
  const settings = await withFiles({
    a: 'import "node:fs";\n',
    b: 'import "./nowhere.ts";\n',
    c: fileOf("c", [""]),
    d: fileOf("d", [""]).replace("test.run();", ""),
  });
  const { code, out, last } = await runCommand(npmTest, settings);
  assert.equal([code, last], [1, "1 passed, 3 failed"], out);
  assert.match(out, "FAILED Node a.test.ts: it has no tests");
  assert.match(out, 'repeat: npm run -s test:node -- d.test.ts "does 1"\n');
});

test.full("reasons of skipped tests and the slowest files are shown", async () => {
  const settings = await withFiles({ a: fileOf("a", ['console.log("skipped: no such program")', ""]) });
  const { out } = await runCommand(npmTest, settings);
  assert.match(out, /^skipped: no such program\nslowest: Node a\.test\.ts \d/m);
});

test.full("CI runs what differs between runtimes in full on each, and all else in full on Node alone", async () => {
  const body = 'console.log(process.env.TEST_SCOPE); if (isFull || "Bun" in globalThis) throw new Error("seen")';
  const file = (name: string, head?: string) => fileOf(name, [body], head).replace("suite }", "isFull, suite }");
  const more = fileOf("more", ['throw new Error("seen")']).replace("test(", "const add = test.full; add(");
  const settings = await withFiles({ same: file("same"), differs: file("differs", everywhereInCi), more });
  const { out } = await runCommand(["sh", "-c", `${scripts.check} rest`], settings);
  const repeats = [...out.matchAll(/^repeat: (.*) "does 1"$/gm)].map(([, command]) => command).sort();
  assert.equal(repeats, [
    ...["bun", "deno", "node"].map((runtime) => `TEST_SCOPE=full npm run -s test:${runtime} -- differs.test.ts`),
    ...["more", "same"].map((name) => `TEST_SCOPE=full npm run -s test:node -- ${name}.test.ts`),
    "npm run -s test:bun -- same.test.ts",
  ]);
});

test.full("a random order runs every file", async () => {
  const settings = await withFiles(Object.fromEntries(["a", "b", "c", "d"].map((name) => [name, fileOf(name, [""])])));
  const { code, last } = await runCommand(["sh", "-c", `${scripts.test} --shuffle`], settings);
  assert.equal([code, last], [0, "4 passed, 0 failed"]);
});

test("an unknown step is refused", async () => {
  const { code, said } = await runCommand(["sh", "-c", `${scripts.check} nodejs`], await withFiles({}));
  assert.equal([code, said], [
    2,
    "Unknown step nodejs. Steps: types, format, lint, prose, node, bun, deno, node22, node24, rest; ci, all\n",
  ]);
});

for (const [signal, expected] of [["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 129]] as const) {
  const add = signal === "SIGINT" ? test : test.full;
  add(`${signal} ends it at once, with all that it started and a sum`, async () => {
    const started = await mkdtemp(`${folder.path}/started-`);
    const writeId =
      `const { writeFileSync } = await import("node:fs"); writeFileSync("${started}/id", String(process.pid));`;
    const settings = await withFiles({
      a: fileOf("a", [`${writeId} await new Promise(() => setInterval(() => {}, 1000))`]),
    });
    const check = startCommand(npmTest, settings);
    const id = () => readFile(`${started}/id`, "utf8").catch(() => "");
    await until(async () => await id() !== "");
    assert.is(await check.stop(signal), expected);
    assert.is(check.out().split("\n").at(-2), "0 passed, 1 failed");
    await until(hasEnded(await id()));
  });
}

test("a terminal shows how far the tests are, and what runs", async () => {
  const terminal = await findTerminal();
  if (terminal !== "found") {
    console.log(`skipped: progress on a terminal: ${terminal.missing}`);
    return;
  }
  const settings = await withFiles({ a: fileOf("a", ["", ""]), b: fileOf("b", ["await new Promise(() => {})"]) });
  const check = await startInTerminal(scripts.test, settings, /(2 passed, 0 failed, \d+ s: Node b\.test\.ts \d+ s)/);
  check.type("\x03");
  assert.is(await check.ended, 130);
  assert.match(check.out(), /[\r\n]2 passed, 1 failed\s*$/);
});

const ci = ["bash", pathOf(".ci/run")];
const sum = (passed: number, failed: number) =>
  `echo "${passed} passed, ${failed} failed"; exit ${Math.min(failed, 1)}`;
const outcomes: [name: string, commands: Record<string, string>, code: number, lastLine: string][] = [
  ["everything passes", { "test": sum(7, 0), "run -s check -- ci": sum(5, 0) }, 0, "12 passed, 0 failed"],
  ["the README's command fails", { "test": sum(7, 2), "run -s check -- ci": sum(5, 0) }, 1, "12 passed, 2 failed"],
  ["the rest fails", { "test": sum(7, 0), "run -s check -- ci": sum(5, 1) }, 1, "12 passed, 1 failed"],
  ["the rest is killed", { "test": sum(7, 0), "run -s check -- ci": "kill -9 $$" }, 1, "7 passed, 1 failed"],
  ["the tests say nothing", { "test": "true", "run -s check -- ci": sum(5, 0) }, 1, "5 passed, 1 failed"],
  ["nothing can be installed", { "ci": "exit 1" }, 1, "0 passed, 1 failed"],
];

for (const [name, commands, expected, lastLine] of outcomes) {
  const add = name.startsWith("the rest") ? test : test.full;
  add(`the CI script ends with the sum where ${name}`, async () => {
    const path = await mkdtemp(`${folder.path}/npm-`);
    const cases = Object.entries(commands).map(([args, command]) => `"${args}") ${command};;`);
    await writeFile(`${path}/npm`, `#!/bin/sh\ncase "$*" in\n${cases.join("\n")}\nesac\n`, { mode: 0o755 });
    const { code, last } = await runCommand(ci, { PATH: `${path}:${process.env.PATH}` });
    assert.equal([code, last], [expected, lastLine]);
  });
}

checks.run();
