// Every page that links lead to: it is there for each role, holds no script of its own, and is light.
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { build } from "../../src/common/build.ts";
import { version } from "../../src/common/version.ts";
import { assets } from "../../src/console/frame/assets.ts";
import { roles } from "../../src/management/kernel/operation.ts";
import { takeReviewRecord } from "../../src/management/feedback/review-records.ts";
import { createReview } from "../../src/management/feedback/reviews.ts";
import { getPrompt } from "../../src/management/prompts/versions.ts";
import { createToken } from "../../src/management/access/tokens.ts";
import { call, createDeployment, createWorkspace, promoteDeployment, pushPrompt, updateWorkspace } from "../actions.ts";
import { listApiKeys } from "../../src/management/access/api-keys.ts";
import { budgets } from "../budgets.ts";
import { createTenant, goodBody, noon, promptFile, toPrompt } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { createVisit, linksIn, origin, tableIn, titleOf, valuesIn, visit, weightOf } from "./visitor.ts";
import type { Visitor } from "./visitor.ts";

const test = suite("pages");

const { world, visitor } = await createVisit();
test.after(() => world.close());
await fillWorld(world);

/** Two versions, two deployments, records in a session, and a second tenant. */
async function fillWorld({ admin, promptId, workspaceId, deployId, submit }: World): Promise<void> {
  await pushPrompt(admin, promptId, toPrompt({ ...promptFile, messages: [{ role: "user", content: "Hi {{you}}" }] }));
  await createDeployment(admin, workspaceId, { name: "staging", promptId });
  for (const status of [1, 1, 0]) {
    const usage = { prompt_tokens: 10, completion_tokens: 2 };
    await submit({
      sessionId: "s 1/ä",
      status,
      content: { input: "In", output: "Out" },
      latency: 12,
      ...{
        additional_properties: usage,
      },
    });
  }
  await promoteDeployment(admin, deployId, { version: 2 });
  const review = await call(createReview, admin, {
    workspaceId,
    title: "Weekly",
    failures: true,
    from: noon - 86_400_000,
  });
  await call(takeReviewRecord, admin, { id: review.id });
  await createTenant(admin, 10, "Other");
}

test("the foot of a page names the version, and the commit where it is known", async () => {
  const footOf = (text: string) => /<p class="version">(.*?)<\/p>/.exec(text)?.[1];
  const { open } = visitor, { commit } = build;
  try {
    build.commit = undefined;
    assert.is(footOf((await open("workspaces")).text), `promptledger ${version}`);
    build.commit = "0123456789ab";
    assert.is(footOf((await open("workspaces")).text), `promptledger ${version} (0123456789ab)`);
  } finally {
    build.commit = commit;
  }
});

const maxPages = 200;

/** Opens every page that links lead to from the overview, each kind of query once. Returns them by their path. */
async function crawl({ open }: Visitor, start: string): Promise<Map<string, string>> {
  const pages = new Map<string, string>();
  const kinds = new Set<string>();
  const waiting = [start];
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    const url = new URL(path, `${origin}/console/`);
    // Records differ in their numbers alone, and lead to each other under every filter.
    const kind = url.pathname.replace(/diag_\w+/, "diag") + [...url.searchParams.keys()].sort().join();
    if (kinds.has(kind)) continue;
    kinds.add(kind);
    const { status, text, headers } = await open(path);
    // The start leads on to the only workspace, or to their list.
    if (path === "" && status === 303) continue;
    assert.is(status, 200, `${path} is ${status}`);
    if (!headers.get("Content-Type")!.startsWith("text/html")) continue;
    pages.set(path, text);
    assert.ok(pages.size <= maxPages);
    const links = linksIn(text).filter((href) => !href.startsWith("#")).map((href) => new URL(href, url));
    for (const { origin: to, pathname, search } of links) {
      assert.ok(to === origin && pathname.startsWith("/console/"), `${path} leads to ${pathname}`);
      waiting.push(pathname.slice("/console/".length) + search);
    }
  }
  return pages;
}

const all = await crawl(visitor, world.workspaceId);

test("every link of every page leads to a page, for each role", async () => {
  const paths = new Set([...all.keys()].map((path) => path.replace(/_[0-9a-z]{24,}/g, "").split("?")[0]));
  assert.ok(paths.size >= 19, [...paths].join("\n"));
  for (const role of isFull ? roles : ["viewer", "owner"] as const) {
    const { token } = await call(createToken, world.admin, { name: role, role });
    await crawl(await visit(world, token), world.workspaceId);
  }
});

test("a page has a title of its own, one heading of the first level, and a language", () => {
  for (const [path, page] of all) {
    assert.ok(titleOf(page).length > 3, path);
    assert.is(page.match(/<h1[ >]/g)?.length, 1, path);
    assert.match(page, '<html lang="en">');
  }
  const titles = [...all].filter(([path]) => !path.includes("?")).map(([, page]) => titleOf(page));
  assert.equal(titles.filter((title, index) => titles.indexOf(title) !== index), []);
});

test("a page holds no script and no style of its own, and asks no other site for anything", () => {
  for (const [path, page] of all) {
    assert.not.match(page, /<script(?! src="[./]+a\/[0-9a-f]{16}\.js" defer><\/script>)/, path);
    assert.not.match(page, /<[^>]*\s(style|on\w+)=/, path);
    assert.not.match(page, /<style|<iframe|<base|javascript:|https?:\/\/(?!ledger\.test)/, path);
  }
});

test("every page forbids scripts, styles, frames and forms of others, and is not kept by the browser", async () => {
  for (const path of [...all.keys(), "nowhere", `${world.workspaceId}/nowhere`]) {
    const { headers } = await visitor.open(path);
    const policy = headers.get("Content-Security-Policy")!;
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.not.match(policy, /unsafe|\*/);
    const others = ["Cache-Control", "X-Content-Type-Options", "Referrer-Policy", "X-Frame-Options"];
    assert.equal(others.map((name) => headers.get(name)), ["no-store", "nosniff", "same-origin", "DENY"]);
  }
});

const { page: maxBytes, script: maxScript } = budgets.console;

test("a page weighs less than 60 kB with its style and script, and the script less than 8 kB", () => {
  for (const [path, page] of all) {
    assert.ok(weightOf(page) < maxBytes, `${path}: ${weightOf(page)} bytes`);
  }
  assert.ok(assets["console.js"].text.length < maxScript);
});

test("styles declare the custom properties that they use, those of the editor with the styles of all pages", () => {
  const styles = assets["console.css"].text, all = styles + assets["editor.css"].text;
  const declared = new Set(styles.match(/--[\w-]+(?=:)/g)), used = new Set(all.match(/(?<=var\()--[\w-]+/g));
  assert.ok(used.size > 10);
  assert.equal([...used].filter((name) => !declared.has(name)), []);
});

test("so do statistics of many hours and versions, which show the newest hours and say so", async () => {
  const { world } = await createVisit({ monthlyLimit: 10_000 });
  const { admin, promptId, workspaceId, deployId } = world;
  const statuses = [{ status: 1, name: "ok" }, { status: 0, name: "failed", isFailure: true }];
  await updateWorkspace(admin, workspaceId, { statuses });
  for (let version = 2; version <= 8; version++) {
    await pushPrompt(admin, promptId, toPrompt({ ...promptFile, title: `Version ${version}` }));
    await promoteDeployment(admin, deployId, { version });
  }
  for (let nth = 0; nth < 100; nth++) {
    const additional_properties = { prompt_tokens: 1_000 + 37 * nth, completion_tokens: 100 + nth };
    const given = { sessionId: "s", promptVersion: 1 + nth % 8, cost: 0.012_345 * nth, latency: 1_234.5 * nth };
    for (const status of [0, 1]) {
      await world.submit({ ...given, status, content: { output: "x" }, additional_properties });
    }
    world.now += 3_600_000;
  }
  const visitor = await visit(world);
  for (const view of ["", "&view=table"]) {
    const page = await visitor.see(`/deployments/${deployId}/stats?last=all&interval=hour${view}`);
    assert.match(page, "The newest 25 hours are shown");
    if (view !== "") assert.is(tableIn(page, "By hour").length, 25);
    assert.ok(weightOf(page) < maxBytes, `${weightOf(page)} bytes`);
  }
  await world.close();
});

test("so does a session of many records, in pages that lead to the newer ones", async () => {
  const { world, visitor } = await createVisit();
  const statuses = [{ status: 1, name: "ok" }, { status: 0, name: "failed", isFailure: true }];
  await updateWorkspace(world.admin, world.workspaceId, { statuses });
  for (let nth = 0; nth < 100; nth++) await world.submit({ ...goodBody, sessionId: "s", status: nth % 2 });
  const page = await visitor.see("/session?id=s");
  assert.ok(weightOf(page) < maxBytes, `${weightOf(page)} bytes`);
  assert.match(page.replace(/<[^>]*>/g, ""), "25 records on this page.");
  assert.equal(valuesIn(page).slice(0, 2), ["100", "50"]); // in all, and how many of them failed
  assert.match(page, /rel="next" href="[^"]+">Newer</);
  const oldest = await visitor.see(`/records?deployment=${world.deployId}&order=oldest`);
  assert.match(oldest, "What applications submitted, oldest first.");
  assert.match(oldest, /rel="next" href="[^"]+">Newer</);
  await world.close();
});

test("so do records of long texts and names, with a filter", async () => {
  const { world, visitor } = await createVisit();
  const text = "Words & signs ".repeat(40);
  const body = { status: 1, latency: 1_234, cost: 0.001_234, content: { input: text, output: text } };
  for (let nth = 0; nth < 26; nth++) await world.submit({ ...body, sessionId: `session-${"x".repeat(50)}-${nth}` });
  const page = await visitor.see(`/records?text=words&last=30d&slower=1&deployment=${world.deployId}`);
  assert.ok(weightOf(page) < maxBytes, `${weightOf(page)} bytes`);
  await world.close();
});

test("promotions of one day share a mark", async () => {
  const { world, visitor } = await createVisit();
  await pushPrompt(world.admin, world.promptId, toPrompt({ ...promptFile, title: "Second" }));
  for (let nth = 0; nth < 12; nth++) await promoteDeployment(world.admin, world.deployId, { version: 2 - nth % 2 });
  await world.submit();
  const page = await visitor.see(`/deployments/${world.deployId}/stats`);
  const marks = Array.from(page.matchAll(/class="mark-label"[^>]*>([^<]*)</g), ([, label]) => label);
  assert.equal([...new Set(marks)], ["v1 (13)"]);
  await world.close();
});

test("an unknown page is 404, and so is what a caller for one workspace may not see", async () => {
  const other = await createWorkspace(world.admin, { name: "Secret" });
  const { token } = await call(createToken, world.admin, { name: "B", role: "admin", workspaceId: world.workspaceId });
  const bound = await visit(world, token);
  for (
    const path of ["nowhere/at/all", "ws_none", `${world.workspaceId}/nowhere`, `${world.workspaceId}/keys/key_none`]
  ) {
    const { status, text } = await visitor.open(path);
    assert.equal([status, titleOf(text).split(" · ")[0]], [404, "Not found"], path);
  }
  assert.match((await visitor.open("nowhere/at/all")).text, "There is no page with this address.");
  const hidden = await bound.open(other.id);
  assert.equal([hidden.status, hidden.text.includes("Secret")], [404, false]);
  assert.not.match((await bound.open("workspaces")).text, "Secret");
});

test("a record or a key is shown and changed only under the workspace that it is of", async () => {
  const other = await createTenant(world.admin, 10, "B");
  const { json } = await world.submit(goodBody, other.deployId, other.key);
  const { id } = json as { id: string };
  const { items: [key] } = await call(listApiKeys, world.admin, { workspaceId: other.workspaceId });
  const paths = [`/records/${id}`, `/keys/${key!.id}`];
  for (const path of [...paths, `/records/${id}/text?part=input`]) {
    assert.is((await visitor.open(world.workspaceId + path)).status, 404, path);
  }
  assert.is((await visitor.send(paths[0]!, { do: "delete" })).status, 404);
  assert.is((await visitor.send(paths[1]!, { do: "revoke" })).status, 404);
  for (const path of paths) assert.is((await visitor.open(other.workspaceId + path)).status, 200, path);
});

test("a prompt or a deployment is shown only under the workspace that it is of, also by a name that another one has", async () => {
  const other = await createTenant(world.admin, 10, "C"), versions = "compare?from=1&to=1";
  const { json } = await world.submit(goodBody, other.deployId, other.key);
  const { id: record } = json as { id: string };
  const { token } = await call(createToken, world.admin, { name: "C", role: "admin", workspaceId: other.workspaceId });
  const bound = await visit(world, token);
  const ofPrompt = ["", "/edit", `/${versions}`].map((end) => `/prompts/${other.promptId}${end}`);
  const ofDeployment = ["", "/stats", "/promote?version=1"].map((end) => `/deployments/${other.deployId}${end}`);
  for (const path of [...ofPrompt, ...ofDeployment, `/records/${record}`]) {
    assert.is((await visitor.open(world.workspaceId + path)).status, 404, path);
    assert.is((await bound.open(world.workspaceId + path)).status, 404, path);
    for (const who of [visitor, bound]) assert.is((await who.open(other.workspaceId + path)).status, 200, path);
  }
  const { name } = await call(getPrompt, world.admin, { id: other.promptId });
  for (const { workspaceId } of [world, other]) {
    assert.is((await visitor.open(`${workspaceId}/prompts/${name}/${versions}`)).status, 200);
  }
});

test("a page says what its role may not do, and a form that is sent nevertheless is refused with the role that it needs", async () => {
  const { token } = await call(createToken, world.admin, { name: "Vera", role: "viewer" });
  const viewer = await visit(world, token);
  for (const path of ["/keys", "/tokens", "/settings", `/deployments/${world.deployId}/promote?version=1`]) {
    const page = await viewer.see(path);
    assert.match(page, /This needs the role \w+\. You are signed in as viewer\./, path);
    assert.not.match(page.replace(/<form method="post" action="[^"]*sign-out".*?<\/form>/s, ""), 'method="post"', path);
  }
  const { status, text } = await viewer.send("/keys", { name: "Mine" });
  assert.is(status, 403);
  assert.match(text, "This needs the role admin");
});

test("a path that takes no form refuses one", async () => {
  assert.is((await visitor.send("/usage", {})).status, 405);
});

test.run();
