// The migration that lets the audit log name the console and embedding code as sources.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Database } from "../../src/database/database.ts";
import { migrate } from "../../src/database/migrate.ts";
import { migrations } from "../../src/database/migrations.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { addEntries, checkChain, readHead } from "../../src/management/kernel/audit-chain.ts";
import { sources } from "../../src/management/kernel/operation.ts";
import { noon } from "../helpers.ts";

const test = suite("the migration of sources");

const addOf = async (database: Database, sources: readonly string[]) => {
  const entries = sources.map((source, index) => ({
    ...{ createdAt: noon + index, source, actor: `Ada ${index}`, tokenId: index % 2 === 0 ? null : `tok_${index}` },
    ...{ action: "workspace.updated", targetId: `ws_${index % 7}`, workspaceId: index % 3 === 0 ? null : "ws_1" },
    ...{ before: index % 5 === 0 ? null : '{"name":"ä"}', after: '{"name": "b"}', note: "Why", requestId: null },
  }));
  await database.write(await addEntries(database, await readHead(database), entries));
};

const readAll = (database: Database, sql = "select * from audit_log order by position") => database.read({ sql });

/** What SQLite keeps for the log: its indexes and triggers. */
const partsOf = (database: Database) =>
  readAll(
    database,
    "select name, type from sqlite_master where tbl_name = 'audit_log' and type <> 'table' order by name",
  );

/** A log that is read in several pages, from before the migration. */
async function openOld() {
  const database = openDatabase(":memory:");
  const at = migrations.findIndex(({ name }) => name.endsWith("-name-sources"));
  await migrate(database, migrations.slice(0, at), noon);
  await addOf(database, Array.from({ length: 600 }, (_, index) => index % 2 === 0 ? "api" : "command line"));
  return database;
}

test("entries, their hashes, indexes and triggers stay as they are", async () => {
  const database = await openOld();
  const [rows, parts] = [await readAll(database), await partsOf(database)];
  assert.equal([rows.length, parts.length], [600, 4]);
  await migrate(database, migrations, noon);
  assert.equal(await readAll(database), rows);
  assert.equal(await checkChain(database), { entries: 600, brokenAt: null, head: rows.at(-1)!.hash as string });
  assert.equal(await partsOf(database), parts);
  for (const sql of ["update audit_log set actor = 'Eve'", "delete from audit_log where position = 3"]) {
    await database.write([{ sql }]).then(() => assert.unreachable(), ({ message }) => assert.match(message, "stay"));
  }
});

test("each source can follow, and no other text", async () => {
  const database = await openOld();
  await addOf(database, ["console"]).then(() => assert.unreachable(), () => {});
  await migrate(database, migrations, noon);
  await addOf(database, sources);
  const { entries, brokenAt } = await checkChain(database);
  assert.equal([entries, brokenAt], [600 + sources.length, null]);
  await addOf(database, ["elsewhere"]).then(() => assert.unreachable(), () => {});
});

test.run();
