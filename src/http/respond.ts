// Answers: JSON bodies, our headers, and the only place that knows status codes.
import type { Quota } from "../domain.ts";
import { deployNotFound, invalidApiKey, keyReused, quotaExhausted } from "../errors.ts";
import type { ErrorKind, Refusal } from "../errors.ts";
import { stringify } from "../json-text.ts";
import type { Refused } from "../store/admission.ts";

type HeaderValues = Record<string, string>;

/** The status of an answer, by what it says. */
export const statusOf: Record<"ok" | "created" | "not_modified" | ErrorKind, number> = {
  ok: 200,
  created: 201,
  not_modified: 304,
  unauthorized: 401,
  invalid: 400,
  timeout: 408,
  too_large: 413,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  gone: 410,
  outdated: 412,
  quota_exhausted: 429,
  key_reused: 422,
  overloaded: 503,
  internal: 500,
};

const headersOf: Partial<Record<ErrorKind, HeaderValues>> = {
  unauthorized: { "WWW-Authenticate": "Bearer" },
  // The rest of the body is not read, so the connection cannot be used again.
  too_large: { Connection: "close" },
  timeout: { Connection: "close" },
  overloaded: { "Retry-After": "1" },
};

/** 200 with a JSON body. */
export const ok = (body: unknown, headers: HeaderValues): Response => json(statusOf.ok, body, headers);

/** 200 with a text that is made while it is sent; where it fails, the connection breaks. */
export function streamed(text: AsyncGenerator<string>, headers: HeaderValues): Response {
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await text.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      await text.return(undefined);
    },
  }, { highWaterMark: 0 });
  return new Response(body, { status: statusOf.ok, headers: { "Cache-Control": "no-store", ...headers } });
}

const encoder = new TextEncoder();

/** 304: what the client has is what it would get. */
export const notModified = (headers: HeaderValues): Response =>
  new Response(null, { status: statusOf.not_modified, headers });

/** 201 with a JSON body. */
export const created = (body: unknown, headers: HeaderValues): Response => json(statusOf.created, body, headers);

/** The answer to HEAD: an answer's status and headers, and the length that its body would have. */
export async function withoutBody(response: Response): Promise<Response> {
  const headers = new Headers(response.headers);
  headers.set("Content-Length", String((await response.arrayBuffer()).byteLength));
  return new Response(null, { status: response.status, headers });
}

/** The answer to a refusal: `{ error }` with the status of its kind. */
export const refuse = ({ kind, message }: Refusal, headers: HeaderValues = {}): Response =>
  json(statusOf[kind], { error: message }, { ...headersOf[kind], ...headers });

// Made once: an error notes where it comes from, which is not told here and would be most of what a refusal costs.
const refusals = {
  key_invalid: invalidApiKey(),
  deployment_not_found: deployNotFound(),
  key_reused: keyReused(),
  quota_exhausted: quotaExhausted(),
};

/** The answer to a request that the ledger did not accept; `now` is Unix ms. */
export const refuseVerdict = (verdict: Refused, now: number): Response =>
  verdict.outcome === "quota_exhausted" ? refuseQuota(verdict.quota, now) : refuse(refusals[verdict.outcome]);

function refuseQuota(quota: Quota, now: number): Response {
  const { kind, message } = refusals.quota_exhausted;
  const { limit, used, resetsAt, upgradeUrl } = quota;
  const details = { limit, used, resetTime: resetsAt / 1000, upgradeUrl };
  const wait = Math.max(1, Math.ceil((resetsAt - now) / 1000));
  return json(statusOf[kind], { error: message, details }, { ...quotaHeaders(quota), "Retry-After": String(wait) });
}

/** The rate-limit headers of the specification; reset is Unix seconds. */
export const quotaHeaders = (quota: Quota): HeaderValues => ({
  "X-RateLimit-Limit": String(quota.limit),
  "X-RateLimit-Remaining": String(Math.max(0, quota.limit - quota.used)),
  "X-RateLimit-Used": String(quota.used),
  "X-RateLimit-Reset": String(quota.resetsAt / 1000),
});

const json = (status: number, body: unknown, headers: HeaderValues): Response =>
  new Response(stringify(body), {
    status,
    headers: { "Content-Type": "application/json", "Cache-Control": "no-store", ...headers },
  });
