// Reading stored records again, for the tokens that an older rule did not count.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Database } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { reindexNext } from "../../src/log/reindex.ts";
import { migrate } from "../../src/migrate.ts";
import { fillHistory } from "../bench/fill.ts";
import { ask } from "../bench/manage.ts";
import { createFolder, startService, until } from "../conformance/processes.ts";
import { adminToken, createTenant, createWorld, goodBody, managementOf } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";
import { dump, taken } from "./management.ts";

const test = suite("reindex");

const usages = [
  { prompt_tokens: 3, completion_tokens: 4 },
  { input_tokens: 1, cache_read_input_tokens: 9, output_tokens: 2 },
  { promptTokenCount: 5 },
  {},
];

/** A world with records as the service stored them before it knew more than the names of OpenAI. */
async function createOldWorld(records: number): Promise<World> {
  const world = await createWorld({ monthlyLimit: 1e6 });
  await Promise.all(Array.from({ length: records }, (_, nth) =>
    world.submit({
      ...goodBody,
      ...(nth % 3 === 0 ? { startAt: 10, endAt: 50 } : {}),
      model: "gpt-4o",
      cost: nth % 5 === 0 ? 0.25 : undefined,
      additional_properties: { usage: usages[nth % usages.length] },
    })));
  return world;
}

const forget = ({ database }: World) =>
  database.write([
    { sql: "update diagnoses set measures = 'null,null,null'" },
    { sql: "update reindexing set position = 0" },
  ]);

/** Everything but how far it has come, what it has changed, and what the audit log says of it. */
const contentOf = (world: World) =>
  dump(world, "reindexing", "changed_blocks", "deleted_diagnoses", "audit_log", "audit_head");

const reindex = async (world: World) => taken(await world.manage("POST", "/reindex"));

test("records get the measures that they would get now", async () => {
  const world = await createOldWorld(600);
  const before = await contentOf(world);
  await forget(world);
  assert.equal(await reindex(world), { records: 600, changed: 600, share: 1, isDone: true });
  assert.ok(await contentOf(world) === before);
  assert.equal(await reindex(world), { records: 0, changed: 0, share: 1, isDone: true });
});

test("new records are read, and are as they should be", async () => {
  const world = await createOldWorld(3);
  await reindex(world);
  await world.submit();
  assert.equal(await reindex(world), { records: 1, changed: 0, share: 1, isDone: true });
});

test("interrupted in any transaction and repeated, it ends the same, and no deleted record comes back", async () => {
  const world = await createOldWorld(900);
  const { id } = taken<{ id: string }>(await world.submit(), 201);
  const before = await contentOf(world);
  for (const last of [1, 2, 3]) {
    await forget(world);
    let writes = 0;
    const dying: Database = {
      ...world.database,
      write: (statements) => ++writes > last ? Promise.reject(new Error("Killed")) : world.database.write(statements),
    };
    const killed = (async () => {
      while (await reindexNext(dying) !== undefined);
    })();
    assert.match((await killed.catch((error: unknown) => error) as Error).message, "Killed");
    assert.ok((taken(await world.manage("POST", "/reindex")).records as number) < 901);
    assert.ok(await contentOf(world) === before);
  }
  taken(await world.manage("DELETE", `/diagnoses/${id}`));
  await forget(world);
  taken(await world.manage("POST", "/reindex"));
  const [{ left }] = await world.database.read({ sql: "select count(*) as left from diagnoses" }) as [{ left: number }];
  assert.is(left, 900);
});

test("killed with SIGKILL while it serves, and repeated, it ends the same", async () => {
  const folder = await createFolder();
  const url = `file:${folder.path}/ledger.db`;
  await migrate(url);
  const database = openDatabase(url, "manage");
  const read = async (sql: string) => (await database.read({ sql }))[0]!.value;
  const measures = "select group_concat(position || ' ' || measures, ';' order by position) as value from diagnoses";
  const position = () => read("select position as value from reindexing");
  const admin = managementOf(database, Date.now);
  await fillHistory(admin, await createTenant(admin, 1e6), { count: 12_800, days: 1 });
  while (await reindexNext(database) !== undefined);
  const [expected, end] = [await read(measures), await position()];
  const settings = { DATABASE_URL: url, ADMIN_TOKEN: adminToken };
  let reached = end as number;
  // Where this process stalls, the other one comes to its end before it is killed.
  for (let tries = 0; reached === end && tries < 10; tries++) {
    await database.write([{ sql: "update diagnoses set measures = 'null,null,null'" }, {
      sql: "update reindexing set position = 0",
    }]);
    const killed = await startService(currentRuntime, settings);
    const request = ask(killed.url, "/reindex", "POST").catch(() => undefined);
    await until(async () => await position() as number > 0);
    await killed.stop("SIGKILL");
    await request;
    reached = await position() as number;
  }
  assert.ok(reached > 0 && reached < (end as number), `${reached} of ${end}`);
  const service = await startService(currentRuntime, settings);
  let changed = 0;
  for (let isDone = false; !isDone;) {
    const answer = await ask(service.url, "/reindex", "POST");
    changed += answer.changed;
    isDone = answer.isDone;
  }
  assert.is(await service.stop(), 0);
  assert.ok(await read(measures) === expected);
  assert.is(changed, (end as number) - reached);
  await database.close();
  await folder.remove();
});

test.run();
