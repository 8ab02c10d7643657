// From JSON text to values that have been checked.
import { notJson, wrongField, wrongWhole } from "../common/errors.ts";
import { isDeeper } from "../common/json-scan.ts";
import { compact, isSameNumber, jsonText, makeWellFormed, readMembers, readValue } from "../common/json-text.ts";
import type { JsonText } from "../common/json-text.ts";
import { check, hasType, isObject, isRawJson, metaOf } from "./struct.ts";
import type { Schema, Struct } from "./struct.ts";

const mostLevels = 1000; // nesting costs many times what its length does, here and wherever it is read

/**
 * Parses the JSON text of an object and checks it. Gives its value, and the text of each member, in which every digit
 * and key is as it was sent; only ill-formed Unicode has been made well-formed.
 */
export function parse<T>(struct: Struct<T, unknown>, source: string, whole = "Request body") {
  const text = makeWellFormed(source);
  if (isDeeper(text, mostLevels)) throw wrongWhole(whole, `nested at most ${mostLevels} levels deep`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw notJson(whole);
  }
  const checked = check(struct, value, whole);
  const members = readMembers(text);
  for (const name of metaOf(struct).numbers ?? []) {
    checkNumber(name, members.get(name), (checked as Record<string, unknown>)[name], struct.schema);
  }
  return { value: checked, members };
}

/** Refuses a number that fits only because a double rounds it. */
function checkNumber(name: string, text: string | undefined, value: unknown, schema: unknown): void {
  if (text === undefined || typeof value !== "number" || isSameNumber(text, value)) return;
  const struct = (schema as Record<string, Struct<unknown, unknown>>)[name]!;
  // What is below 0 by less than a double can say fits no number that has 0 for its minimum.
  if (hasType(struct, "integer") || Object.is(value, -0)) throw wrongField(name, struct.type);
}

/** Parses and checks as `parse` does, and gives the value, in which members that are kept are their text. */
export function read<T extends object>(struct: Struct<T, Schema>, source: string, whole?: string): T {
  const { value, members } = parse(struct, source, whole);
  return { ...value, ...rawJsonOf(struct, members) };
}

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
