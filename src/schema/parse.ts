// Parses JSON text to checked values.
import { invalidField, notJson, wrongField, wrongWhole } from "../common/errors.ts";
import { isDeeper } from "../common/json-scan.ts";
import {
  compact,
  isSameNumber,
  jsonText,
  makeWellFormed,
  readItems,
  readMembers,
  readValue,
} from "../common/json-text.ts";
import type { JsonText } from "../common/json-text.ts";
import { check, hasType, isObject, isRawJson, metaOf, partsOf } from "./struct.ts";
import type { Schema, Struct } from "./struct.ts";

export const maxLevels = 1000; // deep nesting costs far more than long text does, here and for every later reader

/** An object that is not checked yet. `members` has the JSON text of each member, if it was parsed. */
export type Unchecked = { value: object; members?: Map<string, string> };

/**
 * Parses the JSON text of an object. Returns its value and the text of each member, with every digit and key as sent.
 * Only ill-formed Unicode is made well-formed.
 */
export function parseObject(source: string, whole = "Request body", levels = maxLevels) {
  const text = makeWellFormed(source);
  requireLevels(text, whole, levels);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw notJson(whole);
  }
  if (!isObject(value)) throw wrongWhole(whole, "an object");
  return { value, members: readMembers(text) };
}

/** Refuses a JSON text that is nested too deep. `whole` names it. */
export function requireLevels(text: string, whole: string, levels = maxLevels): void {
  if (isDeeper(text, levels)) throw wrongWhole(whole, `nested at most ${levels} levels deep`);
}

/** Parses the JSON text of an object and checks it. Returns what `parseObject` does. */
export const parse = <T>(struct: Struct<T, unknown>, source: string, levels?: number) =>
  checkWhole(struct, parseObject(source, undefined, levels));

/** Checks an object that was parsed as a part of another one. `text` is its JSON text. Returns what `parse` does. */
export const parsePart = <T>(struct: Struct<T, unknown>, value: object, text: string) =>
  checkWhole(struct, { value, members: readMembers(text) });

function checkWhole<T>(struct: Struct<T, unknown>, { value, members }: Required<Unchecked>) {
  const checked = check(struct, value);
  for (const [name, member] of Object.entries(metaOf(struct).members ?? {})) {
    checkNumber(name, members.get(name), (checked as Record<string, unknown>)[name], member);
  }
  return { value: checked, members };
}

/** Refuses a number that fits only because a double rounds it. */
function checkNumber(name: string, text: string | undefined, value: unknown, struct: Struct): void {
  if (text === undefined || typeof value !== "number" || isSameNumber(text, value)) return;
  // A negative number that a double rounds to -0 is below a minimum of 0.
  if (hasType(struct, "integer") || Object.is(value, -0)) throw wrongField(name, struct.type);
}

const numeric = new WeakMap<object, boolean>();

/** True if a struct, or a part of it, is a number. */
function hasNumber(struct: object): boolean {
  const known = numeric.get(struct);
  if (known !== undefined) return known;
  const found = !isRawJson(struct) &&
    (hasType(struct, "integer") || hasType(struct, "number") ||
      partsOf(struct as { schema?: unknown }).some(hasNumber));
  numeric.set(struct, found);
  return found;
}

/** Refuses numbers within a value that fit only because a double rounds them. A text without numbers is not split. */
function checkNumbers(path: string, text: string | undefined, value: unknown, struct: Struct): void {
  if (text === undefined || !hasNumber(struct)) return;
  if (Array.isArray(value)) {
    const [item] = partsOf(struct) as Struct[];
    const texts = readItems(text);
    for (const [index, each] of value.entries()) checkNumbers(`${path}[${index}]`, texts[index], each, item!);
  } else if (isObject(value)) {
    const texts = readMembers(text);
    for (const [name, member] of Object.entries(metaOf(struct).members ?? {})) {
      checkNumbers(`${path}.${name}`, texts.get(name), value[name], member);
    }
  } else checkNumber(path, text, value, struct);
}

/** Checks an object. Returns it with the JSON text of its `rawJson` members. */
export function checkObject<T extends object>(
  struct: Struct<T, Schema>,
  { value, members = new Map() }: Unchecked,
): T {
  const { value: checked } = checkWhole(struct, { value, members });
  for (const [name, member] of Object.entries(metaOf(struct).members ?? {})) {
    checkNumbers(name, members.get(name), (checked as Record<string, unknown>)[name], member);
  }
  return { ...checked, ...rawJsonOf(struct, members) };
}

/** Checks a value that is not in a body, such as a part of a path. `field` is its name, and `whole` what messages call it. */
export function checkParameter<T>(field: string, struct: Struct<T, unknown>, value: unknown, whole: string): T {
  const fault = metaOf(struct).findFault(value);
  if (fault === undefined) return value as T;
  throw invalidField(field, `${whole} must be ${fault.type}`, fault.type);
}

/** Parses the JSON text of an object and checks it. Returns what `checkObject` does. */
export const readObject = <T extends object>(struct: Struct<T, Schema>, source: string, whole?: string): T =>
  checkObject(struct, parseObject(source, whole));

/**
 * Reads the JSON text of an object without checking it. Returns it with the JSON text of its `rawJson` members, and of
 * those of the objects in its lists.
 */
export function readTrusted(struct: object, text: string): object {
  const value = readValue(text) as Record<string, unknown>, members = readMembers(text);
  const lists = Object.entries(membersOf(struct)).flatMap(([name, member]) => {
    const item = hasType(member, "array") ? (member as { schema?: object }).schema : undefined;
    const isGiven = Array.isArray(value[name]) && item !== undefined && Object.values(membersOf(item)).some(isRawJson);
    return isGiven ? [[name, readItems(members.get(name)!).map((one) => readTrusted(item, one))]] : [];
  });
  return { ...value, ...Object.fromEntries(lists), ...rawJsonOf(struct, members) };
}

const membersOf = (struct: object): Record<string, object> =>
  "schema" in struct && isObject(struct.schema) ? struct.schema as Record<string, object> : {};

function rawJsonOf(struct: object, members: Map<string, string>): Record<string, JsonText> {
  const schema = membersOf(struct);
  const rawJson = Object.entries(schema).filter(([name, member]) => isRawJson(member) && members.has(name));
  return Object.fromEntries(rawJson.map(([name]) => [name, jsonText(compact(members.get(name)!))]));
}
