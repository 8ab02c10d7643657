// Describes the management API in OpenAPI, from its operations.
import { mediaTypes } from "../management/kernel/export.ts";
import type { ExportFormat } from "../management/kernel/export.ts";
import type { Group } from "../management/index.ts";
import { describeRole } from "../management/kernel/declare.ts";
import type { AnyOperation, OperationRefusal } from "../management/kernel/operation.ts";
import * as errors from "../common/errors.ts";
import type { ErrorKind } from "../common/errors.ts";
import { CodedError } from "../schema/serving.ts";
import { exactly, nounOf, refer, schemaOf } from "../schema/struct.ts";
import { adminPath } from "../http/face.ts";
import type { Described, FaceDescription, Part } from "../http/face.ts";
import {
  answer,
  describeRefusals,
  json,
  parameter,
  parameterNamed,
  refusedAnywhere,
  securedBy,
} from "./openapi-components.ts";
import type { HeaderName, RefusedKind } from "./openapi-components.ts";
import { acceptedStatus, statusOf } from "../http/respond.ts";
import { DeliveredEvent, webhooks } from "./webhook-openapi.ts";

/** The names of the input members in an operation's path. */
export const pathMembers = ({ path }: Pick<AnyOperation, "path">): string[] =>
  [...path.matchAll(/{(\w+)}/g)].map(([, name]) => name!);

const refused = {
  invalid: {
    when: "The path, the query, a header or the body is invalid. The message names a field by its path",
    as: [errors.missingField("name"), errors.wrongField("monthlyLimit", "an integer")],
  },
  unauthorized: {
    when: "The bearer token is missing or invalid",
    as: [errors.missingAuthorization(), errors.invalidAdminToken()],
    headers: ["WWW-Authenticate"],
  },
  forbidden: {
    when: "The role of the token is too low, or the token is bound to a workspace",
    as: [errors.roleRequired("publisher"), errors.allWorkspacesRequired()],
  },
  rate_limited: {
    when: "More than 30 requests had invalid tokens in this minute",
    as: [errors.tooManyFailures()],
    headers: ["Retry-After"],
  },
  not_found: { when: "The resource does not exist", as: [errors.notFound("Workspace", "ws_01m7")] },
  ...refusedAnywhere,
  conflict: {
    when: "The current state does not allow it",
    as: [errors.promptNameTaken("support/assistant"), errors.ambiguousReference("prompt", "support/assistant")],
  },
  gone: { when: "The resource was deleted", as: [errors.deleted("Record", "diag_01m7")] },
  outdated: {
    when: "The ETag of the deployment differs from If-Match",
    as: [errors.outdated("Deployment", "dep_01m7")],
  },
  too_large: { when: "The body is too large", as: [errors.bodyTooLarge(1_048_576)] },
  unavailable: {
    when: "The database is busy or unreachable, or the service is stopping or overloaded",
    as: [
      errors.databaseBusy(),
      errors.databaseAway(),
      errors.stopping(),
      errors.managementOverloaded(),
      errors.contended(),
    ],
    headers: ["Retry-After"],
  },
} satisfies Partial<Record<ErrorKind, RefusedKind>>;

const { responses, refusalsOf } = describeRefusals(refused, CodedError, { prefix: "management_", hasCode: true });

export const describeOperations = (groups: readonly Group[]): FaceDescription => ({
  tags: Object.fromEntries(groups.map(({ tag, about }) => [tag, about])),
  methods: groups.flatMap(({ tag, operations }) => operations.map((operation) => describeOperation(operation, tag))),
  webhooks,
  structs: [
    CodedError,
    DeliveredEvent,
    ...groups.flatMap(({ operations }) => operations.flatMap(({ input, output }) => [input, output])),
  ],
  responses,
});

/** A method of the management API. */
function describeOperation(operation: AnyOperation, tag: string): Described {
  const { id, summary, method, path, input: { schema }, revision = [], refusals = [] } = operation;
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
    description: `Role: ${describeRole(operation)}.`,
    parameters: [
      ...inPath.map((name) => parameter(name, "path", schema[name]!)),
      ...(hasBody ? [] : members.map(([name, struct]) => parameter(name, "query", struct))),
      ...(revision.includes("if-match") ? [parameterNamed("If-Match")] : []),
    ],
    ...(hasBody && members.length > 0 ? { requestBody: bodyOf(Object.fromEntries(members)) } : {}),
    responses: {
      ...successesOf(operation),
      ...refusalsOf("invalid", "unauthorized", ...(mayForbid(operation) ? ["forbidden" as const] : [])),
      ...refusalsOf(...impliedRefusals(operation), ...refusals),
      ...refusalsOf("rate_limited", "internal", "unavailable"),
      ...(hasBody ? refusalsOf("timeout", "too_large", "unsupported") : {}),
    },
  };
}

/** True if an operation may be forbidden to a token. Resources in other workspaces get 404 instead. */
const mayForbid = ({ role, roleOverAll, isScoped, input: { schema } }: AnyOperation): boolean =>
  role !== "viewer" || roleOverAll !== undefined ||
  !isScoped && Object.values(schema).every((member) => nounOf(member) === undefined);

/** Refusals of ids that do not exist, of states that do not allow the operation, and of revisions that have passed. */
export const impliedRefusals = ({ input: { schema }, conflicts, revision = [] }: AnyOperation): OperationRefusal[] => [
  ...Object.values(schema).some((member) => nounOf(member) !== undefined) ? ["not_found" as const] : [],
  ...conflicts ? ["conflict" as const] : [],
  ...revision.includes("if-match") ? ["outdated" as const] : [],
];

function bodyOf(members: AnyOperation["input"]["schema"]): Part {
  const schema = schemaOf(exactly(members));
  return { required: "required" in schema, content: json(schema) };
}

/**
 * The responses on success. A created resource has a Location. If it may exist already, the status tells which is the
 * case.
 */
function successesOf({ method, output, answers, formats = [], revision = [], requests }: AnyOperation): Part {
  const headers: HeaderName[] = revision.includes("etag") ? ["ETag"] : [];
  const content = answers === "export"
    ? Object.fromEntries(formats.map((format) => [mediaTypes[format], { schema: exported[format] }]))
    : json(refer(output));
  const made = answer("Created", ["Location", ...headers], content);
  if (answers === "created") return { [statusOf.created]: made };
  const done = method === "GET" ? "Found" : "Done";
  const asked = requests === undefined ? {} : {
    [acceptedStatus]: answer(
      "A change needs an approval, and a change request waits for it",
      ["Location", ...headers],
      content,
    ),
  };
  if (answers !== "found or created") return { [statusOf.ok]: answer(done, headers, content), ...asked };
  return { [statusOf.created]: made, [statusOf.ok]: answer("It already exists", headers, content), ...asked };
}

const exported: Record<ExportFormat, Part> = {
  ndjson: { type: "string", description: "One JSON document per line" },
  csv: { type: "string", description: "A header line, and one line per record" },
  promptfoo: { type: "string", description: "One test case of promptfoo per line" },
};
