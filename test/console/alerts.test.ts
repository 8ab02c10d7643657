// Alerts in the console, without scripts: created, seen to fire and to resolve, muted, changed and deleted.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { checkAlerts } from "../../src/management/events/alert-checks.ts";
import { createAlert, listAlerts } from "../../src/management/events/alerts.ts";
import type { Alert } from "../../src/management/events/alerts.ts";
import { createToken } from "../../src/management/access/tokens.ts";
import { listWorkspaceStates } from "../../src/management/access/workspace-states.ts";
import { call } from "../actions.ts";
import { counting, createTenant, goodBody } from "../helpers.ts";
import { assertHarmless, attacks, withoutFields } from "./attacks.ts";
import { createVisit, linksIn, locationIn, refusalIn, visit, weightOf } from "./visitor.ts";

const test = suite("alerts in the console");

const minute = 60_000; // ms

async function stage() {
  const { world, visitor } = await createVisit({ monthlyLimit: 1e6 });
  const find = async () => (await call(listAlerts, world.admin, { workspaceId: world.workspaceId })).items[0] as Alert;
  const checkAfter = async (ms: number) => {
    world.now += ms;
    await checkAlerts({ database: world.database, clock: () => world.now });
  };
  const submit = async (statuses: number[]) => {
    for (const status of statuses) await world.submit({ ...goodBody, status });
  };
  return { world, visitor, find, checkAfter, submit };
}

const failures = { condition: "failures>50%", watched: "", overMs: "900000", atLeast: "2", keepFiringMs: "0" };

test("an alert is created, fires and resolves, and the overview says which fire", async () => {
  const { world, visitor, find, checkAfter, submit } = await stage();
  assert.match(await visitor.see("/alerts"), "No alert yet");
  assert.not.match(await visitor.see(""), "Firing");
  const made = await visitor.send("/alerts", { ...failures, watched: world.deployId });
  const { id, deployId, overMs, atLeast, keepFiringMs } = await find(), path = `/alerts/${id}`;
  assert.is(locationIn(made, "/alerts"), `${path}?done=created`);
  assert.equal([deployId, overMs, atLeast, keepFiringMs], [world.deployId, 15 * minute, 2, 0]);
  assert.match(await visitor.see(`${path}?done=created`), /chip off">no data</);
  await submit([0, 0, 1]);
  await checkAfter(minute);
  for (const page of ["", "/alerts", path]) {
    const text = await visitor.see(page);
    for (const shown of [/failures&gt;50%/, /chip bad">firing</, /66\.67 %/, /greeting<wbr>@production/]) {
      assert.match(text, shown, page);
    }
  }
  assert.ok(linksIn(await visitor.see("")).some((href) => href.endsWith(path.slice(1))));
  await createTenant(world.admin, 10, "Quiet");
  const cards = (await visitor.open("workspaces")).text;
  assert.is(cards.match(/<data value="1">1<\/data> alert firing/g)!.length, 1);
  world.now += 16 * minute;
  await submit([1, 1]);
  await checkAfter(minute);
  const resolved = await visitor.see(path);
  assert.match(resolved, /chip live">ok</);
  assert.match(resolved, /<caption class="hide">History<.*>resolved<.*>fired<.*>created</s);
  assert.not.match(await visitor.see(""), "Firing");
  assert.match(await visitor.see("/audit?action=alert.fired,alert.resolved"), /alert resolved.*alert fired/s);
  await world.close();
});

test("the list of workspaces asks the database as often for many as for one", async () => {
  const { world } = await stage();
  const { database, counts } = counting(world.database);
  const list = async () => {
    counts.reads = 0;
    return (await call(listWorkspaceStates, { ...world.admin, database }, {})).items;
  };
  assert.equal((await list()).map(({ used, firing }) => [used, firing]), [[0, 0]]);
  const { reads } = counts;
  for (const name of ["One", "Two", "Three"]) await createTenant(world.admin, 10, name);
  assert.equal([(await list()).length, counts.reads], [4, reads]);
  await world.close();
});

test("an alert is muted, unmuted, changed and deleted", async () => {
  const { world, visitor, find } = await stage();
  await visitor.send("/alerts", { ...failures, watched: world.promptId });
  const { id, promptId } = await find(), path = `/alerts/${id}`;
  assert.is(promptId, world.promptId);
  const act = async (form: Record<string, string>) => locationIn(await visitor.send(path, form), path);
  assert.is(await act({ do: "mute", forMs: "14400000", note: "Known <b>" }), `${path}?done=muted`);
  const muted = await visitor.see(`${path}?done=muted`);
  for (const shown of [/muted, ends <time[^>]*>in 4 h/, /Known &lt;b&gt;/, />Unmute</]) assert.match(muted, shown);
  assert.is(await act({ do: "unmute" }), `${path}?done=unmuted`);
  assert.is((await find()).muteEndsAt, null);
  const change = { do: "change", condition: "p95>4s", overMs: "3600000", atLeast: "10", keepFiringMs: "3600000" };
  assert.is(await act(change), `${path}?done=changed`);
  const { condition, overMs, atLeast, keepFiringMs } = await find();
  assert.equal([condition, overMs, atLeast, keepFiringMs], ["p95>4s", 60 * minute, 10, 60 * minute]);
  const changed = await visitor.see(path);
  assert.match(changed, /<option value="3600000" selected>1.h<\/option>/);
  assert.is(await act({ do: "delete" }), "/alerts?done=deleted");
  assert.is((await visitor.open(world.workspaceId + path)).status, 404);
  await world.close();
});

test("what cannot be is refused in a sentence, and the form keeps what was entered", async () => {
  const { world, visitor, find } = await stage();
  const tries: [form: Record<string, string>, reason: RegExp][] = [
    [{ condition: "" }, /^Condition must be a measure/],
    [{ condition: "<b>" }, /^Condition must be a measure/],
    [{ condition: "failures>5s" }, /^The limit of failures&gt;5s must be in %/],
    [{ condition: "speed>5" }, /^There is no measure or feedback speed\./],
    [{ condition: "cost>1" }, /leave out atLeast/],
    [{ overMs: "1" }, /^Window must be an integer/],
    [{ overMs: "soon" }, /^overMs must be a whole number|^Window must be/],
    [{ atLeast: "0" }, /^Records at least must be/],
  ];
  for (const [changed, reason] of tries) {
    const form = { ...failures, ...changed }, { status, text } = await visitor.send("/alerts", form);
    assert.is(status, 400, JSON.stringify(changed));
    assert.match(refusalIn(text)!, reason);
    assert.match(text, `name="atLeast" type="number" value="${form.atLeast}"`);
  }
  for (const watched of ["dep_none", "prompt_none", "none@here", "none"]) {
    assert.is((await visitor.send("/alerts", { ...failures, watched })).status, 404, watched);
  }
  await visitor.send("/alerts", failures);
  const path = `/alerts/${(await find()).id}`;
  for (const form of [{}, { do: "nothing" }, { do: "constructor" }] as Record<string, string>[]) {
    assert.is((await visitor.send(path, form)).status, 400);
  }
  assert.is((await visitor.open(`${world.workspaceId}/alerts/alert_x`)).status, 404);
  await world.close();
});

test("viewers see alerts, and alerts of other workspaces are not there", async () => {
  const { world, visitor } = await stage();
  const { admin, workspaceId } = world;
  const other = await createTenant(admin, 10, "Other");
  const make = (workspaceId: Alert["workspaceId"]) => call(createAlert, admin, { workspaceId, condition: "records<1" });
  const [own, theirs] = [await make(workspaceId), await make(other.workspaceId)];
  const { token } = await call(createToken, admin, { name: "vera", role: "viewer", workspaceId });
  const viewer = await visit(world, token), lack = "This needs the role editor. You are signed in as viewer.";
  for (const path of ["/alerts", `/alerts/${own.id}`]) {
    const text = await viewer.see(path);
    assert.match(text, lack);
    assert.is(text.match(/method="post"/g)!.length, 1, "only to sign out");
  }
  for (const todo of ["mute", "unmute", "change", "delete"]) {
    assert.is((await viewer.send(`/alerts/${own.id}`, { do: todo, ...failures })).status, 403, todo);
  }
  assert.is((await viewer.send("/alerts", failures)).status, 403);
  for (const one of [viewer, visitor]) {
    assert.is((await one.open(`${workspaceId}/alerts/${theirs.id}`)).status, 404);
    assert.is((await one.send(`/alerts/${theirs.id}`, { do: "delete" })).status, 404);
  }
  await world.close();
});

test("notes are harmless, and a full page is light", async () => {
  const { world, visitor, find } = await stage();
  await visitor.send("/alerts", failures);
  const path = `/alerts/${(await find()).id}`;
  for (const note of Object.values(attacks)) {
    await visitor.send(path, { do: "mute", forMs: "3600000", note: note.slice(0, 1_000) });
  }
  for (let nth = 0; nth < 60; nth++) {
    await call(createAlert, world.admin, { workspaceId: world.workspaceId, condition: `p95>${nth + 1}s` });
  }
  for (const page of ["/alerts", path]) {
    const text = await visitor.see(page);
    assertHarmless(withoutFields(text), page);
    assert.ok(weightOf(text) < 60_000, `${page}: ${weightOf(text)}`);
  }
  await world.close();
});

test.run();
