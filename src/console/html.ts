// HTML as values. Whatever is put into a template is text, and shows as text: what records hold was written by strangers.
import { html as template } from "hono/html";

/** HTML that needs no escaping. */
export type Html = Awaited<ReturnType<typeof template>>;

/** What may be put into a template. Nothing is shown of `undefined`, `null` and `false`. */
export type Part = Html | string | number | false | null | undefined | readonly Part[];

/**
 * A template of HTML. Texts in it are escaped, and their invisible characters are shown. It is not called `html`, because
 * formatters change the spaces in templates of that name.
 */
export const markup = (strings: TemplateStringsArray, ...parts: Part[]): Html =>
  template(strings, ...parts.map(prepare)) as Html;

/** A text that keeps its invisible characters, because a form sends it back. */
export const exact = (text: string): Html => template`${text}` as Html;

/** The end of a name, so that text of another direction cannot change the order of what surrounds it. */
export const isolated = (text: string): Html => markup`<bdi>${text}</bdi>`;

/** The same for a long name, which breaks after a slash and before an `@`. */
export const breakable = (text: string): Html =>
  markup`<bdi>${text.split(/(?<=\/)|(?=@)/).map((part, index) => [index > 0 && markup`<wbr>`, part])}</bdi>`;

const isHtml = (part: object): part is Html => "isEscaped" in part;

function prepare(part: Part): unknown {
  if (typeof part === "string") return showControls(part);
  if (typeof part !== "object" || part === null || isHtml(part)) return part;
  return part.map(prepare);
}

// Control characters but tabs and line ends, and those that change the direction of the text after them.
const hidden = /[^\P{Cc}\t\n\r]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Shows characters that would be invisible, or reorder the line that they are in. */
const showControls = (text: string): string =>
  text.replace(hidden, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
