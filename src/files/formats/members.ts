// Reads the members of a mapping, which may be front matter: YAML between two lines of `---` at the start of a file.
import type { Report } from "./faults.ts";
import type { Member } from "./yaml.ts";

/** The members of a mapping by name. Each reader returns undefined for one that is missing, or that it reports. */
export type Members = {
  text(name: string): string | undefined;
  /** JSON text of a mapping, or of a list. */
  mapping(name: string): string | undefined;
  list(name: string): string | undefined;
  /** JSON text of anything. */
  anything(name: string): string | undefined;
  /** The offset at which a member begins. */
  offsetOf(name: string): number;
  /** Reports the members with none of these names. */
  refuseOthers(names: readonly string[]): void;
  /** True if nothing was reported. */
  isGood(): boolean;
};

export function readMembersOf(members: ReadonlyMap<string, Member>, report: Report): Members {
  let isGood = true;
  const refuse = (name: string, message: string): undefined => {
    report(offsetOf(name), message);
    isGood = false;
  };
  const offsetOf = (name: string) => members.get(name)?.offset ?? 0;
  const anything = (name: string) => members.get(name)?.text;
  const startingWith = (start: string, what: string) => (name: string) => {
    const text = anything(name);
    return text === undefined || text.startsWith(start) ? text : refuse(name, `Field ${name} must be ${what}`);
  };
  const asText = startingWith('"', "a text");
  return {
    text(name) {
      const text = asText(name);
      return text === undefined ? undefined : JSON.parse(text) as string;
    },
    mapping: startingWith("{", "a mapping"),
    list: startingWith("[", "a list"),
    anything,
    offsetOf,
    refuseOthers(names) {
      for (const name of members.keys()) {
        if (!names.includes(name)) refuse(name, `Unknown field ${name}. Allowed: ${names.join(", ")}`);
      }
    },
    isGood: () => isGood,
  };
}

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
