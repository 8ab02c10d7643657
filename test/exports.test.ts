// What the package exports: the same on npm and JSR, and explained where an editor shows it.
// Runs on Node alone.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { suite } from "./suite.ts";
import * as assert from "uvu/assert";
import { currentRuntime, pathOf } from "./runtimes.ts";

const test = suite("exports");

type Declaration = {
  kind: string;
  declarationKind: string;
  jsDoc?: { doc?: string; tags?: { kind: string }[] };
};
type Docs = {
  nodes: Record<string, { symbols: { name: string; declarations: Declaration[] }[] }>;
};

const readJson = async (file: string) => JSON.parse(await readFile(pathOf(file), "utf8"));

// The same on every runtime.
if (currentRuntime === "Node") {
  const manifest = await readJson("package.json");
  const jsr = await readJson("deno.json");
  const entries: string[] = Object.values(jsr.exports);

  test("JSR has the entries and the version of npm", () => {
    const toSource = (target: string | { default: string }) =>
      (typeof target === "string" ? target : target.default).replace("/dist/", "/src/").replace(/\.js$/, ".ts");
    const { "./package.json": _, ...exported } = manifest.exports;
    assert.equal(
      jsr.exports,
      Object.fromEntries(Object.entries(exported).map(([name, to]) => [name, toSource(to as string)])),
    );
    assert.equal([jsr.version, jsr.license], [manifest.version, manifest.license]);
  });

  test("every export has a docstring, and every function, class and constant an example", async () => {
    const deno = pathOf("node_modules/.bin/deno");
    const args = ["doc", "--json", ...entries.map((entry) => pathOf(entry))];
    const { stdout } = await promisify(execFile)(deno, args, { maxBuffer: 64 * 1024 * 1024 });
    const { nodes } = JSON.parse(stdout) as Docs;
    // Where several entries export a thing, the first of them has its docstring.
    const documented = new Map<string, Declaration>();
    for (const { symbols } of Object.values(nodes)) {
      for (const { name, declarations } of symbols) {
        for (const declaration of declarations.filter(({ declarationKind }) => declarationKind === "export")) {
          if (declaration.jsDoc !== undefined || !documented.has(name)) documented.set(name, declaration);
        }
      }
    }
    const isType = (kind: string) => kind === "typeAlias" || kind === "interface";
    const exported = [...documented];
    assert.ok(exported.length > 40);
    assert.equal(exported.filter(([, { jsDoc }]) => !jsDoc?.doc).map(([name]) => name), []);
    const shown = exported.filter(([, { kind }]) => !isType(kind));
    const lacking = shown.filter(([, { jsDoc }]) => !jsDoc!.tags?.some(({ kind }) => kind === "example"));
    assert.equal(lacking.map(([name]) => name), []);
  });
}

test.run();
