// Faults of files, and their places. All faults of all files are found before any change.

/** A place in a text, both counted from 1. */
export type Place = { line: number; column: number };

/**
 * A fault of a file, or a warning with `isWarning`. `file` is its path as shown to people, and `message` a sentence
 * without a period.
 */
export type Fault = Place & { file: string; message: string; isWarning?: boolean };

/** Receives the faults and warnings of a file, each at an offset of its text. */
export type Report = (offset: number, message: string, isWarning?: boolean) => void;

/** Receives the reports of a file with a text as faults. */
export const reportTo = (faults: Fault[], file: string, text: string): Report => (offset, message, isWarning) =>
  void faults.push({ file, ...placeOf(text, offset), message, ...(isWarning ? { isWarning } : {}) });

/** Gives the place of an offset in a text. Columns count characters. */
export function placeOf(text: string, offset: number): Place {
  const before = text.slice(0, offset).split(/\r\n|\r|\n/);
  return { line: before.length, column: [...before.at(-1)!].length + 1 };
}

/** The offset of a place in a text. */
export function offsetOf(text: string, { line, column }: Place): number {
  let start = 0;
  for (let nth = 1; nth < line; nth++) start = text.indexOf("\n", start) + 1;
  return start + [...text.slice(start)].slice(0, column - 1).join("").length;
}

/** `prompts/chat.md:3:1: title must be a name …` */
export const describeFault = ({ file, line, column, message, isWarning }: Fault): string =>
  `${file}:${line}:${column}: ${isWarning ? "Warning: " : ""}${message}`;
