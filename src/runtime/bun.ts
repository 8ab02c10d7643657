// Listens on Bun.
import { unknownHost, withUrl } from "./request-url.ts";
import type { Listen } from "./server.ts";

declare const Bun: {
  serve(options: {
    fetch(request: Request): Promise<Response>;
    hostname: string;
    port: number;
    development: boolean;
    maxRequestBodySize: number;
    idleTimeout: number;
  }): { port: number; stop(): Promise<void> };
};

// deno-lint-ignore require-await -- Bun throws if the port is in use, which must become a rejection
export const listen: Listen = async (handle, { host: hostname, port }) => {
  // The service has its own limit on bodies. Without `development: false` Bun shows source code on an error.
  const server = Bun.serve({
    // Bun closes a connection on which data arrives before the last request is answered. The closed request gets no
    // response, so it must not count.
    fetch: (request) => handle(withHost(request), () => request.signal.aborted),
    hostname,
    port,
    development: false,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    // s: longer than a request takes, which would get no response, and than most proxies keep idle connections
    idleTimeout: 150,
  });
  return { port: server.port, stop: () => server.stop() };
};

/** Bun leaves the URL a bare path if the Host is missing or invalid. An invalid Host stays refused. */
const withHost = (request: Request): Request =>
  request.url.startsWith("/") && !request.headers.get("Host")
    ? withUrl(request, `http://${unknownHost}${request.url}`)
    : request;
