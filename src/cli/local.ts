// Runs operations on the database in DATABASE_URL.
import { describeDatabase, filePathOf, isFileUrl, readConfig } from "../common/config.ts";
import { invalid } from "../common/errors.ts";
import { perform } from "../management/operation.ts";
import type { Caller } from "../management/operation.ts";
import { openConfigured } from "../runtime/boot.ts";
import type { Terminal } from "../runtime/terminal.ts";
import { userOf } from "./command.ts";
import type { Call } from "./command.ts";

/** Opens the database. `applied` names the migrations that brought its schema up to date. */
export async function openLocal(
  terminal: Terminal,
  { createsDatabase = false, migrates }: { createsDatabase?: boolean | undefined; migrates?: true } = {},
): Promise<{ call: Call; applied: string[]; close(): void }> {
  const { env, say, report, exists } = terminal;
  const config = readConfig(env);
  const { url } = config.database;
  if (!createsDatabase && isFileUrl(url) && !await exists(filePathOf(url))) {
    throw invalid(`The database ${describeDatabase(url)} does not exist. Create it with workspace create or migrate`);
  }
  const { database, applied } = await openConfigured(
    { ...config, migrates: migrates ?? config.migrates },
    "manage",
    { onEmpty: createsDatabase ? "create" : "refuse", notify: (notice) => say(`${notice}\n`) },
  );
  // A new database may not be the one that the user meant.
  if (applied.includes("001-create-catalog")) say(`Created the database ${describeDatabase(url)}\n`);
  const caller: Caller = { source: "command line", actor: userOf(terminal) ?? "", role: "owner" };
  const management = { database, clock: Date.now, caller, report };
  return {
    call: (operation, input) => perform(operation, management, { value: input }),
    applied,
    close: database.close,
  };
}
