// openService: what each `schema` does before the service is used, and why a service is not ready.
// Runs on every runtime.
import { access, mkdir, readdir, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createService, openService, Refusal } from "../../src/index.ts";
import { migrate } from "../../src/migrate.ts";
import { latestMigration } from "../../src/database/migrations.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { createFolder } from "../conformance/processes.ts";
import { createTenant, managementOf } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";

const test = suite(`openService on ${currentRuntime}`);

const folder = await createFolder();
test.after(() => folder.remove());

const log = { debug() {}, info() {}, warn() {}, error() {} };
let count = 0;
const newPath = () => `${folder.path}/${++count}.db`;
const isThere = (path: string) => access(path).then(() => true, () => false);

/** What a promise is refused with. */
async function refusedWith(promise: Promise<unknown>): Promise<[kind: string, message: string]> {
  const error = await promise.then(() => undefined, (error: unknown) => error);
  assert.instance(error, Refusal);
  const { kind, message } = error as Refusal;
  return [kind, message];
}

async function change(url: string, sql: string): Promise<void> {
  const database = openDatabase(url);
  await database.write([{ sql }]);
  database.close();
}

const newer = "insert into promptledger_migrations values ('999-later', 0, 'x')";
const outdated = "delete from promptledger_migrations where name > '002'";

test("migrates unless told otherwise, and makes the file", async () => {
  const url = `file:${newPath()}`;
  const service = await openService({ database: url, log });
  const database = openDatabase(url);
  const { key, deployId } = await createTenant(managementOf(database, Date.now));
  database.close();
  assert.is((await service.readPrompt({ key, deployId })).quota.used, 1);
  await service.close();
});

test("check makes nothing, and rejects with the reason", async () => {
  const path = newPath();
  const database = `file:${path}`;
  const check = () => openService({ database, log, schema: "check" });
  assert.equal(await refusedWith(check()), ["unavailable", "The database file does not exist"]);
  assert.not.ok(await isThere(path));
  await migrate(database);
  await (await check()).close();
  await change(database, newer);
  assert.equal(await refusedWith(check()), [
    "unavailable",
    "Database is newer than this service: it has migration 999-later",
  ]);
  await change(database, outdated);
  assert.match((await refusedWith(check()))[1], `Database lacks migration ${latestMigration}`);
});

test("migrate rejects a newer database, and one that cannot be opened", async () => {
  const database = `file:${newPath()}`;
  await migrate(database);
  await change(database, newer);
  assert.match((await refusedWith(openService({ database, log })))[1], /^The database is newer than this promptledger/);
  const path = newPath();
  await mkdir(path);
  assert.is((await refusedWith(openService({ database: `file:${path}`, log })))[0], "unavailable");
  const nowhere = `${newPath()}/no`;
  assert.equal(await refusedWith(openService({ database: `file:${nowhere}/ledger.db`, log })), [
    "unavailable",
    `The folder ${nowhere} of the database file does not exist. Create it first`,
  ]);
});

test("a file that is no database is a reason with a cause, and nothing is put beside it", async () => {
  const path = newPath();
  await writeFile(path, "These are notes, and no database.");
  for (const schema of ["migrate", "check"] as const) {
    const error = await openService({ database: `file:${path}`, log, schema }).then(() => undefined, (error) => error);
    assert.instance(error, Refusal);
    assert.equal([error.kind, error.cause.code], ["unavailable", "SQLITE_NOTADB"]);
    assert.match(error.cause.message, "file is not a database");
  }
  const beside = (await readdir(folder.path)).filter((name) => name.startsWith(basename(path)));
  assert.equal(beside, [basename(path)]);
});

test("trust opens nothing", async () => {
  const path = newPath();
  const service = await openService({ database: `file:${path}`, log, schema: "trust" });
  assert.not.ok(await isThere(path));
  assert.equal(await refusedWith(service.ready()), ["unavailable", "The database file does not exist"]);
  await service.close();
});

test("a server that is away is a reason too", async () => {
  for (const schema of ["migrate", "check"] as const) {
    const refused = await refusedWith(openService({ database: "http://127.0.0.1:1", log, schema }));
    assert.equal(refused, ["unavailable", "Database cannot be reached"]);
  }
});

test("an unknown schema and invalid options are refused", async () => {
  const database = `file:${newPath()}`;
  const wrong = openService({ database, schema: "guess" as "trust" });
  assert.equal(await refusedWith(wrong), ["invalid", "schema must be one of migrate, check, trust"]);
  assert.is((await refusedWith(openService({ database: "nowhere" })))[0], "invalid");
  const misspelt = openService({ database, shema: "check" } as { database: string });
  const [kind, message] = await refusedWith(misspelt);
  assert.ok(kind === "invalid" && /^Unknown option shema of openService. Allowed: .*, schema$/.test(message), message);
  const nowhere = await refusedWith(openService({} as { database: string }));
  assert.equal(nowhere, ["invalid", "Give either a database or a client"]);
  const none = openService(undefined as never);
  assert.equal(await refusedWith(none), ["invalid", "openService needs an options object"]);
});

test("a service that is closed is not ready", async () => {
  const database = `file:${newPath()}`;
  await migrate(database);
  const service = createService({ database, log });
  await service.ready();
  await service.close();
  assert.equal(await refusedWith(service.ready()), ["unavailable", "Service is stopping"]);
});

test.run();
