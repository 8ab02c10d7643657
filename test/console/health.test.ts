// Whether a workspace is well: the overview, what a month cost, and charts that lead to their records.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { readCosts } from "../../src/management/records/costs.ts";
import { setPrice } from "../../src/management/prompts/prices.ts";
import { readWorkspaceStats } from "../../src/management/records/stats.ts";
import { call, createDeployment, updateWorkspace } from "../actions.ts";
import { createWorld } from "../helpers.ts";
import { linksIn, tableIn, valuesIn, visit } from "./visitor.ts";

const test = suite("whether it is well");

const day = 86_400_000;
const statuses = [{ status: 1, name: "ok" }, { status: 0, name: "failed", isFailure: true }];

/** A world in which a status counts as a failure, and another deployment. */
async function start() {
  const world = await createWorld({ monthlyLimit: 10_000 });
  await updateWorkspace(world.admin, world.workspaceId, { statuses });
  const staging = await createDeployment(world.admin, world.workspaceId, { name: "staging", promptId: world.promptId });
  const submit = async (count: number, status: number, given = {}, deployId: string = world.deployId) => {
    for (let nth = 0; nth < count; nth++) {
      await world.submit({ sessionId: "s", status, content: { output: `answer ${status}` }, ...given }, deployId);
    }
  };
  return { world, staging, submit };
}

/** The rows of the table of deployments: the text of each cell. */
const rowsIn = (page: string): string[][] => {
  const [, table = ""] = page.split('<caption class="hide">Deployments</caption>');
  const [body = ""] = table.split("</table>");
  return body.split("<tr>").slice(2).map((row) =>
    row.split(/<t[dh]\b[^>]*>/).slice(1).map((cell) =>
      cell.replace(/<p class="hint">/, " / ").replace(/<[^>]*>|none/g, "").replaceAll("\u00a0", " ")
    )
  );
};

test("the overview has the last 7 days of each live deployment beside the 7 before, and of all of them", async () => {
  const { world, staging, submit } = await start();
  await submit(4, 1, { latency: 100, cost: 0.5 });
  await submit(1, 0, {}, staging.id);
  world.now += 8 * day;
  await submit(2, 1, { latency: 200, cost: 0.25 });
  await submit(2, 0, { latency: 200 });
  const page = await (await visit(world)).see("");
  const rows = rowsIn(page).map(([name, , ...figures]) => [name!.split(" ")[0], ...figures]);
  const { before, after } = (await call(readWorkspaceStats, world.admin, {
    workspaceId: world.workspaceId,
    splitAt: world.now - 7 * day,
  })).split!;
  assert.equal([before.records, after.records], [5, 4]);
  assert.equal(rows, [
    ["All", "4 / was 5", "50.0 % / was 20.0 %", "200 ms / was 100 ms", "$0.50 / was $2.00"],
    ["greeting@staging", "0 / was 1", "– / was 100.0 %", "–", "–"],
    ["greeting@production", "4 / was 4", "50.0 % / was 0.0 %", "200 ms / was 100 ms", "$0.50 / was $2.00"],
  ]);
  assert.match(page, "No records any more");
  assert.match(page, '<data value="2">2</data> of the records have no cost');
  await world.close();
});

test("deployments that got worse come before those with more records, and the overview says how many it leaves out", async () => {
  const { world, staging, submit } = await start();
  for (let nth = 0; nth < 12; nth++) {
    await createDeployment(world.admin, world.workspaceId, { name: `d${nth}`, promptId: world.promptId });
  }
  await submit(20, 1);
  await submit(10, 1, {}, staging.id);
  world.now += 8 * day;
  await submit(20, 1);
  await submit(10, 0, {}, staging.id);
  const page = await (await visit(world)).see("");
  const names = rowsIn(page).map(([name]) => name);
  assert.equal(names.slice(0, 4), [
    ...["All deployments", "greeting@staging v1 Fails more", "greeting@production v1", "greeting@d0 v1"],
  ]);
  assert.is(names.length, 11);
  assert.match(page, ">4 more</a> are live");
  await world.close();
});

test("the overview has the newest failures alone, the newest first, and links to all", async () => {
  const { world, submit } = await start();
  const failuresIn = (page: string) =>
    Array.from(
      page.matchAll(/records\/diag_\w+">.*?data-label="Output"[^>]*><bdi>(.*?)<\/bdi>/g),
      ([, output]) => output,
    );
  const visitor = await visit(world);
  await submit(1, 1);
  assert.match(await visitor.see(""), "No record failed in the last 14 days.");
  for (let nth = 1; nth <= 7; nth++) {
    await submit(1, 0, { content: { output: `failure ${nth}` } });
    await submit(2, 1);
    world.now += 3_600_000;
  }
  const page = await visitor.see("");
  assert.equal(failuresIn(page), [7, 6, 5, 4, 3].map((nth) => `failure ${nth}`));
  assert.ok(linksIn(page).some((href) => href.endsWith("/records?failures=yes")));
  await world.close();
});

test("where no status counts as a failure, the overview says so and where to name them", async () => {
  const world = await createWorld();
  await updateWorkspace(world.admin, world.workspaceId, { statuses: [] });
  await world.submit();
  assert.match(await (await visit(world)).see(""), /No status counts as a failure\. .*\/settings">settings<\/a>/);
  await world.close();
});

test("the page of usage has what a month cost by deployment, version, key and model, and how much has no price", async () => {
  const { world, staging, submit } = await start();
  const { admin, workspaceId } = world;
  await call(setPrice, admin, { model: "gpt-4o", input: "2.5", output: "10" });
  const additional_properties = { prompt_tokens: 1_000, completion_tokens: 7 };
  await submit(3, 1, { additional_properties });
  await submit(2, 1, { cost: "0.000000000000000000000000000001" }, staging.id);
  for (let nth = 0; nth < 12; nth++) await submit(1, 1, { model: `model-${nth}` });
  const month = "2026-11", page = await (await visit(world)).see(`/usage?month=${month}`);
  const costs = await call(readCosts, admin, { workspaceId, month });
  const figures = ({ records, cost, unpriced }: typeof costs.others.keys) => [
    [String(records)],
    [...unpriced === records ? [] : [cost], ...unpriced === 0 ? [] : [String(unpriced)]],
  ];
  assert.equal(tableIn(page, "Cost by deployment"), costs.deployments.map(figures));
  assert.equal(tableIn(page, "Cost by version"), costs.versions.map(figures));
  assert.equal(tableIn(page, "Cost by key"), costs.keys.map(figures));
  // A row with the sum of those that are not shown.
  const models = tableIn(page, "Cost by model");
  assert.equal(models.slice(0, 10), costs.models.slice(0, 10).map(figures));
  assert.equal(models.slice(10), [[["3"], ["3"]]]);
  const [, sentence = ""] = /<p><strong id="cost">(.*?)<\/p>/.exec(page)!;
  assert.equal(valuesIn(sentence), [costs.cost, "17", "12"]);
  await world.close();
});

test("a point of a chart says its values, and leads to its records", async () => {
  const { world, submit } = await start();
  await submit(2, 1, { latency: 100 });
  await submit(1, 0);
  world.now += 2 * day;
  await submit(3, 1);
  const visitor = await visit(world), path = `/deployments/${world.deployId}/stats`;
  const pointsIn = (page: string) =>
    Array.from(page.matchAll(/<a href="([^"]*)"><path d="[^"]*" \/>(.*?)<\/a>/g), ([, href, texts]) => ({
      href: href!.replaceAll("&amp;", "&"),
      texts: Array.from(texts!.matchAll(/<text[^>]*>(.*?)<\/text>/g), ([, text]) => text!.replaceAll("\u00a0", " ")),
    }));
  const textsAt = async (query: string) => pointsIn(await visitor.see(path + query)).map(({ texts }) => texts);
  const [first, last] = await textsAt("");
  assert.match(first![0]!, /^\d+ Nov: 3 records, 1 failed \(33\.3 %\)$/);
  assert.equal(first!.slice(1), ["p95 100 ms, median 100 ms"]);
  assert.match(last![0]!, /^\d+ Nov: 3 records, 0 failed \(0\.0 %\)$/);
  for (
    const query of ["", "?interval=hour", "?interval=week", "?status=ok", "?last=24h", `?to=2026-11-15T12:00:00.001`]
  ) {
    for (const { href, texts } of pointsIn(await visitor.see(path + query))) {
      const { pathname, search } = new URL(href, `http://x/console/${world.workspaceId}${path}`);
      const records = await visitor.see(pathname.split(world.workspaceId)[1] + search);
      const [, table = ""] = records.split('<caption class="hide">Records</caption>');
      const count = table.split("</table>")[0]!.split("<tr").length - 2;
      assert.match(texts[0]!, `: ${count} record`, `${query} ${href}`);
    }
  }
  await world.close();
});

test.run();
