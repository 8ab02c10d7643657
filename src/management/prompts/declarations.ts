// Declarations of a version's variables: their types, examples, and if they need a value. They are for people and
// tools; served prompts have none.
import { Refusal, wrongField } from "../../common/errors.ts";
import { jsonText } from "../../common/json-text.ts";
import { isVariable } from "../../support/template.ts";
import { Messages } from "../../schema/serving.ts";
import {
  check,
  described,
  exactly,
  mapOf,
  metaOf,
  named,
  option,
  predicate,
  rawJson,
  refined,
  shapedBy,
} from "../../schema/struct.ts";
import type { Infer, Struct } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";

const mostNames = 200, mostBytes = 16 * 1024; // of JSON in UTF-8

export type VariableType = "text" | "number" | "boolean" | "messages";

const shapeOf = (type: VariableType, example: Struct<unknown>) =>
  exactly({
    type: predicate<VariableType>(type, (value) => value === type, { const: type }),
    example: option(example, "A value for previews"),
    required: option(v.boolean, "Whether it needs a value", { default: true }),
    description: option(v.plainText, "What it is for"),
  });
const number = predicate<unknown>("a number", (value) => typeof value === "number", { type: "number" });
const VariableDeclaration = named(
  "VariableDeclaration",
  shapedBy("type", {
    text: shapeOf("text", v.text as Struct<unknown>),
    number: shapeOf("number", number),
    boolean: shapeOf("boolean", v.boolean as Struct<unknown>),
    messages: shapeOf("messages", Messages as Struct<unknown>),
  }),
);

export type Declaration = Infer<typeof VariableDeclaration>;

// A pattern for every language: not all of them know classes such as \p{L}.
const variablePattern = String.raw`^([A-Za-z0-9_.$-]|[^\u0000-\u007f])+$`;

/** Declarations by the names of variables, as JSON text. */
export const Declarations = rawJson(described(
  refined(
    mapOf(VariableDeclaration, isVariable, "named with letters, digits, _ . $ and -", variablePattern),
    (declarations) => Object.keys(declarations).length <= mostNames,
    `at most ${mostNames} variables`,
    { maxProperties: mostNames },
  ),
  `The variables by name: their types, examples, and whether they need a value. At most ${mostBytes} bytes of JSON`,
));
export type Declarations = Infer<typeof Declarations>;

/** Declarations as in a version: undefined if empty. Throws if they are too long. `field` names them. */
export function toDeclarations(given: Declarations | undefined, field = "declarations"): Declarations | undefined {
  const text = given?.text.trim() ?? "{}";
  if (new TextEncoder().encode(text).length > mostBytes) throw wrongField(field, `at most ${mostBytes} bytes of JSON`);
  return text === "{}" ? undefined : given;
}

/** Faults of declarations, each with the path of names that it is about. `field` names them in messages. */
export function faultsOfDeclarations(text: string, field: string): { path: string[]; message: string }[] {
  const struct = exactly({ [field]: Declarations }), declarations: unknown = JSON.parse(text);
  const faultsIn = (path: string[], read: () => unknown) => {
    try {
      read();
    } catch (error) {
      if (error instanceof Refusal) return [{ path, message: error.message }];
      throw error;
    }
    return [];
  };
  const tooLong = faultsIn([], () => toDeclarations(jsonText(text), field));
  if (tooLong.length > 0) return tooLong;
  const found = Object.entries(declarations as object).flatMap(([name, declaration]) => {
    const { path = "", isUnknown } = metaOf(VariableDeclaration).findFault(declaration) ?? {};
    // The name of an unknown member may have points.
    const steps = isUnknown ? [path.slice(1)] : path.match(/[^.[\]]+/g) ?? [];
    return faultsIn([name, ...steps], () => check(struct, { [field]: { [name]: declaration } }));
  });
  return found.length > 0 ? found : faultsIn([], () => check(struct, { [field]: declarations }));
}

/** The declarations of a version by name. */
export const readDeclarations = (declarations: Declarations | undefined): Map<string, Declaration> =>
  new Map(Object.entries(JSON.parse(declarations?.text ?? "{}") as Record<string, Declaration>));
