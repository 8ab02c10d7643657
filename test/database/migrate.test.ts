import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { generated } from "../../sql/generate.ts";
import { describeUpgrade, listMissing, migrate } from "../../src/database/migrate.ts";
import type { Migration } from "../../src/database/migrate.ts";
import { migrations } from "../../src/database/migrations.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { openMigrated } from "../../src/database/file/open-migrated.ts";
import { createFolder } from "../conformance/processes.ts";
import { noon, openMemory } from "../helpers.ts";
import { pathOf } from "../runtimes.ts";

const migrationNames = migrations.map(({ name }) => name);

const test = suite("migrate");

type Database = ReturnType<typeof openDatabase>;

const tables = async (database: Database) =>
  (await database.read({ sql: "select name, sql from sqlite_master where type = 'table' order by name" }))
    .map((row) => [String(row.name), String(row.sql)] as const);

const migration = (name: string, sql: string): Migration => ({
  name,
  checksum: createHash("sha256").update(sql).digest("hex"),
  sql,
});

async function messageOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
  } catch (error) {
    return (error as Error).message;
  }
  assert.unreachable();
  return "";
}

for (const [path, generate] of Object.entries(generated)) {
  test(`${path} is what npm run generate writes`, async () => {
    assert.is(await readFile(pathOf(path), "utf8"), await generate());
  });
}

// A database refuses another text of an applied migration, so a line here never changes. New migrations add one.
const landed = {
  "001-create-catalog": "a044d092fd9639b0b661b27db7eb57292f26547b57f10db98457efdcbb018ef8",
  "002-create-ledger": "dc684343bf54d1453b2a945e39e1af70d930a9f10fede8f5e5c3dd79639c8efc",
  "003-index-commits-by-time": "85d359d9681b0c8417022a30dfdc346add4397797665a76e3e01ab830a85b845",
  "004-index-version-times": "fd23281f4719ddb49a97931ad112caeed9b699d7d6b034155ed322e823ac888e",
  "005-name-prompts": "efd0c4379438d2cc91f2fe4aa2267feef1c5d1a2422725693f339e77f60ac67c",
  "006-extend-deployment-history": "dbba61e01cef57302cc85dc8ef7e436c7abd3259e0ebb6012050f31f0af9c41c",
  "007-count-pruned-calls-by-key": "98bf1093fae2938634779afb3d84c9219e27f1eb411727f5e9d2cd3803b74b1f",
  "008-keep-for-a-time": "64853a96dd42394df23f6ca473393b3fd38586cbb57a09629889b52151573746",
  "009-delete-workspaces": "54fcf3ffc2d131ff984e8aedfed7ed1d904580c81bfec8c98cbf9deea982a679",
  "010-limit-keys": "547610bd86c207f919bc3cb5689cc53b1e5a8bf91632b2b0f12b52de384e6b4e",
  "011-create-management-tokens": "2ca027bcbe0300ee758cdcda234de5410fd926bbf70525903980c918aa252487",
  "012-protect-deployments": "04086958762290da65b9d58980ec40723b5aeb0113601546b7109ef607d2c5fc",
  "013-create-audit-log": "300e78aeaa7a4ebfa10d14bf37f67dd0335f85e875cbe72e8306bb8caacf5b0a",
  "014-name-statuses": "ed9a5e88562a6f2709306c9f698934c8faf825af444889a9e79cd5f78f81b28a",
  "015-reindex-records": "fa18e2232c730106992160b43b340c6d33e72e33905e2ce65e7c57ee2b292628",
  "016-create-prices": "4d011b2b3b770983073bfd86a894a6a033dd06484872f2cad4f4c8eece09d8e5",
  "017-name-sources": "b8c9bac3ad7f2038e1ca8bfa63311ff5b465c27ddb1ce7468f68f857dba957fc",
  "018-read-names-from-documents": "b5b626676559235b141a89a88074bcd827f36bdcdc1ac94fb11940eada396f72",
  "019-read-damaged-documents": "4490b870458958b2d2eeabafbbbfc0bb6eadadf0757a8575c715433d45542037",
  "020-create-service-secret": "deebc12eb4f67fdab5abad3cde3bb102f0408a74f576394a2fce8da8cec33e83",
  "021-count-older-entries": "84f8fb01892fb4b3322df448314be03ad5072c587e491021fa5db43f2b04065e",
  "022-end-sessions": "6fae76f3ce168e608320294e75b2e655eb74ea15553bd568da614c72a5e3b991",
  "023-declare-variables": "161f03919b1df59bc4f1d831ecade5572565e81c39c951542fe3f0793b82d69e",
  "024-create-feedback": "d2ae0aecdc234bb9823c87662d1dc3f099a5e33fc067eb562c2e0a6afd215ca6",
  "025-create-reviews": "587c5d238b64ed8ba40f256f6131f04551315d0fedebacccbc6ba60ee2a28445",
  "026-name-mcp": "c58a8b217faae58febfcae74a8bd54dffc2026807f9380ce2a130b2c1192962b",
  "027-create-rollouts": "f1b3e146d1997451df486ed5851e73021fffcd74a6685722338c3d62be8da435",
  "028-guard-rollouts": "3ff8eb612cac7a60ea071be7b1b8552673513789cca56c445daea386721b5075",
  "029-count-changes": "d73e43b3fc1b5be8434f96ab999b7bf0f29c2a5f97d094882a2c755b1367ccf5",
  "030-create-webhooks": "416d652cd2eb00acaf261ebd4b6786c42c0f790bc3cdf2797862d52d1101f334",
  "031-find-due-webhooks": "a9d04011a049d25eb26232926733e0487160dae55b45a98ea038866cfa3cd766",
  "032-create-budgets": "235c2fdc4cb49281afde1f9da52dafd952888c58fa63ed9dc78bba69dfe3c10c",
  "033-create-alerts": "617083052819ee2c4d0fab26ed49ecb03e0968ee966b9915737812e6ce7a93be",
  "034-own-tokens": "713b65e63ca435634f7493a2ed56e585d9064998cbe1eea8ba289e6c46bab789",
  "035-request-changes": "28fcc11d34d03261712dae84ae9d693300d4587143201354993be8f910d46ed1",
  "036-keep-starts-of-budgets": "2eb618d3f1a9159dfb9acb477cfffca8fb2a859398197b97fd1fe17a4b0aa20a",
  "037-count-waiting-feedback": "d4ff6a9c60ba2fa140c91c2697d4717464988d28adcabe90e2a734fc8f2ef700",
  "038-price-caches-and-tiers": "db4e98a4887c11cb26f6e035d9529dba95d6910bb2cb2519f66ec799f4e895f2",
  "039-delete-webhooks-in-slices": "972d1db1ab1dcd4073e93b32550df8632c419abaae12f210c708a04ab7373226",
  "040-count-feedback": "068b464d86362b7115d23462134c74c8ef8f731b5b2703bb7da0caa3c2571901",
};

test("a migration that has landed is never edited", () => {
  const checksums = Object.fromEntries(migrations.map(({ name, checksum }) => [name, checksum]));
  assert.equal(checksums, landed);
  assert.equal(migrationNames, Object.keys(landed));
});

test("applies every migration in order, once, and records its checksum", async () => {
  const database = openDatabase(":memory:");
  assert.ok(migrationNames.every((name, index) => name.startsWith(String(index + 1).padStart(3, "0"))));
  assert.equal(await migrate(database, migrations, noon), migrationNames);
  assert.equal(await migrate(database, migrations, noon), []);
  const recorded = await database.read({ sql: "select * from promptledger_migrations order by name" });
  assert.equal(
    recorded.map((row) => [row.name, row.applied_at, row.checksum]),
    migrations.map(({ name, checksum }) => [name, noon, checksum]),
  );
});

test("makes every table strict", async () => {
  // SQLite makes tables of its own.
  const found = (await tables(await openMemory())).filter(([name]) => !name.startsWith("sqlite_"));
  assert.ok(found.length >= 9);
  for (const [name, sql] of found) assert.match(sql, /\)\s*strict(, without rowid)?$/i, name);
});

test("applies nothing of a migration that fails, and continues when it is fixed", async () => {
  const database = openDatabase(":memory:");
  const first = migration("001-first", "create table one (id integer) strict;\n");
  const broken = migration("002-second", "create table two (id integer) strict;\ncreate table one (id integer);\n");
  assert.match(await messageOf(() => migrate(database, [first, broken], noon)), "already exists");
  assert.equal((await tables(database)).map(([name]) => name), ["one", "promptledger_migrations"]);
  const mended = migration("002-second", "create table two (id integer) strict;\n");
  assert.equal(await migrate(database, [first, mended], noon), ["002-second"]);
});

const future = migration("999-from-the-future", "create table later (id integer) strict;\n");

test("refuses a database that a newer version has migrated, and leaves it unchanged", async () => {
  const database = openDatabase(":memory:");
  await migrate(database, [...migrations, future], noon);
  const before = await tables(database);
  const next = migration("003-next", "create table next (id integer) strict;\n");
  assert.is(
    await messageOf(() => migrate(database, [...migrations, next], noon)),
    "The database is newer than this promptledger: it has migration 999-from-the-future. Run a newer version",
  );
  assert.equal(await tables(database), before);
});

test("accepts a database that a newer version has migrated, with onNewer: accept", async () => {
  const database = openDatabase(":memory:");
  await migrate(database, [...migrations, future], noon);
  assert.equal(await migrate(database, migrations, noon, { onNewer: "accept" }), []);
  assert.equal(await listMissing(database, migrations, { onNewer: "accept" }), []);
});

test("refuses a migration whose text differs from the applied one, and leaves the database unchanged", async () => {
  const database = openDatabase(":memory:");
  const original = migration("001-first", "create table one (id integer) strict;\n");
  await migrate(database, [original], noon);
  const before = await tables(database);
  const edited = migration("001-first", "create table one (id integer, name text) strict;\n");
  for (const attempt of [migrate(database, [edited, future], noon), listMissing(database, [edited])]) {
    assert.is(
      await messageOf(() => attempt),
      "Migration 001-first of the database differs from the one in this promptledger (checksum " +
        `${original.checksum.slice(0, 12)}, expected ${edited.checksum.slice(0, 12)}): another build made the database`,
    );
  }
  assert.equal(await tables(database), before);
});

test("names the backup before the first missing migration, beside the database, as a word of a shell", () => {
  const names: [path: string, backup: string][] = [
    ["promptledger.db", "promptledger-before-999.db"],
    ["/var/lib/promptledger/promptledger.db", "/var/lib/promptledger/promptledger-before-999.db"],
    ["ledger", "ledger-before-999.db"],
    ["ledger.v2.sqlite", "ledger.v2-before-999.sqlite"],
    ["data.d/ledger", "data.d/ledger-before-999.db"],
    ["data/.db", "data/.db-before-999.db"],
    ["Ann's ledger.db", "'Ann'\\''s ledger-before-999.db'"],
  ];
  for (const [path, backup] of names) {
    assert.is(describeUpgrade([future], path), `Run promptledger backup ${backup}, then promptledger migrate`);
  }
});

// The migrations of the versions that recorded no checksums.
const early = migrations.slice(0, 4);

/** A database from before checksums were recorded. */
async function openWithoutChecksums(sqlOf: (migration: Migration) => string): Promise<Database> {
  const database = openDatabase(":memory:");
  await migrate(database, early.map((known) => ({ ...known, sql: sqlOf(known) })), noon);
  await database.write([{ sql: "alter table promptledger_migrations drop column checksum" }]);
  return database;
}

test("adds checksums to a database without them if its tables are the same", async () => {
  const database = await openWithoutChecksums(({ sql }) => sql.replace(/--.*$/gm, "-- Another comment."));
  assert.equal(await migrate(database, migrations, noon), migrationNames.slice(early.length));
  const recorded = await database.read({ sql: "select checksum from promptledger_migrations order by name" });
  assert.equal(recorded.map(({ checksum }) => checksum), Object.values(landed));
});

test("refuses a database without checksums that has other tables", async () => {
  const database = await openWithoutChecksums(({ sql }) => sql.replace("upgrade_url text,", "upgrade_link text,"));
  assert.match(
    await messageOf(() => migrate(database, migrations, noon)),
    /^Migration 001-create-catalog of the database differs from the one in this promptledger \(checksum none, /,
  );
});

test("several processes that start at once apply each migration once", async () => {
  const folder = await createFolder();
  try {
    const opened = await Promise.all(
      Array.from({ length: 4 }, () => openMigrated(`file:${folder.path}/ledger.db`, "manage")),
    );
    assert.equal(opened.flatMap(({ applied }) => applied).sort(), migrationNames);
    for (const { database } of opened) database.close();
  } finally {
    await folder.remove();
  }
});

test.run();
