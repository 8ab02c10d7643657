// The importers by the names of what they read, and what all that they read must be.
import { Refusal } from "../../common/errors.ts";
import { groupBy } from "../../common/group-by.ts";
import { jsonText, readMembers, stringify } from "../../common/json-text.ts";
import { readPromptFile } from "../../management/prompt-file.ts";
import { textsIn } from "../content.ts";
import { formatOf, nameOfFile } from "../formats.ts";
import { placeOf } from "../faults.ts";
import { readDotprompt, readPrompty, readPromptYaml } from "../other-formats.ts";
import { findSecrets, maskSecrets } from "../secrets.ts";
import { readLangfuse } from "./langfuse.ts";
import { readLangSmith } from "./langsmith.ts";
import { readMlflow } from "./mlflow.ts";
import { readOpenAi } from "./openai.ts";
import { readPromptfoo } from "./promptfoo.ts";
import { readPromptLayer } from "./promptlayer.ts";
import { placeIn, toConfig, toName } from "./reader.ts";
import type { ImportedFile, ImportedPrompt, ImportedVersion, Importer, ImportOptions } from "./reader.ts";

/** Reads files that are a prompt each. */
const readEach = (read: typeof readPrompty): Importer => (files, { keepsLogic, complain }) =>
  files.flatMap(({ path, text }) => {
    const content = read(text, (offset, message, isWarning) => {
      const { line, column } = placeOf(text, offset);
      complain(`${path}:${line}:${column}`, message, isWarning);
    }, { keepsLogic });
    if (content === undefined) return [];
    const format = formatOf(path), base = (format === undefined ? path : nameOfFile(path, format)).replace(/^.*\//, "");
    const { title = base, description = "", messages } = content;
    // Every digit of a number stays.
    const members = Array.from(readMembers(content.llmConfig.text), ([name, text]) => [name, jsonText(text)] as const);
    const llmConfig = toConfig(Object.fromEntries(members), path, complain);
    return [{
      name: toName(base),
      versions: [{ number: "", title, description, messages, llmConfig, note: "", labels: [] }],
    }];
  });

const importers: Record<string, Importer> = {
  langfuse: readLangfuse,
  openai: readOpenAi,
  github: readEach(readPromptYaml),
  dotprompt: readEach(readDotprompt),
  prompty: readEach(readPrompty),
  promptfoo: readPromptfoo,
  langsmith: readLangSmith,
  promptlayer: readPromptLayer,
  mlflow: readMlflow,
};

/** Whose exports can be read. */
export const sources: readonly string[] = Object.keys(importers);

/** Reads exports of one of `sources`. What is complained of shows no secret. */
export async function readImport(
  source: string,
  files: readonly ImportedFile[],
  options: ImportOptions,
): Promise<ImportedPrompt[]> {
  const complain: ImportOptions["complain"] = (place, message, isWarning) =>
    options.complain(maskSecrets(place), maskSecrets(message), isWarning);
  const prompts = await importers[source]!(files, { ...options, complain });
  return [...groupBy(prompts, ({ name }) => name)].flatMap(([name, same]) => {
    // Names are made of those elsewhere, so that two may become the same.
    if (same.length > 1) {
      complain(name, `is the name of ${same.length} prompts. Import one of them with another --prefix`);
    }
    const isHeld = same.flatMap(({ versions }) => versions).every((version) => {
      const fault = faultOf(version);
      if (fault !== undefined) complain(placeIn(version.title, version.number), fault);
      return fault === undefined;
    });
    return isHeld && same.length === 1 ? same.map((prompt) => withoutSecretNotes(prompt, complain)) : [];
  });
}

/** Why a version cannot be held; undefined if it can. */
function faultOf({ title, description, messages, llmConfig }: ImportedVersion): string | undefined {
  const [secret] = [title, description, ...textsIn(JSON.parse(messages.text))].flatMap(findSecrets);
  if (secret !== undefined) return `has what looks like ${secret.name}`;
  try {
    readPromptFile(stringify({ title, description, messages, llmConfig }), "The prompt");
    return undefined;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return `cannot be held: ${error.message}`;
  }
}

function withoutSecretNotes({ name, versions }: ImportedPrompt, complain: ImportOptions["complain"]): ImportedPrompt {
  return {
    name,
    versions: versions.map((version) => {
      if (findSecrets(version.note).length === 0) return version;
      complain(placeIn(version.title, version.number), "The note is left out, since it may be secret", true);
      return { ...version, note: "" };
    }),
  };
}
