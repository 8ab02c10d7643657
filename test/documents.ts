// The documents of the repository, taken apart: sections, blocks of code, code in the prose, links, and shell commands.
import { readdir, readFile } from "node:fs/promises";
import { pathOf } from "./runtimes.ts";

/** A document by its path in the repository. */
type Document = { path: string; text: string };

/** A command of a shell: the variables that are set for it, and its words without quotes. */
export type ShellCommand = { settings: Record<string, string>; words: string[] };

const folders = ["src", "test", "sql"];

/** The paths of all files in the folders of the repository. */
export const files: readonly string[] = (await Promise.all(folders.map(async (folder) => {
  const entries = await readdir(pathOf(folder), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) =>
    `${entry.parentPath}/${entry.name}`.slice(pathOf("").length)
  );
}))).flat().sort();

const paths = ["README", "CHANGELOG", "CONTRIBUTING", "SECURITY"].map((name) => `${name}.md`);

/** All documents, README.md first. */
export const documents: readonly Document[] = await Promise.all(
  [...paths, ...files.filter((path) => path.endsWith(".md"))].map(async (path) => (
    { path, text: await readFile(pathOf(path), "utf8") }
  )),
);

export function documentAt(path: string): Document {
  const found = documents.find((document) => document.path === path);
  if (found === undefined) throw new Error(`There is no document ${path}`);
  return found;
}

/** The text under a heading of the second level. */
export function sectionOf({ path, text }: Document, heading: string): string {
  const section = text.split(/^(?=## )/m).find((part) => part.startsWith(`## ${heading}\n`));
  if (section === undefined) throw new Error(`${path} has no section ${heading}`);
  return section;
}

const fence = /^```(\w*)\n(.*?)^```$/gms;

/** The blocks of code in a language. */
export const blocksOf = (text: string, language: string): string[] =>
  [...text.matchAll(fence)].filter(([, name]) => name === language).map(([, , code]) => code!);

const prose = (text: string) => text.replace(fence, "");

/** What stands between backticks in the prose. */
export const spansOf = (text: string): string[] =>
  Array.from(prose(text).matchAll(/`([^`]+)`/g), ([, span]) => span!.replace(/\s+/g, " "));

/** The targets of links, without those to other sites. */
export const linksOf = (text: string): string[] =>
  Array.from(prose(text).matchAll(/\]\(([^)\s]+)\)/g), ([, target]) => target!).filter((target) =>
    !/^https?:/.test(target)
  );

/** The anchors of headings, as GitHub makes them. */
export const anchorsOf = (text: string): string[] =>
  Array.from(
    prose(text).matchAll(/^#+ (.+)$/gm),
    ([, heading]) => heading!.toLowerCase().replace(/[^\w\s-]/g, "").replace(/\s/g, "-"),
  );

/** The texts of the cells of a table's first column, for each row but its head. */
export const firstCells = (text: string): string[] =>
  Array.from(text.matchAll(/^\| *(.*?) *\|/gm), ([, cell]) => cell!).filter((cell) => !/^-*$/.test(cell)).slice(1);

/** The commands in a text for a shell. */
export const commandsIn = (shell: string): ShellCommand[] =>
  shell.replaceAll(/\\\n\s*/g, "").split("\n").flatMap((line) => splitCommands(wordsOf(line))).map(toCommand);

/** The words of a line up to a comment. */
function wordsOf(line: string): string[] {
  const words = line.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? [];
  const comment = words.findIndex((word) => word.startsWith("#"));
  return comment < 0 ? words : words.slice(0, comment);
}

function splitCommands(words: string[]): string[][] {
  const commands: string[][] = [[]];
  for (const word of words) word === "&&" || word === "|" ? commands.push([]) : commands.at(-1)!.push(word);
  return commands.filter((command) => command.length > 0);
}

function toCommand(words: string[]): ShellCommand {
  const plain = words.map((word) => word.replace(/'([^']*)'|"([^"]*)"/g, (_, single, double) => single ?? double));
  const redirection = plain.indexOf("<");
  const call = redirection < 0 ? plain : plain.slice(0, redirection);
  const start = call.findIndex((word) => !/^[A-Z_]+=/.test(word));
  const settings = call.slice(0, start).map((word) => [word.split("=")[0]!, word.slice(word.indexOf("=") + 1)]);
  return { settings: Object.fromEntries(settings), words: call.slice(start) };
}
