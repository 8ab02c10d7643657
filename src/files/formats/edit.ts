// Changes of a text that leave every other character as it is.

/** Replaces the characters from `start` to `end`. */
export type Edit = { start: number; end: number; text: string };

/** Applies edits that do not overlap. Of those that start at one place, the first in the list comes first. */
export function applyEdits(source: string, edits: readonly Edit[]): string {
  let result = "", at = 0;
  for (const { start, end, text } of [...edits].sort((a, b) => a.start - b.start)) {
    result += source.slice(at, start) + text;
    at = end;
  }
  return result + source.slice(at);
}

const maxAhead = 32; // items

/**
 * Finds for each item of a list its partner in an earlier list: an equal item, or else one that is alike and equals no other.
 * Returns the indices of the partners, which ascend.
 */
export function partnersIn(
  before: readonly string[],
  after: readonly string[],
  isAlike: (before: number, after: number) => boolean,
): (number | undefined)[] {
  const shorter = Math.min(before.length, after.length);
  let first = 0, common = 0; // where they first differ, and how many are equal at the end
  while (first < shorter && before[first] === after[first]) first++;
  while (common < shorter - first && before.at(-1 - common) === after.at(-1 - common)) common++;
  const end = before.length - common, others = new Set(after.slice(first, after.length - common));
  let next = first;
  return after.map((text, nth) => {
    if (nth < first) return nth;
    if (nth >= after.length - common) return nth - after.length + before.length;
    const ahead = Array.from({ length: Math.max(0, Math.min(maxAhead, end - next)) }, (_, nth) => next + nth);
    const partner = ahead.find((old) => before[old] === text) ??
      ahead.find((old) => !others.has(before[old]!) && isAlike(old, nth));
    if (partner !== undefined) next = partner + 1;
    return partner;
  });
}

/** A text without what the systems of its authors add: a byte order mark, and the line ends of Windows. */
export const plainText = (source: string): string => source.replace(/^\ufeff/, "").replaceAll("\r\n", "\n");

/** Gives a text the byte order mark and the line ends of a file. Lines that the file has keep theirs. */
export function withLineEnds(text: string, file: string): string {
  const mark = file.startsWith("\ufeff") ? "\ufeff" : "";
  const all = file.split("\n").length - 1, ofWindows = file.split("\r\n").length - 1;
  if (ofWindows === 0) return mark + text;
  if (ofWindows === all) return mark + text.replaceAll("\n", "\r\n");
  const before = file.slice(mark.length).split("\n"), after = text.split("\n");
  const partners = partnersIn(before.map((line) => line.replace(/\r$/, "")), after, () => false);
  const common = 2 * ofWindows > all ? "\r" : "";
  const lines = after.map((line, nth) =>
    nth === after.length - 1 ? line : before[partners[nth] ?? -1] ?? line + common
  );
  return mark + lines.join("\n");
}
