// Makes the fixture of a build: `node --import tsx test/upgrade/make.ts COMMIT`. It checks the commit out into a folder of its
// own, installs what the build needs, compiles it, and lets it fill a database, print it and answer requests on it.
import { execFile } from "node:child_process";
import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { migrations as todays } from "../../src/database/migrations.ts";
import { createFolder, runFile, startProgram } from "../conformance/processes.ts";
import { pathOf } from "../runtimes.ts";
import { comparedHeaders, folder as fixtures } from "./fixture.ts";
import type { Fixture } from "./fixture.ts";
import { adminToken, fill } from "./history.ts";
import type { Answered, Asked, Build, Filled } from "./history.ts";
import { readingCommands, requests } from "./questions.ts";

const day = 86_400_000;
const dateNow = Date.now;
const run = promisify(execFile);
const git = async (...args: string[]) => (await run("git", ["-C", pathOf("."), ...args])).stdout.trim();

const commit = await git("rev-parse", "--short=7", `${process.argv[2]}^{commit}`);
const committedAt = 1000 * Number(await git("show", "-s", "--format=%ct", commit));
const folder = await createFolder();
const checkout = `${folder.path}/checkout`;
const path = `${folder.path}/ledger.db`, newer = `${folder.path}/newer.db`;

async function makeFixture(): Promise<void> {
  const migrations = (await readdir(`${checkout}/sql`)).filter((name) => /^\d+-.*\.sql$/.test(name)).sort()
    .map((name) => name.replace(".sql", ""));
  const has = (migration: number) => migration <= migrations.length;
  let date = committedAt;
  const now = () => date;
  const build: Build = {
    has,
    setDate: (daysBefore) => date = committedAt - daysBefore * day,
    cli: async (args, input) => JSON.parse(await print(args, now(), input)),
    serve: (work) => serve(path, now(), work),
  };
  const filled = await fill(build);
  // The service writes its log back into the file when it stops. Commands may leave theirs beside it.
  await serve(path, now(), () => Promise.resolve());
  await mkdir(fixtures, { recursive: true });
  await zip(`${commit}.db`, await readFile(path));

  const { version } = JSON.parse(await readFile(`${checkout}/package.json`, "utf8"));
  const fixture: Fixture = {
    commit,
    version,
    date: new Date(committedAt).toISOString().slice(0, 10),
    migrations,
    answeredAt: committedAt + 60_000,
    printed: [],
    answered: [],
    refusal: await migrateCopy(),
    onNewer: null,
  };
  if (fixture.refusal === null) {
    if (migrations.length < todays.length) fixture.onNewer = await tryNewer();
    await recordAnswers(fixture, filled);
  }
  const lines = JSON.stringify(fixture).replace(/(?<=\[|\},)(?=\{"(?:args|asked)":)/g, "\n  ");
  await zip(`${commit}.json`, `${lines}\n`);
}

const zip = async (name: string, content: string | Uint8Array) =>
  await writeFile(`${fixtures}/${name}.gz`, await promisify(gzip)(content, { level: 9 }));

/** Stores what the build says of its database. */
async function recordAnswers({ answered, answeredAt, migrations, printed }: Fixture, filled: Filled): Promise<void> {
  const has = (migration: number) => migration <= migrations.length;
  for (const args of readingCommands(filled, has)) printed.push({ args, text: await print(args, answeredAt) });
  await serve(path, answeredAt, async (send) => {
    for (const asked of requests(filled, has)) answered.push({ asked, answer: await send(asked) });
  });
}

/** The settings of the build. */
const settingsOf = (file: string) => ({ DATABASE_URL: `file:${file}`, ADMIN_TOKEN: adminToken, USER: "maker" });

/** Runs a command of the build in this process, which is much faster than a process for each, and returns its JSON. */
async function print(args: string[], time: number, input?: unknown): Promise<string> {
  const { run } = await import(`${checkout}/dist/cli/run.js`);
  const { terminal } = await import(`${checkout}/dist/runtime/terminal.js`);
  let out = "", said = "";
  Date.now = () => time;
  const code = await run({
    ...terminal,
    args: [...args, "--json"],
    env: settingsOf(path),
    isColoured: false,
    write: (text: string) => Promise.resolve((out += text) !== ""),
    say: (text: string) => said += text,
    report: () => {},
    read: () => Promise.resolve(JSON.stringify(input)),
  });
  Date.now = dateNow;
  if (code !== 0) throw new Error(`${args.join(" ")}: ${said}`);
  return out;
}

/** Sets the clock of a process of the build. */
const shiftClock = (ms: number) => `const now = Date.now; Date.now = () => now() + ${ms}`;

async function serve(
  file: string,
  time: number,
  work: (send: (asked: Asked) => Promise<Answered>) => Promise<void>,
): Promise<void> {
  const clock = `--import=data:text/javascript,${encodeURIComponent(shiftClock(time - Date.now()))}`;
  const settings = { PORT: "0", ...settingsOf(file), NODE_OPTIONS: clock };
  const command = ["node", "dist/cli.js", "serve"];
  const service = await startProgram(command, settings, /Listening.*?(http:\/\/[\d.]+:\d+)/, checkout);
  try {
    await work(async ({ method, path, headers, body }) => {
      const response = await fetch(`${service.seen}${path}`, { method, headers, ...body === "" ? {} : { body } });
      const kept = comparedHeaders.flatMap((name) => {
        const value = response.headers.get(name);
        return value === null ? [] : [[name, value]];
      });
      return { status: response.status, headers: Object.fromEntries(kept), text: await response.text() };
    });
  } finally {
    await service.stop();
  }
}

/** Migrates a copy with this checkout, and returns why it refuses. */
async function migrateCopy(): Promise<string | null> {
  await copyFile(path, newer);
  const { code, said } = await runFile("Node", "src/cli.ts", ["migrate"], { DATABASE_URL: `file:${newer}` });
  return code === 0 ? null : withoutPath(said);
}

/** Lets the build serve that copy, and returns why it refuses. Empty if it serves. */
async function tryNewer(): Promise<string> {
  try {
    await serve(newer, Date.now(), () => Promise.resolve());
    return "";
  } catch (error) {
    return withoutPath(/promptledger: .*/.exec((error as Error).message)?.[0] ?? String(error));
  }
}

/** A message that is the same wherever the database was. */
const withoutPath = (text: string) => text.trim().replaceAll(newer, "promptledger.db");

await git("worktree", "add", "--detach", checkout, commit);
try {
  await run("npm", ["install", "--no-save", "--omit=dev", "--ignore-scripts", "--prefer-offline"], { cwd: checkout });
  // Types of packages that only developers need are missing, which does not change what is compiled.
  await run(pathOf("node_modules/.bin/tsc"), ["-p", "src/tsconfig.build.json", "--noEmitOnError", "false"], {
    cwd: checkout,
  }).catch(() => {});
  await makeFixture();
} finally {
  await git("worktree", "remove", "--force", checkout);
  await folder.remove();
}
// Commands of the build may leave a thread that reads.
process.exit();
