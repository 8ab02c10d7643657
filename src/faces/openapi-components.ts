// The shared components of the OpenAPI description: schemas, headers, parameters and the responses of refusals.
import * as errors from "../common/errors.ts";
import type { ErrorKind, Refusal } from "../common/errors.ts";
import { described, isOptional, nameOf, option, optional, partsOf, refer, schemaOf } from "../schema/struct.ts";
import type { JsonSchema } from "../schema/struct.ts";
import { ErrorResponse, RateLimitErrorResponse } from "../schema/serving.ts";
import * as v from "../schema/values.ts";
import type { Part } from "../http/face.ts";
import { statusOf } from "../http/respond.ts";

const refersTo = (section: string, name: string): Part => ({ $ref: `#/components/${section}/${name}` });

export const tags = {
  Applications:
    "For applications, with an API key of their workspace. Each accepted request uses one request of the workspace's quota. " +
    "Refused requests are free, and so are /v1/usage and /v1/revisions.",
  Health: "Probes and metrics, for operators.",
  Description: "This description.",
};

const securitySchemes = {
  apiKey: { type: "http", scheme: "bearer", description: "An API key, `pl_…`" },
  adminToken: {
    type: "http",
    scheme: "bearer",
    description: "The service's `ADMIN_TOKEN`, or a management token, `plm_…`",
  },
};

/** Requires a token. */
export const securedBy = (scheme: keyof typeof securitySchemes): Part[] => [{ [scheme]: [] }];

/** Schemas of all named structs that occur in these, by name. */
export function namedSchemas(structs: object[]): Record<string, JsonSchema> {
  const found = new Map<string, JsonSchema>();
  const visit = (struct: object): void => {
    const name = nameOf(struct);
    if (name !== undefined) found.set(name, schemaOf(struct));
    for (const part of partsOf(struct)) visit(part);
  };
  for (const struct of structs) visit(struct);
  return Object.fromEntries([...found].sort(([a], [b]) => a < b ? -1 : 1));
}

/** Describes a parameter with the schema's description. */
export function parameter(name: string, place: "path" | "query" | "header", struct: object, about?: string): Part {
  const { description = about, ...schema } = schemaOf(struct);
  return { name, in: place, description, required: !isOptional(struct), schema };
}

const headerParameters = {
  "Idempotency-Key": described(
    v.filledText,
    "1 to 255 printable ASCII characters, bare or quoted, kept for two days. A retry with the same key and body gets the " +
      "original response, and is neither stored nor counted again",
    { pattern: String.raw`^("([ !#-\[\]-~]|\\["\\]){1,255}"|[ -~]{1,255})$` },
  ),
  "If-Match": described(
    v.text,
    "The ETag of the deployment to change. The change is refused if the deployment has another ETag by now",
    { pattern: '^(\\*|(W/)?"[!#-~]*")$' },
  ),
  "If-None-Match": described(v.text, "The ETags of the client's copies"),
  "Accept-Rollout": described(
    v.text,
    "`1` asks for both versions of a rollout in progress, of which the client picks one for each call",
    { const: "1" },
  ),
};

const parameters = {
  deployId: parameter(
    "deployId",
    "query",
    described(v.deployId, "An active deployment of the key's workspace: its id, or its reference NAME@DEPLOYMENT"),
  ),
  key: parameter(
    "key",
    "query",
    option(v.rolloutKey, "What the service picks a version of a rollout in progress by, such as the id of a user"),
  ),
  ...Object.fromEntries(
    Object.entries(headerParameters).map(([name, struct]) => [name, parameter(name, "header", optional(struct))]),
  ),
};

export const parameterNamed = (name: "deployId" | "key" | keyof typeof headerParameters): Part =>
  refersTo("parameters", name);

const headerStructs = {
  "X-RateLimit-Limit": described(v.count, "The quota: accepted requests per month"),
  "X-RateLimit-Remaining": described(v.count, "Requests left this month"),
  "X-RateLimit-Used": described(v.count, "Requests accepted this month"),
  "X-RateLimit-Reset": described(v.count, "When the quota resets, in Unix seconds"),
  "Retry-After": described(v.positive, "Seconds to wait before a retry"),
  "WWW-Authenticate": described(v.text, "The scheme of the token that is required"),
  "Accept-Encoding": described(v.text, "How a request body may be encoded"),
  "X-Request-Id": described(
    v.text,
    "The id of the request in the log: the X-Request-Id that it was sent with, or else a new one",
  ),
  ETag: described(v.text, "Identifies this state of the resource"),
  Location: described(v.text, "The URL of what was created, relative to that of the request"),
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

/** A response with these headers and the common ones, and a body if there is one. */
export const answer = (description: string, headers: HeaderName[], content?: Part): Part => ({
  description,
  headers: Object.fromEntries([everywhere, ...headers].map((name) => [name, refersTo("headers", name)])),
  ...(content === undefined ? {} : { content }),
});

/** A body of JSON. */
export const json = (schema: JsonSchema, examples?: Part): Part => ({
  "application/json": { schema, ...(examples === undefined ? {} : { examples }) },
});

/** A kind of refusal: when it occurs, examples of it, and its headers and body. */
export type RefusedKind = { when: string; as: Refusal[]; headers?: HeaderName[]; struct?: object; more?: Part };

export const refusedAnywhere = {
  timeout: { when: "The body arrives too slowly", as: [errors.bodyTooSlow(30)] },
  internal: { when: "The service failed", as: [errors.internalError()] },
  unsupported: {
    when: "The body is compressed, or encoded otherwise",
    as: [errors.bodyEncoded()],
    headers: ["Accept-Encoding"],
  },
} satisfies Partial<Record<ErrorKind, RefusedKind>>;

const monthUsed = { limit: 10_000, used: 10_000, resetTime: 1_798_761_600, upgradeUrl: null };

const refused = {
  invalid: {
    when: "The query, a header or the body is invalid. The message names a field by its path",
    as: [
      errors.invalidDeployId(),
      errors.missingField("sessionId"),
      errors.wrongField("content.input", "a string"),
      errors.versionNotFound(),
      errors.rolloutNotFound(),
      errors.invalidRolloutKey(),
    ],
  },
  unauthorized: {
    when: "The bearer token is missing or invalid",
    as: [errors.missingAuthorization(), errors.noApiKey(), errors.invalidApiKey(), errors.invalidAdminToken()],
    headers: ["WWW-Authenticate"],
  },
  forbidden: {
    when: "The key may only read, or only submit",
    as: [errors.readForbidden(), errors.submitForbidden()],
  },
  not_found: {
    when: "The deployment does not exist, is inactive or belongs to another workspace",
    as: [errors.deployNotFound()],
  },
  ...refusedAnywhere,
  too_large: { when: "The body is too large", as: [errors.bodyTooLarge(1_048_576)] },
  key_reused: { when: "The Idempotency-Key was used with another body or deployment", as: [errors.keyReused()] },
  quota_exhausted: {
    when: "The month's quota is exhausted",
    as: [errors.quotaExhausted()],
    headers: [...rateLimitHeaders, "Retry-After"],
    struct: RateLimitErrorResponse,
    more: { details: monthUsed },
  },
  overloaded: { when: "Too many requests are waiting", as: [errors.overloaded()], headers: ["Retry-After"] },
  unavailable: {
    when: "The database is busy or unreachable, the service is stopping, or too many requests are in flight",
    as: [errors.databaseBusy(), errors.databaseAway(), errors.stopping()],
    headers: ["Retry-After"],
  },
} satisfies Partial<Record<ErrorKind, RefusedKind>>;

/**
 * Describes kinds of refusals: their responses as components, whose names begin with `prefix`, and references to them.
 */
export const describeRefusals = <Kind extends ErrorKind>(
  kinds: Record<Kind, RefusedKind>,
  errorStruct: object,
  { prefix = "", hasCode = false } = {},
) => ({
  responses: Object.fromEntries(
    Object.entries<RefusedKind>(kinds).map(([kind, { when, as, headers = [], struct = errorStruct, more }]) => {
      const examples = as.map(({ message, code, field, expected }) => {
        return [message, { value: { error: message, ...(hasCode ? { code, field, expected } : {}), ...more } }];
      });
      return [prefix + kind, answer(when, headers, json(refer(struct), Object.fromEntries(examples)))];
    }),
  ),
  /** The responses of these kinds, by status. */
  refusalsOf: (...kinds: Kind[]): Part =>
    Object.fromEntries(kinds.map((kind) => [statusOf[kind], refersTo("responses", prefix + kind)])),
});

const ofDataPlane = describeRefusals(refused, ErrorResponse);
export const { refusalsOf } = ofDataPlane;

/** All components, with the schemas of these structs. */
export const componentsWith = (structs: object[], ofFaces: Part) => ({
  securitySchemes,
  schemas: namedSchemas([ErrorResponse, RateLimitErrorResponse, ...structs]),
  headers,
  parameters,
  responses: { ...ofDataPlane.responses, ...ofFaces },
});
