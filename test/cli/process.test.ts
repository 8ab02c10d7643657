// The command line as a process of its own, on the runtime that runs the tests.
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { createFolder, runFile, startFile } from "../conformance/processes.ts";
import { send } from "../conformance/http-client.ts";
import { promptFile } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";

const test = suite(`command line on ${currentRuntime}`);

const folder = await createFolder();
test.after(() => folder.remove());

const DATABASE_URL = `file:${folder.path}/ledger.db`;
const cli = (args: string[], input?: string) => runFile(currentRuntime, "src/cli.ts", args, { DATABASE_URL }, input);

test("prints JSON alone on standard output, and talks on standard error", async () => {
  const { code, out, said } = await cli(["workspace", "create", "--name", "Acme", "--json"]);
  assert.equal([code, said], [0, `Made a database: ${DATABASE_URL}\n`]);
  const { id } = JSON.parse(out);
  const key = await cli(["key", "create", "--workspace", id, "--json"]);
  assert.match(JSON.parse(key.out).key, /^pl_/);
  assert.is(key.said, "Keep the key: it is not shown again\n");
  const pushed = await cli(["prompt", "push", "-", "--workspace", id, "--json"], JSON.stringify(promptFile));
  assert.is(JSON.parse(pushed.out).version, 1);
});

test("exits 1 when refused and 2 when used wrongly, and prints no data", async () => {
  const refused = await cli(["key", "list", "--workspace", "ws_0"]);
  assert.equal(refused, { code: 1, out: "", said: "promptledger: Workspace ws_0 not found\n" });
  const misused = await cli(["key", "list"]);
  assert.equal([misused.code, misused.out], [2, ""]);
});

test("serve starts the service on this runtime", async () => {
  const settings = { DATABASE_URL, PORT: "0" };
  const service = await startFile(currentRuntime, "src/cli.ts", settings, /url=(\S+)/, ["serve"]);
  assert.is((await send(service.seen, "/v1/prompts")).status, 401);
  assert.is(await service.stop(), 0);
});

test.run();
