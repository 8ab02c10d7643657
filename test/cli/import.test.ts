// `import` and `export prompts`: what becomes of the exports of others in a ledger, and what a ledger gives back as files.
// Runs on every runtime in CI.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import fc from "fast-check";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { groupBy } from "../../src/support/group-by.ts";
import { canonicalOf } from "../../src/files/formats/content.ts";
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
  assert.equal([code, out], [
    0,
    "+ chat: 2 versions, prod-eu → 1, staging → 2\n  Chat: user; variables: a; model: none\n",
  ]);
  assert.is(said, "1 prompt read, 1 changed\n");
  assert.equal(await versionsOf(place, "chat", workspace), ["2 (langfuse 2)", "1 First (langfuse 1)"]);
  assert.equal(await deploymentsOf(place, workspace), ["chat@prod-eu 1", "chat@staging 2"]);
  assert.is((await place.cli(words`verify`)).code, 0);
});

everywhere("--dry-run says the same and changes nothing", async (place) => {
  const workspace = await createWorkspace(place);
  const path = await exportOf(first);
  const { code, out, said } = await place.cli(words`import langfuse ${path} --workspace ${workspace} --dry-run`);
  assert.equal([code, out], [0, "+ chat: 1 version, prod-eu → 1\n  Chat: user; variables: a; model: none\n"]);
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
  assert.is(more.out, "~ chat: 1 version\n  Chat: user; variables: a; model: none\n");
  assert.match(more.said, "chat@prod-eu serves version 2 and is not moved to 1: promote it yourself");
  assert.match(more.said, "chat@staging serves version 2 and is not moved to 3: promote it yourself");
  assert.equal((await versionsOf(place, "chat", workspace)).length, 3);
});

const history = fc.array(
  fc.record({
    name: fc.constantFrom("Chat", "客服", "a/b"),
    prompt: fc.constantFrom("One {{a}}", "Two", "{ {{a}} }"),
    labels: fc.subarray(["Prod EU", "staging", "latest"]),
  }),
  { minLength: 1, maxLength: 8 },
).map((all) => all.map((each, nth): Version => ({ ...each, version: nth + 1 })));

everywhere("of any history, a second import changes nothing, and a later one adds what is new", async (place) => {
  await fc.assert(
    fc.asyncProperty(history, fc.nat({ max: 8 }), async (versions, count) => {
      const workspace = await createWorkspace(place);
      const run = async (part: Version[]) =>
        await place.cli(words`import ${await exportOf(...part)} --workspace ${workspace}`);
      for (const part of [versions.slice(0, count), versions]) {
        if (part.length === 0) continue;
        await run(part);
        const again = await run(part.toReversed());
        assert.equal([again.code, again.out], [0, ""]);
      }
      const names = new Map([["Chat", "chat"], ["a/b", "a/b"]]);
      for (const [name, own] of groupBy(versions, ({ name }) => names.get(name))) {
        if (name === undefined) continue;
        const expected = own.filter(({ prompt }, nth) => prompt !== own[nth - 1]?.prompt);
        const notes = expected.map(({ version }, nth) => `${nth + 1} (langfuse ${version})`);
        assert.equal(await versionsOf(place, name, workspace), notes.toReversed());
      }
    }),
    { numRuns: isFull ? 30 : 5 },
  );
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
      prompts: [{
        ...{ name: "chat", versions: 1, deployments: { "prod-eu": 1 }, from: "langfuse", title: "Chat" },
        ...{ roles: ["user"], variables: ["a"], model: "", tools: [] },
      }],
      warnings: [],
      faults: ["Logic version 1, message 1, character 1: {{#x}} is more than a variable"],
    }, out);
    const kept = await place.cli(words`import langfuse ${path} --workspace ${workspace} --keep-logic`);
    assert.equal([kept.code, kept.out], [0, "+ logic: 1 version\n  Logic: user; variables: none; model: none\n"]);
  },
);

everywhere("an archived prompt is not imported into, and keeps no other from being imported", async (place) => {
  const workspace = await createWorkspace(place);
  await place.data(words`import langfuse ${await exportOf(first)} --workspace ${workspace}`);
  await place.data(words`prompt archive chat --workspace ${workspace}`);
  const path = await exportOf(first, second, { ...first, name: "Other" });
  const { code, out, said } = await place.cli(words`import langfuse ${path} --workspace ${workspace}`);
  assert.equal([code, out], [1, "+ other: 1 version, prod-eu → 1\n  Other: user; variables: a; model: none\n"]);
  assert.match(said, "chat: is archived. Unarchive it, or import with another --prefix");
});

everywhere("--prefix begins the names, and a wrong one is refused", async (place) => {
  const workspace = await createWorkspace(place);
  const run = async (prefix: string) =>
    await place.cli(words`import langfuse ${await exportOf(first)} --workspace ${workspace} --prefix ${prefix}`);
  assert.match((await run("old/")).out, "+ old/chat: 1 version, prod-eu → 1\n");
  const wrong = await run("Old Prompts/");
  assert.is(wrong.code, 2);
  assert.match(wrong.said, "--prefix");
});

everywhere("a tool that is not known is refused with those that are", async (place) => {
  for (const from of ["braintrust", "constructor", "__proto__"]) {
    const { code, said } = await place.cli(words`import ${from} ${await exportOf(first)}`);
    assert.is(code, 2);
    assert.match(said, `${from} must be one of langfuse, openai, github, dotprompt, prompty, promptfoo`);
  }
});

everywhere("files that a configuration names are read beside it", async (place) => {
  const workspace = await createWorkspace(place);
  const path = pathOf("test/files/fixtures/promptfooconfig.yaml");
  const { out } = await place.cli(words`import promptfoo ${path} --workspace ${workspace}`);
  assert.match(out, "+ from-a-file-2: 1 version\n");
});

/** Writes a file in a folder of its own, and returns its path. */
async function fileOf(name: string, text: string): Promise<string> {
  const path = `${folder}/files-${count++}/${name}`;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  return path;
}

everywhere("files are recognized, and a second time nothing changes", async (place) => {
  const workspace = await createWorkspace(place), scope = words`--workspace ${workspace}`;
  const prompty = await fileOf(
    "greet.prompty",
    "---\r\nname: Greeter\r\nmodel: gpt-4o\r\n---\r\nuser:\r\nHi {{name}}\r\n",
  );
  const paths = [prompty, await exportOf(first, second)];
  const { code, out } = await place.cli(["import", ...paths, ...scope]);
  assert.is(code, 0);
  assert.match(out, `+ files-`);
  assert.match(out, "greet.prompty: user; variables: name; model: gpt-4o\n");
  assert.match(out, "+ chat: 2 versions, prod-eu → 1, staging → 2\n");
  const again = await place.cli(["import", ...paths, ...scope]);
  assert.equal([again.code, again.out], [0, ""]);
  assert.match(again.said, "2 prompts read, 0 to change\n");
});

everywhere("each file with a fault is named, and where prompts of a format without an owner go", async (place) => {
  const workspace = await createWorkspace(place), scope = words`--workspace ${workspace}`;
  const good = await fileOf("good.prompt.yml", "messages: [{ role: user, content: Hi }]\n");
  const paths = await Promise.all(["a", "b", "c", "d", "e"].map((name) => fileOf(`${name}.prompt`, "{{#x}}")));
  const { said } = await place.cli(["import", good, ...paths, ...scope, "--dry-run"]);
  for (const path of paths) assert.match(said, `${path}:1:1: {{#x}} is more than a variable\n`);
  assert.match(
    said,
    "The format .prompt.yml is no longer maintained: promptledger pull writes these prompts as Markdown",
  );
});

everywhere("a file without a prompt, and one of no tool, are faults", async (place) => {
  const workspace = await createWorkspace(place), scope = words`--workspace ${workspace}`;
  const nothing = await place.cli(["import", "langfuse", await fileOf("empty.json", '{"data":[]}'), ...scope]);
  assert.is(nothing.code, 1);
  assert.match(nothing.said, "empty.json: has no prompts");
  const unknown = await place.cli(["import", await fileOf("package.json", '{"private":true}'), ...scope]);
  assert.is(unknown.code, 1);
  assert.match(unknown.said, "package.json: comes from no tool that is known. Name the tool before it: langfuse, ");
});

everywhere("files of one name in two folders are two prompts, and never versions of one", async (place) => {
  const workspace = await createWorkspace(place), scope = words`--workspace ${workspace}`;
  const one = await fileOf("a/chat.prompty", "user:\nOne {{x}}\n"), two = one.replace("/a/", "/b/");
  await mkdir(dirname(two), { recursive: true });
  await writeFile(two, "user:\nTwo {{y}}\n");
  assert.match((await place.cli(["import", one, two, ...scope])).out, /^\+ a\/chat: .*^\+ b\/chat: /ms);
  assert.match((await place.cli(["import", one, ...scope])).out, "+ chat: 1 version\n");
  const other = await place.cli(["import", two, ...scope]);
  assert.equal([other.code, other.out], [1, ""]);
  assert.match(other.said, "chat: was imported from a/chat.prompty (prompty). Import b/chat.prompty with a --prefix");
  await writeFile(one, "user:\nOne more {{x}}\n");
  assert.match((await place.cli(["import", one, ...scope])).out, "~ chat: 1 version\n");
});

everywhere("labels that would become one deployment become two, and the message says which", async (place) => {
  const workspace = await createWorkspace(place);
  const path = await exportOf({ ...first, labels: ["Prod EU"] }, { ...second, labels: ["prod-eu", "生产"] });
  const { out, said } = await place.cli(words`import langfuse ${path} --workspace ${workspace}`);
  assert.match(out, /chat: 2 versions, prod-eu-\w{8} → 1, prod-eu → 2, label-\w{8} → 2\n/);
  assert.match(said, /The label "Prod EU" becomes the deployment prod-eu-\w{8}/);
  assert.match(said, /The label "生产" becomes the deployment label-\w{8}/);
});

everywhere("more labels than one operation takes become deployments all the same", async (place) => {
  const workspace = await createWorkspace(place), labels = Array.from({ length: 45 }, (_, nth) => `label-${nth}`);
  const path = await exportOf({ ...first, labels });
  assert.is((await place.cli(words`import langfuse ${path} --workspace ${workspace}`)).code, 0);
  assert.is((await deploymentsOf(place, workspace)).length, 45);
});

everywhere(
  "--report writes what became of each prompt and label, and replaces a file only with --force",
  async (place) => {
    const workspace = await createWorkspace(place), scope = words`--workspace ${workspace}`;
    const config = { model: "gpt-4o", tools: [{ type: "function", function: { name: "weather" } }] };
    const versions = [{ ...first, tags: ["a|b"], config }, { name: "Logic", version: 1, prompt: "{{#x}}" }];
    const path = await exportOf(...versions as Version[]), report = `${folder}/report-${count++}.md`;
    const run = (...more: string[]) => place.cli(["import", path, "--report", report, "--dry-run", ...more, ...scope]);
    assert.is((await run()).code, 1);
    const text = await readFile(report, "utf8");
    assert.match(text, "| chat | Chat | langfuse | 1 of 1 | user | a | gpt-4o | weather |\n");
    assert.match(text, "| chat | Prod EU | 1 | prod-eu | 1 |\n");
    assert.match(text, "| Chat version 1 | tags is left out |\n");
    assert.match(text, "| Logic version 1, message 1, character 1 | {{\\#x}} is more than a variable |\n");
    const again = await run();
    assert.is(again.code, 1);
    assert.match(again.said, "exists");
    assert.match((await run("--force")).said, "Nothing was changed");
  },
);

everywhere("a report that cannot be written stops the import before it changes anything", async (place) => {
  const workspace = await createWorkspace(place), scope = words`--workspace ${workspace}`;
  const path = await exportOf(first), report = await fileOf("report.md", "");
  assert.is((await place.cli(["import", path, "--report", report, ...scope])).code, 1);
  assert.equal(await place.data(words`prompt list ${scope}`), []);
});

everywhere("what may be secret is left out, and kept where its name is given", async (place) => {
  const workspace = await createWorkspace(place), scope = words`--workspace ${workspace}`;
  const path = await exportOf({ ...first, config: { model: "m", auth: { token: "abc" } } } as Version);
  const configOf = async (...more: string[]) => {
    const { said } = await place.cli(["import", path, ...more, ...scope]);
    const prompt = `${more[1] ?? ""}chat`;
    return [JSON.stringify((await place.data(words`prompt show ${prompt} ${scope}`)).llmConfig), said] as const;
  };
  const [without, said] = await configOf();
  assert.is(without, '{"model":"m","auth":{}}');
  assert.match(said, "Chat version 1: auth.token is left out, since it may be secret");
  const [kept] = await configOf("--prefix", "kept/", "--keep", "token");
  assert.is(kept, '{"model":"m","auth":{"token":"abc"}}');
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
