// Folders of prompt files for tests of plan, apply, pull and check, and git repositories of them.
import { execFile } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { listFiles } from "../../src/runtime/folder.ts";
import { inherited } from "../conformance/processes.ts";

export type PromptFolder = {
  path: string;
  /** Writes files, or removes those that are null. */
  put(files: Record<string, string | null>): Promise<void>;
  /** The text of a file. */
  read(file: string): Promise<string>;
  /** All files by their paths. */
  readAll(): Promise<Record<string, string>>;
};

/** The text of a prompt file with one message. */
export const markdown = (text: string, title = "Title"): string => `---\ntitle: ${title}\n---\n# user\n${text}\n`;

/** What goes to staging and production. */
export const bothLatest = "deploy:\n  staging: latest\n  production: latest\n";

/** Makes a folder with files. */
export async function createPromptFolder(path: string, files: Record<string, string | null>): Promise<PromptFolder> {
  const folder: PromptFolder = {
    path,
    async put(files) {
      for (const [file, text] of Object.entries(files)) {
        await mkdir(dirname(`${path}/${file}`), { recursive: true });
        if (text === null) await rm(`${path}/${file}`, { force: true });
        else await writeFile(`${path}/${file}`, text);
      }
    },
    read: (file) => readFile(`${path}/${file}`, "utf8"),
    readAll: async () =>
      Object.fromEntries(
        await Promise.all((await listFiles(path)).map(async (file) => [file, await folder.read(file)])),
      ),
  };
  await folder.put({ "promptledger.yml": bothLatest, ...files });
  return folder;
}

/** Runs git in a folder, as Ada, and returns what it prints. `at` is the second at which it commits. */
export async function git(path: string, args: string[], at?: number): Promise<string> {
  const identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "init.defaultBranch=main"];
  const date = at === undefined ? {} : { GIT_COMMITTER_DATE: `${at} +0000` };
  const env = { ...inherited, HOME: path, GIT_CONFIG_NOSYSTEM: "1", ...date };
  return (await promisify(execFile)("git", [...identity, ...args], { cwd: path, env })).stdout.trim();
}

/** Whether git is installed. */
export const hasGit = await git(".", ["--version"]).then(() => true, () => false);
