// Arguments as agents send them: null or "" for missing ones, and numbers, lists and objects as text. An unambiguous
// value is accepted, and any other is left for the tool to refuse.
import { makeWellFormed, parseJson, readMembers } from "../common/json-text.ts";
import { parseObject, requireLevels } from "../schema/parse.ts";
import type { Unchecked } from "../schema/parse.ts";
import { isObject, isOptional, metaOf } from "../schema/struct.ts";
import type { Schema, Struct } from "../schema/struct.ts";
import { shownOf } from "./schemas.ts";

const maxLevels = 200;

/** Reads the arguments of a call: missing, an object, or its JSON text. Undefined for anything else. */
export function readArguments(value: unknown, text: string | undefined): Required<Unchecked> | undefined {
  if (value === undefined || value === null) return { value: {}, members: new Map() };
  if (isObject(value)) return { value, members: readMembers(text!) };
  return typeof value === "string" && isObject(parseJson(value))
    ? parseObject(value, "arguments", maxLevels)
    : undefined;
}

/** Fits arguments to the members of a struct where that is unambiguous. */
export function fitArguments(struct: Struct<object, Schema>, { value, members = new Map() }: Unchecked): Unchecked {
  const fitted = { value: { ...value } as Record<string, unknown>, members: new Map(members) };
  for (const [name, member] of Object.entries(struct.schema)) {
    const text = members.get(name);
    if (text === undefined || fits(member, fitted.value[name])) continue;
    const better = fit(member, fitted.value[name], text, name);
    if (better === undefined) {
      delete fitted.value[name];
      fitted.members.delete(name);
    } else {
      fitted.value[name] = parseJson(better);
      fitted.members.set(name, better);
    }
  }
  return fitted;
}

const fits = (struct: object, value: unknown): boolean => metaOf(struct).findFault(value) === undefined;

const isNothing = (value: unknown): boolean =>
  value === null || typeof value === "string" && /^\s*(null|none|undefined)?\s*$/i.test(value);

/** The JSON text of a value that fits; undefined if it means a missing value. */
function fit(struct: object, value: unknown, text: string, name: string): string | undefined {
  if (isOptional(struct) && isNothing(value)) return undefined;
  const read = shownOf(struct)?.read;
  const candidates = spellings(value, text, name);
  // The first other spelling results in the best error.
  const all = read === undefined ? candidates : [...candidates, ...[text, ...candidates].map(read)];
  return all.find((candidate) => fits(struct, parseJson(candidate))) ?? all.find((candidate) => candidate !== text) ??
    text;
}

/** JSON texts of other possible meanings of a value. */
function spellings(value: unknown, text: string, name: string): string[] {
  if (typeof value === "number" || typeof value === "boolean") return [JSON.stringify(text)];
  if (isObject(value)) return [`[${text}]`];
  if (typeof value !== "string") return [];
  const trimmed = value.trim(), isBoolean = /^(true|false)$/i.test(trimmed);
  const spelt = isBoolean ? trimmed.toLowerCase() : makeWellFormed(trimmed), parsed = parseJson(spelt);
  if (parsed === undefined) return [];
  requireLevels(spelt, `Field ${name}`, maxLevels);
  return isObject(parsed) ? [spelt, `[${spelt}]`] : [spelt];
}
