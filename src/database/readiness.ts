// Whether the database would serve requests: asked by probes, which may come as often as they like.
import type { Clock } from "../common/domain.ts";
import { databaseAway, databaseBusy, databaseReadOnly, diskFull, fileFaulty, Refusal } from "../common/errors.ts";
import { schemaMissing, schemaNewer, schemaOutdated } from "../common/errors.ts";
import { failureOf, hasCode, isFileFault } from "./database.ts";
import type { Database } from "./database.ts";
import { isMigrated } from "./migrate.ts";
import { migrationNames } from "./migrations.ts";
import { text } from "./row.ts";
import { withTimeout } from "../common/timeout.ts";

const timeoutMs = 2_000; // ms that an answer may take
const validity = 1_000; // ms for which an answer holds

/**
 * Gives a function that tells why the database would serve no request, or undefined if it would: it cannot be reached, its
 * schema is another one, or, for a file, nothing can be written. Those who ask at once share the answer.
 */
export function readinessOf(database: Database, clock: Clock): () => Promise<Refusal | undefined> {
  let asked: { at: number; answer: Promise<Refusal | undefined> } | undefined;

  return () => {
    const now = clock();
    if (asked === undefined || Math.abs(now - asked.at) >= validity) {
      asked = { at: now, answer: withTimeout(timeoutMs, findObstacle(database), databaseAway) };
    }
    return asked.answer;
  };
}

async function findObstacle(database: Database): Promise<Refusal | undefined> {
  try {
    if (!await isMigrated(database)) return schemaMissing();
    const rows = await database.read({ sql: "select name from promptledger_migrations order by name" });
    const applied = rows.map((row) => text(row, "name"));
    const missing = migrationNames.find((name) => !applied.includes(name));
    if (missing !== undefined) return schemaOutdated(missing);
    const unknown = applied.find((name) => !migrationNames.includes(name));
    if (unknown !== undefined) return schemaNewer(unknown);
    await database.probe?.();
    return undefined;
  } catch (error) {
    return toRefusal(error);
  }
}

function toRefusal(error: unknown): Refusal {
  if (isFileFault(error)) return fileFaulty(error.message);
  if (hasCode(error, /^SQLITE_FULL/)) return diskFull();
  if (hasCode(error, /^SQLITE_READONLY/)) return databaseReadOnly();
  return failureOf(error) === "retryable" ? databaseBusy() : databaseAway();
}
