// The package as its users get it: packed, installed in an empty folder, and embedded on each runtime and in TypeScript.
import { execFile } from "node:child_process";
import { access, mkdir, readdir, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { createFolder } from "./conformance/processes.ts";
import { currentRuntime, pathOf } from "./runtimes.ts";

const test = suite("package");

const run = async (cwd: string, command: string, ...args: string[]) =>
  (await promisify(execFile)(command, args, { cwd })).stdout;

const embedding = `
import { createService } from "promptledger";
import { migrate } from "promptledger/migrate";
await migrate("file:ledger.db");
const service = createService({ database: "file:ledger.db", basePath: "/llm" });
const response = await service.fetch(new Request("https://example.com/llm/v1/prompts"));
console.log(response.status, await response.text());
service.close();
`;

// Packing is the same on every runtime.
if (currentRuntime === "Node") {
  const folder = await createFolder();
  test.after(() => folder.remove());
  const app = `${folder.path}/app`;

  test("is packed and installs in an empty folder", async () => {
    await run(pathOf("."), "npm", "pack", "--silent", "--pack-destination", folder.path);
    const [tarball] = (await readdir(folder.path)).filter((name) => name.endsWith(".tgz"));
    await mkdir(app);
    await writeFile(`${app}/package.json`, JSON.stringify({ private: true, type: "module" }));
    await run(app, "npm", "install", "--silent", "--no-audit", "--no-fund", `../${tarball}`);
    await writeFile(`${app}/embed.js`, embedding);
    await writeFile(`${app}/embed.ts`, embedding);
  });

  const runs: [name: string, ...command: string[]][] = [
    ["Node, without any loader", "node", "embed.js"],
    ["Bun", pathOf("node_modules/.bin/bun"), "embed.ts"],
    ["Deno", pathOf("node_modules/.bin/deno"), "run", "--quiet", "--allow-all", "embed.ts"],
  ];
  for (const [name, command, ...args] of runs) {
    test(`is embedded on ${name}`, async () => {
      assert.is(await run(app, command!, ...args), '401 {"error":"Missing or invalid authorization header"}\n');
    });
  }

  test("is typed for a strict TypeScript project", async () => {
    const options = ["--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2022", "--types", "node"];
    const typeRoots = ["--typeRoots", pathOf("node_modules/@types")];
    await run(app, pathOf("node_modules/.bin/tsc"), "--noEmit", ...options, ...typeRoots, "embed.ts");
  });

  test("brings its command line", async () => {
    assert.match(await run(app, "npx", "promptledger", "--version"), /^\d+\.\d+\.\d+\n$/);
    await run(app, "npx", "promptledger", "migrate");
    assert.is(await run(app, "npx", "promptledger", "workspace", "list", "--json"), "[]\n");
  });

  test("brings its file for systemd", async () => {
    await access(`${app}/node_modules/promptledger/src/runtime/deploy/promptledger.service`);
  });
}

test.run();
