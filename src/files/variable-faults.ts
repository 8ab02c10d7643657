// Malformed variables in the messages of a prompt: invalid names, and tags that are not closed.
import { findPlaceholders, quotedBraces } from "../support/template.ts";
import type { Messages } from "../schema/serving.ts";
import { textsIn } from "./formats/content.ts";
import type { Report } from "./formats/faults.ts";

/** Reports each tag once, at its first place in the source of the file. */
export function checkVariables(source: string, messages: Messages, report: Report): void {
  const texts = textsIn(JSON.parse(messages.text));
  for (const { tag, offset } of place(new Set(texts.flatMap(findMisnamed)), misnamed, source)) {
    // Logic that `import --keep-logic` has kept is a text too.
    report(offset, `${tag} is no variable: its name needs letters, digits, _ . $ or -`, true);
  }
  for (const { tag, offset } of place(new Set(texts.flatMap(findUnclosed)), unclosed, source)) {
    report(offset, `${tag} is not closed: a variable ends in }}`, true);
  }
}

const misnamed = /\{\{[^{}\n]*\}\}/g;

function findMisnamed(text: string): string[] {
  const good = new Set(findPlaceholders(text).map(({ start }) => start));
  const unquoted = text.replace(quotedBraces, (quoted) => " ".repeat(quoted.length));
  return Array.from(unquoted.matchAll(misnamed)).filter(({ index }) => !good.has(index)).map(([tag]) => tag);
}

/** A name after two braces that one brace closes, or none before the line ends, in a text or in a JSON string. */
const unclosed = /(?<!\{)\{\{[ \t]*[\p{L}\p{N}_.$-]+(?:[ \t]*\}(?!\})|(?=[ \t]*(?:$|"|\\[nrt])))/gmu;

/** Braces that are closed later in the text are code, such as JSX or nested sets. */
function findUnclosed(text: string): string[] {
  const found = Array.from(text.matchAll(unclosed));
  if (found.length === 0) return [];
  const open = findOpenBraces(text);
  return found.filter(({ index }) => open.has(index)).map(([tag]) => tag);
}

/** The offsets of braces that are never closed. */
function findOpenBraces(text: string): Set<number> {
  const open: number[] = [];
  for (const { 0: brace, index } of text.matchAll(/[{}]/g)) {
    if (brace === "{") open.push(index);
    else open.pop();
  }
  return new Set(open);
}

/**
 * Finds the tags among the matches in a source. A tag written differently there, such as with escapes, is placed at its
 * start.
 */
function place(tags: Set<string>, pattern: RegExp, source: string): { tag: string; offset: number }[] {
  const found = Array.from(source.matchAll(pattern)).flatMap(({ 0: tag, index }) =>
    tags.delete(tag) ? [{ tag, offset: index }] : []
  );
  return [...found, ...[...tags].map((tag) => ({ tag, offset: 0 }))];
}
