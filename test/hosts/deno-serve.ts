// Deno.serve.
import { announce, createService } from "./service.ts";

declare const Deno: {
  serve(
    options: { hostname: string; port: number; onListen(): void },
    fetch: (request: Request) => Promise<Response>,
  ): { addr: { port: number } };
};

const service = createService();
const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, service.fetch);
announce(server.addr.port);
