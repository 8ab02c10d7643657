// What the description of the service says in more than one place: schemas, headers, parameters, and answers to what is
// refused.
import * as errors from "../common/errors.ts";
import type { ErrorKind, Refusal } from "../common/errors.ts";
import { described, isOptional, nameOf, optional, partsOf, refer, schemaOf } from "../schema/struct.ts";
import type { JsonSchema } from "../schema/struct.ts";
import { ErrorResponse, RateLimitErrorResponse } from "../schema/serving.ts";
import * as v from "../schema/values.ts";
import { statusOf } from "./respond.ts";

/** A part of the description. */
export type Part = Readonly<Record<string, unknown>>;

/** A method of a path. */
export type Described = Part & { path: string; method: string; operationId: string; summary: string; responses: Part };

const refersTo = (section: string, name: string): Part => ({ $ref: `#/components/${section}/${name}` });

export const tags = {
  Applications:
    "What applications call, with an API key. It belongs to a workspace, whose quota each accepted request " +
    "costs one; what is refused costs nothing, and so does asking for the quota.",
  Health: "What an operator's probes ask.",
  Description: "This description.",
};

const securitySchemes = {
  apiKey: { type: "http", scheme: "bearer", description: "An API key, `pl_…`" },
  adminToken: { type: "http", scheme: "bearer", description: "The service's `ADMIN_TOKEN`" },
};

/** Asks for a token. */
export const securedBy = (scheme: keyof typeof securitySchemes): Part[] => [{ [scheme]: [] }];

/** The schemas of all structs with a name that these consist of, by name. */
function namedSchemas(structs: object[]): Record<string, JsonSchema> {
  const found = new Map<string, JsonSchema>();
  const visit = (struct: object): void => {
    const name = nameOf(struct);
    if (name !== undefined) found.set(name, schemaOf(struct));
    for (const part of partsOf(struct)) visit(part);
  };
  for (const struct of structs) visit(struct);
  return Object.fromEntries([...found].sort(([a], [b]) => a < b ? -1 : 1));
}

/** A parameter; what the schema says of its value, it says itself. */
export function parameter(name: string, place: "path" | "query" | "header", struct: object, about?: string): Part {
  const { description = about, ...schema } = schemaOf(struct);
  return { name, in: place, description, required: !isOptional(struct), schema };
}

const headerParameters = {
  "Idempotency-Key": described(
    v.filledText,
    "1 to 255 printable ASCII characters, bare or quoted, kept for two days: a submit that is sent again under it, with " +
      "the same body, is answered as it was, stores nothing and costs nothing",
    { pattern: String.raw`^("([ !#-\[\]-~]|\\["\\]){1,255}"|[ -~]{1,255})$` },
  ),
  "If-Match": described(
    v.text,
    "The ETag of what is to be changed, which is refused where it has changed since; any, unless given",
    { pattern: '^(\\*|(W/)?"[!#-~]*")$' },
  ),
  "If-None-Match": described(v.text, "The ETags of the prompts that the client has"),
};

const parameters = {
  deployId: parameter(
    "deployId",
    "query",
    described(v.deployId, "An active deployment of the key's workspace: its id, or its reference NAME@DEPLOYMENT"),
  ),
  ...Object.fromEntries(
    Object.entries(headerParameters).map(([name, struct]) => [name, parameter(name, "header", optional(struct))]),
  ),
};

export const parameterNamed = (name: "deployId" | keyof typeof headerParameters): Part => refersTo("parameters", name);

const headerStructs = {
  "X-RateLimit-Limit": described(v.count, "Accepted requests that the workspace has a month"),
  "X-RateLimit-Remaining": described(v.count, "What is left of them"),
  "X-RateLimit-Used": described(v.count, "Accepted requests of this month"),
  "X-RateLimit-Reset": described(v.count, "When the next month begins, in Unix seconds"),
  "Retry-After": described(v.positive, "In how many seconds to ask again"),
  "WWW-Authenticate": described(v.text, "The scheme of the token that is asked for"),
  "X-Request-Id": described(
    v.text,
    "The id that the log has for the request: its own X-Request-Id header, or else a new one",
  ),
  ETag: described(v.text, "Names this state of what is answered"),
  Location: described(v.text, "A URL of what was made, relative to that of the request"),
};

export type HeaderName = keyof typeof headerStructs;

const everywhere: HeaderName = "X-Request-Id";

const headers = Object.fromEntries(
  Object.entries(headerStructs).map(([name, struct]) => {
    const { description, ...schema } = schemaOf(struct);
    return [name, { description, required: true, schema }];
  }),
);

export const rateLimitHeaders: HeaderName[] = [
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Used",
  "X-RateLimit-Reset",
];

/** An answer with these headers besides those that all have, and a body where there is one. */
export const answer = (description: string, headers: HeaderName[], content?: Part): Part => ({
  description,
  headers: Object.fromEntries([everywhere, ...headers].map((name) => [name, refersTo("headers", name)])),
  ...(content === undefined ? {} : { content }),
});

/** A body of JSON. */
export const json = (schema: JsonSchema, examples?: Part): Part => ({
  "application/json": { schema, ...(examples === undefined ? {} : { examples }) },
});

/** A kind of refusal: when it comes, as which answers, and with which headers and body. */
export type RefusedKind = { when: string; as: Refusal[]; headers?: HeaderName[]; struct?: object; more?: Part };

const monthUsed = { limit: 10_000, used: 10_000, resetTime: 1_798_761_600, upgradeUrl: null };

const refused = {
  invalid: {
    when: "The query, a header or the body does not fit; a field is named by its path",
    as: [
      errors.invalidDeployId(),
      errors.missingField("sessionId"),
      errors.wrongField("content.input", "a string"),
      errors.versionNotFound(),
    ],
  },
  unauthorized: {
    when: "There is no bearer token, or it is not valid",
    as: [errors.missingAuthorization(), errors.noApiKey(), errors.invalidApiKey(), errors.invalidAdminToken()],
    headers: ["WWW-Authenticate"],
  },
  not_found: {
    when: "What is named is not there, or not accessible",
    as: [errors.deployNotFound()],
  },
  timeout: { when: "The body comes too slowly", as: [errors.bodyTooSlow(30)] },
  too_large: { when: "The body is too large", as: [errors.bodyTooLarge(1_048_576)] },
  key_reused: { when: "The Idempotency-Key came with another body or deployment before", as: [errors.keyReused()] },
  quota_exhausted: {
    when: "The month's quota is used",
    as: [errors.quotaExhausted()],
    headers: [...rateLimitHeaders, "Retry-After"],
    struct: RateLimitErrorResponse,
    more: { details: monthUsed },
  },
  internal: { when: "The service failed", as: [errors.internalError()] },
  overloaded: { when: "Too many requests are waiting", as: [errors.overloaded()], headers: ["Retry-After"] },
  unavailable: {
    when: "The database is busy or away, the service is stopping, or too many requests are in flight",
    as: [errors.databaseBusy(), errors.databaseAway(), errors.stopping()],
    headers: ["Retry-After"],
  },
} satisfies Partial<Record<ErrorKind, RefusedKind>>;

/** Describes kinds of refusals: their answers as components, whose names begin with `prefix`, and references to them. */
export const describeRefusals = <Kind extends ErrorKind>(
  kinds: Record<Kind, RefusedKind>,
  errorStruct: object,
  { prefix = "", hasCode = false } = {},
) => ({
  responses: Object.fromEntries(
    Object.entries<RefusedKind>(kinds).map(([kind, { when, as, headers = [], struct = errorStruct, more }]) => {
      const examples = as.map(({ message, code }) => {
        return [message, { value: { error: message, ...(hasCode ? { code } : {}), ...more } }];
      });
      return [prefix + kind, answer(when, headers, json(refer(struct), Object.fromEntries(examples)))];
    }),
  ),
  /** The answers to these kinds, by status. */
  refusalsOf: (...kinds: Kind[]): Part =>
    Object.fromEntries(kinds.map((kind) => [statusOf[kind], refersTo("responses", prefix + kind)])),
});

const ofDataPlane = describeRefusals(refused, ErrorResponse);
export const { refusalsOf } = ofDataPlane;

/** All that others refer to, with what these structs consist of. */
export const componentsWith = (structs: object[], ofFaces: Part) => ({
  securitySchemes,
  schemas: namedSchemas([ErrorResponse, RateLimitErrorResponse, ...structs]),
  headers,
  parameters,
  responses: { ...ofDataPlane.responses, ...ofFaces },
});
