// Template languages of others. What is more than a variable has no place in a prompt here: it is found, with its place.
import type { Report } from "./faults.ts";

/** A template language: what of it is more than a variable in double braces. */
export type Language = "mustache" | "handlebars" | "jinja" | "f-string";

/** A variable in double braces, as `common/template.ts` fills it in. */
const variable = /^\{\{\s*[\p{L}\p{N}_.$-]+\s*\}\}$/u;

// Each finds a tag as a whole. A tag that does not end is a text.
const tags: Record<Exclude<Language, "f-string">, RegExp> = {
  mustache: /\{\{\{[^]*?\}\}\}|\{\{[^]*?\}\}/g,
  handlebars: /\{\{\{[^]*?\}\}\}|\{\{[^]*?\}\}/g,
  jinja: /\{%[^]*?%\}|\{#[^]*?#\}|\{\{[^]*?\}\}/g,
};

/** Reports each tag that is more than a variable, with its offset in the text, and returns whether there is none. */
export function checkLogic(text: string, language: Exclude<Language, "f-string">, report: Report): boolean {
  const found = Array.from(text.matchAll(tags[language])).filter(([tag]) => !variable.test(tag));
  for (const { index, 0: tag } of found) report(index, `${excerpt(tag)} is more than a variable`);
  return found.length === 0;
}

/** A Python format string with its variables in double braces. Returns undefined and reports what is more than a variable. */
export function fromFormatString(text: string, report: Report): string | undefined {
  let isGood = true;
  const written = text.replace(/\{\{|\}\}|\{([^{}]*)\}|[{}]/g, (tag: string, name: string | undefined, at: number) => {
    if (tag === "{{") return "{";
    if (tag === "}}") return "}";
    const isName = name !== undefined && /^[\p{L}_][\p{L}\p{N}_.]*$/u.test(name);
    if (!isName) {
      report(
        at,
        tag.length === 1 ? `A single ${tag} must be written twice` : `${excerpt(tag)} is more than a variable`,
      );
      isGood = false;
    }
    return `{{${name}}}`;
  });
  return isGood ? written : undefined;
}

const excerpt = (tag: string): string => tag.length > 60 ? `${tag.slice(0, 60)}…` : tag;
