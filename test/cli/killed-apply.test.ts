// `apply` that is interrupted or killed at any moment, or whose service is, has done all or nothing, and the next one does the
// rest.
// Runs on Node alone.
// Runs in CI alone.
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createFolder, startFile, startService } from "../conformance/processes.ts";
import { adminToken } from "../helpers.ts";
import { runIn, words } from "./places.ts";
import type { Data, Result } from "./places.ts";
import { bothLatest, createPromptFolder, markdown } from "./prompt-folders.ts";

const test = suite("apply that is killed");

const count = isFull ? 100 : 20; // prompts, each with two deployments
const times = Number(process.env.NUM_RUNS ?? (isFull ? 8 : 1));

type World = {
  DATABASE_URL: string;
  /** The arguments that apply the folder. */
  apply: string[];
  /** Resolves at a moment of the time that applying the folder takes. */
  moment(): Promise<void>;
};

/** Ends something while a folder is applied, and returns how that ended, if it is known. */
type End = (world: World) => Promise<Result | undefined>;

const endCommand = (signal: "SIGKILL" | "SIGINT"): End => async ({ DATABASE_URL, apply, moment }) => {
  const child = await startFile("Node", "src/cli.ts", { DATABASE_URL }, planned, apply);
  await moment();
  await child.stop(signal);
  return undefined;
};

const planned = new RegExp(`(${count} new versions)`);

const endService: End = async ({ DATABASE_URL, apply, moment }) => {
  const service = await startService("Node", { DATABASE_URL, ADMIN_TOKEN: adminToken });
  let applying: Promise<Result> | undefined;
  await new Promise<void>((resolve) => {
    const say = (text: string) => planned.test(text) && resolve();
    applying = runIn([...apply, "--server", service.url], { ADMIN_TOKEN: adminToken }, "", { say });
  });
  await moment();
  await service.stop("SIGKILL");
  return await applying;
};

const ends: Record<string, End> = {
  "a command line that is killed": endCommand("SIGKILL"),
  "a command line that is interrupted": endCommand("SIGINT"),
  "a service that is killed": endService,
};

for (const [name, end] of Object.entries(ends)) {
  test(`${name} at any moment of apply leaves all or nothing, and the next one does the rest`, async () => {
    const folder = await createFolder();
    try {
      await applyAndEnd(folder.path, end);
    } finally {
      await folder.remove();
    }
  });
}

async function applyAndEnd(path: string, end: End): Promise<void> {
  const DATABASE_URL = `file:${path}/ledger.db`;
  const run = (args: string[]) => runIn(args, { DATABASE_URL, USER: "ann" });
  await run(words`workspace create --name Acme`);
  const files = Array.from({ length: count }, (_, nth) => `p${nth}.md`);
  const repository = await createPromptFolder(`${path}/files`, { "promptledger.yml": bothLatest });
  const write = (text: string) =>
    repository.put(Object.fromEntries(files.map((file) => [file, markdown(`${text} of ${file}`)])));
  const apply = ["apply", "--dir", repository.path];
  async function ledger(): Promise<string[]> {
    const [prompts, deployments] = [await run(words`prompt list --json`), await run(words`deploy list --json`)];
    return [
      ...(prompts.json as Data[]).map(({ name, latestVersion }) => `${name} ${latestVersion}`),
      ...(deployments.json as Data[]).map(({ reference, currentVersion }) => `${reference} ${currentVersion}`),
    ].sort();
  }

  await write("The first version");
  const start = performance.now();
  assert.is((await run(apply)).code, 0);
  const span = 2 * (performance.now() - start); // a process that has just started is slower
  for (let nth = 0; nth < times; nth++) {
    const before = await ledger();
    await write(`Version ${nth}`);
    const moment = () => new Promise<void>((resolve) => setTimeout(resolve, (nth + Math.random()) / times * span));
    const ended = await end({ DATABASE_URL, apply, moment });
    const after = await ledger();
    const changed = after.filter((line, nth) => line !== before[nth]).length;
    assert.ok(changed === 0 || changed === 3 * count, `${changed} of ${3 * count} prompts and deployments changed`);
    if (ended?.code === 0) assert.is(changed, 3 * count);
    const rest = await run(apply);
    assert.is(rest.code, 0, rest.said);
    assert.is((await run(["plan", "--check", "--dir", repository.path])).code, 0);
  }
  const { code, said } = await run(["verify"]);
  assert.is(code, 0, said);
}

test.run();
