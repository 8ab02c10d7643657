// Text that is damaged: a bad sector, or a program that wrote bytes which are not UTF-8.
// Runs on every runtime.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createClient } from "@libsql/client";
import Libsql from "libsql";
import { openDatabase } from "../../src/database/file/open.ts";
import { openFile } from "../../src/database/file/file.ts";
import type { Database } from "../../src/database/database.ts";
import { createFile } from "../../src/database/file/file-claim.ts";
import { createFolder } from "../conformance/processes.ts";

const test = suite("stored text");

const folder = await createFolder();
test.after(folder.remove);

let files = 0;

/** A file with texts, one of which is damaged, and its path. */
function createDamaged(): string {
  const path = `${folder.path}/${++files}.db`;
  createFile(path);
  const database = new Libsql(path);
  for (
    const sql of [
      "pragma journal_mode = wal",
      "create table texts (id integer primary key, text text, share real) strict",
      "insert into texts values (1, 'whole', 0.5), (2, cast(x'686fff6c65' as text), 1), (3, null, null)",
      "insert into texts values (4, 'nul' || char(0) || 'rest', 2), (5, char(0xfeff) || 'ä日😀', 3), (6, '', 4)",
    ]
  ) database.exec(sql);
  database.close();
  return path;
}

const expected = [
  { id: 1, text: "whole", share: 0.5 },
  { id: 2, text: "ho\ufffdle", share: 1 },
  { id: 3, text: null, share: null },
  { id: 4, text: "nul\0rest", share: 2 },
  { id: 5, text: "\ufeffä日😀", share: 3 },
  { id: 6, text: "", share: 4 },
];

const opened: Record<string, (path: string) => Database> = {
  "a file": (path) => openFile(`file:${path}`, "manage"),
  "a served file": (path) => openFile(`file:${path}`, "serve"),
  "the reader thread of a served file": (path) => {
    const database = openFile(`file:${path}`, "serve");
    return { ...database, read: database.readAside! };
  },
  "a client of the caller": (path) => openDatabase(createClient({ url: `file:${path}`, concurrency: 1 }), "serve"),
};

const plain = (rows: readonly object[]) => rows.map((row) => ({ ...row }));

for (const [name, open] of Object.entries(opened)) {
  test(`texts of ${name} are read whole, and U+FFFD replaces what is damaged`, async () => {
    const database = open(createDamaged());
    for (let round = 0; round < 2; round++) {
      assert.equal(plain(await database.read({ sql: "select * from texts order by id" })), expected);
      assert.equal(
        plain(await database.read({ sql: "select json_group_array(text) as texts from texts -- all" })),
        [{ texts: JSON.stringify(expected.map(({ text }) => text)).replaceAll("\\u0000", "\\u0000") }],
      );
    }
    await database.close();
  });

  test(`a query of ${name} can refuse damaged text, and select the rows that have some`, async () => {
    const database = open(createDamaged());
    const sql = "select text, id from texts where id <= :last order by id desc";
    const whole = database.read({ sql, args: { last: 1 }, onDamage: "refuse" });
    assert.equal(plain(await whole), [{ text: "whole", id: 1 }]);
    await database.read({ sql, args: { last: 2 }, onDamage: "refuse" }).then(
      () => assert.unreachable(),
      ({ message }) => assert.is(message, "A text in the database is damaged"),
    );
    const damaged = await database.read({ sql, args: { last: 9 }, onDamage: "select" });
    assert.equal(plain(damaged), [{ text: "ho\ufffdle", id: 2 }]);
    await database.close();
  });
}

test("a query keeps its order, its names and its values, whatever they are", async () => {
  const database = openFile(":memory:", "manage");
  const sql = `with numbers(n) as (select 1 union all select n + 1 from numbers where n < 5)
    select n, -n as "a ""b""", n * 0.5, 'text' || n, null, count(*) over () from numbers order by n desc limit 3 offset 1`;
  assert.equal(
    plain(await database.read({ sql })),
    [4, 3, 2].map((n) => ({
      n,
      'a "b"': -n,
      "n * 0.5": n * 0.5,
      "'text' || n": `text${n}`,
      null: null,
      "count(*) over ()": 5,
    })),
  );
  const [row] = await database.read({ sql: "select random() as value, abs(random()) as other" });
  assert.type(row!.value, "number");
  await database.close();
});

test.run();
