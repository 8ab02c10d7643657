// Reads exports of other tools as JSON, with the few rules that all importers share, and puts their versions together to prompts.
import { groupBy } from "../../support/group-by.ts";
import { describeJsonFault } from "../../support/json-fault.ts";
import { isDeeper } from "../../common/json-scan.ts";
import { compact, readItems, readMembers } from "../../common/json-text.ts";
import type { Declarations } from "../../management/prompts/declarations.ts";
import type { LlmConfig, Messages } from "../../schema/serving.ts";
import { declareVariables } from "../formats/declarations.ts";
import type { DeclaredVariable } from "../formats/declarations.ts";
import { normalize } from "../formats/head.ts";
import { headWarning, joinWords, looksLikeHead, placeholderOf, writeMessages } from "../formats/messages.ts";
import type { TemplateMessage } from "../formats/messages.ts";
import type { Language } from "../formats/template-logic.ts";
import { isVariable } from "../../support/template.ts";
import { toConfig } from "./config.ts";
import { joinMembers, toSource } from "../formats/source.ts";
import type { ConfigMember, Source } from "../formats/source.ts";

/** A version as it was elsewhere. `number` is its number or hash there, and `labels` are those that stand at it. */
export type ImportedVersion = {
  number: string;
  title: string;
  description: string;
  messages: Messages;
  llmConfig: LlmConfig;
  declarations?: Declarations | undefined;
  note: string;
  labels: string[];
};

/**
 * A prompt as it was elsewhere, with its versions in the order in which they were made. `title` is what its name is made of, and
 * `path` that of its file, if it is a prompt.
 */
export type ImportedPrompt = { title: string; path?: string | undefined; versions: ImportedVersion[] };

/**
 * Reports why a prompt is not imported, or with `isWarning` what is left out of it. `place` names the prompt and the
 * part.
 */
export type Complain = (place: string, message: string, isWarning?: boolean) => void;

export type ImportOptions = {
  /** Keeps as text what is more than a variable. */
  keepsLogic: boolean;
  /** Members that are kept although they may be secret, by their names or paths. */
  keeps?: readonly string[] | undefined;
  complain: Complain;
  /** Gives the text of a file that an export names by its path from a folder on. It rejects if the path leads out of that. */
  read(folder: string, path: string): Promise<string | undefined>;
  /** The paths of the files below a folder, from there on. */
  list?(folder: string): Promise<string[]>;
};

/** A file of an export. `name` is its path as names are made of it. */
export type ImportedFile = { path: string; text: string; name?: string | undefined };

/** Reads exports. A version that cannot be stored is left out, and its prompt with it. */
export type Importer = (
  files: readonly ImportedFile[],
  options: ImportOptions,
) => ImportedPrompt[] | Promise<ImportedPrompt[]>;

/** Deeper than any export is nested. Each level of JSON costs its readers stack. */
export const maxLevels = 100;

/** `a/chat.prompty` and `a/chat.prompt.md` → `a/chat`, and `a/SKILL.md` → `a` */
export const nameOfFile = ({ path, name = path }: ImportedFile): string =>
  name.replace(/(?<=[^/])\/SKILL\.md$/i, "").replace(/(?:\.(?:prompt|agent|chatmode|instructions))?\.[^./]*$/i, "");

// Lists in which APIs give their objects, and what such a page says besides.
const lists = ["data", "items", "prompts", "versions", "commits", "results", "content", "application_revisions"];
const ofPages = ["total", "count", "page", "size", "limit", "offset", "next", "previous", "has_more", "object"];
const cursors = ["next_cursor", "nextCursor", "sortableBy", "total_pages", "totalPages", "totalItems"];

/** A value in a file, with the name that the file gives to what has none. */
export type Item = { file: ImportedFile; value: Source };

/** The objects in files of JSON or of one JSON document per line: each alone, in a list, or in a page of an API. */
export function readObjects(files: readonly ImportedFile[], complain: Complain): Item[] {
  return files.flatMap((file) =>
    readDocuments(file, complain).flatMap((json) =>
      itemsOf(json, file, complain).map((item) => ({ file, value: toSource(item) }))
    )
  );
}

/** The JSON documents of a file as compact texts. */
export function readDocuments({ path, text }: ImportedFile, complain: Complain): string[] {
  const source = normalize(text);
  const fault = describeJsonFault(source), lines = source.split("\n");
  const isLines = fault !== undefined &&
    describeJsonFault(lines.find((line) => line.trim() !== "") ?? "") === undefined;
  const documents = isLines
    ? lines.map((line, nth) => [`${path}:${nth + 1}`, line] as const)
    : [[path, source] as const];
  return documents.filter(([, each]) => each.trim() !== "").flatMap(([place, each]) => {
    const fault = isDeeper(each, maxLevels)
      ? `is nested more than ${maxLevels} levels deep`
      : describeJsonFault(each)?.replace(/^/, "is not JSON: ");
    if (fault !== undefined) complain(place, fault);
    return fault !== undefined ? [] : [compact(each)];
  });
}

/** A list of objects, wherever an API puts it in its pages. */
function itemsOf(json: string, file: ImportedFile, complain: Complain): string[] {
  if (json.startsWith("[")) return readItems(json).flatMap((item) => itemsOf(item, file, complain));
  if (!json.startsWith("{")) {
    complain(file.path, "has a value that is no object, which is left out", true);
    return [];
  }
  const members = readMembers(json), name = lists.find((name) => members.get(name)?.startsWith("["));
  // A prompt may have its versions inside. Then it is what an importer looks for.
  const isPrompt = ["name", "repo_handle", "role", "messages", "openai_prompt_id"].some((name) => members.has(name));
  if (name === undefined || isPrompt) return [json];
  const page = toSource(json, members);
  page.skip(name, ...ofPages, ...cursors);
  page.object("meta").skip(...ofPages, ...cursors);
  nameUnread(page, file.path, complain);
  return itemsOf(members.get(name)!, file, complain);
}

/** Names what was not read. */
export function nameUnread(value: Source, place: string, complain: Complain): void {
  const paths = value.takeUnread().map((path) => path.join(".") || "It");
  if (paths.length > 0) complain(place, `${joinWords(paths)} ${paths.length === 1 ? "is" : "are"} left out`, true);
}

/** `Support version 3` */
export const placeIn = (title: string, number: string): string => number === "" ? title : `${title} version ${number}`;

/** The text of a list of parts that is only one text, or the list as it is. */
export function soleText(content: string): string {
  const [part, ...others] = content.startsWith("[") ? readItems(content) : [];
  if (part === undefined || others.length > 0 || !part.startsWith("{")) return content;
  const { type, text, ...more } = Object.fromEntries(readMembers(part));
  const isText = text?.startsWith('"') && /^"(?:text|input_text|output_text)"$/.test(type ?? "");
  return isText && Object.values(more).every((value) => value === "null") ? text! : content;
}

/**
 * The messages of a list, in the form of the Chat Completions API. What a message has besides a role and a content is kept, but
 * for the members that `read` reads of it. Undefined if one of them is no message.
 */
export function readChat(
  list: readonly Source[],
  language: Language | ((message: Source) => Language),
  place: string,
  complain: Complain,
  read: (message: Source) => TemplateMessage | undefined = () => undefined,
): TemplateMessage[] | undefined {
  const messages = list.map((message, nth) => {
    const own = `${place}, message ${nth + 1}`, special = read(message);
    if (special !== undefined) return special;
    const role = message.text("role"), content = message.anything("content");
    const calls = message.has("tool_calls", "function_call");
    if (role === "" || content === undefined && !calls || content !== undefined && !/^["[]/.test(content)) {
      return void complain(own, describeFault(message, role, content));
    }
    if (content === undefined) complain(own, "has calls of tools and no content: an empty text stands for it", true);
    const language_ = typeof language === "string" ? language : language(message);
    return { role, content: soleText(content ?? '""'), members: message.rest(), language: language_ };
  });
  return messages.includes(undefined) ? undefined : messages as TemplateMessage[];
}

/** Says why a value is no message. */
function describeFault(message: Source, role: string, content: string | undefined): string {
  if (!message.isObject) return `is no message but ${kindOf(message.json)}`;
  if (role === "") return "has no role";
  return content === undefined ? "has no content" : `has a content that is ${kindOf(content)}, and no text or list`;
}

/** The type of a JSON text, in words. */
export const kindOf = (json: string): string =>
  json.startsWith("{") ? "an object" : json.startsWith("[") ? "a list" : json.startsWith('"') ? "a text" : json;

/** A placeholder of a name. Undefined if the name cannot be that of a variable, which is reported. */
export function readPlaceholder(name: string, place: string, complain: Complain): TemplateMessage | undefined {
  const variable = isVariable(name) ? name : name.trim().replace(/[^\p{L}\p{N}_.$-]+/gu, "_");
  if (!isVariable(variable)) {
    return void complain(place, `The placeholder ${name} has no name that a variable can have`);
  }
  if (variable !== name) {
    complain(
      place,
      `The placeholder ${JSON.stringify(name)} becomes {{${variable}}}, since variables have no spaces`,
      true,
    );
  }
  return placeholderOf(variable);
}

/**
 * A version of a prompt with this title. Undefined if it cannot be held, which stops the whole prompt. `order` says which
 * versions come first: without it, they stay as they were given.
 */
export type ReadVersion = {
  title: string;
  path?: string | undefined;
  order?: number | undefined;
  version: ImportedVersion | undefined;
};

/** A version as an importer reads it. Messages that cannot be read are undefined. */
export type VersionParts = {
  title: string;
  number?: string | undefined;
  place: string;
  description?: string | undefined;
  messages: readonly TemplateMessage[] | undefined;
  config?: readonly ConfigMember[] | undefined;
  note?: string | undefined;
  labels?: readonly string[] | undefined;
  declared?: ReadonlyMap<string, DeclaredVariable> | undefined;
  /** The place of the version among the others. By default the number. */
  order?: number | undefined;
};

/** A version of what an importer read of a value. What it did not read is named. */
export function toVersion(value: Source, parts: VersionParts, options: ImportOptions): ReadVersion {
  const { title, number = "", place, description = "", config = [], note = "", labels = [] } = parts;
  const { complain, keepsLogic, keeps = [] } = options;
  if (parts.messages !== undefined) nameUnread(value, place, complain);
  const declared = new Map(parts.declared);
  const messages = parts.messages && writeMessages(
    parts.messages,
    (nth) => (offset, message, isWarning) =>
      complain(`${place}, message ${nth + 1}, character ${offset + 1}`, message, isWarning),
    { keepsLogic, declare: (name, type) => void declared.set(name, { type, ...declared.get(name) }) },
  );
  if (messages !== undefined) warnOfHeads(messages, place, complain);
  const members = joinMembers(config, (message) => complain(place, message, true));
  const llmConfig = toConfig(members, (path) => leaveSecretOut(path, keeps, place, complain));
  const warn = (_name: string, message: string) => complain(place, message, true);
  const version = messages && {
    ...{ number, title, description, messages, llmConfig, note, labels: [...labels] },
    ...declareVariables(messages, declared, warn),
  };
  return { title, order: parts.order ?? (number === "" ? undefined : Number(number)), version };
}

/** Says that a member may be a secret, and returns whether it is left out. */
export function leaveSecretOut(path: string, keeps: readonly string[], place: string, complain: Complain): boolean {
  if (keeps.includes(path) || keeps.includes(path.replace(/^.*\./, ""))) return false;
  complain(place, `${path} is left out, since it may be secret`, true);
  return true;
}

/** Warns of messages that may be front matter. */
export function warnOfHeads(messages: Messages, place: string, complain: Complain): void {
  for (const [nth, message] of readItems(messages.text).entries()) {
    const content = readMembers(message).get("content") ?? "";
    if (content.startsWith('"') && looksLikeHead(JSON.parse(content) as string)) {
      complain(`${place}, message ${nth + 1}`, headWarning, true);
    }
  }
}

/**
 * Groups versions into prompts, each with its versions in order. Leaves out a prompt if one of its versions cannot be
 * stored.
 */
export function byTitle(all: readonly ReadVersion[]): ImportedPrompt[] {
  return [...groupBy(all, ({ title }) => title)].flatMap(([title, versions]) => {
    const isOrdered = versions.every(({ order }) => Number.isFinite(order));
    const sorted = isOrdered ? versions.toSorted((a, b) => a.order! - b.order!) : versions;
    const held = sorted.flatMap(({ version }) => version ?? []);
    return held.length < versions.length ? [] : [{ title, path: versions[0]!.path, versions: held }];
  });
}
