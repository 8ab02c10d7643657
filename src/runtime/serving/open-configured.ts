// Opens the database of the settings, for the service and for commands.
import type { DatabaseLocation } from "../../database/location.ts";
import type { Database, Purpose } from "../../database/database.ts";
import { openMigrated } from "../../database/file/open-migrated.ts";
import type { OpenOptions } from "../../database/file/open-migrated.ts";
import { unusableDatabase } from "../file-fault.ts";

/** Opens the configured database as `openMigrated` does. An error names the database. */
export async function openConfigured(
  location: DatabaseLocation,
  purpose: Purpose,
  options: OpenOptions,
): Promise<{ database: Database; applied: string[] }> {
  try {
    return await openMigrated(location, purpose, options);
  } catch (error) {
    throw await unusableDatabase(location, error);
  }
}
