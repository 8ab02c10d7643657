// Files are read and written only below the folder that was named, with all links followed: by commands on prompt files, by
// importers, and by backups.
// Runs on every runtime in CI.
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, realpath, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { Refusal } from "../../src/common/errors.ts";
import { isFolder, pathBelow } from "../../src/runtime/folder.ts";
import { openFolderPlace } from "../../src/runtime/backups/backup-folder.ts";
import { nameOf } from "../../src/runtime/backups/backup-names.ts";
import { createFolder } from "../conformance/processes.ts";
import { currentRuntime } from "../runtimes.ts";
import { openPlaces, runIn, words } from "./places.ts";
import { markdown } from "./prompt-folders.ts";

const test = suite(`links on ${currentRuntime}`);

const { here, folder } = await openPlaces(test);

const secret = '{"auths":{"registry.example":{"auth":"c2VjcmV0"}}}';

/** A folder with a repository in it, beside which there is a secret. Links are given by their targets. */
async function open(files: Record<string, string>, links: Record<string, string> = {}) {
  const root = await realpath(await mkdtemp(`${folder}/`)), path = `${root}/repository`;
  await mkdir(`${root}/outside/prompts`, { recursive: true });
  await writeFile(`${root}/outside/config.json`, secret);
  await writeFile(`${root}/outside/prompts/chat.md`, markdown("Outside"));
  const put = async (file: string, write: (path: string) => Promise<unknown>) => {
    await mkdir(dirname(`${path}/${file}`), { recursive: true });
    await write(`${path}/${file}`);
  };
  await mkdir(path);
  for (const [file, text] of Object.entries(files)) await put(file, (own) => writeFile(own, text));
  for (const [file, target] of Object.entries(links)) await put(file, (own) => symlink(target, own));
  return { root, path, outside: () => contentsOf(`${root}/outside`) };
}

/** The texts of all files below a folder. */
async function contentsOf(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name)).sort();
  return Object.fromEntries(
    await Promise.all(files.map(async (file) => [file, await readFile(file, "utf8")] as const)),
  );
}

const noSecret = (text: string) => assert.not.match(text, /c2VjcmV0|registry\.example|Outside/);

test("an import reads no file but those below the folder of the export", async () => {
  const reaching = [
    ...["../outside/config.json", "file://../outside/config.json", "a/../../outside/config.json", "link.json"],
    ...[
      "linked/config.json",
      "file:///ABSOLUTE/outside/config.json",
      "/ABSOLUTE/outside/config.json",
      "./../outside/config.json",
    ],
  ];
  for (const reference of reaching) {
    const links = { "link.json": "../outside/config.json", linked: "../outside" };
    const { path, root } = await open({ "own.txt": "Own" }, links);
    const named = reference.replace("/ABSOLUTE", root);
    await writeFile(`${path}/promptfooconfig.yaml`, `prompts:\n  - ${JSON.stringify(named)}\n  - own.txt\n`);
    const { id } = await here.data<{ id: string }>(words`workspace create --name ${root}`);
    const { code, out, said } = await here.cli(
      words`import promptfoo ${`${path}/promptfooconfig.yaml`} --workspace ${id}`,
    );
    assert.is(code, 1, reference);
    assert.is(out, "+ own: 1 version\n  own: user; variables: none; model: none\n", reference);
    assert.match(said, /is left out: \S+ leads out of \S+repository: only files below it are read and written$/m);
    noSecret(out + said + JSON.stringify(await here.data(words`prompt list --workspace ${id}`)));
  }
});

test("no reference in a prompt file or in a configuration reads a file outside the folder", async () => {
  const { path, root } = await open({}, { "link.json": "../outside/config.json" });
  const { id } = await here.data<{ id: string }>(words`workspace create --name ${root}`);
  const files: [name: string, write: (reference: string) => string][] = [
    ["a.prompty", (reference) => `---\nmodel:\n  parameters:\n    tools: \${file:${reference}}\n---\nuser:\nHi\n`],
    ["promptfooconfig.yaml", (reference) => `prompts:\n  - raw: Hi\n    config: { tools: "file://${reference}" }\n`],
  ];
  for (const [name, write] of files) {
    for (
      const reference of [
        "../outside/config.json",
        "link.json",
        `${root}/outside/config.json`,
        "a/../../outside/config.json",
      ]
    ) {
      await writeFile(`${path}/${name}`, write(reference));
      const { code, out, said } = await here.cli(words`import ${`${path}/${name}`} --workspace ${id}`);
      assert.equal([code, out], [1, ""], reference);
      assert.match(said, "cannot be read", reference);
      noSecret(out + said);
    }
  }
});

test("a link to a file in the folder is read, and so is a folder that is a link itself", async () => {
  const { root, path } = await open({ "prompts/own.txt": "Own" }, { "link.txt": "prompts/own.txt" });
  await symlink(path, `${root}/named`);
  await writeFile(`${path}/promptfooconfig.yaml`, "prompts:\n  - link.txt\n  - prompts/../prompts/own.txt\n");
  const { id } = await here.data<{ id: string }>(words`workspace create --name ${root}`);
  const args = words`import promptfoo ${`${root}/named/promptfooconfig.yaml`} --workspace ${id}`;
  const { code, out, said } = await here.cli(args);
  assert.is(code, 0, said);
  assert.match(out, /^\+ link: 1 version\n.*^\+ own: 1 version\n/ms);
});

const repositories: [name: string, files: Record<string, string>, links: Record<string, string>][] = [
  ["a folder that is a link", { "promptledger.yml": "folder: linked\n" }, { linked: "../outside/prompts" }],
  ["a folder behind a link", { "promptledger.yml": "folder: linked/prompts\n" }, { linked: "../outside" }],
  ["a folder prompts that is a link", {}, { prompts: "../outside/prompts" }],
  ["a manifest that is a link", { "prompts/chat.md": markdown("Own") }, {
    "promptledger.yml": "../outside/config.json",
  }],
];

for (const [name, files, links] of repositories) {
  test(`${name} and leads outside is refused by every command, and nothing is read or written there`, async () => {
    const { root, path, outside } = await open(files, links), before = await outside();
    const { id } = await here.data<{ id: string }>(words`workspace create --name ${root}`);
    await here.data(
      words`prompt push - --name support/new --workspace ${id}`,
      JSON.stringify({ title: "T", messages: [{ role: "user", content: "New" }] }),
    );
    const commands = [["check"], ["types"], ["bundle"], ["plan", "--workspace", id], [
      "pull",
      "--workspace",
      id,
      "--force",
    ], ["apply", "--yes", "--workspace", id]];
    for (const args of commands) {
      const { code, out, said } = await here.cli([...args, "--dir", path]);
      assert.is(code, 1, `${args.join(" ")}: ${said}`);
      assert.match(said, /leads out of \S+repository: only files below it are read and written$/m);
      noSecret(out + said);
    }
    assert.equal(await outside(), before);
  });
}

test("a folder that the manifest names by a link to one beside it is read and written", async () => {
  const files = { "promptledger.yml": "folder: linked\n", "real/chat.md": markdown("Own") };
  const { root, path } = await open(files, { linked: "real" });
  await symlink(path, `${root}/named`);
  for (const dir of [path, `${root}/named`]) {
    const { code, said } = await here.cli(words`check --dir ${dir}`);
    assert.equal([code, said], [0, "1 prompt, no problems\n"]);
  }
});

const pulls: [name: string, links: Record<string, string>, isInside: boolean][] = [
  ["a folder of the name's that leads outside", { "prompts/support": "../../outside" }, false],
  ["a file of the name's that leads outside", { "prompts/support/chat.md": "../../../outside/prompts/chat.md" }, false],
  ["a file of the name's that leads to none outside", { "prompts/support/chat.md": "../../../outside/new.md" }, false],
  ["a folder of the name's that leads inside", { "prompts/support": "elsewhere" }, true],
];

for (const [name, links, isInside] of pulls) {
  test(`pull and export write ${isInside ? "to" : "nothing to"} ${name}`, async () => {
    const { root, path, outside } = await open({ "prompts/elsewhere/keep.txt": "" }, links);
    const before = await outside();
    const { id } = await here.data<{ id: string }>(words`workspace create --name ${root}`);
    const prompt = { title: "T", messages: [{ role: "user", content: "New" }] };
    await here.data(words`prompt push - --name support/chat --workspace ${id}`, JSON.stringify(prompt));
    const pulled = await here.cli(words`pull --dir ${path} --workspace ${id} --force`);
    assert.is(pulled.code, isInside ? 0 : 1, pulled.said);
    if (isInside) assert.match(await readFile(`${path}/prompts/elsewhere/chat.md`, "utf8"), "New");
    else assert.match(pulled.said, /leads out of \S+: only files below it are read and written$/m);
    const exported = await here.cli(words`export prompts ${`${path}/prompts`} --workspace ${id} --force`);
    // Each prompt is a folder there.
    assert.is(exported.code, isInside || "prompts/support/chat.md" in links ? exported.code : 1, exported.said);
    assert.equal(await outside(), before);
  });
}

test("a file to write that is a link inside of the current folder is written there, and never outside", async () => {
  const links = {
    "out.ts": "../outside/config.json",
    "new.ts": "../outside/new.ts",
    "dir/to": "../../outside",
    "in.ts": "real.ts",
  };
  const { path, outside } = await open({
    "promptledger.yml": "deploy: {staging: latest}\n",
    "prompts/chat.md": markdown("Own"),
    "real.ts": "",
  }, links);
  const before = await outside(), cwd = process.cwd();
  process.chdir(path);
  try {
    for (const out of ["out.ts", "new.ts", "dir/to/types.ts", `${path}/out.ts`, "./dir/../out.ts"]) {
      for (const args of [["types"], ["bundle"]]) {
        const { code, said } = await runIn([...args, "--out", out], {});
        assert.is(code, 1, out);
        assert.match(said, /leads out of \S+repository: only files below it are read and written$/m);
      }
    }
    assert.is((await runIn(["types", "--out", "in.ts"], {})).code, 0);
    assert.match(await readFile("real.ts", "utf8"), "chat@staging");
    assert.is(await readlink("in.ts"), "real.ts");
  } finally {
    process.chdir(cwd);
  }
  assert.equal(await outside(), before);
});

test("the mark and the backups of a folder follow no link", async () => {
  const { path, outside, root } = await open({}, { "promptledger-database.txt": "../outside/config.json" });
  const before = await outside(), place = openFolderPlace(path, "BACKUP_TO"), name = nameOf(Date.now(), false);
  const faultOf = (work: Promise<unknown>) =>
    work.then(() => "none", (error: Error) => error instanceof Refusal ? error.message : String(error));
  assert.match(await faultOf(place.readMark()), /promptledger-database\.txt cannot be read: /);
  await place.writeMark("0123");
  assert.ok((await lstat(`${path}/promptledger-database.txt`)).isFile());
  assert.is(await place.readMark(), "0123");
  // One that a killed process has left does not keep the next mark from being written.
  await symlink("../outside/config.json", `${path}/promptledger-database.txt.part`);
  await place.writeMark("4567");
  assert.is(await place.readMark(), "4567");
  await symlink(`${root}/outside/config.json`, `${path}/${name}`);
  assert.equal(await place.list(), []);
  const read = async () => {
    for await (const part of place.get(name)) noSecret(String(part));
  };
  assert.match(await faultOf(read()), /cannot be read: /);
  assert.equal(await outside(), before);
});

/** A path of these parts, or a link at it. */
const part = fc.constantFrom("a", "b", "c", "..", ".", "file.txt");
const paths = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join("/"));

test("whatever the links are, a path that is taken is below the folder once they are followed", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(paths, paths), { maxLength: 6 }), paths, async (links, path) => {
      const { path: root, remove } = await createFolder();
      try {
        await mkdir(`${root}/own/a/b`, { recursive: true });
        await mkdir(`${root}/outside`);
        await writeFile(`${root}/outside/file.txt`, secret);
        for (const [at, target] of links) await symlink(target, join(`${root}/own`, at)).catch(() => {});
        const target = await pathBelow(`${root}/own`, path).catch((error: unknown) => {
          assert.instance(error, Refusal);
        });
        if (target === undefined) return;
        const real = await realpath(`${root}/own`);
        assert.ok(target === real || target.startsWith(`${real}/`), target);
        // Nothing more is to follow.
        const followed = await realpath(target).catch(() => target);
        assert.is(followed, target);
      } finally {
        await remove();
      }
    }),
    { numRuns: 100 },
  );
  assert.is(await isFolder(`${folder}/none`), false);
});

test.run();
