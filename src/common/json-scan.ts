// Scans JSON text: finds where strings and values end, and how deeply they are nested.

export const comma = 0x2c, colon = 0x3a, braceClose = 0x7d, bracketOpen = 0x5b, bracketClose = 0x5d;
const quote = 0x22, backslash = 0x5c, braceOpen = 0x7b;

const isSpace = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
export const isOpening = (code: number) => code === braceOpen || code === bracketOpen;
export const isClosing = (code: number) => code === braceClose || code === bracketClose;

/** True if a text, which may be invalid JSON, nests arrays and objects deeper than `levels`. */
export function isDeeper(text: string, levels: number): boolean {
  // Most texts have no more brackets than that, and need no scan.
  if (countUpTo(levels, text, "{") + countUpTo(levels, text, "[") <= levels) return false;
  for (let at = 0, depth = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at) - 1;
    else if (isOpening(code) && ++depth > levels) return true;
    else if (isClosing(code)) depth--;
  }
  return false;
}

/** Replaces each array and object that is nested deeper than `levels` by 0. */
export function cutDeeper(text: string, levels: number): string {
  let cut = "", from = 0;
  for (let at = 0, depth = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at) - 1;
    else if (isClosing(code)) depth--;
    else if (isOpening(code) && ++depth > levels) {
      cut += `${text.slice(from, at)}0`;
      from = endOfValue(text, at);
      at = from - 1;
      depth--;
    }
  }
  return cut + text.slice(from);
}

/** Counts a character in a text, up to one more than `max`. */
function countUpTo(max: number, text: string, character: string): number {
  let count = 0;
  for (let at = text.indexOf(character); at >= 0 && count <= max; at = text.indexOf(character, at + 1)) count++;
  return count;
}

export function skipSpace(text: string, at: number): number {
  while (isSpace(text.charCodeAt(at))) at++;
  return at;
}

/** The offset after the string that begins at `start`. */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = end;
    while (text.charCodeAt(escapes - 1) === backslash) escapes--;
    if ((end - escapes) % 2 === 0) return end + 1;
  }
  return text.length;
}

/**
 * The offset after the value that begins at `start`. It counts depth and does not recurse, so nesting uses no stack.
 */
export function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === quote) return endOfString(text, start);
  if (!isOpening(first)) return endOfScalar(text, start);
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at) - 1;
    else if (isOpening(code)) depth++;
    else if (isClosing(code) && --depth === 0) return at + 1;
  }
  return text.length;
}

function endOfScalar(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === comma || isClosing(code) || isSpace(code)) return at;
  }
  return text.length;
}
