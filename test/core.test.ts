// The core stays minimal: what `createService` of promptledger costs a Worker that bundles it, and what is not in it.
// Runs on Node alone.
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { budgets } from "./budgets.ts";
import { suite } from "./suite.ts";
import * as assert from "uvu/assert";
import { currentRuntime, pathOf } from "./runtimes.ts";

const test = suite("core");

/** Bundles an export for Workers; gives its size and the files in it. */
async function bundle(name: string, file: string): Promise<{ gzipped: number; files: string[] }> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: `export { ${name} } from "./${file}"`, resolveDir: pathOf("."), loader: "ts" },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "browser",
    conditions: ["workerd"],
    logLevel: "error",
  });
  const [output] = Object.values(metafile.outputs);
  const files = Object.entries(output!.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  return { gzipped: gzipSync(outputFiles[0]!.contents, { level: 9 }).length, files: files.map(([path]) => path) };
}

// Bundling is the same on every runtime.
if (currentRuntime === "Node") {
  test(`takes at most ${budgets.core} bytes in a Worker, and nothing of it is of a face or of a runtime`, async () => {
    const { gzipped, files } = await bundle("createService", "src/runtime/workers.ts");
    assert.ok(files.includes("src/ledger/ledger.ts"));
    assert.equal(
      files.filter((file) =>
        /^src\/(console|cli|deploy|faces|feedback|files|log|management|mcp|statistics|tallies)\/|^node:/.test(
          file,
        )
      ),
      [],
    );
    assert.ok(gzipped <= budgets.core, `${gzipped} bytes`);
  });

  test("with management, a Worker has all of it", async () => {
    const { files } = await bundle("default", "src/worker.ts");
    assert.ok(files.includes("src/faces/management.ts") && files.includes("src/management/kernel/workspaces.ts"));
  });
}

test.run();
