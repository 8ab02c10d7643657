// JSON Schemas of tools. Clients pass them to model providers and to validators in other languages, where one unknown
// keyword fails the tool, or the whole session. So they have only keywords that all of them support.
import { isOptional, metaOf, partsOf, schemaOf } from "../schema/struct.ts";
import type { JsonSchema } from "../schema/struct.ts";

/**
 * Schema for agents in place of a struct's own, and a function that converts their JSON text to one that fits the
 * struct.
 */
type Shown = { schema: JsonSchema; read?: (text: string) => string };

const shown = new WeakMap<object, Shown>();

export function shownAs<T extends object>(struct: T, schema: JsonSchema, read?: (text: string) => string): T {
  shown.set(struct, { schema, ...(read === undefined ? {} : { read }) });
  return struct;
}

export const shownOf = (struct: object): Shown | undefined => shown.get(struct);

/**
 * The schema of a struct, complete in itself, of `type`, `properties`, `required`, `items`, `enum` and `description`.
 * It has a description in place of a type where a value may be null, may have one of several types or members of any
 * names, or is deeper than `levels`.
 */
export function plainSchema(struct: object, levels: number): JsonSchema {
  const known = shown.get(struct);
  if (known !== undefined) return known.schema;
  const { type, enum: texts, const: only, description } = schemaOf(struct);
  const about = description === undefined ? {} : { description };
  const { members } = metaOf(struct), [item, ...others] = partsOf(struct);
  if (type === "object" && members !== undefined && levels > 0) {
    const all = Object.entries(members);
    const required = all.flatMap(([name, member]) => isOptional(member) ? [] : [name]);
    const properties = Object.fromEntries(all.map(([name, member]) => [name, plainSchema(member, levels - 1)]));
    return { type, properties, ...(required.length === 0 ? {} : { required }), ...about };
  }
  if (type === "array" && item !== undefined && others.length === 0 && levels > 0) {
    return { type, items: plainSchema(item, levels - 1), ...about };
  }
  if (typeof only === "string") return { type: "string", enum: [only], ...about };
  if (typeof type === "string" && type !== "object" && type !== "array") {
    return { type, ...(texts === undefined ? {} : { enum: texts }), ...about };
  }
  return { description: describe([type].flat(), texts, description) };
}

const nouns: Record<string, string> = {
  string: "a string",
  integer: "an integer",
  number: "a number",
  boolean: "true or false",
  object: "an object",
  array: "an array",
  null: "null",
};

/** Describes a value without a type. */
function describe(types: unknown[], texts: unknown, description: unknown): string {
  const kinds = Array.isArray(texts) ? texts.map(String) : types.flatMap((type) => nouns[String(type)] ?? []);
  const words = kinds.length === 0 ? "any value" : kinds.join(kinds.length > 2 ? ", " : " or ");
  const sentence = words[0]!.toUpperCase() + words.slice(1);
  return description === undefined ? sentence : `${sentence}. ${description}`;
}
