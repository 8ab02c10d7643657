// The formats of prompt files by how their names end, and the name of a prompt by the path of its file.
import * as v from "../../management/kernel/values.ts";
import type { FileContent } from "./content.ts";
import type { Report } from "./faults.ts";
import { readJson } from "./json.ts";
import { readMarkdown } from "./markdown.ts";
import { readDotprompt } from "./dotprompt.ts";
import { readPromptYaml } from "./prompt-yaml.ts";
import { readPrompty } from "./prompty.ts";

/** Where a prompt goes that was changed elsewhere: into its file, into a Markdown file in its place, or nowhere. */
export type Writing = "in place" | "as Markdown" | "never";

type Format = { ending: string; read(source: string, report: Report): FileContent | undefined; writing: Writing };

// A longer ending comes before those that it ends with. GitHub has given up `.prompt.yml`.
const formats: Format[] = [
  { ending: ".prompt.md", read: readMarkdown, writing: "in place" },
  { ending: ".md", read: readMarkdown, writing: "in place" },
  { ending: ".json", read: readJson, writing: "in place" },
  { ending: ".prompt.yml", read: readPromptYaml, writing: "as Markdown" },
  { ending: ".prompt.yaml", read: readPromptYaml, writing: "as Markdown" },
  { ending: ".prompty", read: readPrompty, writing: "never" },
  { ending: ".prompt", read: readDotprompt, writing: "never" },
];

/** The format of a file by its path; undefined if it is not a prompt, such as README.md. */
export function formatOf(path: string): Format | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return /^[A-Z_-]+\.md$/.test(name)
    ? undefined
    : formats.find(({ ending }) => name.length > ending.length && name.endsWith(ending));
}

// Files that repositories have beside prompts.
const companions =
  /(^|\/)(\.[^/]*|(README|CHANGELOG|CONTRIBUTING|CODE_OF_CONDUCT|LICEN[CS]E|SECURITY)(\.(md|txt))?|(package(-lock)?|tsconfig|deno|plan)\.json)$/;

/** Why a file is not read; undefined if nobody would take it for a prompt. */
export function unreadReason(path: string): string | undefined {
  if (companions.test(path)) return undefined;
  if (path.endsWith(".json")) return "JSON without messages";
  return path.endsWith(".md") ? "names in capitals are those of documents" : "names of prompts end in .md or .json";
}

/** `support/chat.md` → `support/chat` */
export const nameOfFile = (path: string, { ending }: Format): string => path.slice(0, -ending.length);

const device = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/** The part of a path that Windows cannot have as a file or a folder; undefined if it can have all of them. */
export const unknownToWindows = (path: string): string | undefined =>
  path.split("/").find((part) => device.test(part) || /[<>:"|?*\\]|[. ]$/.test(part));

/** Error message for an invalid prompt name; undefined if it is valid. */
export const nameFault = (name: string): string | undefined =>
  v.promptName.is(name) ? undefined : `The name of a prompt must be ${v.promptName.type}`;
