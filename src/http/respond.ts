// Bodies, headers and status codes of responses, which no other file has.
import {
  databaseAway,
  databaseBusy,
  deployNotFound,
  internalError,
  invalidApiKey,
  keyReused,
  quotaExhausted,
  readForbidden,
  Refusal,
  rolloutNotFound,
  submitForbidden,
  versionNotFound,
} from "../common/errors.ts";
import type { ErrorKind, QuotaDetails } from "../common/errors.ts";
import { stringify } from "../common/json-text.ts";
import { failureOf } from "../database/database.ts";
import type { Quota, Refused } from "../ledger/admission.ts";
import { maxSentAtOnce, partsOf, toStream } from "./stream.ts";
import type { Sending } from "./stream.ts";

export type HeaderValues = Record<string, string>;

/**
 * The response of a handler. `headers` is a fresh object, to which more are added. `error` is the kind of a refusal.
 */
export type Answer = {
  status: number;
  headers: HeaderValues;
  /** A text, its bytes, or a generator whose text is sent as it is made. */
  body: string | Uint8Array | AsyncGenerator<string> | null;
  error?: ErrorKind;
  /** Called when the body has been sent, or sending it has failed. */
  end?(): void;
};

/** The status code of each outcome. */
export const statusOf: Record<"ok" | "created" | "no_content" | "not_modified" | ErrorKind, number> = {
  ok: 200,
  created: 201,
  no_content: 204,
  not_modified: 304,
  unauthorized: 401,
  forbidden: 403,
  invalid: 400,
  timeout: 408,
  too_large: 413,
  unsupported: 415,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  client_gone: 499,
  gone: 410,
  outdated: 412,
  quota_exhausted: 429,
  rate_limited: 429,
  key_reused: 422,
  overloaded: 503,
  unavailable: 503,
  internal: 500,
};

const headersOf: Partial<Record<ErrorKind, HeaderValues>> = {
  unauthorized: { "WWW-Authenticate": "Bearer" },
  // The rest of the body is not read, so the connection cannot be used again.
  too_large: { Connection: "close" },
  timeout: { Connection: "close" },
  unsupported: { "Accept-Encoding": "identity" },
  overloaded: { "Retry-After": "1" },
  unavailable: { "Retry-After": "1" },
};

/** 200 with a JSON body. */
export const ok = (body: unknown, headers: HeaderValues): Answer => json(statusOf.ok, body, headers);

/** 200 with a text of another type. */
export const text = (body: string, type: string): Answer => ({
  status: statusOf.ok,
  headers: { "Content-Type": type },
  body,
});

/** 200 with a JSON text, or its bytes. */
export const okText = (body: string | Uint8Array, headers: HeaderValues): Answer => ({
  status: statusOf.ok,
  headers: { "Content-Type": "application/json", ...headers },
  body,
});

/** 200 with a text that is sent as it is made. If making it fails, the connection breaks. */
export const streamed = (body: AsyncGenerator<string>, headers: HeaderValues, end: () => void): Answer => ({
  status: statusOf.ok,
  headers: { ...headers },
  body,
  end,
});

/** 304: the client's copy is current. */
export const notModified = (headers: HeaderValues): Answer => ({ status: statusOf.not_modified, headers, body: null });

/** 204: headers only. */
export const noContent = (headers: HeaderValues): Answer => ({ status: statusOf.no_content, headers, body: null });

/** 201 with a JSON body. */
export const created = (body: unknown, headers: HeaderValues): Answer => json(statusOf.created, body, headers);

/** A change was requested instead of made. Separate: the core does not use it. */
export const acceptedStatus = 202;

/** 202 with a JSON body. */
export const accepted = (body: unknown, headers: HeaderValues): Answer => json(acceptedStatus, body, headers);

/** Makes the response, with the common headers. For HEAD it has the length of the body in place of the body. */
export function toResponse({ status, headers, body, end }: Answer, isHead: boolean, context: Sending): Response {
  headers["X-Content-Type-Options"] = "nosniff";
  headers["Cache-Control"] ??= "no-store";
  if (body === null || typeof body === "string" && !isHead && body.length < maxSentAtOnce) {
    return new Response(body, { status, headers });
  }
  if (typeof body !== "string" && !(body instanceof Uint8Array)) {
    return new Response(toStream(body, context, end), { status, headers });
  }
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  headers["Content-Length"] = String(bytes.length);
  return new Response(isHead ? null : toStream(partsOf(bytes), context), { status, headers });
}

/** The response to a refusal: `{ error }`, for a face its `code` and the field at fault, and `more`. */
export const refuse = (
  { kind, code, message, field, expected }: Refusal,
  headers: HeaderValues = {},
  hasCode = false,
  more: object = hasCode ? { code, field, expected } : {},
): Answer => ({
  ...json(statusOf[kind], { error: message, ...more }, { ...headersOf[kind], ...headers }),
  error: kind,
});

// Created once, because capturing a stack would be most of the cost of a refusal, and is not needed here.
const refusals = {
  key_invalid: invalidApiKey(),
  read_forbidden: readForbidden(),
  submit_forbidden: submitForbidden(),
  deployment_not_found: deployNotFound(),
  version_not_found: versionNotFound(),
  rollout_not_found: rolloutNotFound(),
  key_reused: keyReused(),
  quota_exhausted: quotaExhausted(),
};

/** Refusal for a decision of the ledger. */
export const refusalOf = ({ outcome }: Refused): Refusal => refusals[outcome];

/** The response to a request that the ledger did not accept. `now` is in Unix ms. */
export const refuseDecision = (decision: Refused, now: number): Answer =>
  decision.outcome === "quota_exhausted" ? refuseQuota(decision.quota, now) : refuse(refusalOf(decision));

/** A quota as in responses and refusals. */
export const detailsOf = ({ limit, used, resetsAt, upgradeUrl }: Quota): QuotaDetails => ({
  ...{ limit, used, resetTime: resetsAt / 1000, upgradeUrl },
});

function refuseQuota(quota: Quota, now: number): Answer {
  const wait = Math.max(1, Math.ceil((quota.resetsAt - now) / 1000));
  const headers = { ...quotaHeaders(quota), "Retry-After": String(wait) };
  return refuse(refusals.quota_exhausted, headers, false, { details: detailsOf(quota) });
}

/** Refusal that a client gets for an error, without the cause of an unexpected error. */
export function toRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const failure = failureOf(error);
  return failure === "retryable" ? databaseBusy() : failure === "unavailable" ? databaseAway() : internalError();
}

/** Refusal for calling code, with an unexpected error itself as the `cause`. */
export const asRefusal = (error: unknown): Refusal =>
  error instanceof Refusal ? error : Object.assign(toRefusal(error), { cause: error });

/** The rate-limit headers of the specification; reset is Unix seconds. */
export const quotaHeaders = (quota: Quota): HeaderValues => ({
  "X-RateLimit-Limit": String(quota.limit),
  "X-RateLimit-Remaining": String(Math.max(0, quota.limit - quota.used)),
  "X-RateLimit-Used": String(quota.used),
  "X-RateLimit-Reset": String(quota.resetsAt / 1000),
});

function json(status: number, body: unknown, headers: HeaderValues): Answer {
  headers["Content-Type"] = "application/json";
  return { status, headers, body: stringify(body) };
}
