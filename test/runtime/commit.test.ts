// The commit of a checkout, as git's files tell it.
// Runs on every runtime in CI.
import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { findCommit } from "../../src/runtime/commit.ts";
import { createFolder } from "../conformance/processes.ts";

const test = suite("commit");

const { path: folder, remove } = await createFolder();
test.after(remove);

const identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com", "-c", "protocol.file.allow=always"];
const env = { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: "1" };

/** What git prints when it runs in a folder. */
const git = async (cwd: string, ...args: string[]): Promise<string> =>
  (await promisify(execFile)("git", [...identity, ...args], { cwd, env })).stdout.trim();

async function createRepository(name: string, ...options: string[]): Promise<string> {
  const path = join(folder, name);
  await mkdir(path);
  await git(path, "init", "-q", ...options);
  await commit(path);
  return path;
}

const commit = (path: string) => git(path, "commit", "-q", "--allow-empty", "-m", "Change");

async function isThatOfGit(path: string): Promise<void> {
  const expected = (await git(path, "rev-parse", "HEAD")).slice(0, 12);
  assert.match(expected, /^[\da-f]{12}$/);
  assert.is(await findCommit(path), expected);
}

const hasGit = await git(".", "--version").then(() => true, () => false);
if (!hasGit) console.log("skipped: repositories that git makes: git is not installed");
else {
  test("is that of the branch, of a packed branch, and of one that moved after it was packed", async () => {
    const path = await createRepository("plain");
    await git(path, "checkout", "-q", "-b", "feature/of-ann");
    await isThatOfGit(path);
    await git(path, "branch", "other/feature/of-ann");
    await git(path, "pack-refs", "--all");
    await isThatOfGit(path);
    await commit(path);
    await isThatOfGit(path);
  });

  test("is that of a detached HEAD", async () => {
    const path = await createRepository("detached");
    await commit(path);
    await git(path, "checkout", "-q", "HEAD~1");
    await isThatOfGit(path);
  });

  test("is that of a linked worktree, whose branch is packed or not, and not of the repository", async () => {
    const path = await createRepository("linked-from");
    const linked = join(folder, "linked");
    await git(path, "worktree", "add", "-q", "-b", "feature", linked);
    await commit(linked);
    await isThatOfGit(linked);
    assert.is.not(await findCommit(linked), await findCommit(path));
    await git(linked, "pack-refs", "--all");
    await isThatOfGit(linked);
    await git(linked, "checkout", "-q", "--detach");
    await commit(linked);
    await isThatOfGit(linked);
  });

  test("is that of a submodule, and of a clone", async () => {
    const path = await createRepository("outer");
    await git(path, "submodule", "add", "-q", await createRepository("inner"), "inside");
    await isThatOfGit(join(path, "inside"));
    await git(folder, "clone", "-q", path, "clone");
    await isThatOfGit(join(folder, "clone"));
  });

  test("is that of a reference that leads to another one", async () => {
    const path = await createRepository("symbolic");
    await git(path, "symbolic-ref", "refs/heads/alias", await git(path, "symbolic-ref", "HEAD"));
    await git(path, "symbolic-ref", "HEAD", "refs/heads/alias");
    await isThatOfGit(path);
  });

  test("is that of a repository with SHA-256", async () => {
    await isThatOfGit(await createRepository("sha256", "--object-format=sha256"));
  });

  test("is not known before the first commit, nor in a folder of a checkout", async () => {
    const path = join(folder, "unborn");
    await mkdir(join(path, "below"), { recursive: true });
    await git(path, "init", "-q");
    assert.is(await findCommit(path), undefined);
    await commit(path);
    assert.is(await findCommit(join(path, "below")), undefined);
  });
}

const hash = "0123456789abcdef0123456789abcdef01234567";

const files: [name: string, files: Record<string, string>, commit: string | undefined][] = [
  ["no repository", {}, undefined],
  ["a HEAD with a hash and a Windows line end", { ".git/HEAD": `${hash}\r\n` }, hash.slice(0, 12)],
  ["an empty HEAD", { ".git/HEAD": "\n" }, undefined],
  ["a hash that is too short", { ".git/HEAD": hash.slice(1) }, undefined],
  ["a HEAD that is no hash", { ".git/HEAD": "x".repeat(40) }, undefined],
  ["a `.git` file that leads nowhere", { ".git": "gitdir: /no/such/folder\n" }, undefined],
  ["a `.git` file with other text", { ".git": "elsewhere\n" }, undefined],
  ["a repository whose references are not in files", { ".git/HEAD": "ref: refs/heads/.invalid\n" }, undefined],
  ["a reference that leads to itself", { ".git/HEAD": "ref: HEAD\n" }, undefined],
  [
    "a packed reference with the end of another name",
    {
      ".git/HEAD": "ref: refs/heads/main\n",
      ".git/packed-refs": `# pack-refs with: peeled\n${hash} other/refs/heads/main\n`,
    },
    undefined,
  ],
];

for (const [name, contents, expected] of files) {
  test(`${name} has ${expected === undefined ? "no commit" : "its commit"}`, async () => {
    const path = join(folder, "by-hand");
    await mkdir(path);
    for (const [file, text] of Object.entries(contents)) {
      await mkdir(dirname(join(path, file)), { recursive: true });
      await writeFile(join(path, file), text);
    }
    assert.is(await findCommit(path), expected);
    await rm(path, { recursive: true });
  });
}

test.run();
