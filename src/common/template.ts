// `{{variables}}` in texts: what counts as one, and how it is filled in. The service and the client share this, so that both
// fill in alike.

/** A placeholder in a text. */
export const placeholder = /\{\{\s*([\p{L}\p{N}_.$-]+)\s*\}\}/gu;
/** Braces that are text: `{{"{{"}}` and `{{"}}"}}`. */
export const quotedBraces = /\{\{\s*"(\{\{|\}\})"\s*\}\}/g;
/** Either of these. Written out, because bundlers keep expressions that are made of others even where nobody needs them. */
const tag = /\{\{\s*(?:([\p{L}\p{N}_.$-]+)|"(\{\{|\}\})")\s*\}\}/gu;
const soleTag = new RegExp(`^\\s*${tag.source}\\s*$`, "u");

/**
 * Replaces the `{{name}}` placeholders of a text by values, and `{{"{{"}}` and `{{"}}"}}` by the braces in quotes. Values are
 * inserted as they are: nothing in one is replaced. A placeholder stays if `valueOf` returns undefined, and braces in quotes
 * stay if `keepsBraces`, so that the text can be filled again.
 */
export const fillText = (text: string, valueOf: (name: string) => string | undefined, keepsBraces?: boolean): string =>
  text.replace(
    tag,
    (whole, name: string | undefined, braces: string) =>
      name ? valueOf(name)?.toWellFormed() ?? whole : keepsBraces ? whole : braces,
  );

/** Puts braces in quotes wherever they begin no variable, so that filling the text gives them back. */
export const quoteBraces = (text: string): string =>
  text.replace(
    new RegExp(String.raw`${placeholder.source}|\{\{(?!\{)`, "gu"),
    (whole) => whole === "{{" ? '{{"{{"}}' : whole,
  );

/** Whether a text can be the name of a variable. */
export const isVariable = (text: string): boolean => /^[\p{L}\p{N}_.$-]+$/u.test(text);

/** The name in a text that is nothing but one placeholder, and white space around it. */
export const soleVariable = (text: string): string | undefined => soleTag.exec(text)?.[1];

/** Where the placeholders of a text begin and end. */
export const findPlaceholders = (text: string): { start: number; end: number }[] =>
  Array.from(text.matchAll(placeholder), ({ index, 0: whole }) => ({ start: index, end: index + whole.length }));

/** A place in a text: both count from 1, and columns count characters. */
type Place = { line: number; column: number };

/**
 * Where a text has a variable that is not closed: `{{name}`, or `{{name` at the end of a line. What may be code is left alone:
 * another closing `}}` on its line, or a name that is followed by anything else.
 */
export function unclosed(text: string): Place[] {
  const name = String.raw`\{\{[ \t]*[\p{L}_$][\p{L}\p{N}_.$-]*[ \t]*`;
  const open = String.raw`${name}(?:$|\}(?!\}|(?:(?!\{\{).)*\}\}))`;
  const found: Place[] = [];
  let line = 1, column = 1, from = 0;
  for (const { index, 1: variable } of text.matchAll(new RegExp(`${placeholder.source}|${open}`, "gmu"))) {
    const lines = text.slice(from, index).split(/\r\n|\r|\n/);
    if (lines.length > 1) column = 1;
    line += lines.length - 1;
    column += [...lines.at(-1)!].length;
    from = index;
    if (variable === undefined) found.push({ line, column });
  }
  return found;
}
