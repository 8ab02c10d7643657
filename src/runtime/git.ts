// What git says of a folder. Without git, or outside of a repository, it says nothing.
import { execFile } from "node:child_process";

export type Head = { commit: string; author: string; repository?: string | undefined };

/** The commit that is checked out, and who wrote it; undefined outside of a repository, and before its first commit. */
export async function findHead(folder: string): Promise<Head | undefined> {
  const shown = await git(folder, "log", "-1", "--format=%H%n%an");
  if (shown === undefined) return undefined;
  const [commit = "", author = ""] = shown.split("\n");
  const address = (await git(folder, "config", "--get", "remote.origin.url"))?.trim();
  return { commit, author, repository: address === undefined ? undefined : withoutPassword(address) };
}

/**
 * The files below a folder, relative to it, that differ from the last commit or are in none. With `--ignored`, those that git
 * ignores are among them. Undefined outside of a repository.
 */
export async function findUncommitted(folder: string, ...options: "--ignored"[]): Promise<Set<string> | undefined> {
  const all = ["--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", ...options];
  const [status, prefix] = [
    await git(folder, "status", ...all, "--", "."),
    await git(folder, "rev-parse", "--show-prefix"),
  ];
  if (status === undefined || prefix === undefined) return undefined;
  const start = prefix.trimEnd().length;
  return new Set(status.split("\0").filter((line) => line !== "").map((line) => line.slice(3).slice(start)));
}

/** The texts that a file in a folder had in its last commits, and when each was made in ms. The newest comes first. */
export async function* findCommitted(folder: string, path: string): AsyncGenerator<{ text: string; at: number }> {
  const log = await git(folder, "--literal-pathspecs", "log", "--max-count=100", "--format=%H %ct", "--", path) ?? "";
  for (const [, commit, seconds] of log.matchAll(/^(\w+) (\d+)$/gm)) {
    const text = await git(folder, "show", `${commit}:./${path}`);
    if (text !== undefined) yield { text, at: Number(seconds) * 1000 };
  }
}

/** Whether a repository has but the last of its commits, as CI clones it by default. */
export const isShallow = async (folder: string): Promise<boolean> =>
  (await git(folder, "rev-parse", "--is-shallow-repository"))?.trim() === "true";

/** `https://user:secret@host/path` → `https://host/path` */
export const withoutPassword = (address: string): string => address.replace(/^(\w+:\/\/)[^/@]*@/, "$1");

/** What a git command prints; undefined if it fails. */
const git = (folder: string, ...args: string[]): Promise<string | undefined> =>
  new Promise((resolve) => {
    const options = { cwd: folder, maxBuffer: 64 * 1024 * 1024, timeout: 60_000 };
    execFile("git", args, options, (error, stdout) => resolve(error === null ? stdout : undefined));
  });
