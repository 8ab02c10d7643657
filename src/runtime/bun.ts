// Listens on Bun.
import type { Listen } from "./server.ts";

declare const Bun: {
  serve(options: {
    fetch: Parameters<Listen>[0];
    hostname: string;
    port: number;
    development: boolean;
    maxRequestBodySize: number;
    idleTimeout: number;
  }): { port: number; stop(): Promise<void> };
};

// deno-lint-ignore require-await -- a port in use is thrown at once, and must be a rejection
export const listen: Listen = async (fetch, { host: hostname, port }) => {
  // Our own limit on bodies answers in JSON; without `development: false` Bun shows source code on an error.
  const server = Bun.serve({
    fetch,
    hostname,
    port,
    development: false,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    // s: more than a request takes, which would go unanswered, and than a proxy keeps its connections open as a rule
    idleTimeout: 75,
  });
  return { port: server.port, stop: () => server.stop() };
};
