// `import` and `export prompts`: what becomes of the exports of others in a ledger, and what a ledger gives back as files.
// Runs on every runtime in CI.
import { readFile, writeFile } from "node:fs/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { canonicalOf } from "../../src/files/content.ts";
import { readFolder } from "../../src/files/folder.ts";
import { listFiles } from "../../src/runtime/folder.ts";
import { pathOf } from "../runtimes.ts";
import { openPlaces, words } from "./places.ts";
import type { Data, Place } from "./places.ts";

const test = suite("import");

const { everywhere, folder } = await openPlaces(test);

type Version = { name: string; version: number; prompt: string; labels?: string[]; commitMessage?: string };

let count = 0;

/** Writes an export of Langfuse, and returns its path. */
async function exportOf(...versions: Version[]): Promise<string> {
  const path = `${folder}/export-${count++}.json`;
  await writeFile(path, JSON.stringify({ data: versions }));
  return path;
}

async function createWorkspace({ data }: Place): Promise<string> {
  return (await data(words`workspace create --name ${`Import ${count++}`}`)).id!;
}

const first: Version = { name: "Chat", version: 1, prompt: "One {{a}}", labels: ["Prod EU"], commitMessage: "First" };
const second: Version = { name: "Chat", version: 2, prompt: "Two {{a}}", labels: ["latest", "staging"] };
const third: Version = { name: "Chat", version: 3, prompt: "Three {{a}}", labels: ["staging"] };

/** The versions of a prompt as `number note`, the newest first. */
const versionsOf = async ({ data }: Place, prompt: string, workspace: string) =>
  (await data<Data[]>(words`prompt versions ${prompt} --workspace ${workspace}`)).map(({ version, note }) =>
    `${version} ${note}`
  );

const deploymentsOf = async ({ data }: Place, workspace: string) =>
  (await data<Data[]>(words`deploy list --workspace ${workspace}`)).map(({ reference, currentVersion }) =>
    `${reference} ${currentVersion}`
  ).sort();

everywhere("versions are imported in their order with their notes, and labels become deployments", async (place) => {
  const workspace = await createWorkspace(place);
  const path = await exportOf(second, first);
  const { code, out, said } = await place.cli(words`import langfuse ${path} --workspace ${workspace}`);
  assert.equal([code, out], [0, "+ chat: 2 versions, prod-eu → 1, staging → 2\n"]);
  assert.is(said, "1 prompt read, 1 changed\n");
  assert.equal(await versionsOf(place, "chat", workspace), ["2 (langfuse 2)", "1 First (langfuse 1)"]);
  assert.equal(await deploymentsOf(place, workspace), ["chat@prod-eu 1", "chat@staging 2"]);
  assert.is((await place.cli(words`verify`)).code, 0);
});

everywhere("--dry-run says the same and changes nothing", async (place) => {
  const workspace = await createWorkspace(place);
  const path = await exportOf(first);
  const { code, out, said } = await place.cli(words`import langfuse ${path} --workspace ${workspace} --dry-run`);
  assert.equal([code, out], [0, "+ chat: 1 version, prod-eu → 1\n"]);
  assert.match(said, "Nothing was changed");
  assert.equal(await place.data(words`prompt list --workspace ${workspace}`), []);
});

everywhere("a second time it imports only what is new, and moves no deployment", async (place) => {
  const workspace = await createWorkspace(place);
  const run = async (...versions: Version[]) =>
    await place.cli(words`import langfuse ${await exportOf(...versions)} --workspace ${workspace}`);
  await run(first, second);
  const again = await run(first, second);
  assert.equal([again.code, again.out], [0, ""]);
  await place.data(words`deploy promote chat@prod-eu --workspace ${workspace} --version 2`);
  const more = await run(first, { ...second, labels: [] }, third);
  assert.is(more.out, "~ chat: 1 version\n");
  assert.match(more.said, "chat@prod-eu serves version 2 and is not moved to 1: promote it yourself");
  assert.match(more.said, "chat@staging serves version 2 and is not moved to 3: promote it yourself");
  assert.equal((await versionsOf(place, "chat", workspace)).length, 3);
});

everywhere("a label of a version that repeats the one before it stands at that one", async (place) => {
  const workspace = await createWorkspace(place);
  const path = await exportOf(first, { ...second, prompt: first.prompt });
  await place.data(words`import langfuse ${path} --workspace ${workspace}`);
  assert.equal(await deploymentsOf(place, workspace), ["chat@prod-eu 1", "chat@staging 1"]);
});

everywhere(
  "a prompt that cannot be held is left out, the others are imported, and the exit code is 1",
  async (place) => {
    const workspace = await createWorkspace(place);
    const path = await exportOf(first, { name: "Logic", version: 1, prompt: "{{#x}}" });
    const { code, out, said, json } = await place.cli(words`import langfuse ${path} --workspace ${workspace} --json`);
    assert.is(code, 1);
    assert.match(said, "Logic version 1, message 1, character 1: {{#x}} is more than a variable\n");
    assert.match(said, "1 fault: see above");
    assert.equal(json, {
      prompts: [{ name: "chat", versions: 1, deployments: { "prod-eu": 1 } }],
      warnings: [],
      faults: ["Logic version 1, message 1, character 1: {{#x}} is more than a variable"],
    }, out);
    const kept = await place.cli(words`import langfuse ${path} --workspace ${workspace} --keep-logic`);
    assert.equal([kept.code, kept.out], [0, "+ logic: 1 version\n"]);
  },
);

everywhere("an archived prompt is not imported into, and keeps no other from being imported", async (place) => {
  const workspace = await createWorkspace(place);
  await place.data(words`import langfuse ${await exportOf(first)} --workspace ${workspace}`);
  await place.data(words`prompt archive chat --workspace ${workspace}`);
  const path = await exportOf(first, second, { ...first, name: "Other" });
  const { code, out, said } = await place.cli(words`import langfuse ${path} --workspace ${workspace}`);
  assert.equal([code, out], [1, "+ other: 1 version, prod-eu → 1\n"]);
  assert.match(said, "chat: is archived. Unarchive it, or import with another --prefix");
});

everywhere("--prefix begins the names, and a wrong one is refused", async (place) => {
  const workspace = await createWorkspace(place);
  const run = async (prefix: string) =>
    await place.cli(words`import langfuse ${await exportOf(first)} --workspace ${workspace} --prefix ${prefix}`);
  assert.is((await run("old/")).out, "+ old/chat: 1 version, prod-eu → 1\n");
  const wrong = await run("Old Prompts/");
  assert.is(wrong.code, 2);
  assert.match(wrong.said, "--prefix");
});

everywhere("an import of nobody's is refused with those that there are", async (place) => {
  for (const from of ["humanloop", "constructor", "__proto__"]) {
    const { code, said } = await place.cli(words`import ${from} ${await exportOf(first)}`);
    assert.is(code, 2);
    assert.match(said, "FROM must be one of langfuse, openai, github, dotprompt, prompty, promptfoo");
  }
});

everywhere("files that a configuration names are read beside it", async (place) => {
  const workspace = await createWorkspace(place);
  const path = pathOf("test/files/fixtures/promptfooconfig.yaml");
  const { out } = await place.cli(words`import promptfoo ${path} --workspace ${workspace}`);
  assert.match(out, "+ from-a-file-2: 1 version\n");
});

everywhere("every version is exported as a file, which reads back as it was", async (place) => {
  const workspace = await createWorkspace(place);
  const own = `${folder}/exported-${count++}`;
  await place.data(words`import langfuse ${await exportOf(first, second, third)} --workspace ${workspace}`);
  const parts = { title: "Parts", messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }] };
  await place.data(words`prompt push - --name parts --workspace ${workspace}`, JSON.stringify(parts));
  const scope = words`--workspace ${workspace}`;
  assert.equal(await place.data(["export", "prompts", own, ...scope]), { folder: own, prompts: 2, versions: 4 });
  assert.equal(await listFiles(own), ["chat/1.md", "chat/2.md", "chat/3.md", "parts/1.json"]);
  for (const path of await listFiles(own)) {
    const [prompt] = readFolder(new Map([[path, await readFile(`${own}/${path}`, "utf8")]])).prompts;
    const [, name, version] = /^(.*)\/(\d+)\./.exec(path)!;
    const { out } = await place.cli(words`prompt show ${name!} --version ${version!} ${scope} --json`);
    const shown = readFolder(new Map([["shown.json", out]])).prompts[0]!;
    assert.equal([prompt!.name, canonicalOf(prompt!.content)], [name, canonicalOf(shown.content)]);
  }
  const again = await place.cli(["export", "prompts", own, ...scope]);
  assert.is(again.code, 1);
  assert.match(again.said, "exists");
  assert.is((await place.cli(["export", "prompts", own, ...scope, "--force"])).code, 0);
});

test.run();
