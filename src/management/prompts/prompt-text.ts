// The variables of a prompt, its content as text for people, and the difference of two contents. Contents have been
// validated: `messages` holds objects with role and content.
import { createTwoFilesPatch, diffWordsWithSpace, FILE_HEADERS_ONLY, formatPatch } from "diff";
import { invalidField } from "../../common/errors.ts";
import { indent, jsonText, mapStrings, readItems, readMembers, stringifyMembers } from "../../common/json-text.ts";
import { fillText, soleVariable } from "../../support/template.ts";
import { readDeclarations } from "./declarations.ts";
import type { Declarations } from "./declarations.ts";
import type { LlmConfig, Messages } from "../../schema/serving.ts";

/** The content of a version. `messages` is an array, `llmConfig` and `declarations` are objects, all as JSON text. */
export type PromptContent = {
  title: string;
  description: string;
  messages: Messages;
  llmConfig: LlmConfig;
  declarations?: Declarations | undefined;
};

/** The content in something that has more, such as a version. */
export const contentIn = ({ title, description, messages, llmConfig, declarations }: PromptContent): PromptContent => ({
  ...{ title, description, messages, llmConfig },
  ...(declarations === undefined ? {} : { declarations }),
});

/** Content as texts, without `declarations` if there are none. */
export const textsOf = ({ title, description, messages, llmConfig, declarations }: PromptContent) => ({
  ...{ title, description, messages: messages.text, llmConfig: llmConfig.text },
  ...(declarations === undefined ? {} : { declarations: declarations.text }),
});
export type ContentTexts = ReturnType<typeof textsOf>;

const maxFilled = 16 * 1024 * 1024; // characters
// A brace may also be written as an escape.
const mayHoldPlaceholder = /\{\{|\\u007b/i;

/** The names of the `{{name}}` placeholders in the strings of messages, each once, in order of first appearance. */
export const variablesOf = (messages: Messages): string[] => fillVariables(messages, {}).missing;

/** Variables in texts, and those that are the whole content of a message, which lists of messages may fill too. */
export function splitVariables(messages: Messages): { all: string[]; lists: string[] } {
  const withoutSole = (source: string) => {
    const message = JSON.parse(source) as { content: unknown };
    const isSole = typeof message.content === "string" && soleVariable(message.content) !== undefined;
    return isSole ? JSON.stringify({ ...message, content: "" }) : source;
  };
  const all = variablesOf(messages);
  const inTexts = variablesOf(jsonText(`[${readItems(messages.text).map(withoutSole).join(",")}]`));
  return { all, lists: all.filter((name) => !inTexts.includes(name)) };
}

/**
 * Conflicts between messages and declarations: variables that are not declared, if any is, declared ones that are not
 * used, and those that are declared as messages and are not the whole content of a message.
 */
export function compareDeclarations({ messages, declarations }: PromptContent) {
  const declared = readDeclarations(declarations), { all, lists } = splitVariables(messages);
  const used = new Set(all), names = [...declared.keys()];
  return {
    undeclared: declared.size === 0 ? [] : all.filter((name) => !declared.has(name)),
    unused: names.filter((name) => !used.has(name)),
    misplaced: names.filter((name) =>
      declared.get(name)!.type === "messages" && used.has(name) && !lists.includes(name)
    ),
  };
}

/**
 * Replaces `{{name}}` placeholders by values, and `{{"{{"}}` by `{{`. Placeholders in a value are not replaced. Keys,
 * and strings without placeholders, stay as they were written. `missing` names the placeholders without a value, which
 * stay too. Throws if the messages become longer than 16 Mi characters.
 */
export function fillVariables(
  messages: Messages,
  values: Record<string, string>,
): { messages: Messages; missing: string[] } {
  const missing = new Set<string>();
  let length = messages.text.length;
  const text = mapStrings(messages.text, (string) => {
    if (!mayHoldPlaceholder.test(string)) return string;
    const unfilled = JSON.parse(string) as string;
    const filled = fillText(unfilled, (name) => {
      const value = Object.hasOwn(values, name) ? values[name] : undefined;
      if (value === undefined) {
        missing.add(name);
        return undefined;
      }
      length += value.length;
      if (length > maxFilled) {
        throw invalidField("values", `The values make the messages longer than ${maxFilled} characters`);
      }
      return value;
    });
    return filled === unfilled ? string : JSON.stringify(filled);
  });
  return { messages: jsonText(text), missing: [...missing] };
}

/**
 * A prompt's content as text for people, in lines that diff well. Contents with the same text are the same JSON, but
 * for the order of the members of a message.
 */
export function describePrompt({ title, description, messages, llmConfig, declarations }: PromptContent): string {
  const lines = [
    describeField("title", title),
    describeField("description", description),
    ...readItems(messages.text).flatMap(describeMessage),
    "--- llmConfig",
    describeJson(llmConfig.text),
    ...declarations === undefined ? [] : ["--- variables", describeJson(declarations.text)],
  ];
  return `${lines.join("\n")}\n`;
}

const context = 3; // lines
const maxEdits = 300; // lines. The time grows with their square, and is about 20 ms for 300
const maxText = 500_000; // characters, of both together

/**
 * Unified diff of two contents, as describePrompt writes them. Empty if both have the same text. A hunk that leaves out
 * the heading above its lines has it after its ranges, as `git diff` has the name of a function.
 */
export function diffPrompts(
  from: { label: string; content: PromptContent },
  to: { label: string; content: PromptContent },
): string {
  const before = describePrompt(from.content), after = describePrompt(to.content);
  if (before === after) return "";
  const options = { context, maxEditLength: maxEdits, headerOptions: FILE_HEADERS_ONLY };
  const patch = before.length + after.length > maxText
    ? undefined
    : createTwoFilesPatch(from.label, to.label, before, after, undefined, undefined, options);
  const whole = patch ??
    formatPatch({
      oldFileName: from.label,
      newFileName: to.label,
      oldHeader: undefined,
      newHeader: undefined,
      hunks: [wholeChange(before, after)],
    }, FILE_HEADERS_ONLY);
  return withHeadings(whole, before.split("\n"));
}

const headingPattern = /^--- .{0,80}/u;

function withHeadings(patch: string, lines: readonly string[]): string {
  return patch.replace(/^@@ -(\d+).* @@$/gm, (ranges, start: string) => {
    const nth = lines.slice(0, Number(start)).findLastIndex((line) => headingPattern.test(line));
    // A hunk that begins with a heading needs none.
    const isAbove = nth >= 0 && nth < Number(start) - 1;
    return isAbove ? `${ranges} ${headingPattern.exec(lines[nth]!)![0]}` : ranges;
  });
}

/** The change between two different texts as one hunk: all lines from the first that differs to the last. */
function wholeChange(before: string, after: string) {
  const from = before.slice(0, -1).split("\n"), to = after.slice(0, -1).split("\n");
  const least = Math.min(from.length, to.length);
  let start = 0, rest = 0;
  while (start < least && from[start] === to[start]) start++;
  while (rest < least - start && from.at(-1 - rest) === to.at(-1 - rest)) rest++;
  const first = Math.max(start - context, 0), tail = Math.min(rest, context);
  const lines = [
    ...from.slice(first, start).map((line) => ` ${line}`),
    ...from.slice(start, from.length - rest).map((line) => `-${line}`),
    ...to.slice(start, to.length - rest).map((line) => `+${line}`),
    ...from.slice(from.length - rest, from.length - rest + tail).map((line) => ` ${line}`),
  ];
  const count = (all: string[]) => all.length - rest + tail - first;
  return { oldStart: first + 1, oldLines: count(from), newStart: first + 1, newLines: count(to), lines };
}

const maxWordEdits = 200; // words. The time grows with their square, and is about 5 ms for 200

/** A piece of two texts: one that both have, or only one of them. */
export type Piece = { text: string; of: "both" | "before" | "after" };

/** The pieces of two texts in order, cut between words; undefined if too many words differ. */
export function diffWords(before: string, after: string): Piece[] | undefined {
  const changes = diffWordsWithSpace(before, after, { maxEditLength: maxWordEdits });
  return changes?.map(({ value, added, removed }) => ({
    text: value,
    of: added ? "after" : removed ? "before" : "both",
  }));
}

/** Indents lines after the first, to keep them from reading as headings. */
const describeField = (name: string, value: string): string =>
  value === "" ? `${name}:` : `${name}: ${describeText(value).replace(/\n(?!\n|$)/g, "\n  ")}`;

/** The lines of a message, which is the JSON text of an object. */
export function describeMessage(text: string): string[] {
  const members = readMembers(text);
  const role = members.get("role") ?? "null", content = members.get("content") ?? "null";
  members.delete("role");
  members.delete("content");
  const lines = [
    `--- ${describeRole(role)}`,
    content.startsWith('"') ? describeContent(JSON.parse(content) as string) : describeJson(content),
  ];
  return members.size === 0 ? lines : [...lines, "--- with", describeJson(stringifyMembers(members))];
}

const headings = ["with", "llmConfig", "variables"];

/** Writes a role that is one word without quotes, unless it would read as another heading. */
function describeRole(role: string): string {
  const word = /^"([\p{L}\p{N}_.-]+)"$/u.exec(role)?.[1];
  return word === undefined || headings.includes(word) ? describeJson(role) : word;
}

/** Puts a backslash before a line that would read as a heading, or a first line that would read as an array. */
const describeContent = (value: string): string =>
  describeText(value).replace(/^\\*--- /gm, "\\$&").replace(/^\\*\[\]?(?=\n|$)/, "\\$&");

// Control characters could control the terminal that shows the text, so they are written as escapes. Where the text
// itself has such an escape, its backslash is escaped, to keep the two apart.
const controls = /[^\P{Cc}\n\t]/gu;
const likeEscape = /\\(?=u00(?:[0189][\da-f]|5c|7f))/g;

const toEscape = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Writes control characters in a text as escapes. */
export const describeText = (value: string): string => value.replace(likeEscape, toEscape).replace(controls, toEscape);

/** JSON text can have control characters only above ASCII and in strings, where an escape means the same. */
export const describeJson = (text: string): string => indent(text).replace(controls, toEscape);
