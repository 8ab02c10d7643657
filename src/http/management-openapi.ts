// The description of the management API, made from its operations.
import type { AnyOperation } from "../management/operation.ts";
import * as errors from "../common/errors.ts";
import type { ErrorKind } from "../common/errors.ts";
import { described, exactly, named, refer, schemaOf } from "../schema/struct.ts";
import * as v from "../management/values.ts";
import type { FaceDescription } from "./face.ts";
import { answer, describeRefusals, json, parameter, parameterNamed, securedBy } from "./openapi-components.ts";
import type { Described, HeaderName, Part, RefusedKind } from "./openapi-components.ts";
import { statusOf } from "./respond.ts";

/** The path under which all operations are. */
export const adminPath = "/admin/v1";

/** The names of the input members that stand in an operation's path. */
export const pathMembers = ({ path }: Pick<AnyOperation, "path">): string[] =>
  [...path.matchAll(/{(\w+)}/g)].map(([, name]) => name!);

const tags = {
  Workspaces: "Tenants: each has keys, prompts and deployments of its own, and a monthly quota.",
  Keys: "API keys. A secret is shown once, when it is made.",
  Prompts: "Prompts and their versions, which never change.",
  Deployments: "What applications ask for: each serves a version of a prompt, and has a history.",
  Records: "What applications reported.",
  Ledger: "What was counted: calls, usage, and whether the ledger balances.",
};

const ManagementError = named(
  "ManagementError",
  exactly({
    error: described(v.text, "Why the request was refused, for people"),
    code: described(v.text, "The same for programs, such as deployment_not_found"),
  }),
);

const refused = {
  invalid: {
    when: "The path, the query, a header or the body does not fit; a field is named by its path",
    as: [errors.missingField("name"), errors.wrongField("monthlyLimit", "an integer")],
  },
  unauthorized: {
    when: "There is no bearer token, or it is not valid",
    as: [errors.missingAuthorization(), errors.invalidAdminToken()],
    headers: ["WWW-Authenticate"],
  },
  not_found: { when: "What is named does not exist", as: [errors.notFound("Workspace", "ws_01m7")] },
  timeout: { when: "The body comes too slowly", as: [errors.bodyTooSlow(30)] },
  conflict: { when: "It cannot be done as things stand", as: [errors.deployNameInUse(["dep_01m7", "dep_01m8"])] },
  gone: { when: "What is named was deleted", as: [errors.deleted("Diagnosis", "diag_01m7")] },
  outdated: { when: "It has another ETag than If-Match names", as: [errors.outdated("Deployment", "dep_01m7")] },
  too_large: { when: "The body is too large", as: [errors.bodyTooLarge(1_048_576)] },
  internal: { when: "The service failed", as: [errors.internalError()] },
  unavailable: {
    when: "The database is busy or away, the service is stopping, or too much is under way",
    as: [errors.databaseBusy(), errors.databaseAway(), errors.stopping(), errors.managementOverloaded()],
    headers: ["Retry-After"],
  },
} satisfies Partial<Record<ErrorKind, RefusedKind>>;

const { responses, refusalsOf } = describeRefusals(refused, ManagementError, { prefix: "management_", hasCode: true });

export const describeOperations = (operations: readonly AnyOperation[]): FaceDescription => ({
  tags,
  methods: operations.map(describeOperation),
  structs: [ManagementError, ...operations.flatMap(({ input, output }) => [input, output])],
  responses,
});

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
function describeOperation(operation: AnyOperation): Described {
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
