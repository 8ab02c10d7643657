// HTML as values. Texts in elements are escaped and show as they are, because records hold untrusted text.

/** HTML that needs no escaping. */
export type Html = { readonly html: string };

/** Content of an element. `undefined`, `null` and booleans show nothing. */
export type Part = Html | string | number | boolean | null | undefined | readonly Part[];

/** `true` is an attribute without a value. One that is `undefined`, `null` or `false` is left out. */
type Attributes = { [name in AttributeName]?: Part };

// Attributes in use, so that a misspelt one does not compile. TypeScript takes any name with a hyphen.
type AttributeName =
  | Words<"action autocomplete charset checked class content cx cy d datetime defer dir download for form formaction">
  | Words<"formnovalidate height href id inputmode list max method min name open placeholder preserveAspectRatio r rel">
  | Words<"required reversed role rows rx scope selected spellcheck src step tabindex target title type value">
  | Words<"viewBox width x y">;
type Words<Text extends string> = Text extends `${infer Word} ${infer Rest}` ? Word | Words<Rest> : Text;

type Component<Props> = (props: Props) => Part;

/** Makes an element, or calls a component. This is what JSX is compiled to. */
export function h<Props>(tag: string | Component<Props>, props: Props | null, ...children: Part[]): Html {
  if (typeof tag === "function") {
    return { html: toHtml(tag({ ...props, ...(children.length > 0 && { children }) } as Props)) };
  }
  const start = `<${tag}${Object.entries<Part>({ ...props }).map(toAttribute).join("")}>`;
  if (shapes.has(tag)) return { html: `${start.slice(0, -1)} />` };
  return { html: voids.has(tag) ? start : `${start}${toHtml(children)}</${tag}>` };
}

// Types that TypeScript looks up for JSX.
export declare namespace h {
  namespace JSX {
    type Element = Html;
    type ElementType = string | Component<never>;
    type ElementChildrenAttribute = { children: unknown };
    type IntrinsicElements = { [tag: string]: Attributes & { children?: Part } };
  }
}

/** Several parts without an element around them. */
export const Fragment = ({ children }: { children?: Part }): Part => children;

// Elements without content, of HTML and of SVG.
const voids = new Set(["br", "hr", "img", "input", "link", "meta", "wbr"]);
const shapes = new Set(["circle", "path", "rect"]);

function toAttribute([name, value]: [string, Part]): string {
  if (value === undefined || value === null || value === false) return "";
  return value === true ? ` ${name}` : ` ${name}="${toHtml(value)}"`;
}

/** The HTML of a part. The invisible characters of texts are shown. */
export function toHtml(part: Part): string {
  if (typeof part === "string") return escape(showControls(part));
  if (typeof part === "number") return String(part);
  if (typeof part !== "object" || part === null) return "";
  return "html" in part ? part.html : part.map(toHtml).join("");
}

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escape = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character]!);

/** A text that keeps its invisible characters, because a form sends it back. */
export const exact = (text: string): Html => ({ html: escape(text) });

// Control characters but tabs and line ends, and those that change the direction of the text after them.
const hidden = /[^\P{Cc}\t\n\r]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Shows characters that would be invisible, or reorder the line that they are in. */
const showControls = (text: string): string =>
  text.replace(hidden, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });

/** The end of a name, so that text of another direction cannot change the order of what surrounds it. */
export const isolated = (text: string): Html => h("bdi", null, text);

/** A long name, which may break after a slash and before an `@`. */
export const breakable = (text: string): Html =>
  h("bdi", null, text.split(/(?<=\/)|(?=@)/).map((part, index) => [index > 0 && h("wbr", null), part]));
