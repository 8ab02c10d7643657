// Reads exports of others as JSON, with the few rules that all importers share, and puts their versions together to prompts.
import { groupBy } from "../../common/group-by.ts";
import { describeJsonFault } from "../../common/json-fault.ts";
import { isDeeper } from "../../common/json-scan.ts";
import { jsonText, readItems, readMembers, stringify, stringifyMembers } from "../../common/json-text.ts";
import type { LlmConfig, Messages } from "../../schema/serving.ts";
import { isObject } from "../../schema/struct.ts";
import { findSecrets } from "../secrets.ts";
import { checkLogic, fromFormatString } from "../template-logic.ts";
import type { Language } from "../template-logic.ts";

/** A version as it was elsewhere. `number` is its number or hash there. */
export type ImportedVersion = {
  number: string;
  title: string;
  description: string;
  messages: Messages;
  llmConfig: LlmConfig;
  note: string;
  /** The names of deployments that serve it. */
  labels: string[];
};

/** A prompt as it was elsewhere, with its versions in the order in which they were made. */
export type ImportedPrompt = { name: string; versions: ImportedVersion[] };

/** Says why a prompt is not imported, or with `isWarning` what of it is left out. `place` names the prompt and the part. */
export type Complain = (place: string, message: string, isWarning?: boolean) => void;

/** `read` gives the text of a file that an export names by its path from a folder on. It rejects if the path leads out of that. */
export type ImportOptions = {
  keepsLogic: boolean;
  complain: Complain;
  read(folder: string, path: string): Promise<string | undefined>;
};

/** A file of an export. */
export type ImportedFile = { path: string; text: string };

/** Reads exports. A version that cannot be held is left out, and its prompt with it. */
export type Importer = (
  files: readonly ImportedFile[],
  options: ImportOptions,
) => ImportedPrompt[] | Promise<ImportedPrompt[]>;

/** Deeper than any export is nested. Each level of JSON costs its readers stack. */
export const maxLevels = 100;

/** The objects in files of JSON or of one JSON document per line: each alone, in a list, or in a page of an API. */
export function readObjects(files: readonly ImportedFile[], complain: Complain): { path: string; value: Json }[] {
  return files.flatMap(({ path, text }) => {
    const fault = describeJsonFault(text), lines = text.split("\n");
    const isLines = fault !== undefined && describeJsonFault(lines[0]!) === undefined;
    const documents = isLines
      ? lines.map((line, nth) => [`${path}:${nth + 1}`, line] as const)
      : [[path, text] as const];
    return documents.filter(([, each]) => each.trim() !== "").flatMap(([place, each]) => {
      const fault = isDeeper(each, maxLevels)
        ? `is nested more than ${maxLevels} levels deep`
        : describeJsonFault(each)?.replace(/^/, "is not JSON: ");
      if (fault !== undefined) complain(place, fault);
      return fault !== undefined ? [] : itemsOf(JSON.parse(each)).map((value) => ({ path, value }));
    });
  });
}

export type Json = Record<string, unknown>;

const lists = ["data", "items", "prompts", "versions", "commits"];

/** A list of objects, wherever an API puts it in its pages. */
function itemsOf(value: unknown): Json[] {
  if (Array.isArray(value)) return value.flatMap(itemsOf);
  if (!isObject(value)) return [];
  const name = lists.find((name) => Array.isArray(value[name]));
  // A prompt may have its versions inside. Then it is what an importer looks for.
  return name === undefined || "name" in value || "repo_handle" in value ? [value] : itemsOf(value[name]);
}

/** A name as prompts have them here: `Support Bot/v2` becomes `support-bot/v2`. */
export const toName = (text: string): string =>
  text.slice(0, 200).toLowerCase().split("/").map(toSegment).filter((part) => part !== "").join("/") || "prompt";

/** The same for a deployment. */
export const toLabel = (text: string): string => toSegment(text.slice(0, 99).toLowerCase()) || "deployment";

const toSegment = (text: string): string => text.replace(/[^a-z0-9._-]+/g, "-").replace(/^[-.]+|[-.]+$/g, "");

export const textIn = (value: Json, name: string): string => typeof value[name] === "string" ? value[name] : "";
export const objectIn = (value: Json, name: string): Json => isObject(value[name]) ? value[name] : {};
export const listIn = (value: Json, name: string): unknown[] => Array.isArray(value[name]) ? value[name] : [];
/** The items of a list, each as an object. One that is none is empty. */
export const objectsIn = (value: Json, name: string): Json[] =>
  listIn(value, name).map((item) => isObject(item) ? item : {});
/** A text, or a number as one. Anything else has none: an object may have a member `toString` that is no function. */
export const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "";
/** The number of a version, which may be a text. */
export const numberIn = (value: Json, name: string): string => textOf(value[name]);

/** `Support version 3` */
export const placeIn = (title: string, number: string): string => number === "" ? title : `${title} version ${number}`;

/** Says which members of these have no place here. */
export function leaveOut(value: Json, names: readonly string[], place: string, complain: Complain): void {
  const isGiven = (member: unknown) =>
    isObject(member) || Array.isArray(member) ? Object.keys(member).length > 0 : member;
  for (const name of names) if (isGiven(value[name])) complain(place, `${name} is left out`, true);
}

/** The content of a message: one text, if it is a list of texts. */
export function joinTexts(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  const texts = content.map((part: unknown) =>
    isObject(part) && ["text", "input_text", "output_text"].includes(textOf(part.type)) ? part.text : undefined
  );
  return texts.every((text) => typeof text === "string") ? texts.join("\n") : content;
}

const secretName = /(^|[_-])(api[_-]?key|secrets?|passwords?|token|credentials?|authorization|connection)($|[_-])/i;

/** Whether a member of a configuration may be a secret. A number never is, such as `max_token`. */
function isSecret(name: string, text: string): boolean {
  if (text.startsWith('"') && findSecrets(JSON.parse(text)).length > 0) return true;
  // LangChain's serialisation has an object in the place of a secret.
  if (text.startsWith("{") && readMembers(text).get("type") === '"secret"') return true;
  return /^["{[]/.test(text) && secretName.test(name.replace(/([a-z\d])([A-Z])/g, "$1_$2"));
}

/** A configuration without what is null, and without what may be secret, at any depth. Each secret is named. */
export function toConfig(value: Json, place: string, complain: Complain): LlmConfig {
  const keep = (text: string, path: string): string => {
    const below = (name: string) => path === "" ? name : `${path}.${name}`;
    if (text.startsWith("[")) {
      return `[${readItems(text).flatMap((item, nth) => keepMember(String(nth), item, below(String(nth)))).join(",")}]`;
    }
    if (!text.startsWith("{")) return text;
    const members = [...readMembers(text)].flatMap(([name, member]) =>
      keepMember(name, member, below(name)).map((kept) => [name, kept] as [string, string])
    );
    return stringifyMembers(members);
  };
  const keepMember = (name: string, text: string, path: string): string[] => {
    if (!isSecret(name, text)) return [keep(text, path)];
    complain(place, `${path} is left out, since it may be secret`, true);
    return [];
  };
  const given = Object.entries(value).filter(([, member]) => member !== null && member !== undefined);
  return jsonText(keep(stringify(Object.fromEntries(given)), ""));
}

/** Makes messages of a list, in which each text is rewritten. Returns undefined if one cannot be held. */
export function toMessages(
  messages: readonly unknown[],
  language: Language,
  place: string,
  { keepsLogic, complain }: ImportOptions,
): Messages | undefined {
  let isGood = true;
  const rewrite = (text: string, nth: number): string => {
    const report = (offset: number, message: string) => {
      if (keepsLogic) return;
      isGood = false;
      complain(`${place}, message ${nth + 1}, character ${offset + 1}`, message);
    };
    if (language === "f-string") return fromFormatString(text, report);
    checkLogic(text, language, report);
    return text;
  };
  const rewriteContent = (content: unknown, nth: number): unknown => {
    if (typeof content === "string") return rewrite(content, nth);
    if (!Array.isArray(content)) return content;
    return content.map((part) =>
      isObject(part) && typeof part.text === "string" ? { ...part, text: rewrite(part.text, nth) } : part
    );
  };
  const made = messages.map((message, nth) => {
    const { role, content } = isObject(message) ? message : {};
    const isMessage = typeof role === "string" && (typeof content === "string" || Array.isArray(content));
    // The variable of a placeholder is ours already.
    if (isMessage && role === "placeholder") return message as Json;
    if (isMessage) return { ...message as Json, content: rewriteContent(content, nth) };
    isGood = false;
    return void complain(`${place}, message ${nth + 1}`, "has no role and content");
  });
  return isGood ? jsonText(stringify(made)) : undefined;
}

/**
 * A version of the prompt with this title. Undefined if it cannot be held, which stops the whole prompt. `order` says which
 * versions come first: without it, they stay as they were given.
 */
export type ReadVersion = {
  title: string;
  order?: number;
  version: Omit<ImportedVersion, "title" | "description"> & { description?: string } | undefined;
};

type FoundVersion = {
  title: string;
  number: string;
  place: string;
  messages: readonly unknown[];
  language: Language;
  config: Json;
  note: string;
  labels: string[];
};

/** A version of what an importer found. Versions come in the order of their numbers. */
export function toVersion(
  { title, place, language, config, ...found }: FoundVersion,
  options: ImportOptions,
): ReadVersion {
  const messages = toMessages(found.messages, language, place, options);
  const llmConfig = toConfig(config, place, options.complain);
  return { title, order: Number(found.number), version: messages && { ...found, messages, llmConfig } };
}

/** The prompts of versions, each with its versions in their order. A prompt of which one cannot be held is left out. */
export function byTitle(all: readonly ReadVersion[]): ImportedPrompt[] {
  return [...groupBy(all, ({ title }) => title)].flatMap(([title, versions]) => {
    const isOrdered = versions.every(({ order }) => Number.isFinite(order));
    const sorted = isOrdered ? versions.toSorted((a, b) => a.order! - b.order!) : versions;
    const held = sorted.flatMap(({ version }) => version === undefined ? [] : [{ description: "", ...version, title }]);
    return held.length < versions.length ? [] : [{ name: toName(title), versions: held }];
  });
}
