// A prompt as its author keeps it: the JSON text of a file.
import type { PromptInput } from "./prompts.ts";
import { invalid } from "../errors.ts";
import { LlmConfig, Messages } from "../schema/serving.ts";
import { read } from "../schema/parse.ts";
import { exactly, optional } from "../schema/struct.ts";
import * as v from "../schema/values.ts";

/** The members of a prompt's content. Those of a message that are not named are kept and served. */
export const promptContent = {
  title: v.name,
  description: optional(v.plainText),
  messages: Messages,
  llmConfig: optional(LlmConfig),
};

// As much as a service reads of a body, and as fits in an argument of a libSQL server.
const longestSource = 1024 * 1024; // characters

/** Reads a prompt; numbers, keys and their order stay as written, and only white space between tokens goes. */
export function readPromptFile(source: string): PromptInput {
  if (source.length > longestSource) throw invalid(`Prompt must be at most ${longestSource} characters`);
  return read(exactly(promptContent), source, "Prompt");
}
