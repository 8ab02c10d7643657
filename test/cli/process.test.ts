// The command line as a separate process, on the runtime that runs the tests.
// Runs on every runtime in CI.
import { spawn } from "node:child_process";
import process from "node:process";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createFolder, findTerminal, runFile, startFile, startInTerminal } from "../conformance/processes.ts";
import { send } from "../conformance/http-client.ts";
import { promptFile } from "../helpers.ts";
import { commandOf, currentRuntime, pathOf } from "../runtimes.ts";

const test = suite(`command line on ${currentRuntime}`);

const folder = await createFolder();
test.after(() => folder.remove());

const DATABASE_URL = `file:${folder.path}/ledger.db`;
const cli = (args: string[], input?: string) => runFile(currentRuntime, "src/cli.ts", args, { DATABASE_URL }, input);

test("prints JSON alone to stdout, and messages to stderr", async () => {
  const { code, out, said } = await cli(["workspace", "create", "--name", "Acme", "--json"]);
  assert.is(code, 0);
  assert.ok(said.startsWith(`Created the database ${DATABASE_URL}\nIt accepts 1,000,000 requests`), said);
  const { id } = JSON.parse(out);
  const key = await cli(["key", "create", "--workspace", id, "--json"]);
  assert.match(JSON.parse(key.out).key, /^pl_/);
  assert.is(key.said, "Store the key now: it is not shown again\n");
  const pushed = await cli(
    ["prompt", "push", "-", "--workspace", id, "--name", "first", "--json"],
    JSON.stringify(promptFile),
  );
  assert.is(JSON.parse(pushed.out).version, 1);
});

test("exits 1 on failure and 2 on bad usage, and prints no data", async () => {
  const refused = await cli(["key", "list", "--workspace", "ws_0"]);
  assert.equal(refused, { code: 1, out: "", said: "promptledger: Workspace ws_0 not found\n" });
  const misused = await cli(["key", "show"]);
  assert.equal([misused.code, misused.out], [2, ""]);
});

/** Runs a command whose stderr, or all of whose output, nobody reads. Returns its exit code. */
function runUnread(args: string[], input: string, isOutputRead = false, url = DATABASE_URL): Promise<number | null> {
  const [command, ...own] = commandOf[currentRuntime]("src/cli.ts");
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, DATABASE_URL: url };
  const child = spawn(command, [...own, ...args], { cwd: pathOf("."), env });
  if (isOutputRead) child.stdout.resume();
  else child.stdout.destroy();
  child.stderr.destroy();
  child.stdin.on("error", () => {}).end(input);
  return new Promise((resolve) => child.once("exit", resolve));
}

test("a closed reader changes neither what a command does nor its exit code", async () => {
  const { out } = await cli(["workspace", "create", "--name", "Unread", "--json"]);
  const scope = ["--workspace", JSON.parse(out).id];
  const push = ["prompt", "push", "-", ...scope, "--name", "unread", "--deploy", "live"];
  assert.is(await runUnread(push, JSON.stringify(promptFile)), 0);
  assert.is(await runUnread(push, JSON.stringify({ ...promptFile, title: "Two" }), true), 0);
  assert.is(JSON.parse((await cli(["deploy", "list", ...scope, "--json"])).out).length, 1);
  assert.is(await runUnread(["key", "list", "--workspace", "ws_0"], ""), 1);
  const outdated = `file:${folder.path}/none.db`;
  assert.is(await runUnread(["migrate", "--check"], "", false, outdated), 1);
  const [deployment] = JSON.parse((await cli(["deploy", "list", ...scope, "--json"])).out);
  assert.is(await runUnread(["record", "export", "--deploy", deployment.id, "--format", "csv"], ""), 0);
});

const terminal = await findTerminal();
if (terminal !== "found") console.log(`skipped: prompt push on a terminal: ${terminal.missing}`);
else {
  test("prompt push - on a terminal says what it waits for", async () => {
    const { out } = await cli(["workspace", "create", "--name", "Typed", "--json"]);
    const command = [
      ...commandOf[currentRuntime]("src/cli.ts"),
      "prompt",
      "push",
      "-",
      "--workspace",
      JSON.parse(out).id,
      "--name",
      "typed",
    ];
    const child = await startInTerminal(command.join(" "), { DATABASE_URL }, /(Reading a prompt from the terminal)/);
    assert.match(child.output(), "Reading a prompt from the terminal: type or paste its JSON, then Ctrl-D\r\n");
    child.type(`${JSON.stringify(promptFile)}\n\x04`);
    assert.is(await child.ended, 0);
    assert.match(child.output(), "Pushed version 1 of the new prompt typed");
  });
}

test("serve starts the service on this runtime", async () => {
  const settings = { DATABASE_URL, PORT: "0" };
  const service = await startFile(currentRuntime, "src/cli.ts", settings, /url=(\S+)/, ["serve"]);
  assert.is((await send(service.seen, "/v1/prompts")).status, 401);
  assert.is(await service.stop(), 0);
});

test.run();
