// Promptfoo: the prompts of a configuration, in it or in files that it names.
import { Refusal } from "../../common/errors.ts";
import { describeJsonFault } from "../../common/json-fault.ts";
import { isDeeper } from "../../common/json-scan.ts";
import { jsonText } from "../../common/json-text.ts";
import { isObject } from "../../schema/struct.ts";
import { placeOf } from "../faults.ts";
import { readYaml } from "../yaml.ts";
import { maxLevels, toMessages, toName } from "./reader.ts";
import type { ImportedFile, Importer, ImportOptions, Json } from "./reader.ts";

type Entry = { label: string; text: string };

export const readPromptfoo: Importer = async (files, options) => {
  const all = await Promise.all(files.map((file) => entriesOf(file, options)));
  return all.flat().flatMap(({ label: title, text }) => {
    const messages = toMessages(messagesIn(text), "jinja", title, options);
    const rest = { number: "", description: "", llmConfig: jsonText("{}"), note: "", labels: [] };
    return messages === undefined ? [] : [{ name: toName(title), versions: [{ ...rest, title, messages }] }];
  });
};

/** A chat is a JSON array of messages. Any other text is a message of the user. */
function messagesIn(text: string): unknown[] {
  const isChat = text.trimStart().startsWith("[") && !isDeeper(text, maxLevels) &&
    describeJsonFault(text) === undefined;
  return isChat ? JSON.parse(text) as unknown[] : [{ role: "user", content: text.trim() }];
}

async function entriesOf({ path, text }: ImportedFile, options: ImportOptions): Promise<Entry[]> {
  const { complain } = options;
  const yaml = readYaml(text, 0, (offset, message) => {
    const { line, column } = placeOf(text, offset);
    complain(`${path}:${line}:${column}`, message);
  });
  if (yaml === undefined) return [];
  for (const name of yaml.members.keys()) if (name !== "prompts") complain(path, `${name} is left out`, true);
  const prompts: unknown = JSON.parse(yaml.members.get("prompts")?.text ?? "[]");
  const [, folder = "."] = /^(.*)[/\\]/s.exec(path) ?? [];
  const found: Entry[] = [];
  // A mapping has the label of each file.
  const entries = isObject(prompts) ? Object.entries(prompts).map(([id, label]) => ({ id, label })) : [prompts].flat();
  for (const [nth, given] of entries.entries()) found.push(...await entryOf(given, nth, folder, options));
  return found;
}

/** The prompts of an entry: a text, a file, or an object with one of them and a label. */
async function entryOf(given: unknown, nth: number, folder: string, options: ImportOptions): Promise<Entry[]> {
  const { raw, id, label }: Json = isObject(given) ? given : { raw: given };
  const source = raw ?? id, name = typeof label === "string" ? label : undefined;
  if (typeof source !== "string") return leaveOut(`Prompt ${nth + 1}`, "is no text and no file", options);
  const file = /^(?:file:\/\/)?([^\n]+\.(?:txt|md|j2|json|ya?ml|csv|js|mjs|cjs|ts|py|sh|rb))(?::\w+)?$/.exec(source)
    ?.[1];
  if (file === undefined && /^(?:exec:|python:|\w+:\/\/)/.test(source)) {
    return leaveOut(source, "is code or an address: write what it gives into a file", options);
  }
  if (file === undefined) return [{ label: name ?? `prompt-${nth + 1}`, text: source }];
  return await readFile(file, name, folder, options);
}

function leaveOut(place: string, why: string, { complain }: ImportOptions): [] {
  complain(place, why);
  return [];
}

async function readFile(
  file: string,
  label: string | undefined,
  folder: string,
  options: ImportOptions,
): Promise<Entry[]> {
  if (!/\.(txt|md|j2|json)$/.test(file)) {
    return leaveOut(file, "is code or a table: write what it gives into a text file", options);
  }
  if (file.includes("*")) return leaveOut(file, "is a pattern: name each file", options);
  let text: string | undefined;
  try {
    text = await options.read(folder, file);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return leaveOut(file, `is left out: ${error.message}`, options);
  }
  if (text === undefined) return leaveOut(file, "cannot be read", options);
  const base = label ?? file.replace(/^.*\/|\.\w+$/g, "");
  // A line of dashes parts the prompts of a text file.
  const texts = file.endsWith(".json") ? [text] : text.split(/^---[ \t]*$/m).filter((part) => part.trim() !== "");
  return texts.map((part, index) => ({ label: texts.length === 1 ? base : `${base}-${index + 1}`, text: part }));
}
