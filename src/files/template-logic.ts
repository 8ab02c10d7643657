// Template languages of others. What is more than a variable has no place in a prompt here: it is found, with its place.
import type { Report } from "./faults.ts";
import { maskSecrets } from "./secrets.ts";

/** A template language: what of it is more than a variable in double braces. */
export type Language = "mustache" | "handlebars" | "jinja" | "f-string";

/** A variable in double braces, as `common/template.ts` fills it in. */
const variable = /^\{\{\s*[\p{L}\p{N}_.$-]+\s*\}\}$/u;

// How tags begin, longer beginnings first, and how each of them ends. What does not end is a text.
const double = [["{{{", "}}}"], ["{{", "}}"]] as const;
const tags: Record<Exclude<Language, "f-string">, readonly (readonly [start: string, end: string])[]> = {
  mustache: double,
  handlebars: double,
  jinja: [["{%", "%}"], ["{#", "#}"], ["{{", "}}"]],
};

/** The tags of a text. Each end is looked for once if the text has none, so that time grows with the text alone. */
function findTags(text: string, language: Exclude<Language, "f-string">): { index: number; tag: string }[] {
  const found: { index: number; tag: string }[] = [];
  const endless = new Set<string>();
  for (let at = text.indexOf("{"); at >= 0;) {
    let end = -1;
    for (const [start, close] of tags[language]) {
      if (end >= 0 || endless.has(close) || !text.startsWith(start, at)) continue;
      const closing = text.indexOf(close, at + start.length);
      if (closing < 0) endless.add(close);
      else end = closing + close.length;
    }
    if (end >= 0) found.push({ index: at, tag: text.slice(at, end) });
    at = text.indexOf("{", end >= 0 ? end : at + 1);
  }
  return found;
}

const mostReported = 20; // of a text

/** Reports each tag that is more than a variable, with its offset in the text, and returns whether there is none. */
export function checkLogic(text: string, language: Exclude<Language, "f-string">, report: Report): boolean {
  const found = findTags(text, language).filter(({ tag }) => !variable.test(tag));
  for (const { index, tag } of found.slice(0, mostReported)) report(index, `${excerpt(tag)} is more than a variable`);
  const rest = found.length - mostReported;
  if (rest > 0) report(found[mostReported]!.index, `${rest} more are more than a variable`);
  return found.length === 0;
}

/** A Python format string with its variables in double braces. What is more than a variable is reported, and stays as it is. */
export function fromFormatString(text: string, report: Report): string {
  let faults = 0;
  return text.replace(/\{\{|\}\}|\{([^{}]*)\}|[{}]/g, (tag: string, name: string | undefined, at: number) => {
    if (tag === "{{") return "{";
    if (tag === "}}") return "}";
    if (name !== undefined && /^[\p{L}_][\p{L}\p{N}_.]*$/u.test(name)) return `{{${name}}}`;
    const fault = tag.length === 1
      ? `A single ${tag} must be written twice`
      : `${excerpt(tag)} is more than a variable`;
    if (++faults <= mostReported) report(at, fault);
    return tag;
  });
}

const excerpt = (tag: string): string => {
  const shown = maskSecrets(tag);
  return shown.length > 60 ? `${shown.slice(0, 60).toWellFormed()}…` : shown;
};
