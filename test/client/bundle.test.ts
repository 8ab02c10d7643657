// What the client and its other entries cost a page or a Worker that bundles them, and that they need nothing of any runtime.
// Runs on Node alone.
import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { budgets } from "../budgets.ts";
import { createFolder } from "../conformance/processes.ts";
import { currentRuntime, pathOf } from "../runtimes.ts";

const test = suite("client bundle");

/** What a client loads when it is first used. */
const later = { "refusals.js": 1_200, "snapshot.js": 980, "token.js": 1_560 };
const others = {
  "ai-sdk": { most: 7_600, shared: ["outcome", "trace", "uuid"] },
  providers: { most: 8_000, shared: ["outcome", "trace"] },
};

// Bundling is the same on every runtime.
if (currentRuntime === "Node") {
  const folder = await createFolder();
  test.after(() => folder.remove());
  const path = `${folder.path}/index.js`;
  const { metafile } = await build({
    entryPoints: [pathOf("src/client/index.ts")],
    outdir: folder.path,
    splitting: true,
    chunkNames: "[name]",
    bundle: true,
    minify: true,
    metafile: true,
    format: "esm",
    target: "es2023",
    platform: "browser",
    logLevel: "error",
  });
  const text = await readFile(path, "utf8");

  const { minified, compressed } = budgets.client;
  test(`is at most ${minified / 1000} kB, minified, and ${compressed / 1000} kB compressed, without what it loads when it is first used`, () => {
    const sizes = Object.entries(metafile.outputs).map(([path, { bytes }]) =>
      [path.replace(/.*\//, ""), bytes] as const
    );
    const most: Record<string, number> = { "index.js": minified, ...later };
    assert.equal(sizes.map(([name]) => name).sort(), Object.keys(most).sort());
    for (const [name, bytes] of sizes) assert.ok(bytes <= most[name]!, `${name} ${bytes} bytes`);
    const gzipped = gzipSync(text, { level: 9 }).length;
    assert.ok(gzipped <= compressed, `${gzipped} bytes compressed`);
  });

  for (const [entry, { most, shared }] of Object.entries(others)) {
    test(`${entry} is at most ${most / 1000} kB, minified, and has nothing of others, and of the client ${shared.join(", ")}`, async () => {
      const { outputFiles: [file], metafile } = await build({
        entryPoints: [pathOf(`src/client/${entry}/index.ts`)],
        bundle: true,
        minify: true,
        write: false,
        metafile: true,
        format: "esm",
        target: "es2023",
        platform: "browser",
      });
      assert.ok(file!.contents.length <= most, `${file!.contents.length} bytes`);
      const files = Object.keys(metafile.inputs).filter((path) => !path.startsWith(`src/client/${entry}/`));
      assert.equal(files.sort(), shared.map((name) => `src/client/${name}.ts`));
    });
  }

  test("has its own files in it, and what it shares with the service: variables, and tokens for feedback", () => {
    const files = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs))
      .filter((file) => !file.startsWith("src/client/"));
    assert.equal(files.sort(), ["src/common/ids.ts", "src/support/feedback-token.ts", "src/support/template.ts"]);
  });

  test("imports nothing, and works as it is", async () => {
    assert.not.match(text, /\bimport *["{*]|\brequire\(|\bfrom *"/);
    const { createClient } = await import(`file://${path}`) as typeof import("../../src/client/index.ts");
    const fetch = () => Promise.resolve(new Response('{"error":"Invalid API key"}', { status: 401 }));
    const client = createClient({ apiKey: "pl_1", fetch });
    client.on("error", () => {});
    const prompt = await client.prompt("a@b", { fallback: { messages: [{ role: "user", content: "{{a}}" }] } });
    assert.equal(prompt.fill({ a: 1 }), [{ role: "user", content: "1" }]);
    assert.equal(await client.close(), { sent: 0, dropped: 0, failed: 0 });
  });
}

test.run();
