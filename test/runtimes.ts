// The runtimes that the tests run on, and how each runs a file of ours.
import { fileURLToPath } from "node:url";

export type Runtime = "Node" | "Bun" | "Deno";

export const currentRuntime: Runtime = "Bun" in globalThis ? "Bun" : "Deno" in globalThis ? "Deno" : "Node";

const root = new URL("..", import.meta.url);

/** The path of a file of the repository. */
export const pathOf = (file: string): string => fileURLToPath(new URL(file, root));

const denoPermissions = ["read", "write", "env", "ffi", "sys", "net"].map((name) => `--allow-${name}`);

/** The command that runs a TypeScript file on a runtime. */
export const commandOf: Record<Runtime, (file: string) => [command: string, ...args: string[]]> = {
  Node: (file) => ["node", "--import", "tsx", pathOf(file)],
  Bun: (file) => [pathOf("node_modules/.bin/bun"), pathOf(file)],
  Deno: (file) => [pathOf("node_modules/.bin/deno"), "run", "--quiet", ...denoPermissions, pathOf(file)],
};
