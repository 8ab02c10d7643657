// Starts the service on the current runtime.
import { boot } from "./boot.ts";
import type { Started } from "./boot.ts";
import { endWithOwner } from "../own-service.ts";
import type { Listen } from "../server.ts";

/** Serves until a signal arrives. */
export async function serve(): Promise<Started> {
  endWithOwner();
  return boot(await findListen());
}

async function findListen(): Promise<Listen> {
  if ("Bun" in globalThis) return (await import("../bun.ts")).listen;
  if ("Deno" in globalThis) return (await import("../deno.ts")).listen;
  return (await import("../node.ts")).listen;
}
