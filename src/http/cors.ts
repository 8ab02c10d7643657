// Cross-origin requests, for pages that call the service from a browser; off unless origins are named.

type HeaderValues = Record<string, string>;

/** The headers by which a browser lets a page of an allowed origin read an answer. */
export function corsHeaders(request: Request, origins: readonly string[]): HeaderValues {
  if (origins.length === 0) return {};
  const isOpen = origins.includes("*");
  // What is answered depends on who asks, also where it is refused.
  const vary: HeaderValues = isOpen ? {} : { Vary: "Origin" };
  const origin = request.headers.get("Origin");
  if (origin === null || !isOpen && !origins.includes(origin)) return vary;
  return { ...vary, "Access-Control-Allow-Origin": isOpen ? "*" : origin, "Access-Control-Expose-Headers": exposed };
}

/** What a browser asks before it sends a request, where it may be sent; undefined where this is no such question. */
export function preflightHeaders(request: Request, origins: readonly string[]): HeaderValues | undefined {
  if (request.method !== "OPTIONS" || !request.headers.has("Access-Control-Request-Method")) return undefined;
  const headers = corsHeaders(request, origins);
  if (headers["Access-Control-Allow-Origin"] === undefined) return undefined;
  return {
    "Access-Control-Allow-Methods": "GET, HEAD, POST, PATCH, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, " +
      "X-Request-Id, traceparent",
    "Access-Control-Max-Age": "7200",
  };
}

const exposed = "ETag, Location, Retry-After, X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, " +
  "X-RateLimit-Used, X-RateLimit-Reset";
