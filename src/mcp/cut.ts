// Cuts texts between characters.

const encoder = new TextEncoder();

/** The piece of a text from a place on with at most this many bytes in UTF-8, and the start of the rest, if any. */
export function cutText(text: string, at: number, maxBytes: number): { piece: string; next: number | undefined } {
  // A UTF-16 code unit takes at least one byte.
  const { read } = encoder.encodeInto(text.slice(at, at + maxBytes), new Uint8Array(maxBytes));
  const end = at + Math.max(read, 1);
  return { piece: text.slice(at, end), next: end < text.length ? end : undefined };
}

/** Shortens a text that has more than this many characters. */
export function shorten(text: string, maxCharacters: number): string {
  const { piece, next } = cutText(text, 0, 4 * maxCharacters);
  const characters = [...piece];
  return characters.length > maxCharacters || next !== undefined
    ? `${characters.slice(0, maxCharacters).join("")}…`
    : text;
}
