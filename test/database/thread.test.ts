// The reader thread of a served file: it gives what the connection gives, sees what was written, and leaves nothing behind.
// Runs on every runtime in CI.
import { rmSync, statSync } from "node:fs";
import Libsql from "libsql";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { failureOf } from "../../src/database/database.ts";
import type { Database, Statement } from "../../src/database/database.ts";
import { uriOf } from "../../src/database/file/file-claim.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { openMigrated } from "../../src/database/file/open-migrated.ts";
import { createThread, entryOf, isReaderLost } from "../../src/database/file/thread.ts";
import { createFolder, descriptorsOf, runFile, until } from "../conformance/processes.ts";
import { currentRuntime } from "../runtimes.ts";

const test = suite("reader thread");

const folder = await createFolder();

let files = 0;

/** A served file with a table of texts. */
async function openServed(): Promise<{ database: Database; path: string }> {
  const path = `${folder.path}/${++files}.db`;
  const { database } = await openMigrated(`file:${path}`, "serve");
  await database.write([{ sql: "create table texts (text text) strict" }]);
  return { database, path };
}

const insert = (text: string): Statement => ({ sql: "insert into texts values (?)", args: [text] });
const count: Statement = { sql: "select count(*) as count from texts" };

const numbers = (count: number) => `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})`;

const statements: Record<string, Statement> = {
  "values of every type": {
    sql: "select null as a, 1 as b, -9007199254740991 as c, 0.1 as d, -0.0 as e, '' as f, 9e999 as g",
  },
  "text": { sql: "select ? as text", args: ["naïve 日本 😀 \ufffd \\ \" '"] },
  "JSON, as it was stored": {
    sql: "select :json as json",
    args: { json: '{"b":1.0, "a":12345678901234567890,"__proto__":1}' },
  },
  "arguments by name": { sql: "select :one + :two as sum, :none as none", args: { one: 1, two: 2.5, none: null } },
  "a text of 5 MB": { sql: "select ? as text", args: ["x".repeat(5_000_000)] },
  "no rows": { sql: "select 1 as one where false" },
  "as many rows as libsql takes at a time": { sql: `${numbers(100)} select i from n` },
  "more rows": { sql: `${numbers(5_001)} select i, 'row ' || i as text from n` },
};

const { database: shared } = await openServed();
test.after(async () => {
  await shared.close();
  await folder.remove();
});
for (const [name, statement] of Object.entries(statements)) {
  test(`reads ${name} as the connection does`, async () => {
    assert.equal(await shared.readAside!(statement), await shared.read(statement));
  });
}

test("sees each write that was committed before it", async () => {
  const { database } = await openServed();
  for (let written = 1; written <= 50; written++) {
    await database.write([insert("x")]);
    assert.equal(await database.readAside!(count), [{ count: written }]);
  }
  await database.close();
});

test("sees a table that was changed after it began", async () => {
  const { database } = await openServed();
  await database.readAside!(count);
  await database.write([insert("x"), { sql: "alter table texts add column more integer default 1" }]);
  assert.equal(await database.readAside!({ sql: "select * from texts" }), [{ text: "x", more: 1 }]);
  await database.close();
});

const faults: Record<string, Statement> = {
  "that is no SQL": { sql: "selec 1" },
  "that fails at a later row": { sql: `${numbers(500)} select iif(i < 450, i, json('no')) as value from n` },
};

for (const [name, statement] of Object.entries(faults)) {
  test(`rejects a statement ${name} as the connection would, and reads on`, async () => {
    const { database, path } = await openServed();
    const error = await database.readAside!(statement).then(() => assert.unreachable(), (error) => error);
    const direct = await database.read(statement).then(() => assert.unreachable(), (error) => error);
    assert.equal([error.message, error.code, failureOf(error)], [direct.message, direct.code, "rejected"]);
    assert.equal(await database.readAside!(count), [{ count: 0 }]);
    // The statement holds no snapshot: all of the log can be checkpointed, and the next write begins it anew.
    await database.write([insert("y".repeat(1_000_000))]);
    const [state] = await database.read({ sql: "pragma wal_checkpoint(truncate)" });
    assert.equal([state!.busy, statSync(`${path}-wal`).size], [0, 0]);
    await database.close();
  });
}

test("writes nothing", async () => {
  const { database } = await openServed();
  const error = await database.readAside!(insert("x")).then(() => assert.unreachable(), (error) => error);
  assert.is(error.code, "SQLITE_READONLY");
  assert.equal(await database.readAside!(count), [{ count: 0 }]);
  await database.close();
});

test("leaves the file and its log as they are when it closes last", async () => {
  // A connection without prepared statements closes at once. Others close when they are garbage collected, with a checkpoint
  // if no other connection is left.
  const path = `${folder.path}/${++files}.db`;
  const other = new Libsql(uriOf(path, "rwc"));
  other.exec("pragma journal_mode = wal");
  other.exec("create table texts (text text) strict");
  const reader = createThread(path);
  assert.equal(await reader.read(count), [{ count: 0 }]);
  other.exec("insert into texts values ('x')");
  other.close();
  const sizes = () => ["", "-wal"].map((suffix) => statSync(path + suffix).size);
  const before = sizes();
  assert.ok(before[1]! > 0);
  await reader.end();
  assert.equal(sizes(), before);
});

test("reads beside others that read and write at once", async () => {
  const { database } = await openServed();
  const reads = Array.from({ length: 100 }, () => database.readAside!(count));
  const writes = Array.from({ length: 100 }, () => database.write([insert("x")]));
  await Promise.all([...reads, ...writes]);
  assert.equal(await database.readAside!(count), [{ count: 100 }]);
  await database.close();
});

test("leaves no descriptor open, however often it starts and ends", async () => {
  const { database, path } = await openServed();
  const open = async () => {
    const reader = createThread(path);
    await reader.read(count);
    await reader.end();
    return await descriptorsOf("self", path);
  };
  // SQLite keeps the descriptor of a connection that closes before others, and gives it to the next one.
  const first = await open();
  for (let time = 0; time < (isFull ? 10 : 3); time++) await open();
  assert.equal(await open(), first);
  await database.write([insert("x")]);
  await database.close();
});

test("leaves the locks of the connection in place when it closes", async () => {
  const { database, path } = await openServed();
  await database.readAside!(count);
  const reader = createThread(path);
  await reader.read(count);
  await reader.end();
  const { out } = await runFile(currentRuntime, "test/database/lock.ts", [path], {});
  assert.is(out, "SQLITE_BUSY\n");
  await database.close();
});

test("ends when it was idle for a while, and starts again with the next read", async () => {
  const { database, path } = await openServed();
  const logs = async () => (await descriptorsOf("self", `${path}-wal`))?.length;
  const before = await logs();
  const reader = createThread(path, { idleMs: 1 });
  assert.equal(await reader.read(count), [{ count: 0 }]);
  await until(async () => await logs() === before);
  assert.equal(await reader.read(count), [{ count: 0 }]);
  await reader.end();
  await database.close();
});

test("answers what it was asked before it is closed, and refuses what comes later", async () => {
  const { database } = await openServed();
  await database.readAside!(count);
  const asked = database.readAside!({ sql: `${numbers(1_000_000)} select count(*) as count from n` });
  // The read begins in a later task.
  await new Promise((resolve) => setTimeout(resolve));
  const closed = database.close();
  assert.equal(await asked, [{ count: 1_000_000 }]);
  await closed;
  const error = await database.readAside!(count).then(() => assert.unreachable(), (error) => error);
  assert.is(failureOf(error), "unavailable");
});

test("closes while it starts", async () => {
  const { database, path } = await openServed();
  const asked = database.readAside!(count).then(() => "answered", failureOf);
  await new Promise((resolve) => setTimeout(resolve));
  await database.close();
  assert.ok(["answered", "unavailable"].includes(String(await asked)));
  assert.ok(((await descriptorsOf("self", `${path}-wal`))?.length ?? 0) <= 1);
});

test("refuses to read once the file is removed", async () => {
  const { database, path } = await openServed();
  await database.readAside!(count);
  rmSync(path);
  const error = await database.readAside!(count).then(() => assert.unreachable(), (error) => error);
  assert.equal([error.message, failureOf(error)], ["The database file was removed", "unavailable"]);
  await database.close();
});

test("blames the loss of the file if a read fails meanwhile", async () => {
  const { database, path } = await openServed();
  await database.readAside!(count);
  const last = 500_000;
  const sql = `${numbers(last)} select count(iif(i < ${last}, i, json('no'))) from n`;
  const reading = database.readAside!({ sql });
  // The read begins in a later task.
  await new Promise((resolve) => setTimeout(resolve));
  rmSync(path);
  const error = await reading.then(() => assert.unreachable(), (error) => error);
  assert.equal([error.message, failureOf(error)], ["The database file was removed", "unavailable"]);
  await database.close();
});

test("is there for files that are served, and for nothing else", () => {
  const path = `${folder.path}/managed.db`;
  for (const database of [openDatabase(`file:${path}`), openDatabase(":memory:", "serve")]) {
    assert.is(database.readAside, undefined);
    database.close();
  }
});

// What else may become of a thread is seen on one that stands in for it.
const entry = entryOf(new URL("./stand-in-reader.ts", import.meta.url));
const textOf = async (reading: Promise<unknown>) => (await reading as { text: string }[] | undefined)?.[0]?.text;

test("that dies loses the read that runs, and is started again", async () => {
  const reader = createThread("", { entry });
  const reads = ["one", "die", "two"].map((sql) => reader.read({ sql }));
  assert.is(await textOf(reads[0]!), "one");
  const error = await reads[1]!.then(() => assert.unreachable(), (error) => error);
  assert.ok(isReaderLost(error));
  assert.match(error.message, /^The reader thread was lost: /);
  assert.is(await textOf(reads[2]!), "two");
  await reader.end();
});

test("that does not answer in time is lost, and is started again", async () => {
  const times = { entry, replyMs: 60_000 };
  const reader = createThread("", times);
  assert.is(await textOf(reader.read({ sql: "zero" })), "zero");
  times.replyMs = 1;
  const error = await reader.read({ sql: "answer late" }).then(() => assert.unreachable(), (error) => error);
  assert.ok(isReaderLost(error));
  times.replyMs = 60_000;
  assert.is(await textOf(reader.read({ sql: "one" })), "one");
  await reader.end();
});

for (const path of ["cannot open", "cannot start"]) {
  test(`that ${path} reads nothing, and is not started again soon`, async () => {
    const reader = createThread(path, { entry });
    assert.is(await reader.read({ sql: "one" }), undefined);
    assert.is(await reader.read({ sql: "two" }), undefined);
    await reader.end();
  });
}

test("that there is none of reads nothing", async () => {
  const reader = createThread("", { entry: undefined });
  assert.is(await reader.read({ sql: "one" }), undefined);
  assert.is(reader.end(), undefined);
});

for (const [isStarted, time] of [[true, "it reads"], [false, "it starts"]] as const) {
  test(`leaves a process its exit code when that exits while ${time}`, async () => {
    const args = [`${folder.path}/exit-${isStarted}.db`, String(isStarted)];
    const { code, said } = await runFile(currentRuntime, "test/database/exit-while-reading.ts", args, {});
    assert.equal([code, said], [7, ""]);
  });
}

test("keeps no process alive, but until it has answered", async () => {
  const path = `${folder.path}/alone.db`;
  const { code, out, said } = await runFile(currentRuntime, "test/database/read-aside.ts", [path], {});
  assert.equal([code, out, said], [0, '[{"one":1}]\n', ""]);
});

test.run();
