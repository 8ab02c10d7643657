// Finds the parts of a text in order.

/**
 * True if a text has these parts, two or more, one after the other, with at least `gap` characters between two, the
 * first at its start and the last at its end. Each takes its first place, so none is tried again: it takes linear time.
 */
export function hasParts(text: string, parts: readonly string[], gap = 0): boolean {
  const start = parts[0]!, end = parts.at(-1)!, last = text.length - end.length - gap;
  let at = start.length;
  if (at > last || !text.startsWith(start) || !text.endsWith(end)) return false;
  for (let nth = 1; nth < parts.length - 1; nth++) {
    const found = text.indexOf(parts[nth]!, at + gap);
    if (found < 0) return false;
    at = found + parts[nth]!.length;
  }
  return at <= last;
}
