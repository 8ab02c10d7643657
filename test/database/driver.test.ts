// The command line where the native module of libsql is not installed, as after `npm install --omit=optional` or on a platform that
// has none.
// Runs on every runtime in CI.
import { cp, mkdir, readdir, symlink } from "node:fs/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createFolder, startProgram, startSqld } from "../conformance/processes.ts";
import { findSqld } from "../conformance/sqld.ts";
import { currentRuntime, pathOf } from "../runtimes.ts";

const test = suite(`without the native module on ${currentRuntime}`);

const { path: folder, remove } = await createFolder();
test.after(remove);

const modules = `${folder}/node_modules`;
await mkdir(`${modules}/@libsql`, { recursive: true });
for (const file of ["src", "package.json", "tsconfig.json", "deno.json", "bunfig.toml"]) {
  await cp(pathOf(file), `${folder}/${file}`, { recursive: true });
}
const linkAll = async (from: string, isLinked: (name: string) => boolean) => {
  for (const name of (await readdir(pathOf(`node_modules/${from}`))).filter(isLinked)) {
    await symlink(pathOf(`node_modules/${from}${name}`), `${modules}/${from}${name}`);
  }
};
await linkAll("", (name) => !["libsql", "@libsql"].includes(name));
await linkAll("@libsql/", (name) => !/^(linux|darwin|win32)-/.test(name));
// A link would find the native module beside its target.
await cp(pathOf("node_modules/libsql"), `${modules}/libsql`, { recursive: true });

const commands = {
  Node: ["node", "--import", "tsx"],
  Bun: [pathOf("node_modules/.bin/bun")],
  Deno: [pathOf("node_modules/.bin/deno"), "run", "--quiet", "--allow-all"],
};

/** Runs the command line to its end. */
async function run(args: string[], settings: Record<string, string> = {}) {
  const command = [...commands[currentRuntime], `${folder}/src/cli.ts`, ...args];
  const child = await startProgram(command, settings, /(?:)/, folder);
  const code = await child.ended;
  return { code, out: child.out(), said: child.said() };
}

const file = { DATABASE_URL: `file:${folder}/ledger.db`, BACKUP_TO: folder };
const missing =
  /^promptledger: [^\n]*A database in a file needs the native module of libsql, which cannot be loaded on [^\n]+\n$/;

test("what opens no file needs no native module", async () => {
  const [version, help] = await Promise.all([run(["--version"]), run(["--help"])]);
  assert.equal([version.code, version.said], [0, ""]);
  assert.match(version.out, /^\d+\.\d+\.\d+/);
  assert.equal([help.code, help.said], [0, ""]);
  const remote = await run(["workspace", "list", "--server", "http://127.0.0.1:1"], {
    PROMPTLEDGER_TOKEN: "x".repeat(32),
  });
  assert.is(remote.code, 1);
  assert.match(remote.said, /^promptledger: [^\n]*127\.0\.0\.1[^\n]*\n$/);
});

test("what opens one ends with one sentence", async () => {
  const all = [["workspace", "create", "--name", "Acme"], ["migrate"], ["serve"], ["demo"], ["prove"], [
    "backup",
    "now",
  ]];
  for (const args of all) {
    const { code, out, said } = await run(args, file);
    assert.equal([code, out], [1, ""], `${args.join(" ")}: ${said}`);
    assert.match(said.replace(/^Making a history.*\n/, ""), missing, args.join(" "));
  }
});

const sqld = await findSqld();
if ("binary" in sqld) {
  test("a libSQL server needs none", async () => {
    const server = await startSqld(sqld.binary, `${folder}/sqld`);
    const settings = { DATABASE_URL: server.url!, PORT: "0" };
    assert.is((await run(["migrate"], settings)).code, 0);
    const command = [...commands[currentRuntime], `${folder}/src/cli.ts`, "serve"];
    const service = await startProgram(command, settings, /Listening url="?(http:[^\s"]+)/, folder);
    assert.is((await fetch(`${service.seen}/readyz`)).status, 200);
    assert.is(await service.stop(), 0);
    await server.stop("SIGKILL");
  });
} else console.log(`skipped: ${sqld.missing}`);

test.run();
