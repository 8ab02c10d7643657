// Budgets in the console, without scripts: created, seen beside usage and on the overview, changed and deleted.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createBudget, listBudgets } from "../../src/management/money/budgets.ts";
import type { Budget } from "../../src/management/money/budgets.ts";
import { createToken } from "../../src/management/access/tokens.ts";
import { call } from "../actions.ts";
import { createTenant, goodBody } from "../helpers.ts";
import { taken } from "../management/management.ts";
import { createVisit, linksIn, locationIn, refusalIn, visit, weightOf } from "./visitor.ts";

const test = suite("budgets in the console");

async function stage() {
  const { world, visitor } = await createVisit({ monthlyLimit: 1e6 });
  taken(await world.manage("POST", "/prices", { model: "m", input: "1", output: "2" }));
  /** Stores a record of 1.50 USD. */
  const spend = () =>
    world.submit({
      ...goodBody,
      ...{ model: "m", additional_properties: { prompt_tokens: 500_000, completion_tokens: 500_000 } },
    });
  const find = async () => {
    const { items } = await call(listBudgets, world.admin, { workspaceId: world.workspaceId });
    return items[0]!;
  };
  return { world, visitor, spend, find };
}

test("a budget is created, and what is spent of it stands beside usage and, once it is used up, on the overview", async () => {
  const { world, visitor, spend, find } = await stage();
  assert.match(await visitor.see("/usage"), "No budget yet");
  const form = { amount: "2", at: "100,50", per: "month", promptId: "", keyId: world.keyId };
  const made = await visitor.send("/usage/budgets", form);
  const { id, amount, at, keyId } = await find(), path = `/usage/budgets/${id}`;
  assert.is(locationIn(made, "/usage/budgets"), `${path}?done=created`);
  assert.equal([amount, at, keyId], ["2", "50,100", world.keyId]);
  await spend();
  for (const page of ["/usage", "/usage/budgets", path]) {
    const text = await visitor.see(page);
    for (const shown of [/<data value="1\.5">\$1\.50<\/data> spent/, /<data value="75">75<\/data>/, /key <a/]) {
      assert.match(text, shown, page);
    }
  }
  assert.not.match(await visitor.see("/usage?month=2026-10"), "All budgets");
  assert.not.match(await visitor.see(""), "used up");
  await spend();
  const overview = await visitor.see("");
  assert.match(overview, /<data value="1">1<\/data> budget<\/a> is used up\. Requests are still accepted\./);
  assert.ok(linksIn(overview).some((href) => href.endsWith("/usage/budgets")));
  const act = async (form: Record<string, string>) => locationIn(await visitor.send(path, form), path);
  assert.is(await act({ do: "change", amount: "200", at: "90" }), `${path}?done=changed`);
  const changed = await find();
  assert.equal([changed.amount, changed.at], ["200", "90"]);
  assert.match(await visitor.see(`/audit?target=${id}`), /budget updated.*budget created/s);
  assert.is(await act({ do: "delete" }), "/usage/budgets?done=deleted");
  assert.is((await visitor.open(world.workspaceId + path)).status, 404);
  await world.close();
});

test("what cannot be is refused in a sentence, and the form keeps what was entered", async () => {
  const { world, visitor, find } = await stage();
  const tries: [form: Record<string, string>, reason: RegExp][] = [
    [{ amount: "" }, /^Amount must be a decimal text/],
    [{ amount: "-1" }, /^Amount must be a decimal text/],
    [{ at: "<b>" }, /^Events at must be up to 10 percents/],
    [{ per: "week" }, /per must be one of day, month/],
  ];
  for (const [changed, reason] of tries) {
    const form = { amount: "50", at: "80", per: "day", ...changed };
    const { status, text } = await visitor.send("/usage/budgets", form);
    assert.is(status, 400, JSON.stringify(changed));
    assert.match(refusalIn(text)!, reason);
    assert.match(text, `name="amount" type="text" value="${form.amount}"`);
  }
  for (const missing of [{ promptId: "prompt_none" }, { keyId: "key_none" }]) {
    assert.is((await visitor.send("/usage/budgets", { amount: "50", ...missing })).status, 404);
  }
  await visitor.send("/usage/budgets", { amount: "50", promptId: world.promptId });
  const path = `/usage/budgets/${(await find()).id}`;
  for (const form of [{}, { do: "nothing" }] as Record<string, string>[]) {
    assert.is((await visitor.send(path, form)).status, 400);
  }
  const { text } = await visitor.send(path, { do: "change", amount: "many", at: "80" });
  assert.match(refusalIn(text)!, /^Amount must be a decimal text/);
  assert.match(text, `value="many"`);
  await world.close();
});

test("viewers see budgets, those of other workspaces are not there, and a hundred are light", async () => {
  const { world, visitor } = await stage();
  const { admin, workspaceId } = world;
  const other = await createTenant(admin, 10, "Other");
  const make = (workspaceId: Budget["workspaceId"]) =>
    call(createBudget, admin, { workspaceId, amount: "50", per: "day" as const, promptId: undefined });
  const theirs = await make(other.workspaceId);
  for (let nth = 0; nth < 99; nth++) await make(workspaceId);
  const own = await make(workspaceId), path = `/usage/budgets/${own.id}`;
  const { token } = await call(createToken, admin, { name: "vera", role: "viewer", workspaceId });
  const viewer = await visit(world, token), lack = "This needs the role admin. You are signed in as viewer.";
  for (const page of ["/usage/budgets", path]) {
    const text = await viewer.see(page);
    assert.match(text, lack);
    assert.is(text.match(/method="post"/g)!.length, 1, "only to sign out");
  }
  assert.is((await viewer.send("/usage/budgets", { amount: "50" })).status, 403);
  for (const todo of ["change", "delete"]) {
    assert.is((await viewer.send(path, { do: todo, amount: "1", at: "1" })).status, 403, todo);
  }
  for (const one of [viewer, visitor]) {
    assert.is((await one.open(`${workspaceId}/usage/budgets/${theirs.id}`)).status, 404);
    assert.is((await one.send(`/usage/budgets/${theirs.id}`, { do: "delete" })).status, 404);
  }
  for (const page of ["/usage", "/usage/budgets", path]) {
    const weight = weightOf(await visitor.see(page));
    assert.ok(weight < 60_000, `${page}: ${weight}`);
  }
  await world.close();
});

test.run();
