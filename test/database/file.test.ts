// How a database file is named and opened, whatever its path contains.
// Runs on every runtime.
import { copyFile, mkdir, open, readdir, symlink } from "node:fs/promises";
import process from "node:process";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import Libsql from "libsql";
import { filePathOf } from "../../src/database/location.ts";
import type { Database } from "../../src/database/database.ts";
import { fileUrlOf } from "../../src/database/file/file.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { fileOf } from "../../src/database/file/source.ts";
import { createFolder } from "../conformance/processes.ts";

const test = suite("file");

const { path: folder, remove } = await createFolder();
test.after(remove);

let folders = 0;

/** An empty folder for a test. */
async function createPlace(): Promise<string> {
  const place = `${folder}/${++folders}`;
  await mkdir(place);
  return place;
}

const createTable = { sql: "create table numbers (value integer) strict" };
const insert = { sql: "insert into numbers values (1)" };
const count = async (database: Database) =>
  (await database.read({ sql: "select count(*) as count from numbers" }))[0]!.count;

/** Opens a database by a URL and writes to it. */
async function writeTo(url: string): Promise<void> {
  const database = openDatabase(url);
  await database.write([createTable, insert]);
  database.close();
}

/** The names in a folder, except those that SQLite derives from a database's. */
const databasesIn = async (place: string) => (await readdir(place)).filter((name) => !/-(wal|shm)$/.test(name));

/** How many rows the file at an absolute path has, which is passed to libSQL unchanged. */
const countIn = (path: string) =>
  (new Libsql(path).prepare("select count(*) as count from numbers").get([]) as { count: number }).count;

const names = [
  ...["ledger.db", "two words.db", "100%.db", "100%41.db", "%00.db", "what?.db", "what?mode=ro&vfs=unix-none"],
  ...["hash#tag.db", "a&b=c+d;e,f@g.db", `"double" and 'single'.db`, "back\\slash.db", "naïve 日本 😀.db"],
  ...["line\nbreak.db", "file:ledger.db", "file:ledger.db?vfs=no-such-vfs", "http:", ":memory:ledger.db"],
];

for (const name of names) {
  test(`opens ${JSON.stringify(name)} by an absolute path`, async () => {
    const place = await createPlace();
    const url = `file:${place}/${encodeURIComponent(name)}`;
    await writeTo(url);
    assert.equal(await databasesIn(place), [name]);
    assert.is(fileOf(url), `${place}/${name}`);
    assert.is(countIn(`${place}/${name}`), 1);
  });

  test(`opens ${JSON.stringify(name)} by a relative path`, async () => {
    const place = await createPlace();
    const cwd = process.cwd();
    process.chdir(place);
    await writeTo(`file:${encodeURIComponent(name)}`).finally(() => process.chdir(cwd));
    assert.equal(await databasesIn(place), [name]);
    assert.is(countIn(`${place}/${name}`), 1);
  });
}

for (const prefix of ["file:", "file://", "file://localhost", "file:///", "FILE:"]) {
  test(`accepts an absolute path after ${prefix}`, async () => {
    const place = await createPlace();
    await writeTo(`${prefix}${place}/ledger.db`);
    assert.is(countIn(`${place}/ledger.db`), 1);
  });
}

for (const suffix of ["?mode=ro", "?vfs=unix-none", "?vfs=no-such-vfs", "?mode=memory&cache=shared", "#mode", "?"]) {
  test(`ignores ${suffix}`, async () => {
    const place = await createPlace();
    await writeTo(`file:${place}/ledger.db${suffix}`);
    assert.equal(await databasesIn(place), ["ledger.db"]);
    assert.is(countIn(`${place}/ledger.db`), 1);
  });
}

test("refuses a path with NUL, where SQLite would end it", async () => {
  const place = await createPlace();
  for (const nul of ["\0", "%00"]) {
    assert.throws(() => openDatabase(`file:${place}/ledger${nul}.db`), /must not contain NUL/);
  }
  assert.equal(await readdir(place), []);
});

test("creates no folder, and no file elsewhere", async () => {
  const place = await createPlace();
  for (const url of [`file:${place}/no/ledger.db`, `file:${place}`, "file:"]) {
    const reading = openDatabase(url).read({ sql: "select 1" });
    await reading.then(() => assert.unreachable(), (error) => assert.match(String(error), "Unable to open"));
  }
  assert.equal(await readdir(place), []);
});

test("follows a link to the database, and the log is beside the database", async () => {
  const place = await createPlace();
  await mkdir(`${place}/data`);
  await symlink(`${place}/data/ledger.db`, `${place}/link.db`);
  const database = openDatabase(`file:${place}/link.db`);
  await database.write([createTable, insert]);
  assert.equal((await readdir(`${place}/data`)).sort(), ["ledger.db", "ledger.db-shm", "ledger.db-wal"]);
  assert.equal((await readdir(place)).sort(), ["data", "link.db"]);
  database.close();
  assert.is(countIn(`${place}/data/ledger.db`), 1);
});

test("reads the log that another connection of libSQL has left", async () => {
  const place = await createPlace();
  const before = new Libsql(`${place}/before.db`);
  for (const sql of ["pragma journal_mode = wal", createTable.sql, insert.sql]) before.exec(sql);
  for (const suffix of ["", "-wal"]) await copyFile(`${place}/before.db${suffix}`, `${place}/ledger.db${suffix}`);
  const database = openDatabase(`file:${place}/ledger.db`);
  assert.is(await count(database), 1);
  database.close();
  before.close();
});

test("two databases in memory are separate, and leave no file", async () => {
  const place = await createPlace();
  const cwd = process.cwd();
  process.chdir(place);
  try {
    const [first, second] = [openDatabase(":memory:"), openDatabase("file::memory:")];
    await first.write([createTable, insert]);
    await second.write([createTable]);
    assert.equal([await count(first), await count(second)], [1, 0]);
  } finally {
    process.chdir(cwd);
  }
  assert.equal(await readdir(place), []);
});

test("does not use the VFS of SQLite3 Multiple Ciphers, which would accept a key", async () => {
  const place = await createPlace();
  const database = openDatabase(`file:${place}/ledger.db`);
  await database.read({ sql: "pragma key = 'secret'" });
  await database.write([createTable]);
  database.close();
  const file = await open(`${place}/ledger.db`);
  const { buffer } = await file.read(new Uint8Array(16), 0, 16, 0);
  await file.close();
  assert.is(new TextDecoder().decode(buffer), "SQLite format 3\0");
});

test("the URL of a path names that path, on a drive of Windows too", () => {
  for (
    const path of ["/var/lib/ledger.db", "a b/100%25 #1?.db", "/C:/x.db", "C:\\data\\ledger.db", "C:/data/größe.db"]
  ) {
    assert.is(filePathOf(fileUrlOf(path)), path);
  }
});

test("a commit is synced, on macOS through the cache of the disk too", async () => {
  const database = openDatabase(`file:${await createPlace()}/ledger.db`);
  for (const [pragma, value] of [["synchronous", 2], ["fullfsync", 1]] as const) {
    assert.equal(await database.read({ sql: `pragma ${pragma}` }), [{ [pragma]: value }]);
  }
  database.close();
});

test.run();
