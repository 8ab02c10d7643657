// Whether commits of a folder have a content, whatever git keeps there.
// Runs on Node alone.
import { chmod, readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { committedIn } from "../../src/cli/frame/committed.ts";
import { readFolder } from "../../src/files/folder.ts";
import { findCommitted, readBlobs } from "../../src/runtime/git.ts";
import { createFolder } from "../conformance/processes.ts";
import { createPromptFolder, git as gitIn, hasGit, markdown } from "./prompt-folders.ts";

const test = suite("what commits have");

if (!hasGit) console.log("skipped: what commits have: git is not installed");
else {
  test("a content counts from the commit that has it on, and again from that of a merge that differs from both", async () => {
    const { repository, git, commit, has } = await open();
    const write = (text: string) => repository.put({ "prompts/a.md": markdown(text) });
    await write("one");
    await commit(10);
    await git("checkout", "-q", "-b", "branch");
    await write("branch");
    await commit(20);
    await git("checkout", "-q", "main");
    await repository.put({ "prompts/other.md": markdown("other") });
    await commit(30);
    // This takes over the branch's file as it is.
    await git("merge", "-q", "--no-edit", "branch");
    assert.equal([await has("one", 10), await has("one", 11)], [true, false]);
    assert.equal([await has("branch", 20), await has("branch", 21)], [true, false]);

    await git("checkout", "-q", "-b", "second");
    await write("second");
    await commit(40);
    await git("checkout", "-q", "main");
    await write("first");
    await commit(50);
    await git("merge", "-q", "second").catch(() => {});
    await write("both");
    await commit(60);
    assert.equal([await has("both", 60), await has("both", 61), await has("none", 0)], [true, false, false]);
    await repository.remove();
  });

  test("names, bytes and files that are no prompt do not matter", async () => {
    const { repository, commit, path } = await open();
    const names = ["[a].md", "x y.md", "ü\t.md", "12 3.md", ":(top)b.md"];
    const texts = ["", "ü\u0000\ud83d\ude00", "cat-file\n", `${"0".repeat(40)} missing\n`];
    await repository.put(Object.fromEntries(names.map((name, nth) => [`prompts/${name}`, texts[nth] ?? "x"])));
    await commit(10);
    await repository.put({ "prompts/x y.md": null });
    await commit(20);
    const found = await findCommitted(path);
    const known = names.map((name) => found.get(name)!.at(-1)!);
    assert.equal(known.map(({ at }) => at), names.map(() => (start + 10) * 1000));
    const read = await readBlobs(path, ["f".repeat(40), ...known.map(({ blob }) => blob)]);
    assert.equal(known.map(({ blob }) => read.get(blob)), names.map((_, nth) => texts[nth] ?? "x"));
    assert.is(read.size, new Set(known.map(({ blob }) => blob)).size);
    await repository.remove();
  });

  test("git runs a few times, however many files are looked up", async () => {
    const { repository, commit, path } = await open();
    const files = Array.from({ length: 50 }, (_, nth) => `p${nth}.md`);
    await repository.put(Object.fromEntries(files.map((file) => [`prompts/${file}`, markdown(file)])));
    await commit(10);
    const { PATH } = process.env, log = `${repository.path}/log`;
    await repository.put({ "bin/git": `#!/bin/sh\necho run >> '${log}'\nPATH='${PATH}' exec git "$@"\n` });
    await chmod(`${repository.path}/bin/git`, 0o755);
    await writeFile(log, "");
    process.env.PATH = `${repository.path}/bin:${PATH}`;
    try {
      const has = committedIn(path);
      assert.ok((await Promise.all(files.map((file) => has(file, contentOf(file), 0)))).every(Boolean));
    } finally {
      process.env.PATH = PATH;
    }
    assert.ok((await readFile(log, "utf8")).split("\n").length - 1 <= 3);
    await repository.remove();
  });
}

const start = 1_700_000_000; // s, at which the commits' times begin

const contentOf = (text: string) => readFolder(new Map([["a.md", markdown(text)]])).prompts[0]!.content;

/** A git repository whose prompts are in a folder of it. */
async function open() {
  const folder = await createFolder();
  const files = await createPromptFolder(folder.path, {});
  const git = (...args: string[]) => gitIn(folder.path, args);
  await git("init", "-q");
  const path = `${folder.path}/prompts`;
  return {
    path,
    git,
    repository: { ...files, remove: folder.remove },
    async commit(at: number) {
      await git("add", "--all");
      await gitIn(folder.path, ["commit", "-q", "-m", "Change"], start + at);
    },
    /** Whether a commit since a time has the text in its file. */
    has: (text: string, since: number) => committedIn(path)("a.md", contentOf(text), (start + since) * 1000),
  };
}

test.run();
