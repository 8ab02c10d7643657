// Brings the schema of a database up to date. Each migration runs once, in order, in its own transaction, and is
// recorded with the checksum of its text.
import { conflict } from "../common/errors.ts";
import type { Database } from "./database.ts";
import { text, textOrNull } from "./row.ts";

/** A file of sql/: `NNN-verb-noun`, the SHA-256 of its text in hexadecimal, and the text. */
export type Migration = { name: string; checksum: string; sql: string };

/** Options of a migration. */
export type MigrateOptions = {
  /** Handling of a database that a newer version has migrated. */
  onNewer?: "refuse" | "accept" | undefined;
  /** Receives sentences on the migrations of a database, their durations, and their changes to the data. */
  notify?: ((notice: string) => void) | undefined;
};

/** `path` is that of the file, if the database is one. The suggested backup is in the same folder. */
type OfFile = { path?: string | undefined };

/**
 * Applies the missing migrations, and returns their names. Several processes may do so at once. Throws, without
 * changes, if the database is newer or one of its migrations has another checksum.
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[],
  now: number,
  { path, onNewer, notify }: MigrateOptions & OfFile = {},
): Promise<string[]> {
  const missing = await listMissing(database, migrations, { onNewer });
  // A new database has no data to change, so no notices are sent.
  const say = await isMigrated(database) ? notify : undefined;
  await prepareTable(database, migrations);
  if (missing.length > 0) say?.(describeStart(missing, path));
  const applied: string[] = [];
  for (const migration of missing) {
    const start = performance.now();
    const notices = await apply(database, migration, now);
    if (notices === undefined) continue;
    applied.push(migration.name);
    say?.(`Applied ${migration.name} in ${Math.round(performance.now() - start)} ms`);
    for (const notice of notices) say?.(notice);
  }
  return applied;
}

/** The missing migrations. Changes nothing, and throws as `migrate` does. */
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

/** Throws if the database has no schema, or misses a migration. */
export async function requireMigrated(
  database: Database,
  migrations: readonly Migration[],
  { path }: OfFile,
): Promise<void> {
  if (!await isMigrated(database)) throw conflict("it is empty. workspace create and migrate set it up");
  const missing = await listMissing(database, migrations);
  if (missing.length > 0) throw conflict(`it lacks ${countOf(missing)}. ${describeUpgrade(missing, path)}`);
}

/** Instructions for applying these missing migrations. */
export const describeUpgrade = (missing: readonly Migration[], path: string | undefined): string =>
  path === undefined
    ? "Back it up as its server does, then run promptledger migrate"
    : `Run promptledger backup ${quoted(backupBefore(missing, path))}, then promptledger migrate`;

function describeStart(missing: readonly Migration[], path: string | undefined): string {
  const start = `Applying ${countOf(missing)}`;
  if (path === undefined) return start;
  return `${start}. To go back, you need a backup made before them, such as ${backupBefore(missing, path)}`;
}

/** `2 migrations` */
export const countOf = ({ length }: readonly unknown[]): string => `${length} migration${length === 1 ? "" : "s"}`;

/** The name for a backup before these migrations: `ledger-before-021.db` beside `ledger.db`. */
function backupBefore([first]: readonly Migration[], path: string): string {
  const [, stem, extension = ".db"] = /^(.*?[^/\\])(\.[^./\\]+)?$/s.exec(path)!;
  return `${stem}-before-${/^\d+/.exec(first!.name)![0]}${extension}`;
}

/** Quotes a path for a shell. */
const quoted = (path: string): string => /^[\w./@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;

/** True if this is a promptledger database: one to which any migration was applied. */
export async function isMigrated(database: Database): Promise<boolean> {
  const tables = await database.read({ sql: "select 1 from sqlite_master where name = 'promptledger_migrations'" });
  return tables.length > 0;
}

/**
 * The checksums of the applied migrations, by name; undefined for one that an early version applied without recording
 * it.
 */
async function readApplied(database: Database): Promise<Map<string, string | undefined>> {
  if (!await isMigrated(database)) return new Map();
  const rows = await database.read({ sql: "select * from promptledger_migrations order by name" });
  return new Map(rows.map((row) => [
    text(row, "name"),
    row.checksum === undefined ? undefined : textOrNull(row, "checksum") ?? undefined,
  ]));
}

/** Creates the table of migrations, or adds checksums to one of an early version. */
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
    // Another process may have done it first.
    if (!await hasChecksums()) throw error;
  }
}

/** Applies a migration. Returns its notices: the rows of its queries. Undefined if another process was first. */
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
 * True if a migration without a recorded checksum created this schema. Compares with the text that SQLite keeps of each
 * table and index, except comments and white space.
 */
async function wasMadeBy(database: Database, { sql }: Migration): Promise<boolean> {
  const rows = await database.read({ sql: "select sql from sqlite_master where sql is not null" });
  const present = new Set(rows.map((row) => normalize(text(row, "sql"))));
  return splitStatements(sql).every((statement) => present.has(normalize(statement.sql)));
}

const normalize = (sql: string) => sql.replace(/--.*$/gm, "").replace(/\s+/g, " ").trim().toLowerCase();

/** Splits at semicolons that end a line: the driver would run only the first of several statements. */
const splitStatements = (sql: string) =>
  sql.split(/;[ \t]*$/m).map((statement) => ({ sql: statement })).filter(({ sql }) => /^\s*[a-z]/im.test(sql));
