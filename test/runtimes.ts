// The runtimes that the tests run on, and how each runs a file of ours.
import { mkdirSync, renameSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

export type Runtime = "Node" | "Bun" | "Deno";

export const currentRuntime: Runtime = "Bun" in globalThis ? "Bun" : "Deno" in globalThis ? "Deno" : "Node";

const root = new URL("..", import.meta.url);

/** The path of a file of the repository. */
export const pathOf = (file: string): string => fileURLToPath(new URL(file, root));

const denoPermissions = ["read", "write", "env", "ffi", "sys", "net"].map((name) => `--allow-${name}`);

const bundled = new Map<string, string>();

/** When the run began that this process belongs to: in ms since 1970. */
const runBegan = Number(process.env.TEST_RUN_BEGAN ?? Infinity);

/** A file with all that it imports but native modules, as JavaScript that is made once in each run of tests. */
function bundleOf(file: string, name = file.replaceAll("/", "-")): string {
  const known = bundled.get(file);
  if (known !== undefined) return known;
  const path = pathOf(`.cache/node/${name}.mjs`);
  // Otherwise another process of the run has made it.
  if ((statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) < runBegan) build(file, path);
  bundled.set(file, path);
  return path;
}

function build(file: string, path: string): void {
  const { buildSync } = createRequire(import.meta.url)("esbuild") as typeof import("esbuild");
  const { outputFiles: [output] } = buildSync({
    entryPoints: [pathOf(file)],
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    minifyWhitespace: true,
    external: ["libsql"],
    // Packages in CommonJS require those of Node.
    banner: { js: `import { createRequire } from "node:module"; const require = createRequire(import.meta.url);` },
  });
  mkdirSync(dirname(path), { recursive: true });
  // Another process may be starting what is there.
  writeFileSync(`${path}.${process.pid}`, output!.contents);
  renameSync(`${path}.${process.pid}`, path);
}

/** The bundle of the reader thread of a service. */
export const bundleReader = (): string => bundleOf("src/database/file/promptledger-reader.ts", "promptledger-reader");

/** A bundle with the file beside it that a service starts as its reader thread. */
function bundleWithReader(file: string): string {
  bundleReader();
  return bundleOf(file);
}

/** Whether programs on Node are bundled. Coverage is that of the source. */
export const bundles = process.env.NODE_V8_COVERAGE === undefined;

// Node reads no TypeScript by itself, and starts in a third of the time where nothing has to translate it. Measurements find
// their files from where they stand, though.
const onNode = (file: string): string[] =>
  !file.startsWith("test/bench/") && bundles ? [bundleWithReader(file)] : ["--import", "tsx", pathOf(file)];

/** The command that runs a TypeScript file on a runtime. */
export const commandOf: Record<Runtime, (file: string) => [command: string, ...args: string[]]> = {
  Node: (file) => ["node", ...onNode(file)],
  Bun: (file) => [pathOf("node_modules/.bin/bun"), pathOf(file)],
  Deno: (file) => [pathOf("node_modules/.bin/deno"), "run", "--quiet", ...denoPermissions, pathOf(file)],
};
