// Installs npm packages that carry a program for one system, outside of node_modules and on first use: their install scripts
// would fail an ordinary install, or download from elsewhere.
import { execFile } from "node:child_process";
import { access, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { pathOf } from "./runtimes.ts";

export type PinnedPackage = { name: string; version: string; integrity: string };

/** Installs a package in a folder of `.cache` unless it is there, and gives its path. */
export async function installPackage(folder: string, { name, version, integrity }: PinnedPackage): Promise<string> {
  const target = pathOf(`.cache/${folder}-${version}`);
  const installed = `${target}/node_modules/${name}`;
  if (await exists(installed)) return installed;
  const manifest = { private: true, dependencies: { [name]: version } };
  // With a lockfile npm installs the package with this hash or fails.
  const lock = { lockfileVersion: 3, packages: { "": manifest, [`node_modules/${name}`]: { version, integrity } } };
  await mkdir(pathOf(".cache"), { recursive: true });
  // The tests of several runtimes run at the same time: the folder appears complete or not at all.
  const part = await mkdtemp(`${target}-`);
  try {
    await writeFile(`${part}/package.json`, JSON.stringify(manifest));
    await writeFile(`${part}/package-lock.json`, JSON.stringify(lock));
    await promisify(execFile)("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: part });
    await rename(part, target).catch(async (error: unknown) => {
      if (!await exists(installed)) throw error;
    });
  } finally {
    await rm(part, { recursive: true, force: true });
  }
  return installed;
}

const exists = (path: string) => access(path).then(() => true, () => false);
