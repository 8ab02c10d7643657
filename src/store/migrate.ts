// Brings a database's schema up to date: each migration once, in order, in a transaction of its own, and recorded.
import type { Database } from "./database.ts";
import { text } from "./row.ts";
import { conflict } from "../errors.ts";

/** A file of sql/: `NNN-verb-noun` and its text. */
export type Migration = { name: string; sql: string };

/**
 * Applies the migrations that the database lacks, and gives their names. Safe to run in several processes at once.
 * Refuses, untouched, a database that has a migration which is not among the given ones: newer code has been there.
 */
export async function migrate(database: Database, migrations: Migration[], now: number): Promise<string[]> {
  const lacking = await listLacking(database, migrations);
  if (lacking.length === migrations.length) await database.write([{ sql: createMigrations }]);
  const applied: string[] = [];
  for (const migration of lacking) {
    if (await apply(database, migration, now)) applied.push(migration.name);
  }
  return applied;
}

/** Refuses a database that lacks any of the migrations, or has others. */
export async function requireMigrated(database: Database, migrations: Migration[]): Promise<void> {
  const [first] = await listLacking(database, migrations);
  if (first !== undefined) {
    throw conflict(`its schema is out of date, it lacks ${first.name}: run promptledger migrate`);
  }
}

async function listLacking(database: Database, migrations: Migration[]): Promise<Migration[]> {
  const present = await listApplied(database);
  const unknown = [...present].find((name) => !migrations.some((migration) => migration.name === name));
  if (unknown !== undefined) {
    throw conflict(`The database is newer than this promptledger: it has migration ${unknown}. Run a newer version`);
  }
  return migrations.filter(({ name }) => !present.has(name));
}

const createMigrations =
  "create table if not exists promptledger_migrations (name text primary key, applied_at integer not null) strict";

/** Whether any migration was ever applied: whether the database is one of ours. */
export async function isMigrated(database: Database): Promise<boolean> {
  const tables = await database.read({ sql: "select 1 from sqlite_master where name = 'promptledger_migrations'" });
  return tables.length > 0;
}

async function listApplied(database: Database): Promise<Set<string>> {
  if (!await isMigrated(database)) return new Set();
  const rows = await database.read({ sql: "select name from promptledger_migrations order by name" });
  return new Set(rows.map((row) => text(row, "name")));
}

/** Gives false where another process was first. */
async function apply(database: Database, { name, sql }: Migration, now: number): Promise<boolean> {
  try {
    await database.write([
      { sql: "insert into promptledger_migrations (name, applied_at) values (?, ?)", args: [name, now] },
      ...splitStatements(sql),
    ]);
    return true;
  } catch (error) {
    if ((await listApplied(database)).has(name)) return false;
    throw error;
  }
}

/** A statement ends with a semicolon at the end of a line; the driver would run only the first of several. */
const splitStatements = (sql: string) =>
  sql.split(/;[ \t]*$/m).map((statement) => ({ sql: statement })).filter(({ sql }) => /^\s*[a-z]/im.test(sql));
