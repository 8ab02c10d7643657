// Runs on every runtime.
import { copyFile, stat } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createClient } from "@libsql/client";
import { verifyBalanced } from "../balanced.ts";
import { createFolder, until } from "../conformance/processes.ts";
import { bearer, createWorld, goodBody, noon, openMemory } from "../helpers.ts";
import { filePathOf } from "../../src/database/location.ts";
import { openRemote } from "../../src/database/client.ts";
import { serialized } from "../../src/database/file/connection.ts";
import { connect } from "../../src/database/file/file.ts";
import { claimFile } from "../../src/database/file/file-claim.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { makeFile } from "../../src/database/file/open-migrated.ts";
import { failureOf } from "../../src/database/database.ts";
import type { Claim, Database, Failure, Statement } from "../../src/database/database.ts";
import { serveDatabase } from "../../src/service/service.ts";

const test = suite("database");

async function onFile(run: (url: string) => Promise<void>): Promise<void> {
  const folder = await createFolder();
  try {
    await run(`file:${folder.path}/ledger.db`);
  } finally {
    await folder.remove();
  }
}

const createTable = { sql: "create table numbers (value integer) strict" };
const count = async (database: Database) =>
  (await database.read({ sql: "select count(*) as count from numbers" }))[0]!.count;

test("a file is opened in WAL mode, with every commit synced and foreign keys enforced", () =>
  onFile(async (url) => {
    const database = openDatabase(url);
    const pragmas = ["journal_mode", "synchronous", "foreign_keys"].map((name) => pragmaOf(database, name));
    assert.equal(await Promise.all(pragmas), ["wal", 2, 1]);
    database.close();
  }));

const pragmaOf = async (database: Database, name: string) =>
  Object.values((await database.read({ sql: `pragma ${name}` }))[0]!)[0];

test("a closed service leaves everything in the file itself", () =>
  onFile(async (url) => {
    makeFile(url.replace("file:", ""));
    const database = openDatabase(url, "serve");
    await database.write([createTable, { sql: "insert into numbers values (1)" }]);
    database.close();
    database.close();
    const path = url.replace("file:", "");
    // The garbage collector closes libsql's connection, and may have removed the log by now.
    assert.is(await stat(`${path}-wal`).then(({ size }) => size, () => 0), 0);
    await copyFile(path, `${path}-copy`);
    const copy = openDatabase(`${url}-copy`);
    assert.is(await count(copy), 1);
    copy.close();
  }));

test("classifies failures", () =>
  onFile(async (url) => {
    const database = openDatabase(url);
    const failure = (operation: Promise<unknown>) => operation.then(() => "none", failureOf);
    assert.is(await failure(database.write([createTable])), "none");
    assert.is(await failure(database.write([{ sql: "insert into nowhere values (1)" }])), "rejected");
    assert.is(await failure(database.read({ sql: "nonsense" })), "rejected");
    database.close();
    const away = openDatabase("http://127.0.0.1:1");
    assert.is(await failure(away.read({ sql: "select 1" })), "indeterminate");
    assert.is(await failure(away.write([{ sql: "select 1" }])), "indeterminate");
    assert.is(failureOf(new Error("another")), undefined);
    away.close();
  }));

/** What a server answers if it takes the lock from a transaction that has run for 5 s: nothing of it took effect. */
function endedTransaction(): string {
  const done = { cols: [], rows: [], affected_row_count: 0, last_insert_rowid: null };
  const ended = { message: "Transaction timed out", code: "TRANSACTION_TIMEOUT" };
  // The steps begin, run the statement, commit and roll back.
  const result = { step_results: [done, null, null, null], step_errors: [null, ended, ended, ended] };
  const responses = [{ type: "store_sql" }, { type: "batch", result }, { type: "close" }];
  const results = responses.map((response) => ({ type: "ok", response }));
  return JSON.stringify({ baton: null, base_url: null, results });
}

const replies: [name: string, status: number, body: string, failure: Failure | undefined][] = [
  ["401", 401, "{}", undefined],
  ["403", 403, "{}", undefined],
  ["413", 413, "{}", "rejected"],
  ["429", 429, "{}", "retryable"],
  ["500", 500, "{}", "indeterminate"],
  ["502", 502, "{}", "indeterminate"],
  ["end of a transaction", 200, endedTransaction(), "retryable"],
  ["reply that is none", 200, "<html></html>", "indeterminate"],
];

for (const [name, status, body, failure] of replies) {
  test(`classifies a server's ${name} as ${failure ?? "unknown"}`, async () => {
    const server = createServer((_, response) => response.writeHead(status).end(body));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const database = openDatabase(`http://127.0.0.1:${port}`);
    const unhandled: unknown[] = [], note = (reason: unknown) => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    await database.write([createTable]).then(
      () => assert.unreachable(),
      (error) => assert.is(failureOf(error), failure),
    );
    // What is unhandled is reported in a later turn.
    await new Promise((resolve) => setTimeout(resolve));
    process.off("unhandledRejection", note);
    assert.equal(unhandled, []);
    database.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
}

test("reads from a server where a host has replaced the class of responses", async () => {
  class HostResponse extends Response {}
  Object.defineProperty(HostResponse.prototype, "json", { value: Response.prototype.json });
  const result = { cols: [{ name: "a" }], rows: [[{ type: "integer", value: "1" }]], affected_row_count: 0 };
  const results = [{ type: "ok", response: { type: "execute", result } }, { type: "ok", response: { type: "close" } }];
  const send = () => Promise.resolve(new HostResponse(JSON.stringify({ baton: null, base_url: null, results })));
  const database = openRemote("http://127.0.0.1:1", "serve", undefined, send);
  assert.equal((await database.read({ sql: "select 1 as a" })).map(({ a }) => a), [1]);
  database.close();
});

for (const [name, before] of [["first", 0], ["second", 1]] as const) {
  test(`submits are stored once if the file cannot be checked after their commit, the ${name} one`, async () => {
    let failing = 0;
    const checkCommit = () => {
      if (failing-- > 0) throw Object.assign(new Error("EIO: i/o error, read"), { code: "EIO" });
      return undefined;
    };
    const unchecked = { stamp: 1, check() {}, beginChange: () => () => {}, watch() {}, release() {} };
    const claim: Claim = { ...unchecked, isStamped: () => before > 0, checkCommit };
    const memory = await openMemory();
    const world = await createWorld({ database: memory });
    const database = serialized({ ...memory, findPath: () => "/ledger.db" }, "serve", () => claim);
    await database.read({ sql: "select 1" });
    for (let write = 0; write < before; write++) await database.write([{ sql: "select 1" }]);
    const { fetch } = serveDatabase(database, { clock: () => noon, log: silent });
    const submit = () =>
      fetch(
        new Request(`http://ledger.test/v1/diagnosis?deployId=${world.deployId}`, {
          method: "POST",
          headers: bearer(world.key),
          body: JSON.stringify(goodBody),
        }),
      );
    failing = 1;
    const answers = await Promise.all([submit(), submit(), submit()]);
    assert.equal(answers.map(({ status }) => status), [201, 201, 201]);
    assert.is((await memory.read({ sql: "select count(*) as count from diagnoses" }))[0]!.count, 3);
    await verifyBalanced(world.admin);
  });
}

const addresses: [url: string, pipeline: string, token: string | undefined][] = [
  ["http://127.0.0.1:8080", "http://127.0.0.1:8080/v2/pipeline", undefined],
  ["libsql://a.turso.io", "https://a.turso.io/v2/pipeline", undefined],
  ["LIBSQL://A.turso.io/", "https://a.turso.io/v2/pipeline", undefined],
  ["libsql://127.0.0.1:8080?tls=0", "http://127.0.0.1:8080/v2/pipeline", undefined],
  ["libsql://a.turso.io?tls=1&authToken=t%2B1", "https://a.turso.io/v2/pipeline", "t+1"],
  ["https://a.turso.io?authToken=t", "https://a.turso.io/v2/pipeline", "t"],
  ["https://a.example/base/", "https://a.example/base/v2/pipeline", undefined],
];

for (const [url, pipeline, token] of addresses) {
  test(`the server of ${url} is asked at ${pipeline}`, async () => {
    const sent: string[] = [];
    const send = (request: Request) => {
      sent.push(`${request.url} ${request.headers.get("Authorization")}`);
      return Promise.resolve(new Response("{}", { status: 500 }));
    };
    for (const authToken of [undefined, "other"]) {
      const database = openRemote({ url, authToken }, "serve", undefined, send);
      await database.read({ sql: "select 1" }).catch(() => undefined);
      const bearer = token ?? authToken;
      assert.is(
        sent.find((request) => request.includes("pipeline")),
        `${pipeline} ${bearer ? `Bearer ${bearer}` : null}`,
      );
      sent.length = 0;
      database.close();
    }
  });
}

test("an address of a server with other parameters, or with a fragment, is refused", () => {
  for (const url of ["libsql://a.example?auth_token=t", "https://a.example?tls=1", "https://a.example#x"]) {
    assert.throws(() => openRemote(url, "serve"), /^The database's URL may have only the parameters? /);
  }
});

test("a copy over the file is noticed during a write, though a reader held back the first checkpoint", () =>
  onFile(async (url) => {
    const path = filePathOf(url), backup = `${path}.backup`;
    const manager = openDatabase(url, "manage");
    await manager.write([createTable]);
    await manager.read({ sql: "vacuum into ?", args: [backup] });
    await manager.close();
    const reader = connect(path, "read"), connection = connect(path, "serve");
    let during = () => Promise.resolve();
    const write = async (statements: Statement[]) => {
      const rows = await connection.write(statements);
      await during();
      return rows;
    };
    const database = serialized({ ...connection, write }, "serve", claimFile);
    const insert = [{ sql: "insert into numbers values (1)" }];
    await reader.open!();
    await reader.read({ sql: "begin" });
    await reader.read({ sql: "select * from numbers" });
    await database.write(insert);
    await reader.read({ sql: "commit" });
    await database.write(insert);
    during = () => copyFile(backup, path);
    await database.write(insert).then(
      () => assert.unreachable(),
      ({ message }) => assert.is(message, "The database file was changed by another process"),
    );
    reader.close();
    await database.close();
  }));

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** A managed file, whose writes are counted as they are tried, and the clock by which it gives up. */
function openCounting(url: string) {
  const connection = connect(filePathOf(url), "manage");
  const state = { now: 0, writes: 0 };
  const write = (statements: Statement[]) => {
    state.writes++;
    return connection.write(statements);
  };
  return { state, database: serialized({ ...connection, write }, "manage", claimFile, { clock: () => state.now }) };
}

test("waits for a lock that another process holds, and continues with the same pragmas", () =>
  onFile(async (url) => {
    const { database, state } = openCounting(url);
    await database.write([createTable]);
    const foreign = createClient({ url, concurrency: 1 });
    for (let round = 0; round < 3; round++) {
      const lock = await foreign.transaction("write");
      const before = state.writes;
      const writes = [1, 2, 3].map((value) =>
        database.write([{ sql: "insert into numbers values (?)", args: [value] }])
      );
      await until(() => state.writes >= before + 3);
      await lock.rollback();
      await Promise.all(writes);
      assert.is(await count(database), 3 * (round + 1));
      // Applied again on the new connection, whose default is 1000.
      assert.is(await pragmaOf(database, "wal_autocheckpoint"), 0);
    }
    foreign.close();
    database.close();
  }));

test("operations that queue for a lock wait no longer than the first, and none of them writes", () =>
  onFile(async (url) => {
    const { database, state } = openCounting(url);
    await database.write([createTable]);
    const foreign = createClient({ url, concurrency: 1 });
    const lock = await foreign.transaction("write");
    const failed: string[] = [];
    for (let nth = 0; nth < 10; nth++) {
      void database.write([{ sql: "insert into numbers values (1)" }]).catch(({ message }) => failed.push(message));
    }
    const before = state.writes;
    await until(() => state.writes > before + 1);
    assert.equal(failed, []);
    state.now = 5_001;
    await until(() => failed.length === 10);
    assert.equal([...new Set(failed)], ["Timed out after 5000 ms waiting for the database lock"]);
    await lock.rollback();
    assert.is(await count(database), 0);
    await database.write([{ sql: "insert into numbers values (1)" }]);
    assert.is(await count(database), 1);
    foreign.close();
    database.close();
  }));

test("an embedder's client recovers from a lock too", () =>
  onFile(async (url) => {
    const client = createClient({ url, concurrency: 1 });
    const database = openDatabase(client);
    await database.write([createTable]);
    const foreign = createClient({ url, concurrency: 1 });
    const lock = await foreign.transaction("write");
    const reconnected = new Promise<void>((resolve) => {
      const { reconnect } = client;
      client.reconnect = () => resolve(reconnect.call(client));
    });
    const write = database.write([{ sql: "insert into numbers values (1)" }]);
    // What it does after a busy error.
    await reconnected;
    await lock.rollback();
    await write;
    for (let value = 2; value <= 5; value++) {
      await database.write([{ sql: "insert into numbers values (?)", args: [value] }]);
    }
    assert.is(await count(database), 5);
    foreign.close();
    client.close();
  }));

test("a database in memory survives an error", async () => {
  for (const source of [":memory:", "file::memory:", createClient({ url: ":memory:" })]) {
    const database = openDatabase(source);
    await database.write([createTable]);
    await database.write([{ sql: "insert into nowhere values (1)" }]).catch(() => {});
    assert.is(await count(database), 0);
  }
});

test("a batch that fails leaves nothing, and the next one works", () =>
  onFile(async (url) => {
    const database = openDatabase(url);
    await database.write([createTable]);
    const insert = { sql: "insert into numbers values (1)" };
    await database.write([insert, { sql: "insert into nowhere values (1)" }]).then(
      () => assert.unreachable(),
      (error) => assert.match(error.message, "no such table"),
    );
    assert.is(await count(database), 0);
    await database.write([insert]);
    assert.is(await count(database), 1);
    database.close();
  }));

test("whole numbers are bound as integers, others as they are", async () => {
  const database = openDatabase(":memory:");
  const [row] = await database.read({
    sql: "select typeof(:whole) as whole, typeof(:half) as half, typeof(:text) as text, typeof(:none) as none",
    args: { whole: 1, half: 0.5, text: "a", none: null },
  });
  assert.equal({ ...row }, { whole: "integer", half: "real", text: "text", none: "null" });
});

test.run();
