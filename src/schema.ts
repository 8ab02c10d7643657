// The shape of every body and query, as superstruct structs, and the words for what does not fit.
// superstruct's own messages repeat the value (and fail on some), so each struct is named for what is wanted.
import { define, optional as optionally, Struct, type as membersOf, validate } from "superstruct";
import type { Infer } from "superstruct";
import { missingField, notJson, wrongField, wrongWhole } from "./errors.ts";
import { makeWellFormed, readMembers } from "./json-text.ts";

type Schema = Parameters<typeof membersOf>[0];
type Members<S extends Schema> = Infer<ReturnType<typeof membersOf<S>>>;

/**
 * Parses the JSON text of an object and checks it. Gives its value, and the text of each member, in which every digit
 * and key is as it was sent; only ill-formed Unicode has been made well-formed.
 */
export function parse<T>(struct: Struct<T, unknown>, source: string, whole = "Request body") {
  const text = makeWellFormed(source);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw notJson(whole);
  }
  return { value: check(struct, value, whole), members: readMembers(text) };
}

type Test = (value: unknown) => boolean;

// What tells that a value fits: superstruct's walk over a body, which can say why one does not, costs ten times as much.
const tests = new WeakMap<object, Test>();
const testOf = (struct: object): Test => tests.get(struct) ?? (() => false);

function tested<S extends object>(struct: S, test: Test): S {
  tests.set(struct, test);
  return struct;
}

/** Refuses a value that does not fit, naming the first faulty field by its path and what is wanted there. */
export function check<T>(struct: Struct<T, unknown>, value: unknown, whole = "Input"): T {
  if (testOf(struct)(value)) return value as T;
  const [failure, checked] = validate(value, struct);
  if (failure === undefined) return checked;
  if (failure.path.length === 0) throw wrongWhole(whole, failure.type);
  const path = failure.path.map((step) => typeof step === "number" ? `[${step}]` : `.${step}`).join("").slice(1);
  throw failure.value === undefined ? missingField(path) : wrongField(path, failure.type);
}

/** A struct of one value; `wanted` continues the sentence "Field x must be …". */
const wanted = <T>(wanted: string, test: Test) => tested(define<T>(wanted, (value) => test(value) || wanted), test);

const optional = <T, S>(struct: Struct<T, S>): Struct<T | undefined, S> =>
  tested(optionally(struct), (value) => value === undefined || testOf(struct)(value));

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** An object with these members and any others. */
function object<S extends Schema>(schema: S): Struct<Members<S>, S> {
  const name = "an object";
  const { entries } = membersOf(schema);
  const members = Object.entries(schema).map(([name, struct]) => [name, testOf(struct)] as const);
  return tested(
    new Struct({ type: name, schema, entries, validator: (value) => isObject(value) || name }),
    (value) => isObject(value) && members.every(([name, test]) => test(value[name])),
  );
}

/** An object with these members and no others: what a person writes may have a typing error in a name. */
function exactly<S extends Schema>(schema: S): Struct<Members<S>, S> {
  const names = Object.keys(schema);
  const absent = define(`left out: the fields are ${names.join(", ")}`, () => "absent");
  return new Struct({
    ...object(schema),
    *entries(value, context) {
      yield* object(schema).entries(value, context);
      if (isObject(value)) {
        for (const key of Object.keys(value)) if (!names.includes(key)) yield [key, value[key], absent];
      }
    },
  });
}

function listOf<T>(struct: Struct<T, unknown>): Struct<T[], Struct<T, unknown>> {
  const name = "an array";
  return new Struct({
    type: name,
    schema: struct,
    *entries(value) {
      if (Array.isArray(value)) { for (const [index, item] of value.entries()) yield [index, item, struct]; }
    },
    validator: (value) => Array.isArray(value) || name,
  });
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

const text = wanted<string>("a string", (value) => typeof value === "string");
const filledText = wanted<string>("a non-empty string", (value) => typeof value === "string" && value !== "");
// SQLite reads text back only up to a NUL; inside JSON text it is escaped and survives.
const plainText = wanted<string>(
  "a string without NUL characters",
  (value) => typeof value === "string" && !value.includes("\0"),
);
const count = wanted<number>(`an integer from 0 to ${Number.MAX_SAFE_INTEGER}`, isCount);
const timestamp = wanted<number>(`an integer of Unix milliseconds from 0 to ${Number.MAX_SAFE_INTEGER}`, isCount);
const integer = wanted<number>(
  `an integer from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`,
  Number.isSafeInteger,
);
const duration = wanted<number>(
  "a finite number of milliseconds, at least 0",
  (value) => Number.isFinite(value) && Number(value) >= 0,
);
const anyObject = wanted<Record<string, unknown>>("an object", isObject);

// Names are shown in tables and logs.
const name = wanted<string>(
  "a name of 1 to 200 characters without control characters",
  (value) => typeof value === "string" && /^[^\p{Cc}\p{Zl}\p{Zp}]{1,200}$/u.test(value) && value.trim() !== "",
);
const label = wanted<string>(
  "at most 200 characters without control characters",
  (value) => typeof value === "string" && /^[^\p{Cc}\p{Zl}\p{Zp}]{0,200}$/u.test(value),
);
const webUrl = wanted<string | null>(
  "an http or https URL",
  (value) => value === null || typeof value === "string" && /^https?:\/\//i.test(value) && URL.canParse(value),
);
const moment = wanted<number | null>("a time", (value) => value === null || isCount(value));

const texts = object({ input: optional(text), output: optional(text) });
const hasText = ({ input, output }: Infer<typeof texts>) => input !== undefined || output !== undefined;
const DiagnosisContent = tested(
  new Struct({
    ...texts,
    refiner: (value: Infer<typeof texts>) =>
      hasText(value) || { message: "empty content", type: "an object with input or output" },
  }),
  (value) => testOf(texts)(value) && hasText(value as Infer<typeof texts>),
);

/** The body of a submit. Members that are not named here are kept too. */
export const DiagnosisRequest = object({
  sessionId: text,
  status: integer,
  content: DiagnosisContent,
  latency: optional(duration),
  startAt: optional(timestamp),
  endAt: optional(timestamp),
  additional_properties: optional(anyObject),
});

const parts = listOf(anyObject);
const MessageContent = wanted<string | Record<string, unknown>[]>(
  "a string or an array of objects",
  (value) => typeof value === "string" || parts.is(value),
);

/** What is pushed as a version of a prompt. Members of a message that are not named here are kept and served. */
export const PromptContentInput = exactly({
  title: name,
  description: optional(plainText),
  messages: listOf(object({ role: filledText, content: MessageContent })),
  llmConfig: optional(anyObject),
});

export const WorkspaceInput = object({ name, monthlyLimit: count, upgradeUrl: webUrl });
export const WorkspaceChange = object({
  name: optional(name),
  monthlyLimit: optional(count),
  upgradeUrl: optional(webUrl),
});
export const ApiKeyInput = object({ name: label, expiresAt: moment });
export const DeploymentInput = object({ name });

export type WorkspaceInput = Infer<typeof WorkspaceInput>;
export type WorkspaceChange = Infer<typeof WorkspaceChange>;
export type ApiKeyInput = Infer<typeof ApiKeyInput>;
export type DeploymentInput = Infer<typeof DeploymentInput>;
