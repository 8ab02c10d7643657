// The entry `promptledger/migrate`: prepares a database for a service that is embedded elsewhere.
import { databaseUrlFault } from "./database/location.ts";
import { invalid } from "./common/errors.ts";
import type { DatabaseSource } from "./database/client.ts";
import type { MigrateOptions } from "./database/migrate.ts";
import { openMigrated } from "./database/file/open-migrated.ts";

export type { DatabaseLocation } from "./database/location.ts";
export { Refusal } from "./common/errors.ts";
export type { DatabaseSource } from "./database/client.ts";
export type { MigrateOptions } from "./database/migrate.ts";

/**
 * Migrates the schema of a database. Returns the names of the migrations that it applied. Creates a missing file,
 * readable by its owner alone. Throws if a newer version has migrated the database, unless `onNewer` is `accept`.
 *
 * @example
 * const applied = await migrate("file:ledger.db");
 */
export async function migrate(source: DatabaseSource, options: MigrateOptions = {}): Promise<string[]> {
  const url = typeof source === "string" ? source : "url" in source ? source.url : undefined;
  const fault = url === undefined ? undefined : databaseUrlFault(url);
  // A database in memory would be lost when it is closed here.
  if (fault !== undefined) throw invalid(`The database ${fault}`);
  const { database, applied } = await openMigrated(source, "manage", options);
  database.close();
  return applied;
}
