// Finds the commit of a checkout in git's files, without running git, and writes it into the package that is packed
// there.
import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "../common/build.ts";

const root = new URL("../../", import.meta.url);

/** Finds the commit of this code, if it runs in a checkout. A bundle within a checkout may be of another commit. */
export async function loadCommit(): Promise<void> {
  if (import.meta.url.endsWith("/src/runtime/commit.ts")) build.commit ??= await findCommit(fileURLToPath(root));
}

/** Writes the commit of the checkout into the compiled code, where `npm pack` calls this. */
export async function stampPackage(): Promise<void> {
  const commit = await findCommit(fileURLToPath(root));
  if (commit === undefined) return;
  const file = new URL("dist/common/build.js", root);
  const unstamped = await readFile(file, "utf8");
  const stamped = unstamped.replace("commit: undefined", `commit: "${commit}"`);
  if (stamped === unstamped) throw new Error(`${fileURLToPath(file)} has no place for the commit`);
  await writeFile(file, stamped);
}

const shownDigits = 12;
const maxReferences = 5; // that lead from one to another, as in git

/** The commit that a folder has checked out: 12 hexadecimal digits. Undefined if git's files do not contain it. */
export async function findCommit(folder: string): Promise<string | undefined> {
  // In a linked worktree and in a submodule, `.git` is a file that names the folder.
  const [, elsewhere] = /^gitdir: (.+)$/.exec(await textOf(join(folder, ".git"))) ?? [];
  const own = resolve(folder, elsewhere ?? ".git");
  // A linked worktree has a separate HEAD. It shares the branches.
  const shared = resolve(own, await textOf(join(own, "commondir")));
  let text = await textOf(join(own, "HEAD"));
  for (let count = 0; count < maxReferences; count++) {
    const [, reference] = /^ref: (.+)$/.exec(text) ?? [];
    if (reference === undefined) break;
    text = await textOf(join(own, reference)) || await textOf(join(shared, reference)) ||
      findPacked(await textOf(join(shared, "packed-refs")), reference);
  }
  return /^([\da-f]{40}|[\da-f]{64})$/.test(text) ? text.slice(0, shownDigits) : undefined;
}

/** A file's text without the white space around it. Empty if it cannot be read. */
const textOf = (path: string): Promise<string> => readFile(path, "utf8").then((text) => text.trim(), () => "");

/** The hash of a reference in git's file of packed references, whose lines are `HASH NAME`. */
const findPacked = (packed: string, reference: string): string =>
  packed.split(/\r?\n/).find((line) => line.endsWith(` ${reference}`))?.split(" ")[0] ?? "";
