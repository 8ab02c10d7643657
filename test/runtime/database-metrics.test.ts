// Metrics of the database.
// Runs on every runtime in CI.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createMetrics } from "../../src/common/metrics.ts";
import { measureDatabase } from "../../src/runtime/serving/database-metrics.ts";
import { createTenant, createWorld } from "../helpers.ts";
import { taken } from "../management/management.ts";

const test = suite("metrics of the database");

const linesOf = (text: string, name: string) => text.split("\n").filter((line) => line.startsWith(`${name}{`));

test("show limit and usage of at most 20 workspaces, those nearest to their limits", async () => {
  const world = await createWorld({ monthlyLimit: 4 });
  await Promise.all([world.read(), world.submit()]);
  for (let nth = 0; nth < 25; nth++) await createTenant(world.admin, nth === 0 ? 0 : 10);
  const metrics = createMetrics();
  measureDatabase(metrics, world.database, () => world.now);
  await metrics.prepare();
  const used = linesOf(metrics.text(), "promptledger_quota_used");
  assert.is(used.length, 20);
  assert.is(used[0], `promptledger_quota_used{workspace="${world.workspaceId}"} 2`);
  assert.is(
    linesOf(metrics.text(), "promptledger_quota_limit")[0],
    `promptledger_quota_limit{workspace="${world.workspaceId}"} 4`,
  );
  assert.match(metrics.text(), /^promptledger_database_bytes [1-9]\d+$/m);
});

test("read 1,000 workspaces for one scrape, and nothing for the next 5 s", async () => {
  const world = await createWorld({ monthlyLimit: 4 });
  await world.database.write([{
    sql: `insert into workspaces (id, name, monthly_limit, created_at)
      with recursive n(i) as (select 1 union all select i + 1 from n where i < 1500)
      select printf('ws_z%05d', i), 'x', 1 + 1500 - i, 1 from n`,
  }, {
    sql: "insert into quota_usage (workspace_id, month, reads, submits) values ('ws_z01500', '2026-11', 1, 0)",
  }]);
  await world.read();
  let reads = 0;
  const read: typeof world.database.read = (statement) => (reads++, world.database.read(statement));
  const metrics = createMetrics();
  const { now } = performance;
  let at = 0;
  performance.now = () => at;
  try {
    measureDatabase(metrics, { ...world.database, read }, () => world.now);
    await metrics.prepare();
    const first = linesOf(metrics.text(), "promptledger_quota_used");
    assert.is(first[0], `promptledger_quota_used{workspace="${world.workspaceId}"} 1`);
    const before = reads;
    at = 4_999;
    await metrics.prepare();
    assert.is(reads, before);
    at = 5_000;
    await metrics.prepare();
  } finally {
    performance.now = now;
  }
  assert.is(linesOf(metrics.text(), "promptledger_quota_used")[0], 'promptledger_quota_used{workspace="ws_z01500"} 1');
});

test("show the last values while the database cannot be read, and drop deleted workspaces", async () => {
  const world = await createWorld();
  const metrics = createMetrics();
  measureDatabase(metrics, { ...world.database, read: () => Promise.reject(new Error("away")) }, () => world.now);
  await metrics.prepare();
  assert.equal(linesOf(metrics.text(), "promptledger_quota_used"), []);
  taken(await world.manage("DELETE", `/workspaces/${world.workspaceId}?confirm=Acme`));
  const others = createMetrics();
  measureDatabase(others, world.database, () => world.now);
  await others.prepare();
  assert.equal(linesOf(others.text(), "promptledger_quota_used"), []);
});

test.run();
