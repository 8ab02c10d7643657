// A repository of prompts and two services through a month: pull requests, merges, a hotfix, a rename, a prune and a rollback.
// In full it has 30 prompts, and one of the services is on a libSQL server.
// Runs on Node alone.
// Runs in CI alone.
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { WorkspaceId } from "../../src/common/ids.ts";
import { createFolder, startService, startSqld } from "../conformance/processes.ts";
import { findSqld } from "../conformance/sqld.ts";
import { visit } from "../console/visitor.ts";
import type { Visitor } from "../console/visitor.ts";
import { adminToken, readAnswer } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";
import { runIn, words } from "./places.ts";
import type { Data, Result } from "./places.ts";
import { createPromptFolder, git as gitIn, hasGit, markdown } from "./prompt-folders.ts";

const test = suite("a repository of prompts");

const day = 24 * 60 * 60; // s
const count = isFull ? 30 : 6; // prompts

if (!hasGit) console.log("skipped: a repository of prompts and two servers: git is not installed");
else {
  test("a month of pull requests, merges and changes elsewhere ends with files and both ledgers in step", async () => {
    const folder = await createFolder();
    const running: { stop(): Promise<unknown> }[] = [];
    try {
      const [staging, production] = await Promise.all([
        startServer(`file:${folder.path}/staging.db`),
        startServer(await startDatabase(`${folder.path}/production`, running)),
      ]);
      running.unshift(staging, production);
      await month(`${folder.path}/repository`, staging, production);
    } finally {
      for (const { stop } of running) await stop();
      await folder.remove();
    }
  });
}

/** The URL of a database for the service of production: on a libSQL server in full, if there is one. */
async function startDatabase(path: string, running: { stop(): Promise<unknown> }[]): Promise<string> {
  const sqld = isFull ? await findSqld() : { missing: "it takes longer" };
  if ("missing" in sqld) return `file:${path}.db`;
  const server = await startSqld(sqld.binary, path);
  running.push({ stop: () => server.stop("SIGKILL") });
  return server.url;
}

type Server = {
  /** Runs a command on the service. */
  run(args: string[], input?: string): Promise<Result>;
  data<T = Data>(args: string[], input?: string): Promise<T>;
  /** A person at its console. */
  visitor: Visitor;
  stop(): Promise<unknown>;
};

/** Starts a service with the workspace Acme. */
async function startServer(DATABASE_URL: string): Promise<Server> {
  const service = await startService(currentRuntime, { DATABASE_URL, ADMIN_TOKEN: adminToken });
  const run: Server["run"] = (args, input) =>
    runIn([...args, "--server", service.url], { ADMIN_TOKEN: adminToken, USER: "ops" }, input);
  const data: Server["data"] = async (args, input) => {
    const { code, said, json } = await run([...args, "--json"], input);
    assert.is(code, 0, said);
    return json as never;
  };
  const { id } = await data<{ id: WorkspaceId }>(words`workspace create --name Acme`);
  const { token } = await data<{ token: string }>(words`token create --name Ann --role publisher --workspace ${id}`);
  const send: World["send"] = async (path, init) =>
    readAnswer(await fetch(`${service.url}${path}`, { ...init, redirect: "manual" }));
  const visitor = await visit({ workspaceId: id, send }, token);
  return { run, data, visitor, stop: () => service.stop() };
}

const nothing = "Nothing to do: files and ledger are the same\n";

async function month(path: string, staging: Server, production: Server): Promise<void> {
  const start = Math.floor(Date.now() / 1000) - 30 * day;
  const names = Array.from({ length: count }, (_, nth) => `support/p${nth}`);
  const repository = await createPromptFolder(path, {
    "promptledger.yml": "workspace: Acme\nfolder: prompts\ndeploy:\n  live: latest\n",
    ...Object.fromEntries(names.map((name) => [`prompts/${name}.md`, markdown(`${name} {{question}}`, name)])),
  });
  const git = (...args: string[]) => gitIn(path, args);
  /** Commits all that changed on a day of the month, or by the clock. */
  async function commit(message: string, at?: number) {
    await git("add", "--all");
    await gitIn(path, ["commit", "-q", "-m", message], at === undefined ? undefined : start + at * day);
  }
  const edit = (name: string, text: string) => repository.put({ [`prompts/${name}.md`]: markdown(text, name) });
  const on = (server: Server, ...args: string[]) => server.run([...args, "--dir", path]);
  async function release(server: Server, ...more: string[]): Promise<Result> {
    const applied = await on(server, "apply", ...more);
    assert.is(applied.code, 0, applied.said);
    assert.is((await on(server, "plan", "--check", ...more)).out, nothing);
    return applied;
  }
  const live = async (server: Server) =>
    Object.fromEntries(
      (await server.data<Data[]>(words`deploy list --workspace Acme`)).map((
        { reference, currentVersion },
      ) => [reference, currentVersion]),
    ) as Record<string, number>;

  // The first merge fills both ledgers, and says which commit it was.
  await git("init", "-q");
  await commit("Add prompts", 0);
  const first = await on(staging, "plan", "--check");
  assert.equal([first.code, first.out.endsWith(`${count} new prompts, ${count} promotions\n`)], [3, true]);
  for (const server of [staging, production]) await release(server);
  const [version] = await staging.data<Data[]>(words`prompt versions support/p0 --workspace Acme`);
  const origin = version!.origin as unknown as Record<string, string>;
  assert.equal([origin.commit, origin.author], [await git("rev-parse", "HEAD"), "Ada"]);

  // A pull request has its plan, and its merge is that. Staging gets each one at once, and production several of them.
  async function pullRequest(changed: string[], at: number): Promise<void> {
    const branch = `day-${at}`;
    await git("checkout", "-q", "-b", branch);
    for (const name of changed) await edit(name, `Day ${at} {{question}}`);
    await commit(`Change ${changed.length} prompts`, at);
    const { out } = await on(staging, "plan");
    assert.equal(out.match(/^~ .*/gm), changed.map((name) => `~ ${name}: version 2`));
    assert.not.match(out, /^!/m);
    await git("checkout", "-q", "main");
    assert.is((await on(staging, "plan")).out, nothing);
    await gitIn(path, ["merge", "-q", "--no-ff", branch, "-m", "Merge"], start + at * day);
    await release(staging);
  }
  await pullRequest(["support/p0"], 2);
  assert.match((await on(production, "plan")).out, /^~ support\/p0: version 2\n[^!]*\n1 new version, 1 promotion\n$/);
  await release(production);
  const others = names.slice(6).sort();
  for (let nth = 0; nth < others.length; nth += 3) {
    await pullRequest(others.slice(nth, nth + 3), 3 + nth / 3);
    if (nth % 2 === 1) await release(production);
  }
  if (others.length > 0) await release(production);

  // A hotfix in production shows as drift there, is pulled, becomes a commit, and reaches staging. The next change follows it.
  const page = async (noun: string, key: string, text: string) => {
    const found = await production.data<Data[]>(words`${noun} list --workspace Acme`);
    return `/${noun === "prompt" ? "prompts" : "deployments"}/${found.find((each) => each[key] === text)!.id!}`;
  };
  const send = async (path: string, form: Record<string, string>) =>
    assert.is((await production.visitor.send(path, { ...form, note: "Hotfix" })).status, 303);
  const message = { "role-0": "user", "content-0": "Hotfix {{question}}", "more-0": "" };
  const hotfix = { title: "support/p1", description: "", ...message, llmConfig: "{}", latest: "1", do: "publish" };
  await send(`${await page("prompt", "name", "support/p1")}/edit`, hotfix);
  await send(`${await page("deploy", "reference", "support/p1@live")}/promote`, { version: "2" });
  const drift = await on(production, "plan", "--check");
  assert.is(drift.code, 3);
  assert.match(
    drift.out,
    /^! support\/p1: version 2 was pushed elsewhere, and no file has it by Ann \(console\) on .*: "Hotfix"$/m,
  );
  assert.is((await on(staging, "plan", "--check")).code, 0);
  await edit("support/p2", "Two {{question}}");
  await commit("Change two", 12);
  const buried = await on(production, "apply");
  assert.match(buried.said, "in no commit: version 2 of support/p1; version 2 that support/p1@live serves.");
  const pulledHotfix = await on(production, "pull");
  assert.is(pulledHotfix.out, `changed ${path}/prompts/support/p1.md (version 2)\n`);
  const left = `Left as they are, since they changed after what the ledger has: ${path}/prompts/support/p2.md\n`;
  assert.is(pulledHotfix.said, left);
  await commit("Pull the hotfix");
  await edit("support/p1", "Better than the hotfix {{question}}");
  await commit("Better than the hotfix");
  for (const server of [staging, production]) await release(server);
  assert.equal([(await live(staging))["support/p1@live"], (await live(production))["support/p1@live"]], [2, 3]);

  // Two merges: the plan of the second one is outdated once the first one is applied.
  const plan = `${path}/../plan.json`;
  await git("checkout", "-q", "-b", "second");
  await edit("support/p3", "Of the second {{question}}");
  await commit("Second");
  await on(production, "plan", "--out", plan);
  await git("checkout", "-q", "main");
  await edit("support/p3", "Of the first {{question}}");
  await commit("First");
  await release(production);
  const outdated = await production.run(["apply", plan]);
  assert.equal([outdated.code, outdated.said], [
    1,
    "promptledger: Changed since it was planned: support/p3 is at version 2, planned at 1; support/p3@live is at revision 2, " +
    "planned at 1. Plan again\n",
  ]);
  const conflict = await git("merge", "-q", "second").then(() => "merged", () => "conflict");
  assert.is(conflict, "conflict");
  const unresolved = await runIn(["check", "--dir", path], {});
  assert.match(unresolved.out, /p3\.md:\d+:1: This looks like a conflict of a merge. Resolve it\n/);
  await edit("support/p3", "Of both {{question}}");
  await commit("Merge both");
  for (const server of [staging, production]) await release(server);

  // A rename by `was` keeps versions and deployments of both.
  await git("mv", "prompts/support/p4.md", "prompts/support/agent.md");
  const text = await repository.read("prompts/support/agent.md");
  await repository.put({ "prompts/support/agent.md": text.replace("---\n", "---\nwas: support/p4\n") });
  await commit("Rename p4");
  for (const server of [staging, production]) {
    assert.match((await release(server)).said, "~ support/agent: renamed from support/p4\n");
  }

  // A prune archives what is in no file any more.
  await git("rm", "-q", "prompts/support/p5.md");
  await commit("Remove p5");
  assert.match((await on(production, "plan")).out, "! support/p5: is in no file");
  for (const server of [staging, production]) {
    assert.is((await release(server, "--prune")).out, "support/p5 is archived\n");
  }

  // A rollback shows as drift, is not undone by the next merge, and becomes a commit.
  await edit("support/p0", "Broken {{question}}");
  await commit("Break p0", 25);
  for (const server of [staging, production]) await release(server);
  await production.data(words`deploy rollback support/p0@live --workspace Acme --note Broken`);
  const back = await on(production, "plan", "--check");
  assert.equal([back.code, back.out.split("\n")[0]], [3, "→ support/p0@live: 2 → 3"]);
  assert.match(back.out, /^! support\/p0@live: version 2 was made live elsewhere by ops \(api\) on .*: "Broken"$/m);
  await edit("support/p2", "Three {{question}}");
  await commit("Change three");
  const refused = await on(production, "apply");
  assert.match(refused.said, "in no commit: version 2 that support/p0@live serves.");
  assert.is((await live(production))["support/p0@live"], 2);
  const pulled = await on(production, "pull", "support/p0", "--live", "live");
  assert.is(pulled.out, `changed ${path}/prompts/support/p0.md (version 2)\n`);
  await commit("Roll p0 back");
  for (const server of [staging, production]) await release(server);

  // In the end both serve what the files say.
  const files = await repository.readAll();
  for (const server of [staging, production]) {
    assert.is((await on(server, "pull")).said, "The files have what the ledger has\n");
    assert.is((await server.run(words`verify --workspace Acme`)).code, 0);
    const found = await server.data<Data[]>(words`prompt list --workspace Acme`);
    assert.equal(
      found.map(({ name }) => `prompts/${name}.md`).sort(),
      Object.keys(files).filter((file) => file.endsWith(".md")),
    );
  }
  assert.is(await git("status", "--porcelain"), "");
}

test.run();
