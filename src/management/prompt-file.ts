// A prompt as its author keeps it: the JSON text of a file.
import { invalid } from "../common/errors.ts";
import { describeJsonFault } from "../common/json-fault.ts";
import { readMembers, stringifyMembers } from "../common/json-text.ts";
import { read } from "../schema/parse.ts";
import { exactly } from "../schema/struct.ts";
import { promptContent } from "./versions.ts";
import type { PromptInput } from "./versions.ts";

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
  "deployment",
  "deploy",
  "workspace",
];

/**
 * Reads a prompt; numbers, keys and their order stay as written, and only white space between tokens goes. Ignores what the
 * service adds, so that a prompt it printed can be pushed. `name` says what the text is.
 */
export function readPromptFile(source: string, name = "Prompt"): PromptInput {
  if (source.length > longestSource) throw invalid(`${name} must be at most ${longestSource} characters`);
  const fault = describeJsonFault(source);
  if (fault !== undefined) throw invalid(`${name} is not valid JSON: ${fault}`);
  return read(exactly(promptContent), source.trimStart().startsWith("{") ? withoutAdded(source) : source, name);
}

const withoutAdded = (source: string): string =>
  stringifyMembers([...readMembers(source)].filter(([key]) => !addedByService.includes(key)));
