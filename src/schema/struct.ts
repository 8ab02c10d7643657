// The vocabulary in which the shape of every body, query and answer is said, over superstruct. A struct checks, finds the
// words for what does not fit (superstruct's own repeat the value, and fail on some), and knows its JSON Schema.
import { define, nullable as allowNull, optional as optionally, Struct } from "superstruct";
import { type as membersOf, validate } from "superstruct";
import type { Infer } from "superstruct";
import { missingField, unknownField, wrongField, wrongWhole } from "../common/errors.ts";
import type { JsonText } from "../common/json-text.ts";

export type { Infer, Struct };
export type Schema = Parameters<typeof membersOf>[0];
export type Members<S extends Schema> = Infer<ReturnType<typeof membersOf<S>>>;
/** A JSON Schema, of the dialect of 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

type Test = (value: unknown) => boolean;

/**
 * What is known of a struct. Its test tells that a value fits: superstruct's walk over a body, which can say why one does
 * not, costs ten times as much.
 */
type Meta = {
  test: Test;
  schema: JsonSchema;
  isOptional?: boolean;
  isRawJson?: boolean;
  name?: string;
  /** Of an object: its members that are numbers. */
  numbers?: string[];
};

const metas = new WeakMap<object, Meta>();

export function metaOf(struct: object): Meta {
  const meta = metas.get(struct);
  // Without its test, such a struct would refuse every value.
  if (meta === undefined) throw new TypeError("Not a struct made by schema/struct.ts");
  return meta;
}

function annotate<S extends object>(struct: S, known: Meta): S {
  metas.set(struct, known);
  return struct;
}

export const schemaOf = (struct: object): JsonSchema => metaOf(struct).schema;
/** Whether a struct is of this type of JSON Schema. */
export const hasType = (struct: object, type: string): boolean => [schemaOf(struct).type].flat().includes(type);
/** Whether `read` gives it as JSON text. */
export const isRawJson = (struct: object): boolean => metaOf(struct).isRawJson ?? false;
export const isOptional = (struct: object): boolean => metaOf(struct).isOptional ?? false;
/** The name under which a struct is told of once, where others refer to it. */
export const nameOf = (struct: object): string | undefined => metaOf(struct).name;

const allowed = "Allowed: ";

/** Refuses a value that does not fit, naming the first faulty field by its path and what is wanted there. */
export function check<T>(struct: Struct<T, unknown>, value: unknown, whole = "Input"): T {
  if (metaOf(struct).test(value)) return value as T;
  const [failure, checked] = validate(value, struct);
  if (failure === undefined) return checked;
  if (failure.path.length === 0) throw wrongWhole(whole, failure.type);
  const path = failure.path.map((step) => typeof step === "number" ? `[${step}]` : `.${step}`).join("").slice(1);
  if (failure.type.startsWith(allowed)) throw unknownField(path, failure.type);
  throw failure.value === undefined ? missingField(path) : wrongField(path, failure.type);
}

/** A struct of one value; `words` continue the sentence "Field x must be …". */
export const predicate = <T>(words: string, test: Test, schema: JsonSchema): Struct<T, null> =>
  annotate(define<T>(words, (value) => test(value) || words), { test, schema });

export const optional = <T, S>(struct: Struct<T, S>): Struct<T | undefined, S> => {
  const known = metaOf(struct);
  const test = (value: unknown) => value === undefined || known.test(value);
  return annotate(optionally(struct), { ...known, test, isOptional: true });
};

/** A value that may be null instead. */
export const nullable = <T, S>(struct: Struct<T, S>): Struct<T | null, S> => {
  const known = metaOf(struct);
  const { type } = known.schema;
  return annotate(allowNull(struct), {
    ...known,
    test: (value) => value === null || known.test(value),
    schema: typeof type === "string"
      ? { ...known.schema, type: [type, "null"] }
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
  const name = "an object";
  const { entries } = membersOf(schema);
  const tests = Object.entries(schema).map(([name, struct]) => [name, metaOf(struct).test] as const);
  const required = Object.keys(schema).filter((name) => !isOptional(schema[name]!));
  const numbers = Object.keys(schema).filter((name) =>
    hasType(schema[name]!, "integer") || hasType(schema[name]!, "number")
  );
  return annotate(
    new Struct({ type: name, schema, entries, validator: (value) => isObject(value) || name }),
    {
      test: (value) => isObject(value) && tests.every(([name, test]) => test(value[name])),
      schema: {
        type: "object",
        properties: Object.fromEntries(Object.entries(schema).map(([name, struct]) => [name, refer(struct)])),
        ...(required.length === 0 ? {} : { required }),
      },
      numbers,
    },
  );
}

/** An object with these members and no others: what a person writes may have a typing error in a name. */
export function exactly<S extends Schema>(schema: S): Struct<Members<S>, S> {
  const names = Object.keys(schema);
  const unknown = define(`${allowed}${names.join(", ") || "none"}`, () => "unknown");
  const open = object(schema);
  const struct = new Struct({
    ...open,
    *entries(value, context) {
      yield* open.entries(value, context);
      if (isObject(value)) {
        for (const key of Object.keys(value)) if (!names.includes(key)) yield [key, value[key], unknown];
      }
    },
  });
  return annotate(struct, {
    ...metaOf(open),
    test: (value) => metaOf(open).test(value) && Object.keys(value as object).every((key) => names.includes(key)),
    schema: { ...schemaOf(open), additionalProperties: false },
  });
}

/** A struct that fits only what a further test holds for; `words` say what is wanted instead, and `schema` does too. */
export function refined<T, S>(struct: Struct<T, S>, test: (value: T) => boolean, words: string, schema: JsonSchema) {
  const known = metaOf(struct);
  return annotate(
    new Struct({ ...struct, refiner: (value: T) => test(value) || { message: words, type: words } }),
    { ...known, test: (value) => known.test(value) && test(value as T), schema: { ...known.schema, ...schema } },
  );
}

export function listOf<T>(struct: Struct<T, unknown>): Struct<T[], Struct<T, unknown>> {
  const name = "an array";
  const known = metaOf(struct);
  const list = new Struct<T[], Struct<T, unknown>>({
    type: name,
    schema: struct,
    *entries(value) {
      if (Array.isArray(value)) { for (const [index, item] of value.entries()) yield [index, item, struct]; }
    },
    validator: (value) => Array.isArray(value) || name,
  });
  return annotate(list, {
    test: (value) => Array.isArray(value) && value.every(known.test),
    schema: { type: "array", items: refer(struct) },
  });
}

/** Another struct of the same, of which more is known. */
const extend = <T, S>(struct: Struct<T, S>, more: Partial<Meta>): Struct<T, S> =>
  annotate(new Struct({ ...struct }), { ...metaOf(struct), ...more });

/** A struct of what is told of under a name. */
export const named = <T, S>(name: string, struct: Struct<T, S>): Struct<T, S> => extend(struct, { name });

/** A struct of whose values the JSON Schema says more. */
export const described = <T, S>(struct: Struct<T, S>, description: string, more: JsonSchema = {}): Struct<T, S> =>
  extend(struct, { schema: { ...schemaOf(struct), description, ...more } });

/** A struct of JSON that `read` gives as its text. */
export const rawJson = (struct: object): Struct<JsonText, null> =>
  extend(struct as Struct<JsonText, null>, { isRawJson: true });

/** The structs that an object's members or a list's items have. */
export const partsOf = ({ schema }: { schema?: unknown }): object[] =>
  !isObject(schema) ? [] : metas.has(schema) ? [schema] : Object.values(schema) as object[];

/** How others refer to a struct: by its name, where it has one. */
export const refer = (struct: object): JsonSchema => {
  const name = nameOf(struct);
  return name === undefined ? schemaOf(struct) : { $ref: `#/components/schemas/${name}` };
};
