// Brings a database's schema up to date: each migration once, in order, in a transaction of its own, and recorded with the
// checksum of its text.
import { conflict } from "../common/errors.ts";
import type { Database } from "./database.ts";
import { text, textOrNull } from "./row.ts";

/** A file of sql/: `NNN-verb-noun`, the SHA-256 of its text in hexadecimal, and the text. */
export type Migration = { name: string; checksum: string; sql: string };

export type MigrateOptions = {
  /** What to do with a database that has migrations this version does not know, since a newer version has served it. */
  onNewer?: "refuse" | "accept" | undefined;
  /** Receives what a migration changed in the data, in sentences. */
  notify?: ((notice: string) => void) | undefined;
};

/**
 * Applies the migrations that the database lacks, and gives their names. Safe to run in several processes at once.
 * Throws, and changes nothing, if the database is newer or one of its migrations has another checksum.
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[],
  now: number,
  options: MigrateOptions = {},
): Promise<string[]> {
  const missing = await listMissing(database, migrations, options);
  await prepareTable(database, migrations);
  const applied: string[] = [];
  for (const migration of missing) {
    const notices = await apply(database, migration, now);
    if (notices === undefined) continue;
    applied.push(migration.name);
    for (const notice of notices) options.notify?.(notice);
  }
  return applied;
}

/** The migrations that the database lacks. Throws as `migrate` does, and changes nothing. */
export async function listMissing(
  database: Database,
  migrations: readonly Migration[],
  { onNewer = "refuse" }: MigrateOptions = {},
): Promise<Migration[]> {
  const applied = await readApplied(database);
  const unknown = [...applied.keys()].find((name) => !migrations.some((migration) => migration.name === name));
  if (unknown !== undefined && onNewer === "refuse") {
    throw conflict(`The database is newer than this promptledger: it has migration ${unknown}. Run a newer version`);
  }
  for (const migration of migrations.filter(({ name }) => applied.has(name))) {
    const { name, checksum } = migration;
    const recorded = applied.get(name) ?? (await wasMadeBy(database, migration) ? checksum : "none");
    if (recorded !== checksum) {
      throw conflict(
        `Migration ${name} of the database differs from the one in this promptledger ` +
          `(checksum ${recorded.slice(0, 12)}, expected ${checksum.slice(0, 12)}): another build made the database`,
      );
    }
  }
  return migrations.filter(({ name }) => !applied.has(name));
}

/** Throws unless the database has all of the migrations. */
export async function requireMigrated(database: Database, migrations: readonly Migration[]): Promise<void> {
  const [first] = await listMissing(database, migrations);
  if (first !== undefined) {
    throw conflict(`its schema is out of date, it lacks ${first.name}: run promptledger migrate`);
  }
}

/** Whether any migration was ever applied, and the database is therefore one of ours. */
export async function isMigrated(database: Database): Promise<boolean> {
  const tables = await database.read({ sql: "select 1 from sqlite_master where name = 'promptledger_migrations'" });
  return tables.length > 0;
}

/** The applied migrations: name to checksum, which is undefined where a version that recorded none applied it. */
async function readApplied(database: Database): Promise<Map<string, string | undefined>> {
  if (!await isMigrated(database)) return new Map();
  const rows = await database.read({ sql: "select * from promptledger_migrations order by name" });
  return new Map(rows.map((row) => [
    text(row, "name"),
    row.checksum === undefined ? undefined : textOrNull(row, "checksum") ?? undefined,
  ]));
}

/** Makes the table of migrations, or adds checksums to one that was made without. */
async function prepareTable(database: Database, migrations: readonly Migration[]): Promise<void> {
  const hasChecksums = async () =>
    (await database.read({ sql: "select 1 from pragma_table_info('promptledger_migrations') where name = 'checksum'" }))
      .length > 0;
  if (await hasChecksums()) return;
  if (!await isMigrated(database)) {
    const sql = `create table if not exists promptledger_migrations (
      name text primary key, applied_at integer not null, checksum text not null
    ) strict`;
    await database.write([{ sql }]);
    return;
  }
  try {
    await database.write([
      { sql: "alter table promptledger_migrations add column checksum text" },
      ...migrations.map(({ name, checksum }) => ({
        sql: "update promptledger_migrations set checksum = ? where name = ?",
        args: [checksum, name],
      })),
    ]);
  } catch (error) {
    // Another process may have been first.
    if (!await hasChecksums()) throw error;
  }
}

/** Returns the notices of the migration: the rows of its queries. Undefined if another process was first. */
async function apply(
  database: Database,
  { name, checksum, sql }: Migration,
  now: number,
): Promise<string[] | undefined> {
  const record = "insert into promptledger_migrations (name, applied_at, checksum) values (?, ?, ?)";
  try {
    const results = await database.write([{ sql: record, args: [name, now, checksum] }, ...splitStatements(sql)]);
    return results.flat().map((row) => text(row, "notice"));
  } catch (error) {
    if ((await readApplied(database)).has(name)) return undefined;
    throw error;
  }
}

/**
 * Whether a migration whose checksum was not recorded made what is in the schema: SQLite keeps the text of each table and
 * index. Comments and white space may differ.
 */
async function wasMadeBy(database: Database, { sql }: Migration): Promise<boolean> {
  const rows = await database.read({ sql: "select sql from sqlite_master where sql is not null" });
  const present = new Set(rows.map((row) => normalize(text(row, "sql"))));
  return splitStatements(sql).every((statement) => present.has(normalize(statement.sql)));
}

const normalize = (sql: string) => sql.replace(/--.*$/gm, "").replace(/\s+/g, " ").trim().toLowerCase();

/** A statement ends with a semicolon at the end of a line; the driver would run only the first of several. */
const splitStatements = (sql: string) =>
  sql.split(/;[ \t]*$/m).map((statement) => ({ sql: statement })).filter(({ sql }) => /^\s*[a-z]/im.test(sql));
