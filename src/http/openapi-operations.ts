// The description of the management API, made from its operations.
import type { AnyOperation } from "../management/operation.ts";
import { exactly, refer, schemaOf } from "../schema/struct.ts";
import { adminPath, pathMembers } from "./admin.ts";
import { answer, json, parameter, parameterNamed, refusalsOf, securedBy } from "./openapi-components.ts";
import type { Described, HeaderName, Part } from "./openapi-components.ts";
import { statusOf } from "./respond.ts";

/** What an id in the path of an operation names, by what stands before it. */
const nouns: Record<string, string> = {
  workspaces: "workspace",
  keys: "key",
  prompts: "prompt",
  deployments: "deployment",
  diagnoses: "record",
};

function pathParameter({ path, input: { schema } }: AnyOperation, name: string): Part {
  const [, before = ""] = new RegExp(`(\\w+)/{${name}}`).exec(path) ?? [];
  return parameter(name, "path", schema[name]!, `The id of the ${nouns[before]}`);
}

/** A method of the management API. */
export function describeOperation(operation: AnyOperation): Described {
  const { id, tag, summary, method, path, input: { schema }, refusals } = operation;
  const inPath = pathMembers(operation);
  const elsewhere = [...inPath, "ifRevision"];
  const members = Object.entries(schema).filter(([name]) => !elsewhere.includes(name));
  const hasBody = method === "POST" || method === "PATCH";
  return {
    tags: [tag],
    security: securedBy("adminToken"),
    path: adminPath + path,
    method: method.toLowerCase(),
    operationId: id,
    summary,
    parameters: [
      ...inPath.map((name) => pathParameter(operation, name)),
      ...(hasBody ? [] : members.map(([name, struct]) => parameter(name, "query", struct))),
      ...("ifRevision" in schema ? [parameterNamed("If-Match")] : []),
    ],
    ...(hasBody && members.length > 0 ? { requestBody: bodyOf(Object.fromEntries(members)) } : {}),
    responses: {
      ...successesOf(operation),
      ...refusalsOf("invalid", "unauthorized", ...refusals, "internal", "unavailable"),
      ...(hasBody ? refusalsOf("timeout", "too_large") : {}),
    },
  };
}

function bodyOf(members: AnyOperation["input"]["schema"]): Part {
  const schema = schemaOf(exactly(members));
  return { required: "required" in schema, content: json(schema) };
}

/** What is made has a place of its own; where it may be there already, the answer tells by its status. */
function successesOf({ id, method, output, locate }: AnyOperation): Part {
  const { type, properties = {} } = schemaOf(output);
  const headers: HeaderName[] = "revision" in (properties as object) ? ["ETag"] : [];
  const content = type === "string" ? exported : json(refer(output));
  const made = answer("It is made", ["Location", ...headers], content);
  if (locate !== undefined && id.startsWith("create")) return { [statusOf.created]: made };
  const done = method === "GET" ? "What was asked for" : "It is done";
  if (locate === undefined) return { [statusOf.ok]: answer(done, headers, content) };
  return { [statusOf.created]: made, [statusOf.ok]: answer("It was there already", headers, content) };
}

const exported: Part = {
  "application/x-ndjson": { schema: { type: "string", description: "A Diagnosis per line" } },
  "text/csv": { schema: { type: "string", description: "A line of column names, and one per record" } },
};
