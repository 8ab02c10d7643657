// Listens on Deno.
import { boot } from "./boot.ts";
import type { Listen } from "./boot.ts";

declare const Deno: {
  serve(
    options: { hostname: string; port: number; onListen(): void },
    handler: Parameters<Listen>[0],
  ): { addr: { port: number }; shutdown(): Promise<void> };
};

await boot((fetch, { host: hostname, port }) => {
  const server = Deno.serve({ hostname, port, onListen() {} }, fetch);
  return Promise.resolve({ hostname, port: server.addr.port, stop: () => server.shutdown() });
});
