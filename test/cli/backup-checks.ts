// Checks of backups, each once: one whose file has not changed since is as whole as it was.
import { readFile } from "node:fs/promises";
import { sha256 } from "../../src/common/ids.ts";
import { runIn } from "./places.ts";

/** Gives a function that checks a backup by its name. It returns true, or what the command said. `fileOf` is where it is stored. */
export function createChecks(
  settings: Record<string, string>,
  fileOf: (name: string) => string,
): (name: string) => Promise<true | string> {
  const whole = new Set<string>();
  return async (name) => {
    const file = `${name} ${await sha256(await readFile(fileOf(name), "base64"))}`;
    if (whole.has(file)) return true;
    const { code, said } = await runIn(["backup", "check", name], settings);
    if (code !== 0) return said;
    whole.add(file);
    return true;
  };
}
