// Databases in memory that are copies of another one, page by page. To make one by its statements takes three times as long.
import type { Database, Statement } from "../src/database/database.ts";
import { openDatabase } from "../src/database/file/open.ts";

/** The pages of a database. They last as long as this is held. */
export type Snapshot = { readonly keeper: Database; readonly attach: Statement };

let snapshots = 0;

const detach: Statement = { sql: "detach snapshot" };

/** Takes a snapshot of a database in memory. */
export async function takeSnapshot(database: Database): Promise<Snapshot> {
  const keeper = openDatabase(":memory:");
  const attach = { sql: `attach 'file:/snapshot-${++snapshots}?vfs=memdb' as snapshot` };
  await keeper.read(attach);
  await database.read(attach);
  await database.write([{ sql: "create table snapshot.pages as select pgno as number, data from sqlite_dbpage" }]);
  await database.read(detach);
  return { keeper, attach };
}

/** Makes a database in memory that is as the other one was. */
export async function openSnapshot({ attach }: Snapshot): Promise<Database> {
  const database = openDatabase(":memory:");
  await database.read(attach);
  await database.write([
    // Makes room for the pages.
    { sql: "create table filler as select zeroblob(sum(length(data))) from snapshot.pages" },
    { sql: "drop table filler" },
    { sql: "update sqlite_dbpage set data = pages.data from snapshot.pages where pgno = number" },
    // SQLite reads the first page again when what was done to it is undone.
    { sql: "savepoint again" },
    { sql: "pragma user_version = 1" },
    { sql: "rollback to again" },
    { sql: "release again" },
  ]);
  await database.read(detach);
  return database;
}
