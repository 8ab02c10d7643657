// What the documents say to do, done: the README's start and its app, the calls of src/http/README.md, and the commands of the
// command line and of operation, on a service that `npm start` starts.
// Runs on every runtime in CI.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { chdir, cwd } from "node:process";
import { suite } from "./suite.ts";
import * as assert from "uvu/assert";
import { runIn } from "./cli/places.ts";
import { createFolder, startScript } from "./conformance/processes.ts";
import type { ShellCommand } from "./documents.ts";
import { blocksOf, commandsIn, documentAt, sectionOf } from "./documents.ts";
import { adminToken } from "./helpers.ts";
import { terminal } from "../src/runtime/terminal.ts";
import { currentRuntime, pathOf } from "./runtimes.ts";

const test = suite(`quick start on ${currentRuntime}`);

const readme = documentAt("README.md");
const http = documentAt("src/http/README.md");
const script = { Node: "start", Bun: "start:bun", Deno: "start:deno" }[currentRuntime];

const folder = await createFolder();
const env: Record<string, string> = {
  DATABASE_URL: `file:${folder.path}/promptledger.db`,
  ADMIN_TOKEN: adminToken,
  LOG_LEVEL: "warn",
  BACKUP_TO: folder.path,
};
const service = await startScript(
  script,
  { ...env, BACKUP_TO: "", LOG_LEVEL: "info", PORT: "0" },
  /Listening.*?(http:\/\/[\d.]+:\d+)/,
);
test.after(async () => {
  // npm passes on no SIGKILL: the service would stay.
  await service.stop();
  await folder.remove();
});

/** Names the workspace that the command line is for. */
const own: Record<string, string> = {};

/** The newest id or key of each kind, by what stands for it in the documents: `ws_…`. */
const known = new Map<string, string>();

/** Replaces what stands for something else in a text of the documents. */
const fillIn = (text: string): string =>
  text.replace(
    /\b(ws|key|token|prompt|dep|pl|price|diag|review|ro|wh|alert|budget)_…/g,
    (name) => known.get(name) ?? name,
  )
    .replace(/http:\/\/127\.0\.0\.1:8787|https:\/\/prompts\.example\.com/g, service.seen)
    .replaceAll("$ADMIN_TOKEN", adminToken)
    .replace(/^[\w-]+\.(json|ndjson|csv|db)$/, `${folder.path}/$&`);

/** Files are read in the folder, wherever the tests run. */
const read = (path: string) => terminal.read(resolve(folder.path, path));

/** Runs a command of promptledger, which must succeed, and notes the ids in what it prints. */
async function runCommand(words: string[], settings: Record<string, string> = env): Promise<string> {
  const { code, out, said } = await runIn(words.map(fillIn), settings, "", { read });
  assert.is(code, 0, `${words.join(" ")}: ${said}`);
  for (
    const [id, kind] of out.matchAll(/\b(ws|key|token|prompt|dep|pl|price|diag|review|ro|wh|alert|budget)_\w{20,}/g)
  ) {
    known.set(`${kind}_…`, id);
  }
  return out;
}

/** The words after `promptledger`, or after `npm run -s cli --`; none for another command. */
function argumentsOf({ words, settings }: ShellCommand): string[] {
  // The service runs already, on a port of its own.
  if (Object.keys(settings).length > 0 || words.at(-1) === "serve") return [];
  if (words[0] === "promptledger") return words.slice(1);
  return words[0] === "npm" && words.includes("cli") ? words.slice(words.indexOf("--") + 1) : [];
}

/** Runs the commands of promptledger in a text. */
async function runCommands(text: string, settings = env): Promise<void> {
  for (const words of blocksOf(text, "sh").flatMap(commandsIn).map(argumentsOf)) {
    if (words.length > 0) await runCommand(words, settings);
  }
}

const start = sectionOf(readme, "Start");
const promptFile = `${folder.path}/support/assistant.json`;

test("three commands set up a database", async () => {
  await mkdir(dirname(promptFile));
  await writeFile(promptFile, blocksOf(start, "json")[0]!);
  await runCommands(start);
  assert.equal([...known.keys()].sort(), ["dep_…", "key_…", "pl_…", "prompt_…", "ws_…"]);
  // The calls of src/http/README.md make another one.
  own.PROMPTLEDGER_WORKSPACE = known.get("ws_…")!;
});

const apps: [name: string, app: string][] = [
  ["the app of the README", blocksOf(sectionOf(readme, "Use it from an app"), "ts")[0]!],
  ["the app of src/http/README.md, which has no client,", blocksOf(sectionOf(http, "Call it by fetch"), "ts")[0]!],
];

for (const [index, [name, app]] of apps.entries()) {
  test(`${name} reads its prompt, fills it in, calls a model and records what came of it`, async () => {
    const callModel =
      "const callModel = async (model, messages) => [model, ...messages.map((each) => each.content)].join();";
    const file = `${folder.path}/app-${index}.mts`;
    const own = fillIn(app).replace("promptledger/client", `file://${pathOf("test/client/patient.ts")}`);
    await writeFile(file, `// @ts-nocheck\n${callModel}\n${own}\nexport { messages, output };\n`);
    const { messages, output } = await import(`file://${file}`);
    assert.equal(messages, [
      { role: "system", content: "You answer customers of Acme." },
      { role: "user", content: "Where is my parcel?" },
    ]);
    assert.is(output, "gpt-6-luna,You answer customers of Acme.,Where is my parcel?");
    const list = await runCommand(["record", "list", "--deploy", "dep_…", "--json"]);
    const records = JSON.parse(list);
    assert.is(records.length, index + 1);
    const [{ content, latency, startAt, endAt, promptVersion }] = records;
    assert.equal([content, promptVersion], [{ input: JSON.stringify(messages), output }, 1]);
    assert.ok(latency <= endAt - startAt + 1);
  });
}

test("the commands of the README work one after the other", async () => {
  const prompt = JSON.parse(await readFile(promptFile, "utf8"));
  await writeFile(promptFile, JSON.stringify({ ...prompt, title: "Short answers" }));
  await runCommands(sectionOf(readme, "Command line"));
});

test("the calls of src/http/README.md are answered as it shows", async () => {
  const sections = [
    "Read the active prompt",
    "Submit a record",
    "Give feedback",
    "Give feedback on many records",
    "Read the quota",
    "Manage over HTTP",
  ].map((name) => sectionOf(http, name));
  for (const section of sections) {
    for (const { words } of blocksOf(section, "sh").flatMap(commandsIn)) {
      const valuesOf = (option: string) =>
        words.flatMap((word, index) => words[index - 1] === option ? [fillIn(word)] : []);
      const headers = valuesOf("-H").map((line) => line.split(": ") as [string, string]);
      const [body] = valuesOf("-d");
      const url = fillIn(words.find((word) => word.startsWith("http"))!);
      const [method = body === undefined ? "GET" : "POST"] = valuesOf("-X");
      const response = await fetch(url, { method, headers, ...(body !== undefined && { body }) });
      const answer = await response.json() as object;
      assert.ok(response.ok, `${url}: ${JSON.stringify(answer)}`);
      for (const shown of blocksOf(section, "json")) {
        assert.equal(Object.keys(answer), Object.keys(JSON.parse(shown)));
      }
    }
  }
});

test("the commands of src/cli/README.md work one after the other", async () => {
  const cli = documentAt("src/cli/README.md"), prompts = sectionOf(cli, "Prompts in git");
  await writeFile(`${folder.path}/promptledger.yml`, fillIn(blocksOf(prompts, "yaml")[0]!));
  await mkdir(`${folder.path}/prompts/support`, { recursive: true });
  await writeFile(`${folder.path}/prompts/support/greeting.md`, blocksOf(prompts, "md")[0]!);
  const { data } = JSON.parse(await readFile(pathOf("test/files/fixtures/langfuse.json"), "utf8"));
  // The prompts behind these two versions are ones that no import takes.
  await writeFile(`${folder.path}/langfuse.json`, JSON.stringify({ data: data.slice(0, 2) }));
  await writeFile(`${folder.path}/greeting.prompty`, "---\nname: Greeting\n---\nsystem:\nHello {{name}}\n");
  await writeFile(`${folder.path}/shorter.json`, JSON.stringify({ title: "Shorter", messages: [] }));
  await writeFile(`${folder.path}/scores.csv`, `record,name,value\n${known.get("diag_…")},thumb,true\n`);
  // Commands for prompts in git read and write the current folder.
  const before = cwd();
  chdir(folder.path);
  try {
    const rollouts = sectionOf(cli, "Give a version to some first");
    // A second person approves in cli/changes.test.ts.
    await runCommands(
      cli.text.replace(rollouts, "").replace(sectionOf(cli, "Have a second person approve"), ""),
      { ...env, ...own },
    );
    await runCommands(sectionOf(readme, "Prompts in git"));
    // They leave a version that no file has.
    await runCommands(rollouts);
  } finally {
    chdir(before);
  }
});

test("the commands of src/deploy/README.md work, and a backup is restored", async () => {
  const sections = documentAt("src/deploy/README.md").text.split(/^(?=## )/m);
  const backedUpKey = known.get("key_…")!;
  await writeFile(`${folder.path}/github-token.txt`, "secret\n");
  // Moving to a server and `prove` have tests of their own: conformance/moving.test.ts, and runtime/prove.test.ts.
  for (const section of sections.filter((text) => !/^## (Prove|Restore|Move|Delete|When a text) /.test(text))) {
    await runCommand(["key", "create", "--workspace", "ws_…"]);
    await runCommands(section);
  }
  known.set("key_…", backedUpKey);
  // This process may hold the database itself open for a while: libsql closes connections when they are collected.
  const restored = { ...env, DATABASE_URL: `file:${folder.path}/restored.db` };
  await runCommands(sections.find((text) => text.startsWith("## Restore "))!, restored);
  await runCommand(["verify"], restored);
  await runCommands(sections.find((text) => text.startsWith("## Delete "))!);
  await runCommand(["verify"]);
});

test("the service has logged nothing but what it should", () => {
  assert.not.match(service.output(), / (warn|error) /);
});

test.run();
