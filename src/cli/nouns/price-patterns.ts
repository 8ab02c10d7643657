// Converts the model names of @pydantic/genai-prices to patterns. There the first model of a provider that matches
// counts, and here the closest one.
import { fold } from "../../support/fold.ts";
import { fits } from "../../statistics/pricing.ts";
import { isObject } from "../../schema/struct.ts";

const maxLength = 100; // of a pattern

/**
 * The patterns of models in the order of their provider, without those that an earlier model matches. Undefined for a
 * model with names that no pattern matches.
 */
export function modelPatternsOf(matches: readonly unknown[]): (string[] | undefined)[] {
  const before = new Set<string>(), open: string[][] = [];
  const isCovered = (pattern: string) => before.has(pattern) || open.some((parts) => fits(pattern, parts));
  return matches.map((match) => {
    const patterns = patternsOf(match)?.filter((pattern) => !isCovered(fold(pattern)));
    for (const pattern of patterns ?? []) {
      before.add(fold(pattern));
      if (/[*#]/.test(pattern) && !hasExclusion(match)) open.push(fold(pattern).split("*"));
    }
    return patterns;
  });
}

const kinds: Record<string, (text: string) => string> = {
  equals: (text) => text,
  starts_with: (text) => `${text}*`,
  ends_with: (text) => `*${text}`,
  contains: (text) => `*${text}*`,
};

function patternsOf(match: unknown): string[] | undefined {
  const [[kind, value] = []] = isObject(match) ? Object.entries(match) : [];
  if (kind === "or" && Array.isArray(value)) {
    // Some names are better than none.
    const all = value.flatMap((each) => patternsOf(each) ?? []);
    return all.length === 0 ? undefined : all;
  }
  if (kind === "and" && Array.isArray(value)) {
    // Excluded names belong to another model, with a closer name.
    const [only, ...others] = value.filter((each) => !hasExclusion(each));
    return others.length === 0 ? patternsOf(only) : undefined;
  }
  if (typeof value !== "string" || value === "") return undefined;
  const pattern = kind === "regex" ? patternOf(value) : /[*#]/.test(value) ? undefined : kinds[kind!]?.(value);
  return pattern !== undefined && pattern.length <= maxLength ? [pattern] : undefined;
}

/** True if a match excludes names, as `^(?!.*-tts$)` does. */
const hasExclusion = (match: unknown): boolean => JSON.stringify(match).includes("^(?!");

/** The pattern of a regular expression with only characters and digits: `^gpt-6-\d{4}$`. Otherwise undefined. */
function patternOf(source: string): string | undefined {
  const [, body, end] = /^\^((?:\\d(?:\{\d\})?|\\[^a-z\d]|[\w:@/= -])+)(\$?)$/i.exec(source) ?? [];
  const pattern = body?.replace(/\\d(?:\{(\d)\})?/g, (_, count = "1") => "#".repeat(Number(count))).replace(
    /\\(.)/g,
    "$1",
  );
  return pattern && `${pattern}${end ? "" : "*"}`;
}
