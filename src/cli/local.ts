// Operations on the database that the environment names.
import { describeDatabase, filePathOf, isFileUrl, readConfig } from "../common/config.ts";
import { invalid } from "../common/errors.ts";
import { perform } from "../management/operation.ts";
import type { Caller } from "../management/operation.ts";
import { openConfigured } from "../runtime/boot.ts";
import type { Terminal } from "../runtime/terminal.ts";
import type { Call } from "./command.ts";

/** Opens the database, and gives the names of the migrations that brought its schema up to date. */
export async function openHere(
  { env, say, report, exists }: Terminal,
  { createsDatabase = false, migrates }: { createsDatabase?: boolean | undefined; migrates?: true } = {},
): Promise<{ call: Call; applied: string[]; close(): void }> {
  const config = readConfig(env);
  const { url } = config.database;
  if (!createsDatabase && isFileUrl(url) && !await exists(filePathOf(url))) {
    throw invalid(`The database ${describeDatabase(url)} does not exist: workspace create and migrate make it`);
  }
  const { database, applied } = await openConfigured(
    { ...config, migrates: migrates ?? config.migrates },
    "manage",
    createsDatabase ? "create" : "refuse",
  );
  // A database that was empty until now may be another one than was meant.
  if (applied.includes("001-create-catalog")) say(`Made a database: ${describeDatabase(url)}\n`);
  const caller: Caller = { source: "command line", actor: "", role: "owner" };
  const management = { database, clock: Date.now, caller, report };
  return {
    call: (operation, input) => perform(operation, management, { value: input }),
    applied,
    close: database.close,
  };
}
