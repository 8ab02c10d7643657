// Prompt files: the JSON in which authors keep their prompts.
import { invalid, invalidField } from "../../common/errors.ts";
import { describeJsonFault } from "../../support/json-fault.ts";
import { readMembers, stringifyMembers } from "../../common/json-text.ts";
import { readObject } from "../../schema/parse.ts";
import { exactly, optional } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { Declarations, toDeclarations } from "./declarations.ts";
import { promptContent } from "./versions.ts";
import type { PromptVersion } from "./versions.ts";

// `was` is the name that the prompt had before, for a folder of prompts.
const PromptFile = exactly({
  name: optional(v.promptName),
  was: optional(v.promptName),
  ...promptContent,
  variables: optional(Declarations),
});
type PromptFile = Infer<typeof PromptFile>;

// The default limit of a request body, which fits in an argument of a libSQL server.
const maxSource = 1024 * 1024; // characters

// Members that the service adds to a prompt when it prints one: on the command line, in management and to applications.
const addedByService = [
  "id",
  "version",
  "note",
  "createdAt",
  "createdAtIso",
  "isNew",
  "isNewVersion",
  "isNewPrompt",
  "prompt",
  "variableChanges",
  "deployment",
  "deploy",
  "workspace",
];

/**
 * Reads a prompt file. Numbers, keys and their order stay as written; only white space between tokens is removed. It
 * ignores members added by the service, so a prompt that it printed can be pushed. `name` names the text in messages.
 */
export function readPromptFile(source: string, name = "Prompt"): Omit<PromptFile, "variables"> {
  if (source.length > maxSource) throw invalid(`${name} must be at most ${maxSource} characters`);
  const fault = describeJsonFault(source);
  if (fault !== undefined) throw invalid(`${name} is not valid JSON: ${fault}`);
  const { variables, declarations, ...file } = readObject(
    PromptFile,
    source.trimStart().startsWith("{") ? withoutAdded(source) : source,
    name,
  );
  if (variables !== undefined && declarations !== undefined) {
    throw invalidField("variables", "Fields variables and declarations exclude each other");
  }
  return { ...file, declarations: toDeclarations(variables ?? declarations, variables && "variables") };
}

/** In a prompt that the service printed, `variables` is the list of the names found. */
const withoutAdded = (source: string): string =>
  stringifyMembers(
    [...readMembers(source)].filter(([key, value]) =>
      !addedByService.includes(key) && (key !== "variables" || !value.startsWith("["))
    ),
  );

/** Turns a version into a file that can be pushed. */
export const toPromptFile = (
  { name, title, description, messages, llmConfig, declarations: variables }: PromptVersion,
): PromptFile => ({ name, title, description, messages, llmConfig, variables });

/**
 * Names a prompt after the path of its file: the path as it was typed, without its extension and without the `./` and
 * `../` that it begins with.
 */
export function nameOfPath(path: string): string {
  const remedy = "Give --name, or a name in the file";
  if (path === "-") throw invalid(`Standard input has no path to name the prompt after. ${remedy}`);
  const name = path.replaceAll("\\", "/").replace(/^(\.{0,2}\/)+(?=[^/])/, (lead) => lead.startsWith("/") ? lead : "")
    .replace(/\.[^./]*$/, "");
  if (name.startsWith("/")) throw invalid(`A prompt cannot be named after the absolute path ${path}. ${remedy}`);
  if (v.promptName.is(name)) return name;
  throw invalid(`A prompt cannot be named after ${path}: its name must be ${v.promptName.type}. ${remedy}`);
}
