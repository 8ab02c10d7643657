// Reads exports of others as JSON, with the few rules that all importers share.
import { describeJsonFault } from "../../common/json-fault.ts";
import { jsonText, stringify } from "../../common/json-text.ts";
import { isObject } from "../../schema/struct.ts";
import type { LlmConfig, Messages } from "../../schema/serving.ts";
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

/** `read` gives the text of a file that an export names, by its path beside the file that names it. */
export type ImportOptions = {
  keepsLogic: boolean;
  complain: Complain;
  read(path: string): Promise<string | undefined>;
};

/** A file of an export. */
export type ImportedFile = { path: string; text: string };

/** Reads exports. A version that cannot be held is left out, and its prompt with it. */
export type Importer = (
  files: readonly ImportedFile[],
  options: ImportOptions,
) => ImportedPrompt[] | Promise<ImportedPrompt[]>;

/** The objects in files of JSON or of one JSON document per line: each alone, in a list, or in a page of an API. */
export function readObjects(files: readonly ImportedFile[], complain: Complain): { path: string; value: Json }[] {
  return files.flatMap(({ path, text }) => {
    const texts = describeJsonFault(text) === undefined
      ? [text]
      : text.split("\n").filter((line) => line.trim() !== "");
    return texts.flatMap((each) => {
      const fault = describeJsonFault(each);
      if (fault !== undefined) complain(path, `is not JSON: ${fault}`);
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
  text.toLowerCase().split("/").map((part) => part.replace(/[^a-z0-9._-]+/g, "-").replace(/^[-.]+|[-.]+$/g, "")).filter(
    (part) => part !== "",
  ).join("/").slice(0, 200) || "prompt";

/** The same for a deployment. */
export const toLabel = (text: string): string => toName(text.replaceAll("/", "-")).slice(0, 99);

export const textIn = (value: Json, name: string): string => typeof value[name] === "string" ? value[name] : "";
export const objectIn = (value: Json, name: string): Json => isObject(value[name]) ? value[name] : {};
export const listIn = (value: Json, name: string): unknown[] => Array.isArray(value[name]) ? value[name] : [];

const secretName = /(^|_|-)(api[-_]?key|secret|password|token|credentials?|authorization|connection)($|_|-)/i;

/** A configuration without members that look like secrets, each of which is named. */
export function toConfig(value: Json, place: string, complain: Complain): LlmConfig {
  const kept = Object.entries(value).filter(([name, member]) => {
    if (!secretName.test(name) || member === null) return member !== undefined && member !== null;
    complain(place, `${name} is left out, since it may be secret`, true);
    return false;
  });
  return jsonText(stringify(Object.fromEntries(kept)));
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
      isGood = false;
      complain(`${place}, message ${nth + 1}, character ${offset + 1}`, message);
    };
    if (keepsLogic) return text;
    if (language === "f-string") return fromFormatString(text, report) ?? text;
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
    if (isMessage) return { ...message as Json, content: rewriteContent(content, nth) };
    isGood = false;
    return void complain(`${place}, message ${nth + 1}`, "has no role and content");
  });
  return isGood ? jsonText(stringify(made)) : undefined;
}
