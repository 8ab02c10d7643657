// What the console shows of feedback in statistics: the numbers of the operations, with how many records were rated.
// Runs on every runtime in CI.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { assets } from "../../src/console/frame/assets.ts";
import { compareStats } from "../../src/management/records/compare.ts";
import { readFeedbackAgreement } from "../../src/management/feedback/feedback-agreement.ts";
import { declareFeedback, listFeedbackNames } from "../../src/management/terms/feedback-names.ts";
import { listSessions } from "../../src/management/records/sessions.ts";
import { readStats, readWorkspaceStats } from "../../src/management/records/stats.ts";
import { createToken } from "../../src/management/access/tokens.ts";
import type { FeedbackStats } from "../../src/schema/feedback.ts";
import { call, promoteDeployment, pushPrompt, updateWorkspace } from "../actions.ts";
import { counting, openMemory, promptFile, toPrompt } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { attacks } from "./attacks.ts";
import { createVisit, linksIn, refusalIn, tableIn, titleOf, valuesIn, visit } from "./visitor.ts";
import type { Visitor } from "./visitor.ts";

const test = suite("feedback in statistics");

type Piece = { name: string; value: unknown; author?: string };

/** Submits a record with feedback, and returns its id. */
async function judge(world: World, given: object, pieces: Piece[]): Promise<string> {
  const { json, status } = await world.submit({ sessionId: "s", status: 1, content: { output: "x" }, ...given });
  assert.is(status, 201);
  const { id } = json as { id: string };
  await give(world, pieces.map((piece) => ({ record: id, ...piece })));
  return id;
}

async function give(world: World, feedback: object[]): Promise<void> {
  for (let first = 0; first < feedback.length; first += 500) {
    const body = { feedback: feedback.slice(first, first + 500) };
    const { status, text } = await world.manage("POST", `/workspaces/${world.workspaceId}/feedback`, body);
    assert.equal([status, JSON.parse(text).refused], [200, []], text);
  }
}

/** Two versions with 80 records, of which most are rated under three names, some by two authors. */
async function stage() {
  const { world, visitor } = await createVisit({ monthlyLimit: 10_000 });
  await pushPrompt(world.admin, world.promptId, toPrompt({ ...promptFile, title: "Second" }));
  const { workspaceId } = world;
  await call(declareFeedback, world.admin, { workspaceId, name: "thumb", kind: "boolean", better: "higher" });
  const score = { workspaceId, name: "score", kind: "number" as const, minimum: -1, maximum: 1 };
  await call(declareFeedback, world.admin, { ...score, better: "lower" });
  await call(declareFeedback, world.admin, { workspaceId, name: "tone", kind: "label" });
  for (let nth = 0; nth < 80; nth++) {
    const promptVersion = 1 + nth % 2;
    await judge(world, { promptVersion, sessionId: `s${nth % 3}` }, [
      ...nth % 5 > 0 ? [{ name: "thumb", value: promptVersion === 1 || nth % 7 < 2, author: "ann" }] : [],
      ...nth % 10 === 1 ? [{ name: "thumb", value: false, author: "bob" }] : [],
      { name: "score", value: (nth * 37 % 101) / 101 - 0.4 },
      ...nth < 20 ? [{ name: "tone", value: ["kind", "curt", "<b>odd"][nth % 3] }] : [],
    ]);
    world.now += 600_000;
  }
  return { world, visitor: await visit(world).catch(() => visitor) };
}

const exact = (...numbers: (number | null | undefined)[]): string[] =>
  numbers.filter((number) => number !== null && number !== undefined).map(String);

/** The numbers of a figure as a page shows them. */
const figureOf = ({ kind, mean, share, low, high, labels, pieces }: FeedbackStats): string[] => {
  if (kind !== "label") return exact(mean, share, low, high);
  const shown = labels.slice(0, 3), others = shown.reduce((rest, each) => rest - each.pieces, pieces);
  const numbers = shown.flatMap(({ share, low, high }) => [share, low, high]);
  return exact(...numbers, others > 0 ? others / pieces : null);
};
const ratedOf = ({ records, pieces }: FeedbackStats, all: number): string[] =>
  exact(records, all, pieces === records ? null : pieces);
const byRated = (feedback: FeedbackStats[]) =>
  [...feedback].sort((a, b) => b.records - a.records || (a.name < b.name ? -1 : 1));

const weightOf = (page: string): number =>
  Object.values(assets).reduce((sum, { hash, text }) => page.includes(hash) ? sum + text.length : sum, page.length);

test("figures on the pages of a deployment are those of its statistics, with how many records were rated", async () => {
  const { world, visitor } = await stage();
  const { admin, deployId } = world, path = `/deployments/${deployId}`;
  const { all, versions, series } = await call(readStats, admin, { deployId, interval: "hour" });
  const rows = byRated(all.feedback).map((stats) => [figureOf(stats), ratedOf(stats, 80)]);
  assert.is(rows.length, 3);
  assert.equal(tableIn(await visitor.see(`${path}/stats`), "Feedback"), rows);
  for (const name of ["thumb", "score", "tone"]) {
    const page = await visitor.see(`${path}/feedback?name=${name}&interval=hour`);
    assert.equal(tableIn(page, "Feedback"), rows);
    assert.equal(
      tableIn(page, `${name} by version`),
      versions.map(({ records, feedback }) => {
        const stats = feedback.find((each) => each.name === name)!;
        return [figureOf(stats), ratedOf(stats, records)];
      }),
    );
    const table = await visitor.see(`${path}/feedback?name=${name}&interval=hour&view=table`);
    const shown = tableIn(table, `${name} by hour`).map((cells) => cells.flat().map(Number));
    assert.equal(
      shown.map(([rated, rest, value]) => [rated, rest, value]),
      series.map(({ records, feedback }) => {
        const stats = feedback.find((each) => each.name === name);
        const value = name === "tone"
          ? stats?.labels.find(({ label }) =>
            label === all.feedback.find((each) => each.name === name)!.labels[0]!.label
          )
            ?.share ?? (stats && 0)
          : stats?.mean ?? stats?.share;
        return [stats?.records ?? 0, records - (stats?.records ?? 0), value];
      }),
      name,
    );
  }
  const chart = await visitor.see(`${path}/feedback?name=thumb&interval=hour`);
  assert.match(chart, /<path class="ink-1" d="M[\d.]+ [\d.]+V/);
  assert.match(chart, />True [\d.]+ % \([\d.]+ % to [\d.]+ %\)</);
  const prompt = await visitor.see(`/prompts/${world.promptId}`);
  assert.match(
    prompt,
    /<bdi>score<\/bdi> <data value="[^"]+">[^<]+<\/data> <span class="hint">\(<data value="40">40<\/data> of/,
  );
  await world.close();
});

test("figures beside a promotion and in a comparison are those of the operation, and say which way is better", async () => {
  const { world, visitor } = await stage();
  const { admin, deployId, promptId } = world;
  const { a, b, differences } = await call(compareStats, admin, { a: deployId, aVersion: 1, b: deployId, bVersion: 2 });
  const names = [...new Set(byRated([...a.feedback, ...b.feedback]).map(({ name }) => name))];
  for (const path of [`/prompts/${promptId}/compare?from=1&to=2`, `/deployments/${deployId}/promote?version=2`]) {
    const page = await visitor.see(path), rows = tableIn(page, "Feedback");
    assert.is(rows.length, names.length);
    const expected = ["score", "thumb", "tone"].map((name) => [
      ...[a, b].map(({ records, feedback }) => {
        const stats = feedback.find((each) => each.name === name)!;
        return [...figureOf(stats), ...ratedOf(stats, records)];
      }),
      exact(differences.feedback.find((each) => each.name === name)?.difference),
    ]);
    const byText = (one: unknown, other: unknown) => JSON.stringify(one) < JSON.stringify(other) ? -1 : 1;
    assert.equal(rows.sort(byText), expected.sort(byText), path);
    assert.match(page, "higher is better");
    assert.match(page, />worse</);
    assert.not.match(page, />better</);
    const links = linksIn(page).filter((href) => href.includes("feedback=thumb%3Dfalse"));
    assert.equal(links.map((href) => new URLSearchParams(href.split("?")[1]).get("version")), ["1", "2"]);
  }
  await world.close();
});

test("the overview has the last 7 days beside those before, and sessions have a line", async () => {
  const { world, visitor } = await stage();
  const { admin, workspaceId } = world;
  world.now += 6 * 86_400_000 + 80_000_000;
  await judge(world, {}, [{ name: "thumb", value: true }]);
  const now = world.now, week = 7 * 86_400_000;
  const { split } = await call(readWorkspaceStats, admin, { workspaceId, from: now - 2 * week, splitAt: now - week });
  const { before, after } = split!;
  assert.ok(before.feedback.length > 0 && after.feedback.length > 0);
  const page = await (await visit(world)).see("");
  assert.equal(
    tableIn(page, "Feedback"),
    byRated(after.feedback).map((stats) => {
      const earlier = before.feedback.find(({ name }) => name === stats.name);
      const short = earlier && [
        earlier.mean ?? earlier.share ?? earlier.labels[0]!.share,
        earlier.records,
        before.records,
      ];
      return [figureOf(stats), ratedOf(stats, after.records), exact(...short ?? [])];
    }),
  );
  const { items } = await call(listSessions, admin, { workspaceId });
  const cells = tableIn(
    await visitor.see("/sessions").catch(async () => await (await visit(world)).see("/sessions")),
    "Sessions",
  );
  for (const [nth, { records, feedback }] of items.entries()) {
    const [, , , told] = cells[nth]!;
    const shown = byRated(feedback).slice(0, 2);
    assert.equal(
      told,
      shown.flatMap((each) => exact(each.mean ?? each.share ?? each.labels[0]!.share, each.records, records)),
    );
  }
  await world.close();
});

test("figures lead to the records with such feedback, within the filter", async () => {
  const { world, visitor } = await stage();
  const page = await visitor.see(`/deployments/${world.deployId}/stats?last=7d&feedback=score<0.4`);
  const hrefs = linksIn(page).filter((href) => href.includes("thumb%3D"));
  assert.is(hrefs.length, 2);
  for (const href of hrefs) {
    const query = new URLSearchParams(href.split("?")[1]);
    assert.equal([query.get("last"), query.get("deployment")], ["7d", world.deployId]);
    assert.match(query.get("feedback")!, /^score<0\.4\nthumb=(true|false)$/);
    const records = tableIn(await visitor.see(`/records?${query}`), "Records");
    assert.ok(records.length > 0);
  }
  const tone = linksIn(page).filter((href) => href.includes("tone%3D"));
  assert.ok(tone.some((href) => new URLSearchParams(href.split("?")[1]).get("feedback")!.endsWith("tone=<b>odd")));
  await world.close();
});

test("without feedback no page says anything of it, and with some a page reads little more", async () => {
  const { database, counts } = counting(await openMemory());
  const { world, visitor } = await createVisit({ database });
  const { deployId, promptId } = world;
  await pushPrompt(world.admin, promptId, toPrompt({ ...promptFile, title: "Second" }));
  for (const promptVersion of [1, 2]) {
    await world.submit({ sessionId: "s", status: 1, promptVersion, content: { output: "x" } });
  }
  const paths = ["", "/sessions", `/prompts/${promptId}`, `/deployments/${deployId}/stats`];
  for (
    const path of [...paths, `/prompts/${promptId}/compare?from=1&to=2`, `/deployments/${deployId}/promote?version=2`]
  ) {
    const page = await visitor.see(path);
    assert.equal(tableIn(page, "Feedback"), [], path);
    assert.not.match(page, /<h2>Feedback|rated/, path);
  }
  const before = counts.reads;
  await visitor.see(`/deployments/${deployId}/stats`);
  const reads = counts.reads - before;
  await judge(world, {}, [{ name: "thumb", value: true }]);
  const then = counts.reads;
  await visitor.see(`/deployments/${deployId}/stats`);
  assert.ok(counts.reads - then <= reads + 3, `${counts.reads - then} reads, ${reads} without feedback`);
  assert.match(await visitor.see(`/deployments/${deployId}/feedback?version=1&text=nothing`), "No records");
  assert.match(await visitor.see(`/deployments/${deployId}/feedback?without=*`), "call.feedback");
  assert.match(await visitor.see("/settings/feedback"), "thumb");
  await world.close();
});

test("one piece of feedback has a figure, and no interval where there are too few numbers", async () => {
  const { world, visitor } = await createVisit();
  await judge(world, {}, [{ name: "score", value: -3 }]);
  const page = await visitor.see(`/deployments/${world.deployId}/feedback`);
  assert.equal(tableIn(page, "Feedback"), [[["-3"], ["1", "1"]]]);
  assert.match(page, "too few for an interval");
  await judge(world, {}, [{ name: "ok", value: true }]);
  const stats = tableIn(await visitor.see(`/deployments/${world.deployId}/stats`), "Feedback");
  assert.equal(stats.map(([, rated]) => rated), [["1", "2"], ["1", "2"]]);
  await world.close();
});

test("fifty names with long labels weigh less than 60 kB on each page", async () => {
  const { world } = await createVisit({ monthlyLimit: 10_000 });
  const { admin, deployId, promptId, workspaceId } = world;
  const statuses = [{ status: 1, name: "ok" }, { status: 0, name: "failed", isFailure: true }];
  await updateWorkspace(admin, workspaceId, { statuses });
  for (let version = 2; version <= 6; version++) {
    await pushPrompt(admin, promptId, toPrompt({ ...promptFile, title: `Version ${version}` }));
    await promoteDeployment(admin, deployId, { version });
  }
  const names = Array.from({ length: 50 }, (_, nth) => `name${nth}`.padEnd(64, "x"));
  for (let nth = 0; nth < 36; nth++) {
    const additional_properties = { prompt_tokens: 1_000 + 37 * nth, completion_tokens: 100 + nth };
    const given = { promptVersion: 1 + nth % 6, cost: 0.012_345 * nth, latency: 1_234.5 * nth, additional_properties };
    const label = `label ${nth % 12} ${"<&".repeat(80)}`, values = [nth % 3 === 0, nth / 7 - 2, label];
    await judge(world, { ...given, status: nth % 2 }, names.map((name, at) => ({ name, value: values[at % 3] })));
    world.now += 3_600_000;
  }
  const visitor = await visit(world), query = "last=all&interval=hour";
  const deployment = `/deployments/${deployId}`;
  const paths = [
    ...["", "&view=table"].flatMap((
      view,
    ) => [`${deployment}/stats?${query}${view}`, `${deployment}/feedback?${query}${view}`]),
    ...names.slice(1, 3).map((name) => `${deployment}/feedback?${query}&name=${name}`),
    ...[`/prompts/${promptId}/compare?from=1&to=2`, `${deployment}/promote?version=1`, `/prompts/${promptId}`],
    ...["", "/sessions", "/settings/feedback", `/agreement?name=${names[0]}&first=ann&second=`],
  ];
  for (const path of paths) {
    const page = await visitor.see(path);
    assert.ok(weightOf(page) < 60_000, `${path}: ${weightOf(page)} bytes`);
  }
  assert.match(await visitor.see(`${deployment}/stats?${query}`), /3 names with the most rated records are shown, of/);
  await world.close();
});

const harmless = (page: string, name: string) => {
  const text = page.replace(/ value="[^"]*"/g, "").replace(/(<textarea[^>]*>).*?(<\/textarea>)/gs, "$1$2");
  assert.not.match(text, /<(img|iframe|svg[^>]*onload|math|object|embed)[\s>]/i, name);
  assert.not.match(text, /<script(?! src=)/, name);
  assert.not.match(text.replace(/"[^"]*"/g, '""'), /<\w[^>]*\son\w+\s*=/i, name);
  assert.not.match(text, /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]|\0/, name);
};

test("labels, authors and names in queries are harmless text", async () => {
  for (const [kind, attack] of Object.entries(attacks)) {
    const { world, visitor } = await createVisit();
    const label = attack.replace(/\p{Cc}/gu, "").slice(0, 60);
    await judge(world, {}, [{ name: "tone", value: label, author: label.replaceAll(",", "") }]);
    const value = encodeURIComponent(attack.slice(0, 500)), deployment = `/deployments/${world.deployId}`;
    for (const path of ["", "/sessions", `${deployment}/stats`, `${deployment}/feedback?name=${value}`]) {
      harmless(await visitor.see(path), `${kind} ${path}`);
    }
    const asking = [
      `/agreement?name=${value}&first=${value}&second=a`,
      `/settings/feedback?name=${value}&after=${value}`,
    ];
    for (const path of [...asking, `/agreement?name=tone&first=${value}&second=a`]) {
      const { status, text } = await visitor.open(world.workspaceId + path);
      assert.ok(status === 200 || status === 400, `${kind} ${status} ${path}`);
      harmless(text, `${kind} ${path}`);
    }
    const sent = await visitor.send("/settings/feedback", {
      name: attack,
      kind: attack,
      labels: attack,
      minimum: attack,
    });
    assert.is(sent.status, 400, kind);
    harmless(sent.text, kind);
    await world.close();
  }
});

test("the agreement of two authors is that of the operation, and the form keeps what was asked", async () => {
  const { world, visitor } = await stage();
  const { admin, workspaceId, deployId } = world;
  assert.not.match(await visitor.see("/agreement"), "kappa</dt>");
  for (const [first, second] of [["ann", "bob"], ["bob", "ann"]]) {
    const asked = { workspaceId, name: "thumb", authors: `${first},${second}` };
    const { records, agreed, kappa } = await call(readFeedbackAgreement, admin, asked);
    const page = await visitor.see(`/agreement?name=thumb&first=${first}&second=${second}&deployment=${deployId}`);
    assert.equal(valuesIn(page), exact(kappa, records, agreed, agreed / records));
    assert.match(page, new RegExp(`name="first" type="text" value="${first}"`));
    assert.match(page, "<option selected>thumb</option>");
  }
  assert.match(await visitor.see("/agreement?name=thumb&first=ann&second="), "no record that both judged");
  for (
    const query of ["first=&second=", "first=a&second=a", "first=a,b&second=c", "first=a&second=b&deployment=none"]
  ) {
    const { status, text } = await visitor.open(`${workspaceId}/agreement?name=thumb&${query}`);
    assert.is(status, 400, query);
    assert.match(text, 'class="notice error"', query);
  }
  await world.close();
});

const declared = async ({ admin, workspaceId }: World) =>
  (await call(listFeedbackNames, admin, { workspaceId })).names.filter(({ isDeclared }) => isDeclared);

/** What is wrong with the field of a form. */
const faultAt = (page: string, name: string): string | undefined =>
  new RegExp(`id="fault-${name}"[^>]*>([^<]*)<`).exec(page)?.[1];

async function refuse(visitor: Visitor, form: Record<string, string>, field: string, fault: RegExp): Promise<void> {
  const { status, text } = await visitor.send("/settings/feedback", {
    name: "",
    minimum: "",
    maximum: "",
    labels: "",
    better: "",
    ...form,
  });
  assert.ok(status === 400 || status === 409, `${status}`);
  assert.match(faultAt(text, field) ?? "none", fault);
  assert.match(text, `href="#${field}"`);
  for (const [name, value] of Object.entries(form)) {
    if (name !== "kind" && name !== "labels") assert.match(text, `name="${name}" type="text" value="${value}"`);
  }
}

test("names are declared, changed and removed, and refusals stand beside their fields", async () => {
  const { world, visitor } = await createVisit();
  assert.match(await visitor.see("/settings"), 'href="settings/feedback"');
  assert.match(await visitor.see("/settings/feedback"), "it refuses feedback under all others");
  const form = { name: "score", kind: "number", minimum: "-0.5", maximum: "1", labels: "", better: "higher" };
  const { status, headers } = await visitor.send("/settings/feedback", form);
  assert.equal([status, headers.get("Location")], [303, "../settings/feedback?done=declared"]);
  const rule = {
    name: "score",
    kind: "number",
    isDeclared: true,
    minimum: -0.5,
    maximum: 1,
    labels: null,
    better: "higher",
  };
  assert.equal(await declared(world), [rule]);
  const page = await visitor.see("/settings/feedback?name=score");
  for (const value of ["score", "-0.5", "1"]) assert.match(page, `type="text" value="${value}"`);
  assert.match(page, "Number from -0.5 to 1");
  await visitor.send("/settings/feedback", { ...form, minimum: "", better: "" });
  assert.equal(await declared(world), [{ ...rule, minimum: null, better: null }]);
  await visitor.send("/settings/feedback", { name: "tone", kind: "label", labels: " kind \r\n\r\ncurt <b>" });
  assert.equal((await declared(world))[1]!.labels, ["kind", "curt <b>"]);

  await refuse(visitor, { name: "a b", kind: "boolean" }, "name", /^Name must be a name of 1 to 64 letters/);
  await refuse(visitor, { name: "x", kind: "number", minimum: "low" }, "minimum", /^Minimum must be a number/);
  await refuse(
    visitor,
    { name: "x", kind: "number", minimum: "2", maximum: "1" },
    "minimum",
    /^Minimum must be at most the maximum/,
  );
  await refuse(visitor, { name: "x", kind: "boolean", maximum: "1" }, "maximum", /^Only numbers have a minimum/);
  await refuse(visitor, { name: "x", kind: "number", labels: "a" }, "labels", /^Only labels have a list/);
  await refuse(visitor, { name: "x", kind: "label", labels: "a\na" }, "labels", /^Labels must be an array/);
  await refuse(visitor, { name: "score", kind: "boolean" }, "kind", /has values of the kind number/);

  await visitor.send("/settings/feedback", { remove: "score" });
  assert.equal((await declared(world)).map(({ name }) => name), ["tone"]);
  assert.match(await visitor.see("/settings/feedback?name=tone"), "It is the only one.");

  const changes = Array.from(
    (await visitor.see("/audit")).matchAll(
      /href="settings\/feedback">feedback name (\w+)<\/a><p class="hint"><bdi>(\w+)</g,
    ),
    ([, verb, name]) => `${name} ${verb}`,
  );
  assert.equal(changes, ["score undeclared", "tone declared", "score declared", "score declared"]);

  const { token } = await call(createToken, world.admin, { name: "Vera", role: "viewer" });
  const viewer = await visit(world, token), seen = await viewer.see("/settings/feedback");
  assert.match(seen, "This needs the role admin. You are signed in as viewer.");
  assert.match(seen, "curt &lt;b&gt;");
  assert.not.match(seen, "Remove the declaration");
  assert.is((await viewer.send("/settings/feedback", { remove: "tone" })).status, 403);
  const refused = await visitor.send("/settings/feedback", { name: "a b", kind: "boolean" });
  assert.match(refusalIn(refused.text)!, "must be a name");
  assert.is(titleOf(seen), "Feedback names · Acme");
  await world.close();
});

test.run();
