// Installs npm packages outside of node_modules and on first use, where an ordinary install of them would fail, download from
// elsewhere, or warn on a version of Node that this repository supports.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { access, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { promisify } from "node:util";
import { pathOf } from "./runtimes.ts";

export type PinnedPackage = { name: string; version: string; integrity: string };

/** Installs a package in a folder of `.cache` unless it is there, and gives its path. */
export async function installPackage(folder: string, { name, version, integrity }: PinnedPackage): Promise<string> {
  const manifest = { private: true, dependencies: { [name]: version } };
  // With a lockfile npm installs the package with this hash or fails.
  const lock = { lockfileVersion: 3, packages: { "": manifest, [`node_modules/${name}`]: { version, integrity } } };
  const files = { manifest: JSON.stringify(manifest), lock: JSON.stringify(lock) };
  return `${await install(pathOf(`.cache/${folder}-${version}`), files)}/${name}`;
}

type Files = { manifest: string; lock: string };

/**
 * Gives the path of a `node_modules` in `.cache` with what the package.json and package-lock.json of a folder name. If it is not
 * there, it is installed, or with `install: false` there is none.
 */
export async function modulesOf(folder: string, options: { install: boolean }): Promise<string | undefined> {
  const read = (name: string) => readFile(pathOf(`${folder}/${name}`), "utf8");
  const [manifest, lock] = [await read("package.json"), await read("package-lock.json")];
  const version = createHash("sha256").update(manifest).update(lock).digest("hex").slice(0, 12);
  const target = pathOf(`.cache/${basename(folder)}-${version}`);
  return options.install || await exists(target) ? await install(target, { manifest, lock }) : undefined;
}

/** Installs in a folder unless it is there, and gives the path of its `node_modules`. */
async function install(target: string, { manifest, lock }: Files): Promise<string> {
  await makeOnce(target, async (part) => {
    await writeFile(`${part}/package.json`, manifest);
    await writeFile(`${part}/package-lock.json`, lock);
    await promisify(execFile)("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: part });
  });
  return `${target}/node_modules`;
}

/** Makes and fills a folder of `.cache` unless it is there. It appears complete or not at all, however many tests make it. */
export async function makeOnce(target: string, fill: (part: string) => Promise<unknown>): Promise<void> {
  if (await exists(target)) return;
  await mkdir(pathOf(".cache"), { recursive: true });
  const part = await mkdtemp(`${target}-`);
  try {
    await fill(part);
    await rename(part, target).catch(async (error: unknown) => {
      if (!await exists(target)) throw error;
    });
  } finally {
    await rm(part, { recursive: true, force: true });
  }
}

const exists = (path: string) => access(path).then(() => true, () => false);
