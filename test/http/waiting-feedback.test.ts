// Feedback that waits for its record: for how long, and how much of it.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { recordLimits } from "../../src/feedback/feedback-state.ts";
import { waitingLimits } from "../../src/feedback/waiting-feedback.ts";
import { runUpkeep } from "../../src/management/upkeep/upkeep.ts";
import { bearer, createTenant, createWorld, goodBody } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { taken } from "../management/management.ts";

const test = suite("waiting feedback");

const day = 86_400_000; // ms
const hour = 3_600_000; // ms

type Given = { recordId: string | null; isChanged: boolean; givenAt: number; code?: string };

const give = async (world: World, key: string, name: string, value: unknown, bearing = world.key) => {
  const body = value === null ? {} : { body: JSON.stringify({ value }) };
  const method = value === null ? "DELETE" : "PUT";
  const answer = await world.send(`/v1/diagnosis/${key}/feedback/${name}`, {
    method,
    headers: bearer(bearing),
    ...body,
  });
  return { status: answer.status, ...answer.json as Given };
};

const submit = async (world: World, key: string) =>
  taken<{ id: string }>(await world.submit(goodBody, world.deployId, world.key, { "Idempotency-Key": key }), 201).id;

const feedbackOn = async (world: World, id: string) =>
  taken<{ feedback?: { name: string }[] }>(await world.manage("GET", `/diagnoses/${id}`)).feedback ?? [];

const waiting = async (world: World) => {
  const rows = await world.database.read({ sql: "select key, given_at from waiting_feedback order by given_at" });
  const counts = await world.database.read({ sql: "select * from waiting_counts" });
  assert.is(counts.reduce((sum, { places }) => sum + Number(places), 0), rows.length);
  return rows.length;
};

/** Lets pieces wait that were given at a time, each under a key of its own. */
const fill = (world: World, count: number, givenAt: number, workspaceId: string = world.workspaceId) =>
  world.database.write([{
    sql: `with recursive numbers (n) as (select 0 union all select n + 1 from numbers where n + 1 < :count)
      insert into waiting_feedback (workspace_id, key, name, author, value, comment, source, given_at)
      select :workspaceId, printf('%064x', :givenAt) || n, 'thumb', '', 1, '', 'user', :givenAt from numbers`,
    args: { workspaceId, count, givenAt },
  }]);

test("a record takes what was given up to two days before it, and nothing older", async () => {
  for (const [age, names] of [[2 * day, ["thumb"]], [2 * day + 1, []], [40 * day, []]] as const) {
    const world = await createWorld();
    await give(world, "order-1", "thumb", true);
    world.now += age;
    const id = await submit(world, "order-1");
    assert.equal((await feedbackOn(world, id)).map(({ name }) => name), names);
    assert.is(await waiting(world), 0);
  }
});

test("what has expired is as if it had never been given, whether or not it has been removed", async () => {
  const world = await createWorld();
  for (const name of ["thumb", "tone"]) await give(world, "order-1", name, true);
  world.now += 2 * day + 1;
  // More than a transaction removes, of which some is older than that under the key.
  await fill(world, 3_000, 1);
  const again = await give(world, "order-1", "thumb", true);
  assert.equal([again.status, again.isChanged, again.recordId, again.givenAt], [200, true, null, world.now]);
  assert.is((await give(world, "order-1", "tone", null)).isChanged, false);
  const id = await submit(world, "order-1");
  assert.equal((await feedbackOn(world, id)).map(({ name }) => name), ["thumb"]);
});

test("expired feedback holds no place on its record", async () => {
  const world = await createWorld();
  for (let nth = 0; nth < recordLimits.names; nth++) await give(world, "order-1", `n${nth}`, true);
  assert.is((await give(world, "order-1", "more", true)).code, "feedback_full");
  world.now += 2 * day + 1;
  await fill(world, 3_000, 1);
  assert.is((await give(world, "order-1", "more", true)).status, 200);
  assert.is((await give(world, "order-1", "n0", true)).status, 200);
});

test("a workspace whose feedback fills the waiting room is refused more, and others are not", async () => {
  const world = await createWorld();
  const other = await createTenant(world.admin);
  await fill(world, waitingLimits.workspace - 1, world.now);
  assert.is((await give(world, "last", "thumb", true)).status, 200);
  const refused = await give(world, "more", "thumb", true);
  assert.equal([refused.status, refused.code], [429, "too_much_feedback"]);
  assert.is((await give(world, "more", "thumb", 1, other.key)).status, 200);
  // What waits already may be changed and withdrawn, and one that is withdrawn leaves its place.
  assert.is((await give(world, "last", "thumb", false)).status, 200);
  assert.is((await give(world, "last", "thumb", null)).status, 200);
  assert.is((await give(world, "more", "thumb", true)).status, 200);
  world.now += 2 * day;
  assert.is((await give(world, "late", "thumb", true)).status, 429);
  world.now++;
  assert.is((await give(world, "late", "thumb", true)).status, 200);
});

test("how much waits is counted as it comes and goes, and not when more comes", async () => {
  const world = await createWorld();
  await give(world, "order-1", "thumb", true);
  await give(world, "order-1", "tone", true);
  await give(world, "order-2", "thumb", true);
  await give(world, "order-2", "thumb", false);
  assert.is(await waiting(world), 3);
  await give(world, "order-2", "thumb", null);
  assert.is(await waiting(world), 2);
  await submit(world, "order-1");
  assert.is(await waiting(world), 0);
  await world.database.write([{
    sql: "insert into waiting_counts values (?, ?)",
    args: [world.workspaceId, waitingLimits.workspace],
  }]);
  assert.is((await give(world, "order-3", "thumb", true)).status, 429);
});

test("a hundred places are for what waits for one record, and a long text takes several", async () => {
  const world = await createWorld({ maxBodyBytes: 20_000 });
  const say = async (name: string, comment: string) => {
    const body = JSON.stringify({ value: "kind", comment });
    return (await world.send(`/v1/diagnosis/order-1/feedback/${name}`, { method: "PUT", body })).status;
  };
  const long = "\u{1f600}".repeat(2_000); // 8,000 bytes, which take 32 places with the value
  for (const name of ["a", "b", "c"]) assert.is(await say(name, long), 200);
  assert.is(await say("d", "x".repeat(251)), 200); // 97 places
  assert.is(await say("d", "x".repeat(252)), 200); // 98
  assert.is(await say("e", "x".repeat(508)), 429); // 101
  assert.is(await say("e", "x".repeat(507)), 200); // 100
  assert.is(await say("e", "x".repeat(508)), 429);
  assert.is(await say("f", ""), 429);
  assert.is(await say("a", "short"), 200);
  assert.is(await say("f", ""), 200);
  assert.is((await give(world, "order-2", "f", "kind")).status, 200);
  const id = await submit(world, "order-1");
  assert.is((await feedbackOn(world, id)).length, 6);
  assert.is(await say("a", long), 200);
  assert.is(await waiting(world), 1);
});

test("long texts fill the waiting room sooner", async () => {
  const world = await createWorld({ maxBodyBytes: 20_000 });
  await fill(world, waitingLimits.workspace - 32, world.now);
  const say = async (key: string) => {
    const body = JSON.stringify({ value: true, comment: "x".repeat(8_000) });
    return (await world.send(`/v1/diagnosis/${key}/feedback/thumb`, { method: "PUT", body })).status;
  };
  assert.equal([await say("order-1"), await say("order-2")], [200, 429]);
  await give(world, "order-1", "thumb", true);
  assert.is((await give(world, "order-2", "thumb", true)).status, 200);
});

test("upkeep removes what has waited too long, of every workspace", async () => {
  const world = await createWorld();
  const other = await createTenant(world.admin);
  await fill(world, 2_500, world.now);
  await fill(world, 10, world.now, other.workspaceId);
  world.now += day;
  await give(world, "later", "thumb", true);
  world.now += day + hour;
  const run = await runUpkeep(world.admin, { holder: "test", interval: hour, isOver: () => false });
  assert.equal(run, { calls: 0, records: 0, feedback: 2_510 });
  assert.is(await waiting(world), 1);
});

test.run();
