// `{{variables}}` in texts: their syntax, and filling them in. Shared by the service and the client, so that both fill
// in alike.

/** A placeholder in a text. */
export const placeholder = /\{\{\s*([\p{L}\p{N}_.$-]+)\s*\}\}/gu;
/** Braces as text: `{{"{{"}}` and `{{"}}"}}`. */
export const quotedBraces = /\{\{\s*"(\{\{|\}\})"\s*\}\}/g;
/** Either of these. Written out, because bundlers keep unused expressions that are composed of others. */
const tag = /\{\{\s*(?:([\p{L}\p{N}_.$-]+)|"(\{\{|\}\})")\s*\}\}/gu;
const soleTag = new RegExp(`^\\s*${tag.source}\\s*$`, "u");

/**
 * Replaces the `{{name}}` placeholders of a text by values, and `{{"{{"}}` and `{{"}}"}}` by the braces in quotes.
 * Values are inserted as they are: nothing in one is replaced. A placeholder stays if `valueOf` returns undefined, and
 * braces in quotes stay if `keepsBraces`, so that the text can be filled again.
 */
export const fillText = (text: string, valueOf: (name: string) => string | undefined, keepsBraces?: boolean): string =>
  text.replace(
    tag,
    (whole, name: string | undefined, braces: string) =>
      name ? valueOf(name)?.toWellFormed() ?? whole : keepsBraces ? whole : braces,
  );

/** Quotes braces that do not begin a variable, so that filling in the text restores them. */
export const quoteBraces = (text: string): string =>
  text.replace(
    new RegExp(String.raw`${placeholder.source}|\{\{(?!\{)`, "gu"),
    (whole) => whole === "{{" ? '{{"{{"}}' : whole,
  );

/** True if a text can be the name of a variable. */
export const isVariable = (text: string): boolean => /^[\p{L}\p{N}_.$-]+$/u.test(text);

/** Returns the variable of a text that is only one placeholder, and white space around it. */
export const soleVariable = (text: string): string | undefined => soleTag.exec(text)?.[1];

/** Start and end of each placeholder in a text. */
export const findPlaceholders = (text: string): { start: number; end: number }[] =>
  Array.from(text.matchAll(placeholder), ({ index, 0: whole }) => ({ start: index, end: index + whole.length }));

/** A place in a text: both count from 1, and columns count characters. */
type Place = { line: number; column: number };

/**
 * Finds variables that are not closed: `{{name}`, or `{{name` at the end of a line. Possible code is ignored: another
 * closing `}}` on its line, or a name that is followed by anything else.
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
