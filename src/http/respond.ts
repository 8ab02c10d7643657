// Answers: their bodies and headers, and the only place that knows status codes.
import { deployNotFound, invalidApiKey, keyReused, quotaExhausted } from "../common/errors.ts";
import type { ErrorKind, Refusal } from "../common/errors.ts";
import { stringify } from "../common/json-text.ts";
import type { Quota, Refused } from "../ledger/admission.ts";
import { mostAtOnce, partsOf, toStream } from "./stream.ts";
import type { Sending } from "./stream.ts";

export type HeaderValues = Record<string, string>;

/** What a handler answers; its headers are its own, and are added to. `error` is why, where it refuses. */
export type Answer = {
  status: number;
  headers: HeaderValues;
  /** A text, whole, as bytes or as it is made while it is sent. */
  body: string | Uint8Array | AsyncGenerator<string> | null;
  error?: ErrorKind;
  /** Called when the body has gone out, or never will. */
  end?(): void;
};

/** The status of an answer, by what it says. */
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
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  client_gone: 499,
  gone: 410,
  outdated: 412,
  quota_exhausted: 429,
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

/** 200 with JSON that is there as bytes. */
export const okBytes = (body: Uint8Array): Answer => ({
  status: statusOf.ok,
  headers: { "Content-Type": "application/json" },
  body,
});

/** 200 with a text that is made while it is sent; where it fails, the connection breaks. */
export const streamed = (body: AsyncGenerator<string>, headers: HeaderValues, end: () => void): Answer => ({
  status: statusOf.ok,
  headers: { ...headers },
  body,
  end,
});

/** 304: what the client has is what it would get. */
export const notModified = (headers: HeaderValues): Answer => ({ status: statusOf.not_modified, headers, body: null });

/** 204: there is nothing to tell but the headers. */
export const noContent = (headers: HeaderValues): Answer => ({ status: statusOf.no_content, headers, body: null });

/** 201 with a JSON body. */
export const created = (body: unknown, headers: HeaderValues): Answer => json(statusOf.created, body, headers);

/** An answer as it is sent, with the headers that all have; to HEAD with the length of its body instead of that. */
export function toResponse({ status, headers, body, end }: Answer, isHead: boolean, context: Sending): Response {
  headers["X-Content-Type-Options"] = "nosniff";
  headers["Cache-Control"] ??= "no-store";
  if (body === null || typeof body === "string" && !isHead && body.length < mostAtOnce) {
    return new Response(body, { status, headers });
  }
  if (typeof body !== "string" && !(body instanceof Uint8Array)) {
    return new Response(toStream(body, context, end), { status, headers });
  }
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  headers["Content-Length"] = String(bytes.length);
  return new Response(isHead ? null : toStream(partsOf(bytes), context), { status, headers });
}

/** The answer to a refusal: `{ error }`, with its `code` beside it unless the specification says otherwise. */
export const refuse = ({ kind, code, message }: Refusal, headers: HeaderValues = {}, hasCode = false): Answer => ({
  ...json(statusOf[kind], { error: message, ...(hasCode ? { code } : {}) }, { ...headersOf[kind], ...headers }),
  error: kind,
});

// Made once: an error notes where it comes from, which is not told here and would be most of what a refusal costs.
const refusals = {
  key_invalid: invalidApiKey(),
  deployment_not_found: deployNotFound(),
  key_reused: keyReused(),
  quota_exhausted: quotaExhausted(),
};

/** The answer to a request that the ledger did not accept; `now` is Unix ms. */
export const refuseDecision = (decision: Refused, now: number): Answer =>
  decision.outcome === "quota_exhausted" ? refuseQuota(decision.quota, now) : refuse(refusals[decision.outcome]);

function refuseQuota(quota: Quota, now: number): Answer {
  const { kind, message } = refusals.quota_exhausted;
  const { limit, used, resetsAt, upgradeUrl } = quota;
  const details = { limit, used, resetTime: resetsAt / 1000, upgradeUrl };
  const wait = Math.max(1, Math.ceil((resetsAt - now) / 1000));
  const headers = { ...quotaHeaders(quota), "Retry-After": String(wait) };
  return { ...json(statusOf[kind], { error: message, details }, headers), error: kind };
}

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
