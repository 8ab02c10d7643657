// Makes TypeScript of the service's own shapes, for the client: it is published without superstruct, from which the service
// infers its types, and there messages and settings of a model are JSON text. Here they are what an application gets.
import { FeedbackItem, FeedbackResults } from "../src/schema/feedback.ts";
import { DiagnosisResponse, DiagnosisResults, RateLimitErrorResponse, Revisions } from "../src/schema/serving.ts";
import { ServedPrompt } from "../src/schema/serving.ts";
import { nameOf, partsOf, schemaOf } from "../src/schema/struct.ts";
import type { JsonSchema } from "../src/schema/struct.ts";
import { DiagnosisItem } from "../src/schema/submit-schemas.ts";

const roots = [
  DiagnosisItem,
  DiagnosisResponse,
  DiagnosisResults,
  FeedbackItem,
  FeedbackResults,
  RateLimitErrorResponse,
  Revisions,
  ServedPrompt,
];

/** All named structs in these, by name. */
function namedIn(structs: object[], found = new Map<string, object>()): Map<string, object> {
  for (const struct of structs) {
    const name = nameOf(struct);
    if (name !== undefined) found.set(name, struct);
    namedIn(partsOf(struct), found);
  }
  return found;
}

const simple: Record<string, string> = {
  string: "string",
  number: "number",
  integer: "number",
  boolean: "boolean",
  null: "null",
};

const isPlain = (schema: JsonSchema) => schema.properties === undefined && schema.type !== undefined;

/** The type that a schema describes. */
function typeOf(schema: JsonSchema, indent: string): string {
  if (typeof schema.$ref === "string") return schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1);
  if ("const" in schema) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const either = schema.oneOf ?? (schema.type === undefined && schema.anyOf);
  if (Array.isArray(either)) return either.map((one: JsonSchema) => typeOf(one, indent)).join(" | ");
  if (schema.type === "array") {
    const item = typeOf(schema.items as JsonSchema, indent);
    return item.includes(" | ") && !item.startsWith("{") ? `(${item})[]` : `${item}[]`;
  }
  const types = [schema.type].flat().map((type) =>
    type === "object" ? objectType(schema, indent) : simple[String(type)]
  );
  if (types.includes(undefined)) throw new Error(`No type for ${JSON.stringify(schema)}`);
  return types.join(" | ");
}

function objectType(schema: JsonSchema, indent: string): string {
  const { properties = {}, required = [], additionalProperties: others } = schema as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
    additionalProperties?: JsonSchema | false;
  };
  const more = others === undefined ? "unknown" : others === false ? undefined : typeOf(others, indent);
  if (isPlain(schema)) return `Record<string, ${more}>`;
  const inner = `${indent}  `;
  const lines = Object.entries(properties).map(([name, member]) => {
    const type = typeOf(member, inner);
    const { description } = member;
    const comment = typeof description === "string" ? `${inner}/** ${description}. */\n` : "";
    return `${comment}${inner}${name}${required.includes(name) ? `: ${type}` : `?: ${type} | undefined`};\n`;
  });
  if (more !== undefined) lines.push(`${inner}[member: string]: ${more};\n`);
  return `{\n${lines.join("")}${indent}}`;
}

/** The text of src/schema/shapes.ts. */
export function shapesModule(): string {
  const types = [...namedIn(roots)].sort(([a], [b]) => a < b ? -1 : 1).map(([name, struct]) => {
    const schema = schemaOf(struct);
    const comment = typeof schema.description === "string" ? `/** ${schema.description}. */\n` : "";
    return `\n${comment}export type ${name} = ${typeOf(schema, "")};\n`;
  });
  return ["// Generated from src/schema/ by `npm run generate`: the bodies of requests and responses.\n", ...types]
    .join("");
}
