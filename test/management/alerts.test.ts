// Alerts: when they fire and resolve, what they count, and what people may change. The clock is the test's own.
// Runs on Node alone.
import * as assert from "uvu/assert";
import { createMetrics } from "../../src/common/metrics.ts";
import { checkAlerts } from "../../src/management/events/alert-checks.ts";
import type { Alert, AlertWithChanges } from "../../src/management/events/alerts.ts";
import { runChecks } from "../../src/management/upkeep/checks.ts";
import type { Event } from "../../src/management/events/events.ts";
import type { Stats } from "../../src/management/records/stats.ts";
import { requestFor } from "../../src/management/events/webhook-requests.ts";
import { startUpkeep } from "../../src/runtime/serving/upkeep.ts";
import { verifyBalanced } from "../balanced.ts";
import { captureLog, counting, createTenant, createWorld, goodBody, managementOf } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { suite } from "../suite.ts";
import { publish, readAll, refused, taken } from "./management.ts";

const test = suite("alerts");

const second = 1_000, minute = 60 * second, hour = 60 * minute, day = 24 * hour; // ms

const openWorld = () => createWorld({ monthlyLimit: 1e6 });
const post = ({ manage, workspaceId }: World, body: object) =>
  manage("POST", `/workspaces/${workspaceId}/alerts`, body);
const create = async (world: World, condition: string, body: object = {}) =>
  taken<Alert>(await post(world, { condition, ...body }), 201);
const show = async (world: World, { id }: Pick<Alert, "id">) =>
  taken<AlertWithChanges>(await world.manage("GET", `/alerts/${id}`));
const stateOf = async (world: World, alert: Pick<Alert, "id">) => (await show(world, alert)).state;
const eventsOf = async (world: World) =>
  (await readAll<{ action: string }>(world, "/audit?action=alert")).map(({ action }) => action).reverse()
    .filter((action) => /fired|resolved/.test(action));

/** Submits records, of which so many fail. */
async function submit(world: World, records: number, failed = 0, body: object = {}): Promise<string[]> {
  const answers = await Promise.all(
    Array.from({ length: records }, (_, nth) => world.submit({ ...goodBody, status: nth < failed ? 0 : 1, ...body })),
  );
  return answers.map((answer) => taken<{ id: string }>(answer, 201).id);
}

/** Lets time pass, and checks. */
async function checkAfter(world: World, ms: number) {
  world.now += ms;
  const { error, ...run } = await checkAlerts(world.admin);
  assert.is(error, undefined);
  return run;
}

test("an alert fires once when its condition holds, and resolves once it has not held for its time", async () => {
  const world = await openWorld();
  const alert = await create(world, "failures>5%", { deployId: world.deployId, overMs: 5 * minute });
  assert.match(alert.id, /^alert_[0-9a-z]{26}$/);
  assert.equal(
    [alert.state, alert.atLeast, alert.keepFiringMs, alert.reference],
    ["no_data", 50, 5 * minute, "greeting@production"],
  );
  await submit(world, 80, 4);
  assert.equal(await checkAfter(world, minute), { checked: 1, fired: 0, resolved: 0 });
  assert.equal([await stateOf(world, alert), (await show(world, alert)).value], ["ok", 0.05]);
  await submit(world, 20, 8);
  assert.equal(await checkAfter(world, minute), { checked: 1, fired: 1, resolved: 0 });
  const firedAt = world.now;
  assert.equal(await checkAfter(world, minute), { checked: 1, fired: 0, resolved: 0 });
  await submit(world, 200);
  for (let nth = 1; nth <= 5; nth++) assert.is((await checkAfter(world, minute)).resolved, 0);
  assert.equal([(await show(world, alert)).clearAt, await stateOf(world, alert)], [firedAt + 2 * minute, "firing"]);
  await submit(world, 100);
  assert.equal(await checkAfter(world, minute), { checked: 1, fired: 0, resolved: 1 });
  const { state, stateAt, clearAt, changes } = await show(world, alert);
  assert.equal([state, stateAt, clearAt], ["ok", world.now, null]);
  assert.equal(changes.map(({ action, actor, note }) => [action, actor, note]), [
    ["alert.resolved", "alerts", "failures is 0 % over 5m with 100 records, no longer beyond failures>5%"],
    ["alert.fired", "alerts", "failures is 12 % over 5m with 100 records, beyond failures>5%"],
    ["alert.created", "", ""],
  ]);
  const { items } = taken<{ items: Event[] }>(await world.manage("GET", "/events?types=alert.fired"));
  assert.equal(
    items.map(({ subject, source, actor, before, after, path }) => ({ subject, source, actor, before, after, path })),
    [{
      subject: { noun: "alert", id: alert.id, name: "failures>5% of greeting@production" },
      ...{ source: "embedded", actor: "alerts", before: { state: "ok" } },
      after: {
        ...{ state: "firing", deployId: world.deployId, promptId: null, condition: "failures>5%", overMs: 5 * minute },
        ...{ value: 0.12, limit: 0.05, records: 100, from: firedAt - 5 * minute, to: firedAt },
      },
      path: `${world.workspaceId}/alerts/${alert.id}`,
    }],
  );
  await verifyBalanced(world.admin);
});

test("a lack of records neither fires nor resolves, and what was clear before counts", async () => {
  const world = await openWorld();
  const alert = await create(world, "failures>5%", { overMs: 5 * minute, atLeast: 10, keepFiringMs: 10 * minute });
  await submit(world, 9, 9);
  await checkAfter(world, minute);
  const few = await show(world, alert);
  assert.equal([few.state, few.value, few.records], ["no_data", 1, 9]);
  await submit(world, 1);
  assert.is((await checkAfter(world, minute)).fired, 1);
  // An hour in which nobody reports: it stays, and the last numbers say so.
  assert.is((await checkAfter(world, hour)).resolved, 0);
  const silent = await show(world, alert);
  assert.equal([silent.state, silent.value, silent.records, silent.clearAt], ["firing", null, 0, null]);
  await submit(world, 10);
  await checkAfter(world, minute);
  const clear = await show(world, alert);
  assert.equal([clear.state, clear.clearAt], ["firing", world.now]);
  await checkAfter(world, 9 * minute);
  assert.is(await stateOf(world, alert), "firing");
  await submit(world, 10);
  assert.is((await checkAfter(world, minute)).resolved, 1);
  assert.is((await checkAfter(world, hour)).resolved, 0);
  assert.is(await stateOf(world, alert), "no_data");
  assert.equal(await eventsOf(world), ["alert.fired", "alert.resolved"]);
});

test("a condition that comes back before the time is over keeps the alert firing, without another event", async () => {
  const world = await openWorld();
  const alert = await create(world, "failures>50%", { overMs: 5 * minute, atLeast: 1, keepFiringMs: 5 * minute });
  for (let nth = 0; nth < 6; nth++) {
    await submit(world, 1, 1 - nth % 2);
    await checkAfter(world, 5 * minute - 1);
    assert.is(await stateOf(world, alert), "firing");
  }
  assert.equal(await eventsOf(world), ["alert.fired"]);
  const brief = await create(world, "failures>50%", { overMs: 5 * minute, atLeast: 1, keepFiringMs: 0 });
  for (const failed of [1, 0]) {
    await submit(world, 1, failed);
    await checkAfter(world, 5 * minute - 1);
  }
  assert.is(await stateOf(world, brief), "ok");
});

test("what an alert counts is what statistics of the same time say", async () => {
  const world = await openWorld();
  taken(await world.manage("POST", "/prices", { model: "gpt-4o", input: "2.5", output: "10" }));
  const other = await publish(world, { name: "other", deploy: "production" });
  const { deployment: { id: otherId } } = taken<{ deployment: { id: string } }>(other, 201);
  const usage = { token_usage: { prompt_tokens: 4000, completion_tokens: 1000 } };
  for (const latency of [100, 900, 1_800, 5_000]) {
    await submit(world, 3, 1, { latency, additional_properties: usage });
    world.now += minute;
  }
  const [rated, ...others] = await submit(world, 3, 0, { latency: 60_000 });
  const feedback = [
    ...[rated, ...others].map((record, nth) => ({ record, name: "thumb", value: nth > 0 })),
    ...[0.25, 0.5].map((value, nth) => ({ record: others[nth], name: "score", value })),
    { record: rated, name: "tone", value: "kind" },
  ];
  taken(await world.manage("POST", `/workspaces/${world.workspaceId}/feedback`, { feedback }));
  taken(await world.submit(goodBody, otherId), 201);
  for (let nth = 0; nth < 7; nth++) taken(await world.read());
  taken(await world.read(otherId));
  const totals = ["cost>1", "tokens>9", "records<9", "reads>0"];
  const means = ["failures>1%", "latency>1ms", "p50>1s", "p95>1m", "p99>1s", "cost>0.02/record", "tokens<1/record"];
  const conditions = [...means, ...totals, "thumb<80%", "feedback.score<0.5"];
  const scopes = { deployId: world.deployId, promptId: world.promptId, workspaceId: world.workspaceId };
  const made: [string, keyof typeof scopes, Alert][] = [];
  for (const condition of conditions) {
    for (const scope of ["deployId", "promptId", "workspaceId"] as const) {
      const body = scope === "workspaceId" ? {} : { [scope]: scopes[scope] };
      const atLeast = totals.includes(condition) ? {} : { atLeast: 1 };
      made.push([condition, scope, await create(world, condition, { overMs: 5 * minute, ...atLeast, ...body })]);
    }
  }
  // The first three records have left the window.
  await checkAfter(world, minute + 1);
  const range = `from=${world.now - 5 * minute}&to=${world.now}`;
  const one = taken<Stats>(await world.manage("GET", `/deployments/${world.deployId}/stats?${range}`)).all;
  const all = taken<Stats>(await world.manage("GET", `/workspaces/${world.workspaceId}/stats?${range}`)).all;
  assert.equal([one.records, all.records], [12, 13]);
  for (const [condition, scope, alert] of made) {
    const stats = scope === "workspaceId" ? all : one;
    const valueOf = (name: string) => stats.feedback.find((each) => each.name === name)!;
    const expected = {
      "failures>1%": stats.failures!.share,
      "latency>1ms": stats.latency.mean,
      "p50>1s": stats.latency.p50,
      "p95>1m": stats.latency.p95,
      "p99>1s": stats.latency.p99,
      "cost>1": Number(stats.cost.total),
      "cost>0.02/record": Number(stats.cost.mean),
      "tokens>9": stats.tokens.prompt + stats.tokens.completion,
      "tokens<1/record": stats.tokens.mean,
      "records<9": stats.records,
      "reads>0": scope === "workspaceId" ? 8 : 7,
      "thumb<80%": valueOf("thumb").share,
      "feedback.score<0.5": valueOf("score").mean,
    }[condition];
    assert.is((await show(world, alert)).value, expected, `${condition} ${scope}`);
  }
  const firing = await Promise.all(made.map(async ([condition, , alert]) => [condition, await stateOf(world, alert)]));
  const fired = new Set(firing.flatMap(([condition, state]) => state === "firing" ? condition! : []));
  // The mean cost is the limit itself.
  assert.equal([...fired], [
    ...["failures>1%", "latency>1ms", "p50>1s", "p99>1s", "tokens>9", "reads>0"],
    ...["thumb<80%", "feedback.score<0.5"],
  ]);
});

test("silence fires once a whole window has passed, and neither records nor reads are needed for it", async () => {
  const world = await openWorld();
  const scope = { deployId: world.deployId, overMs: 10 * minute, keepFiringMs: 0 };
  const records = await create(world, "records<1", scope), reads = await create(world, "reads<1", scope);
  assert.equal(await checkAfter(world, 10 * minute - 1), { checked: 2, fired: 0, resolved: 0 });
  assert.equal([await stateOf(world, records), await stateOf(world, reads)], ["no_data", "no_data"]);
  await submit(world, 1);
  taken(await world.read());
  assert.equal(await checkAfter(world, minute), { checked: 2, fired: 0, resolved: 0 });
  for (let nth = 0; nth < 9; nth++) taken(await world.read());
  assert.equal(await checkAfter(world, 9 * minute + 1), { checked: 2, fired: 1, resolved: 0 });
  assert.equal([await stateOf(world, records), await stateOf(world, reads)], ["firing", "ok"]);
  assert.equal((await show(world, records)).changes[0]!.note, "records is 0 over 10m, beyond records<1");
  await submit(world, 1);
  assert.equal(await checkAfter(world, 10 * minute), { checked: 2, fired: 1, resolved: 1 });
});

test("an alert that is muted is checked, but neither fires nor resolves", async () => {
  const world = await openWorld();
  const alert = await create(world, "failures>5%", { overMs: 5 * minute, atLeast: 1, keepFiringMs: 0 });
  const mute = async (body: object) => taken<Alert>(await world.manage("POST", `/alerts/${alert.id}/mute`, body));
  assert.is((await mute({ forMs: 2 * hour, note: "Known" })).muteEndsAt, world.now + 2 * hour);
  await submit(world, 1, 1);
  assert.is((await checkAfter(world, minute)).fired, 0);
  const quiet = await show(world, alert);
  assert.equal([quiet.state, quiet.value], ["ok", 1]);
  taken(await world.manage("POST", `/alerts/${alert.id}/unmute`));
  assert.is((await checkAfter(world, minute)).fired, 1);
  await mute({ forMs: 10 * minute });
  await submit(world, 100);
  await checkAfter(world, 9 * minute);
  await submit(world, 1);
  assert.is((await checkAfter(world, minute - 1)).resolved, 0);
  assert.is((await checkAfter(world, minute)).resolved, 1);
  const { changes } = await show(world, alert);
  assert.equal(changes.map(({ action, note }) => [action.slice("alert.".length), note]).reverse().slice(1, 3), [
    ["muted", "Known"],
    ["unmuted", ""],
  ]);
  assert.equal(await eventsOf(world), ["alert.fired", "alert.resolved"]);
});

test("a change of the condition resolves an alert that fires, and so does the deletion", async () => {
  const world = await openWorld();
  const alert = await create(world, "failures>5%", { overMs: 5 * minute, atLeast: 1 });
  const change = (body: object) => world.manage("PATCH", `/alerts/${alert.id}`, body);
  await submit(world, 2, 1);
  assert.is((await checkAfter(world, minute)).fired, 1);
  const before = await show(world, alert);
  const same = taken<Alert>(await change({ condition: "failures>5%", overMs: 5 * minute }));
  assert.equal([same.state, (await show(world, alert)).changes], ["firing", before.changes]);
  const changed = taken<Alert>(await change({ condition: "failures>40%" }));
  assert.equal([changed.state, changed.atLeast, changed.value], ["no_data", 1, null]);
  // It is due at once.
  assert.is((await checkAfter(world, 1)).fired, 1);
  const total = taken<Alert>(await change({ condition: "records>0", overMs: hour }));
  assert.equal([total.atLeast, total.keepFiringMs], [null, 5 * minute]);
  assert.is((await checkAfter(world, 1)).fired, 1);
  taken(await world.manage("DELETE", `/alerts/${alert.id}`));
  const entries = await readAll<{ action: string; note: string }>(world, "/audit?action=alert");
  assert.equal(entries.map(({ action, note }) => [action, note.split(" ").slice(0, 4).join(" ")]).reverse(), [
    ["alert.created", ""],
    ["alert.fired", "failures is 50 %"],
    ["alert.resolved", "The alert was changed"],
    ["alert.updated", ""],
    ["alert.fired", "failures is 50 %"],
    ["alert.resolved", "The alert was changed"],
    ["alert.updated", ""],
    ["alert.fired", "records is 2 over"],
    ["alert.resolved", "The alert was deleted"],
    ["alert.deleted", ""],
  ]);
  assert.equal((await world.manage("GET", `/alerts/${alert.id}`)).status, 404);
  await verifyBalanced(world.admin);
});

test("alerts stay with what they watch when that is renamed, and end when it is archived", async () => {
  const world = await openWorld();
  const { deployId, promptId } = world;
  const body = { overMs: 5 * minute, keepFiringMs: day };
  const ofDeployment = await create(world, "records>0", { ...body, deployId });
  const ofPrompt = await create(world, "records>0", { ...body, promptId });
  taken(await world.manage("POST", `/deployments/${deployId}/rename`, { name: "live" }));
  taken(await world.manage("POST", `/prompts/${promptId}/rename`, { name: "hello" }));
  assert.equal([(await show(world, ofDeployment)).reference, (await show(world, ofPrompt)).reference], [
    "hello@live",
    "hello",
  ]);
  await submit(world, 1);
  assert.is((await checkAfter(world, minute)).fired, 2);
  taken(await world.manage("POST", `/prompts/${promptId}/archive`));
  assert.is((await checkAfter(world, minute)).resolved, 2);
  assert.is((await show(world, ofPrompt)).changes[0]!.note, "What it watches is archived");
  assert.is((await checkAfter(world, minute)).fired, 0);
  assert.is(await stateOf(world, ofPrompt), "no_data");
  refused(
    await post(world, { condition: "records>0", deployId }),
    409,
    "Deployment hello@live is archived. Unarchive it first",
  );
  refused(await post(world, { condition: "records>0", promptId }), 409, "Prompt hello is archived. Unarchive it first");
  taken(await world.manage("POST", `/prompts/${promptId}/unarchive`));
  assert.is((await checkAfter(world, minute)).fired, 2);
  const path = `/workspaces/${world.workspaceId}?confirm=Acme`;
  taken(await world.manage("DELETE", path));
  assert.equal(await checkAfter(world, minute), { checked: 0, fired: 0, resolved: 0 });
  assert.equal(await world.database.read({ sql: "select * from alerts" }), []);
});

test("a condition may have spaces and $, and is stored without them", async () => {
  const world = await openWorld();
  for (
    const [typed, stored] of [
      ["failures > 5 %", "failures>5%"],
      [" p95  >  4 s ", "p95>4s"],
      ["cost>$1", "cost>1"],
      ["cost > $ 0.02 /record", "cost>0.02/record"],
      ["records\t< 1", "records<1"],
      ["feedback.cost > -0.5", "feedback.cost>-0.5"],
    ]
  ) {
    const { id, condition } = taken<Alert>(await post(world, { condition: typed }), 201);
    assert.is(condition, stored);
    const same = taken<Alert>(await world.manage("PATCH", `/alerts/${id}`, { condition: typed }));
    assert.equal([same.condition, same.changedAt], [stored, world.now]);
  }
  const entries = taken<{ items: { action: string }[] }>(await world.manage("GET", "/audit?action=alert"));
  assert.equal(new Set(entries.items.map(({ action }) => action)), new Set(["alert.created"]));
  await verifyBalanced(world.admin);
});

test("bad conditions are refused, each with a sentence that says what would do", async () => {
  const world = await openWorld();
  const ids = await submit(world, 1);
  const feedback = [["thumb", true], ["score", 0.5], ["tone", "kind"]].map(([name, value]) => ({
    ...{ record: ids[0], name, value },
  }));
  taken(await world.manage("POST", `/workspaces/${world.workspaceId}/feedback`, { feedback }));
  const form =
    "Field condition must be a measure, > or <, and a limit with its unit, as in failures>5%, p95>4s, cost>1, " +
    "thumb<80% or records<1";
  const measures =
    "Measures are failures, latency, p50, p95, p99, cost, tokens, records, reads. For feedback to come, write";
  for (
    const [condition, error] of [
      ["failures", form],
      ["failures=5%", `${form}. Only < and > compare`],
      ["failures>=5%", `${form}. Only < and > compare`],
      ["failures ≥ 5 %", `${form}. Only < and > compare`],
      ["failures>0,5%", `${form}. Decimals have a point: 0.5`],
      ["records>1,000", `${form}. Decimals have a point: 0.5`],
      ["p95>$4", `${form}. Only cost is in $`],
      [`failures${" ".repeat(300)}>5%`, form],
      ["failures>5x", form],
      [`records<${"9".repeat(13)}`, form],
      ["failures>5", "The limit of failures>5 must be in %"],
      ["failures>101%", "The limit of failures>101% must be from 0 to 100 %"],
      ["latency>2", "The limit of latency>2 must be in ms, s or m"],
      ["p95>20%", "The limit of p95>20% must be in ms, s or m"],
      ["cost>1s", "The limit of cost>1s must be a number, in total or /record"],
      ["records<1/record", "The limit of records<1/record must be a number without a unit"],
      ["tokens>-1", "The limit of tokens>-1 must be at least 0"],
      ["thumb<0.8", "The limit of thumb<0.8 must be in %, the share of true"],
      ["score<50%", "The limit of score<50% must be a number without a unit"],
      ["tone<5", "An alert takes no labels, and tone has them: remove tone<5"],
      ["failure>5%", `There is no measure or feedback failure. ${measures} feedback.failure>5%`],
      ["feedback.later>5s", "The limit of feedback.later>5s must be in % for booleans, or a number without a unit"],
    ] as const
  ) refused(await post(world, { condition }), 400, error);
  for (const overMs of [5 * minute - 1, day + 1]) {
    const error = `Field overMs must be an integer of milliseconds from ${5 * minute} to ${day}`;
    refused(await post(world, { condition: "records<1", overMs }), 400, error);
  }
  refused(
    await post(world, { condition: "records<1", atLeast: 5 }),
    400,
    "records<1 is counted in total: leave out atLeast",
  );
  const other = await createTenant(world.admin, 1000, "Other");
  refused(
    await post(world, { condition: "records<1", deployId: other.deployId }),
    404,
    `Deployment ${other.deployId} not found`,
  );
  taken(await publish(world, { name: "other" }), 201);
  refused(
    await post(world, { condition: "records<1", deployId: world.deployId, promptId: "other" }),
    400,
    "greeting@production is no deployment of other: give one of the two",
  );
  taken(await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { statuses: [{ status: 1, name: "ok" }] }));
  const none = await post(world, { condition: "failures>5%" });
  assert.equal([none.status, none.text.includes("No status of the workspace counts as a failure")], [409, true]);
  assert.is((await create(world, "feedback.later<50%")).atLeast, 50);
  for (let nth = 1; nth < 100; nth++) await create(world, "records<1");
  refused(
    await post(world, { condition: "records<1" }),
    409,
    "A workspace may have at most 100 alerts: delete one first",
  );
});

test("a check that is overtaken by a change, or by a service with another clock, says nothing twice", async () => {
  const world = await openWorld();
  const alert = await create(world, "failures>5%", { overMs: day, atLeast: 1 });
  await submit(world, 2, 2);
  world.now += minute;
  // While its records are counted, the alert gets another condition.
  let isChanged = false;
  const read: typeof world.database.read = async (statement) => {
    if (!isChanged && statement.sql.includes("diagnoses")) {
      isChanged = true;
      taken(await world.manage("PATCH", `/alerts/${alert.id}`, { condition: "failures<5%" }));
    }
    return await world.database.read(statement);
  };
  const { error, ...overtaken } = await checkAlerts({ ...world.admin, database: { ...world.database, read } });
  assert.equal([error, overtaken], [undefined, { checked: 1, fired: 0, resolved: 0 }]);
  const { state, value, checkedAt } = await show(world, alert);
  assert.equal([isChanged, state, value, checkedAt], [true, "no_data", null, null]);
  taken(await world.manage("PATCH", `/alerts/${alert.id}`, { condition: "failures>5%" }));
  const clocks = [0, 5, 10, 15].map((hours) => managementOf(world.database, () => world.now + hours * hour));
  const runs = await Promise.all(clocks.map((store) => checkAlerts(store)));
  assert.equal(runs.map(({ error }) => error), clocks.map(() => undefined));
  assert.is(runs.reduce((sum, { fired }) => sum + fired, 0), 1);
  assert.equal(await eventsOf(world), ["alert.fired"]);
});

test("a webhook of Slack gets a sentence that says what fires and why", async () => {
  const world = await openWorld();
  await create(world, "p95>2s", { overMs: 5 * minute, atLeast: 1, deployId: world.deployId });
  await submit(world, 1, 0, { latency: 4_000 });
  await checkAfter(world, minute);
  const { items } = taken<{ items: Event[] }>(await world.manage("GET", "/events?types=alert.fired"));
  const receiver = { url: "https://hooks.example.com/", format: "slack", credential: null, secrets: [] } as const;
  const { body } = await requestFor(receiver, JSON.stringify(items[0]), world.now);
  assert.equal(JSON.parse(body), {
    text: "An alert fires: p95&gt;2s of greeting@production, by alerts " +
      "(p95 is 4 s over 5m with 1 record, beyond p95&gt;2s)",
  });
});

test("a workspace that is deleted at any moment of a check is no failure", async () => {
  const operations = 20; // more than a check has
  for (let at = 0; at < operations; at++) {
    const world = await openWorld();
    await create(world, "records>0");
    await submit(world, 1);
    let nth = 0;
    const hooked = <T extends unknown[], R>(work: (...given: T) => Promise<R>) => async (...given: T): Promise<R> => {
      if (nth++ === at) taken(await world.manage("DELETE", `/workspaces/${world.workspaceId}?confirm=Acme`));
      return await work(...given);
    };
    const { read, write } = world.database;
    const database = { ...world.database, read: hooked(read), write: hooked(write) };
    assert.is((await checkAlerts({ ...world.admin, database })).error, undefined, `before operation ${at}`);
    assert.ok(nth < operations);
  }
});

test("without alerts a check is one query, and those that count the same share it", async () => {
  const world = await openWorld();
  const { database, counts } = counting(world.database), store = { ...world.admin, database };
  assert.equal(await checkAlerts(store), { checked: 0, fired: 0, resolved: 0 });
  assert.equal(counts, { reads: 1, writes: 0 });
  await create(world, "records<1");
  await checkAlerts(store);
  const one = { ...counts };
  for (const condition of ["failures>5%", "p95>4s", "cost>1"]) await create(world, condition);
  world.now += minute;
  await checkAlerts(store);
  assert.equal([counts.reads - one.reads, counts.writes - one.writes], [one.reads - 1, one.writes]);
  // Within a minute there is nothing to do.
  world.now += minute / 2;
  const before = { ...counts };
  await checkAlerts(store);
  assert.equal([counts.reads - before.reads, counts.writes - before.writes], [1, 0]);
});

test("the alerts of a workspace take turns, and keep no other workspace waiting when time is short", async () => {
  const world = await openWorld(), other = await createTenant(world.admin, 10, "Other");
  for (let nth = 1; nth <= 5; nth++) await create(world, "records<1", { overMs: hour + nth * minute });
  const quiet = await create({ ...world, workspaceId: other.workspaceId }, "records<1");
  for (let runs = 1; runs <= 5; runs++) {
    world.now += minute;
    let looks = 0;
    assert.is((await checkAlerts(world.admin, () => ++looks > 2)).checked, 2);
    assert.is((await show(world, quiet)).checkedAt, world.now);
    const { items } = taken<{ items: Alert[] }>(await world.manage("GET", `/workspaces/${world.workspaceId}/alerts`));
    assert.is(items.filter(({ checkedAt }) => checkedAt !== null).length, runs);
  }
});

test("each check does something, however little time it has", async () => {
  const world = await openWorld();
  await create(world, "records>0");
  const budget = { amount: "1", per: "day", at: "50" };
  taken(await world.manage("POST", `/workspaces/${world.workspaceId}/budgets`, budget), 201);
  await submit(world, 1, 0, { cost: 1 });
  world.now += 1;
  assert.equal(await runChecks({ store: world.admin, isOver: () => false, timeLimit: 0 }), []);
  const found = taken<{ items: Event[] }>(await world.manage("GET", "/events?types=alert.fired,budget.reached"));
  assert.equal(found.items.map(({ type }) => type), ["alert.fired", "budget.reached"]);
});

test("a service checks with the others of its list, and logs that alerts fire", async () => {
  const world = await openWorld();
  await create(world, "records>0", { keepFiringMs: 0, overMs: 5 * minute });
  await submit(world, 1);
  world.now += 1;
  const { log, logged } = captureLog("info");
  const parts = { store: world.admin, log, isOver: () => false };
  assert.equal(await runChecks(parts), []);
  world.now += 10 * minute;
  assert.equal(await runChecks(parts), []);
  assert.equal(logged.map((line) => JSON.parse(line).message), ["Alerts fire", "Alerts resolved"]);
  const metrics = createMetrics(), upkeep = startUpkeep({ ...parts.store, log, metrics }, hour, hour);
  const scrape = async () => {
    await metrics.prepare();
    return /^promptledger_alerts_firing (\d+)$/m.exec(metrics.text())?.[1];
  };
  assert.is(await scrape(), "0");
  await submit(world, 1);
  await checkAfter(world, minute);
  assert.is(await scrape(), "1");
  upkeep.stop();
});

test.run();
