// Prompts by name on the command line: push from a path, pull, promote, rename and archive.
// Runs on Node alone.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { terminal } from "../../src/runtime/terminal.ts";
import { promptFile } from "../helpers.ts";
import { openPlaces, words } from "./places.ts";
import type { Data, Place } from "./places.ts";

const test = suite("names on the command line");

const { everywhere, folder, request } = await openPlaces(test);

/** Resolves paths like a shell in the folder. */
const inFolder = {
  read: (path: string) => terminal.read(resolve(folder, path)),
  create: (path: string, options: { force: boolean }) => terminal.create(resolve(folder, path), options),
};

await mkdir(`${folder}/support`);
await writeFile(`${folder}/support/assistant.json`, JSON.stringify(promptFile));
await writeFile(`${folder}/named.json`, JSON.stringify({ ...promptFile, name: "from/file" }));
await writeFile(`${folder}/Upper.json`, JSON.stringify(promptFile));
await writeFile(`${folder}/wrong.json`, JSON.stringify({ ...promptFile, messages: [] }));

async function makeWorkspace({ data }: Place): Promise<string> {
  const { id } = await data(words`workspace create --name Names`);
  return id!;
}

everywhere(
  "the line for CI, for staging and then for production, makes one prompt with two deployments",
  async (place) => {
    const scope = ["--workspace", await makeWorkspace(place)];
    const push = async (deploy: string) => {
      const args = words`prompt push support/assistant.json ${scope} --deploy ${deploy}`;
      const { code, said } = await place.cli(args, "", inFolder);
      assert.is(code, 0, said);
      return said;
    };
    assert.match(
      await push("staging"),
      /^Pushed version 1 of the new prompt support\/assistant; support\/assistant@staging \(dep_\w+\) is new and serves it\n$/,
    );
    assert.match(
      await push("production"),
      /^Unchanged: version 1 of support\/assistant has this content already; support\/assistant@production \(dep_\w+\) is new/,
    );
    assert.equal((await place.data<Data[]>(words`prompt list ${scope}`)).map(({ name }) => name), [
      "support/assistant",
    ]);
    const references = (await place.data<Data[]>(words`deploy list ${scope}`)).map(({ reference }) => reference).sort();
    assert.equal(references, ["support/assistant@production", "support/assistant@staging"]);
  },
);

const named: [args: string, name: string][] = [
  ["support/assistant.json", "support/assistant"],
  ["./support/assistant.json", "support/assistant"],
  [".././../support/assistant.json", "support/assistant"],
  ["named.json", "from/file"],
  ["named.json --name from/option", "from/option"],
  ["Upper.json --name upper", "upper"],
];

everywhere("a prompt gets the name of the option, else of the file, else of the path", async (place) => {
  const scope = ["--workspace", await makeWorkspace(place)];
  // Leading ./ and ../ are not part of a name.
  const read = (path: string) => inFolder.read(path.replace(/^(\.\.?\/)+/, ""));
  for (const [args, name] of named) {
    const { json, said } = await place.cli(words`prompt push ${args.split(" ")} ${scope} --new --json`, "", { read });
    assert.is((json as Data | undefined)?.name, name, said);
  }
  const unnamed: [path: string, error: string][] = [
    ["-", "Standard input has no path to name the prompt after. Give --name, or a name in the file"],
    ["Upper.json", "A prompt cannot be named after Upper.json: its name must be lower-case letters, digits"],
    [`${folder}/named.txt`, `A prompt cannot be named after the absolute path ${folder}/named.txt`],
  ];
  await writeFile(`${folder}/named.txt`, JSON.stringify(promptFile));
  for (const [path, error] of unnamed) {
    const { code, said } = await place.cli(words`prompt push ${path} ${scope}`, JSON.stringify(promptFile), {
      ...path === "-" ? {} : inFolder,
    });
    assert.is(code, 1);
    assert.ok(said.startsWith(`promptledger: ${error}`), said);
  }
  const { code } = await place.cli(words`prompt push named.json ${scope} --name a --prompt b`, "", inFolder);
  assert.is(code, 2);
});

everywhere("a prompt is pushed from every kind of file that a folder of prompts has", async (place) => {
  const scope = ["--workspace", await makeWorkspace(place)];
  const files = {
    "chat.md": "\ufeff---\r\ntitle: Chat\r\n---\r\n# system\r\nHi {{x}}\r\n",
    "chat.prompt.md": "Untitled",
    "gh.prompt.yml": "messages:\n  - role: user\n    content: Hi\ntestData:\n  - input: x\n",
    "bad.md": "---\nrole: x\nllmConfig: 1\n---\nHi\n",
  };
  for (const [path, text] of Object.entries(files)) await writeFile(`${folder}/${path}`, text);
  const push = (...args: string[]) => place.cli([...words`prompt push`, ...args, ...scope, "--json"], "", inFolder);
  const contentOf = async (...args: string[]) => {
    const { json, said } = await push(...args), { name, title, messages } = json as Record<string, unknown>;
    return [name, title, messages, said.split("\n")[0]];
  };
  const system = [{ role: "system", content: "Hi {{x}}" }], user = (content: string) => [{ role: "user", content }];
  assert.equal(await contentOf("chat.md"), ["chat", "Chat", system, "Pushed version 1 of the new prompt chat"]);
  const untitled = (await contentOf("chat.prompt.md", "--prompt", "chat")).slice(0, 3);
  assert.equal(untitled, ["chat", "Chat", user("Untitled")]);
  assert.equal(await contentOf("gh.prompt.yml"), [
    ...["gh", "gh", user("Hi")],
    "gh.prompt.yml:4:1: Warning: Field testData is left out",
  ]);
  const { code, said } = await push("bad.md");
  const allowed = "Unknown field role. Allowed: name, was, title, description, llmConfig, variables";
  assert.equal([code, said], [
    1,
    `promptledger: bad.md:2:1: ${allowed}\nbad.md:3:1: Field llmConfig must be a mapping\n`,
  ]);
});

everywhere(
  "a new prompt with the title or the content of another one is refused, unless --new is given",
  async (place) => {
    const scope = ["--workspace", await makeWorkspace(place)];
    const push = (name: string, prompt: object, ...more: string[]) =>
      place.cli(words`prompt push - ${scope} --name ${name} ${more}`, JSON.stringify(prompt));
    assert.is((await push("a", promptFile)).code, 0);
    const retitled = { ...promptFile, title: "Other" };
    const refused = (shared: string) =>
      `promptledger: Prompt a has the same ${shared}. To push to it, give its name; to create another one, use --new\n`;
    for (
      const [shared, prompt] of [
        ["title", promptFile],
        ["title", { ...promptFile, messages: [{ role: "user", content: "x" }] }],
        ["content", retitled],
      ] as const
    ) {
      const { code, said } = await push("prompts/a", prompt);
      assert.equal([code, said], [1, refused(shared)]);
    }
    assert.is((await push("a", promptFile)).code, 0);
    assert.is((await push("b", { ...retitled, llmConfig: { temperature: 1.5 } })).code, 0);
    assert.is((await push("c", promptFile, "--new")).code, 0);
    await place.data(words`prompt archive a ${scope}`);
    await place.data(words`prompt archive c ${scope}`);
    assert.is((await push("d", promptFile)).code, 0);
  },
);

everywhere("--root says from where on the path gives the name", async (place) => {
  const scope = ["--workspace", await makeWorkspace(place)];
  const push = (...more: string[]) =>
    place.cli(words`prompt push ${more} ${scope} --json`, "", { read: () => inFolder.read("support/assistant.json") });
  const nameOf = async (...more: string[]) => ((await push(...more)).json as Data | undefined)?.name;
  assert.is(await nameOf("prompts/support/chat.json", "--root", "prompts"), "support/chat");
  assert.is(await nameOf("./prompts/support/chat.json", "--root", "prompts/"), "support/chat");
  assert.is(await nameOf(`${folder}/support/chat.json`, "--root", folder), "support/chat");
  for (const path of ["other/a.json", "../prompts/a.json", "prompts", "promptsa.json"]) {
    const { code, said } = await push(path, "--root", "prompts");
    assert.equal([code, said], [1, `promptledger: ${path} is not in prompts\n`]);
  }
  assert.match((await push("-", "--root", "x")).said, "Standard input has no path to name the prompt after");
  assert.match((await push("a.json", "--root", "x", "--name", "a")).said, "--name and --root exclude each other");
});

everywhere("a first promotion creates the deployment", async (place) => {
  const { workspaceId } = await place.setUp();
  const scope = ["--workspace", workspaceId];
  const promote = (...args: string[]) => place.cli(["deploy", "promote", ...args, ...scope, "--json"]);
  const { code, said, json } = await promote("greeting@live", "--from", "production");
  assert.equal([code, said], [0, "Created greeting@live, which serves version 1\n"]);
  const { reference, currentVersion, revision } = json as Record<string, unknown>;
  assert.equal([reference, currentVersion, revision], ["greeting@live", 1, 1]);
  const errors: [args: string[], error: string][] = [
    [words`greeting@new --from none`, "Deployment none not found"],
    [words`greeting@new --version 9`, "Version 9 of prompt"],
    [words`greeting@new --from greeting@new`, "Deployment greeting@new not found"],
    [words`none@new --from production`, "Prompt none not found"],
    [words`greeting@New --from production`, "name must be lower-case letters"],
    [words`dep_0 --from production`, "Deployment dep_0 not found"],
  ];
  for (const [args, error] of errors) {
    const refused = await promote(...args);
    assert.is(refused.code, 1);
    assert.match(refused.said, error);
  }
  assert.is((await promote("greeting@canary", "--version", "1")).code, 0);
  const all = await place.data<Data[]>(words`deploy list ${scope}`);
  assert.equal(all.map(({ name }) => name), ["canary", "live", "production"]);
  assert.is((await promote("greeting@live", "--from", "canary")).code, 0);
});

everywhere("the wrong file cannot replace what is live without --force", async (place) => {
  const { workspaceId, key, deployId } = await place.setUp();
  const push = words`prompt push wrong.json --workspace ${workspaceId} --deploy production`;
  const other = await place.cli([...push, "--new"], "", inFolder);
  assert.match(other.said, "Pushed version 1 of the new prompt wrong; wrong@production");
  assert.is((await request(key, deployId)).json!["title" as never], "Greeting");
  const refused = await place.cli([...push, "--name", "greeting"], "", inFolder);
  assert.is(refused.code, 1);
  assert.match(refused.said, "removes variables that are live in greeting@production: name");
  assert.is((await place.data<Data[]>(words`prompt versions greeting --workspace ${workspaceId}`)).length, 1);
  const forced = await place.cli([...push, "--name", "greeting", "--force"], "", inFolder);
  assert.equal(forced.code, 0, forced.said);
  assert.match(
    forced.said,
    "Pushed version 2 of greeting; variables since version 1: removed name; greeting@production",
  );
});

everywhere("prompt push accepts what prompt pull writes and prompt show prints", async (place) => {
  const { workspaceId, promptId, deployId } = await place.setUp();
  const scope = ["--workspace", workspaceId];
  const file = `pulled-${workspaceId}.json`;
  const exact =
    '{"title":"Exact","messages":[{"role":"user","content":"{{name}} שלום"}],"llmConfig":{"x":1.0,"y":1e400}}';
  await place.data(words`prompt push - ${scope} --name greeting`, exact);
  const refs: [ref: string, version: number][] = [
    ["greeting", 2],
    [promptId, 2],
    ["greeting@production", 1],
    [deployId, 1],
  ];
  for (const [ref, version] of refs) {
    const pulled = await place.cli(words`prompt pull ${ref} ${file} ${scope} --force --json`, "", inFolder);
    assert.equal(pulled.json, { file, promptId, name: "greeting", version });
    const pushed = await place.cli(words`prompt push ${file} ${scope}`, "", inFolder);
    assert.equal(pushed.code, 0, pushed.said);
    const shown = await place.cli(words`prompt show ${ref} ${scope} --json`);
    const again = await place.cli(words`prompt push - ${scope}`, shown.out);
    assert.match(again.said, /^Unchanged: version \d of greeting has/);
    await place.data(words`prompt push - ${scope} --name greeting`, exact);
  }
  const text = await readFile(`${folder}/${file}`, "utf8");
  assert.equal(Object.keys(JSON.parse(text)), ["name", "title", "description", "messages", "llmConfig"]);
  const first = await place.cli(words`prompt pull greeting - --version 1 ${scope}`);
  assert.is(first.out, text);
  const newest = await place.cli(words`prompt pull greeting - ${scope} --json`);
  assert.ok(newest.out.includes('"x":1.0') && newest.out.includes('"y":1e400'), newest.out);
  const taken = await place.cli(words`prompt pull greeting ${file} ${scope}`, "", inFolder);
  assert.equal([taken.code, taken.said], [
    1,
    `promptledger: ${resolve(folder, file)} already exists; use --force to replace it\n`,
  ]);
  const both = await place.cli(words`prompt pull ${deployId} - --version 1`);
  assert.equal([both.code, both.out], [1, ""]);
});

everywhere("deploy promote --from makes the version live that is live there", async (place) => {
  const { workspaceId } = await place.setUp();
  const scope = ["--workspace", workspaceId];
  const two = JSON.stringify({ ...promptFile, title: "Two" });
  await place.data(words`prompt push - ${scope} --name greeting --deploy staging`, two);
  const promoted = await place.data(words`deploy promote greeting@production --from staging ${scope}`);
  assert.is(promoted.currentVersion, 2);
  for (const options of [[], words`--from staging --version 1`]) {
    const { code, said } = await place.cli(words`deploy promote greeting@production ${scope} ${options}`);
    assert.is(code, 2);
    assert.match(said, "One of --version and --from must be given");
  }
});

everywhere("a rename says which references change", async (place) => {
  const { workspaceId, deployId } = await place.setUp();
  const scope = ["--workspace", workspaceId];
  const prompt = await place.cli(words`prompt rename greeting --name support/assistant ${scope} --json`);
  assert.is(prompt.said, "From now on greeting@production is support/assistant@production\n");
  assert.equal((prompt.json as { references: object }).references, [
    { from: "greeting@production", to: "support/assistant@production" },
  ]);
  const rename = words`deploy rename support/assistant@production --name live ${scope}`;
  assert.is((await place.cli(rename)).said, "From now on support/assistant@production is support/assistant@live\n");
  const old = await place.cli(rename);
  assert.equal([old.code, old.said], [1, "promptledger: Deployment support/assistant@production not found\n"]);
  const same = await place.cli(words`deploy rename ${deployId} --name live`);
  assert.equal([same.code, same.said], [0, "Nothing to change: it is named live\n"]);
});

everywhere("a name that several workspaces have needs --workspace", async (place) => {
  const { workspaceId, deployId } = await place.setUp();
  await place.setUp();
  const { code, said } = await place.cli(words`stats --deploy greeting@production`);
  assert.is(code, 1);
  assert.match(
    said,
    "Several workspaces have the deployment greeting@production. Give the workspace too: use --workspace\n",
  );
  const stats = await place.data(words`stats --deploy greeting@production --workspace ${workspaceId}`);
  assert.is(stats.deployId, deployId);
});

everywhere("lists hide archived items without --archived", async (place) => {
  const { workspaceId, key, deployId } = await place.setUp();
  const scope = ["--workspace", workspaceId];
  const archived = await place.cli(words`deploy archive greeting@production ${scope} --note Unused`);
  assert.equal([archived.code, archived.said], [0, "From now on it is archived, so requests are refused\n"]);
  assert.is((await request(key, deployId)).status, 404);
  assert.equal(await place.data<Data[]>(words`deploy list ${scope}`), []);
  const [listed] = await place.data<Data[]>(words`deploy list ${scope} --archived`);
  assert.equal([listed!.id, typeof listed!.archivedAt], [deployId, "number"]);
  const push = await place.cli(words`prompt push - ${scope} --deploy ${deployId}`, JSON.stringify(promptFile));
  assert.equal([push.code, push.said.includes("greeting@production is archived")], [1, true]);
  const back = await place.cli(words`deploy unarchive ${deployId}`);
  assert.is(back.said, "From now on it is not archived\n");
  assert.is((await place.cli(words`prompt archive greeting ${scope}`)).code, 0);
  assert.equal(await place.data<Data[]>(words`prompt list ${scope}`), []);
  assert.match(
    (await place.cli(words`prompt list ${scope} --archived`)).out,
    /^name +version +live +title +archivedAt/,
  );
  assert.is((await place.cli(words`prompt unarchive greeting ${scope}`)).code, 0);
  assert.is((await request(key, deployId)).status, 200);
});

test.run();
