// A database with a tenant for a fault to hit, and the audit of what is left: is anything lost that was answered, is
// anything there twice, do the books balance.
import { verify } from "../../src/admin/records.ts";
import { migrations } from "../../src/store/migrations.ts";
import { commitAt, idAt } from "../../src/store/blocks.ts";
import { migrate } from "../../src/store/migrate.ts";
import { openDatabase } from "../../src/store/open.ts";
import { adminOf, createTenant } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import type { Outcomes } from "./load.ts";

export type Books = { url: string; tenant: Tenant };

/** What an audit found; `faults` are sentences about what must not be. */
export type Audit = { lost: number; doubled: number; faults: string[] };

export async function createBooks(url: string, monthlyLimit = 1_000_000_000): Promise<Books> {
  const database = openDatabase(url, "manage");
  await migrate(database, migrations, Date.now());
  const tenant = await createTenant(adminOf(database, Date.now), monthlyLimit);
  database.close();
  return { url, tenant };
}

/**
 * Compares what clients were told with what is in the database. Requests that were answered with 500, or not at all, may
 * have taken effect or not.
 */
export async function audit({ url }: Books, { statuses, recorded }: Outcomes): Promise<Audit> {
  const database = openDatabase(url, "manage");
  try {
    const { balanced, ledgers } = await verify(adminOf(database, Date.now));
    const used = ledgers.reduce((sum, ledger) => sum + ledger.used, 0);
    const stored = await database.read({
      sql: `select ${idAt("diag", "d.position")} as id, d.session_id from diagnoses d cross join ${
        commitAt("d.position")
      }`,
    });
    const ids = new Set(stored.map(({ id }) => id));
    const sessions = new Set(stored.map(({ session_id }) => session_id));
    const count = (status: number) => statuses.get(status) ?? 0;
    const accepted = count(200) + count(201);
    const [integrity] = await database.read({ sql: "pragma integrity_check" });
    const strange = [...statuses.keys()].filter((status) => ![0, 200, 201, 429, 500, 503].includes(status));
    return {
      lost: recorded.filter((id) => !ids.has(id)).length + Math.max(0, accepted - used),
      doubled: stored.length - sessions.size + Math.max(0, used - accepted - count(500) - count(0)),
      faults: [
        ...(balanced ? [] : ["the books do not balance"]),
        ...(integrity?.integrity_check === "ok" ? [] : ["the database is damaged"]),
        ...strange.map((status) => `${count(status)} answers had status ${status}`),
      ],
    };
  } finally {
    database.close();
  }
}
