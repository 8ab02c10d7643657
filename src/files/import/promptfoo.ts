// Promptfoo: the prompts of a configuration, inline or in files that it names.
import { Refusal } from "../../common/errors.ts";
import { describeJsonFault } from "../../support/json-fault.ts";
import { isDeeper } from "../../common/json-scan.ts";
import { compact, readItems } from "../../common/json-text.ts";
import { placeOf } from "../formats/faults.ts";
import type { Report } from "../formats/faults.ts";
import { normalize } from "../formats/head.ts";
import { textMessage } from "../formats/messages.ts";
import { readReferenced } from "../formats/prompty.ts";
import { readYamlSource, toSource } from "../formats/source.ts";
import type { Source } from "../formats/source.ts";
import { readYaml } from "../formats/yaml.ts";
import { byTitle, maxLevels, readChat, toVersion } from "./reader.ts";
import type { ImportedFile, ImportedPrompt, Importer, ImportOptions, ReadVersion } from "./reader.ts";

/** A prompt of a configuration: its text, and what the configuration says of its model. */
type Entry = { label: string; text: string; config: [string, string][] };

export const readPromptfoo: Importer = async (files, options) => {
  const all = await Promise.all(files.map((file) => entriesOf(file, options)));
  return all.flat().flatMap((entry): ImportedPrompt[] => byTitle(readEntry(entry, options)));
};

function readEntry({ label, text, config }: Entry, options: ImportOptions): ReadVersion[] {
  const list = chatIn(text);
  const messages = list === undefined
    ? [textMessage("user", text.trim(), "jinja")]
    : readChat(list, "jinja", label, options.complain);
  const [variable] = /\{\{-?\s*env\.\w+/.exec(text) ?? [];
  if (variable !== undefined) {
    const name = variable.replace(/^.*?env/s, "env");
    options.complain(label, `${name} is a variable here: nothing reads it from the environment`, true);
  }
  return [toVersion(toSource("{}"), { title: label, place: label, messages, config }, options)];
}

/** The messages of a text that is a chat: a list of messages as JSON, or as YAML. */
function chatIn(text: string): Source[] | undefined {
  const json = text.trimStart().startsWith("[") && describeJsonFault(text) === undefined
    ? compact(text)
    : /^\s*- role:/.test(text)
    ? readYaml(`messages:\n${text.replace(/^/gm, "  ")}`, 0, () => {})?.members.get("messages")?.text
    : undefined;
  if (json === undefined || isDeeper(json, maxLevels)) return undefined;
  const items = readItems(json).map((item) => toSource(item));
  return items.length > 0 && items.every(({ isObject }) => isObject) ? items : undefined;
}

async function entriesOf({ path, text }: ImportedFile, options: ImportOptions): Promise<Entry[]> {
  const source = normalize(text),
    report: Report = (offset, message, isWarning) => {
      const { line, column } = placeOf(source, offset);
      options.complain(`${path}:${line}:${column}`, message, isWarning);
    };
  const yaml = readYamlSource(source, 0, report);
  if (yaml === undefined) return [];
  const { value } = yaml, [, folder = "."] = /^(.*)[/\\]/s.exec(path) ?? [];
  const byFile = value.object("prompts"), sole = value.text("prompts");
  // A mapping has the label of each file.
  const entries = [
    ...(sole === "" ? [] : [toSource(JSON.stringify(sole))]),
    ...byFile.names().map((id) => toSource(JSON.stringify({ id, label: byFile.text(id) }))),
    ...value.list("prompts"),
  ];
  const read: Entry[] = [];
  for (const [nth, entry] of entries.entries()) read.push(...await entryOf(entry, nth, folder, options));
  for (const unread of value.takeUnread()) options.complain(path, `${unread.join(".")} is left out`, true);
  if (entries.length === 0) options.complain(path, "has no prompts");
  return read;
}

const code = /\.(?:js|mjs|cjs|ts|mts|cts|py|sh|bash|exe|bat|cmd|ps1|rb|pl|go)$/;
const texts = /\.(?:txt|md|j2|json|jsonl|ya?ml|csv)$/;

/** The prompts of an entry: a text, a file, or an object with one of them and a label. */
async function entryOf(entry: Source, nth: number, folder: string, options: ImportOptions): Promise<Entry[]> {
  const config = await resolveFiles(entry.object("config").rest(), folder, options);
  const own = entry.ownText() || entry.text("raw") || entry.text("id"), label = entry.text("label");
  entry.skip("id");
  if (config === undefined) return [];
  if (own === "") return leaveOut(`Prompt ${nth + 1}`, "is no text and no file", options);
  const isPath = !own.includes("\n") &&
    (own.startsWith("file://") || /[^\s]\.\w{1,7}(?::\w+)?$/.test(own) || /^\S*\*\S*$/.test(own));
  const [, file = own, part] = /^(.*\.\w+):(\w+)$/s.exec(own.replace(/^file:\/\//, "")) ??
    [, own.replace(/^file:\/\//, "")];
  if (/^(?:exec|python):/.test(own) || isPath && (code.test(file) || part !== undefined && !texts.test(file))) {
    return leaveOut(own, "is code: write what it gives into a file", options);
  }
  if (/^\w+:\/\//.test(own) && !own.startsWith("file://")) {
    return leaveOut(own, "is an address: write what it gives into a file", options);
  }
  if (!isPath || !(own.startsWith("file://") || file.includes("*") || texts.test(file))) {
    return [{ label: label || `prompt-${nth + 1}`, text: normalize(own), config }];
  }
  const paths = file.includes("*") ? await matching(file, folder, options) : [file];
  if (paths.length === 0) return leaveOut(file, "is a pattern that no file matches", options);
  const entries: Entry[] = [];
  for (const path of paths) {
    const base = path.replace(/^.*[/\\]|\.\w+$/g, "");
    const name = label === "" ? base : paths.length === 1 ? label : `${label}-${base}`;
    entries.push(...await readFile(path, name, config, folder, options));
  }
  return entries;
}

const reference = /(?<!\\)"file:\/\/((?:[^"\\]|\\.)*)"/g;

/** Members of a configuration, with files in the place of references to them. Undefined if one is not read, which is reported. */
async function resolveFiles(
  members: Entry["config"],
  folder: string,
  options: ImportOptions,
): Promise<Entry["config"] | undefined> {
  const values = new Map<string, string>();
  let isRead = true;
  for (const [json, path] of members.flatMap(([, json]) => [...json.matchAll(reference)])) {
    const text = code.test(path!) ? undefined : await readBelow(path!, folder, options);
    const value = text === undefined ? undefined : readReferenced(path!, normalize(text), () => undefined);
    if (value === undefined) {
      leaveOut(path!, "is in a configuration and cannot be read as text, JSON or YAML", options);
      isRead = false;
    } else values.set(json, value);
  }
  const resolved = members.map(([name, json]): [string, string] => [
    name,
    json.replace(reference, (whole) => values.get(whole) ?? ""),
  ]);
  return isRead ? resolved : undefined;
}

/** The text of a file below a folder. Undefined without one, or if its path leads out of the folder. */
async function readBelow(path: string, folder: string, { read }: ImportOptions): Promise<string | undefined> {
  return await read(folder, path).catch((error: unknown) => {
    if (error instanceof Refusal) return undefined;
    throw error;
  });
}

function leaveOut(place: string, why: string, { complain }: ImportOptions): [] {
  complain(place, why);
  return [];
}

/** The files below a folder that a pattern matches. */
async function matching(pattern: string, folder: string, { list }: ImportOptions): Promise<string[]> {
  const source = pattern.replace(/^\.\//, "").replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replace(
      /\*\*\/|\*\*|\*|\?/g,
      (mark) => mark === "**/" ? "(?:.*/)?" : mark === "**" ? ".*" : mark === "*" ? "[^/]*" : "[^/]",
    );
  const expression = new RegExp(`^${source}$`);
  return (await list?.(folder) ?? []).filter((path) => expression.test(path) && (texts.test(path) || code.test(path)));
}

async function readFile(
  file: string,
  label: string,
  config: Entry["config"],
  folder: string,
  options: ImportOptions,
): Promise<Entry[]> {
  if (code.test(file)) return leaveOut(file, "is code: write what it gives into a file", options);
  if (!texts.test(file)) return leaveOut(file, "is in no format that holds texts: write it into a text file", options);
  let text: string | undefined;
  try {
    text = await options.read(folder, file);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return leaveOut(file, `is left out: ${error.message}`, options);
  }
  if (text === undefined) return leaveOut(file, "cannot be read", options);
  const parts = textsIn(file, normalize(text), (message) => leaveOut(file, message, options));
  if (parts.length === 0) return [];
  return parts.map((own, index) => ({
    label: own.label ?? (parts.length === 1 ? label : `${label}-${index + 1}`),
    text: own.text,
    config,
  }));
}

/** The prompts of a file, by its ending. Only a text file is parted by lines of dashes. */
function textsIn(file: string, text: string, refuse: (message: string) => []): { text: string; label?: string }[] {
  if (file.endsWith(".txt")) {
    return text.split(/^[ \t]*---[ \t]*$/m).filter((part) => part.trim() !== "").map((part) => ({ text: part }));
  }
  if (file.endsWith(".jsonl")) {
    return text.split("\n").filter((line) => line.trim() !== "").map((line) => ({ text: line }));
  }
  if (file.endsWith(".csv")) return rowsIn(text);
  if (!/\.ya?ml$/.test(file)) return [{ text }];
  const yaml = readYaml(`value:\n${text.replace(/^---[ \t]*\n/, "").replace(/^/gm, "  ")}`, 0, () => {});
  const json = yaml?.members.get("value")?.text;
  if (json === undefined) return refuse("is no YAML that holds a prompt");
  return [{ text: json.startsWith('"') ? JSON.parse(json) as string : json }];
}

/** The prompts of a table: a column `prompt`, with labels beside it, or one prompt a line. */
function rowsIn(text: string): { text: string; label?: string }[] {
  const rows = text.includes(",") ? parseRows(text) : [];
  const head = rows[0]?.map((name) => name.trim()) ?? [],
    prompt = head.indexOf("prompt"),
    label = head.indexOf("label");
  if (prompt >= 0) {
    return rows.slice(1).filter((row) => row[prompt]?.trim()).map((row) => {
      const own = row[label]?.trim();
      return { text: row[prompt]!.trim(), ...(own ? { label: own } : {}) };
    });
  }
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.slice(lines[0]?.trim().toLowerCase() === "prompt" ? 1 : 0).map((line) => ({ text: line }));
}

/** The rows of a table with commas, in which a cell may be in quotes. */
function parseRows(text: string): string[][] {
  const rows: string[][] = [[]];
  for (const [whole, quoted, plain, end] of text.matchAll(/"((?:[^"]|"")*)"(?=[,\n]|$)|([^,\n]+)|([,\n])/g)) {
    const row = rows.at(-1)!;
    if (end === "\n") rows.push([]);
    else if (end === ",") row.push("");
    else row.splice(Math.max(0, row.length - 1), 1, quoted?.replaceAll('""', '"') ?? plain ?? whole);
  }
  return rows;
}
