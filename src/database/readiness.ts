// Checks that the database can serve requests. Probes may come at any rate.
import type { Clock } from "../common/domain.ts";
import { databaseAway, databaseBusy, databaseReadOnly, diskFull, fileFaulty } from "../common/errors.ts";
import type { Refusal } from "../common/errors.ts";
import { schemaMissing, schemaNewer, schemaOutdated } from "../common/errors.ts";
import { failureOf, hasCode, isFileFault } from "./database.ts";
import type { Database } from "./database.ts";
import { isMigrated } from "./migrate.ts";
import { latestMigration } from "./migrations.ts";
import { textOrNull } from "./row.ts";
import { withTimeout } from "../common/timeout.ts";

const timeoutMs = 2_000;
const cacheMs = 1_000;

/**
 * Creates a function that returns the reason why the database cannot serve requests, or undefined if it can. It may be
 * unreachable, have another schema, or be a file that cannot be written. Calls within a second share one check.
 */
export function readinessOf(database: Database, clock: Clock): () => Promise<Refusal | undefined> {
  let last: { at: number; check: Promise<Refusal | undefined> } | undefined;

  return () => {
    const now = clock();
    if (last === undefined || Math.abs(now - last.at) >= cacheMs) {
      last = { at: now, check: withTimeout(timeoutMs, findObstacle(database), databaseAway) };
    }
    return last.check;
  };
}

async function findObstacle(database: Database): Promise<Refusal | undefined> {
  try {
    if (!await isMigrated(database)) return schemaMissing();
    // Migrations are applied in the order of their names.
    const [row] = await database.read({ sql: "select max(name) as latest from promptledger_migrations" });
    const latest = textOrNull(row!, "latest") ?? "";
    if (latest < latestMigration) return schemaOutdated(latestMigration);
    if (latest > latestMigration) return schemaNewer(latest);
    await database.probe?.();
    return undefined;
  } catch (error) {
    return Object.assign(toRefusal(error), { cause: error });
  }
}

function toRefusal(error: unknown): Refusal {
  if (isFileFault(error)) return fileFaulty(error.message);
  if (hasCode(error, /^SQLITE_FULL/)) return diskFull();
  if (hasCode(error, /^SQLITE_READONLY/)) return databaseReadOnly();
  return failureOf(error) === "retryable" ? databaseBusy() : databaseAway();
}
