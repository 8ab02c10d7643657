// Starts a Worker on workerd, the runtime of Cloudflare Workers, bundled as a Worker is. workerd takes 138 MB, so only tests that
// run in full use it.
import { basename } from "node:path";
import { writeFile } from "node:fs/promises";
import { build } from "esbuild";
import { installPackage } from "../packages.ts";
import { pathOf } from "../runtimes.ts";
import { startProgram } from "./processes.ts";

// The libSQL server of the tests is for the same system.
const workerdPackage = {
  name: "@cloudflare/workerd-linux-64",
  version: "1.20261023.1",
  integrity: "sha512-VHQ6jKFSihjR2+x1buby8XTdBLLJztVnYiB7OLOTYO8aDXB+c1Rd2410PdgFuFYc4AgFEk6PCJLyCLL5L1KBnw==",
};

/** Starts a module of the repository with these bindings. It makes files at `path` with an extension. */
export async function startWorker(entry: string, path: string, bindings: Record<string, string>) {
  await build({
    entryPoints: [pathOf(entry)],
    outfile: `${path}.mjs`,
    bundle: true,
    format: "esm",
    platform: "browser",
    conditions: ["workerd", "worker"],
    external: ["cloudflare:workers"],
    logLevel: "error",
  });
  await writeFile(`${path}.capnp`, configOf(`${basename(path)}.mjs`, bindings));
  const workerd = await installPackage("workerd", workerdPackage);
  const command = [`${workerd}/bin/workerd`, "serve", `${path}.capnp`, "--control-fd=1"];
  const child = await startProgram(command, {}, /"socket":"http","port":(\d+)/);
  return { ...child, url: `http://127.0.0.1:${child.seen}` };
}

const configOf = (module: string, bindings: Record<string, string>) => `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker", esModule = embed "${module}")],
      compatibilityDate = "2026-01-01",
      bindings = [
        ${Object.entries(bindings).map(([name, text]) => `(name = "${name}", text = "${text}"),`).join("\n        ")}
      ],
    )),
    (name = "internet", network = (allow = ["local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
`;
