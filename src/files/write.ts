// Writes prompts as files: Markdown, or JSON for what Markdown cannot hold.
import { canonicalOf } from "./formats/content.ts";
import type { FileContent } from "./formats/content.ts";
import { plainText, withLineEnds } from "./formats/edit.ts";
import { formatOf, nameOfFile } from "./formats/formats.ts";
import { writeJson } from "./formats/json.ts";
import { writeMarkdown } from "./formats/markdown.ts";
import type { PromptFile } from "./folder.ts";

/** A file to write. `path` is relative to the folder. `replaces` is the path of a file to remove. */
export type WrittenFile = { path: string; text: string; replaces?: string };

/**
 * Returns a new file for a prompt, under its name. If that path is impossible, or `isFree` reports it as taken, the
 * file gets another path and contains the name.
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

const write = (content: FileContent): string => writeMarkdown(content) ?? writeJson(content);

/**
 * The file of a prompt with another content: undefined if it has that content. All of the file that need not change stays as it
 * is, a rename and comments too. A Markdown file becomes JSON if Markdown cannot hold the content, with another name if `isFree`
 * says that there is a file of that path. A format that is no longer written becomes Markdown, with `moves` in any case.
 */
export function writeChanged(
  file: PromptFile,
  content: FileContent,
  isFree: (path: string) => boolean,
  moves = false,
): WrittenFile | undefined {
  const { path, source, name, ownName, was, writing } = file, isMoved = writing === "as Markdown";
  if (canonicalOf(file.content) === canonicalOf(content) && !(moves && isMoved)) return undefined;
  if (isMoved) return { ...writeNew(name, { ...content, was }, isFree), replaces: path };
  const plain = plainText(source), current = formatOf(path)?.read(plain, () => {});
  // A title that is the name need not be in the file.
  const title = current?.title === undefined && content.title === name ? undefined : content.title;
  const named = { ...content, title, name: ownName, was };
  const text = path.endsWith(".json") ? writeJson(named, plain) : writeMarkdown(named, plain);
  if (text !== undefined) return { path, text: withLineEnds(text, source) };
  const beside = asJson(path);
  const written = isFree(beside)
    ? { path: beside, text: writeJson({ ...named, title: content.title }) }
    : writeNew(name, { ...content, was }, isFree);
  return { ...written, replaces: path };
}

/** The path of a Markdown file as JSON, in the same folder. */
export const asJson = (path: string): string => path.replace(/(\.prompt)?\.md$/, ".json");
