// Copies of a database file and its log while others write to them.
// Runs on every runtime in CI.
import { readdir } from "node:fs/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { connect, openFile } from "../../src/database/file/file.ts";
import { findDamage } from "../../src/database/file/maintenance.ts";
import { integer } from "../../src/database/row.ts";
import { copySnapshot } from "../../src/database/file/snapshot.ts";
import { createFolder } from "../conformance/processes.ts";

const test = suite("snapshots of a database file");

const { path: folder, remove } = await createFolder();
test.after(remove);

const rows = 3_000; // 3 MB, which are several slices

/** A database whose rows all have the same number, but in the middle of a transaction. */
async function createNumbered(name: string) {
  const path = `${folder}/${name}.db`;
  const writer = connect(path, "manage");
  await writer.open!();
  await writer.read({ sql: "pragma journal_mode = wal" });
  await writer.read({ sql: "pragma wal_autocheckpoint = 0" });
  await writer.write([
    { sql: "create table numbers (number integer not null, filler text not null) strict" },
    {
      sql: `with recursive nth (n) as (values (1) union all select n + 1 from nth where n < ${rows})
        insert into numbers select 0, printf('%.1000c', 'x') from nth`,
    },
  ]);
  const checkpoint = (mode: string) => writer.read({ sql: `pragma wal_checkpoint(${mode})` });
  const next = async (share = 1) => {
    await writer.write([{ sql: `update numbers set number = number + 1 where rowid % ${share} = 0` }]);
  };
  return { path, writer, checkpoint, next };
}

/** The numbers in a copy, after its pages have been checked. */
async function numbersIn(copy: string): Promise<{ least: number; most: number; count: number }> {
  const database = openFile(`file:${copy}`, "manage");
  try {
    assert.is(await findDamage(database), undefined);
    const sql = "select min(number) as least, max(number) as most, count(*) as count from numbers";
    const [row] = await database.read({ sql });
    return { least: integer(row!, "least"), most: integer(row!, "most"), count: integer(row!, "count") };
  } finally {
    database.close();
  }
}

for (const isWrittenBack of [true, false]) {
  test(`a copy is one state, while each slice meets a commit and a checkpoint (log ${isWrittenBack ? "" : "not "}written back before)`, async () => {
    const { path, writer, checkpoint, next } = await createNumbered(`slices-${isWrittenBack}`);
    if (isWrittenBack) await checkpoint("passive");
    const database = openFile(`file:${path}`, "manage");
    const copy = `${path}.copy`;
    let slices = 0, isOver = false;
    const writing = (async () => {
      while (!isOver) {
        await next();
        await checkpoint(slices % 2 === 0 ? "passive" : "truncate").catch(() => {});
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    })();
    const before = await numbersIn(path);
    const at = await copySnapshot(database, path, copy, () => slices++);
    isOver = true;
    await writing;
    assert.ok(slices >= 3 && Math.abs(at - Date.now()) < 60_000);
    const { least, most, count } = await numbersIn(copy);
    assert.equal([least, count], [most, rows]);
    assert.ok(least >= before.least);
    database.close();
    writer.close();
    assert.ok((await readdir(folder)).includes(`slices-${isWrittenBack}.db.copy`));
  });
}

test("a log that begins anew while it is copied is copied anew", async () => {
  const { path, writer, checkpoint, next } = await createNumbered("anew");
  for (let nth = 0; nth < 4; nth++) await next();
  // Only a log that was written back completely may begin anew while someone reads.
  await checkpoint("passive");
  const database = openFile(`file:${path}`, "manage"), copy = `${path}.copy`;
  const { least: before } = await numbersIn(path);
  let slices = 0;
  let commit: Promise<void[]> | undefined;
  await copySnapshot(database, path, copy, () => {
    // The file has some 3 MB, as each commit of the log has. What was copied has one of five commits, and the next two reach on.
    if (++slices === 8) commit = Promise.all([next(), next()]);
  });
  await commit;
  const { least, most, count } = await numbersIn(copy);
  assert.equal([least, count], [most, rows]);
  assert.ok(slices > 8 && before === 4 && least >= before, `${least} after ${before}`);
  database.close();
  writer.close();
});

test("the copy has all that was committed before", async () => {
  const { path, writer, checkpoint, next } = await createNumbered("committed");
  for (const mode of ["passive", "truncate", ""]) {
    await next();
    if (mode !== "") await checkpoint(mode);
    const database = openFile(`file:${path}`, "manage");
    const { least } = await numbersIn(path);
    const copy = `${path}-${mode}`;
    await copySnapshot(database, path, copy, () => {});
    assert.equal(await numbersIn(copy), { least, most: least, count: rows });
    database.close();
  }
  writer.close();
});

test.run();
