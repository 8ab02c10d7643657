// The URL of a request whose Host is missing or invalid.

/** Replaces a missing Host. HTTP/1.0 does not need one, and health checks of load balancers send none. */
export const unknownHost = "unknown";

/** The request with another URL. An empty one is refused as invalid. */
export const withUrl = (request: Request, url: string): Request =>
  Object.defineProperty(request, "url", { value: url });
