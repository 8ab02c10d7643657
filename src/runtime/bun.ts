// Listens on Bun.
import type { Listen } from "./boot.ts";

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
    idleTimeout: 60, // s: more than a request takes, which would go unanswered
  });
  return { port: server.port, stop: () => server.stop() };
};
