// Starts the service on the runtime that this process runs on.
export async function serve(): Promise<void> {
  if ("Bun" in globalThis) await import("./bun.ts");
  else if ("Deno" in globalThis) await import("./deno.ts");
  else await import("./node.ts");
}
