// Opens the database of the settings, for the service and for commands.
import type { Config } from "../common/config.ts";
import type { Database, Purpose } from "../database/database.ts";
import { openChecked, openMigrated } from "../database/open-migrated.ts";
import type { OpenOptions } from "../database/open-migrated.ts";
import { unusableDatabase } from "./file-fault.ts";

/**
 * Opens the configured database. It migrates an outdated schema, or refuses it if `migrates` is false. `applied` names the
 * migrations that ran. `onEmpty` says what to do with a database without a schema.
 */
export async function openConfigured(
  { database: location, migrates }: Pick<Config, "database" | "migrates">,
  purpose: Purpose,
  { onEmpty = "create", notify }: Pick<OpenOptions, "onEmpty" | "notify"> = {},
): Promise<{ database: Database; applied: string[] }> {
  try {
    if (migrates) return await openMigrated(location, purpose, { onEmpty, notify });
    return { database: await openChecked(location, purpose), applied: [] };
  } catch (error) {
    throw await unusableDatabase(location, error);
  }
}
