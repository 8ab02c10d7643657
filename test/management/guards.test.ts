// Guards of rollouts: they stop a candidate that is beyond a limit, once, and nothing else.
// Runs on Node alone.
import * as assert from "uvu/assert";
import { checkGuards } from "../../src/management/upkeep/rollout-checks.ts";
import { verifyBalanced } from "../balanced.ts";
import { createMetrics } from "../../src/common/metrics.ts";
import { startUpkeep } from "../../src/runtime/serving/upkeep.ts";
import { until } from "../conformance/processes.ts";
import type { Database, Statement } from "../../src/database/database.ts";
import { captureLog, createTenant, createWorld, goodBody } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { suite } from "../suite.ts";
import { publish, refused, taken } from "./management.ts";

const test = suite("guards of rollouts");

type Rollout = { id: string; guard: string | null; certain: number | null; percent: number; outcome: string | null };

async function createCandidate(): Promise<World> {
  const world = await createWorld({ monthlyLimit: 1e6 });
  taken(await publish(world, { name: "greeting", title: "Warmer", messages: [{ role: "user", content: "x" }] }), 201);
  return world;
}

const send = (world: World, body: object) => world.manage("POST", `/deployments/${world.deployId}/rollout`, body);
const roll = async (world: World, body: object) =>
  taken<{ rollout: Rollout }>(await send(world, { version: 2, percent: 50, ...body })).rollout;
const listed = async ({ manage, deployId }: World) =>
  taken<{ items: Rollout[] }>(await manage("GET", `/deployments/${deployId}/rollouts`)).items;
const historyOf = async ({ manage, deployId }: World) =>
  taken<{ items: { action: string; from: unknown; to: unknown; actor: string; note: string }[] }>(
    await manage("GET", `/deployments/${deployId}/history`),
  ).items;

const revisionOf = async ({ send, deployId }: World) =>
  taken<{ deployments: Record<string, { revision: number }> }>(await send("/v1/revisions")).deployments[deployId]!
    .revision;

/** Submits records of both arms, of which so many fail, with latencies around some ms. */
async function submit(
  world: World,
  rollout: string,
  arms: [records: number, failed: number, latency: number, thumbs?: number][],
) {
  for (const [arm, [records, failed, latency, thumbs]] of arms.entries()) {
    const answers = await Promise.all(Array.from({ length: records }, (_, nth) =>
      world.submit({
        ...{ ...goodBody, rollout, promptVersion: arm + 1, status: nth < failed ? 0 : 1 },
        ...{ latency: latency + nth % 100, sessionId: `${arm} ${nth}` },
      })));
    const ids = answers.map((answer) => taken<{ id: string }>(answer, 201).id);
    if (thumbs === undefined) continue;
    const feedback = ids.map((record, nth) => ({ record, name: "thumb", value: nth < thumbs }));
    taken(await world.manage("POST", `/workspaces/${world.workspaceId}/feedback`, { feedback }));
  }
}

test("a candidate that is beyond a limit is stopped once, with the numbers in the audit log", async () => {
  const world = await createCandidate();
  const { id, certain } = await roll(world, { guard: "failures=+2%,p95=+20%" });
  assert.is(certain, 99);
  await submit(world, id, [[300, 15, 800], [300, 90, 800]]);
  const before = await revisionOf(world);
  const runs = await Promise.all([1, 2, 3].map(() => checkGuards(world.admin)));
  assert.equal(runs.reduce((sum, { checked, stopped }) => [sum[0]! + checked, sum[1]! + stopped], [0, 0]), [1, 1]);
  const [rollout] = await listed(world);
  assert.equal([rollout!.outcome, rollout!.percent, rollout!.guard], ["guard", 50, "failures=+2%,p95=+20%"]);
  const [last] = await historyOf(world);
  assert.equal([last!.action, last!.actor], ["rollout_stopped", "guard"]);
  assert.match(
    last!.note,
    /^The guard stopped version 2 at 50 %: failures 25 points \([\d.]+ points to [\d.]+ points\), beyond failures=\+2%\. At 99 % certainty, of 300 records of the base and 300 of the candidate$/,
  );
  assert.is(await revisionOf(world), before + 1);
  world.now += 61_000;
  assert.equal(await checkGuards(world.admin), { checked: 0, stopped: 0 });
  await verifyBalanced(world.admin);
});

test("a service checks guards in the background, and logs what it stopped", async () => {
  const world = await createCandidate();
  const { id } = await roll(world, { guard: "failures=+2%" });
  await submit(world, id, [[200, 10, 800], [200, 100, 800]]);
  const { log, logged } = captureLog("warn");
  const parts = { database: world.database, clock: () => world.now, log, metrics: createMetrics() };
  const upkeep = startUpkeep(parts, 60_000, 0);
  await until(() => logged.length > 0);
  upkeep.stop();
  assert.match(logged[0]!, /"Stopped rollouts whose candidate was beyond a limit of the guard","rollouts":1/);
  assert.is((await listed(world))[0]!.outcome, "guard");
});

test("percentiles and feedback are guarded too, each by its unit", async () => {
  for (
    const [guard, base, candidate, words] of [
      ["failures=+50%,p95=+20%", [600, 0, 800], [600, 0, 1600], "p95 "],
      ["thumb=-5%", [400, 0, 8, 320], [400, 0, 8, 200], "thumb −30 points "],
    ] as const
  ) {
    const world = await createCandidate();
    const { id } = await roll(world, { guard });
    await submit(world, id, [[...base], [...candidate]] as never);
    assert.equal(await checkGuards(world.admin), { checked: 1, stopped: 1 });
    assert.ok((await historyOf(world))[0]!.note.includes(`: ${words}`), (await historyOf(world))[0]!.note);
  }
});

test("a candidate that has none of the rare values yet goes on, whether their bounds are declared or not", async () => {
  for (const bounds of [undefined, { minimum: 0, maximum: 1 }]) {
    const world = await createCandidate(), names = `/workspaces/${world.workspaceId}/feedback-names`;
    const rule = { name: "score", kind: "number", ...bounds };
    if (bounds !== undefined) taken(await world.manage("POST", names, rule));
    const { id } = await roll(world, { percent: 10, guard: "score=+0,score=-0", certain: 95 });
    const rate = async (arm: number, records: number, zeros: number) => {
      const answers = await Promise.all(
        Array.from({ length: records }, () => world.submit({ ...goodBody, rollout: id, promptVersion: arm + 1 })),
      );
      const feedback = answers.map((answer, nth) => ({
        ...{ record: taken<{ id: string }>(answer, 201).id, name: "score", value: nth < zeros ? 0 : 1 },
      }));
      taken(await world.manage("POST", `/workspaces/${world.workspaceId}/feedback`, { feedback }));
    };
    await rate(0, 270, 27);
    await rate(1, 30, 0);
    assert.equal(await checkGuards(world.admin), { checked: 1, stopped: 0 });
    await rate(1, 90, 80);
    world.now += 61_000;
    assert.equal(await checkGuards(world.admin), { checked: 1, stopped: 1 });
    assert.match((await historyOf(world))[0]!.note, /score −0\.[\d]+ \(−0\.[\d]+ to −0\.[\d]+\), beyond score=-0/);
  }
});

test("what is not certain, or better, goes on, and is checked once a minute", async () => {
  const world = await createCandidate();
  const { id } = await roll(world, { guard: "failures=+2%", certain: 99 });
  await submit(world, id, [[200, 60, 800], [200, 20, 800]]);
  assert.equal(await checkGuards(world.admin), { checked: 1, stopped: 0 });
  assert.equal(await checkGuards(world.admin), { checked: 0, stopped: 0 });
  world.now += 61_000;
  assert.equal(await checkGuards(world.admin), { checked: 1, stopped: 0 });
  const [{ percent, outcome }] = await listed(world) as [Rollout];
  assert.equal([percent, outcome], [50, null]);
});

test("a workspace with many guards keeps those of others from none of their turns", async () => {
  const world = await createCandidate();
  const { admin, database, workspaceId, deployId } = world;
  const { id: rollout } = await roll(world, { guard: "failures=+2%" });
  const other = await createTenant(admin, 1000, "Other");
  const copy = (count: number, workspace: string, deployment: string) => ({
    sql: `insert into rollouts (
        id, workspace_id, deployment_id, base_version, version, share, salt, note, started_at, started_by, guard, certain
      ) select :workspace || value, :workspace, :deployment || value, base_version, version, share, salt, note, started_at,
        started_by, guard, certain from rollouts r, json_each(:numbers) where r.id = :rollout`,
    args: { workspace, deployment, rollout, numbers: JSON.stringify(Array.from({ length: count }, (_, nth) => nth)) },
  });
  await database.write([copy(50, workspaceId, deployId), copy(2, other.workspaceId, other.deployId)]);
  const owners: unknown[] = [];
  const watched: Database = {
    ...database,
    async write(statements) {
      const results = await database.write(statements);
      const [{ sql, args }] = statements as [Statement];
      if (sql.includes("checked_at = :now")) {
        const rows = { sql: "select workspace_id from rollouts where id = ?", args: [(args as { id: string }).id] };
        owners.push((await database.read(rows))[0]!.workspace_id);
      }
      return results;
    },
  };
  // Each run has time for some of them.
  for (const count of [4, 6]) {
    await checkGuards({ ...admin, database: watched }, () => owners.length >= count);
    world.now += 61_000;
  }
  // Both have one in each turn.
  for (const turn of [0, 2, 4]) assert.is(new Set(owners.slice(turn, turn + 2)).size, 2);
  assert.is(owners.length, 6);
});

test("a guard stays while the share changes, and can be replaced", async () => {
  const world = await createCandidate();
  await roll(world, { percent: 1, guard: "failures=+2%", certain: 95 });
  assert.equal(await roll(world, { percent: 5 }).then(({ guard, certain }) => [guard, certain]), ["failures=+2%", 95]);
  const { guard, certain } = await roll(world, { percent: 5, guard: "latency=+10%" });
  assert.equal([guard, certain], ["latency=+10%", 95]);
  assert.is(taken<{ changed: boolean }>(await send(world, { percent: 5, guard: "latency=+10%" })).changed, false);
});

test("a guard is set, changed and removed while a rollout is in progress, each as a step of its own", async () => {
  const world = await createCandidate();
  const { id } = await roll(world, { percent: 10 });
  const step = async (body: object) => {
    const { rollout, changed } = taken<{ rollout: Rollout; changed: boolean }>(await send(world, body));
    return [changed, rollout.percent, rollout.guard, rollout.certain];
  };
  assert.equal(await step({ guard: "failures=+2%", note: "Watch it" }), [true, 10, "failures=+2%", 99]);
  assert.equal(await step({ certain: 95 }), [true, 10, "failures=+2%", 95]);
  assert.equal(await step({ guard: "failures=+2%" }), [false, 10, "failures=+2%", 95]);
  assert.equal(await step({ guard: null }), [true, 10, null, null]);
  assert.equal(await step({ guard: null }), [false, 10, null, null]);
  const history = await historyOf(world);
  const guarded = (certain: number) => `2 at 10 %, guarded by failures=+2% at ${certain} %`;
  assert.equal(history.slice(0, 3).map(({ action, from, to, note }) => [action, from, to, note]), [
    ["rollout_changed", guarded(95), "2 at 10 %", ""],
    ["rollout_changed", guarded(99), guarded(95), ""],
    ["rollout_changed", "2 at 10 %", guarded(99), "Watch it"],
  ]);
  // One without a guard is left alone, whatever its records show.
  await submit(world, id, [[200, 10, 800], [200, 100, 800]]);
  assert.equal(await checkGuards(world.admin), { checked: 0, stopped: 0 });
  await send(world, { guard: "failures=+2%" });
  assert.equal(await checkGuards(world.admin), { checked: 1, stopped: 1 });
  await verifyBalanced(world.admin);
});

test("a guard may have spaces, and is stored without them", async () => {
  const world = await createCandidate();
  const typed = " failures = +2 % , p95 = + 20 %,latency=-1% ", stored = "failures=+2%,p95=+20%,latency=-1%";
  const { rollout } = taken<{ rollout: { guard: string } }>(
    await send(world, { version: 2, percent: 5, guard: typed }),
  );
  assert.is(rollout.guard, stored);
  assert.is(taken<{ changed: boolean }>(await send(world, { guard: typed })).changed, false);
});

test("limits that cannot be are refused with a sentence", async () => {
  const world = await createCandidate();
  const { workspaceId } = world;
  for (const [name, kind] of [["thumb", "boolean"], ["score", "number"], ["tone", "label"]]) {
    taken(await world.manage("POST", `/workspaces/${workspaceId}/feedback-names`, { name, kind }));
  }
  const form = "Field guard must be up to 10 limits, as in failures=+2%,p95=+20%,thumb=-5%";
  const refusals: [guard: string, error: string][] = [
    ["failures", form],
    ["failures=2%", `${form}. Each limit has + or - before its number`],
    ["failures > +2 %", `${form}. Each limit has = and a sign`],
    ["failures=+2,5%", `${form}. Decimals have a point: 0.5`],
    [Array(11).fill("p95=+1%").join(), form],
    ["p95=+20", "The limit p95=+20 must be in %"],
    ["thumb=-5", "The limit thumb=-5 must be in %"],
    ["score=-5%", "The limit score=-5% must be without %"],
    ["tone=+5%", "A guard takes no labels, and tone has them: remove tone=+5%"],
  ];
  for (const [guard, error] of refusals) {
    refused(await send(world, { version: 2, percent: 5, guard }), 400, error);
  }
  refused(
    await send(world, { version: 2, percent: 5, guard: "p95=+1%", certain: 100 }),
    400,
    "Field certain must be a number from 50 to 99.99",
  );
  const needsGuard = "Field certain must come with a guard: there is none";
  refused(await send(world, { version: 2, percent: 5, certain: 95 }), 400, needsGuard);
  assert.equal(await listed(world), []);
  await roll(world, { percent: 5, guard: "p95=+1%" });
  refused(await send(world, { guard: null, certain: 95 }), 400, needsGuard);
  await send(world, { guard: null });
  refused(await send(world, { certain: 95 }), 400, needsGuard);
});

test("a guard that changes while it is checked stops nothing", async () => {
  for (const change of [{ guard: null }, { guard: "failures=+90%" }, { certain: 99.99 }]) {
    const world = await createCandidate();
    const { id } = await roll(world, { guard: "failures=+2%" });
    await submit(world, id, [[200, 10, 800], [200, 100, 800]]);
    const { admin } = world;
    let isChanged = false;
    const database: typeof admin.database = {
      ...admin.database,
      async read(statement) {
        const rows = await admin.database.read(statement);
        if (!isChanged && statement.sql.includes("as offsets")) {
          isChanged = true;
          assert.ok(taken<{ changed: boolean }>(await send(world, change)).changed);
        }
        return rows;
      },
    };
    assert.equal(await checkGuards({ ...admin, database }), { checked: 1, stopped: 0 });
    assert.ok(isChanged);
    assert.is((await listed(world) as Rollout[])[0]!.outcome, null);
  }
});

test.run();
