// Webhooks: which there may be, what they get, and when it is sent again. Time and receivers are the test's own.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createMetrics } from "../../src/common/metrics.ts";
import type { Database } from "../../src/database/database.ts";
import { notPublic } from "../../src/support/outbound-url.ts";
import { createDelivery, removeOldDeliveries } from "../../src/management/events/deliver.ts";
import { perform } from "../../src/management/kernel/operation.ts";
import { resendWebhookDeliveries } from "../../src/management/events/webhook-deliveries.ts";
import type { Delivery } from "../../src/management/events/webhook-deliveries.ts";
import type { WebhookRequest } from "../../src/management/events/webhook-requests.ts";
import { createWebhook, findOldestDue } from "../../src/management/events/webhooks.ts";
import type { NewWebhook, Webhook } from "../../src/management/events/webhooks.ts";
import { startDeliverer } from "../../src/runtime/serving/deliverer.ts";
import { call } from "../actions.ts";
import { verifyBalanced } from "../balanced.ts";
import { captureLog, counting, createTenant, createWorld } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { deliverer } from "./deliverer.ts";
import type { Answering } from "./deliverer.ts";
import { dump, readAll, refused, taken } from "./management.ts";

const test = suite("webhooks");

const second = 1_000, minute = 60_000, hour = 3_600_000, day = 24 * hour; // ms
const url = "https://hooks.example.com/T0/B0/secret-path";
const github = "https://api.github.com/repos/acme/prompts/dispatches";

const create = async (world: World, body: object = {}) =>
  taken<NewWebhook>(await world.manage("POST", "/webhooks", { url, ...body }), 201);
const show = async (world: World, { id }: Pick<Webhook, "id">) =>
  taken<Webhook>(await world.manage("GET", `/webhooks/${id}`));
const post = (world: World, { id }: Pick<Webhook, "id">, verb: string, body: object = {}) =>
  world.manage("POST", `/webhooks/${id}/${verb}`, body);
const deliveriesOf = async (world: World, { id }: Pick<Webhook, "id">, query = "") =>
  (await readAll<Delivery>(world, `/webhooks/${id}/deliveries${query}`)).reverse();
const rename = async (world: World, name: string) =>
  taken(await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { name }));

const dataOf = ({ body }: WebhookRequest) => JSON.parse(body).data;
const typesOf = (requests: WebhookRequest[]) => requests.map((request) => dataOf(request).type);

test("nothing that is read has more of a URL than its origin, and the secret is shown once", async () => {
  const world = await createWorld();
  const { secret, ...created } = await create(world, { events: "deployment.*,key.created" });
  assert.match(secret!, /^whsec_[\w+/]{43}=$/);
  assert.equal(created, {
    ...{ id: created.id, workspaceId: null, address: "https://hooks.example.com", events: "deployment.*,key.created" },
    ...{ format: "standard", createdAt: world.now, overlapEndsAt: null, lastSuccessAt: null },
    ...{ oldestDueAt: null, disabledAt: null, disabledReason: null },
  });
  assert.match(created.id, /^wh_[0-9a-z]{26}$/);
  const { secret: none } = await create(world, { url: github, format: "github", credential: "ghp_token" });
  assert.is(none, null);
  assert.equal(await show(world, created), created);
  const paths = ["/webhooks", `/webhooks/${created.id}`, "/audit", "/events"];
  for (const path of paths) {
    const { text } = await world.manage("GET", path);
    for (const hidden of [secret!, "secret-path", "ghp_token"]) assert.not.match(text, hidden);
  }
  assert.not.match(world.logged.join(), "secret-path");
});

test("an event is sent in the order of the log, signed, to those that want it", async () => {
  const world = await createWorld();
  await rename(world, "Before");
  const webhook = await create(world, { events: "workspace.updated,prompt.*" });
  const { run } = deliverer(world);
  assert.equal(await run(), []);
  for (const name of ["First", "Second"]) await rename(world, name);
  taken(await world.manage("POST", `/deployments/${world.deployId}/deactivate`));
  const [first, last, ...others] = await run();
  assert.equal(others, []);
  assert.equal([first, last].map((request) => dataOf(request!).after.name), ["First", "Second"]);
  const event = dataOf(first!);
  const { timestamp, type } = JSON.parse(first!.body);
  assert.equal([timestamp, type, first!.url], [new Date(world.now).toISOString(), "workspace.updated", url]);
  assert.equal(
    [event],
    taken<{ items: object[] }>(await world.manage("GET", "/events?types=workspace.updated&after=6&limit=1")).items,
  );
  const { "webhook-id": id, "webhook-timestamp": at, ...headers } = first!.headers;
  assert.equal([id, at], [event.id, String(Math.floor(world.now / 1000))]);
  assert.match(headers["webhook-signature"]!, /^v1,[\w+/]{43}=$/);
  assert.equal(await run(), []);
  const found = await deliveriesOf(world, webhook);
  assert.equal(found.map(({ number, outcome, attempts, status }) => [number, outcome, attempts, status]), [
    [1, "delivered", 1, 204],
    [2, "delivered", 1, 204],
  ]);
  assert.is((await show(world, webhook)).lastSuccessAt, world.now);
});

test("a webhook of a workspace gets the events of the workspace, numbered by themselves", async () => {
  const world = await createWorld();
  const { workspaceId } = await createTenant(world.admin);
  await create(world, { workspaceId });
  const { run } = deliverer(world);
  await rename(world, "Other");
  assert.equal(typesOf(await run()), []);
  taken(await world.manage("PATCH", `/workspaces/${workspaceId}`, { name: "Own" }));
  const [sent, ...others] = (await run()).map(dataOf);
  const { items } = taken<{ items: { id: string }[] }>(await world.manage("GET", `/events?workspaceId=${workspaceId}`));
  assert.equal([sent.id, sent.position, others], [items.at(-1)!.id, items.length, []]);
});

test("without webhooks nothing looks for events, and the first one is noticed once something says so", async () => {
  const world = await createWorld();
  const { database, counts } = counting(world.database);
  const sent: string[] = [];
  const parts = { database, clock: () => world.now, log: captureLog("info").log, metrics: createMetrics() };
  const deliverer = startDeliverer({
    ...parts,
    // deno-lint-ignore require-await
    async send({ body }) {
      sent.push(body);
      return { status: 204, text: "", retryAfter: undefined };
    },
  }, 5);
  const rest = () => new Promise((resolve) => setTimeout(resolve, 50));
  await rest();
  assert.is(counts.reads, 1);
  // It finds that there is still none.
  deliverer.wake();
  await rest();
  assert.is(counts.reads, 2);
  await call(createWebhook, { ...world.admin, onWebhook: deliverer.wake }, { url });
  await rename(world, "New");
  while (sent.length === 0) await rest();
  await deliverer.stop();
  const { reads } = counts;
  await rest();
  assert.is(counts.reads, reads);
});

test("the webhooks of a workspace are its own, and those for all", async () => {
  const world = await createWorld();
  const { workspaceId } = await createTenant(world.admin);
  const [own, all] = [await create(world, { workspaceId }), await create(world)];
  await create(world, { workspaceId: world.workspaceId });
  const found = await readAll<Webhook>(world, `/webhooks?workspaceId=${workspaceId}`);
  assert.equal(found.map(({ id }) => id).sort(), [own.id, all.id].sort());
});

test("what fails is sent again after its waits, and after the last attempt the webhook is off", async () => {
  const world = await createWorld();
  const webhook = await create(world, { events: "workspace.updated" });
  const watching = await create(world, { url: "https://other.example.com/", events: "webhook.*" });
  const failing = deliverer(
    world,
    ({ url: to }) => to === url ? { status: 500, text: "Oops\0 /T0/B0/secret-path" } : {},
  );
  await rename(world, "New");
  const waits = [5 * second, 5 * minute, 30 * minute, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hour)];
  for (const [nth, wait] of waits.entries()) {
    assert.is((await failing.run()).length, 1);
    const [{ dueAt, attempts, response, outcome }] = await deliveriesOf(world, webhook) as [Delivery];
    assert.equal([attempts, response, outcome], [nth + 1, "Oops …", null]);
    assert.ok(Math.abs(dueAt! - world.now - wait) <= wait / 10, `${nth}`);
    world.now = dueAt! - 1;
    assert.equal(await failing.run(), []);
    world.now++;
  }
  assert.is((await failing.run()).length, 1);
  assert.equal((await deliveriesOf(world, webhook)).map(({ outcome, attempts }) => [outcome, attempts]), [[
    "failed",
    10,
  ]]);
  const { disabledAt, disabledReason } = await show(world, webhook);
  assert.equal([disabledAt, disabledReason], [world.now, "failing"]);
  const [told] = await failing.run();
  assert.equal(typesOf([told!]), ["webhook.disabled"]);
  const { subject, after, actor, source } = dataOf(told!);
  assert.equal([subject.id, subject.name, actor, source], [webhook.id, webhook.address, "webhooks", "embedded"]);
  assert.equal(after, { disabledAt: world.now, disabledReason: "failing" });
  assert.is((await show(world, watching)).disabledAt, null);
  await rename(world, "Unheard");
  assert.equal(await failing.run(), []);
});

test("one delivery that fails for good leaves a webhook on that took others since", async () => {
  const world = await createWorld();
  const webhook = await create(world, { events: "workspace.updated" });
  const { run } = deliverer(world, (request) => dataOf(request).after?.name === "Poison" ? new Error("Reset") : {});
  await rename(world, "Poison");
  await run();
  await rename(world, "Good");
  world.now++;
  await run();
  for (let attempt = 2; attempt <= 10; attempt++) {
    world.now += 30 * hour;
    await run();
  }
  const found = await deliveriesOf(world, webhook);
  assert.equal(found.map(({ outcome, error, status }) => [outcome, error, status]), [
    ["failed", "Reset", null],
    ["delivered", null, 204],
  ]);
  assert.is((await show(world, webhook)).disabledAt, null);
});

test("a webhook that fails is switched off by what happened, whatever a wrong clock said meanwhile", async () => {
  const year = 365 * day;
  for (const [ahead, reason] of [["success", "failing"], ["event", null]] as const) {
    const world = await createWorld();
    const webhook = await create(world, { events: "workspace.updated" });
    let takes = true;
    const { run } = deliverer(
      world,
      (request) => takes && dataOf(request).after.name !== "Poison" ? {} : { status: 500 },
    );
    const renameAhead = async (name: string, isAhead: boolean) => {
      world.now += isAhead ? year : 0;
      await rename(world, name);
      await run();
      world.now -= isAhead ? year : 0;
    };
    await renameAhead("Good", ahead === "success");
    await renameAhead("Poison", ahead === "event");
    takes = ahead === "event";
    for (let attempt = 2; attempt <= 10; attempt++) {
      world.now += 30 * hour;
      if (attempt === 9) await rename(world, "Also good");
      await run();
    }
    const [, poison] = await deliveriesOf(world, webhook);
    assert.equal([poison!.outcome, poison!.attempts], ["failed", 10]);
    assert.is((await show(world, webhook)).disabledReason, reason, ahead);
  }
});

test("410 switches a webhook off at once, and what was due is stopped", async () => {
  const world = await createWorld();
  const webhook = await create(world, { events: "workspace.updated" });
  const { run } = deliverer(world, () => ({ status: 410 }));
  for (const name of ["One", "Two"]) await rename(world, name);
  assert.is((await run()).length, 1);
  assert.equal((await deliveriesOf(world, webhook)).map(({ outcome }) => outcome), ["failed", "stopped"]);
  assert.is((await show(world, webhook)).disabledReason, "gone");
  refused(await post(world, webhook, "test"), 409, `Webhook ${webhook.id} is off: enable it first`);
  taken(await post(world, webhook, "enable"));
  assert.equal(await run(), []);
  await rename(world, "Three");
  assert.is((await run()).length, 1);
});

test("a webhook that is deleted while its receiver answers is no failure", async () => {
  const world = await createWorld();
  const webhook = await create(world, { events: "workspace.updated" });
  await rename(world, "One");
  const errors: unknown[] = [];
  const delivery = createDelivery({
    store: { database: world.database, clock: () => world.now },
    async send() {
      taken(await world.manage("DELETE", `/webhooks/${webhook.id}`));
      return { status: 410, text: "", retryAfter: undefined };
    },
    ...{ isOver: () => false, onAttempt() {}, onError: (error) => void errors.push(error) },
  });
  await delivery.look();
  await delivery.rest();
  assert.equal(errors, []);
});

test("only 2xx is success, and Retry-After is honoured for a day at most", async () => {
  const world = await createWorld();
  const webhook = await create(world, { events: "workspace.updated" });
  let answer: ReturnType<Answering> = { status: 302 };
  const { run, results } = deliverer(world, () => answer);
  await rename(world, "One");
  await rename(world, "Two");
  assert.is((await run()).length, 2);
  assert.equal(results, ["retried", "retried"]);
  world.now += 6 * second;
  answer = { status: 503, retryAfter: "600" };
  assert.is((await run()).length, 1);
  answer = {};
  for (const wait of [0, 599 * second]) {
    world.now += wait;
    assert.equal(await run(), [], "all of the webhook waits");
  }
  world.now += second;
  assert.is((await run()).length, 2);
  await rename(world, "Three");
  answer = { status: 429, retryAfter: new Date(world.now + 99 * day).toUTCString() };
  await run();
  const last = async () => (await deliveriesOf(world, webhook)).at(-1)!;
  assert.is((await last()).dueAt, world.now + day);
  answer = { status: 503, retryAfter: "9".repeat(20) };
  world.now += day;
  await run();
  assert.is((await last()).dueAt, world.now + day);
  answer = { status: 429, retryAfter: "soon" };
  world.now += day;
  await run();
  assert.ok((await deliveriesOf(world, webhook)).at(-1)!.dueAt! <= world.now + 33 * minute);
});

test("several processes make each delivery once, and one at a time sends", async () => {
  const world = await createWorld();
  const webhook = await create(world, { events: "workspace.updated" });
  const processes = [1, 2, 3].map(() => deliverer(world));
  for (let nth = 0; nth < 20; nth++) await rename(world, `Name ${nth}`);
  await Promise.all(processes.map(({ run }) => run()));
  const sent = processes.flatMap(({ sent }) => sent);
  assert.equal(new Set(sent.map((request) => dataOf(request).after.name)).size, 20);
  assert.is(sent.length, 20);
  assert.is((await deliveriesOf(world, webhook)).length, 20);
});

test("events that another process did not know yet are sent, though it has moved the webhook and ended", async () => {
  const world = await createWorld();
  await create(world, { events: "workspace.updated" });
  for (const name of ["Made by the other", "New"]) await rename(world, name);
  let hasMoved = false;
  const database: World["database"] = {
    ...world.database,
    async write(statements) {
      if (!hasMoved) await world.database.write([{ sql: "update webhooks set seen = seen + 1" }]);
      hasMoved = true;
      return await world.database.write(statements);
    },
  };
  const { run } = deliverer({ ...world, database });
  assert.equal((await run()).map((request) => dataOf(request).after.name), ["New"]);
});

test("without webhooks a look is one read, and with idle ones three", async () => {
  const world = await createWorld();
  const { counts, database } = counting(world.database);
  const { run } = deliverer({ ...world, database });
  const look = async () => {
    Object.assign(counts, { reads: 0, writes: 0 });
    await run();
    return { ...counts };
  };
  assert.equal(await look(), { reads: 1, writes: 0 });
  await create(world);
  await look();
  assert.equal(await look(), { reads: 3, writes: 0 });
});

test("a process that ended is replaced after its lease, whatever its clock said", async () => {
  const world = await createWorld();
  await create(world, { events: "workspace.updated" });
  await rename(world, "New");
  const { run } = deliverer(world);
  const lease = (until: number) =>
    world.database.write([{ sql: "update webhooks set leased_until = ?", args: [until] }]);
  await lease(world.now + 60 * second);
  assert.equal(await run(), []);
  world.now += 60 * second;
  assert.is((await run()).length, 1);
  await rename(world, "Newer");
  await lease(world.now + 9 * day);
  assert.is((await run()).length, 1);
});

test("a process that alone may serve the database does not wait for the lease of one that was killed", async () => {
  const world = await createWorld();
  await create(world, { events: "workspace.updated" });
  await rename(world, "New");
  const lease = () =>
    world.database.write([{ sql: "update webhooks set leased_until = ?", args: [world.now + 60 * second] }]);
  await lease();
  const { run } = deliverer(world, () => ({}), true);
  assert.is((await run()).length, 1);
  // A lease that begins later is its own.
  await rename(world, "Newer");
  await lease();
  assert.equal(await run(), []);
});

/** The same world, and the most deliveries that one transaction has changed. */
async function withDeliveries(count: number) {
  const world = await createWorld(), { database } = world;
  const { id } = await create(world, { events: "workspace.updated" });
  await database.write([{
    sql: `insert into webhook_deliveries (webhook_id, number, event_id, type, event, created_at, due_at)
      select ?, value, 'evt_' || value, 'workspace.updated', '{}', ?, 0 from generate_series(1, ?)`,
    args: [id, world.now, count],
  }]);
  const left = async () => {
    const sql = "select count(*) as rows, count(due_at) as due from webhook_deliveries";
    const [row] = await database.read({ sql });
    return [Number(row!.rows), Number(row!.due)];
  };
  let most = 0;
  const watched: Database = {
    ...database,
    async write(statements) {
      const before = await left(), results = await database.write(statements), after = await left();
      most = Math.max(most, ...before.map((count, nth) => count - after[nth]!));
      return results;
    },
  };
  const service = await createWorld({ database: watched, tenant: world });
  return { world, service, id, left, most: () => most };
}

test("a webhook is deleted with its deliveries, at most 1,000 of them in one transaction", async () => {
  const { world, service, id, left, most } = await withDeliveries(2_500);
  taken(await service.manage("DELETE", `/webhooks/${id}`));
  refused(await service.manage("GET", `/webhooks/${id}`), 404, `Webhook ${id} not found`);
  assert.equal(await left(), [1_500, 1_500]);
  await rename(world, "New");
  // It looks each minute, even without webhooks.
  assert.equal(await deliverer(service).run(), []);
  assert.equal([await left(), most()], [[0, 0], 1_000]);
  assert.equal(await world.database.read({ sql: "select * from deleted_webhooks" }), []);
  await verifyBalanced(world.admin);
});

test("a workspace is deleted with what is left of its deleted webhooks", async () => {
  const { world, service, id, left } = await withDeliveries(2_500);
  const { workspaceId } = world;
  await world.database.write([{ sql: "update webhooks set workspace_id = ?", args: [workspaceId] }]);
  taken(await service.manage("DELETE", `/webhooks/${id}`));
  assert.equal(await left(), [1_500, 1_500]);
  while (!taken<{ isDone: boolean }>(await service.manage("DELETE", `/workspaces/${workspaceId}?confirm=Acme`)).isDone);
  assert.equal(await left(), [0, 0]);
  assert.equal(await world.database.read({ sql: "select * from deleted_webhooks" }), []);
});

test("a webhook is switched off with what was due, at most 1,000 deliveries in one transaction", async () => {
  for (const isFinished of [true, false]) {
    const { world, service, id, left, most } = await withDeliveries(2_500);
    const off = taken<Webhook>(await service.manage("POST", `/webhooks/${id}/disable`));
    assert.equal(taken(await service.manage("GET", `/webhooks/${id}`)), off);
    assert.equal([off.oldestDueAt, await findOldestDue(world.database)], [null, null]);
    if (isFinished) assert.equal([await deliverer(service).run(), await left()], [[], [2_500, 0]]);
    // Whether the rest has been stopped by then or not, nothing of it is sent.
    taken(await service.manage("POST", `/webhooks/${id}/enable`));
    await rename(world, "New");
    assert.is((await deliverer(world).run()).length, 1);
    assert.equal([await left(), most()], [[2_501, 0], 1_000]);
  }
});

test("webhooks take turns, and those of one workspace leave room for others", async () => {
  const world = await createWorld();
  const { workspaceId } = await createTenant(world.admin);
  for (let nth = 0; nth < 17; nth++) await create(world, { url: `${url}/${nth}`, workspaceId });
  await create(world, { url: `${url}/of-all`, events: "workspace.updated" });
  const { run } = deliverer(world);
  const receivers = async () => new Set((await run()).map((request) => request.url.slice(url.length + 1)));
  const update = async (name: string) => taken(await world.manage("PATCH", `/workspaces/${workspaceId}`, { name }));
  await update("One");
  const first = await receivers();
  assert.is(first.size, 17);
  assert.ok(first.has("of-all"));
  world.now++;
  await update("Two");
  assert.is(
    new Set([...first, ...await receivers()]).size,
    18,
    "what has waited comes before those that had their turn",
  );
});

test("what is due is sent before many webhooks have the deliveries of all events", async () => {
  const world = await createWorld();
  const { workspaceId } = world;
  for (let nth = 0; nth < 40; nth++) await create(world, { url: `${url}/${nth}`, workspaceId });
  await rename(world, "New");
  const { run } = deliverer(world);
  const made = async () => {
    const [row] = await world.database.read({
      sql: "select count(distinct webhook_id) as webhooks from webhook_deliveries",
    });
    return row!.webhooks;
  };
  assert.is((await run()).length > 0, true);
  assert.is(await made(), 32);
  await run();
  assert.is(await made(), 40);
});

test("what a response repeats of a URL is masked, in parts and cut too", async () => {
  const world = await createWorld();
  const [segment, token] = ["xoxb-0123456789", "a+b/c=0123456789"];
  const to = `https://hooks.example.com/in/${segment}?token=${encodeURIComponent(token)}`;
  const webhook = await create(world, { url: to, events: "workspace.updated" });
  const responses: [text: string, kept: string][] = [
    [to, "…"],
    [`{"args": {"token": "${token}"}}`, '{"args": {"token": "…"}}'],
    [`Unknown hook ${segment}`, "Unknown hook …"],
    [`Cannot POST ${to.slice(0, -1)}`, "Cannot POST https://hooks.example.com…?token=…"],
    [`Cannot POST ${to.slice(to.indexOf("/in/"), -6)}`, "Cannot POST …?token=…"],
  ];
  for (const [text, kept] of responses) {
    await rename(world, kept);
    await deliverer(world, () => ({ status: 500, text })).run();
    assert.is((await deliveriesOf(world, webhook)).at(-1)!.response, kept);
  }
});

test("a rotated secret signs beside the new one until its overlap ends", async () => {
  const world = await createWorld();
  const webhook = await create(world);
  const rotated = taken<NewWebhook>(await post(world, webhook, "rotate", { overlapMs: hour }));
  assert.is.not(rotated.secret, webhook.secret);
  assert.is(rotated.overlapEndsAt, world.now + hour);
  const { run } = deliverer(world);
  const signatures = async () => (await run()).at(-1)!.headers["webhook-signature"]!.split(" ").length;
  assert.is(await signatures(), 2);
  taken(await post(world, webhook, "test"));
  world.now += hour;
  assert.is(await signatures(), 1);
  taken(await post(world, webhook, "rotate", { overlapMs: 0 }));
  assert.is(await signatures(), 1);
  const [row] = await world.database.read({ sql: "select count(*) as secrets from webhook_secrets" });
  assert.is(row!.secrets, 1);
});

test("github gets a repository_dispatch, and slack a sentence", async () => {
  const world = await createWorld();
  await create(world, { url: github, format: "github", credential: "ghp_token", events: "deployment.*" });
  const slack = await create(world, { url: "https://hooks.slack.com/services/T0/B0/x", format: "slack" });
  const { run } = deliverer(world);
  const note = "<b> & more";
  taken(await world.manage("POST", `/deployments/${world.deployId}/deactivate`, { actor: "Ann", note }));
  const requests = await run();
  const [dispatch, message] = [github, "https://hooks.slack.com/services/T0/B0/x"]
    .map((to) => requests.find(({ url }) => url === to)!);
  const { event_type, client_payload } = JSON.parse(dispatch!.body);
  assert.equal([event_type, client_payload.event.type], ["deployment.deactivated", "deployment.deactivated"]);
  const { Authorization, Accept, "webhook-signature": signature } = dispatch!.headers;
  assert.equal([Authorization, Accept, signature], ["Bearer ghp_token", "application/vnd.github+json", undefined]);
  assert.equal(JSON.parse(message!.body), {
    text: "A deployment refuses requests: greeting@production, by Ann (&lt;b&gt; &amp; more)",
  });
  taken(await post(world, slack, "test"));
  const [test] = await run();
  assert.match(JSON.parse(test!.body).text, "This is a test of a webhook: wh_");
});

test("deliveries are sent again, one or all since a time, with the same id", async () => {
  const world = await createWorld();
  const webhook = await create(world, { events: "workspace.updated" });
  let status = 204;
  const { run } = deliverer(world, () => ({ status }));
  for (const name of ["One", "Two", "Three"]) {
    await rename(world, name);
    await run();
    status = name === "One" ? 500 : 204;
    world.now += second;
  }
  const resend = async (body: object) => taken(await post(world, webhook, "resend", body)).resent;
  const failed = await deliveriesOf(world, webhook, "?failed=true");
  assert.equal(failed.map(({ number }) => number), [2]);
  assert.equal([await resend({ delivery: 3 }), await resend({ delivery: 9 })], [1, 0]);
  const again = await run();
  assert.equal(again.map((request) => dataOf(request).after.name), ["Three"]);
  assert.is(again[0]!.headers["webhook-id"], (await deliveriesOf(world, webhook))[2]!.eventId);
  assert.is(await resend({ since: world.now - 3 * second, failed: true }), 1);
  assert.equal((await run()).map((request) => dataOf(request).after.name), ["Two"]);
  assert.is(await resend({ since: world.now - 2 * second }), 2);
  assert.equal((await run()).map((request) => dataOf(request).after.name), ["Two", "Three"]);
  for (const body of [{}, { delivery: 1, since: 1 }]) {
    refused(await post(world, webhook, "resend", body), 400, "Give either the delivery or since");
  }
});

test("many deliveries are sent again in small transactions", async () => {
  const world = await createWorld();
  const webhook = await create(world);
  await world.database.write([{
    sql: `insert into webhook_deliveries (webhook_id, number, event_id, type, event, created_at, outcome, attempts)
      with recursive numbers(number) as (values (1) union all select number + 1 from numbers where number < 2500)
      select ?, number, 'evt_' || number, 'price.set', '{}', ?, 'delivered', 1 from numbers`,
    args: [webhook.id, world.now],
  }]);
  const { counts, database } = counting(world.database);
  const caller = { source: "api", actor: "", role: "owner" } as const;
  const session = { database, clock: () => world.now, caller };
  const resend = () => perform(resendWebhookDeliveries, session, { value: { id: webhook.id, since: 0 } });
  assert.is(await findOldestDue(world.database), null);
  assert.equal(await resend(), { resent: 2500 });
  assert.is(await findOldestDue(world.database), world.now);
  assert.is(counts.writes, 3);
  assert.equal(await resend(), { resent: 0 });
});

test("deliveries are removed after 30 days, but for those that are due", async () => {
  const world = await createWorld();
  const webhook = await create(world, { events: "workspace.updated" });
  for (const name of ["One", "Two"]) await rename(world, name);
  const { run } = deliverer(world, (request) => dataOf(request).after.name === "One" ? {} : { status: 500 });
  await run();
  const remove = () => removeOldDeliveries({ database: world.database, clock: () => world.now }, () => false);
  world.now += 30 * day;
  await remove();
  assert.is((await deliveriesOf(world, webhook)).length, 2);
  world.now++;
  await remove();
  assert.equal((await deliveriesOf(world, webhook)).map(({ number }) => number), [2]);
});

test("a credential goes to no other address than the one that it was given for", async () => {
  const world = await createWorld();
  const webhook = await create(world, { url: github, format: "github", credential: "ghp_token" });
  const update = (body: object) => world.manage("PATCH", `/webhooks/${webhook.id}`, body);
  const other = "https://ghe.example.com/api/v3/repos/a/b/dispatches";
  refused(await update({ url: other }), 400, "With another URL the credential must be given too");
  const { address } = taken(await update({ url: other, credential: "ghp_other", events: null }));
  assert.is(address, "https://ghe.example.com");
  taken(await post(world, webhook, "test"));
  const sent = (await deliverer(world).run()).at(-1)!;
  assert.equal([sent.url, sent.headers.Authorization], [other, "Bearer ghp_other"]);
  taken(await update({ events: "deployment.promoted" }));
  assert.is((await show(world, webhook)).events, "deployment.promoted");
  refused(await post(world, webhook, "rotate"), 409, `Webhook ${webhook.id} has no secret: github has no signature`);
});

test("refuses what cannot be sent to, in a sentence", async () => {
  const world = await createWorld();
  const onlyHttps = "The URL must begin with https://, or with http:// if WEBHOOK_ALLOW names its host";
  const faults: [body: object, status: number, error: string][] = [
    [{ url: "file:///etc/passwd" }, 400, onlyHttps],
    [{ url: "http://example.com/" }, 400, onlyHttps],
    [{ url: "hooks" }, 400, "The URL must be a URL such as https://example.com/hooks"],
    [{ url: "https://ann:secret@example.com/" }, 400, "The URL must not have a user name or a password"],
    [{ url: "https://localhost/" }, 400, `The URL ${notPublic("localhost")}`],
    [{ url: `https://example.com/${"x".repeat(1981)}` }, 400, "Field url must be a URL of at most 2000 characters"],
    [
      { url: `https://example.com/${"ü".repeat(400)}` },
      400,
      "The URL must have at most 2000 characters once it is encoded",
    ],
    [{ events: "*" }, 400, "Field events must be types of events such as deployment.*,key.created"],
    [{ format: "github", url: github }, 400, "With github a credential is required"],
    [
      { format: "github", credential: "x" },
      400,
      "With github the URL must be https://api.github.com/repos/OWNER/REPOSITORY/dispatches",
    ],
    [{ credential: "x" }, 400, "Only github takes a credential"],
    [{ workspaceId: "ws_x" }, 404, "Workspace ws_x not found"],
  ];
  for (const [body, status, error] of faults) {
    refused(await world.manage("POST", "/webhooks", { url, ...body }), status, error);
  }
  const unknown = await world.manage("POST", "/webhooks", { url, events: "deployment.gone" });
  assert.match(unknown.text, "There is no event deployment.gone. Those of deployment are ");
  assert.is(unknown.status, 400);
});

test("a workspace has 100 webhooks at most, and so have all together", async () => {
  const world = await createWorld();
  const { workspaceId } = world;
  for (let nth = 0; nth < 100; nth++) await create(world, { workspaceId });
  refused(
    await world.manage("POST", "/webhooks", { url, workspaceId }),
    409,
    "There may be at most 100 webhooks for one workspace: delete one first",
  );
  const { id } = await create(world);
  taken(await world.manage("DELETE", `/webhooks/${id}`));
});

test("a deleted webhook, and a deleted workspace, leave nothing behind", async () => {
  const world = await createWorld();
  const { workspaceId } = await createTenant(world.admin, 1000, "Gone");
  const webhooks = [await create(world, { events: "webhook.*" }), await create(world, { workspaceId })];
  const { run } = deliverer(world);
  for (const webhook of webhooks) taken(await post(world, webhook, "test"));
  await run();
  taken(await world.manage("DELETE", `/webhooks/${webhooks[0]!.id}`));
  taken(await world.manage("DELETE", `/workspaces/${workspaceId}?confirm=Gone`));
  assert.equal(await run(), []);
  const all = await dump(world, "audit_log");
  for (const { id } of webhooks) assert.not.match(all, id);
  refused(await world.manage("GET", `/webhooks/${webhooks[0]!.id}`), 404, `Webhook ${webhooks[0]!.id} not found`);
  assert.is(taken<{ audit: { differences: number } }>(await world.manage("GET", "/verify")).audit.differences, 0);
});

test("verify finds a webhook that was changed behind the audit log", async () => {
  const world = await createWorld();
  const webhook = await create(world);
  taken(await post(world, webhook, "rotate"));
  taken(await post(world, webhook, "disable"));
  const check = async () =>
    taken<{ audit: { rows: { members: string[] }[] } }>(await world.manage("GET", "/verify")).audit.rows;
  assert.equal(await check(), []);
  await world.database.write([{ sql: "update webhooks set address = 'https://evil.example.com'" }]);
  assert.equal((await check()).map(({ members }) => members), [["address"]]);
});

test.run();
