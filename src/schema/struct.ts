// Structs, on top of superstruct, for all bodies, queries and responses. A struct checks a value, words the error
// (superstruct's messages repeat the value, and making them fails for some), and has a JSON Schema.
import { Struct as Superstruct } from "superstruct";
import type { Infer, type as membersOf } from "superstruct";
import { missingField, unknownField, wrongField, wrongWhole } from "../common/errors.ts";
import { isJsonText } from "../common/json-text.ts";
import type { JsonText } from "../common/json-text.ts";

export type { Infer };
/** Superstruct's type renamed: published types would refer to a file of that package that cannot be imported. */
export interface Struct<T = unknown, S = unknown> extends Superstruct<T, S> {}
export type Schema = Parameters<typeof membersOf>[0];
export type Members<S extends Schema> = Infer<ReturnType<typeof membersOf<S>>>;
/** A JSON Schema, version 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A value that does not fit. `type` says what it must be or, of an unknown member, which ones there are. */
type Fault = {
  /** Its path in the whole, after a point: `.messages[0].role`. Empty for the whole. */
  path: string;
  value: unknown;
  type: string;
  isUnknown?: true;
};

type FindFault = (value: unknown) => Fault | undefined;

/** Metadata of a struct. */
type Meta = {
  /**
   * Finds the first fault of a value and of all its parts. It is the only walk through a value: superstruct's, through
   * the `entries` of structs, takes thirty times as long.
   */
  findFault: FindFault;
  /** Its JSON Schema, without its members. */
  schema: JsonSchema;
  /** The members of an object. */
  members?: Schema;
  isOptional?: boolean;
  isRawJson?: boolean;
  /** Noun of what a text refers to, by id or by name, such as `Prompt`. */
  noun?: string;
  name?: string | undefined;
};

const metas = new WeakMap<object, Meta>();

export function metaOf(struct: object): Meta {
  const meta = metas.get(struct);
  if (meta === undefined) throw new TypeError("Not a struct made by schema/struct.ts");
  return meta;
}

/** Creates a struct with its own message, since superstruct would put the value in one, which fails for some. */
function create<T, S>(type: string, schema: S, meta: Meta): Struct<T, S> {
  const validator = (value: unknown) => meta.findFault(value)?.type ?? true;
  const struct = new Superstruct<T, S>({ type, schema, validator });
  metas.set(struct, meta);
  return struct;
}

/** Copies a struct, with other metadata. */
const extend = <T, S>(struct: { type: string; schema: S }, more: Partial<Meta>): Struct<T, S> =>
  create(struct.type, struct.schema, { ...metaOf(struct), ...more });

/** The JSON Schema of a struct. It is not in the core, which needs none. */
export function schemaOf(struct: object): JsonSchema {
  const { schema: own, members } = metaOf(struct);
  if (members === undefined) return own;
  const all = Object.entries(members);
  const required = all.flatMap(([name, member]) => isOptional(member) ? [] : [name]);
  return {
    type: own.type,
    properties: Object.fromEntries(all.map(([name, member]) => [name, refer(member)])),
    ...(required.length === 0 ? {} : { required }),
    ...own,
  };
}
/** True if a struct has this type in JSON Schema. */
export const hasType = (struct: object, type: string): boolean => [metaOf(struct).schema.type].flat().includes(type);
/** True if `readObject` returns the value as JSON text. */
export const isRawJson = (struct: object): boolean => metaOf(struct).isRawJson ?? false;
export const nounOf = (struct: object): string | undefined => metaOf(struct).noun;
export const isOptional = (struct: object): boolean => metaOf(struct).isOptional ?? false;
/** The name of a shared schema, to which other schemas refer. */
export const nameOf = (struct: object): string | undefined => metaOf(struct).name;

/** Refuses a value that does not fit. The error names the first faulty field by its path, and says what it must be. */
export function check<T>(struct: Struct<T, unknown>, value: unknown, whole = "Input"): T {
  const fault = metaOf(struct).findFault(value);
  if (fault === undefined) return value as T;
  if (fault.path === "") throw wrongWhole(whole, fault.type);
  throw (fault.isUnknown ? unknownField : fault.value === undefined ? missingField : wrongField)(
    fault.path.slice(1),
    fault.type,
  );
}

/** Finds a fault in a part of a value. Its path begins at the whole. */
function findInPart(step: string | number, part: unknown, findFault: FindFault): Fault | undefined {
  const fault = findFault(part);
  return fault && { ...fault, path: (typeof step === "number" ? `[${step}]` : `.${step}`) + fault.path };
}

/** A struct of one value. `words` continue the sentence "Field x must be …". */
export const predicate = <T>(words: string, test: (value: unknown) => boolean, schema: JsonSchema): Struct<T, null> =>
  create<T, null>(words, null, {
    findFault: (value) => test(value) ? undefined : { path: "", value, type: words },
    schema,
  });

/**
 * A struct that adds a hint to the words of its fault: a sentence without a period, for texts that are nearly right.
 */
export const hinted = <T, S>(struct: Struct<T, S>, hintOf: (text: string) => string | undefined): Struct<T, S> => {
  const { findFault } = metaOf(struct);
  return extend(struct, {
    findFault(value) {
      const fault = findFault(value), hint = typeof value === "string" ? hintOf(value) : undefined;
      return fault && { ...fault, type: `${fault.type}${hint === undefined ? "" : `. ${hint}`}` };
    },
  });
};

export const optional = <T, S>(struct: Struct<T, S>): Struct<T | undefined, S> => {
  const { findFault } = metaOf(struct);
  return extend(struct, {
    findFault: (value) => value === undefined ? undefined : findFault(value),
    isOptional: true,
  });
};

/** A value that may be null instead. */
export const nullable = <T, S>(struct: Struct<T, S>): Struct<T | null, S> => {
  const { findFault, schema } = metaOf(struct);
  const { type, enum: texts } = schema;
  return extend(struct, {
    name: undefined,
    findFault: (value) => value === null ? undefined : findFault(value),
    schema: typeof type === "string"
      ? { ...schema, type: [type, "null"], ...(Array.isArray(texts) ? { enum: [...texts, null] } : {}) }
      : { anyOf: [refer(struct), { type: "null" }] },
  });
};

/** One of several texts. */
export const oneOf = <const T extends string>(...texts: T[]): Struct<T, null> =>
  predicate(`one of ${texts.join(", ")}`, (value) => texts.some((text) => text === value), {
    type: "string",
    enum: texts,
  });

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** An object with these members and any others. */
export function object<S extends Schema>(schema: S): Struct<Members<S>, S> {
  const type = "an object";
  const members = Object.entries(schema).map(([name, struct]) => [name, metaOf(struct).findFault] as const);
  return create(type, schema, {
    findFault(value) {
      if (!isObject(value)) return { path: "", value, type };
      for (const [name, findFault] of members) {
        const fault = findInPart(name, value[name], findFault);
        if (fault !== undefined) return fault;
      }
      return undefined;
    },
    schema: { type: "object" },
    members: schema,
  });
}

/** An object with these members and no others, so that a misspelled name is an error. */
export function exactly<S extends Schema>(schema: S): Struct<Members<S>, S> {
  const names = Object.keys(schema);
  const type = names.join(", ") || "none";
  const open = object(schema);
  const { findFault } = metaOf(open);
  return extend(open, {
    findFault(value) {
      const fault = findFault(value);
      if (fault !== undefined) return fault;
      const unknown = Object.keys(value as object).find((name) => !names.includes(name));
      return unknown === undefined ? undefined : { path: `.${unknown}`, value: null, type, isUnknown: true };
    },
    schema: { ...metaOf(open).schema, additionalProperties: false },
  });
}

/** Adds a test to a struct. `words` continue the sentence "Field x must be …", and `schema` is its equivalent. */
export function refined<T, S>(
  struct: Struct<T, S>,
  test: (value: T) => boolean,
  words: string,
  schema: JsonSchema = {},
): Struct<T, S> {
  const known = metaOf(struct);
  return extend(struct, {
    findFault: (value) => known.findFault(value) ?? (test(value as T) ? undefined : { path: "", value, type: words }),
    schema: { ...known.schema, ...schema },
  });
}

export function listOf<T>(struct: Struct<T, unknown>): Struct<T[], Struct<T, unknown>> {
  const type = "an array";
  const { findFault } = metaOf(struct);
  return create(type, struct, {
    findFault(value) {
      if (!Array.isArray(value)) return { path: "", value, type };
      for (const [index, item] of value.entries()) {
        const fault = findInPart(index, item, findFault);
        if (fault !== undefined) return fault;
      }
      return undefined;
    },
    schema: { type: "array", items: refer(struct) },
  });
}

/** An object with a member for each name that `isName` accepts. `words` continue the sentence "Field x must be …". */
export function mapOf<T>(
  struct: Struct<T, unknown>,
  isName: (name: string) => boolean,
  words: string,
  pattern: string,
): Struct<Record<string, T>, Struct<T, unknown>> {
  const type = "an object";
  const { findFault } = metaOf(struct);
  return create(type, struct, {
    findFault(value) {
      if (!isObject(value)) return { path: "", value, type };
      for (const [name, member] of Object.entries(value)) {
        if (!isName(name)) return { path: `.${name}`, value: member, type: words };
        const fault = findInPart(name, member, findFault);
        if (fault !== undefined) return fault;
      }
      return undefined;
    },
    schema: { type: "object", propertyNames: { pattern }, additionalProperties: refer(struct) },
  });
}

/** An object whose shape depends on the text of one of its members. */
export function shapedBy<T extends object>(
  member: string,
  shapes: Record<string, Struct<T, Schema>>,
): Struct<T> {
  const type = "an object";
  const { findFault } = metaOf(oneOf(...Object.keys(shapes)));
  return create<T, unknown>(type, shapes, {
    findFault(value) {
      if (!isObject(value)) return { path: "", value, type };
      const own = value[member];
      return findInPart(member, own, findFault) ?? metaOf(shapes[own as string]!).findFault(value);
    },
    schema: { oneOf: Object.values(shapes).map(refer) },
  });
}

/** A value that fits one of two structs. The error is that of the second. */
export function eitherOf<A, B>(one: Struct<A, unknown>, other: Struct<B, unknown>): Struct<A | B, unknown> {
  const { findFault } = metaOf(one);
  const { findFault: findOther } = metaOf(other);
  return create<A | B, unknown>("one of two shapes", { one, other }, {
    findFault: (value) => findFault(value) && findOther(value),
    schema: { oneOf: [refer(one), refer(other)] },
  });
}

/** Makes a struct's schema a shared one, with a name. */
export const named = <T, S>(name: string, struct: Struct<T, S>): Struct<T, S> => extend(struct, { name });

/** A shared schema of an object with these members and no others. */
export const shape = <S extends Schema>(name: string, schema: S): Struct<Members<S>, S> => named(name, exactly(schema));

/** Adds a description to a struct's schema. */
export const described = <T, S>(struct: Struct<T, S>, description: string, more: JsonSchema = {}): Struct<T, S> =>
  extend(struct, { schema: { ...metaOf(struct).schema, description, ...more } });

/** A member that may be missing, with its description. */
export const option = <T, S>(struct: Struct<T, S>, description: string, more?: JsonSchema): Struct<T | undefined, S> =>
  optional(described(struct, description, more));

/** A value that may be null instead, with its description. */
export const orNull = <T, S>(struct: Struct<T, S>, description: string): Struct<T | null, S> =>
  described(nullable(struct), description);

/** A struct of JSON that `readObject` returns as its text. The text fits too. */
export const rawJson = <T>(struct: Struct<T, unknown>): Struct<JsonText<T>, null> => {
  const { findFault } = metaOf(struct);
  return extend(struct as unknown as Struct<JsonText<T>, null>, {
    findFault: (value) => isJsonText(value) ? undefined : findFault(value),
    isRawJson: true,
  });
};

/** A struct of texts that refer to something, by id or by name. */
export const referenceTo = <T, S>(noun: string, struct: Struct<T, S>): Struct<T, S> => extend(struct, { noun });

/** The structs of an object's members, or of a list's items. */
export const partsOf = ({ schema }: { schema?: unknown }): object[] =>
  !isObject(schema) ? [] : metas.has(schema) ? [schema] : Object.values(schema) as object[];

/** Schema of a struct within other schemas: a reference if it has a name. */
export const refer = (struct: object): JsonSchema => {
  const name = nameOf(struct);
  return name === undefined ? schemaOf(struct) : { $ref: `#/components/schemas/${name}` };
};
