// Finding one's way through JSON text: where strings and values end, and how deep they stand in each other.

export const comma = 0x2c, colon = 0x3a, braceClose = 0x7d, bracketOpen = 0x5b, bracketClose = 0x5d;
const quote = 0x22, backslash = 0x5c, braceOpen = 0x7b;

const isSpace = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
export const isOpening = (code: number) => code === braceOpen || code === bracketOpen;
export const isClosing = (code: number) => code === braceClose || code === bracketClose;

/** Whether arrays and objects stand in each other more levels deep than given, in what may be JSON. */
export function isDeeper(text: string, levels: number): boolean {
  // Most texts have fewer brackets than that, and are not looked at character by character.
  if (countUpTo(levels, text, "{") + countUpTo(levels, text, "[") <= levels) return false;
  for (let at = 0, depth = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at) - 1;
    else if (isOpening(code) && ++depth > levels) return true;
    else if (isClosing(code)) depth--;
  }
  return false;
}

/** How often a character stands in a text; where that is more than the given number, one more than that. */
function countUpTo(most: number, text: string, character: string): number {
  let count = 0;
  for (let at = text.indexOf(character); at >= 0 && count <= most; at = text.indexOf(character, at + 1)) count++;
  return count;
}

export function skipSpace(text: string, at: number): number {
  while (isSpace(text.charCodeAt(at))) at++;
  return at;
}

/** Where the string that opens at `start` has closed. */
export function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) return at + 1;
    if (code === backslash) at++;
  }
  return text.length;
}

/** Where the value that begins at `start` has ended. Depth is counted, so nesting costs no stack. */
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
