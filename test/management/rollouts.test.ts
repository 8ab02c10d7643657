// Rollouts: who may start, change and stop one, what ends it, and what history and audit log say of it.
// Runs on Node alone.
import * as assert from "uvu/assert";
import type { Deployment } from "../../src/management/deployments/deployments.ts";
import type { DeploymentChange } from "../../src/management/deployments/history.ts";
import type { Rollout } from "../../src/management/terms/rollouts.ts";
import { createTenant, createWorld, goodBody, noon, promptFile } from "../helpers.ts";
import type { Answer, World } from "../helpers.ts";
import { suite } from "../suite.ts";
import { readAll, refused, refusedAs, taken } from "./management.ts";

const test = suite("rollouts in management");

const change = (world: World, action: string, body: object = {}, headers = {}): Promise<Answer> =>
  world.manage("POST", `/deployments/${world.deployId}/${action}`, body, headers);
const roll = (world: World, body: object, headers = {}): Promise<Answer> => change(world, "rollout", body, headers);
const show = async (world: World): Promise<Deployment> =>
  taken(await world.manage("GET", `/deployments/${world.deployId}`));
const list = (world: World): Promise<Rollout[]> => readAll(world, `/deployments/${world.deployId}/rollouts`);
const history = (world: World): Promise<DeploymentChange[]> => readAll(world, `/deployments/${world.deployId}/history`);

/** A world whose prompt has three versions. The first is live. */
async function createThree(): Promise<World> {
  const world = await createWorld();
  for (const title of ["Second", "Third"]) {
    taken(await world.manage("POST", `/prompts/${world.promptId}/versions`, { ...promptFile, title }), 201);
  }
  return world;
}

/** Fails unless the catalog is as the audit log says. */
async function verifyAudit(world: World): Promise<void> {
  const { audit } = taken<{ audit: { isIntact: boolean; rows: object[] } }>(await world.manage("GET", "/verify"));
  assert.equal([audit.isIntact, audit.rows], [true, []]);
}

test("starts, changes and stops, each with an entry of the history", async () => {
  const world = await createThree();
  const started = taken<Deployment>(await roll(world, { version: 2, percent: 0.1, actor: "ann", note: "Warmer" }));
  const { rollout } = started;
  assert.equal(rollout, { id: rollout!.id, version: 2, percent: 0.1, startedAt: noon, guard: null, certain: null });
  assert.match(rollout!.id, /^ro_[0-9a-z]{26}$/);
  assert.equal([started.revision, started.currentVersion], [2, 1]);
  world.now += 1000;
  taken(await roll(world, { percent: 33.3, actor: "bob" }));
  world.now += 1000;
  taken(await change(world, "rollout/stop", { note: "Colder after all" }));
  assert.equal(
    (await history(world)).map(({ revision, action, from, to, actor, note, rollout }) => {
      return [revision, action, from, to, actor, note, rollout && `${rollout.version} ${rollout.percent}`];
    }),
    [
      [4, "rollout_stopped", "2 at 33.3 %", "none", "", "Colder after all", null],
      [3, "rollout_changed", "2 at 0.1 %", "2 at 33.3 %", "bob", "", "2 33.3"],
      [2, "rollout_started", "none", "2 at 0.1 %", "ann", "Warmer", "2 0.1"],
      [1, "created", null, 1, "", "", undefined],
    ],
  );
  const [only, ...others] = await list(world);
  const { id, salt, ...rest } = only!;
  assert.equal([id, others], [rollout!.id, []]);
  assert.match(salt, /^[0-9a-f-]{36}$/);
  assert.equal(rest, {
    ...{ workspaceId: world.workspaceId, deployId: world.deployId, baseVersion: 1, version: 2, percent: 33.3 },
    ...{
      note: "Warmer",
      guard: null,
      certain: null,
      startedAt: noon,
      startedBy: "ann",
      endedAt: noon + 2000,
      outcome: "stopped",
    },
  });
  await verifyAudit(world);
});

test("the same share again changes nothing, and stopping none does not either", async () => {
  const world = await createThree();
  assert.is(taken<{ changed: boolean }>(await change(world, "rollout/stop")).changed, false);
  taken(await roll(world, { version: 2, percent: 10 }));
  for (const body of [{ percent: 10 }, { percent: 10, version: 2 }]) {
    const again = taken<Deployment & { changed: boolean }>(await roll(world, body));
    assert.equal([again.changed, again.revision], [false, 2]);
  }
});

test("bad input gets a sentence, and changes nothing", async () => {
  const world = await createThree();
  const reference = "greeting@production";
  const percents = "Field percent must be a number from 0.1 to 100 in steps of 0.1";
  for (const percent of [0, 0.05, 0.15, 100.1, -1, "10", 1e-9, 33.33]) {
    refused(await roll(world, { version: 2, percent }), 400, percents);
  }
  const none = `Deployment ${reference} has no rollout in progress. To start one, set version and percent`;
  for (const part of [{ version: 2 }, { percent: 10 }, { guard: null }]) refused(await roll(world, part), 409, none);
  const live = `Version 1 is live in ${reference}. A rollout needs another version`;
  refused(await roll(world, { version: 1, percent: 10 }), 409, live);
  refusedAs(404, "version_not_found", await roll(world, { version: 9, percent: 10 }));
  refusedAs(412, "deployment_outdated", await roll(world, { version: 2, percent: 10 }, { "If-Match": '"7"' }));
  taken(await change(world, "deactivate"));
  const inactive = `Deployment ${reference} is inactive. Activate it before you start a rollout`;
  refused(await roll(world, { version: 2, percent: 10 }), 409, inactive);
  taken(await change(world, "archive"));
  refusedAs(409, "deployment_archived", await roll(world, { version: 2, percent: 10 }));
  taken(await change(world, "unarchive"));
  taken(await change(world, "activate"));
  const { revision } = await show(world);
  taken(await roll(world, { version: 2, percent: 10 }, { "If-Match": `"${revision}"` }));
  const other = `Deployment ${reference} has a rollout of version 2 in progress. ` +
    "Promote that version or stop its rollout before you start another";
  refused(await roll(world, { version: 3, percent: 10 }), 409, other);
  assert.is((await show(world)).rollout?.percent, 10);
  assert.is((await list(world)).length, 1);
});

/** What ends a rollout of version 2 while version 1 is live, and how it says that it ended. */
const endings: [outcome: Rollout["outcome"], end: (world: World) => Promise<Answer>][] = [
  ["promoted", (world) => change(world, "promote", { version: 2 })],
  ["replaced", (world) => change(world, "promote", { version: 3 })],
  ["rolled_back", (world) => change(world, "rollback")],
  ["stopped", (world) => change(world, "rollout/stop")],
  ["deactivated", (world) => change(world, "deactivate")],
  ["archived", (world) => change(world, "archive")],
  ["archived", (world) => world.manage("POST", `/prompts/${world.promptId}/archive`, {})],
  [
    "replaced",
    (world) =>
      world.manage("POST", `/workspaces/${world.workspaceId}/publish`, {
        ...{ name: "greeting", title: "Fourth", messages: promptFile.messages, deploy: "production" },
      }),
  ],
  [
    "promoted",
    async (world) => {
      const { revision: ifRevision } = await show(world);
      const deploy = [{ name: "production", version: 2, ifRevision }];
      return await world.manage("POST", "/apply", {
        ...{ workspaceId: world.workspaceId, prompts: [{ name: "greeting", ifLatest: 3, deploy }] },
      });
    },
  ],
];

test("what changes the live version or refuses requests ends a rollout, in the same revision", async () => {
  for (const [outcome, end] of endings) {
    const world = await createThree();
    taken(await change(world, "promote", { version: 3 }));
    taken(await change(world, "promote", { version: 1 }));
    const { revision } = taken<Deployment>(await roll(world, { version: 2, percent: 10 }));
    const answer = await end(world);
    assert.ok(answer.status < 300, answer.text);
    const after = await show(world);
    assert.equal([after.rollout, after.revision], [null, revision + 1], String(outcome));
    assert.is((await history(world))[0]!.rollout, null, String(outcome));
    const [rollout] = await list(world);
    assert.equal([rollout!.outcome, rollout!.endedAt, rollout!.percent], [outcome, noon, 10]);
    await verifyAudit(world);
  }
});

test("what leaves the live version as it is leaves a rollout as it is", async () => {
  const world = await createThree();
  const { rollout } = taken<Deployment>(await roll(world, { version: 2, percent: 10 }));
  taken(await change(world, "promote", { version: 1 }));
  taken(await change(world, "rename", { name: "live" }));
  taken(await change(world, "protect"));
  taken(await world.manage("POST", `/prompts/${world.promptId}/rename`, { name: "hello" }));
  assert.equal((await show(world)).rollout, rollout);
  assert.is((await history(world)).filter(({ rollout }) => rollout !== undefined).length, 1);
  await verifyAudit(world);
});

test("records, exports, statistics, sessions and calls are those of one rollout if its id or its deployment is given", async () => {
  const world = await createThree();
  const other = await createTenant(world.admin);
  const start = async () => taken<Deployment>(await roll(world, { version: 2, percent: 50 })).rollout!.id;
  const submit = async (body: object) => taken<{ id: string }>(await world.submit({ ...goodBody, ...body }), 201).id;
  const first = await start();
  const ofFirst = [
    await submit({ rollout: first, promptVersion: 1 }),
    await submit({ rollout: first, promptVersion: 2 }),
  ];
  const outside = await submit({});
  taken(await change(world, "rollout/stop"));
  // Of two that start in one millisecond, neither is the newest.
  world.now += 1;
  const second = await start();
  const ofSecond = [await submit({ rollout: second, promptVersion: 2, sessionId: "another" })];
  const { workspaceId, deployId } = world, ofWorkspace = `/workspaces/${workspaceId}`;
  const idsIn = async (path: string) => (await readAll<{ id: string }>(world, path)).map(({ id }) => id).sort();
  for (
    const [query, expected] of [
      [`rollout=${first}`, ofFirst],
      [`rollout=${first}&promptVersion=2`, ofFirst.slice(1)],
      ["rollout=greeting@production", ofSecond],
      ["", [...ofFirst, outside, ...ofSecond]],
    ] as const
  ) {
    for (const path of [ofWorkspace, `/deployments/${deployId}`]) {
      assert.equal(await idsIn(`${path}/diagnoses?${query}`), expected.toSorted(), `${path}?${query}`);
      const { text } = await world.manage("GET", `${path}/diagnoses/export?${query}`);
      assert.equal(text.trimEnd().split("\n").map((line) => JSON.parse(line).id).sort(), expected.toSorted());
      assert.is(taken(await world.manage("GET", `${path}/stats?${query}`)).records, expected.length);
    }
    const calls = await readAll<{ id: string; rollout?: string }>(world, `${ofWorkspace}/calls?${query}`);
    assert.equal(calls.map(({ id }) => id.replace("call", "diag")).sort(), expected.toSorted());
    if (query.startsWith("rollout")) assert.ok(calls.every(({ rollout }) => rollout?.startsWith("ro_")));
  }
  const sessions = await readAll<{ sessionId: string }>(world, `${ofWorkspace}/sessions?rollout=greeting@production`);
  assert.equal(sessions.map(({ sessionId }) => sessionId), ["another"]);
  refusedAs(404, "rollout_not_found", await world.manage("GET", `${ofWorkspace}/diagnoses?rollout=greeting@none`));
  const theirs = `/workspaces/${other.workspaceId}/diagnoses?rollout=${first}`;
  assert.equal(await readAll(world, theirs), []);
});

test("a secret in a note is masked, and a workspace that is deleted takes its rollouts with it", async () => {
  const world = await createThree();
  taken(await roll(world, { version: 2, percent: 10, note: `with ${world.key}`, actor: world.key }));
  const [rollout] = await list(world);
  assert.equal([rollout!.note, rollout!.startedBy], ["with pl_…", "pl_…"]);
  const other = await createTenant(world.admin, 10, "Other");
  assert.equal(await readAll(world, `/deployments/${other.deployId}/rollouts`), []);
  for (let isDone = false; !isDone;) {
    const path = `/workspaces/${world.workspaceId}?confirm=Acme`;
    isDone = taken<{ isDone: boolean }>(await world.manage("DELETE", path)).isDone;
  }
  assert.equal(await world.database.read({ sql: "select id from rollouts" }), []);
});

test.run();
