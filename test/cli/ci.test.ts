// The command line in CI: whatever others wrote into prompts, notes, records and files, its outputs have no command for the system
// that reads them, nor does the log of a service there. JSON keeps its values.
// Runs on every runtime in CI.
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { commandsIn } from "../ci-commands.ts";
import { createFolder } from "../conformance/processes.ts";
import { goodBody } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";
import { openPlaces, words } from "./places.ts";
import type { Data } from "./places.ts";

const test = suite(`texts in CI on ${currentRuntime}`);

const { here, folder, request } = await openPlaces(test);

const attacks = [
  "##[add-mask]x",
  "##[set-env name=PATH;]/tmp",
  "##vso[task.setvariable variable=PATH]/tmp",
  "##teamcity[buildStatus status='SUCCESS']",
  "::set-env name=PATH::/tmp",
  "::add-mask::e",
  "::stop-commands::t",
  "--- group",
  "+++ group",
  "~~~ group",
  "^^^ +++",
];
const controls = "\x1b[2J\x1b]1338;url='x'\x07section_start:1:a\r\x1b[0Ktravis_fold:start:a\r\x1b[0K\u009b2J\u202e";
/** A text in which each attack is at the start of a line, after blanks, and within one. */
const lines = (attacks.flatMap((attack) => [attack, `  ${attack}`, `a ${attack}`])).join("\n");
const hostile = `${lines}\n${controls}`, line = `${attacks.join(" ")} \u202e`;
/** A name: at most 200 characters, without control characters. */
const title = `::add-mask::e ${attacks.slice(0, 4).join(" ")}`.slice(0, 200);

const systems: Record<string, string>[] = [
  { GITHUB_ACTIONS: "true", CI: "true" },
  { TF_BUILD: "True", BUILD_SOURCEVERSION: "abc" },
  { TEAMCITY_VERSION: "2026.1" },
  { GITLAB_CI: "true", CI: "true", CI_COMMIT_SHA: "abc" },
  { BUILDKITE: "true" },
  { TRAVIS: "true" },
];

/** A workspace in which everything that takes a text has a hostile one. */
async function stage() {
  const { id } = await here.data<{ id: string }>(
    words`workspace create --name ${title} --limit 100`,
  );
  const scope = ["--workspace", id];
  const { key } = await here.data<{ key: string }>([...words`key create --name ${title}`, ...scope]);
  const prompt = (text: string) =>
    JSON.stringify({
      title,
      description: line,
      messages: [{ role: "user", content: text }],
      llmConfig: { [line]: line },
    });
  const push = (text: string, ...more: string[]) =>
    here.data(
      [...words`prompt push - --name chat --new --note ${line} --actor ${title}`, ...more, ...scope],
      prompt(text),
    );
  await push(hostile, "--deploy", "production");
  await push(`${hostile}\nchanged`);
  await here.data([...words`deploy promote chat@production --version 2 --note ${line} --actor ${title}`, ...scope]);
  const [{ id: deployId }] = await here.data<[{ id: string }]>(["deploy", "list", ...scope]);
  const body = {
    ...goodBody,
    sessionId: line,
    content: { input: hostile, output: hostile },
    additional_properties: { [line]: line },
  };
  const { json } = await request(key, deployId, JSON.stringify(body));
  const { id: recordId } = json as { id: string };
  await here.data([...words`feedback add ${recordId} --name note --value ${title} --author ${title}`, ...scope]).catch(
    () => {},
  );
  const files = `${folder}/${id}`;
  await mkdir(`${files}/prompts`, { recursive: true });
  await writeFile(`${files}/promptledger.yml`, "deploy:\n  production: latest\n");
  await writeFile(`${files}/prompts/chat.json`, prompt(`${hostile}\nmine`));
  await writeFile(`${files}/prompts/new.md`, `---\ntitle: New\n---\n# user\n${hostile.replaceAll("\r", " ")}\n`);
  return { id, scope, recordId, deployId, files, prompt };
}

const world = await stage();
const { scope, recordId, files } = world;

const commands: string[][] = [
  ["workspace", "list"],
  ["key", "list", ...scope],
  ["prompt", "list", ...scope],
  ["prompt", "show", "chat", ...scope],
  ["prompt", "versions", "chat", ...scope],
  ["prompt", "diff", "chat", "--from", "1", ...scope],
  ["prompt", "pull", "chat", "-", ...scope],
  ["deploy", "list", ...scope],
  ["deploy", "history", "chat@production", ...scope],
  ["record", "list", ...scope],
  ["record", "show", recordId, ...scope],
  ["record", "export", ...scope],
  ["record", "export", "--format", "csv", ...scope],
  ["record", "export", "--format", "promptfoo", "--deploy", "chat@production", ...scope],
  ["session", "list", ...scope],
  ["feedback", "list", recordId, ...scope],
  ["audit", "list", ...scope],
  ["audit", "export", ...scope],
  ["events", ...scope],
  ["stats", ...scope],
  ["check", "--dir", files],
  ["plan", "--dir", files, ...scope],
  ["apply", "--dir", files, ...scope],
  ["types", "--dir", files],
  ["bundle", "--dir", files],
  ["types", "live", ...scope],
  ["prompt", "show", line, ...scope],
  [line],
  ["prompt", "list", `--${line}`],
];

for (const [nth, args] of commands.entries()) {
  const words = args.slice(0, 2).filter((word) => /^[a-z-]+$/.test(word)).join(" ") || "an unknown command";
  test(`${nth + 1}. ${words} prints no command in any CI`, async () => {
    for (const env of systems) {
      const { code, out, said } = await here.cli(args, "", { env: { ...here.env, ...env } });
      assert.ok([0, 1, 2, 3].includes(code));
      assert.equal(commandsIn(out, env), [], `stdout of ${args.join(" ")}`);
      assert.equal(commandsIn(said, env), [], `stderr of ${args.join(" ")}`);
    }
  });
}

test("JSON is valid in CI, with the same values", async () => {
  for (const args of commands.filter(([noun, verb]) => !["export", line].includes(verb ?? "") && noun !== line)) {
    if (args.includes(`--${line}`) || args.includes("apply")) continue;
    const plain = await here.cli([...args, "--json"], "");
    for (const env of systems) {
      const { out } = await here.cli([...args, "--json"], "", { env: { ...here.env, ...env } });
      assert.equal(commandsIn(out, env), [], args.join(" "));
      const withoutAges = (text: string) => text.replace(/"(ageMs|durationMs|at|now)":\d+/g, "");
      if (out !== "") assert.equal(JSON.parse(withoutAges(out)), JSON.parse(withoutAges(plain.out)), args.join(" "));
    }
  }
  const texts = await here.data<{ messages: [{ content: string }] }>(["prompt", "show", "chat", ...scope]);
  assert.is(texts.messages[0].content, `${hostile}\nchanged`);
});

test("annotations for GitHub stay commands, and have no other ones in them", async () => {
  const summary = `${folder}/summary.md`;
  for (const args of [["check", "--dir", files], ["plan", "--dir", files, ...scope]]) {
    await rm(summary, { force: true });
    const bad = `${files}/prompts/##[bad],a::b.md`;
    if (args[0] === "check") {
      await writeFile(bad, `---\ntitle: ${JSON.stringify(line)}\nrole: x\n---\n# user\n{{${line}\n`);
    }
    const env = { ...here.env, GITHUB_ACTIONS: "true", GITHUB_STEP_SUMMARY: summary };
    const { out, said } = await here.cli([...args, "--format", "github"], "", { env });
    await rm(bad, { force: true });
    const ours = /^::(error|warning|notice)( (file|line|col)=[^\s,:]+(,(line|col)=\d+)*)?::/;
    assert.ok(out.split("\n").some((each) => ours.test(each)), out);
    assert.equal(commandsIn(out.replace(new RegExp(ours, "gm"), "annotation "), env), []);
    assert.equal(commandsIn(said, env), []);
    if (args[0] === "plan") {
      const text = await readFile(summary, "utf8"), [, fence = ""] = /^(`{3,})diff$/m.exec(text) ?? [];
      assert.is(text.split(`\n${fence}`).length, 3, "everything is between two fences");
    }
  }
});

test("an export in a terminal does not control it", async () => {
  const { out } = await here.cli(["record", "export", "--format", "csv", ...scope], "", { columns: 80 });
  assert.not.match(out, /[^\P{Cc}\n\r\t]|\u202e/u);
  assert.match(out, "u001b[2J");
  const { out: piped } = await here.cli(["record", "export", "--format", "csv", ...scope], "", { columns: undefined });
  assert.ok(piped.includes(hostile), "what no terminal shows is exact");
});

test("what an apply and an import say has no command either", async () => {
  const { path, remove } = await createFolder();
  const configuration = `prompts:\n  - id: ${JSON.stringify(line)}\n    label: ${JSON.stringify(line)}\n  - ${
    JSON.stringify(`../${attacks[0]}.txt`)
  }\n${JSON.stringify(line)}: 1\n`;
  await writeFile(`${path}/promptfooconfig.yaml`, configuration);
  for (const env of systems) {
    for (
      const args of [
        ["import", "promptfoo", `${path}/promptfooconfig.yaml`, "--dry-run", ...scope],
        ["apply", "--dir", files, "--force", ...scope],
        ["pull", "--dir", files, "--force", ...scope],
      ]
    ) {
      const { out, said } = await here.cli(args, "", { env: { ...here.env, ...env } });
      assert.equal(commandsIn(out + said, env), [], args.join(" "));
    }
  }
  await remove();
  assert.ok((await here.data<Data[]>(["prompt", "list", ...scope])).length > 0);
});

test.run();
