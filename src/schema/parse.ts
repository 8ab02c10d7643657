// From JSON text to values that have been checked.
import { notJson, wrongField, wrongWhole } from "../common/errors.ts";
import { isDeeper } from "../common/json-scan.ts";
import { compact, isSameNumber, jsonText, makeWellFormed, readMembers, readValue } from "../common/json-text.ts";
import type { JsonText } from "../common/json-text.ts";
import { check, hasType, isObject, isRawJson, metaOf } from "./struct.ts";
import type { Schema, Struct } from "./struct.ts";

export const mostLevels = 1000; // nesting costs many times what its length does, here and wherever it is read

/** An object that is yet to be checked. `members` has the text of each member that was parsed. */
export type Unchecked = { value: object; members?: Map<string, string> };

/**
 * Parses the JSON text of an object. Gives its value, and the text of each member, in which every digit and key is as it was
 * sent; only ill-formed Unicode has been made well-formed.
 */
export function parseObject(source: string, whole = "Request body", levels = mostLevels) {
  const text = makeWellFormed(source);
  if (isDeeper(text, levels)) throw wrongWhole(whole, `nested at most ${levels} levels deep`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw notJson(whole);
  }
  if (!isObject(value)) throw wrongWhole(whole, "an object");
  return { value, members: readMembers(text) };
}

/** Parses the JSON text of an object and checks it. Gives what `parseObject` does. */
export function parse<T>(struct: Struct<T, unknown>, source: string, levels?: number) {
  const { value, members } = parseObject(source, undefined, levels);
  return { value: checkParsed(struct, value, members), members };
}

function checkParsed<T>(struct: Struct<T, unknown>, value: object, members: Map<string, string>): T {
  const checked = check(struct, value);
  for (const name of metaOf(struct).numbers ?? []) {
    checkNumber(name, members.get(name), (checked as Record<string, unknown>)[name], struct.schema);
  }
  return checked;
}

/** Refuses a number that fits only because a double rounds it. */
function checkNumber(name: string, text: string | undefined, value: unknown, schema: unknown): void {
  if (text === undefined || typeof value !== "number" || isSameNumber(text, value)) return;
  const struct = (schema as Record<string, Struct<unknown, unknown>>)[name]!;
  // What is below 0 by less than a double can say fits no number that has 0 for its minimum.
  if (hasType(struct, "integer") || Object.is(value, -0)) throw wrongField(name, struct.type);
}

/** Checks an object. Gives its value, in which parsed members that are kept are their text. */
export const take = <T extends object>(
  struct: Struct<T, Schema>,
  { value, members = new Map() }: Unchecked,
): T => ({ ...checkParsed(struct, value, members), ...rawJsonOf(struct, members) });

/** Parses and checks; gives what `take` does. */
export const read = <T extends object>(struct: Struct<T, Schema>, source: string, whole?: string): T =>
  take(struct, parseObject(source, whole));

/** Reads the text of an object that is known to be JSON, in which members that are kept are their text, as `read` does. */
export const receive = (struct: object, text: string): object => ({
  ...readValue(text) as object,
  ...rawJsonOf(struct, readMembers(text)),
});

function rawJsonOf(struct: object, members: Map<string, string>): Record<string, JsonText> {
  const schema = "schema" in struct && isObject(struct.schema) ? struct.schema : {};
  const rawJson = Object.entries(schema).filter(([name, member]) => isRawJson(member as object) && members.has(name));
  return Object.fromEntries(rawJson.map(([name]) => [name, jsonText(compact(members.get(name)!))]));
}
