// Reads the input of an operation from path, query, headers and body.
import { fieldInUrl, givenTwice, invalidRevision, noRevision, revisionInBody } from "../common/errors.ts";
import type { AnyOperation } from "../management/kernel/operation.ts";
import { parseObject } from "../schema/parse.ts";
import type { Unchecked } from "../schema/parse.ts";
import { schemaOf } from "../schema/struct.ts";
import { readText } from "../http/body.ts";
import type { Context, RequestContext } from "../http/context.ts";
import { pathMembers } from "./management-openapi.ts";
import { decodePart, readQuery } from "../http/query.ts";

/**
 * Input of an operation as the text of a JSON object. JSON from the client stays as written. The body counts against
 * the share of `owner`.
 */
export async function readInput(
  operation: AnyOperation,
  owner: string,
  ctx: RequestContext,
  context: Context,
): Promise<Unchecked> {
  const { request, params } = ctx;
  const { method, input: { schema }, revision = [] } = operation;
  const sent: Unchecked = method === "GET" || method === "DELETE"
    ? { value: readQueryMembers(operation, request) }
    : parseObject(await readText(ctx, roomFor(operation, context), owner) || "{}");
  const inUrl = pathMembers(operation);
  for (const name of inUrl) if (Object.hasOwn(sent.value, name)) throw fieldInUrl(name);
  if (Object.hasOwn(sent.value, "ifRevision")) throw revisionInBody();
  const others = inUrl.map((name) => [name, toValue(schema[name]!, decodePart(params[name]!))]);
  const match = request.headers.get("If-Match")?.trim() ?? "*";
  if (match !== "*" && method !== "GET") {
    if (!revision.includes("if-match")) throw noRevision();
    others.push(["ifRevision", readRevision(match)]);
  }
  return { ...sent, value: { ...sent.value, ...Object.fromEntries(others) } };
}

/** The context with the body limit of an operation. */
function roomFor({ maxBodyBytes = 0 }: AnyOperation, context: Context): Context {
  const { bodyLimit } = context;
  return maxBodyBytes > bodyLimit.bytes ? { ...context, bodyLimit: { ...bodyLimit, bytes: maxBodyBytes } } : context;
}

function readQueryMembers({ input: { schema } }: AnyOperation, request: Request): object {
  const members = new Map<string, string | number | boolean>();
  for (const [name, text] of readQuery(request)) {
    if (members.has(name)) throw givenTwice(name);
    members.set(name, Object.hasOwn(schema, name) ? toValue(schema[name]!, text) : text);
  }
  return Object.fromEntries(members);
}

/** Decodes a text of the URL: a number or a boolean if the schema expects one and the text is one, else a string. */
function toValue(struct: object, text: string): string | number | boolean {
  const { type } = schemaOf(struct);
  if (type === "boolean" && /^(true|false)$/.test(text)) return text === "true";
  if (type === "number" && /^\d{1,15}(\.\d{1,15})?$/.test(text)) return Number(text);
  return type === "integer" && /^(0|-?[1-9]\d{0,15})$/.test(text) ? Number(text) : text;
}

/** Revision in an entity tag. 0, which no deployment has, for a weak tag or one from elsewhere. */
function readRevision(header: string): number {
  const [, weak, tag] = /^(W\/)?"([\x21\x23-\x7e]*)"$/.exec(header) ?? [];
  if (tag === undefined) throw invalidRevision();
  return weak === undefined && /^[1-9]\d{0,14}$/.test(tag) ? Number(tag) : 0;
}
