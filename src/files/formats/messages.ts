// Messages whose texts are templates of other tools, written in our language.
import { jsonText, readItems, readMembers, stringify, stringifyMembers } from "../../common/json-text.ts";
import type { Messages } from "../../schema/serving.ts";
import type { Report } from "./faults.ts";
import { rewrite } from "./template-logic.ts";
import type { Language, RewriteOptions } from "./template-logic.ts";

/** A message as a tool has it. `content` and the further `members` are JSON texts. */
export type TemplateMessage = {
  role: string;
  content: string;
  members?: readonly [name: string, json: string][] | undefined;
  language: Language;
  /** Leaves out white space around the text, and the message if comments are all that it has. */
  isTrimmed?: boolean | undefined;
};

/** A placeholder for messages that the application gives as a variable. */
export const placeholderOf = (variable: string): TemplateMessage => ({
  role: "placeholder",
  content: JSON.stringify(`{{${variable}}}`),
  language: "mustache",
});

/** A message with a text. */
export const textMessage = (role: string, text: string, language: Language): TemplateMessage => ({
  role,
  content: JSON.stringify(text),
  language,
});

// The members whose texts are templates. All others are sent as they are, but for variables in double braces.
const templates = ["content", "text", "input_text", "url", "image_url", "file_url", "data"];

/**
 * Converts messages to those of a prompt. Returns undefined if a text is more than a template with variables.
 * `reportOf` returns the report for the faults of a message: each is at an offset of one of its texts.
 */
export function writeMessages(
  messages: readonly TemplateMessage[],
  reportOf: (nth: number) => Report,
  options: Omit<RewriteOptions, "report"> = {},
): Messages | undefined {
  let isGood = true;
  const written = messages.flatMap(({ role, content, members = [], language, isTrimmed = false }, nth) => {
    const report = reportOf(nth);
    const write = (json: string, name: string): string => {
      if (json.startsWith("{")) {
        return stringifyMembers(
          Array.from(readMembers(json), ([own, value]): [string, string] => [own, write(value, own)]),
        );
      }
      if (json.startsWith("[")) return `[${readItems(json).map((item) => write(item, name)).join(",")}]`;
      if (!json.startsWith('"') || !/[{}$]|\\u007[bd]/i.test(json)) return json;
      const text = JSON.parse(json) as string;
      const isTemplate = templates.includes(name), own = language === "f-string" || language === "plain";
      const result = isTemplate
        ? rewrite(text, language, { ...options, report })
        : rewrite(text, own ? "plain" : language, { keepsLogic: true, report: () => {} });
      if (result === undefined) isGood = false;
      return JSON.stringify((isTrimmed ? result?.trim() : result) ?? text);
    };
    const text = write(content, "content");
    if (isTrimmed && text === '""') return [];
    const all: [string, string][] = [["role", JSON.stringify(role)], ["content", text]];
    for (const [name, json] of members) all.push([name, write(json, name)]);
    return [jsonText(stringifyMembers(all))];
  });
  return isGood ? jsonText(stringify(written)) : undefined;
}

/** A text that begins like front matter, which its reader has then taken for a message. */
export const looksLikeHead = (text: string): boolean =>
  /^\s*(?:---|\+\+\+)[ \t]*\n(?:[ \t]*(?:#.*)?\n)*[ \t]*["']?[\w.-]+["']?[ \t]*[:=]/.test(text);

export const headWarning = "begins like front matter, and all of it is sent to the model";

/** `a, b and c` */
export const joinWords = (words: readonly string[]): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
