// `pull`: writes the ledger's prompts into the files of a folder.
import type { WorkspaceId } from "../../common/ids.ts";
import { conflict } from "../../common/errors.ts";
import type { Authorship, LedgerPrompt, LedgerVersion } from "../../files/plan.ts";
import { formatOf } from "../../files/formats/formats.ts";
import { asJson, writeChanged, writeNew } from "../../files/write.ts";
import type { WrittenFile } from "../../files/write.ts";
import { canAdd, makeFolderOf, pathBelow, pathIn, removeFile } from "../../runtime/folder.ts";
import { findUncommitted } from "../../runtime/git.ts";
import type { Terminal } from "../../runtime/terminal.ts";
import { committedIn } from "../frame/committed.ts";
import type { Command, CommandContext, Outcome } from "../frame/command.ts";
import { readLedger } from "./ledger-prompts.ts";
import { readUsage, remote } from "../frame/parameters.ts";
import { readRepository, refuseFaults } from "./repository.ts";
import { findWorkspace } from "../frame/workspace.ts";

/** Result of pulling a prompt. */
type Pulled = { name: string; version: number; path: string; action: "created" | "changed" };

async function pull(context: CommandContext): Promise<Outcome> {
  const { args, call, terminal } = context;
  const { manifest, folder, paths, prompts, faults } = await readRepository({ args, terminal });
  refuseFaults(faults, terminal);
  const workspaceId = args.findText<WorkspaceId>("workspace") ?? await findWorkspace(call, manifest.workspace);
  const ledger = await readLedger(call, workspaceId, (read) => terminal.report(`Read ${read} prompts of the ledger`));
  const files = new Map(prompts.map((file) => [file.name, file]));
  const chosen = new Set(args.findText("PROMPT") === undefined ? ledger.keys() : [args.text("PROMPT")]);
  for (const name of chosen) if (!ledger.has(name)) throw conflict(`Prompt ${name} not found. See prompt list`);

  // A prompt that is named is written regardless of its file.
  const isAhead = args.has("force") || args.findText("PROMPT") !== undefined ? undefined : committedIn(folder);
  const ahead: string[] = [], unwritten: string[] = [];
  const taken = new Set(paths), notes: string[] = [], writes: [Pulled, WrittenFile][] = [];
  for (const prompt of ledger.values()) {
    if (!chosen.has(prompt.name)) continue;
    const file = files.get(prompt.name) ?? prompts.find(({ was }) => was === prompt.name);
    if (prompt.isArchived) {
      if (file !== undefined) notes.push(`${prompt.name} is archived, and ${pathIn(folder, file.path)} is still there`);
      continue;
    }
    const wanted = await findWanted(prompt, args.findText("live"));
    if (wanted === undefined) continue;
    const { version } = wanted;
    const isFree = (path: string) => canAdd(taken, path);
    const written = file === undefined
      ? writeNew(prompt.name, version.content, isFree)
      : writeChanged(file, version.content, isFree, args.findText("PROMPT") !== undefined);
    if (written === undefined) continue;
    if (file?.writing === "never") {
      unwritten.push(
        `${pathIn(folder, file.path)} differs, and files of its format are only read: change it by hand`,
      );
      continue;
    }
    if (file !== undefined && isAhead !== undefined) {
      const { isFromFiles, createdAt } = await wanted.findAuthor();
      if (isFromFiles || await isAhead(file.path, version.content, createdAt)) {
        ahead.push(pathIn(folder, file.path));
        continue;
      }
    }
    taken.add(written.path);
    notes.push(...describeReplaced(written, folder));
    const action = file === undefined ? "created" : "changed";
    writes.push([{ name: prompt.name, version: version.version, path: pathIn(folder, written.path), action }, written]);
  }
  if (!args.has("force")) await requireCommitted(folder, writes.map(([, written]) => written), terminal);
  for (const [nth, [, { path, text, replaces }]] of writes.entries()) {
    terminal.report(`Wrote ${nth} of ${writes.length} files`);
    await writeFile(folder, path, text, true, terminal);
    if (replaces !== undefined) await removeFile(await pathBelow(folder, replaces));
  }
  const data = writes.map(([pulled]) => pulled);
  return {
    data,
    text: () => data.map(({ action, path, version }) => `${action} ${path} (version ${version})\n`).join(""),
    note: [
      ...notes,
      ...unwritten,
      ...describeAhead(ahead),
      ...(data.length + ahead.length + unwritten.length === 0 ? ["The files have what the ledger has"] : []),
    ].join("\n") || undefined,
  };
}

const describeAhead = (paths: readonly string[]): string[] =>
  paths.length === 0 ? [] : [`Left as they are, since they changed after what the ledger has: ${paths.join(", ")}`];

type Wanted = { version: LedgerVersion; findAuthor(): Promise<Authorship> };

/** The newest version and who made it, or the one that a deployment of this name serves and who made it live. */
async function findWanted({ newest, deployments, findVersion }: LedgerPrompt, name: string | undefined) {
  if (name === undefined) return { version: newest, findAuthor: () => Promise.resolve(newest) } satisfies Wanted;
  const found = deployments.find((deployment) => deployment.name === name && !deployment.isArchived);
  if (found === undefined) return undefined;
  return { version: await findVersion(found.currentVersion), findAuthor: found.findPromotion } satisfies Wanted;
}

/** Says which file takes the place of another one. */
function describeReplaced({ path, replaces }: WrittenFile, folder: string): string[] {
  if (replaces === undefined) return [];
  if (formatOf(replaces)?.writing === "as Markdown") {
    return [`${pathIn(folder, replaces)} becomes ${pathIn(folder, path)}, since its format is no longer written`];
  }
  const beside = asJson(replaces), taken = path === beside ? "" : ` and ${pathIn(folder, beside)} is taken`;
  return [`${pathIn(folder, replaces)} becomes ${pathIn(folder, path)}, since Markdown cannot hold it${taken}`];
}

/** Throws if a file that would be replaced has changes that are in no commit. Without git, no file is in one. */
async function requireCommitted(
  folder: string,
  files: readonly WrittenFile[],
  { exists }: Terminal,
): Promise<void> {
  const uncommitted = await findUncommitted(folder, "--ignored"), lost: string[] = [];
  for (const path of files.flatMap(({ path, replaces }) => replaces === undefined ? [path] : [path, replaces])) {
    const isKept = uncommitted !== undefined && !uncommitted.has(path);
    if (!isKept && await exists(pathIn(folder, path))) lost.push(pathIn(folder, path));
  }
  if (lost.length === 0) return;
  const why = uncommitted === undefined ? "no git repository keeps" : "no commit has";
  throw conflict(`Nothing was written, since ${why} what is in ${lost.join(", ")}. Commit it, or pull with --force`);
}

/** Writes a file below a folder, and makes the folders that it is in. */
export async function writeFile(
  folder: string,
  path: string,
  text: string,
  force: boolean,
  { create }: Terminal,
): Promise<void> {
  const own = await pathBelow(folder, path);
  await makeFolderOf(own);
  const file = await create(own, { force });
  await file.write(text);
  await file.finish();
}

export const pullCommands: Command[] = [
  {
    ...readUsage(
      `pull [PROMPT] [--live NAME] [--dir DIR] [--workspace WORKSPACE] [--force]${remote}`,
      {},
      {
        PROMPT: "The name of one prompt. Default: all of them",
        live: "Write what deployments of this name serve. Default: the newest versions",
        workspace:
          "Its id or name. Default: PROMPTLEDGER_WORKSPACE, or what promptledger.yml names, or else the only one",
        force: "Replace files that changed after what the ledger has, and those with changes that are in no commit",
      },
    ),
    summary: "Write prompts that were changed elsewhere to the files of a folder, including new ones",
    role: "viewer",
    run: pull,
  },
];
