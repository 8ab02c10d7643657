// Cross-origin requests, for pages that call the service from a browser; off unless origins are named.
import { noContent } from "./respond.ts";
import type { Answer, HeaderValues } from "./respond.ts";

/** The headers that let a page of an allowed origin read a response. */
export function corsHeaders(request: Request, origins: readonly string[]): HeaderValues {
  const isOpen = origins.includes("*");
  // The response depends on the origin, even a refusal.
  const vary: HeaderValues = isOpen ? {} : { Vary: "Origin" };
  const origin = request.headers.get("Origin");
  if (origin === null || !isOpen && !origins.includes(origin)) return vary;
  return { ...vary, "Access-Control-Allow-Origin": isOpen ? "*" : origin, "Access-Control-Expose-Headers": exposed };
}

/** The response to a preflight request; undefined for other requests and for origins that are not allowed. */
export function preflightOf(request: Request, origins: readonly string[]): Answer | undefined {
  if (origins.length === 0 || request.method !== "OPTIONS" || !request.headers.has("Access-Control-Request-Method")) {
    return undefined;
  }
  const headers = corsHeaders(request, origins);
  if (headers["Access-Control-Allow-Origin"] === undefined) return undefined;
  return noContent({
    "Access-Control-Allow-Methods": "GET, HEAD, POST, PATCH, DELETE",
    "Access-Control-Allow-Headers":
      "Accept-Rollout, Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, " +
      "X-Request-Id, baggage, traceparent, tracestate",
    "Access-Control-Max-Age": "7200",
  });
}

const exposed = "ETag, Location, Retry-After, X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, " +
  "X-RateLimit-Used, X-RateLimit-Reset";
