// How the console writes amounts, durations and forecasts, and what it shows where nothing is known.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { dollarText, priceText } from "../../src/support/dollars.ts";
import { ago, agoByHour, agoText, durationText } from "../../src/console/frame/format.tsx";
import { toHtml } from "../../src/console/frame/html.ts";
import { compareStats } from "../../src/management/records/compare.ts";
import { createToken } from "../../src/management/access/tokens.ts";
import { listPromptVersions } from "../../src/management/prompts/versions.ts";
import { call, createDeployment, pushPrompt } from "../actions.ts";
import { bearer, counting, openMemory, promptFile, toPrompt } from "../helpers.ts";
import { createVisit, tableIn, visit } from "./visitor.ts";

const test = suite("figures");

test("an amount has cents, and four digits where it is small", () => {
  const amounts = [0, 0.1, 2.5, 12.3456, 1_111_111.101, 0.000_878_008_475, 1e-12, -0.004_5].map(dollarText);
  assert.equal(amounts, [
    ...["$0.00", "$0.10", "$2.50", "$12.35", "$1,111,111.10"],
    ...["$0.000878", "$0.000000000001", "−$0.0045"],
  ]);
});

test("amounts, durations and moments have a text, however extreme they are", () => {
  assert.equal([999_999_999_999_999, 1e15, -1.7e308, 5e-324].map(dollarText), [
    ...["$999,999,999,999,999.00", "$1.000e+15", "−$1.700e+308", "$0.00"],
  ]);
  const durations = [Number.MAX_SAFE_INTEGER, 1e16, 1.7e308, Number.MAX_VALUE].map(durationText);
  assert.equal(durations.map((text) => text.replaceAll("\u00a0", " ")), [
    ...["104249991 d 9 h", "1.2e+8 d", "2.0e+300 d", "2.1e+300 d"],
  ]);
  assert.equal([8.64e15 + 1, Number.MAX_SAFE_INTEGER].map((at) => toHtml(ago(at, 0))), [
    ...["8640000000000001", "9007199254740991"],
  ]);
  assert.match(toHtml(ago(8.64e15, 0)), 'title="+275760-09-13 00:00:00 UTC">');
});

test("a price has all its digits", () => {
  assert.equal(["12.3456", "1000.00001", "2.5", "0.1", "7"].map(priceText), [
    ...["$12.3456", "$1,000.00001", "$2.50", "$0.10", "$7.00"],
  ]);
});

test("a duration has two units from two minutes on", () => {
  const texts = [0.4, 999, 1_234, 119_900, 150_000, 863_400, 3_599_999, 34.3 * 3_600_000, 172_800_000].map(
    durationText,
  );
  assert.equal(texts.map((text) => text.replaceAll("\u00a0", " ")), [
    ...["0 ms", "999 ms", "1.2 s", "119.9 s", "2 min 30 s", "14 min 23 s", "1 h", "1 d 10 h", "2 d"],
  ]);
});

test("a moment is told by how far it is away, and from a week on by its day", () => {
  const now = Date.UTC(2026, 10, 24, 12), minute = 60_000, day = 1_440 * minute;
  const away = [0, 59_999, minute, 90 * minute, 3 * day, 7 * day - 1, 7 * day, 400 * day, -minute, -2 * day];
  assert.equal(away.map((ms) => agoText(now - ms, now)), [
    ...["just now", "just now", "1 min ago", "1 h ago", "3 d ago", "6 d ago", "17 Nov", "20 Oct 2025", "in 1 min"],
    "in 2 d",
  ]);
});

test("a moment of which the hour alone is known is not told more exactly", () => {
  const begin = Date.UTC(2026, 10, 24, 12), minute = 60_000;
  const show = (now: number) => /title="(.*)">(.*)</.exec(toHtml(agoByHour(begin, now)))!.slice(1);
  assert.equal(show(begin), ["In the hour of 2026-11-24 12:00:00 UTC", "in the last hour"]);
  assert.equal([59 * minute, 60 * minute, 150 * minute].map((ms) => show(begin + ms)[1]), [
    ...["in the last hour", "1 h ago", "2 h ago"],
  ]);
});

test("statistics of records without a price have no cost, not a cost of 0", async () => {
  const { world, visitor } = await createVisit();
  await world.submit({ sessionId: "s", status: 1, content: { output: "x" }, latency: 5 });
  const page = await visitor.see(`/deployments/${world.deployId}/stats`);
  assert.match(page, "No record has a cost");
  assert.equal(Array.from(page.matchAll(/<tspan class="title">([^<]*)/g), ([, title]) => title), [
    "Records",
    "Latency",
  ]);
  assert.not.match(page, "$0");
  await world.close();
});

test("a quota that is used up says since when, until when, and who can raise it", async () => {
  const { world, visitor } = await createVisit({ monthlyLimit: 1 });
  await world.read();
  const { token } = await call(createToken, world.admin, { name: "Vera", role: "viewer" });
  const textIn = (page: string) =>
    /<p class="hint">(The quota is used up.*?)<\/p>/s.exec(page)?.[1]?.replaceAll(/<[^>]*>/g, "");
  const start =
    "The quota is used up. The last request was accepted just now. Requests are refused until 1 December 2026.";
  const page = await visitor.see("/usage");
  assert.is(textIn(page), `${start} Raise the limit.`);
  assert.match(page, '<a href="settings">Raise the limit</a>');
  assert.is(
    textIn(await (await visit(world, token)).see("/usage")),
    `${start} An owner or an admin can raise the limit.`,
  );
});

test("a forecast begins when the workspace was created", async () => {
  const { world, visitor } = await createVisit({ monthlyLimit: 100 });
  await world.read();
  assert.match(await visitor.see(""), "There are too few requests for a forecast.");
  world.now += 24 * 3_600_000;
  assert.match(await (await visit(world)).see(""), /about <data value="1">1<\/data> request a day,/);
  await world.close();
});

test("a comparison of a version with itself says so", async () => {
  const { world, visitor } = await createVisit();
  const { deployId, promptId } = world;
  await world.submit({ sessionId: "s", status: 1, content: { output: "x" } });
  const page = await visitor.see(`/prompts/${promptId}/compare?from=1&to=1`);
  assert.match(page, "Version 1 is compared with itself.");
  const { sentence } = await call(compareStats, world.admin, { a: deployId, b: deployId });
  assert.match(sentence, /@production is compared with itself$/);
  await world.close();
});

test("the versions of a prompt have their authors", async () => {
  const { world } = await createVisit();
  const { admin, promptId, workspaceId } = world;
  const { token } = await call(createToken, admin, { name: "grace", role: "editor", workspaceId });
  await world.manage("POST", `/prompts/${promptId}/versions`, { ...promptFile, title: "Second" }, bearer(token));
  const page = await (await visit(world)).see(`/prompts/${promptId}`);
  assert.match(page, /<strong>v2<\/strong>.*<\/time> · <bdi>grace<\/bdi>.*<strong>v1<\/strong>/s);
  const { items } = await call(listPromptVersions, admin, { id: promptId });
  assert.equal(items.map(({ version, actor, source }) => ({ version, actor, source })), [
    { version: 2, actor: "grace", source: "api" },
    { version: 1, actor: "", source: "command line" },
  ]);
});

test("before a promotion, the numbers of a new version are those of the deployment that tried it", async () => {
  const { world, visitor } = await createVisit();
  const { admin, deployId, promptId, workspaceId } = world;
  await pushPrompt(admin, promptId, toPrompt({ ...promptFile, title: "Second" }));
  const { id: staging } = await createDeployment(admin, workspaceId, { name: "staging", promptId, version: 2 });
  const path = `/deployments/${deployId}/promote?version=2`;
  assert.match(await visitor.see(path), "What both did here");
  for (const id of [deployId, staging, staging]) {
    await world.submit({ sessionId: "s", status: 1, content: { output: "x" } }, id);
  }
  const page = await visitor.see(path);
  assert.match(page, /Version 2 has no records here\. Its numbers are those of <bdi>greeting<wbr>@staging<\/bdi>\./);
  assert.equal(tableIn(page, "Statistics")[0]!.slice(0, 2), [["1"], ["2"]]);
  await world.submit({ sessionId: "s", status: 1, content: { output: "x" }, promptVersion: 2 });
  assert.match(await visitor.see(path), "What both did here");
  await world.close();
});

test("before a promotion, versions are compared from 30 days before the newest record of the new one", async () => {
  const { world } = await createVisit({ monthlyLimit: 1e6 });
  const { admin, deployId, promptId } = world, day = 86_400_000, start = world.now;
  await pushPrompt(admin, promptId, toPrompt({ ...promptFile, title: "Second" }));
  for (const [after, promptVersion] of [[0, 2], [1, 1], [40, 1], [50, 2], [90, 1]] as const) {
    world.now = start + after * day;
    await world.submit({ sessionId: "s", status: 1, content: { output: "x" }, promptVersion });
  }
  const visitor = await visit(world), page = await visitor.see(`/deployments/${deployId}/promote?version=2`);
  assert.equal(tableIn(page, "Statistics")[0]!.slice(0, 2), [["2"], ["1"]]);
  const [, href] = /Records since 5 December 2026\. <a href="\.\.\/\.\.\/([^"]*)">Compare all/.exec(page)!;
  const all = await visitor.see(`/${href!.replaceAll("&amp;", "&")}`);
  assert.equal(tableIn(all, "Statistics")[0]!.slice(0, 2), [["3"], ["2"]]);
  await world.close();
});

test("before a promotion, the log is searched until a deployment has records of the version, and compared once", async () => {
  const memory = await openMemory(), { database, counts } = counting(memory);
  const { world, visitor } = await createVisit({ database, monthlyLimit: 1e6 });
  const { admin, deployId, promptId, workspaceId } = world;
  await pushPrompt(admin, promptId, toPrompt({ ...promptFile, title: "Second" }));
  for (let nth = 0; nth < 5; nth++) await createDeployment(admin, workspaceId, { name: `d${nth}`, promptId });
  await world.submit({ sessionId: "s", status: 1, content: { output: "x" } });
  const readsOf = async (path: string) => {
    const before = counts.reads;
    await visitor.see(`/deployments/${deployId}${path}`);
    return counts.reads - before;
  };
  const shown = await readsOf("");
  const reads = await readsOf("/promote?version=2");
  assert.ok(reads - shown <= 50, `${reads} reads, ${shown} without a comparison`);
  await world.close();
});

test.run();
