// The content of a prompt file, whatever its format.
import { jsonText, readItems, readMembers, stringify, toDecimal } from "../../common/json-text.ts";
import type { Declarations } from "../../management/prompts/declarations.ts";
import type { LlmConfig, Messages } from "../../schema/serving.ts";

/**
 * The content of a file. `name` is the prompt's name if it differs from the file's path. It replaces a missing title.
 */
export type FileContent = {
  name?: string | undefined;
  /** The name that the prompt had before. */
  was?: string | undefined;
  title?: string | undefined;
  description?: string | undefined;
  messages: Messages;
  llmConfig: LlmConfig;
  declarations?: Declarations | undefined;
};

export type Message = { role: string; content: string };

export const toMessages = (messages: readonly object[]): Messages => jsonText(stringify(messages));

/** All texts in a JSON value. */
export function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/**
 * Returns the same text for equivalent contents: JSON may differ in the order of members, in white space and escapes,
 * and in how a number is written.
 */
export const canonicalOf = ({ title = "", description = "", messages, llmConfig, declarations }: FileContent): string =>
  JSON.stringify([
    ...[title, description, canonicalJson(messages.text), canonicalJson(llmConfig.text)],
    ...(declarations === undefined ? [] : [canonicalJson(declarations.text)]),
  ]);

/** Canonical form of a JSON text. */
export function canonicalJson(source: string): string {
  const text = source.trim(), first = text[0];
  if (first === "{") {
    const members = [...readMembers(text)].sort(([a], [b]) => a < b ? -1 : 1);
    return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${canonicalJson(value)}`).join(",")}}`;
  }
  if (first === "[") return `[${readItems(text).map(canonicalJson).join(",")}]`;
  if (first === '"') return JSON.stringify(JSON.parse(text));
  return /^[tfn]/.test(text) ? text : toDecimal(text);
}
