// Finds where a text stops being JSON. Engines report that in different words, and some without a position.
import { skipSpace } from "../common/json-scan.ts";

const scalar = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y;
const escape = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

type Fault = { at: number; text: string };

/** The place where a text stops being JSON, and why. */
export type JsonFault = { line: number; column: number; text: string };

/** Finds the place where a text stops being JSON; undefined for valid JSON. */
export function findJsonFault(text: string): JsonFault | undefined {
  const fault = findFault(text);
  if (fault === undefined) return undefined;
  const before = text.slice(0, fault.at).split(/\r\n|\n|\r/);
  return { line: before.length, column: [...before.at(-1)!].length + 1, text: fault.text };
}

/** Describes the place where a text stops being JSON, and why; undefined for valid JSON. */
export function describeJsonFault(text: string): string | undefined {
  const fault = findJsonFault(text);
  return fault && `line ${fault.line}, column ${fault.column}: ${fault.text}`;
}

/** Kind of token expected next. An array holds the nesting, so depth uses no stack. */
type Expected = "value" | "first item" | "key" | "first key" | "separator";

function findFault(text: string): Fault | undefined {
  const closings: ("]" | "}")[] = [];
  let expected: Expected = "value";
  for (let at = skipSpace(text, 0);; at = skipSpace(text, at)) {
    const character = text.charAt(at);
    const closing = closings.at(-1);
    if (expected === "separator" && closing === undefined) {
      return at === text.length ? undefined : { at, text: `expected the end of the text, found ${nameOf(text, at)}` };
    }
    if (character !== "" && character === closing && expected !== "key" && expected !== "value") {
      closings.pop();
      expected = "separator";
      at++;
    } else if (expected === "separator") {
      if (character !== ",") return { at, text: `expected , or ${closing}, found ${nameOf(text, at)}` };
      expected = closing === "}" ? "key" : "value";
      at++;
    } else if (expected === "key" || expected === "first key") {
      if (character !== '"') return { at, text: `expected a name in double quotes, ${foundInstead(text, at)}` };
      const end = readString(text, at);
      if (typeof end !== "number") return end;
      at = skipSpace(text, end);
      if (text.charAt(at) !== ":") return { at, text: `expected : after a name, found ${nameOf(text, at)}` };
      expected = "value";
      at++;
    } else if (character === "{" || character === "[") {
      closings.push(character === "{" ? "}" : "]");
      expected = character === "{" ? "first key" : "first item";
      at++;
    } else {
      const end = character === '"' ? readString(text, at) : readScalar(text, at);
      if (typeof end !== "number") return end;
      expected = "separator";
      at = end;
    }
  }
}

function readScalar(text: string, at: number): number | Fault {
  scalar.lastIndex = at;
  return scalar.test(text) ? scalar.lastIndex : { at, text: `expected a value, ${foundInstead(text, at)}` };
}

function readString(text: string, start: number): number | Fault {
  for (let at = start + 1; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === '"') return at + 1;
    if (character === "\n" || character === "\r") {
      return { at, text: 'found a line break in a string: write \\n, or end the string with "' };
    }
    if (character < " ") return { at, text: `found a control character in a string: write ${escapeOf(character)}` };
    if (character !== "\\") continue;
    escape.lastIndex = at;
    if (!escape.test(text)) return { at, text: "found an unknown escape in a string: write a backslash as \\\\" };
    at = escape.lastIndex - 1;
  }
  return { at: start, text: 'found a string without its closing "' };
}

const escapeOf = (control: string) => JSON.stringify(control).slice(1, -1);

function foundInstead(text: string, at: number): string {
  const isAfterComma = /,[ \t\n\r]*$/.test(text.slice(Math.max(0, at - 1000), at));
  const found = `found ${nameOf(text, at)}`;
  return isAfterComma && /[\]}]/.test(text.charAt(at)) ? `${found}: remove the comma before it` : found;
}

const nameOf = (text: string, at: number): string =>
  at === text.length ? "the end of the text" : String.fromCodePoint(text.codePointAt(at)!);
