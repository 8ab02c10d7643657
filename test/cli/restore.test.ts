// Restoring backups, and refusing other files, on the runtime that runs the tests.
// Runs on every runtime in CI.
import { createHash } from "node:crypto";
import { chmod, copyFile, mkdir, readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createWorkspace } from "../actions.ts";
import { serialized } from "../../src/database/file/connection.ts";
import { connect } from "../../src/database/file/file.ts";
import { migrate } from "../../src/database/migrate.ts";
import { migrations } from "../../src/database/migrations.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { openMigrated } from "../../src/database/file/open-migrated.ts";
import { lockExclusively, removeLog } from "../../src/database/file/maintenance.ts";
import { createFolder, readFiles, runFile, startService } from "../conformance/processes.ts";
import { send } from "../conformance/http-client.ts";
import { audit, createSeededDatabase } from "../faults/audit.ts";
import { emptyOutcomes, startLoad } from "../faults/load.ts";
import { managementOf } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";
import { runIn } from "./places.ts";

const test = suite(`restore on ${currentRuntime}`);

const { path: folder, remove } = await createFolder();
test.after(remove);

const cli = (url: string, ...args: string[]) => runFile(currentRuntime, "src/cli.ts", args, { DATABASE_URL: url });

let folders = 0;

/** An empty folder for a test, and the URL of a database in it. */
async function openPlace(): Promise<{ place: string; url: string }> {
  const place = `${folder}/${++folders}`;
  await mkdir(place);
  return { place, url: `file:${place}/ledger.db` };
}

/** The size and the digest of every file in a folder. */
async function contentsOf(place: string): Promise<Record<string, string>> {
  const contents = await readFiles(place, async (file) => {
    const bytes = await readFile(file);
    return `${bytes.length} ${createHash("sha256").update(bytes).digest("hex")}`;
  });
  return Object.fromEntries(contents);
}

// A connection of this process may hold its locks after it is closed, so the tests restore to copies.
const seed = await createSeededDatabase(`file:${folder}/seed.db`);

/** A database with reads and submits, as a killed service leaves it. */
async function createUsed(url: string) {
  await copyFile(`${folder}/seed.db`, url.replace("file:", ""));
  const service = await startService(currentRuntime, { DATABASE_URL: url });
  const load = startLoad({ bases: [service.url], connections: 8, tenant: seed.tenant });
  while (load.outcomes.recorded.length < 100) await load.untilSuccess();
  const stopped = load.stop();
  await service.stop("SIGKILL");
  await stopped;
  return { url, tenant: seed.tenant, outcomes: load.outcomes };
}

const good = `${folder}/good.db`;
const used = await createUsed(`file:${folder}/used.db`);
assert.is((await cli(used.url, "backup", good)).code, 0);

test("a backup replaces a database with a log, which is kept completely", async () => {
  const { place, url } = await openPlace();
  const before = await createUsed(url);
  await chmod(`${place}/ledger.db`, 0o640);
  assert.ok((await stat(`${place}/ledger.db-wal`)).size > 0);
  const { code, out, said } = await cli(url, "restore", good, "--json");
  assert.is(code, 0);
  // Progress follows after 10 s.
  assert.match(said, /^Copying [\d.]+ [kM]B …\n([A-Z].*\n)*$/);
  const { replaced, lastUsedAt, lastUsedAtIso, ...done } = JSON.parse(out);
  assert.match(replaced, /\/ledger\.db\.replaced-\d{8}T\d{6}Z$/);
  assert.ok(Date.now() - lastUsedAt < 600_000 && said.includes(`The database was last used at ${lastUsedAtIso}\n`));
  assert.equal(done, {
    ...{ file: `${place}/ledger.db`, restored: good, applied: [], missing: [], ledgers: 1, damaged: [] },
    ...{ createdAt: null, createdAtIso: null, isAuthenticated: false },
  });
  assert.equal(
    await readdir(place).then((names) => names.sort()),
    ["ledger.db", "ledger.db-lock", replaced.slice(place.length + 1)],
  );
  for (const file of [`${place}/ledger.db`, replaced]) assert.is((await stat(file)).mode & 0o777, 0o640);
  const { lost, faults } = await audit({ ...used, url }, { ...emptyOutcomes(), recorded: used.outcomes.recorded });
  assert.equal([lost, faults], [0, []]);
  const kept = await audit({ ...before, url: `file:${replaced}` }, before.outcomes);
  assert.equal(kept, { lost: 0, doubled: 0, faults: [] });
});

test("a backup is restored where there is no database, readable by its owner only, and can be served", async () => {
  const { place, url } = await openPlace();
  const { code, json, reports, said } = await runIn(["restore", good, "--json"], { DATABASE_URL: url });
  assert.equal([code, (json as { replaced: null }).replaced], [0, null]);
  assert.ok(said.endsWith(`Created the database ${url}\n`), said);
  assert.ok(reports.includes("Copied 100 %") && reports.includes("Verified 100 %"));
  assert.equal(await readdir(place), ["ledger.db"]);
  assert.is((await stat(`${place}/ledger.db`)).mode & 0o777, 0o600);
  const service = await startService(currentRuntime, { DATABASE_URL: url });
  const headers = [`Authorization: Bearer ${seed.tenant.key}`];
  assert.is((await send(service.url, `/v1/prompts?deployId=${seed.tenant.deployId}`, { headers })).status, 200);
  await service.stop();
});

test("a database that was moved with its log is restored with the content of the log", async () => {
  const { place, url } = await openPlace();
  const { database } = await openMigrated(`file:${place}/used.db`, "manage");
  await createWorkspace(managementOf(database), { name: "In the log", monthlyLimit: 1, upgradeUrl: null });
  for (const suffix of ["", "-wal"]) await copyFile(`${place}/used.db${suffix}`, `${place}/copy.db${suffix}`);
  database.close();
  assert.is((await runIn(["restore", `${place}/copy.db`], { DATABASE_URL: url })).code, 0);
  const { out } = await runIn(["workspace", "list"], { DATABASE_URL: url });
  assert.match(out, "In the log");
});

test("is refused while a service has the database, which is not affected", async () => {
  const { place, url } = await openPlace();
  await copyFile(good, `${place}/ledger.db`);
  const service = await startService(currentRuntime, { DATABASE_URL: url });
  const request = { headers: [`Authorization: Bearer ${seed.tenant.key}`] };
  const read = async () => (await send(service.url, `/v1/prompts?deployId=${seed.tenant.deployId}`, request)).status;
  assert.is(await read(), 200);
  const before = await readdir(place);
  const { code, out, said } = await cli(url, "restore", good);
  assert.equal([code, out], [1, ""]);
  // Nothing was copied first.
  assert.is(said, `promptledger: The database ${url} is in use: stop the service first\n`);
  assert.equal(await readdir(place), before);
  assert.is(await read(), 200);
  assert.is(await service.stop(), 0);
  const { lost, faults } = await audit({ ...used, url }, { ...emptyOutcomes(), recorded: used.outcomes.recorded });
  assert.equal([lost, faults], [0, []]);
});

/** A file made of the good backup. */
async function spoilt(name: string, spoil: (bytes: Buffer) => Uint8Array): Promise<string> {
  await writeFile(`${folder}/${name}`, spoil(await readFile(good)));
  return `${folder}/${name}`;
}

/** A file made of the good backup by SQL. */
async function changed(name: string, sql: string): Promise<string> {
  const path = await spoilt(name, (bytes) => bytes);
  const database = openDatabase(`file:${path}`, "manage");
  await database.write([{ sql }]);
  await removeLog(database);
  database.close();
  return path;
}

async function foreign(): Promise<string> {
  const database = openDatabase(`file:${folder}/foreign.db`, "manage");
  await database.write([{ sql: "create table notes (text text) strict" }]);
  await removeLog(database);
  database.close();
  return `${folder}/foreign.db`;
}

const flipPages = (bytes: Buffer) => {
  const flipped = Buffer.from(bytes);
  for (let at = 4096 + 2048; at < bytes.length; at += 4096) {
    for (let index = at; index < at + 64; index++) flipped[index]! ^= 0xff;
  }
  return flipped;
};

const refusals: [name: string, make: () => Promise<string> | string, error: RegExp][] = [
  ["a backup with flipped bytes in its pages", () => spoilt("flipped.db", flipPages), /cannot be restored: /],
  [
    "a backup whose end is missing",
    () => spoilt("cut.db", (bytes) => bytes.subarray(0, bytes.length - 3 * 4096)),
    /cannot be restored: .*malformed/,
  ],
  [
    "a text file",
    () => spoilt("notes.txt", () => Buffer.from("no database\n")),
    /^promptledger: .*notes.txt cannot be restored: it is not a promptledger database$/,
  ],
  [
    "an empty file",
    () => spoilt("empty.db", () => Buffer.alloc(0)),
    /^promptledger: .*it is not a promptledger database$/,
  ],
  ["someone else's database", foreign, /it is not a promptledger database$/],
  [
    "a ledger that lacks a call",
    () => changed("lacking.db", "delete from calls where position = (select max(position) from calls)"),
    /1 of 1 ledgers do not balance, the first is ws_\w+ \d{4}-\d\d$/,
  ],
  [
    "a backup of a newer version",
    () => changed("newer.db", "insert into promptledger_migrations values ('999-from-the-future', 0, 'x')"),
    /cannot be restored: The database is newer than this promptledger: it has migration 999-from-the-future/,
  ],
  ["a file that is not there", () => `${folder}/none.db`, /none.db cannot be read: .*ENOENT/],
  ["a folder", () => folder, /is not a regular file/],
  ["the database itself", () => `${folder}/target/../target/ledger.db`, /ledger.db is the database itself$/],
];

await mkdir(`${folder}/target`);
const target = `file:${folder}/target/ledger.db`;
await createUsed(target);

for (const [name, make, error] of refusals) {
  test(`refuses ${name} in one line, and leaves the database unchanged`, async () => {
    const file = await make();
    const before = await contentsOf(`${folder}/target`);
    assert.ok(before["ledger.db-wal"] !== "");
    const { code, out, said } = await runIn(["restore", file], { DATABASE_URL: target });
    assert.equal([code, out], [1, ""]);
    assert.match(said, /^(Copying [\d.]+ \w+ …\n)?promptledger: [^\n]+\n$/);
    assert.match(said.trimEnd(), error);
    assert.equal(await contentsOf(`${folder}/target`), before);
  });
}

const badPlaces: [name: string, prepare: (place: string) => Promise<unknown>, error: RegExp, file?: string][] = [
  [
    "where the log of another database is left",
    (place) => writeFile(`${place}/ledger.db-wal`, "log"),
    /ledger.db-wal is left over from another database, and SQLite would apply it to this one. Move it away first$/,
  ],
  [
    "where a file is that is no database",
    (place) => writeFile(`${place}/ledger.db`, "no database, but as long as its header would be at least"),
    /ledger.db cannot be replaced: .*NOTADB.*Move it and its log away first$/,
  ],
  [
    "where another one is at work",
    (place) => writeFile(`${place}/ledger.db.part`, ""),
    /ledger.db.part already exists; remove it if nothing is writing to it$/,
  ],
  [
    "in a folder that is not there",
    () => Promise.resolve(),
    /ledger.db cannot be written: .*ENOENT/,
    "no/ledger.db",
  ],
];

for (const [name, prepare, error, file = "ledger.db"] of badPlaces) {
  test(`refuses to restore ${name}, and leaves everything unchanged`, async () => {
    const { place } = await openPlace();
    await prepare(place);
    const before = await contentsOf(place);
    const { code, out, said } = await runIn(["restore", good], { DATABASE_URL: `file:${place}/${file}` });
    assert.equal([code, out], [1, ""]);
    assert.match(said.trimEnd(), error);
    assert.equal(await contentsOf(place), before);
  });
}

test("refuses a database on a server", async () => {
  const { code, said } = await runIn(["restore", good], { DATABASE_URL: "http://127.0.0.1:1" });
  assert.equal([code, said.includes("is on a server. Use the backups of that server")], [1, true]);
});

test("a process that waits for a database while it is replaced writes to neither", async () => {
  const { place, url } = await openPlace();
  await copyFile(good, `${place}/ledger.db`);
  const database = openDatabase(url, "manage");
  await lockExclusively(database);
  // It waits for as long as this takes.
  const patient = serialized(connect(`${place}/ledger.db`, "manage"), "manage", undefined, { clock: () => 0 });
  const waiting = migrate(patient, migrations, Date.now()).then(() => "opened", String);
  // The file is opened, and found locked, before the next timer is due.
  await new Promise((resolve) => setTimeout(resolve));
  await copyFile(good, `${place}/new.db`);
  await rename(`${place}/new.db`, `${place}/ledger.db`);
  const before = await contentsOf(place);
  await database.read({ sql: "pragma locking_mode = normal" });
  await database.read({ sql: "select 1 from sqlite_master" });
  assert.match(await waiting, "readonly");
  assert.equal(await contentsOf(place), before);
  database.close();
});

test.run();
