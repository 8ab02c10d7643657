// A prompt as JSON, as `prompt push` takes it.
import { Refusal } from "../../common/errors.ts";
import { findJsonFault } from "../../support/json-fault.ts";
import { indent, jsonText, readMembers, stringify } from "../../common/json-text.ts";
import { readPromptFile } from "../../management/prompts/prompt-file.ts";
import { canonicalOf } from "./content.ts";
import type { FileContent } from "./content.ts";
import { readVariables } from "./declarations.ts";
import { changedMembers, editMembers } from "./edit-members.ts";
import { offsetOf } from "./faults.ts";
import type { Report } from "./faults.ts";
import { offsetOfPath, parse } from "./yaml.ts";

/** Reads a prompt. Returns undefined if it reported a fault. */
export function readJson(source: string, report: Report): FileContent | undefined {
  try {
    const { llmConfig = jsonText("{}"), ...content } = readPromptFile(source, "The file");
    return { ...content, llmConfig };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const fault = findJsonFault(source);
    if (fault === undefined) reportField(error, source, report);
    else report(offsetOf(source, fault), upperFirst(fault.text));
    return undefined;
  }
}

/** Reports what is wrong with a field, at its place: of variables all that is wrong. */
function reportField({ message, field = "" }: Refusal, source: string, report: Report): void {
  const document = parse(source), variables = readMembers(source).get("variables");
  const areGood = !variables?.startsWith("{") ||
    readVariables(variables, (path) => offsetOfPath(document, path), report) !== undefined;
  if (areGood) report(offsetOfPath(document, field.match(/[^.[\]]+/g) ?? []), upperFirst(message));
}

const upperFirst = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Writes a prompt. Of `existing`, the file as it is, everything stays as it is written that need not change. */
export function writeJson(content: FileContent, existing?: string): string {
  const edited = existing === undefined ? undefined : editJson(content, existing);
  const read = edited === undefined ? undefined : readJson(edited, () => {});
  const isSame = read !== undefined && canonicalOf(read) === canonicalOf(content) && read.name === content.name;
  return isSame ? edited! : `${indent(stringify(objectOf(content)))}\n`;
}

function editJson(content: FileContent, existing: string): string | undefined {
  // JSON that the service printed has the declarations in `declarations`, and in `variables` a list of names.
  const field = readMembers(existing).has("declarations") ? "declarations" : "variables";
  const current = readJson(existing, () => {});
  return current && editMembers(existing, changedMembers(membersOf(current, field), membersOf(content, field)), "json");
}

const membersOf = (content: FileContent, variables: string): [string, string | undefined][] =>
  Object.entries(objectOf(content, variables)).map(([name, value]) => [name, value && stringify(value)]);

const objectOf = (
  { name, was, title, description, messages, llmConfig, declarations }: FileContent,
  variables = "variables",
) => ({ name, was, title, description: description || undefined, messages, llmConfig, [variables]: declarations });
