// Prompts as files on the command line: pull.
// Runs on Node alone.
import { writeFile } from "node:fs/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { openPlaces, runIn, words } from "./places.ts";
import type { Place } from "./places.ts";
import { createPromptFolder, git, hasGit, markdown } from "./prompt-folders.ts";

const test = suite("pull");

const { everywhere, folder } = await openPlaces(test);

let made = 0;

/** A workspace, and a folder to which its prompts are pulled. */
async function open(place: Place, files: Record<string, string> = {}) {
  const nth = made++;
  const { id } = await place.data<{ id: string }>(words`workspace create --name ${`W${nth}`}`);
  const repository = await createPromptFolder(`${folder}/${nth}`, files);
  const scope = ["--dir", repository.path, "--workspace", id];
  const run = async (...args: string[]) => {
    const { code, out, said } = await place.cli([...args, ...scope]);
    return { code, out: out.replaceAll(`${repository.path}/`, ""), said: said.replaceAll(`${repository.path}/`, "") };
  };
  return {
    ...{ id, repository, run },
    /** Makes a version elsewhere, as the console does. */
    async push(name: string, prompt: object, ...more: string[]) {
      const args = words`prompt push - --name ${name} --workspace ${id} ${["--new", ...more]}`;
      await place.data(args, JSON.stringify(prompt));
    },
  };
}

const says = (text: string, more: object = {}) => ({
  title: "Title",
  messages: [{ role: "user", content: text }],
  ...more,
});
const nothing = "Nothing to do: files and ledger are the same\n";

everywhere("what was made elsewhere becomes files, after which there is nothing to do", async (place) => {
  const { repository, run, push } = await open(place);
  await push("support/chat", says("Hello {{name}}", { llmConfig: { model: "m", seed: 7 } }), "--deploy", "staging");
  const parts = [{ role: "user", content: [{ type: "text", text: "Hi" }] }];
  await push("parts", { title: "Parts", messages: parts }, "--deploy", "production");
  const { code, out, said } = await run("pull");
  assert.equal([code, said], [0, ""]);
  assert.equal(out.trim().split("\n").sort(), [
    "created parts.json (version 1)",
    "created support/chat.md (version 1)",
  ]);
  const expected = "---\ntitle: Title\nllmConfig:\n  model: m\n  seed: 7\n---\n# user\nHello {{name}}\n";
  assert.is(await repository.read("support/chat.md"), expected);
  assert.is((await run("pull")).said, "The files have what the ledger has\n");
  await repository.put({ "promptledger.yml": "deploy: {}\n" });
  assert.is((await run("plan", "--check")).out, nothing);
});

everywhere("a pull keeps comments and the order of a file, and what people wrote besides stays", async (place) => {
  const text = "---\n# why\nllmConfig:\n  temperature: 1 # warm\n  model: m\ntitle: Title\n---\n# user\nHi\n";
  const { repository, run, push } = await open(place, { "a.md": text });
  await run("apply");
  await push("a", says("Hi", { llmConfig: { temperature: 1, model: "other" } }));
  assert.is((await run("pull", "--force")).out, "changed a.md (version 2)\n");
  assert.is(await repository.read("a.md"), text.replace("model: m", "model: other"));
});

everywhere("one prompt alone is pulled, or what deployments of a name serve", async (place) => {
  const { repository, run, push } = await open(place, { "a.md": markdown("one"), "b.md": markdown("b one") });
  await run("apply");
  for (const [name, text] of [["a", "two"], ["b", "b two"]] as const) await push(name, says(text));
  assert.is((await run("pull", "a", "--force")).out, "changed a.md (version 2)\n");
  assert.is((await run("pull", "--live", "production", "--force")).out, "changed a.md (version 1)\n");
  assert.is(await repository.read("b.md"), markdown("b one"));
  assert.equal((await run("pull", "none")).said, "promptledger: Prompt none not found. See prompt list\n");
});

everywhere("names that no path has, and paths that are taken, get another path and say the name", async (place) => {
  const { repository, run, push } = await open(place, {
    "a.md": `---\nname: other\n${markdown("one").slice(4)}`,
    "package.json": "{}",
    "promptledger.yml": "deploy: {}\n",
  });
  await run("apply");
  const parts = { title: "Parts", messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }] };
  const names = ["a", "x.prompt", ".hidden/x", "node_modules/x", "_", "a.md/b", "readme", "prompt-a"];
  for (const name of names) await push(name, says(`of ${name}`));
  await push("package", parts);
  const { code, said } = await run("pull");
  assert.equal([code, said], [0, ""]);
  assert.is((await run("plan", "--check")).out, nothing);
  assert.is(await repository.read("package.json"), "{}");
  assert.match(await repository.read("a.md"), "name: other");
  assert.match(await repository.read("prompt-node_modules-x.md"), "name: node_modules/x");
  assert.is((await runIn(["check", "--dir", repository.path], {})).code, 0);
});

everywhere("a folder is not pushed, and the message names plan and apply", async (place) => {
  const { id, repository } = await open(place, { "a.md": markdown("one") });
  for (const path of [repository.path, `${repository.path}/`]) {
    const { code, out, said } = await place.cli(words`prompt push ${path} --workspace ${id}`);
    assert.equal([code, out], [1, ""]);
    assert.is(
      said,
      `promptledger: ${path} is a folder. Push its prompts with plan and apply: promptledger plan --dir ${path}\n`,
    );
  }
});

const parts = (text: string) => ({
  title: "Title",
  messages: [{ role: "user", content: [{ type: "text", text }] }],
});

everywhere("a rename that is not applied yet stays in a file that is pulled, whatever its format", async (place) => {
  const { repository, run, push } = await open(place, {
    "new-a.md": `---\nwas: a\n${markdown("mine").slice(4)}`,
    "new-b.json": `{"was":"b",${JSON.stringify(says("mine")).slice(1)}`,
    "new-c.md": `---\nwas: c\n${markdown("mine").slice(4)}`,
  });
  for (const name of ["a", "b"]) await push(name, says(`of ${name}`));
  await push("c", parts("of c"));
  const { code, out } = await run("pull", "--force");
  const lines = ["changed new-a.md (version 1)", "changed new-b.json (version 1)", "changed new-c.json (version 1)"];
  assert.equal([code, out.trim().split("\n").sort()], [0, lines]);
  assert.match(await repository.read("new-a.md"), "was: a\n");
  for (const name of ["b", "c"]) {
    const { was, messages } = JSON.parse(await repository.read(`new-${name}.json`)) as Record<string, unknown>;
    assert.equal([was, JSON.stringify(messages).includes(`of ${name}`)], [name, true]);
  }
  await repository.put({ "promptledger.yml": "deploy: {}\n" });
  assert.match((await run("plan")).out, /^3 renames$/m);
  assert.is((await run("apply")).code, 0);
  assert.is((await run("plan", "--check")).out, nothing);
});

everywhere("a push of a file that renames is refused, as it would leave the old prompt behind", async (place) => {
  const { id } = await open(place);
  const file = JSON.stringify({ was: "a", ...says("Hi") });
  const { code, said } = await place.cli(words`prompt push - --name b --workspace ${id}`, file);
  assert.equal([code, said], [
    1,
    "promptledger: Standard input: Field was is for plan and apply, which rename a. Remove it, or use prompt rename\n",
  ]);
});

everywhere("a Markdown file becomes JSON beside what has that name, and the pull says so", async (place) => {
  const { repository, run, push } = await open(place, {
    ...{ "a.md": markdown("one"), "b.md": markdown("one"), "c.md": markdown("one") },
    "b.json": JSON.stringify({ name: "other", ...says("of b.json") }),
    "c.json": '{"not":"a prompt"}',
    "promptledger.yml": "deploy: {}\n",
  });
  await run("apply");
  for (const name of ["a", "b", "c"]) await push(name, parts(`of ${name}`));
  const { code, out, said } = await run("pull", "--force");
  assert.equal([code, out.trim().split("\n").sort()], [0, [
    "changed a.json (version 2)",
    "changed prompt-b.json (version 2)",
    "changed prompt-c.json (version 2)",
  ]]);
  assert.equal(said.trim().split("\n").sort(), [
    "a.md becomes a.json, since Markdown cannot hold it",
    "b.md becomes prompt-b.json, since Markdown cannot hold it and b.json is taken",
    "c.md becomes prompt-c.json, since Markdown cannot hold it and c.json is taken",
  ]);
  const files = ["a.json", "b.json", "c.json", "prompt-b.json", "prompt-c.json", "promptledger.yml"];
  assert.equal(Object.keys(await repository.readAll()), files);
  assert.is(await repository.read("c.json"), '{"not":"a prompt"}');
  assert.match(await repository.read("b.json"), "of b.json");
  assert.is((await run("plan", "--check")).out, nothing);
});

everywhere("a JSON file stays JSON, and what Markdown of its name there is stays too", async (place) => {
  const other = `---\nname: other\n${markdown("of a.md").slice(4)}`;
  const { repository, run, push } = await open(place, {
    "a.json": JSON.stringify(parts("one")),
    "a.md": other,
    "promptledger.yml": "deploy: {}\n",
  });
  await run("apply");
  await push("a", says("two"));
  assert.is((await run("pull", "--force")).out, "changed a.json (version 2)\n");
  assert.equal([await repository.read("a.md"), (await run("plan", "--check")).out], [other, nothing]);
});

everywhere("an archived prompt stays as it is in the files, and is told", async (place) => {
  const { id, repository, run } = await open(place, { "a.md": markdown("one") });
  await run("apply");
  await place.data(words`prompt archive a --workspace ${id}`);
  const { code, out, said } = await run("pull");
  assert.equal([code, out], [0, ""]);
  assert.is(said, "a is archived, and a.md is still there\nThe files have what the ledger has\n");
  assert.is(await repository.read("a.md"), markdown("one"));
});

everywhere("files of formats that are only read are left, and told", async (place) => {
  const text = "---\nmodel: m\n---\nHi\n";
  const { repository, run, push } = await open(place, { "a.prompt": text });
  await run("apply");
  await push("a", says("Hotfix"));
  const { code, said } = await run("pull", "--force");
  assert.equal([code, await repository.read("a.prompt")], [0, text]);
  assert.is(said, "a.prompt differs, and files of its format are only read: change it by hand\n");
});

everywhere("without git a file is replaced only with --force", async (place) => {
  const { repository, run, push } = await open(place, { "a.md": markdown("one") });
  await run("apply");
  await push("a", says("hotfix"));
  await push("new", says("new"));
  const { code, said } = await run("pull");
  assert.is(code, 1);
  assert.match(
    said,
    "Nothing was written, since no git repository keeps what is in a.md. Commit it, or pull with --force\n",
  );
  assert.equal(Object.keys(await repository.readAll()), ["a.md", "promptledger.yml"]);
  assert.is((await run("pull", "--force")).code, 0);
  assert.is(await repository.read("a.md"), markdown("hotfix"));
});

if (!hasGit) console.log("skipped: what pull asks git: git is not installed");
else {
  everywhere("what no commit has is replaced only with --force, ignored files too", async (place) => {
    const { repository, run, push } = await open(place, { "a.md": markdown("one"), "b.md": markdown("b") });
    await git(repository.path, ["init", "-q"]);
    await repository.put({ ".gitignore": "b.md\n" });
    await git(repository.path, ["add", "."]);
    await git(repository.path, ["commit", "-q", "-m", "One"]);
    await run("apply");
    await push("a", says("hotfix"));
    await repository.put({ "a.md": markdown("edited") });
    const error = (files: string) =>
      `promptledger: Nothing was written, since no commit has what is in ${files}. Commit it, or pull with --force\n`;
    assert.equal((await run("pull")).said, error("a.md"));
    await git(repository.path, ["checkout", "-q", "a.md"]);
    await push("b", says("hotfix of b"));
    assert.equal((await run("pull")).said, error("b.md"));
    assert.is(await repository.read("a.md"), markdown("one"));
    assert.is((await run("pull", "a")).out, "changed a.md (version 2)\n");
    // A file that is gone has nothing to lose.
    await git(repository.path, ["checkout", "-q", "a.md"]);
    await repository.put({ "a.md": null });
    assert.is((await run("pull", "a")).out, "created a.md (version 2)\n");
  });
}

everywhere(
  "a .prompt.yml file goes on working, and becomes Markdown when pull changes or names its prompt",
  async (place) => {
    const yaml = "name: Title\nmodel: m\nmessages:\n  - role: user\n    content: Hi\n";
    const { repository, run, push } = await open(place, {
      "sub/a.prompt.yml": yaml,
      "b.prompt.yaml": yaml,
      "c.prompt.yml": yaml,
    });
    assert.match((await run("apply")).said, "sub/a: new prompt");
    const { json } = await runIn(words`check --json --dir ${repository.path}`, {});
    const { faults } = json as { faults: { message: string; isWarning: boolean }[] };
    const advice = "No tool maintains this format any more. promptledger pull sub/a writes it as Markdown";
    assert.equal([faults.length, faults[2]!.message, faults[2]!.isWarning], [3, advice, true]);
    assert.is((await run("pull", "--force")).said, "The files have what the ledger has\n");
    await push("b", says("Changed", { llmConfig: { model: "m" } }));
    assert.equal(await run("pull", "--force"), {
      code: 0,
      out: "changed b.md (version 2)\n",
      said: "b.prompt.yaml becomes b.md, since its format is no longer written\n",
    });
    await run("pull", "sub/a", "--force");
    await push("c", { title: "Title", messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }] });
    assert.is((await run("pull", "--force")).out, "changed c.json (version 2)\n");
    assert.equal(Object.keys(await repository.readAll()), ["b.md", "c.json", "promptledger.yml", "sub/a.md"]);
    assert.is(await repository.read("sub/a.md"), "---\ntitle: Title\nllmConfig:\n  model: m\n---\n# user\nHi\n");
    assert.is((await run("plan", "--deploy", "")).out, "Nothing to do: files and ledger are the same\n");
  },
);

everywhere("check accepts what pull writes of an import with --keep-logic", async (place) => {
  const { id, repository, run } = await open(place);
  const texts = [
    "{% if a b %}x{% endif %}",
    "{{#each a}}{{upper this}}{{/each}}",
    "{{ first name }} {{! no }}",
    "{{{x}}}",
  ];
  for (const [nth, text] of texts.entries()) {
    const file = `${folder}/logic${nth}.prompt`;
    await writeFile(file, `---\nmodel: m\n---\n${text}\n`);
    await place.cli(["import", "dotprompt", file, "--keep-logic", "--workspace", id]);
  }
  await run("pull");
  const { code, json } = await runIn(words`check --json --dir ${repository.path}`, {});
  assert.equal([code, (json as { prompts: number }).prompts], [0, texts.length]);
});

test.run();
