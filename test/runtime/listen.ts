// Listening on the runtime that runs the tests.
import type { Listen } from "../../src/runtime/server.ts";
import { currentRuntime } from "../runtimes.ts";

export async function findListen(): Promise<Listen> {
  if (currentRuntime === "Bun") return (await import("../../src/runtime/bun.ts")).listen;
  if (currentRuntime === "Deno") return (await import("../../src/runtime/deno.ts")).listen;
  return (await import("../../src/runtime/node.ts")).listen;
}
