import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { readMigrations } from "../../src/runtime/migrations.ts";
import { openDatabase } from "../../src/store/open.ts";
import { migrate } from "../../src/store/migrate.ts";
import { noon, openMemory } from "../helpers.ts";

const test = suite("migrate");

const tables = async (database: ReturnType<typeof openDatabase>) =>
  (await database.read({ sql: "select name, sql from sqlite_master where type = 'table' order by name" }))
    .map((row) => [String(row.name), String(row.sql)] as const);

test("applies every file of sql/ in order, once", async () => {
  const database = openDatabase(":memory:");
  const migrations = await readMigrations();
  const names = migrations.map(({ name }) => name);
  assert.ok(names.length >= 2 && names.every((name, index) => name.startsWith(String(index + 1).padStart(3, "0"))));
  assert.equal(await migrate(database, migrations, noon), names);
  assert.equal(await migrate(database, migrations, noon), []);
  const recorded = await database.read({ sql: "select name, applied_at from promptledger_migrations order by name" });
  assert.equal(recorded.map((row) => [row.name, row.applied_at]), names.map((name) => [name, noon]));
});

test("makes every table strict", async () => {
  const found = await tables(await openMemory());
  assert.ok(found.length >= 9);
  for (const [name, sql] of found) assert.match(sql, /\)\s*strict(, without rowid)?$/i, name);
});

test("applies nothing of a migration that fails, and goes on when it is mended", async () => {
  const database = openDatabase(":memory:");
  const first = { name: "001-first", sql: "create table one (id integer) strict;\n" };
  const broken = { name: "002-second", sql: "create table two (id integer) strict;\ncreate table one (id integer);\n" };
  try {
    await migrate(database, [first, broken], noon);
    assert.unreachable();
  } catch (error) {
    assert.match((error as Error).message, "already exists");
  }
  assert.equal((await tables(database)).map(([name]) => name), ["one", "promptledger_migrations"]);
  const mended = { ...broken, sql: "create table two (id integer) strict;\n" };
  assert.equal(await migrate(database, [first, mended], noon), ["002-second"]);
});

test("refuses a database that newer code has migrated, and leaves it as it is", async () => {
  const database = openDatabase(":memory:");
  const migrations = await readMigrations();
  await migrate(database, [...migrations, { name: "999-from-the-future", sql: "" }], noon);
  const before = await tables(database);
  try {
    await migrate(
      database,
      [...migrations, { name: "003-next", sql: "create table next (id integer) strict;\n" }],
      noon,
    );
    assert.unreachable();
  } catch (error) {
    assert.match((error as Error).message, "The database is newer than this promptledger");
    assert.match((error as Error).message, "999-from-the-future");
  }
  assert.equal(await tables(database), before);
});

test("several that start at once apply each migration once", async () => {
  const folder = await mkdtemp(join(tmpdir(), "promptledger-test-"));
  try {
    const migrations = await readMigrations();
    const databases = Array.from({ length: 4 }, () => openDatabase(`file:${join(folder, "ledger.db")}`));
    const applied = await Promise.all(databases.map((database) => migrate(database, migrations, noon)));
    assert.equal(applied.flat().sort(), migrations.map(({ name }) => name));
    for (const database of databases) database.close();
  } finally {
    await rm(folder, { recursive: true });
  }
});

test.run();
