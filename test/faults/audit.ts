// Makes a database with a tenant for a fault to hit, and audits it afterwards: was an answered request lost or stored twice,
// and does the ledger balance. libSQL keeps a file open after it was closed, and while a process has it open, the log of a killed
// service is not recovered. So this process works on copies.
import { copyFile } from "node:fs/promises";
import { verify } from "../actions.ts";
import { describeError } from "../../src/common/log.ts";
import { exists } from "../../src/runtime/atomic-file.ts";
import type { Database } from "../../src/database/database.ts";
import { migrations } from "../../src/database/migrations.ts";
import { commitAt, idAt } from "../../src/ledger/blocks.ts";
import { migrate } from "../../src/database/migrate.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { fileOf } from "../../src/database/file/source.ts";
import { copyTo, findDamage } from "../../src/database/file/maintenance.ts";
import { unbalanced } from "../balanced.ts";
import { createFolder } from "../conformance/processes.ts";
import { createTenant, managementOf, openMemory } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import type { Outcomes } from "./load.ts";

export type SeededDatabase = { url: string; tenant: Tenant };

/** The result of an audit. `faults` are sentences about what is wrong. */
export type Audit = {
  lost: number;
  doubled: number;
  faults: string[];
  /** What took longer than it should. A busy machine may be the reason, so tests do not look at it. */
  slow?: string[];
};

/** Makes a database with a tenant. A file is a copy of one in memory, which need not be migrated on the disk. */
export async function createSeededDatabase(url: string, monthlyLimit = 1_000_000_000): Promise<SeededDatabase> {
  const path = fileOf(url);
  const database = path === undefined ? openDatabase(url, "manage") : await openMemory();
  if (path === undefined) await migrate(database, migrations, Date.now());
  const tenant = await createTenant(managementOf(database, Date.now), monthlyLimit);
  if (path !== undefined) await copyTo(database, path);
  database.close();
  return { url, tenant };
}

/**
 * Compares the answers that clients got with the database, which no process has open. Requests that got a 500, or no answer,
 * may or may not have taken effect.
 */
export const audit = ({ url }: SeededDatabase, outcomes: Outcomes): Promise<Audit> =>
  looking(url, (database) => auditDatabase(database, outcomes));

/** Runs with a database that no process has open, or if it is a file, with a copy of it. */
export async function looking<T>(url: string, look: (database: Database) => Promise<T>): Promise<T> {
  const path = fileOf(url);
  const { path: folder, remove } = await createFolder();
  let database: Database | undefined;
  try {
    if (path !== undefined) await copyFile(path, `${folder}/copy.db`);
    if (path !== undefined && await exists(`${path}-wal`)) await copyFile(`${path}-wal`, `${folder}/copy.db-wal`);
    database = openDatabase(path === undefined ? url : `file:${folder}/copy.db`, "manage");
    return await look(database);
  } finally {
    database?.close();
    await remove();
  }
}

async function auditDatabase(database: Database, { statuses, recorded }: Outcomes): Promise<Audit> {
  // This comes first, because reading from a damaged file may abort this process.
  const damage = await findDamage(database).catch(describeError);
  if (damage !== undefined) return { lost: 0, doubled: 0, faults: [`the database is damaged: ${damage}`] };
  const { ledgers, feedback } = await verify(managementOf(database, Date.now));
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
  const strange = [...statuses.keys()].filter((status) => ![0, 200, 201, 429, 500, 503].includes(status));
  return {
    lost: recorded.filter((id) => !ids.has(id)).length + Math.max(0, accepted - used),
    doubled: stored.length - sessions.size + Math.max(0, used - accepted - count(500) - count(0)),
    faults: [
      ...unbalanced(ledgers).map((ledger) => `the ledger does not balance: ${ledger}`),
      ...feedback.rows.map((fault) => `feedback is wrong: ${JSON.stringify(fault)}`),
      ...strange.map((status) => `${count(status)} answers had status ${status}`),
    ],
  };
}
