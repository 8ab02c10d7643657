// Reads the folder of a repository: its manifest, and the prompts in its files. `check` finds their faults, and needs
// neither a database nor a service.
import { conflict, invalid, Refusal } from "../../common/errors.ts";
import { groupBy } from "../../support/group-by.ts";
import { describeFault, placeOf } from "../../files/formats/faults.ts";
import type { Fault } from "../../files/formats/faults.ts";
import { checkPrompts, readFolder } from "../../files/folder.ts";
import type { PromptFile } from "../../files/folder.ts";
import { formatOf, unreadReason } from "../../files/formats/formats.ts";
import { acknowledgementsOf, defaultManifest, manifestNames, readManifest } from "../../files/manifest.ts";
import type { Manifest } from "../../files/manifest.ts";
import { isFolder, listFiles, pathBelow, pathIn } from "../../runtime/folder.ts";
import type { Terminal } from "../../runtime/terminal.ts";
import type { Arguments } from "../frame/arguments.ts";
import type { Command, Outcome } from "../frame/command.ts";
import { counted, oneLine, stripControls } from "../frame/format.ts";
import { readUsage } from "../frame/parameters.ts";
import { faultAnnotations, pathsOnGithub } from "./plan-text.ts";

/** A folder of prompts. The paths of prompts and all files are relative to `folder`; the paths of faults include it. */
type Repository = {
  manifest: Manifest;
  folder: string;
  paths: string[];
  prompts: PromptFile[];
  faults: Fault[];
  /** The paths of files that are no prompts. */
  others: string[];
  acknowledgements: Acknowledgements;
};

/** Warnings that the manifest acknowledges, and its path. */
type Acknowledgements = ReturnType<typeof acknowledgementsOf> & { file: string };

const atOnce = 32; // files

/** Reads the folder that `--dir` names, or the current one. */
export async function readRepository({ args, terminal }: { args: Arguments; terminal: Terminal }): Promise<Repository> {
  const named = args.findText("dir"), base = named ?? ".";
  if (!await isFolder(base)) throw invalid(`${base} is no folder`);
  const { manifest, file, faults } = await readManifestIn(base, terminal);
  const acknowledgements = { ...acknowledgementsOf(manifest ?? defaultManifest), file };
  const folder = await findFolder(base, manifest ?? defaultManifest, named !== undefined || manifest !== undefined);
  const files = new Map<string, string>(), unread: Fault[] = [];
  const paths = await listFiles(folder), wanted = paths.filter(formatOf);
  for (let start = 0; start < wanted.length; start += atOnce) {
    await Promise.all(wanted.slice(start, start + atOnce).map(readOne));
    terminal.report(`Read ${files.size} of ${wanted.length} files`);
  }
  const read = readFolder(files);
  return {
    manifest: manifest ?? defaultManifest,
    folder,
    paths,
    prompts: read.prompts,
    faults: [...faults, ...unread, ...atFolder(folder, read.faults.filter(isUnexpected(acknowledgements)))],
    others: [...read.others, ...paths.filter((path) => !formatOf(path) && !isManifest(path))].sort(),
    acknowledgements,
  };

  async function readOne(path: string): Promise<void> {
    const own = pathIn(folder, path);
    try {
      files.set(path, await terminal.read(await pathBelow(folder, path, "The file"), "The file"));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      unread.push({ file: own, line: 1, column: 1, message: error.message });
    }
  }
}

const isManifest = (path: string): boolean => manifestNames.some((name) => name === path);

const isUnexpected = ({ covers }: Acknowledgements) => ({ file, message, isWarning }: Fault): boolean =>
  !isWarning || !covers(file, message);

/** Adds the folder to the paths of faults, as people know the files. */
const atFolder = (folder: string, faults: readonly Fault[]): Fault[] =>
  faults.map((fault) => ({ ...fault, file: pathIn(folder, fault.file) }));

/** Throws one error with all faults. Warnings are printed. */
export function refuseFaults(faults: readonly Fault[], { say }: Terminal): void {
  const [bad, warnings] = [faults.filter(({ isWarning }) => !isWarning), faults.filter(({ isWarning }) => isWarning)];
  for (const each of warnings) say(`${stripControls(describeFault(each))}\n`);
  if (bad.length > 0) throw conflict(bad.map(describeFault).join("\n"));
}

async function readManifestIn(
  base: string,
  { exists, read }: Terminal,
): Promise<{ manifest: Manifest | undefined; file: string; faults: Fault[] }> {
  const faults: Fault[] = [], names: string[] = [];
  for (const name of manifestNames) if (await exists(pathIn(base, name))) names.push(name);
  const [name, ...others] = names;
  if (name === undefined) return { manifest: undefined, file: "", faults };
  for (const other of others) {
    const message = `${name} is read, and this file is not: remove one of them`;
    faults.push({ file: pathIn(base, other), line: 1, column: 1, message });
  }
  const path = pathIn(base, name), source = await read(await pathBelow(base, name));
  const manifest = readManifest(
    source,
    (offset, message) => void faults.push({ file: path, ...placeOf(source, offset), message }),
  );
  return { manifest: manifest ?? defaultManifest, file: path, faults };
}

/** Folder of the prompts. Without a manifest, a folder that is not given is read only if it is called prompts. */
async function findFolder(base: string, { folder }: Manifest, isNamed: boolean): Promise<string> {
  const path = pathIn(base, folder ?? "prompts");
  if (await isFolder(path)) {
    await pathBelow(base, folder ?? "prompts");
    return path;
  }
  if (folder !== undefined) throw invalid(`${path} is no folder. ${manifestNames[0]} names it`);
  if (isNamed) return base;
  throw invalid(`There is neither a ${manifestNames[0]} here nor a folder prompts. Name the folder with --dir`);
}

async function check(context: { args: Arguments; terminal: Terminal }): Promise<Outcome> {
  const { args, terminal } = context;
  const { folder, prompts, faults, others, acknowledgements } = await readRepository(context);
  const ofPrompts = checkPrompts(prompts).filter(isUnexpected(acknowledgements));
  const unread = describeUnread(others, acknowledgements);
  const all = [...faults, ...atFolder(folder, ofPrompts), ...unusedIn(acknowledgements)]
    .sort((a, b) => a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line || a.column - b.column);
  const bad = all.filter(({ isWarning }) => !isWarning);
  const isForGithub = args.findText("format") === "github";
  const toPath = await pathsOnGithub(folder, terminal);
  return {
    data: { prompts: prompts.length, faults: all },
    text: () =>
      isForGithub ? faultAnnotations(all, toPath) : all.map((fault) => `${oneLine(describeFault(fault))}\n`).join(""),
    isAnnotated: isForGithub,
    note: [
      [
        counted(prompts.length, "prompt"),
        bad.length === 0 ? "no problems" : counted(bad.length, "fault"),
        ...(bad.length === all.length ? [] : [counted(all.length - bad.length, "warning")]),
      ].join(", "),
      ...unread,
    ].join("\n"),
    failed: (args.has("strict") ? all : bad).length > 0,
  };
}

const maxNamed = 10; // files

/** Names the files that are not read, by the reasons. */
function describeUnread(paths: readonly string[], { covers }: Acknowledgements): string[] {
  const unread = paths.flatMap((path) => {
    const reason = unreadReason(path);
    return reason === undefined || covers(path, reason) ? [] : [{ path, reason }];
  });
  return [...groupBy(unread, ({ reason }) => reason)].map(([reason, files]) => {
    const names = files.slice(0, maxNamed).map(({ path }) => oneLine(path)).join(", ");
    const rest = files.length > maxNamed ? ` and ${files.length - maxNamed} more` : "";
    return `Not read: ${counted(files.length, "file")} (${reason}): ${names}${rest}`;
  });
}

/** Warns of what the manifest acknowledges and is not there. */
const unusedIn = ({ unused, file }: Acknowledgements): Fault[] =>
  unused().map(({ path, text, place }) => ({
    ...{ file, ...place, isWarning: true },
    message: `Field acknowledged.${path} acknowledges nothing: remove ${text === "" ? "it" : `"${text}"`}`,
  }));

export const checkCommands: Command[] = [
  {
    ...readUsage("check [--dir DIR] [--format text|github] [--strict]", {}, {
      format: "With github, print annotations for GitHub Actions",
      strict: "Exit with 1 for warnings too",
    }),
    summary: "Check the prompt files of a folder, without a server: syntax, names, variables, secrets",
    needs: "nothing",
    runLocally: check,
  },
];
