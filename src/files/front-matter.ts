// Front matter: YAML between two lines of `---` at the start of a file.

/** A file in its parts, each with the offset at which it begins. */
export type Parts = { yaml: string; start: number; body: string; bodyStart: number };

const frontMatter = /^---[ \t]*\n(?:([^]*?)\n)?---[ \t]*(?:\n|$)/;

/** Splits a file. Returns undefined if its front matter has no end. */
export function splitFrontMatter(source: string): Parts | undefined {
  const [whole, yaml = ""] = frontMatter.exec(source) ?? [];
  if (whole !== undefined) {
    return { yaml, start: source.indexOf("\n") + 1, body: source.slice(whole.length), bodyStart: whole.length };
  }
  return /^---[ \t]*\n/.test(source) ? undefined : { yaml: "", start: 0, body: source, bodyStart: 0 };
}

export const noEnd = "The front matter has no end: a line that is ---";
