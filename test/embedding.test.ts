// A service in somebody else's process: when it opens its database, how it is closed, and what it does when the file is not
// there, not its own, or no longer the one it opened.
// Runs on every runtime in CI.
import { appendFile, copyFile, readdir, readFile, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { createClient } from "@libsql/client";
import Libsql from "libsql";
import { suite } from "./suite.ts";
import * as assert from "uvu/assert";
import { createService } from "../src/index.ts";
import type { Service, ServiceOptions } from "../src/index.ts";
import { migrate } from "../src/migrate.ts";
import { latestMigration } from "../src/database/migrations.ts";
import { openDatabase } from "../src/database/file/open.ts";
import { usedIn } from "./balanced.ts";
import { createFolder, until } from "./conformance/processes.ts";
import { heldBody } from "./held-body.ts";
import { createTenant, goodBody, managementOf, readAnswer } from "./helpers.ts";
import type { Tenant } from "./helpers.ts";
import { currentRuntime } from "./runtimes.ts";

const test = suite(`embedding on ${currentRuntime}`);

type Place = { path: string; url: string; tenant: Tenant; logged: string[]; open(options?: object): Service };

/** Runs with a migrated file that has a tenant. */
async function inPlace(run: (place: Place) => Promise<void>): Promise<void> {
  const folder = await createFolder();
  const path = `${folder.path}/ledger.db`;
  const url = `file:${path}`;
  const services: Service[] = [];
  const logged: string[] = [];
  const write = (message: string, fields = {}) => void logged.push(`${message} ${JSON.stringify(fields)}`);
  const log = { debug: () => {}, info: () => {}, warn: write, error: write };
  await migrate(url);
  const database = openDatabase(url);
  const tenant = await createTenant(managementOf(database, Date.now), 1e6);
  database.close();
  const open = (options = {}) => {
    const service = createService({ database: url, log, ...options } as ServiceOptions);
    services.push(service);
    return service;
  };
  try {
    await run({ path, url, tenant, logged, open });
  } finally {
    for (const service of services) await service.close({ timeout: 0 });
    await folder.remove();
  }
}

const requestOf = ({ key, deployId }: Tenant, body?: unknown, path = `/v1/prompts?deployId=${deployId}`) =>
  new Request(`http://ledger.test${path}`, {
    headers: { Authorization: `Bearer ${key}` },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
  });

const submit = async (service: Service, tenant: Tenant) => (await service.fetch(requestOf(tenant, goodBody))).status;
const read = async (service: Service, tenant: Tenant) => (await service.fetch(requestOf(tenant))).status;
const readiness = async (service: Service) => readAnswer(await service.fetch(new Request("http://ledger.test/readyz")));

test("opens its database with the first request, and makes no file", async () => {
  const folder = await createFolder();
  const service = createService({ database: `file:${folder.path}/ledger.db`, log: silent });
  try {
    assert.equal(await readdir(folder.path), []);
    const { status, json } = await readiness(service);
    assert.equal([status, json], [503, { error: "The database file does not exist" }]);
    assert.equal(await readdir(folder.path), []);
    await migrate(`file:${folder.path}/ledger.db`);
    const database = openDatabase(`file:${folder.path}/ledger.db`);
    const tenant = await createTenant(managementOf(database, Date.now));
    database.close();
    assert.is(await submit(service, tenant), 201);
  } finally {
    await service.close();
    await folder.remove();
  }
});

const silent = { debug() {}, info() {}, warn() {}, error() {} };

test("close answers what is in flight, refuses all that comes later, and writes nothing more", () =>
  inPlace(async ({ url, tenant, open }) => {
    const service = open();
    assert.equal([await read(service, tenant), await submit(service, tenant)], [200, 201]);
    const inFlight = Array.from(
      { length: 40 },
      (_, index) => index % 2 ? submit(service, tenant) : read(service, tenant),
    );
    assert.is(service.countInFlight(), 40);
    const closed = service.close();
    const late = [submit(service, tenant), read(service, tenant)];
    assert.equal([...new Set(await Promise.all(inFlight))].sort(), [200, 201]);
    assert.equal(await Promise.all(late), [503, 503]);
    await closed;
    await service.close();
    assert.equal([await submit(service, tenant), await read(service, tenant)], [503, 503]);
    assert.is((await readiness(service)).status, 503);
    assert.is(service.countInFlight(), 0);
    assert.is(await usedIn(url), 42);
  }));

test("close waits no longer than it is told to, and what it left open is answered 503", () =>
  inPlace(async ({ url, tenant, open }) => {
    const service = open({ bodyTimeout: 600_000 });
    assert.is(await submit(service, tenant), 201);
    const { stream: body, finish } = heldBody(JSON.stringify(goodBody));
    const { key, deployId } = tenant;
    const headers = { Authorization: `Bearer ${key}` };
    const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
    const answer = service.fetch(new Request(`http://ledger.test/v1/prompts?deployId=${deployId}`, init));
    await service.close({ timeout: 10 });
    finish();
    assert.is((await answer).status, 503);
    assert.is(await usedIn(url), 1);
  }));

test("close while another process holds the lock ends nothing but the service", () =>
  inPlace(async ({ path, url, tenant, open }) => {
    const service = open();
    assert.is(await submit(service, tenant), 201);
    const foreign = new Libsql(path);
    foreign.exec("begin immediate");
    const waiting = [submit(service, tenant), read(service, tenant)];
    await service.close({ timeout: 50 });
    assert.equal(await Promise.all(waiting), [503, 503]);
    foreign.exec("rollback");
    foreign.close();
    assert.is(await usedIn(url), 1);
  }));

test("await using closes it", () =>
  inPlace(async ({ tenant, open }) => {
    const service = open();
    assert.is(await read(service, tenant), 200);
    await service[Symbol.asyncDispose]();
    assert.is(await read(service, tenant), 503);
  }));

test("a client of the embedder's stays open when the service is closed, and the service writes nothing more on it", () =>
  inPlace(async ({ url, tenant }) => {
    const client = createClient({ url, concurrency: 1, timeout: 100 });
    assert.equal(await migrate(client), []);
    const service = createService({ client, log: silent });
    assert.is(await submit(service, tenant), 201);
    await service.close();
    assert.is(await submit(service, tenant), 503);
    assert.is((await client.execute("select count(*) as count from diagnoses")).rows[0]!.count, 1);
    client.close();
  }));

test("services of one process share a file", () =>
  inPlace(async ({ url, tenant, open }) => {
    const services = [open(), open()];
    const client = createClient({ url, concurrency: 1, timeout: 100 });
    services.push(createService({ client, log: silent }));
    for (const service of services) assert.is(await submit(service, tenant), 201);
    await services[0]!.close();
    assert.equal(await Promise.all(services.map((service) => submit(service, tenant))), [503, 201, 201]);
    for (const service of services) await service.close();
    client.close();
    const again = open();
    assert.is(await submit(again, tenant), 201);
    await again.close();
    assert.is(await usedIn(url), 6);
  }));

/** What is done to the files of a service behind its back, and what the service says of it. */
const mishaps: [name: string, fault: string, happen: (path: string) => Promise<unknown>][] = [
  ["the file is removed", "The database file was removed", (path) => rm(path)],
  ["all of its files are removed", "The database file was removed", async (path) => {
    for (const suffix of ["", "-wal", "-shm"]) await rm(path + suffix);
  }],
  ["another file takes its place", "The database file was replaced", async (path) => {
    await copyFile(`${path}.backup`, `${path}.new`);
    await rename(`${path}.new`, path);
  }],
  [
    "a backup is copied over it",
    "The database file was changed by another process",
    (path) => copyFile(`${path}.backup`, path),
  ],
  [
    "another process appends to it",
    "The database file was changed by another process",
    (path) => appendFile(path, new Uint8Array(4096)),
  ],
  [
    "its write-ahead log is removed",
    "The file -wal beside the database was removed or replaced",
    (path) => rm(`${path}-wal`),
  ],
  [
    "its write-ahead log is emptied in place",
    "The file -wal beside the database was changed by another process",
    (path) => truncate(`${path}-wal`),
  ],
  [
    "another log is copied over its write-ahead log",
    "The file -wal beside the database was changed by another process",
    (path) => copyFile(path, `${path}-wal`),
  ],
];

/** Told by the watch on the file, which looks once a second, so that all of it happens at once. */
const told = () =>
  mishaps.map(([, fault, happen]) =>
    inPlace(async ({ path, url, tenant, logged, open }) => {
      const database = openDatabase(url);
      await database.read({ sql: "vacuum into ?", args: [`${path}.backup`] });
      database.close();
      let later = 0;
      const service = open({ clock: () => Date.now() + later });
      for (let count = 0; count < 10; count++) assert.is(await submit(service, tenant), 201);
      assert.is((await readiness(service)).status, 200);
      await happen(path);
      const before = await filesOf(path);
      assert.equal([await submit(service, tenant), await read(service, tenant)], [503, 503]);
      // What /readyz says holds for a second.
      later = 1_000;
      const { status, json } = await readiness(service);
      assert.equal([status, json], [503, { error: fault }]);
      const event = `Database is unavailable until the service is restarted {"cause":"${fault}"}`;
      await until(() => logged.includes(event));
      assert.equal([await submit(service, tenant), await read(service, tenant)], [503, 503]);
      await service.close();
      // Closing would take what belongs to the lost file over into the new one.
      assert.equal(await filesOf(path), before);
    })
  );

let outcomes: Promise<void>[] | undefined;
for (const [index, [name]] of mishaps.entries()) {
  test(`where ${name}, every answer is 503 from then on, and the log and /readyz say so`, async () => {
    outcomes ??= told();
    await Promise.allSettled(outcomes);
    await outcomes[index];
  });
}

/** The bytes of a database and its log, where they are there. */
async function filesOf(path: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const suffix of ["", "-wal"]) {
    found[suffix] = await readFile(path + suffix, "latin1").catch(() => "none");
  }
  return found;
}

test("what the service does to its file itself is no mishap: checkpoints, large records, migrations beside it", () =>
  inPlace(async ({ path, url, tenant, open }) => {
    const service = open();
    const large = { ...goodBody, content: { input: "x".repeat(1_000_000) } };
    for (let count = 0; count < 40; count++) {
      assert.is((await service.fetch(requestOf(tenant, large))).status, 201);
    }
    assert.ok((await stat(path)).size > 10_000_000);
    await migrate(url);
    const database = openDatabase(url);
    await createTenant(managementOf(database, Date.now));
    await database.read({ sql: "vacuum into ?", args: [`${path}.backup`] });
    database.close();
    // The watch looks once a second, and the timers of a process fire in their order.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    assert.equal([await submit(service, tenant), (await readiness(service)).status], [201, 200]);
  }));

const schemas: [name: string, sql: string, error: string][] = [
  ["is missing", "drop table promptledger_migrations", "Database has no schema: run promptledger migrate"],
  [
    "is out of date",
    "delete from promptledger_migrations where name > '002'",
    `Database lacks migration ${latestMigration}: run promptledger migrate`,
  ],
  [
    "is newer",
    "insert into promptledger_migrations values ('999-later', 0, 'x')",
    "Database is newer than this service: it has migration 999-later",
  ],
];

for (const [name, sql, error] of schemas) {
  test(`/readyz is 503 where the schema ${name}, and says so`, () =>
    inPlace(async ({ url, open }) => {
      const database = openDatabase(url);
      await database.write([{ sql }]);
      database.close();
      const { status, json } = await readiness(open());
      assert.equal([status, json], [503, { error }]);
    }));
}

test("a file that is no database is not touched", async () => {
  const folder = await createFolder();
  const path = `${folder.path}/notes.txt`;
  await writeFile(path, "These are notes, and no database.");
  const service = createService({ database: `file:${path}`, log: silent });
  assert.is((await readiness(service)).status, 503);
  await service.close();
  assert.equal(await readdir(folder.path), ["notes.txt"]);
  assert.is(await readFile(path, "utf8"), "These are notes, and no database.");
  await folder.remove();
});

test.run();
