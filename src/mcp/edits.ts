// Edits the texts of messages: replaces pieces that must occur exactly once. Everything else stays as written.
import { conflict } from "../common/errors.ts";
import { jsonText, readItems, readMembers, stringifyMembers } from "../common/json-text.ts";
import type { Messages } from "../schema/serving.ts";

export type Edit = { old: string; new: string };

/**
 * Applies edits in order, each to the result of those before. Throws if an `old` does not occur exactly once in all
 * texts together, including overlapping occurrences.
 */
export function applyEdits(messages: Messages, edits: readonly Edit[]): Messages {
  const texts: string[] = [];
  mapTexts(messages.text, (text) => {
    texts.push(text);
    return text;
  });
  for (const [index, { old, new: replacement }] of edits.entries()) {
    const find = finderOf(old);
    const found = texts.flatMap((text, nth) => find(text).map((at) => ({ nth, at })));
    const [only] = found;
    if (only === undefined || found.length > 1) throw notOnce(index, found.length);
    const text = texts[only.nth]!;
    texts[only.nth] = text.slice(0, only.at) + replacement + text.slice(only.at + old.length);
  }
  let nth = 0;
  return jsonText(mapTexts(messages.text, () => texts[nth++]!));
}

const mostCounted = 100;

const notOnce = (index: number, count: number) =>
  conflict(
    `edits[${index}].old must occur exactly once in the texts of the messages, and occurs ${
      count === 0 ? "nowhere" : count < mostCounted ? `${count} times` : `${mostCounted} times or more`
    }. ${count === 0 ? "Copy it from get_prompt, character by character" : "Add what stands around it"}`,
    "edit_not_unique",
  );

/**
 * Creates a function that finds a piece in a text, by Knuth, Morris and Pratt. The time grows with the length of both.
 * That of `indexOf` grows with their product, and is minutes for a text that was made for it.
 */
function finderOf(piece: string): (text: string) => number[] {
  const border = new Int32Array(piece.length + 1);
  const next = (matched: number, code: number): number => {
    while (matched > 0 && piece.charCodeAt(matched) !== code) matched = border[matched]!;
    return piece.charCodeAt(matched) === code ? matched + 1 : 0;
  };
  for (let at = 1; at < piece.length; at++) border[at + 1] = next(border[at]!, piece.charCodeAt(at));
  return (text) => {
    const found: number[] = [];
    for (let at = 0, matched = 0; at < text.length && found.length < mostCounted; at++) {
      matched = next(matched, text.charCodeAt(at));
      if (matched < piece.length) continue;
      found.push(at + 1 - piece.length);
      matched = border[matched]!;
    }
    return found;
  };
}

/** Replaces the texts of messages: contents that are texts, and the texts of their parts. */
const mapTexts = (messages: string, map: (text: string) => string): string =>
  mapItems(
    messages,
    (message) =>
      mapMember(message, "content", (content) =>
        content.startsWith("[")
          ? mapItems(content, (part) =>
            mapMember(part, "text", (text) =>
              mapString(text, map)))
          : mapString(content, map)),
  );

const mapItems = (list: string, map: (item: string) => string): string => `[${readItems(list).map(map).join(",")}]`;

function mapMember(object: string, name: string, map: (value: string) => string): string {
  const members = readMembers(object), value = members.get(name);
  const mapped = value === undefined ? undefined : map(value);
  return mapped === value ? object : stringifyMembers(members.set(name, mapped!));
}

/** Maps a text. An unchanged one keeps its escapes, and a value of another kind is left unchanged. */
function mapString(value: string, map: (text: string) => string): string {
  if (!value.startsWith('"')) return value;
  const text = JSON.parse(value) as string, mapped = map(text);
  return mapped === text ? value : JSON.stringify(mapped);
}
