// Webhooks in the console, without scripts: made, tested, changed, rotated, switched off and on, deleted, and their deliveries.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { updateWorkspace } from "../actions.ts";
import { createToken } from "../../src/management/access/tokens.ts";
import { createWebhook, listWebhooks } from "../../src/management/events/webhooks.ts";
import type { Webhook } from "../../src/management/events/webhooks.ts";
import { call } from "../actions.ts";
import { createTenant, noon } from "../helpers.ts";
import { deliverer } from "../management/deliverer.ts";
import { assertHarmless, attacks, withoutFields } from "./attacks.ts";
import { createVisit, linksIn, locationIn, refusalIn, visit, weightOf } from "./visitor.ts";
import type { Visitor } from "./visitor.ts";

const test = suite("webhooks in the console");

const url = "https://hooks.example.com/T0/B0/secret-path";

/** Sends a form, and returns where it leads. */
const follow = async (visitor: Visitor, path: string, form: Record<string, string>) =>
  locationIn(await visitor.send(path, form), path);

const secretIn = (page: string) => /<code class="secret">(whsec_[^<]+)</.exec(page)?.[1];

async function stage() {
  const { world, visitor } = await createVisit();
  const rename = (name: string) => updateWorkspace(world.admin, world.workspaceId, { name });
  const find = async () => (await call(listWebhooks, world.admin, {})).items[0] as Webhook;
  return { world, visitor, rename, find };
}

test("a webhook is made, its secret is shown once, and its deliveries are seen with what was answered", async () => {
  const { world, visitor, rename, find } = await stage();
  assert.match(await visitor.see("/webhooks"), "No webhook yet");
  const made = await visitor.send("/webhooks", { url, events: "workspace.*", format: "standard", where: "here" });
  assert.is(made.status, 200);
  assert.match(secretIn(made.text)!, /^whsec_/);
  const { id, events, workspaceId } = await find();
  assert.equal([events, workspaceId], ["workspace.*", world.workspaceId]);
  const path = `/webhooks/${id}`;
  for (const page of ["/webhooks", path]) {
    const text = await visitor.see(page);
    for (const shown of ["https://hooks.example.com", '<span class="chip live">on</span>', "workspace.*"]) {
      assert.match(text, shown);
    }
    for (const hidden of ["secret-path", "whsec_"]) assert.not.match(text, hidden);
  }
  await rename("<b>New</b>");
  const isFailing = { now: true };
  const { run } = deliverer(world, () => isFailing.now ? { status: 500, text: "<b>Oops</b>" } : {});
  await run();
  world.now += 3 * 3_600_000;
  assert.match(await visitor.see("/webhooks"), /oldest undelivered event <time[^>]*>3 h ago/);
  const list = await visitor.see(path);
  assert.match(list, /retrying 500.*&lt;b&gt;|&lt;b&gt;.*retrying 500/s);
  assert.match(await visitor.see(`${path}?failed=yes`), "retrying 500");
  const delivery = linksIn(list).find((href) => href.includes("deliveries"))!;
  assert.match(delivery, /deliveries\/1$/);
  const page = await visitor.see(`${path}/deliveries/1`);
  assert.match(page, "workspace.updated to <bdi>https://hooks.example.com</bdi>");
  assert.match(page, /<pre class="panel mono" dir="auto">&lt;b&gt;Oops&lt;\/b&gt;<\/pre>/);
  // What it is about is a page of the workspace.
  assert.ok(linksIn(page).some((href) => href.endsWith(`${world.workspaceId}/settings`)));
  isFailing.now = false;
  assert.is(await follow(visitor, `${path}/deliveries/1`, {}), `${path}/deliveries/1?done=resent`);
  assert.match(await visitor.see(`${path}/deliveries/1?done=resent`), "at once");
  await run();
  assert.match(await visitor.see(`${path}/deliveries/1`), "delivered 204");
  assert.match(await visitor.see(`${path}?failed=yes`), "No delivery failed");
  assert.not.match(await visitor.see("/webhooks"), "oldest undelivered");
  // All since a time.
  const again = (since: string, more = {}) => follow(visitor, path, { do: "resend", since, ...more });
  assert.is(await again("2026-11-15T00:00", { only: "yes" }), `${path}?done=none`);
  assert.is(await again("2026-11-15T00:00"), `${path}?done=resent`);
  assert.is((await run()).length, 1);
  assert.is((await visitor.send(path, { do: "resend" })).status, 400);
  // A test is a delivery too.
  assert.is(await follow(visitor, path, { do: "test" }), `${path}/deliveries/2?done=test`);
  await run();
  assert.match(await visitor.see(`${path}/deliveries/2?done=test`), "webhook.test");
  await world.close();
});

test("a webhook is changed, rotated, switched off and on, and deleted", async () => {
  const { world, visitor, rename, find } = await stage();
  const made = await visitor.send("/webhooks", { url, events: "", where: "all" });
  const secret = secretIn(made.text);
  const { id, workspaceId, events } = await find(), path = `/webhooks/${id}`;
  assert.equal([workspaceId, events], [null, null]);
  assert.match(await visitor.see(path), /audit\?everywhere=yes">all<\/a>.*all workspaces/s);
  assert.is(await follow(visitor, path, { do: "change", url: "", events: "key.created" }), `${path}?done=changed`);
  assert.equal((await find()).events, "key.created");
  await follow(visitor, path, { do: "change", url: "https://other.example.com/x", events: "" });
  const changed = await find();
  assert.equal([changed.address, changed.events], ["https://other.example.com", null]);
  const rotated = await visitor.send(path, { do: "rotate", overlap: "3600000" });
  assert.ok(secretIn(rotated.text) !== undefined && secretIn(rotated.text) !== secret);
  assert.match(await visitor.see(path), "Old secret signs until");
  await rename("New");
  const { run } = deliverer(world, () => ({ status: 500 }));
  await run();
  assert.is(await follow(visitor, path, { do: "disable" }), `${path}?done=disabled`);
  const off = await visitor.see(`${path}?done=disabled`);
  for (const shown of ["switched off by someone", "stopped 500", "Switch on"]) assert.match(off, shown);
  assert.not.match(off, "Send a test");
  assert.is((await visitor.send(path, { do: "test" })).status, 409);
  assert.is(await follow(visitor, path, { do: "enable" }), `${path}?done=enabled`);
  assert.match(await visitor.see(path), "Send a test");
  assert.is(await follow(visitor, path, { do: "delete" }), "/webhooks?done=deleted");
  assert.is((await visitor.open(`${world.workspaceId}${path}`)).status, 404);
  assert.match(await visitor.see("/audit?action=webhook&everywhere=yes"), "webhook rotated");
  await world.close();
});

test("a receiver that is gone is said, and formats without signature have no secret", async () => {
  const { world, visitor, rename, find } = await stage();
  const slack = await follow(visitor, "/webhooks", { url, format: "slack", where: "here" });
  const { id } = await find();
  assert.is(slack, `/webhooks/${id}?done=created`);
  assert.not.match(await visitor.see(`/webhooks/${id}`), "Make a new secret");
  await rename("New");
  await deliverer(world, () => ({ status: 410 })).run();
  for (const page of ["/webhooks", `/webhooks/${id}`]) {
    assert.match(await visitor.see(page), /<span class="chip bad">off<\/span><p class="hint">its receiver is gone/);
  }
  const warning = /<data value="1">1<\/data> webhook<\/a> is off, because deliveries failed/;
  assert.match(await visitor.see(""), warning);
  world.now++; // Ids are in the order of time
  const github = { format: "github", url: "https://api.github.com/repos/acme/prompts/dispatches" };
  await follow(visitor, "/webhooks", { ...github, credential: "ghp_secret-token", where: "here" });
  const path = `/webhooks/${(await find()).id}`;
  const refused = await visitor.send(path, { do: "change", url: github.url, credential: "", events: "" });
  assert.equal([refused.status, refusalIn(refused.text)], [
    400,
    "With another URL the credential must be given too.",
  ]);
  assert.not.match(await visitor.see(path), "ghp_");
  await world.close();
});

test("what cannot be is refused in a sentence, and the form keeps what was entered but the token", async () => {
  const { world, visitor } = await stage();
  const tries: [form: Record<string, string>, reason: RegExp][] = [
    [{ url: "" }, /^The URL must /],
    [{ url: "http://hooks.example.com/" }, /^The URL /],
    [{ url: "https://ann:secret@hooks.example.com/" }, /^The URL /],
    [{ url, events: "deployment.*,nothing.here" }, /^There is no event nothing\.here\. /],
    [{ url, events: "nothing here" }, /^Events must be types of events/],
    [{ url, format: "github" }, /^With github the URL must be/],
    [{ url, credential: "ghp_x" }, /^Only github takes a credential/],
    [{ url, credential: "ghp x" }, /^GitHub token must be/],
    [{ url, format: "teams" }, /format must be one of standard, github, slack/],
  ];
  for (const [form, reason] of tries) {
    const { status, text } = await visitor.send("/webhooks", form);
    assert.is(status, 400, JSON.stringify(form));
    assert.match(refusalIn(text)!, reason);
    assert.match(text, `name="url" type="url" value="${form.url}"`);
    assert.match(text, `value="${form.events ?? ""}"`);
    assert.not.match(text, "ghp");
  }
  const { id } = await call(createWebhook, world.admin, { url, workspaceId: world.workspaceId });
  for (const form of [{}, { do: "nothing" }, { do: "constructor" }] as Record<string, string>[]) {
    assert.is((await visitor.send(`/webhooks/${id}`, form)).status, 400);
  }
  for (const path of ["/webhooks/wh_x", `/webhooks/${id}/deliveries/1`, `/webhooks/${id}/deliveries/x`]) {
    assert.is((await visitor.open(world.workspaceId + path)).status, 404, path);
  }
  await world.close();
});

test("viewers read webhooks, admins of the workspace change those of the workspace alone", async () => {
  const { world, visitor, rename } = await stage();
  const { admin, workspaceId } = world;
  const other = await createTenant(admin, 10, "Other");
  const make = (whose: object) => call(createWebhook, admin, { url, ...whose });
  const [own, theirs, all] = [
    await make({ workspaceId }),
    await make({ workspaceId: other.workspaceId }),
    await make({}),
  ];
  await rename("New");
  await deliverer(world).run();
  const signIn = async (role: "viewer" | "admin") =>
    await visit(world, (await call(createToken, admin, { name: role, role, workspaceId })).token);
  const viewer = await signIn("viewer"), bound = await signIn("admin");
  const path = `/webhooks/${own.id}`, lack = "This needs the role admin. You are signed in as viewer.";
  for (const page of ["/webhooks", path, `${path}/deliveries/1`]) {
    const text = await viewer.see(page);
    assert.match(text, lack);
    assert.is(text.match(/method="post"/g)!.length, 1, "only to sign out");
  }
  for (const todo of ["test", "resend", "change", "rotate", "enable", "disable", "delete"]) {
    assert.is((await viewer.send(path, { do: todo, since: "2026-11-01" })).status, 403, todo);
  }
  assert.is((await viewer.send(`${path}/deliveries/1`, {})).status, 403);
  assert.is((await viewer.send("/webhooks", { url })).status, 403);
  const seen = (text: string) => [own, theirs, all].map(({ id }) => text.includes(id));
  assert.equal(seen(await bound.see("/webhooks")), [true, false, false]);
  assert.equal(seen(await visitor.see("/webhooks")), [true, false, true]);
  for (const { id } of [theirs, all]) {
    assert.is((await bound.open(`${workspaceId}/webhooks/${id}`)).status, 404);
    assert.is((await bound.send(`/webhooks/${id}`, { do: "delete" })).status, 404);
  }
  assert.is((await visitor.send(`/webhooks/${theirs.id}`, { do: "delete" })).status, 404);
  // Whoever may see one workspace makes webhooks of that one, whatever they send.
  world.now++;
  await bound.send("/webhooks", { url, where: "all" });
  const { items: [newest] } = await call(listWebhooks, admin, {});
  assert.is(newest!.workspaceId, workspaceId);
  await world.close();
});

test("what receivers and actors wrote is harmless, and pages stay light", async () => {
  const { world, visitor, rename, find } = await stage();
  await call(createWebhook, world.admin, { url, workspaceId: world.workspaceId, events: "workspace.updated" });
  const { id } = await find(), texts = Object.values(attacks);
  for (const [nth, text] of texts.entries()) {
    await rename(text.replace(/[\p{Cc}\u2028\u2029]/gu, "").slice(0, 150).trim() || "x");
    const answer = nth % 2 === 0 ? { status: 500, text: text.slice(0, 1_024) } : new Error(text);
    await deliverer(world, () => answer).run();
  }
  for (const path of ["", ...texts.map((_, nth) => `/deliveries/${nth + 1}`)]) {
    assertHarmless(withoutFields(await visitor.see(`/webhooks/${id}${path}`)), path);
  }
  for (let nth = 0; nth < 50; nth++) {
    const events = Array.from({ length: 10 }, () => "prompt.version_published").join();
    await call(createWebhook, world.admin, { url, workspaceId: world.workspaceId, events });
    await rename(`Name ${nth} ${"<".repeat(100)}`);
  }
  await deliverer(world, () => ({ status: 500, text: '"'.repeat(1_024) })).run();
  for (const path of ["/webhooks", `/webhooks/${id}`, `/webhooks/${id}/deliveries/20`, "/audit/types"]) {
    const page = await visitor.see(path);
    assert.ok(weightOf(page) < 60_000, `${path}: ${weightOf(page)}`);
  }
  await world.close();
});

test("the types of events lead to those that have happened", async () => {
  const { world, visitor } = await stage();
  const types = await visitor.see("/audit/types");
  for (const shown of ["deployment.promoted", "A deployment serves another version"]) assert.match(types, shown);
  assert.ok(linksIn(types).includes("../audit?action=prompt.version_published"), linksIn(types).join());
  assert.ok(linksIn(await visitor.see("/audit")).includes("audit/types"));
  assert.match(await visitor.see("/audit?action=prompt.created,key.*"), /prompt created.*|key created/s);
  assert.is(world.now, noon);
  await world.close();
});

test.run();
