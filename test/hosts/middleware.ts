// What other middleware does with a request before the service gets it, as the request's `X-Middleware` says.

type Fetch = (request: Request) => Promise<Response>;

const middleware: Record<string, (request: Request, fetch: Fetch) => Promise<Response>> = {
  "keeps a clone": (request, fetch) => {
    request.clone();
    return fetch(request);
  },
  "hands on a clone": (request, fetch) => fetch(request.clone()),
  "reads a clone": async (request, fetch) => {
    await request.clone().text();
    return fetch(request);
  },
  "wraps the request": (request, fetch) => fetch(new Request(request.url, request)),
  "reads the body": async (request, fetch) => {
    await request.text();
    return fetch(request);
  },
};

/** The same handler, behind a middleware of the request's choice. */
export const withMiddleware = (fetch: Fetch): Fetch => (request) => {
  const act = middleware[request.headers.get("X-Middleware") ?? ""];
  return act === undefined ? fetch(request) : act(request, fetch);
};
