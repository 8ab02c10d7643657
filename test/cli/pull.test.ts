// Prompts as files on the command line: pull and check.
// Runs on Node alone.
import { writeFile } from "node:fs/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { openPlaces, runIn, words } from "./places.ts";
import type { Place } from "./places.ts";
import { bothLatest, createPromptFolder, git, hasGit, markdown } from "./prompt-folders.ts";

const test = suite("pull and check");

const { here, everywhere, folder } = await openPlaces(test);

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
  const text = "messages:\n  - role: user\n    content: Hi\n";
  const { repository, run, push } = await open(place, { "a.prompt.yml": text });
  await run("apply");
  await push("a", says("Hotfix"));
  const { code, said } = await run("pull", "--force");
  assert.equal([code, await repository.read("a.prompt.yml")], [0, text]);
  assert.match(said, "a.prompt.yml differs, and files of its format are only read: change it by hand\n");
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

const key = `sk-${"proj-"}${"a1B2".repeat(8)}`;
const faulty: Record<string, string> = {
  "braces.md": "Hello {{first name}} and {{name}}\n",
  "secret.md": `# system\nUse ${key}\n`,
  "tabs.md": "---\nllmConfig:\n\tmodel: x\n---\nHi\n",
  "sub/Name.md": "Hi\n",
  "one.md": "Hi\n",
  "two.md": "---\nname: one\n---\nHi\n",
  "lead.md": "Text\n# user\nHi\n",
};

test("check finds all faults with their places, without a database or a service, and never shows a secret", async () => {
  const { repository } = await open(here, faulty);
  const check = (...more: string[]) =>
    runIn(["check", "--dir", repository.path, ...more], { DATABASE_URL: "file:/no/such/ledger.db" });
  const { code, out, said } = await check();
  const lines = out.replaceAll(`${repository.path}/`, "").trimEnd().split("\n");
  const expected = [
    "braces.md:1:7: {{first name}} is no variable: its name needs letters, digits, _ . $ or -",
    "lead.md:1:1: Text before the first heading belongs to no message",
    "secret.md:2:5: This looks like a key of OpenAI or Anthropic. Keep secrets elsewhere",
    "sub/Name.md:1:1: The name of a prompt must be lower-case letters, digits, ., _ and - in segments separated by /, none " +
    "of them . or .., at most 200 characters. Rename the file, or give it a name",
    lines[4]!,
    "two.md:1:1: The name one is that of one.md too",
  ];
  assert.equal(lines, expected);
  assert.match(lines[4]!, /^tabs\.md:3:1: .*tab/i);
  assert.equal([code, said], [1, "3 prompts, 6 faults\n"]);
  assert.not.ok(out.includes(key));
  const annotations = (await check("--format", "github")).out.split("\n");
  assert.is(
    annotations[0],
    `::error file=${repository.path}/braces.md,line=1,col=7::{{first name}} is no variable: its name needs letters, digits, _ . $ or -`,
  );
  const { faults } = (await check("--json")).json as { faults: object[] };
  assert.is(faults.length, 6);
});

test("check says when nothing is wrong, whatever other files are there", async () => {
  const { repository } = await open(here, {
    "a.md": "Hi {{ name }}\n",
    "README.md": "{{ not a prompt",
    "package.json": '{"name":"x"}',
    "node_modules/x/y.md": "{{ x y }}",
    ".git/z.md": "{{ x y }}",
    "notes.txt": "{{",
    "promptledger.yml": bothLatest,
  });
  const { code, out, said } = await runIn(["check", "--dir", repository.path], {});
  assert.equal([code, out, said], [0, "", "1 prompt, nothing wrong\n"]);
});

const slips: Record<string, [text: string, slips: string[]]> = {
  "one brace behind the name": ["Hi {{name}, of {{shop}}", ["1:4 {{name}"]],
  "a space before it": ["Hi {{ name }.", ["1:4 {{ name }"]],
  "none before the line ends": ["{{name}} {{names}}\nHi {{name\nHi {{ shop \t", ["2:4 {{name", "3:4 {{ shop"]],
  "the same twice": ["{{a} and {{a}", ["1:1 {{a}"]],
  "letters of others": ["Ελα {{όνομα}", ["1:5 {{όνομα}"]],
};
const code = [
  "<p style={{color}}>",
  "x = {{a}, {b}}",
  "{{a}, {\n  b\n}}",
  "<p style={{\n  color: red\n}}>",
  "<p a={{ b\n: c }}>",
  'Answer as {"a": {"b": 1}}',
  'Answer as {"a": {"b": 1}',
  "Write {{ and }} around it",
  "{{{name}",
  "f'{{{name}}}'",
  "{{\n",
  "{{",
  "{{name,",
  "{{\nname\n}}",
  "\\frac{{x}}{y}",
];

test("check warns of variables that are not closed, with their places, and of no code", async () => {
  for (const [name, [text, expected]] of Object.entries(slips)) {
    const { repository } = await open(here, { "a.md": text, "b.json": `\n${JSON.stringify(says(text))}` });
    const { code, json } = await runIn(words`check --json --dir ${repository.path}`, {});
    const { faults } = json as { faults: (Record<"file" | "message", string> & Record<"line" | "column", number>)[] };
    const [ofMarkdown, ofJson] = ["a.md", "b.json"].map((own) => faults.filter(({ file }) => file.endsWith(own)));
    const places = ofMarkdown!.map(({ line, column, message }) =>
      `${line}:${column} ${message.replace(" is not closed: a variable ends in }}", "")}`
    );
    assert.equal([code, places], [0, expected], name);
    const source = await repository.read("b.json");
    for (const { line, column, message } of ofJson!) {
      assert.ok(source.split("\n")[line - 1]!.slice(column - 1).startsWith(message.split(" is not")[0]!), name);
    }
    assert.is(ofJson!.length, expected.length);
  }
  const { repository } = await open(here, {
    ...Object.fromEntries(code.map((text, nth) => [`${nth}.md`, text])),
    "all.json": JSON.stringify({ title: "All", messages: code.map((content) => ({ role: "user", content })) }),
  });
  const { out, said } = await runIn(words`check --dir ${repository.path}`, {});
  assert.equal([out, said], ["", `${code.length + 1} prompts, nothing wrong\n`]);
});

test("check marks a warning as one, and exits 0", async () => {
  const { repository } = await open(here, { "a.md": "Hi {{name}" });
  const check = (...more: string[]) => runIn(["check", "--dir", repository.path, ...more], {});
  const message = "{{name} is not closed: a variable ends in }}";
  const { code, out, said } = await check();
  assert.equal([code, out, said], [
    0,
    `${repository.path}/a.md:1:4: Warning: ${message}\n`,
    "1 prompt, nothing wrong, 1 warning\n",
  ]);
  const github = await check("--format", "github");
  assert.is(github.out, `::warning file=${repository.path}/a.md,line=1,col=4::${message}\n`);
});

test("check reports files that are no text, or too long, and texts that no prompt can have", async () => {
  const { repository } = await open(here, {
    "empty.md": "",
    "long.md": "x".repeat(1024 * 1024 + 1),
    "null.md": '---\ndescription: "a\\0b"\n---\nHi\n',
    "title.md": `---\ntitle: ${"x".repeat(201)}\n---\nHi\n`,
  });
  await writeFile(`${repository.path}/binary.md`, new Uint8Array([0x23, 0xff, 0xfe]));
  const { code, out } = await runIn(["check", "--dir", repository.path], {});
  assert.is(code, 1);
  assert.equal(out.replaceAll(`${repository.path}/`, "").trimEnd().split("\n"), [
    "binary.md:1:1: The file cannot be read: it is not UTF-8",
    "long.md:1:1: The file must be at most 1048576 characters",
    "null.md:2:1: The description must be a string without NUL characters",
    "title.md:2:1: The title must be a name of 1 to 200 characters without control characters",
  ]);
});

test.run();
