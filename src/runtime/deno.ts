// Listens on Deno.
import type { Listen } from "./boot.ts";

declare const Deno: {
  serve(
    options: { hostname: string; port: number; onListen(): void },
    handler: Parameters<Listen>[0],
  ): { addr: { port: number }; shutdown(): Promise<void> };
};

// deno-lint-ignore require-await -- a port in use is thrown at once, and must be a rejection
export const listen: Listen = async (fetch, { host: hostname, port }) => {
  const server = Deno.serve({ hostname, port, onListen() {} }, fetch);
  return { port: server.addr.port, stop: () => server.shutdown() };
};
