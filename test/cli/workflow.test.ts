// The workflow for GitHub Actions in src/deploy/prompts.yml: its steps, run as shell commands in a repository, for a pull request
// and for a merge.
// Runs on Node alone.
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { parse } from "yaml";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createFolder, startCommand, startService } from "../conformance/processes.ts";
import { adminToken } from "../helpers.ts";
import { commandOf, pathOf } from "../runtimes.ts";
import { runIn, words } from "./places.ts";
import type { Data } from "./places.ts";
import { bothLatest, createPromptFolder, git, hasGit, markdown } from "./prompt-folders.ts";

const test = suite("the workflow for GitHub Actions");

type Step = { uses?: string; if?: string; run?: string; with?: Record<string, unknown> };
type Workflow = {
  on: Record<string, unknown>;
  jobs: Record<string, { env: Record<string, string>; steps: Step[] }>;
};

const workflow = parse(await readFile(pathOf("src/deploy/prompts.yml"), "utf8")) as Workflow;
const [{ env, steps }] = Object.values(workflow.jobs) as [Workflow["jobs"][string]];

const folder = await createFolder();
const service = await startService("Node", {
  DATABASE_URL: `file:${folder.path}/ledger.db`,
  ADMIN_TOKEN: adminToken,
});
test.after(async () => {
  await service.stop();
  await folder.remove();
});

/** Runs a command of promptledger on the service, and returns its JSON. */
async function data<T>(args: string[]): Promise<T> {
  const { code, said, json } = await runIn([...args, "--server", service.url, "--json"], { ADMIN_TOKEN: adminToken });
  assert.is(code, 0, said);
  return json as T;
}

const { id: workspaceId } = await data<Data>(words`workspace create --name Team`);
const { token } = await data<Data>(words`token create --name ci --role editor --workspace ${workspaceId!}`);

/** A folder of programs with `promptledger`, as npm would install it. */
const bin = `${folder.path}/bin`;
await mkdir(bin);
await writeFile(`${bin}/promptledger`, `#!/bin/sh\nexec ${commandOf.Node(pathOf("src/cli.ts")).join(" ")} "$@"\n`);
await chmod(`${bin}/promptledger`, 0o755);

/** Runs the steps of an event as GitHub does, but for those that install. Returns what they print. */
async function runOn(event: string, repository: string, variables: Record<string, string>): Promise<string> {
  assert.ok(event in workflow.on);
  const values: Record<string, string> = {
    "vars.PROMPTLEDGER_SERVER": service.url,
    "secrets.PROMPTLEDGER_TOKEN": token!,
    ...variables,
  };
  const given = Object.entries(env).map(([name, text]) =>
    [name, text.replace(/\$\{\{ (.*?) \}\}/g, (_, value) => values[value]!)] as const
  );
  const settings = {
    ...Object.fromEntries(given),
    PATH: `${bin}:${process.env.PATH}`,
    CI: "true",
    GITHUB_REPOSITORY: "acme/prompts",
    GITHUB_SHA: await git(repository, ["rev-parse", "HEAD"]),
    GITHUB_STEP_SUMMARY: `${folder.path}/summary.md`,
  };
  let printed = "";
  for (const { if: condition, run } of steps) {
    if (run === undefined || run.startsWith("npm install")) continue;
    if (condition !== undefined && condition !== `github.event_name == '${event}'`) continue;
    const child = startCommand(["sh", "-e", "-c", `cd "${repository}"\n${run}`], settings);
    const code = await child.ended;
    printed += child.output();
    assert.is(code, 0, `${run}: ${child.output()}`);
  }
  return printed;
}

if (hasGit) {
  const repository = await createPromptFolder(`${folder.path}/repository`, {
    "promptledger.yml": bothLatest,
    "prompts/support/greeting.md": markdown("Hi {{name}}"),
  });
  await git(repository.path, ["init", "-q"]);
  await git(repository.path, ["add", "-A"]);
  await git(repository.path, ["commit", "-q", "-m", "Greet"]);

  test("a pull request gets the plan, as annotations and as a summary, and changes nothing", async () => {
    const printed = await runOn("pull_request", repository.path, {});
    assert.match(printed, "::notice file=prompts/support/greeting.md,line=1::+ support/greeting: new prompt");
    assert.match(await readFile(`${folder.path}/summary.md`, "utf8"), "1 new prompt, 2 promotions");
    assert.equal(await data(words`prompt list`), []);
  });

  test("one from a fork, which has no token, is checked alone", async () => {
    const printed = await runOn("pull_request", repository.path, { "secrets.PROMPTLEDGER_TOKEN": "" });
    assert.match(printed, "1 prompt, no problems");
    assert.not.match(printed, "::notice");
  });

  test("a merge applies it, and the version says which commit it comes from", async () => {
    await runOn("push", repository.path, {});
    const [version] = await data<{ origin: object }[]>(words`prompt versions support/greeting`);
    assert.equal(version!.origin, {
      commit: await git(repository.path, ["rev-parse", "HEAD"]),
      author: "Ada",
      repository: "https://github.com/acme/prompts",
    });
    const deployments = await data<Data[]>(words`deploy list`);
    assert.equal(deployments.map(({ currentVersion }) => currentVersion), [1, 1]);
  });
}

test.run();
