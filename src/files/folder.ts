// The prompts of a folder. All faults of all files are found at once.
import { contentIn } from "../management/prompts/prompt-text.ts";
import type { PromptContent } from "../management/prompts/prompt-text.ts";
import { name as titleRule, plainText as descriptionRule } from "../management/kernel/values.ts";
import { checkDeclared } from "./formats/declarations.ts";
import { plainText } from "./formats/edit.ts";
import { reportTo } from "./formats/faults.ts";
import type { Fault } from "./formats/faults.ts";
import { formatOf, nameFault, nameOfFile, unknownToWindows } from "./formats/formats.ts";
import type { Writing } from "./formats/formats.ts";
import { checkHeadings } from "./formats/markdown.ts";
import { findSecrets } from "./formats/secrets.ts";
import { checkVariables } from "./variable-faults.ts";

/** A prompt in a file. `source` is the text of the file, and `path` is relative to the folder. */
export type PromptFile = {
  path: string;
  source: string;
  name: string;
  /** The name as the file has it, if it is not its path. */
  ownName: string | undefined;
  /** The name that the prompt had before. */
  was: string | undefined;
  content: PromptContent;
  writing: Writing;
};

/** `others` are the paths of JSON files that are no prompts. */
export type Folder = { prompts: PromptFile[]; faults: Fault[]; others: string[] };

const maxFile = 1024 * 1024; // characters, as for a prompt that is pushed

/** Reads the prompts among files, which are given as texts by their paths. */
export function readFolder(files: ReadonlyMap<string, string>): Folder {
  const faults: Fault[] = [], others: string[] = [];
  const prompts = new Map<string, PromptFile>(); // by name
  for (const [path, text] of [...files].sort(([a], [b]) => a < b ? -1 : 1)) {
    const format = formatOf(path);
    if (format === undefined) continue;
    if (isOtherJson(path, text)) {
      others.push(path);
      continue;
    }
    const source = plainText(text), report = reportTo(faults, path, source);
    if (source.length > maxFile) {
      report(0, `The file must be at most ${maxFile} characters`);
      continue;
    }
    const content = format.read(source, report);
    if (content === undefined) continue;
    const { was } = content, name = content.name ?? nameOfFile(path, format);
    const fault = nameFault(name) ?? (was === undefined ? undefined : nameFault(was)), other = prompts.get(name);
    if (fault !== undefined) report(0, `${fault}. Rename the file, or give it a name`);
    else if (other !== undefined) report(0, `The name ${name} is that of ${other.path} too`);
    else {
      const { title = name, description = "" } = content;
      const refuse = (member: string, type: string) =>
        report(Math.max(0, source.indexOf(member)), `The ${member} must be ${type}`);
      if (!titleRule.is(title)) refuse("title", titleRule.type);
      if (!descriptionRule.is(description)) refuse("description", descriptionRule.type);
      prompts.set(name, {
        ...{ path, source: text, name, ownName: content.name, was },
        content: contentIn({ ...content, title, description }),
        writing: format.writing,
      });
    }
  }
  return { prompts: [...prompts.values()], faults, others };
}

/** A JSON file without messages is no prompt, such as a package.json or a plan beside prompts. */
function isOtherJson(path: string, text: string): boolean {
  if (!path.endsWith(".json") || !/"messages"\s*:/.test(text)) return path.endsWith(".json");
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !("messages" in value);
  } catch {
    return false; // the reader reports the fault
  }
}

/**
 * Faults of prompts that could be read: secrets, conflicts, text that is almost a heading or a variable, variables that
 * are not as declared, a format that is no longer maintained, and files that not every system can have.
 */
export function checkPrompts(prompts: readonly PromptFile[]): Fault[] {
  const paths = new Map<string, string>(); // by what they are where case does not matter
  return prompts.flatMap(({ path, source: text, name, content, writing }) => {
    const source = plainText(text), faults: Fault[] = [], report = reportTo(faults, path, source);
    for (const { name, offset } of findSecrets(source)) {
      report(offset, `This looks like ${name}. Keep secrets elsewhere`);
    }
    const conflict = /^<{7} [^]*?^={7}$[^]*?^>{7} /m.exec(source);
    if (conflict !== null) report(conflict.index, "This looks like a conflict of a merge. Resolve it");
    if (path.endsWith(".md")) checkHeadings(source, report);
    checkVariables(source, content.messages, report);
    checkDeclared(source, content, report);
    const part = unknownToWindows(path), same = paths.get(path.toLowerCase());
    paths.set(path.toLowerCase(), path);
    if (writing === "as Markdown") {
      report(0, `No tool maintains this format any more. promptledger pull ${name} writes it as Markdown`, true);
    }
    if (part !== undefined) report(0, `Windows cannot have a file called ${part}`, true);
    if (same !== undefined) report(0, `On Windows and macOS this is the same file as ${same}`, true);
    return faults;
  });
}
