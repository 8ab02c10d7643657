// Writes prompts as files: Markdown, or JSON for what Markdown cannot hold.
import { indent, stringify } from "../common/json-text.ts";
import { canonicalOf } from "./content.ts";
import type { FileContent } from "./content.ts";
import { formatOf, nameOfFile } from "./formats.ts";
import { writeMarkdown } from "./markdown.ts";
import type { PromptFile } from "./folder.ts";

/** A file to write. `path` is relative to the folder. `replaces` is the path of a file that it takes the place of. */
export type WrittenFile = { path: string; text: string; replaces?: string };

/**
 * The file of a prompt that has none, under its name. If there can be no file of that path, or `isFree` says that there is
 * another one, the file has another path and says the name.
 */
export function writeNew(
  name: string,
  content: FileContent,
  isFree: (path: string) => boolean = () => true,
): WrittenFile {
  const ending = writeMarkdown(content) === undefined ? ".json" : ".md";
  const readsAs = (path: string) => {
    const format = formatOf(path);
    return format !== undefined && isFree(path) ? nameOfFile(path, format) : undefined;
  };
  let path = `${name}${ending}`;
  if (readsAs(path) === name) return { path, text: write(content) };
  const base = `prompt-${name.replace(/[/.]/g, "-")}`;
  path = `${base}${ending}`;
  for (let nth = 2; readsAs(path) === undefined; nth++) path = `${base}-${nth}${ending}`;
  return { path, text: write({ ...content, name }) };
}

const write = (content: FileContent): string => writeMarkdown(content) ?? toJson(content);

/**
 * The file of a prompt with another content: undefined if it has that content. What the file says besides, such as comments
 * and a rename, survives. A Markdown file becomes JSON if Markdown cannot hold the content, with another name if `isFree` says
 * that there is a file of that path.
 */
export function writeChanged(
  file: PromptFile,
  content: FileContent,
  isFree: (path: string) => boolean,
): WrittenFile | undefined {
  const { path, source, ownName, was } = file;
  if (canonicalOf(file.content) === canonicalOf(content)) return undefined;
  const named = { ...content, name: ownName, was };
  const text = path.endsWith(".json") ? toJson(named) : writeMarkdown(named, source);
  if (text !== undefined) return { path, text };
  const beside = asJson(path);
  const written = isFree(beside)
    ? { path: beside, text: toJson(named) }
    : writeNew(file.name, { ...content, was }, isFree);
  return { ...written, replaces: path };
}

/** The path of a Markdown file as JSON, beside it. */
export const asJson = (path: string): string => path.replace(/(\.prompt)?\.md$/, ".json");

const toJson = ({ name, was, title, description, messages, llmConfig, declarations: variables }: FileContent): string =>
  `${indent(stringify({ name, was, title, description: description || undefined, messages, llmConfig, variables }))}\n`;
