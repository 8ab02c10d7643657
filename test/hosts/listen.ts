// How each runtime listens with a fetch handler.
import { serve } from "@hono/node-server";
import { announce } from "./service.ts";

type Fetch = (request: Request) => Response | Promise<Response>;
type Address = { hostname: string; port: number };

declare const Bun: { serve(options: Address & { fetch: Fetch }): { port: number } };
declare const Deno: { serve(options: Address & { onListen(): void }, fetch: Fetch): { addr: { port: number } } };

const address = { hostname: "127.0.0.1", port: 0 };

/** Listens, and tells the test where the service is mounted. */
export async function listen(fetch: Fetch, path: string): Promise<void> {
  if ("Bun" in globalThis) return announce(Bun.serve({ ...address, fetch }).port, path);
  if ("Deno" in globalThis) return announce(Deno.serve({ ...address, onListen() {} }, fetch).addr.port, path);
  await new Promise<void>((resolve) => {
    const server = serve({ ...address, fetch }, () => resolve(announce(server, path)));
  });
}
