// Declarations as a list, as models write them: a schema of few keywords has no objects with members of any names.
import { makeWellFormed, parseJson, readItems, readMembers, stringifyMembers } from "../common/json-text.ts";
import { isObject } from "../schema/struct.ts";

/**
 * Converts the JSON text of a list of declarations to that of declarations by name. Any other text is left unchanged.
 */
export function declarationsByName(text: string): string {
  const list = parseJson(text);
  if (!Array.isArray(list) || !list.every((item) => isObject(item) && typeof item.name === "string")) return text;
  const named = readItems(text).map((item, nth): [string, string] => {
    const { name, type } = list[nth], members = readMembers(item);
    const entries = [...members].filter(([key, member]) => key !== "name" && member !== "null");
    return [name, stringifyMembers(entries.map(([key, member]) => [key, readMember(key, member, type)]))];
  });
  return stringifyMembers(named);
}

function readMember(key: string, text: string, type: unknown): string {
  if (key === "required") return text.replace(/^"(true|false)"$/i, (_, boolean) => boolean.toLowerCase());
  return key === "example" ? toExample(type, text) : text;
}

/** The JSON text of an example. For types other than text, it may be a string that contains the JSON. */
function toExample(type: unknown, text: string): string {
  const value = parseJson(text);
  if (type === "text") return typeof value === "number" || typeof value === "boolean" ? JSON.stringify(text) : text;
  return typeof value === "string" && parseJson(value) !== undefined ? makeWellFormed(value) : text;
}
