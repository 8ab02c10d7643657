// `prove` kills a service and finds nothing lost, and it finds the fault of a build that answers before it commits.
// Runs on every runtime in CI.
// Runs in CI alone.
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { build } from "esbuild";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createFolder, startCommand, until } from "../conformance/processes.ts";
import { bundleReader, commandOf, currentRuntime, pathOf } from "../runtimes.ts";

const test = suite(`prove on ${currentRuntime}`);

const folder = await createFolder();
test.after(() => folder.remove());

const [runtime, ...program] = commandOf[currentRuntime]("src/cli.ts");
if (currentRuntime === "Deno") program.splice(1, 0, "--allow-run");

const prove = (args: string[], settings = {}, command = [runtime, ...program]) =>
  startCommand([...command, "prove", ...args], settings);

test("nothing that was answered is lost, and nothing of the trial stays", async () => {
  // The settings of the user are not those of the trial.
  const settings = { DATABASE_URL: "libsql://elsewhere.example", PORT: "1", ADMIN_TOKEN: "short" };
  const trial = prove(["--json", "--kills", "3", "--folder", folder.path], settings);
  assert.is(await trial.ended, 0, trial.said());
  const { answers, quota, durationMs: _, unanswered: __, ...rest } = JSON.parse(trial.out());
  assert.equal(rest, { kills: 3, lost: 0, twice: 0, faults: [], kept: true });
  assert.is(quota.used, quota.limit);
  assert.ok(answers > quota.limit);
  assert.equal(await readdir(folder.path), []);
});

test("Ctrl-C ends it, and nothing of the trial stays", async () => {
  const trial = prove(["--folder", folder.path]);
  const hasLog = async () => (await readdir(folder.path, { recursive: true })).some((name) => name.endsWith("-wal"));
  await until(hasLog);
  assert.is(await trial.stop("SIGINT"), 130);
  assert.equal(await readdir(folder.path), []);
});

test("when it is killed, its service ends, and the next one removes its folder", async () => {
  const own = `${folder.path}/killed`;
  await mkdir(own);
  const trial = prove(["--folder", own]);
  await until(async () => (await readdir(own, { recursive: true })).some((name) => name.endsWith("-wal")));
  await until(() => hasService(own));
  await trial.stop("SIGKILL");
  assert.is((await readdir(own)).length, 1);
  await until(async () => !await hasService(own));
  // A folder that is younger than that may be of one that starts.
  await new Promise((resolve) => setTimeout(resolve, 2_100));
  const next = prove(["--kills", "1", "--folder", own]);
  assert.is(await next.ended, 0, next.said());
  assert.equal(await readdir(own), []);
  await rm(own, { recursive: true });
});

/** Whether a process serves a database in a folder. */
async function hasService(path: string): Promise<boolean> {
  const all = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const environments = all.map((pid) => readFile(`/proc/${pid}/environ`, "utf8").catch(() => ""));
  return (await Promise.all(environments)).some((text) => text.includes(`DATABASE_URL=file:${path}/`));
}

test("a folder that does not exist is named", async () => {
  const trial = prove(["--folder", `${folder.path}/none`]);
  assert.is(await trial.ended, 1);
  assert.match(trial.said(), /none.* cannot be written/);
});

if (currentRuntime === "Node") {
  test("a build that answers before it commits is found", async () => {
    const faulty = await bundleWithFault();
    const trial = prove(["--json", "--kills", "5", "--folder", folder.path], {}, ["node", faulty]);
    assert.is(await trial.ended, 1, trial.said());
    const { lost, kept } = JSON.parse(trial.out());
    assert.is(kept, false);
    assert.ok(lost > 0);
  });
}

/** The program with a driver that commits every 200 ms, so that a kill at any time loses what was answered since. */
async function bundleWithFault(): Promise<string> {
  const begin = `run({ sql: "begin immediate" });`, commit = `run({ sql: "commit" });\n        return results;`;
  const outfile = bundleReader().replace(/[^/]+$/, "faulty.mjs");
  await build({
    ...{ entryPoints: [pathOf("src/cli.ts")], outfile, bundle: true, format: "esm", platform: "node" },
    external: ["libsql"],
    banner: { js: `import { createRequire } from "node:module"; const require = createRequire(import.meta.url);` },
    plugins: [{
      name: "fault",
      setup({ onLoad }) {
        onLoad({ filter: /database\/file\/file\.ts$/ }, async ({ path }) => {
          const source = await readFile(path, "utf8");
          assert.ok(source.includes(begin) && source.includes(commit));
          const beginOnce = `if (!database!.inTransaction) {
        ${begin}
        if (purpose === "serve") setTimeout(() => database?.inTransaction && run({ sql: "commit" }), 200);
      }`;
          const commitLate = `if (purpose !== "serve") run({ sql: "commit" });
        return results;`;
          const contents = source.replace(begin, beginOnce).replace(commit, commitLate);
          return { contents, loader: "ts" };
        });
      },
    }],
  });
  return outfile;
}

test.run();
