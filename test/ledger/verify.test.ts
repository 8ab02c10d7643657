// Verifies the ledgers of many workspaces, in pages that fit into a server's reply.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { verifyLedger } from "../../src/log/verify.ts";
import type { Database } from "../../src/database/database.ts";
import { unbalanced } from "../balanced.ts";
import { createTenant, createWorld, goodBody } from "../helpers.ts";
import type { Tenant, World } from "../helpers.ts";
import { taken } from "../management/management.ts";

const test = suite("verify");

async function createTenants(count: number): Promise<{ world: World; tenants: Tenant[] }> {
  const world = await createWorld({ monthlyLimit: 1e6 });
  const tenants: Tenant[] = [];
  while (tenants.length < count) tenants.push(await createTenant(world.admin, 1e6));
  return { world, tenants };
}

const submitAll = (world: World, tenants: Tenant[]) =>
  Promise.all(tenants.map(({ deployId, key }) => world.submit(goodBody, deployId, key)));

/** The same database. `between` runs after each read of a page of counts, with the number of its rows. */
const watching = (database: Database, between: (rows: number) => Promise<unknown>): Database => ({
  ...database,
  async read(statement) {
    const rows = await database.read(statement);
    if (rows.some(({ kind }) => kind === "log")) await between(rows.length);
    return rows;
  },
});

const nothing = () => {};

test("ledgers balance with any page size, while requests are accepted between the pages", async () => {
  const { world, tenants } = await createTenants(9);
  const month = 30 * 86_400_000;
  for (let index = 0; index < 3; index++) {
    await submitAll(world, tenants.filter((_, at) => at % (index + 1) === 0));
    await world.read(tenants[0]!.deployId, tenants[0]!.key);
    world.now += month;
  }
  const chosen = fc.array(fc.nat({ max: 8 }), { maxLength: 4 }).map((indexes) => indexes.map((at) => tenants[at]!));
  const run = fc.asyncProperty(
    fc.integer({ min: 1, max: 40 }),
    fc.array(chosen, { maxLength: 20 }),
    async (size, steps) => {
      const before = await verifyLedger(world.database, undefined, nothing);
      const work = [...steps];
      const database = watching(world.database, (rows) => {
        // One more row has the end of the log.
        assert.ok(rows <= Math.max(size, 8) + 1, `${rows} rows`);
        return submitAll(world, work.shift() ?? []);
      });
      const ledgers = await verifyLedger(database, undefined, nothing, size);
      assert.equal(unbalanced(ledgers), []);
      const sum = (all: typeof ledgers) => all.reduce((sum, { used }) => sum + used, 0);
      assert.ok(sum(ledgers) >= sum(before));
      const after = await verifyLedger(world.database, undefined, nothing);
      assert.equal(await verifyLedger(world.database, undefined, nothing, size), after);
    },
  );
  await fc.assert(run, { numRuns: 40 });
});

test("a count that was tampered with is found with any page size", async () => {
  const { world, tenants } = await createTenants(5);
  await submitAll(world, tenants);
  const { workspaceId } = tenants[2]!;
  await world.database.write([{
    sql: "update quota_usage set submits = submits + 1 where workspace_id = ?",
    args: [workspaceId],
  }]);
  for (const size of [1, 2, 3, 100]) {
    const database = watching(world.database, () => submitAll(world, tenants));
    const wrong = (await verifyLedger(database, undefined, nothing, size)).filter(({ balanced }) => !balanced);
    assert.equal(wrong.map((ledger) => ledger.workspaceId), [workspaceId]);
  }
});

/** Makes workspaces that have nothing but a count. It balances if the calls are pruned. */
const addCounts = ({ database }: World, prefix: string, count: number, isPruned: boolean) => {
  const numbers = "with recursive n(i) as (select 1 union all select i + 1 from n where i < :count)";
  const id = "printf('%s%05d', :prefix, i)";
  const args = { count, prefix };
  const rows = `${numbers} select ${id}, '2026-10', 1, 2 from n`;
  return database.write([
    {
      sql: `insert into workspaces (id, name, monthly_limit, upgrade_url, created_at)
        ${numbers} select ${id}, 'x', 1, null, 1 from n`,
      args,
    },
    { sql: `insert into quota_usage (workspace_id, month, reads, submits) ${rows}`, args },
    ...(isPruned
      ? [{
        sql: `insert into pruned_calls (workspace_id, month, api_key_id, deployment_id, reads, submits) ${
          rows.replace("'2026-10'", "'2026-10', '', ''")
        }`,
        args,
      }]
      : []),
  ]);
};

test("at most 1,000 ledgers are returned, unbalanced ones first, and all are counted", async () => {
  const world = await createWorld();
  const verify = async () => {
    type Verification = {
      ledgers: { workspaceId: string; balanced: boolean }[];
      feedback: object;
      audit: object;
      damaged: object;
    };
    const { ledgers, feedback: _feedback, audit: _audit, damaged: _damaged, ...summary } = taken<Verification>(
      await world.manage("GET", "/verify"),
    );
    return { ...summary, listed: ledgers.length, wrong: ledgers.filter(({ balanced }) => !balanced).length };
  };
  await addCounts(world, "ws_a", 1200, true);
  assert.equal(await verify(), { balanced: true, total: 1200, unbalanced: 0, listed: 1000, wrong: 0 });
  await addCounts(world, "ws_b", 30, false);
  assert.equal(await verify(), { balanced: false, total: 1230, unbalanced: 30, listed: 1000, wrong: 30 });
  await addCounts(world, "ws_c", 8000, false);
  assert.equal(await verify(), { balanced: false, total: 9230, unbalanced: 8030, listed: 1000, wrong: 1000 });
});

test.run();
