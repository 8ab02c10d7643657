// The entry `promptledger/migrate`: prepares a database for a service that is embedded elsewhere.
import { databaseUrlFault } from "./config.ts";
import { invalid } from "./errors.ts";
import type { DatabaseSource } from "./store/client.ts";
import type { MigrateOptions } from "./store/migrate.ts";
import { openMigrated } from "./store/open.ts";

export type { DatabaseLocation } from "./config.ts";
export { Refusal } from "./errors.ts";
export type { DatabaseSource } from "./store/client.ts";
export type { MigrateOptions } from "./store/migrate.ts";

/**
 * Brings the schema of a database up to date and gives the names of the migrations it applied. A missing file is made,
 * readable by its owner alone. Throws if a newer version has served the database, unless `onNewer` is `accept`.
 */
export async function migrate(source: DatabaseSource, options: MigrateOptions = {}): Promise<string[]> {
  const url = typeof source === "string" ? source : "url" in source ? source.url : undefined;
  const fault = url === undefined ? undefined : databaseUrlFault(url);
  // One in memory would be gone when it is closed here.
  if (fault !== undefined) throw invalid(`The database ${fault}`);
  const { database, applied } = await openMigrated(source, "manage", options);
  database.close();
  return applied;
}
