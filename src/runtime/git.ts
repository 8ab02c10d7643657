// Reads a folder's state from git. Without git, or outside of a repository, results are empty or undefined.
import { Buffer } from "node:buffer";
import { execFile } from "node:child_process";
import { groupBy } from "../support/group-by.ts";

export type Head = { commit: string; author: string; repository?: string | undefined };

/** The commit that is checked out, and its author; undefined outside of a repository, and before its first commit. */
export async function findHead(folder: string): Promise<Head | undefined> {
  const shown = await git(folder, "log", "-1", "--format=%H%n%an");
  if (shown === undefined) return undefined;
  const [commit = "", author = ""] = shown.split("\n");
  const address = (await git(folder, "config", "--get", "remote.origin.url"))?.trim();
  return { commit, author, repository: address === undefined ? undefined : withoutPassword(address) };
}

/**
 * The uncommitted files below a folder, relative to it: changed or untracked ones. With `--ignored`, also files that
 * git ignores. Undefined outside of a repository.
 */
export async function findUncommitted(folder: string, ...options: "--ignored"[]): Promise<Set<string> | undefined> {
  const all = ["--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", ...options];
  const [status, start] = [await git(folder, "status", ...all, "--", "."), await findPrefix(folder)];
  if (status === undefined || start === undefined) return undefined;
  return new Set(status.split("\0").filter((line) => line !== "").map((line) => line.slice(3).slice(start)));
}

/** The root of the repository of a folder; undefined outside of one. */
export const findRoot = async (folder: string): Promise<string | undefined> =>
  (await git(folder, "rev-parse", "--show-toplevel"))?.replace(/\r?\n$/, "");

/** The length of a folder's path in its repository, with the slash behind it. */
const findPrefix = async (folder: string): Promise<number | undefined> =>
  (await git(folder, "rev-parse", "--show-prefix"))?.trimEnd().length;

/** A file in a commit: the id of its text, and the time of the commit in ms. */
export type Committed = { path: string; blob: string; at: number };

/** Committed states of the files of a folder, by their paths in it. The newest comes first. */
export async function findCommitted(folder: string): Promise<Map<string, Committed[]>> {
  // For a merge, -c lists only the files that differ from all parents: the others were committed before.
  const options = ["--raw", "-c", "-z", "--no-abbrev", "--no-renames", "--no-follow", "--format=%ct"];
  const settings = ["-c", "log.showRoot=true", "-c", "diff.relative=false"];
  const [log = "", start = 0] = [
    await git(folder, ...settings, "log", ...options, "--", "."),
    await findPrefix(folder),
  ];
  const found: Committed[] = [];
  let at = 0;
  for (const [, seconds, blob, path] of log.matchAll(/(\d+)\0|:[^\0]* (\w+) [A-Z]+\0([^\0]+)\0/g)) {
    if (seconds !== undefined) at = Number(seconds) * 1000;
    else found.push({ path: path!.slice(start), blob: blob!, at });
  }
  return groupBy(found, ({ path }) => path);
}

/** The texts of blobs, by id. */
export async function readBlobs(folder: string, ids: readonly string[]): Promise<Map<string, string>> {
  const printed = await runGit(folder, ["cat-file", "--batch"], ids.join("\n"), "latin1") ?? "";
  const texts = new Map<string, string>();
  // Each id is followed by the size of its text, or by `missing`.
  const head = /(\w+) (?:blob (\d+)|missing)\n/y;
  for (let found = head.exec(printed); found !== null; found = head.exec(printed)) {
    const [, id, size] = found, start = head.lastIndex;
    if (size === undefined) continue;
    texts.set(id!, Buffer.from(printed.slice(start, start + Number(size)), "latin1").toString());
    head.lastIndex = start + Number(size) + 1;
  }
  return texts;
}

/** True if a repository contains only its latest commits, as a CI clone does by default. */
export const isShallow = async (folder: string): Promise<boolean> =>
  (await git(folder, "rev-parse", "--is-shallow-repository"))?.trim() === "true";

/** `https://user:secret@host/path` → `https://host/path` */
export const withoutPassword = (address: string): string => address.replace(/^(\w+:\/\/)[^/@]*@/, "$1");

/** Output of a git command; undefined if it fails. */
const git = (folder: string, ...args: string[]): Promise<string | undefined> => runGit(folder, args);

const runGit = (
  folder: string,
  args: string[],
  input = "",
  encoding: BufferEncoding = "utf8",
): Promise<string | undefined> =>
  new Promise((resolve) => {
    const options = { cwd: folder, maxBuffer: 64 * 1024 * 1024, timeout: 60_000, encoding };
    const { stdin } = execFile("git", args, options, (error, stdout) => resolve(error === null ? stdout : undefined));
    stdin?.on("error", () => {}); // git has ended, or is not installed
    stdin?.end(input);
  });
