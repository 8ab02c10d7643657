// Outdated schemas: who migrates them, what everyone else says, and what it means to a service that runs.
// Runs on every runtime in CI.
import { readdir } from "node:fs/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { listMissing, migrate } from "../../src/database/migrate.ts";
import type { Migration } from "../../src/database/migrate.ts";
import { migrations } from "../../src/database/migrations.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { createLog, openService, Refusal } from "../../src/index.ts";
import { migrate as migrateOwn } from "../../src/migrate.ts";
import { createFolder, runFile, startService, startSqld } from "../conformance/processes.ts";
import { send } from "../conformance/http-client.ts";
import { findSqld } from "../conformance/sqld.ts";
import { createSeededDatabase } from "../faults/audit.ts";
import { currentRuntime } from "../runtimes.ts";
import { runIn, words } from "./places.ts";

const test = suite(`upgrade on ${currentRuntime}`);

const { path: folder, remove } = await createFolder();
test.after(remove);

const [first, second] = migrations.slice(-2) as [Migration, Migration];
const numberOf = ({ name }: Migration) => name.slice(0, 3);

let count = 0;

/** A database that lacks the last two migrations, and the name that a backup before them has. */
async function createOutdated(): Promise<{ url: string; before: string }> {
  const stem = `${folder}/${++count}`;
  const database = openDatabase(`file:${stem}.db`);
  await migrate(database, migrations.slice(0, -2), Date.now());
  database.close();
  return { url: `file:${stem}.db`, before: `${stem}-before-${numberOf(first)}.db` };
}

async function missingIn(url: string): Promise<string[]> {
  const database = openDatabase(url);
  const missing = await listMissing(database, migrations);
  database.close();
  return missing.map(({ name }) => name);
}

const applied = (before: string) =>
  new RegExp(
    `Applying 2 migrations. To go back, you need a backup made before them, such as ${before}.*\n` +
      `.*Applied ${first.name} in \\d+ ms\n.*Applied ${second.name} in \\d+ ms\n`,
  );

/** Commands that read, and commands that change. */
const others = [
  words`workspace list`,
  words`verify --json`,
  words`diagnosis list --deploy a@b`,
  words`workspace create --name A`,
  words`key create --workspace ws_x`,
  words`price set --provider openai --model x --input 1 --output 1`,
];

test("commands refuse an outdated schema, and say how to back it up and migrate it", async () => {
  const { url, before } = await createOutdated();
  const remedy = `Run promptledger backup ${before}, then promptledger migrate`;
  for (const args of others) {
    const { code, out, said } = await runIn(args, { DATABASE_URL: url });
    const error = `the database ${url} (DATABASE_URL) cannot be used: it lacks 2 migrations. ${remedy}`;
    assert.equal([code, out, said], [1, "", `promptledger: ${error}\n`], args.join(" "));
  }
  const checked = await runIn(words`migrate --check`, { DATABASE_URL: url });
  assert.equal([checked.code, checked.said], [1, `The schema is out of date. ${remedy}\n`]);
  const serving = { DATABASE_URL: url, MIGRATE: "false", PORT: "0" };
  const { code, said } = await runFile(currentRuntime, "src/cli.ts", ["serve"], serving);
  assert.equal([code, said.includes(`it lacks 2 migrations. ${remedy}\n`)], [1, true]);
  assert.equal(await missingIn(url), [first.name, second.name]);
});

test("migrate names each migration and its time, and the backup before keeps the older schema when it is restored", async () => {
  const { url, before } = await createOutdated();
  assert.is((await runIn(["backup", before], { DATABASE_URL: url })).code, 0);
  const { code, said, json } = await runIn(words`migrate --json`, { DATABASE_URL: url });
  const { applied: names, bytes } = json as { applied: string[]; bytes: number };
  assert.equal([code, names, bytes > 0], [0, [first.name, second.name], true]);
  assert.match(
    said,
    new RegExp(`^${applied(before).source}Applied 2 migrations to ${url} \\([\\d.]+ kB\\) in .* m?s\n$`),
  );
  assert.equal(await missingIn(url), []);

  const older = `${folder}/${++count}.db`;
  const restored = await runIn(["restore", before, "--json"], { DATABASE_URL: `file:${older}` });
  assert.is(restored.code, 0, restored.said);
  const { applied: none, missing, ledgers } = restored.json as Record<string, unknown>;
  assert.equal([none, missing, ledgers], [[], [first.name, second.name], 0]);
  assert.match(restored.said, "The database lacks 2 migrations, as the backup did. serve and migrate apply them\n");
  assert.equal(await missingIn(`file:${older}`), [first.name, second.name]);
  assert.equal((await readdir(folder)).filter((name) => name.includes(".part")), []);
});

test("an embedded service names each migration and its time in its log", async () => {
  const { url, before } = await createOutdated();
  const lines: string[] = [];
  const log = createLog({ level: "info", format: "text", clock: Date.now, write: (line) => lines.push(`${line}\n`) });
  await using _ = await openService({ database: url, log });
  assert.match(lines.join(""), applied(before));
});

test("serve names each migration and its time in its log", async () => {
  const { url, before } = await createOutdated();
  const service = await startService(currentRuntime, { DATABASE_URL: url });
  assert.match(service.output(), applied(before));
  assert.is((await send(service.url, "/readyz")).status, 200);
  assert.is(await service.stop(), 0);
});

test("a new database is created without a word about migrations", async () => {
  for (const args of [words`workspace create --name A --json`, words`migrate --json`]) {
    const url = `file:${folder}/${++count}.db`;
    const { code, said } = await runIn(args, { DATABASE_URL: url });
    assert.is(code, 0);
    assert.ok(said.startsWith(`Created the database ${url}\n`), said);
  }
  const service = await startService(currentRuntime, { DATABASE_URL: `file:${folder}/${++count}.db` });
  assert.not.match(service.output(), /Appl(ied|ying)/);
  await service.stop();
});

const later: Migration = {
  name: "900-later",
  checksum: "0".repeat(64),
  sql: "create table later (id integer) strict;\n",
};

/** Runs with the migrations of a newer version. Other processes keep theirs. */
async function asNewer<T>(work: () => Promise<T>): Promise<T> {
  const known = migrations as Migration[];
  known.push(later);
  try {
    return await work();
  } finally {
    known.pop();
  }
}

test("a service stays ready while a newer version looks at its file, which nothing migrates before it stops", async () => {
  const { url, tenant } = await createSeededDatabase(`file:${folder}/${++count}.db`);
  const service = await startService(currentRuntime, { DATABASE_URL: url });
  const headers = [`Authorization: Bearer ${tenant.key}`];
  const stillServes = async () => {
    assert.is((await send(service.url, "/readyz")).status, 200);
    assert.is((await send(service.url, `/v1/prompts?deployId=${tenant.deployId}`, { headers })).status, 200);
  };
  const served = "Another process serves the database, and may not work with a newer schema: stop it first";
  await asNewer(async () => {
    for (const args of others) assert.match((await runIn(args, { DATABASE_URL: url })).said, /it lacks 1 migration\. /);
    const { code, said } = await runIn(words`migrate`, { DATABASE_URL: url });
    assert.equal([code, said], [1, `promptledger: the database ${url} (DATABASE_URL) cannot be used: ${served}\n`]);
    const refusal = await migrateOwn(url).catch((error: unknown) => error);
    assert.instance(refusal, Refusal);
    assert.is((refusal as Refusal).message, served);
    assert.is((await runIn(["backup", `${folder}/${++count}.db`], { DATABASE_URL: url })).code, 0);
    await stillServes();
    assert.is(await service.stop(), 0);
    assert.is((await runIn(words`migrate`, { DATABASE_URL: url })).code, 0);
  });
  assert.match(
    (await runIn(words`workspace list`, { DATABASE_URL: url })).said,
    /it has migration 900-later\. Run a newer/,
  );
});

test("a served file whose schema is up to date needs no migration, and migrate says so", async () => {
  const { url } = await createSeededDatabase(`file:${folder}/${++count}.db`);
  const service = await startService(currentRuntime, { DATABASE_URL: url });
  const { code, said } = await runIn(words`migrate`, { DATABASE_URL: url });
  assert.equal([code, said], [0, `The schema of ${url} is up to date\n`]);
  await service.stop();
});

const sqld = await findSqld();
if ("missing" in sqld) console.log(`skipped: an outdated schema on a server: ${sqld.missing}`);
else {
  test("an outdated schema on a server is refused too, which has backups of its own", async () => {
    const server = await startSqld(sqld.binary, `${folder}/sqld`);
    try {
      const database = openDatabase(server.url);
      await migrate(database, migrations.slice(0, -2), Date.now());
      database.close();
      const settings = { DATABASE_URL: server.url };
      const { code, said } = await runIn(words`workspace list`, settings);
      assert.is(code, 1);
      assert.match(said, "it lacks 2 migrations. Back it up as its server does, then run promptledger migrate\n");
      const migrated = await runIn(words`migrate`, settings);
      assert.match(migrated.said, new RegExp(`^Applying 2 migrations\nApplied ${first.name} in \\d+ ms\n`));
      assert.is((await runIn(words`workspace list`, settings)).code, 0);
    } finally {
      await server.stop();
    }
  });
}

test.run();
