// The demo: its link, the commands that it prints, and that nothing of it stays.
// Runs on every runtime in CI.
// Runs in CI alone.
import { execFile } from "node:child_process";
import { mkdir, readdir, utimes } from "node:fs/promises";
import { promisify } from "node:util";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { send } from "../conformance/http-client.ts";
import { createFolder, inherited, startFile } from "../conformance/processes.ts";
import { currentRuntime, pathOf } from "../runtimes.ts";

const test = suite(`demo on ${currentRuntime}`);

const folder = await createFolder();
test.after(() => folder.remove());

test("Ctrl-C while the demo makes its history removes its folder", async () => {
  const own = `${folder.path}/interrupted`;
  await mkdir(own);
  const settings = { PORT: "0", TMPDIR: own };
  const program = "test/runtime/endless-demo.ts";
  const demo = await startFile(currentRuntime, program, settings, /(Making a history of three weeks …)/);
  assert.is((await readdir(own)).length, 1);
  assert.is(await demo.stop("SIGINT"), 130);
  assert.equal(await readdir(own), []);
});

test("a demo removes the folders of demos that were killed, and none of a demo that runs", async () => {
  const own = `${folder.path}/killed`;
  await mkdir(own);
  const settings = { PORT: "0", TMPDIR: own };
  const start = async () => {
    const before = await readdir(own);
    const demo = await startFile(currentRuntime, "test/runtime/endless-demo.ts", settings, /(Making a history)/);
    const name = (await readdir(own)).find((each) => !before.includes(each))!;
    return { ...demo, name };
  };
  const killed = await start();
  await killed.stop("SIGKILL");
  // A folder that is new may be that of a demo that has not claimed it yet.
  await utimes(`${own}/${killed.name}`, 0, 0);
  await mkdir(`${own}/promptledger-demo-of-somebody`);
  const first = await start(), second = await start();
  assert.equal((await readdir(own)).sort(), [first.name, second.name, "promptledger-demo-of-somebody"].sort());
  await Promise.all([first.stop("SIGINT"), second.stop("SIGINT")]);
});

// It starts with npm.
if (currentRuntime === "Node") {
  test("the link that the demo prints signs in until it stops, its commands get 200 and 201, and nothing of it stays", async () => {
    const npm = { npm_lifecycle_event: "demo", npm_package_name: "promptledger" };
    const own = `${folder.path}/demo`;
    await mkdir(own);
    const settings = { PORT: "0", TMPDIR: own, ...npm };
    const demo = await startFile("Node", "src/cli.ts", settings, /(Ctrl-C stops)/, ["demo"]);
    const [link] = /http.*sign-in.*/.exec(demo.out())!;
    const visits = [await fetch(link, { redirect: "manual" }), await fetch(link, { redirect: "manual" })];
    assert.equal(visits.map(({ status, headers }) => [status, headers.has("Set-Cookie")]), [[303, true], [303, true]]);

    const [read, submit] = [
      ...demo.out().matchAll(/^curl -i '(http[^']+)' -H '([^']+)'(?:[^']*'([^']+)' \\\n {2}-d '([^']+)')?/gm),
    ];
    const [base, target] = read![1]!.split(/(?=\/v1)/);
    assert.is((await send(base!, target!, { headers: [read![2]!] })).status, 200);
    const [, url, authorization, type, body] = submit!;
    const request = { method: "POST", headers: [authorization!, type!], body: body! };
    assert.is((await send(base!, url!.slice(base!.length), request)).status, 201);

    // The pasted commands must not leave a variable in the shell, where `npm start` would find it.
    assert.not.match(demo.out(), "export ");
    const commands = demo.out().match(/^.*npm run -s cli -- .*$/gm)!;
    const outputs = await Promise.all(commands.map(async (command) => {
      return (await promisify(execFile)("sh", ["-c", command], { cwd: pathOf("."), env: inherited })).stdout;
    }));
    const [records, usage, verified] = outputs;
    assert.match(records!, "demo-1");
    // The history began three weeks ago, so a month that has just begun may have these two requests alone.
    assert.match(usage!, /used +[1-9]\d*$/m);
    assert.match(verified!, /balance/);
    assert.is(await demo.stop("SIGINT"), 0);
    assert.equal(await readdir(own), []);
  });
}

test.run();
