// Starts the service on the runtime that this process runs on.
import { boot } from "./boot.ts";
import type { Started } from "./boot.ts";
import type { Listen } from "./server.ts";

/** Serves until a signal arrives. */
export const serve = async (): Promise<Started> => boot(await findListen());

async function findListen(): Promise<Listen> {
  if ("Bun" in globalThis) return (await import("./bun.ts")).listen;
  if ("Deno" in globalThis) return (await import("./deno.ts")).listen;
  return (await import("./node.ts")).listen;
}
