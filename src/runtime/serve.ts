// Starts the service on the runtime that this process runs on.
import { boot } from "./boot.ts";
import type { Listen } from "./server.ts";

/** Serves until a signal arrives. Returns the base URL. */
export const serve = async (): Promise<string> => boot(await findListen());

async function findListen(): Promise<Listen> {
  if ("Bun" in globalThis) return (await import("./bun.ts")).listen;
  if ("Deno" in globalThis) return (await import("./deno.ts")).listen;
  return (await import("./node.ts")).listen;
}
