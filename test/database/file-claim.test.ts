// A served file, its write-ahead log (WAL), and what happens to both. Only checkpoints write to the file itself.
// Runs on every runtime.
import { closeSync, openSync, readSync, statSync, truncateSync, writeSync } from "node:fs";
import { readFile, stat, utimes } from "node:fs/promises";
import Libsql from "libsql";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { serialized } from "../../src/database/file/connection.ts";
import type { Connection } from "../../src/database/file/connection.ts";
import { connect } from "../../src/database/file/file.ts";
import { claimFile, createFile, uriOf } from "../../src/database/file/file-claim.ts";
import type { Database } from "../../src/database/database.ts";
import { createFolder, startCommand, until } from "../conformance/processes.ts";
import { captureLog } from "../helpers.ts";

const test = suite("file claim");

const folder = await createFolder();
test.after(folder.remove);

let files = 0;

/** A served file with a table, its path, and the log. `change` may replace parts of its connection. */
async function serveFile(change: (connection: Connection) => Partial<Connection> = () => ({})) {
  const path = `${folder.path}/${++files}.db`;
  createFile(path);
  const connection = connect(path, "serve");
  const database = serialized({ ...connection, ...change(connection) }, "serve", claimFile, { restMs: 20 });
  const { log, logged } = captureLog("info");
  database.watch!(log);
  await database.write([{ sql: "create table texts (text text) strict" }]);
  return { path, database, logged };
}

const insert = (characters: number) => ({ sql: "insert into texts values (?)", args: ["x".repeat(characters)] });
const count = async (database: Database) =>
  (await database.read({ sql: "select count(*) as count from texts" }))[0]!.count;

const mebibyte = 2 ** 20;

test("readiness probes that fill the log are not taken for a change by another process", async () => {
  const { path, database } = await serveFile();
  // A probe takes a page, so that one of these makes 16 MiB full.
  await database.write(Array.from({ length: 63 }, () => insert(mebibyte / 4)));
  for (let probe = 0; probe < 100; probe++) await database.probe!();
  await until(async () => (await stat(path)).size > 15 * mebibyte);
  for (let probe = 0; probe < 100; probe++) await database.probe!();
  await database.write([insert(1)]);
  assert.is(await count(database), 64);
  await database.close();
});

test("a connection that closes while a service opens the file, and so removes the log, is no fault", async () => {
  const path = `${folder.path}/${++files}.db`;
  const other = new Libsql(uriOf(path, "rwc"));
  other.exec("pragma journal_mode = wal");
  other.exec("create table texts (text text) strict");
  const connection = connect(path, "serve");
  const open = () => {
    other.close();
    // The next log would get the number of the removed one.
    createFile(`${path}-other`);
    return connection.open!();
  };
  const database = serialized({ ...connection, open }, "serve", claimFile);
  assert.is(await count(database), 0);
  await database.write([insert(1)]);
  await database.probe!();
  assert.is(await count(database), 1);
  await database.close();
});

test("a file that was closed and opened again keeps its log when another program closes the file", async () => {
  const { path, database: first } = await serveFile();
  // The rest of its connection waits for the garbage collector.
  await first.close();
  const database = serialized(connect(path, "serve"), "serve", claimFile);
  await database.write([insert(1)]);
  const script = `const Libsql = require("libsql"); const other = new Libsql(process.argv[1]);
    other.exec("select * from texts"); other.close();`;
  const other = startCommand(["node", "-e", script, path], {});
  assert.is(await other.ended, 0, other.output());
  assert.is((await stat(`${path}-wal`)).size > 0, true);
  await database.write([insert(1)]);
  assert.is(await count(database), 2);
  await database.close();
});

test("no operation writes to the file itself but checkpoints", async () => {
  const { path, database } = await serveFile((connection) => ({
    read: (statement) =>
      /wal_checkpoint/.test(statement.sql)
        ? Promise.resolve([{ log: 1, checkpointed: 0 }])
        : connection.read(statement),
  }));
  const before = await readFile(path);
  for (let round = 0; round < 5; round++) {
    await database.write(Array.from({ length: 20 }, () => insert(mebibyte / 4)));
    await database.probe!();
    await count(database);
  }
  assert.ok((await stat(`${path}-wal`)).size > 20 * mebibyte);
  assert.equal(await readFile(path), before);
  await database.close();
});

test("the first commits reach the file itself without waiting for 16 MiB, and so does what was written before a rest", async () => {
  const { path, database } = await serveFile();
  await until(async () => (await readFile(path, "latin1")).includes("TABLE texts"));
  await database.write([insert(100)]);
  await until(async () => (await readFile(path, "latin1")).includes("x".repeat(100)));
  await database.close();
});

const failures: [name: string, code: string][] = [
  ["the disk is full", "SQLITE_FULL"],
  ["the log cannot be read", "SQLITE_IOERR_READ"],
];

for (const [name, code] of failures) {
  test(`writes are confirmed while ${name} for a checkpoint, which is tried again until it succeeds`, async () => {
    let fails = true, attempts = 0;
    const { path, database, logged } = await serveFile((connection) => ({
      async read(statement) {
        const rows = await connection.read(statement);
        if (!/wal_checkpoint/.test(statement.sql)) return rows;
        attempts++;
        // A checkpoint may have written most of its pages before it fails.
        if (fails) throw Object.assign(new Error("the disk fails"), { code });
        return rows;
      },
    }));
    await until(async () => {
      await database.write([insert(100)]);
      return attempts >= 3;
    });
    await database.probe!();
    assert.is(logged.filter((line) => line.includes("Checkpoint failed")).length, 1);
    fails = false;
    await until(() => logged.some((line) => line.includes("Checkpoints succeed again")));
    const rows = Number(await count(database));
    await database.write([insert(100)]);
    await database.close();
    const again = serialized(connect(path, "serve"), "serve", claimFile);
    assert.is(await count(again), rows + 1);
    await again.close();
  });
}

test("a checkpoint after which the header cannot be read is not taken for a change by another process", async () => {
  let spoils = false, restore = () => {};
  const { path, database } = await serveFile((connection) => ({
    async read(statement) {
      const rows = await connection.read(statement);
      if (spoils && /wal_checkpoint/.test(statement.sql)) restore = spoilHeader(path);
      return rows;
    },
  }));
  await until(async () => (await readFile(path, "latin1")).includes("TABLE texts"));
  spoils = true;
  const { log, logged } = captureLog("info");
  // This comes before any other look at the file.
  const error = () => {
    if (spoils) restore();
    spoils = false;
  };
  database.watch!({ ...log, error });
  await database.write([insert(mebibyte)]);
  await until(() => !spoils);
  await database.write([insert(1)]);
  await until(() => logged.some((line) => line.includes("Checkpoints succeed again")));
  assert.is(await count(database), 2);
  await database.close();
});

test("a header that another process destroys is a fault, which is said and ends no process", async () => {
  const { path, database, logged } = await serveFile();
  await until(async () => (await readFile(path, "latin1")).includes("TABLE texts"));
  spoilHeader(path);
  await until(() => logged.some((line) => line.includes("unavailable until the service is restarted")));
  await database.write([insert(1)]).then(
    () => assert.unreachable(),
    ({ message }) => assert.is(message, "The database file was changed by another process"),
  );
  await database.close();
});

/** Makes the header of a file unreadable, and returns what undoes that. */
function spoilHeader(path: string): () => void {
  const file = openSync(path, "r+");
  const bytes = new Uint8Array(16);
  readSync(file, bytes, 0, bytes.length, 0);
  writeSync(file, new Uint8Array(bytes.length), 0, bytes.length, 0);
  return () => {
    writeSync(file, bytes, 0, bytes.length, 0);
    closeSync(file);
  };
}

/** What someone does to the log of a file, in place: its inode stays. It is done at once, so that no checkpoint runs meanwhile. */
const mishaps: Record<string, (log: string) => void> = {
  "is emptied": (log) => truncateSync(log),
  "is cut by a page": (log) => truncateSync(log, statSync(log).size - 4096 - 24),
  "is cut to its header": (log) => truncateSync(log, 32),
  "gets another header": (log) => overwrite(log, 16),
  "gets other bytes at its end": (log) => overwrite(log, statSync(log).size - 4096 - 24),
  "is overwritten with zeros": (log) => overwrite(log, 0, statSync(log).size),
};

function overwrite(path: string, position: number, length = 24): void {
  const file = openSync(path, "r+");
  writeSync(file, new Uint8Array(length), 0, length, position);
  closeSync(file);
}

const fault = "The file -wal beside the database was changed by another process";

for (const [name, happen] of Object.entries(mishaps)) {
  test(`a write is refused once the log ${name}`, async () => {
    const { path, database } = await serveFile();
    await until(async () => (await readFile(path, "latin1")).includes("TABLE texts"));
    await database.write(Array.from({ length: 4 }, () => insert(mebibyte)));
    happen(`${path}-wal`);
    for (let round = 0; round < 3; round++) {
      await database.write([insert(1)]).then(
        () => assert.unreachable(),
        ({ message }) => assert.is(message, fault),
      );
    }
    await database.close();
  });

  test(`a write is refused if the log ${name} just before it`, async () => {
    let happens = () => {};
    const { path, database } = await serveFile((connection) => ({
      write: async (statements) => {
        happens();
        return await connection.write(statements);
      },
    }));
    await until(async () => (await readFile(path, "latin1")).includes("TABLE texts"));
    await database.write(Array.from({ length: 4 }, () => insert(mebibyte)));
    happens = () => happen(`${path}-wal`);
    for (let round = 0; round < 3; round++) {
      await database.write([insert(1)]).then(
        () => assert.unreachable(),
        ({ message }) => assert.is(message, fault),
      );
    }
    await database.close();
  });
}

test("a change in the same step of the file system's clock as the last look is noticed", async () => {
  const { path, database } = await serveFile();
  await until(async () => (await readFile(path, "latin1")).includes("TABLE texts"));
  // In another second, so that the next look sees a change on Deno too, which tells times in whole ms.
  const { now } = Date, at = Math.floor((await stat(path)).mtimeMs) + 1_000;
  const setTime = () => utimes(path, at / 1000, at / 1000);
  await setTime();
  try {
    Date.now = () => at;
    assert.is(await count(database), 0);
    overwrite(path, 24);
    await setTime();
    await database.write([insert(1)]).then(
      () => assert.unreachable(),
      ({ message }) => assert.is(message, "The database file was changed by another process"),
    );
  } finally {
    Date.now = now;
  }
  await database.close();
});

test("another process may write while the log is looked at", async () => {
  const { path, database } = await serveFile();
  const other = connect(path, "manage");
  await other.open!();
  for (let round = 0; round < 200; round++) {
    await other.write([insert(1 + round * 10)]);
    await database.write([insert(1)]);
  }
  assert.is(await count(database), 400);
  other.close();
  await database.close();
});

test.run();
