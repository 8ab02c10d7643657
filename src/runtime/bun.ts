// Listens on Bun.
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

// deno-lint-ignore require-await -- a port in use is thrown at once, and must be a rejection
export const listen: Listen = async (handle, { host: hostname, port }) => {
  // Our own limit on bodies answers in JSON; without `development: false` Bun shows source code on an error.
  const server = Bun.serve({
    // Bun closes a connection on which a request comes before the last one is answered, and one on which something else
    // comes: what it will not answer must not count.
    fetch: (request) => handle(request, () => request.signal.aborted),
    hostname,
    port,
    development: false,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    // s: more than a request takes, which would go unanswered, and than a proxy keeps its connections open as a rule
    idleTimeout: 75,
  });
  return { port: server.port, stop: () => server.stop() };
};
