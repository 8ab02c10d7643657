// A prompt as its author keeps it: the JSON text of a file.
import { invalid } from "../common/errors.ts";
import { describeJsonFault } from "../common/json-fault.ts";
import { readMembers, stringifyMembers } from "../common/json-text.ts";
import { readObject } from "../schema/parse.ts";
import { exactly, optional } from "../schema/struct.ts";
import type { Infer } from "../schema/struct.ts";
import * as v from "./values.ts";
import { promptContent } from "./versions.ts";
import type { PromptVersion } from "./versions.ts";

const PromptFile = exactly({ name: optional(v.promptName), ...promptContent });
export type PromptFile = Infer<typeof PromptFile>;

// As much as a service reads of a body, and as fits in an argument of a libSQL server.
const longestSource = 1024 * 1024; // characters

// What the service adds to a prompt where it prints one: on the command line, in management and to applications.
const addedByService = [
  "id",
  "version",
  "note",
  "createdAt",
  "variables",
  "isNew",
  "isNewPrompt",
  "variableChanges",
  "deployment",
  "deploy",
  "workspace",
];

/**
 * Reads a prompt; numbers, keys and their order stay as written, and only white space between tokens goes. Ignores what the
 * service adds, so that a prompt it printed can be pushed. `name` says what the text is.
 */
export function readPromptFile(source: string, name = "Prompt"): PromptFile {
  if (source.length > longestSource) throw invalid(`${name} must be at most ${longestSource} characters`);
  const fault = describeJsonFault(source);
  if (fault !== undefined) throw invalid(`${name} is not valid JSON: ${fault}`);
  return readObject(PromptFile, source.trimStart().startsWith("{") ? withoutAdded(source) : source, name);
}

const withoutAdded = (source: string): string =>
  stringifyMembers([...readMembers(source)].filter(([key]) => !addedByService.includes(key)));

/** A version as a file that can be pushed. */
export const toPromptFile = ({ name, title, description, messages, llmConfig }: PromptVersion): PromptFile => (
  { name, title, description, messages, llmConfig }
);

/**
 * The name that a file's path gives to its prompt: the path as it was typed, without its extension and what leads out of the
 * current folder.
 */
export function nameOfPath(path: string): string {
  const wanted = "Give --name, or a name in the file";
  if (path === "-") throw invalid(`Standard input has no path to name the prompt after. ${wanted}`);
  const name = path.replaceAll("\\", "/").replace(/^(\.{0,2}\/)+(?=[^/])/, (lead) => lead.startsWith("/") ? lead : "")
    .replace(/\.[^./]*$/, "");
  if (name.startsWith("/")) throw invalid(`${path} is an absolute path, which gives a prompt no name. ${wanted}`);
  if (v.promptName.is(name)) return name;
  throw invalid(`${path} gives a prompt no name, which must be ${v.promptName.type}. ${wanted}`);
}
