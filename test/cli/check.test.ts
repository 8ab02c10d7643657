// Prompts as files on the command line: check.
// Runs on Node alone.
import { writeFile } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createFolder } from "../conformance/processes.ts";
import { runIn, words } from "./places.ts";
import { bothLatest, createPromptFolder, git, hasGit } from "./prompt-folders.ts";
import type { PromptFolder } from "./prompt-folders.ts";

const test = suite("check");

const { path: folder, remove } = await createFolder();
test.after(remove);

let count = 0;

const open = (files: Record<string, string | null>): Promise<PromptFolder> =>
  createPromptFolder(`${folder}/${++count}`, files);

const says = (text: string) => ({ title: "Title", messages: [{ role: "user", content: text }] });

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
  const repository = await open(faulty);
  const check = (...more: string[]) =>
    runIn(["check", "--dir", repository.path, ...more], { DATABASE_URL: "file:/no/such/ledger.db" });
  const { code, out, said } = await check();
  const lines = out.replaceAll(`${repository.path}/`, "").trimEnd().split("\n");
  const expected = [
    "braces.md:1:7: Warning: {{first name}} is no variable: its name needs letters, digits, _ . $ or -",
    "lead.md:1:1: Text before the first heading belongs to no message",
    "secret.md:2:5: This looks like a key of OpenAI or Anthropic. Keep secrets elsewhere",
    "sub/Name.md:1:1: The name of a prompt must be lower-case letters, digits, ., _ and - in segments separated by /, none " +
    "of them . or .., at most 200 characters. Rename the file, or give it a name",
    lines[4]!,
    "two.md:1:1: The name one is that of one.md too",
  ];
  assert.equal(lines, expected);
  assert.match(lines[4]!, /^tabs\.md:3:1: .*tab/i);
  assert.equal([code, said], [1, "3 prompts, 5 faults, 1 warning\n"]);
  assert.not.ok(out.includes(key));
  const annotations = (await check("--format", "github")).out.split("\n");
  assert.is(
    annotations[0],
    `::warning file=${repository.path}/braces.md,line=1,col=7::{{first name}} is no variable: its name needs letters, digits, _ . $ or -`,
  );
  const { faults } = (await check("--json")).json as { faults: object[] };
  assert.is(faults.length, 6);
});

test("check says when nothing is wrong, whatever other files are there", async () => {
  const repository = await open({
    "a.md": "Hi {{ name }}\n",
    "README.md": "{{ not a prompt",
    "package.json": '{"name":"x"}',
    "node_modules/x/y.md": "{{ x y }}",
    ".git/z.md": "{{ x y }}",
    "notes.txt": "{{",
    "promptledger.yml": bothLatest,
  });
  const { code, out, said } = await runIn(["check", "--dir", repository.path], {});
  const unread = "Not read: 1 file (names of prompts end in .md or .json): notes.txt\n";
  assert.equal([code, out, said], [0, "", `1 prompt, no problems\n${unread}`]);
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
    const repository = await open({ "a.md": text, "b.json": `\n${JSON.stringify(says(text))}` });
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
  const repository = await open({
    ...Object.fromEntries(code.map((text, nth) => [`${nth}.md`, text])),
    "all.json": JSON.stringify({ title: "All", messages: code.map((content) => ({ role: "user", content })) }),
  });
  const { out, said } = await runIn(words`check --dir ${repository.path}`, {});
  assert.equal([out, said], ["", `${code.length + 1} prompts, no problems\n`]);
});

test("check marks a warning as one, and exits 0", async () => {
  const repository = await open({ "a.md": "Hi {{name}" });
  const check = (...more: string[]) => runIn(["check", "--dir", repository.path, ...more], {});
  const message = "{{name} is not closed: a variable ends in }}";
  const { code, out, said } = await check();
  assert.equal([code, out, said], [
    0,
    `${repository.path}/a.md:1:4: Warning: ${message}\n`,
    "1 prompt, no problems, 1 warning\n",
  ]);
  const github = await check("--format", "github");
  assert.is(github.out, `::warning file=${repository.path}/a.md,line=1,col=4::${message}\n`);
});

test("check reports files that are no text, or too long, and texts that no prompt can have", async () => {
  const repository = await open({
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

const check = async (repository: PromptFolder, ...more: string[]) => {
  const { code, out, said } = await runIn(["check", "--dir", repository.path, ...more], {});
  return { code, out: out.replaceAll(`${repository.path}/`, ""), said };
};

test("check names the files that are not read, with the reasons", async () => {
  const many = Object.fromEntries(Array.from({ length: 12 }, (_, nth) => [`j/${nth + 10}.j2`, "x"]));
  const repository = await open({ ...many, "SKILL.md": "x", "README.md": "x", "z.json": '{"prompt":"x"}', ".env": "" });
  assert.equal((await check(repository)).said.split("\n"), [
    "0 prompts, no problems",
    "Not read: 1 file (names in capitals are those of documents): SKILL.md",
    "Not read: 12 files (names of prompts end in .md or .json): j/10.j2, j/11.j2, j/12.j2, j/13.j2, " +
    "j/14.j2, j/15.j2, j/16.j2, j/17.j2, j/18.j2, j/19.j2 and 2 more",
    "Not read: 1 file (JSON without messages): z.json",
    "",
  ]);
});

test("a line that is almost a heading is a fault where it begins a file without headings, and else a warning", async () => {
  const repository = await open({
    "a.md": "# System\n\nYou help.\n\n#user\n{{q}}\n",
    "b.md": "---\ntitle: B\n---\n\n# system\n# User:\n\n# Users\n# user\n",
    "c.md": "Hi\n# USER\n",
    "d.md": "# user\n\\# System\n",
  });
  const ofText = "If this is text, begin the message with # user";
  assert.equal(await check(repository), {
    code: 1,
    out: [
      `a.md:1:1: # System begins no message. A message begins with # system. ${ofText}`,
      `a.md:5:1: #user begins no message. A message begins with # user. ${ofText}`,
      "b.md:6:1: Warning: # User: begins no message. A message begins with # user",
      "c.md:2:1: Warning: # USER begins no message. A message begins with # user",
      "",
    ].join("\n"),
    said: "4 prompts, 2 faults, 2 warnings\n",
  });
});

test("the manifest acknowledges warnings, and what it acknowledges in vain is a warning", async () => {
  const manifest = (text: string) => `deploy: { staging: latest }\nacknowledged:\n${text}`;
  const repository = await open({
    "a.md": "Hi {{name} {{a b}}",
    "sub/b.md": "{{#if x}}{{y}",
    "c.txt": "x",
    "promptledger.yml": manifest('  a.md: [is no variable]\n  "sub/*": all\n  c.txt: all\n'),
  });
  const open1 = "a.md:1:4: Warning: {{name} is not closed: a variable ends in }}\n";
  assert.equal(await check(repository), { code: 0, out: open1, said: "2 prompts, no problems, 1 warning\n" });
  assert.is((await check(repository, "--strict")).code, 1);
  await repository.put({ "promptledger.yml": manifest('  "*": all\n') });
  const quiet = { code: 0, out: "", said: "2 prompts, no problems\n" };
  assert.equal(await check(repository, "--strict"), quiet);
  await repository.put({ "promptledger.yml": manifest('  "*": all\n  sub/a.md: [x, y]\n  "*.txt": all\n') });
  assert.equal((await check(repository)).out.split("\n"), [
    'promptledger.yml:4:3: Warning: Field acknowledged.sub/a.md acknowledges nothing: remove "x"',
    'promptledger.yml:4:3: Warning: Field acknowledged.sub/a.md acknowledges nothing: remove "y"',
    "",
  ]);
  await repository.put({ "promptledger.yml": manifest("  a.md: yes\n"), "d.md": "---\nrole: x\n---\n" });
  assert.equal((await check(repository)).out.split("\n").filter((line) => !line.includes("Warning")), [
    "d.md:2:1: Unknown field role. Allowed: name, was, title, description, llmConfig, variables",
    "promptledger.yml:2:1: Field acknowledged.a.md must be all, or a list of parts of warnings",
    "",
  ]);
});

test("the manifest may be called promptledger.yaml, and two of them are a fault", async () => {
  const repository = await open({
    "promptledger.yaml": "folder: texts\n",
    "texts/a.md": "Hi",
    "promptledger.yml": null,
  });
  assert.equal(await check(repository), { code: 0, out: "", said: "1 prompt, no problems\n" });
  await repository.put({ "promptledger.yml": "folder: texts\n" });
  assert.is(
    (await check(repository)).out,
    "promptledger.yaml:1:1: promptledger.yml is read, and this file is not: remove one of them\n",
  );
});

test("annotations for GitHub have paths from the root of the repository", async () => {
  const repository = await open({ "apps/bot/prompts/a.md": "---\nrole: x\n---\n", "promptledger.yml": null });
  const annotate = async (env: Record<string, string>, dir: string) =>
    (await runIn(["check", "--format", "github", "--dir", dir], env)).out;
  const base = `${repository.path}/apps/bot`;
  const expected = "::error file=apps/bot/prompts/a.md,line=2,col=1::Unknown field role";
  assert.ok((await annotate({ GITHUB_WORKSPACE: resolve(repository.path) }, base)).startsWith(expected));
  assert.ok((await annotate({}, base)).startsWith(`::error file=${base}/prompts/a.md,`));
  if (!hasGit) return;
  await git(repository.path, ["init", "-q"]);
  for (const dir of [base, relative(".", base)]) assert.ok((await annotate({}, dir)).startsWith(expected));
});

test.run();
