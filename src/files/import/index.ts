// The importers by the names of the tools whose files they read, and what all that they read must be.
import { Refusal } from "../../common/errors.ts";
import { groupBy } from "../../support/group-by.ts";
import { readMembers, stringify } from "../../common/json-text.ts";
import { readPromptFile } from "../../management/prompts/prompt-file.ts";
import { readAgentMarkdown } from "../formats/agent-markdown.ts";
import { textsIn } from "../formats/content.ts";
import type { FileContent } from "../formats/content.ts";
import { readDotprompt } from "../formats/dotprompt.ts";
import { placeOf } from "../formats/faults.ts";
import type { Report } from "../formats/faults.ts";
import { normalize } from "../formats/head.ts";
import { readPromptYaml } from "../formats/prompt-yaml.ts";
import { readPrompty, referencesIn } from "../formats/prompty.ts";
import type { ReadOptions } from "../formats/prompty.ts";
import { findSecrets, maskSecrets } from "../formats/secrets.ts";
import * as apis from "./apis.ts";
import { toConfig } from "./config.ts";
import { readLangfuse } from "./langfuse.ts";
import { readLangSmith } from "./langsmith.ts";
import { readMlflow } from "./mlflow.ts";
import { distinctNames, toLabel, toName } from "./names.ts";
import { readOpenAi } from "./openai.ts";
import { readPromptfoo } from "./promptfoo.ts";
import { readPromptLayer } from "./promptlayer.ts";
import { leaveSecretOut, nameOfFile, placeIn, warnOfHeads } from "./reader.ts";
import type { Complain, ImportedFile, ImportedPrompt, ImportedVersion, Importer, ImportOptions } from "./reader.ts";
import { describeUnknown, recognize } from "./recognize.ts";

type FileReader = (source: string, report: Report, options: ReadOptions) => FileContent | undefined;

/** Reads files that are a prompt each. */
const readEach = (readerOf: (path: string) => FileReader): Importer => async (files, options) => {
  const prompts = await Promise.all(files.map(async (file): Promise<ImportedPrompt[]> => {
    const { path } = file, { complain, keepsLogic, keeps = [] } = options, source = normalize(file.text);
    const content = readerOf(path)(source, (offset, message, isWarning) => {
      const { line, column } = placeOf(source, offset);
      complain(`${path}:${line}:${column}`, message, isWarning);
    }, { keepsLogic, keeps, files: await readReferenced(source, path, options) });
    if (content === undefined) return [];
    const name = nameOfFile(file), base = name.replace(/^.*\//, "");
    const { title = base, description = "", messages, declarations } = content;
    warnOfHeads(messages, path, complain);
    const llmConfig = toConfig(
      [...readMembers(content.llmConfig.text)],
      (own) => leaveSecretOut(own, keeps, path, complain),
    );
    const version = { number: "", title, description, messages, llmConfig, declarations, note: "", labels: [] };
    return [{ title: name, path, versions: [version] }];
  }));
  return prompts.flat();
};

/** The texts of the files that a file refers to, if they are below its folder. */
async function readReferenced(source: string, path: string, { read }: ImportOptions): Promise<Map<string, string>> {
  const [, folder = "."] = /^(.*)[/\\]/s.exec(path) ?? [], texts = new Map<string, string>();
  for (const name of new Set(referencesIn(source))) {
    const text = await read(folder, name).catch((error: unknown) => {
      if (error instanceof Refusal) return undefined;
      throw error;
    });
    if (text !== undefined) texts.set(name, normalize(text));
  }
  return texts;
}

/** Reads files by one importer if their names end so, and the others by another one. */
function byEnding(ending: RegExp, first: Importer, second: Importer): Importer {
  return async (files, options) => [
    ...await first(files.filter(({ path }) => ending.test(path)), options),
    ...await second(files.filter(({ path }) => !ending.test(path)), options),
  ];
}

const importers: Record<string, Importer> = {
  langfuse: readLangfuse,
  openai: readOpenAi,
  github: readEach(() => readPromptYaml),
  dotprompt: readEach(() => readDotprompt),
  prompty: readEach(() => readPrompty),
  promptfoo: readPromptfoo,
  langsmith: readLangSmith,
  promptlayer: readPromptLayer,
  mlflow: readMlflow,
  phoenix: apis.readPhoenix,
  portkey: apis.readPortkey,
  posthog: apis.readPostHog,
  opik: apis.readOpik,
  agenta: apis.readAgenta,
  langwatch: byEnding(/\.ya?ml$/i, readEach(() => readPromptYaml), apis.readLangWatch),
  humanloop: byEnding(/\.prompt$/i, readEach(() => readDotprompt), apis.readHumanloop),
  litellm: apis.readLiteLlm,
  helicone: apis.readHelicone,
  agents: readEach((path) => readAgentMarkdown(/\.prompt\.md$/i.test(path))),
};

/** The tools whose files can be read. */
export const sources: readonly string[] = Object.keys(importers);

/**
 * A prompt with the name that it gets here, from the tool `source`. The labels of its versions are names of deployments:
 * `deployments` has them by the labels as they were.
 */
export type NamedPrompt = ImportedPrompt & { source: string; name: string; deployments: ReadonlyMap<string, string> };

/** Reads files of the tools that they come from, or of the one of `sources` that is given. */
export async function readImport(
  source: string | undefined,
  files: readonly ImportedFile[],
  options: ImportOptions,
): Promise<NamedPrompt[]> {
  const complain: Complain = (place, message, isWarning) =>
    options.complain(maskSecrets(place), maskSecrets(message), isWarning);
  const prompts: (ImportedPrompt & { source: string })[] = [];
  for (const [own, same] of groupBy(files, (file) => source ?? recognize(file))) {
    if (own === undefined) {
      for (const file of same) complain(file.path, describeUnknown(file, sources));
      continue;
    }
    for (const prompt of await importers[own]!(same, { ...options, complain })) {
      prompts.push({ ...prompt, source: own });
    }
  }
  const held = prompts.filter(({ versions }) => versions.every((version) => isHeld(version, options, complain)));
  const names = distinctNames(held.map(({ title }) => title), toName);
  return [...groupBy(held, ({ title }) => names.get(title)!)].flatMap(([name, same]) => {
    if (same.length === 1) return same.map((prompt) => ({ ...named(prompt, complain), name }));
    // Names are made distinct, unless titles are the same.
    const paths = same.map(({ path, title, source }) => path ?? `${title} of ${source}`);
    complain(name, `is the name of ${same.length} prompts: ${paths.join(", ")}. Import each with another --prefix`);
    return [];
  });
}

/** A prompt with labels as deployments have them here, and without notes that may be secret. */
function named<T extends ImportedPrompt>(prompt: T, complain: Complain) {
  const labels = distinctNames(prompt.versions.flatMap(({ labels }) => labels), toLabel);
  for (const [label, name] of labels) {
    const isPlain = label.toLowerCase() === name || toLabel(label) === name && /^[\w .-]*$/.test(label);
    if (!isPlain) complain(prompt.title, `The label ${JSON.stringify(label)} becomes the deployment ${name}`, true);
  }
  const versions = prompt.versions.map((version) => {
    const own = { ...version, labels: [...new Set(version.labels.map((label) => labels.get(label)!))] };
    if (findSecrets(version.note).length === 0) return own;
    complain(placeIn(version.title, version.number), "The note is left out, since it may be secret", true);
    return { ...own, note: "" };
  });
  return { ...prompt, versions, deployments: labels };
}

/** Determines if a version can be stored, and reports why not. */
function isHeld(version: ImportedVersion, options: ImportOptions, complain: Complain): boolean {
  const { title, number, description, messages, llmConfig, declarations } = version;
  const refuse = (message: string) => {
    complain(placeIn(title, number), message);
    return false;
  };
  if (messages.text === "[]") complain(placeIn(title, number), "has no messages", true);
  const [secret] = [title, description, ...textsIn(JSON.parse(messages.text))].flatMap(findSecrets);
  if (secret !== undefined) return refuse(`has what looks like ${secret.name}`);
  // Schemas stay whole, so that a secret in one stops the prompt.
  const [hidden] = options.keeps?.length ? [] : textsIn(JSON.parse(llmConfig.text)).flatMap(findSecrets);
  if (hidden !== undefined) return refuse(`has what looks like ${hidden.name} in a schema`);
  try {
    readPromptFile(stringify({ title, description, messages, llmConfig, declarations }), "The prompt");
    return true;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return refuse(`cannot be held: ${error.message}`);
  }
}
