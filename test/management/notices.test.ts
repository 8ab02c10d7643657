// What happens without anybody doing it is said once: quotas, budgets, expiries and upkeep.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { verifyBalanced } from "../balanced.ts";
import type { Database } from "../../src/database/database.ts";
import type { Budget, BudgetState } from "../../src/management/money/budgets.ts";
import { noticeBackup } from "../../src/management/upkeep/backup-notices.ts";
import { runChecks } from "../../src/management/upkeep/checks.ts";
import type { Event } from "../../src/management/events/events.ts";
import { runUpkeep } from "../../src/management/upkeep/upkeep.ts";
import { requestFor } from "../../src/management/events/webhook-requests.ts";
import { counting, createTenant, createWorld, goodBody } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { readAll, refused, taken } from "./management.ts";

const test = suite("notices");

const minute = 60_000, hour = 60 * minute, day = 24 * hour; // ms
const found = "quota.*,budget.reached,key.expiring,token.expiring,upkeep.*";

const check = async (world: World, database: Database = world.database) =>
  assert.equal(await runChecks({ store: { database, clock: () => world.now }, isOver: () => false }), []);

/** The events that services have found, oldest first. */
const eventsOf = async (world: World, types = found): Promise<Event[]> =>
  taken<{ items: Event[] }>(await world.manage("GET", `/events?limit=1000&types=${types}`)).items;

/** Their types and what they tell, without what follows from it. */
const saidOf = async (world: World) =>
  (await eventsOf(world)).map(({ type, after }) => [type, ...Object.values(after as object)] as unknown[]);

const setLimit = async (world: World, monthlyLimit: number) =>
  taken(await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { monthlyLimit }));

async function use(world: World, requests: number): Promise<void> {
  for (let nth = 0; nth < requests; nth++) assert.is((await world.read()).status, 200);
}

const slackText = async (event: Event): Promise<string> => {
  const receiver = { url: "https://x.test/", format: "slack", credential: null, secrets: [] } as const;
  return (JSON.parse((await requestFor(receiver, JSON.stringify(event), 0)).body) as { text: string }).text;
};

test("a threshold of a quota is said once, by whichever service finds it, and of several the highest", async () => {
  const world = await createWorld({ monthlyLimit: 10 });
  const month = "2026-11", quota = 10;
  await use(world, 4);
  await check(world);
  assert.equal(await saidOf(world), []);
  await use(world, 1);
  await Promise.all([1, 2, 3].map(() => check(world)));
  const half = ["quota.reached", month, 50, 5, quota];
  assert.equal(await saidOf(world), [half]);
  await use(world, 5);
  await Promise.all([1, 2, 3].map(() => check(world)));
  assert.equal(await saidOf(world), [half, ["quota.reached", month, 100, 10, quota]]);
  const [first] = await eventsOf(world) as [Event];
  const { subject, source, actor, path, before } = first;
  assert.equal([subject, source, actor, path, before], [
    { noun: "quota", id: world.workspaceId, name: "Acme" },
    "embedded",
    "upkeep",
    `${world.workspaceId}/usage`,
    {},
  ]);
  assert.is(await slackText(first), "Acme: 50 % of the quota for 2026-11 is used: 5 of 10 requests");
  await verifyBalanced(world.admin);
});

test("another quota has thresholds of its own, and the same one again says nothing", async () => {
  const world = await createWorld({ monthlyLimit: 10 });
  await use(world, 8);
  await check(world);
  await setLimit(world, 100);
  await check(world);
  await setLimit(world, 10);
  await check(world);
  assert.is((await saidOf(world)).length, 1);
  await setLimit(world, 16);
  await check(world);
  assert.equal((await saidOf(world)).slice(1), [["quota.reached", "2026-11", 50, 8, 16]]);
  await setLimit(world, 0);
  await check(world);
  assert.is((await saidOf(world)).length, 2);
});

test("a threshold that was passed while no service ran is said up to a day after the month", async () => {
  for (const [late, expected] of [[23 * hour, 1], [25 * hour, 0]] as const) {
    const world = await createWorld({ monthlyLimit: 10 });
    world.now = Date.UTC(2026, 10, 30, 23, 59);
    await use(world, 5);
    world.now = Date.UTC(2026, 11, 1) + late;
    taken(await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { name: "Acme Ltd" }));
    await check(world);
    assert.is((await saidOf(world)).length, expected);
  }
  // A quota that was lowered in December was another one in November.
  const world = await createWorld({ monthlyLimit: 100 });
  await use(world, 5);
  world.now = Date.UTC(2026, 11, 1, 1);
  await setLimit(world, 5);
  await check(world);
  assert.equal(await saidOf(world), []);
});

test("a quota that will not last is said once a month, after a day at the earliest, as the console says it", async () => {
  const world = await createWorld({ monthlyLimit: 1000 });
  world.now += day - minute;
  await use(world, 100);
  await check(world);
  assert.equal(await saidOf(world), []);
  world.now += minute;
  await check(world);
  const usedUpAt = world.now + 9 * day;
  assert.equal(await saidOf(world), [["quota.forecast", "2026-11", 10, 100, 1000, usedUpAt, 1550]]);
  assert.match(
    await slackText((await eventsOf(world))[0]!),
    /^Acme: The quota for 2026-11 will be used up on 2026-11-25 at the pace of the last days: 100 of 1000 requests are used$/,
  );
  world.now += day;
  await use(world, 100);
  await check(world);
  assert.is((await saidOf(world)).length, 1);
});

test("requests before the last seven days count for no forecast", async () => {
  const world = await createWorld({ monthlyLimit: 100 });
  world.now = Date.UTC(2026, 11, 2);
  await use(world, 45);
  world.now = Date.UTC(2026, 11, 12);
  await use(world, 2);
  await check(world);
  assert.equal(await saidOf(world), []);
  await use(world, 22); // 24 in a week: 69 by now, and some 65 until the end
  await check(world);
  assert.equal((await saidOf(world)).map(([type]) => type), ["quota.reached", "quota.forecast"]);
});

test("a forecast that fails keeps no other workspace from its own", async () => {
  const world = await createWorld(), other = await createTenant(world.admin, 100, "Other");
  world.now = Date.UTC(2026, 11, 12);
  await use(world, 60);
  for (let nth = 0; nth < 40; nth++) assert.is((await world.read(other.deployId, other.key)).status, 200);
  await setLimit(world, 100);
  const { database } = world;
  const failing: Database = {
    ...database,
    read: (statement) => {
      const { workspaceId, since } = (statement.args ?? {}) as Record<string, unknown>;
      return workspaceId === world.workspaceId && since !== undefined
        ? Promise.reject(new Error("disk I/O error"))
        : database.read(statement);
    },
  };
  const store = { database: failing, clock: () => world.now };
  const errors = await runChecks({ store, isOver: () => false });
  assert.equal(errors.map(String), ["Error: disk I/O error"]);
  assert.equal((await eventsOf(world, "quota.forecast")).map(({ workspaceId }) => workspaceId), [other.workspaceId]);
  await check(world);
  assert.is((await eventsOf(world, "quota.forecast")).length, 2);
});

test("keys and tokens say that they expire 14 and 3 days before, but nothing that lies before their creation", async () => {
  const world = await createWorld();
  const expiresIn = (days: number) => ({ expiresAt: world.now + days * day });
  const key = async (days: number) =>
    taken<{ id: string }>(await world.manage("POST", `/workspaces/${world.workspaceId}/keys`, expiresIn(days)), 201).id;
  const long = await key(20), short = await key(10), revoked = await key(15);
  await key(2);
  const token = taken<{ id: string }>(
    await world.manage("POST", "/tokens", { name: "Ann", role: "viewer", ...expiresIn(14) }),
    201,
  ).id;
  taken(await world.manage("POST", `/keys/${revoked}/revoke`, {}));
  const start = world.now, seen: unknown[] = [];
  for (let hours = 0; hours <= 21 * 24; hours += 6) {
    world.now = start + hours * hour;
    await Promise.all([1, 2].map(() => check(world)));
    const all = await eventsOf(world);
    for (const { subject, after } of all.slice(seen.length)) seen.push([hours / 24, subject.id, after!.days]);
  }
  assert.equal(seen, [[6, long, 14], [7, short, 3], [11, token, 3], [17, long, 3]]);
  const [first, , ofToken] = await eventsOf(world) as [Event, Event, Event];
  assert.is(await slackText(first), `${long}: The key expires in less than 14 days, at 2026-12-05T12:00:00.000Z`);
  assert.equal([ofToken.type, ofToken.workspaceId, ofToken.subject.name], ["token.expiring", null, "Ann"]);
  await verifyBalanced(world.admin);
});

test("once three days are left, nothing says that fourteen are, and once it has expired, nothing is said", async () => {
  for (const [days, expected] of [[18, [3]], [20, []]] as const) {
    const world = await createWorld();
    const expiresAt = world.now + 20 * day;
    taken(await world.manage("POST", `/workspaces/${world.workspaceId}/keys`, { expiresAt }), 201);
    world.now += days * day;
    await check(world);
    assert.equal((await saidOf(world)).map(([, , days]) => days), expected);
  }
});

test("a key that is renewed says when its new expiry is near", async () => {
  const world = await createWorld();
  const expiresAt = world.now + 16 * day;
  const { id } = taken<{ id: string }>(
    await world.manage("POST", `/workspaces/${world.workspaceId}/keys`, { expiresAt }),
    201,
  );
  world.now += 3 * day;
  await check(world);
  taken(await world.manage("POST", `/keys/${id}/rotate`, { expiresAt: world.now + 20 * day, overlapMs: day }));
  await check(world);
  assert.is((await saidOf(world)).length, 1);
  world.now += 7 * day;
  await check(world);
  assert.equal((await saidOf(world)).map(([, , days]) => days), [14, 14]);
  await verifyBalanced(world.admin);
});

// Of ids that are made in one millisecond, the order is random.
const create = async (world: World, body: object) => {
  world.now++;
  return taken<Budget>(await world.manage("POST", `/workspaces/${world.workspaceId}/budgets`, body), 201);
};
const list = (world: World) => readAll<BudgetState>(world, `/workspaces/${world.workspaceId}/budgets`);
const spend = async (world: World, cost: number, key = world.key) =>
  taken(await world.submit({ ...goodBody, cost }, world.deployId, key), 201);

test("a budget says its thresholds once for a period, and shows what is spent", async () => {
  const world = await createWorld();
  await spend(world, 1);
  const budget = await create(world, { amount: "10.00", per: "month", at: "80,100,50,80" });
  const shown = taken<BudgetState>(await world.manage("GET", `/budgets/${budget.id}`));
  const { amount, at, period, spent, percent, unpriced, promptId, keyId } = shown;
  assert.equal([amount, at, period, spent, percent, unpriced, promptId, keyId], [
    ...["10", "50,80,100", "2026-11", "1", 10, 0, null, null],
  ]);
  await spend(world, 3.9999);
  await world.submit();
  await check(world);
  assert.equal(await saidOf(world), []);
  const [listed] = await list(world);
  assert.equal([listed!.spent, listed!.percent, listed!.unpriced], ["4.9999", 49.9, 1]);
  await spend(world, 0.0001);
  await Promise.all([1, 2, 3].map(() => check(world)));
  const half = ["budget.reached", "2026-11", 50, "5", "10", null, null];
  assert.equal(await saidOf(world), [half]);
  const [event] = await eventsOf(world) as [Event];
  assert.equal([event.subject, event.path], [
    { noun: "budget", id: budget.id, name: "$10 per month" },
    `${world.workspaceId}/usage/budgets/${budget.id}`,
  ]);
  assert.is(await slackText(event), "$10 per month: 50 % of the budget for 2026-11 is spent: $5.00 of $10.00");
  taken(await world.manage("PATCH", `/budgets/${budget.id}`, { amount: "4", at: "100" }));
  await check(world);
  assert.equal((await saidOf(world)).slice(1), [["budget.reached", "2026-11", 100, "5", "4", null, null]]);
  assert.is((await world.read()).status, 200);
  world.now += 16 * day;
  await spend(world, 4);
  await check(world);
  assert.equal((await saidOf(world)).slice(2), [["budget.reached", "2026-12", 100, "4", "4", null, null]]);
  await verifyBalanced(world.admin);
  taken(await world.manage("DELETE", `/budgets/${budget.id}`));
  assert.equal(await list(world), []);
  await verifyBalanced(world.admin);
});

test("a budget below what is spent is one event, of its highest threshold", async () => {
  const world = await createWorld();
  await spend(world, 9);
  const { id } = await create(world, { amount: "6", per: "month", at: "50,80,100,150,200" });
  await Promise.all([1, 2, 3].map(() => check(world)));
  const said = async () => (await saidOf(world)).map(([, , percent, spent, amount]) => [percent, spent, amount]);
  assert.equal(await said(), [[150, "9", "6"]]);
  // Thresholds below what was said say nothing more, and those above say so once they are reached.
  taken(await world.manage("PATCH", `/budgets/${id}`, { at: "50,120,150,200" }));
  await check(world);
  assert.is((await said()).length, 1);
  await spend(world, 3);
  await check(world);
  taken(await world.manage("PATCH", `/budgets/${id}`, { amount: "4" }));
  await check(world);
  assert.equal((await said()).slice(1), [[200, "12", "6"], [200, "12", "4"]]);
  await verifyBalanced(world.admin);
});

test("a budget per day, of a prompt or of a key counts those records alone", async () => {
  const world = await createWorld();
  const { workspaceId } = world, of = `/workspaces/${workspaceId}`;
  const other = taken<{ id: string; key: string }>(await world.manage("POST", `${of}/keys`, {}), 201);
  const bot = taken<{ id: string }>(
    await world.manage("POST", `${of}/publish`, { title: "Bot", messages: [], name: "bot", deploy: "live" }),
    201,
  );
  assert.ok(bot);
  await create(world, { amount: "1", per: "day", at: "100", keyId: other.id });
  await create(world, { amount: "1", per: "day", at: "100", promptId: "bot" });
  await create(world, { amount: "1", per: "day", at: "100", promptId: world.promptId });
  await spend(world, 0.6);
  await spend(world, 0.2, other.key);
  taken(await world.submit({ ...goodBody, cost: 0.1 }, "bot@live"), 201);
  await check(world);
  assert.equal((await list(world)).map(({ spent, period }) => [spent, period]), [
    ["0.8", "2026-11-15"],
    ["0.1", "2026-11-15"],
    ["0.2", "2026-11-15"],
  ]);
  await spend(world, 0.2);
  await check(world);
  assert.equal((await saidOf(world)).map(([, ...data]) => data), [
    ["2026-11-15", 100, "1", "1", world.promptId, null],
  ]);
  world.now += day;
  await check(world);
  assert.equal((await list(world)).map(({ spent }) => spent), ["0", "0", "0"]);
});

test("what budgets spent is counted again when a price changes, and is what costs show", async () => {
  const world = await createWorld();
  const budget = await create(world, { amount: "1", per: "month" });
  const usage = { input_tokens: 1000, output_tokens: 0 };
  taken(await world.submit({ ...goodBody, usage }), 201);
  await check(world);
  const [{ spent, unpriced }] = await list(world) as [BudgetState];
  assert.equal([spent, unpriced], ["0", 1]);
  for (const [input, spent] of [["2", "0.002"], ["500", "0.5"]]) {
    taken(await world.manage("POST", "/prices", { model: "gpt-4o", input, output: "1" }));
    assert.is((await list(world))[0]!.spent, spent);
    await check(world);
    assert.is((await list(world))[0]!.spent, spent);
    const costs = taken<{ cost: string }>(await world.manage("GET", `/workspaces/${world.workspaceId}/costs/2026-11`));
    assert.is(costs.cost, spent);
  }
  assert.equal((await saidOf(world)).map(([type, , percent]) => [type, percent]), [["budget.reached", 50]]);
  assert.is((await eventsOf(world))[0]!.subject.id, budget.id);
});

test("what budgets spent is counted again once earlier records have what statistics need", async () => {
  const world = await createWorld();
  await create(world, { amount: "1", per: "month", at: "50" });
  await world.submit({ ...goodBody, cost: 0.5 });
  await world.database.write([{ sql: "update diagnoses set measures = '[]'" }]);
  await check(world);
  assert.equal(await saidOf(world), []);
  taken(await world.manage("POST", "/reindex", {}));
  await check(world);
  assert.equal((await saidOf(world)).map(([type, , percent]) => [type, percent]), [["budget.reached", 50]]);
});

test("a clock that was ahead for some time loses nothing that budgets spent", async () => {
  const world = await createWorld();
  for (const per of ["day", "month"]) await create(world, { amount: "1", per, at: "50" });
  await spend(world, 0.4);
  await check(world);
  const spent = async () => (await list(world)).map(({ spent }) => spent);
  for (const days of [2, 17, 60]) {
    world.now += days * day;
    await spend(world, 0.1);
    await check(world);
    assert.equal(await spent(), [days === 2 ? "0.5" : "0.1", "0.1"]);
    world.now -= days * day;
    for (let looks = 0; looks < 2; looks++) {
      // The second day ahead is one of November.
      assert.equal(await spent(), ["0.5", "0.4"], `${days} days, ${looks} looks`);
      await check(world);
    }
  }
  await spend(world, 0.1);
  await check(world);
  assert.equal((await saidOf(world)).map(([, period]) => period), ["2026-11", "2026-11-15"]);
});

test("a record that is damaged keeps no other workspace's budget from being counted", async () => {
  const world = await createWorld(), other = await createTenant(world.admin, 10, "Other");
  for (const id of [world.workspaceId, other.workspaceId]) {
    taken(await world.manage("POST", `/workspaces/${id}/budgets`, { amount: "1", per: "month", at: "50" }), 201);
  }
  await world.submit({ ...goodBody, cost: 2 });
  await world.submit({ ...goodBody, cost: 2 }, other.deployId, other.key);
  const damage = "update diagnoses set measures = '{' where position = (select min(position) from diagnoses)";
  await world.database.write([{ sql: damage }]);
  const errors = await runChecks({ store: { database: world.database, clock: () => world.now }, isOver: () => false });
  assert.is(errors.length, 1);
  assert.equal((await eventsOf(world)).map(({ workspaceId }) => workspaceId), [other.workspaceId]);
});

test("budgets that cannot be are refused with a sentence", async () => {
  const world = await createWorld();
  const { workspaceId } = world, of = `/workspaces/${workspaceId}/budgets`;
  const other = await createTenant(world.admin, 10, "Other");
  const amount = "Field amount must be a decimal text of USD such as 50 or 0.25, from 0.01 to 999999999.99";
  const at = "Field at must be up to 10 percents from 1 to 1000, as in 50,80,100";
  for (
    const [body, status, message] of [
      [{ amount: "0", per: "day" }, 400, amount],
      [{ amount: "-1", per: "day" }, 400, amount],
      [{ amount: "1e3", per: "day" }, 400, amount],
      [{ amount: "1", per: "week" }, 400, "Field per must be one of day, month"],
      [{ amount: "1", per: "day", at: "80,0" }, 400, at],
      [{ amount: "1", per: "day", at: "50,2000" }, 400, at],
      [{ amount: "1", per: "day", keyId: other.keyId }, 404, `API key ${other.keyId} not found`],
      [{ amount: "1", per: "day", promptId: other.promptId }, 404, `Prompt ${other.promptId} not found`],
    ] as const
  ) {
    refused(await world.manage("POST", of, body), status, message);
  }
  for (let nth = 0; nth < 100; nth++) await create(world, { amount: "1", per: "day" });
  refused(
    await world.manage("POST", of, { amount: "1", per: "day" }),
    409,
    "A workspace may have at most 100 budgets: delete one first",
  );
});

test("retention that fails is said once until it works again, and others' goes on", async () => {
  const world = await createWorld();
  const other = await createTenant(world.admin, 10, "Other");
  for (const id of [world.workspaceId, other.workspaceId]) {
    taken(await world.manage("PATCH", `/workspaces/${id}`, { keepRecordsMs: day, keepCallsMs: 2 * day }));
  }
  await world.submit();
  await world.submit(goodBody, other.deployId, other.key);
  world.now += 4 * day;
  await use(world, 1); // the newest commit stays
  let isFailing = true;
  const failing: Database = {
    ...world.database,
    write: (statements) =>
      isFailing && statements.some(({ args }) => JSON.stringify(args ?? {}).includes(world.workspaceId)) &&
        statements.every(({ sql }) => !sql.includes("audit_log"))
        ? Promise.reject(new Error("disk I/O error"))
        : world.database.write(statements),
  };
  const run = async () => {
    world.now += hour;
    return await runUpkeep({ database: failing, clock: () => world.now }, {
      ...{ holder: "x", interval: 0, isOver: () => false },
    });
  };
  for (let nth = 0; nth < 3; nth++) assert.match(String((await run() as { error: unknown }).error), /disk I\/O error/);
  assert.equal(await saidOf(world), [["upkeep.failed", "retention"]]);
  const left = await world.database.read({ sql: "select deployment_id from diagnoses" });
  assert.equal(left, [{ deployment_id: world.deployId }]);
  isFailing = false;
  for (let nth = 0; nth < 2; nth++) await run();
  assert.equal(await saidOf(world), [["upkeep.failed", "retention"], ["upkeep.recovered", "retention"]]);
  const [event] = await eventsOf(world) as [Event];
  assert.is(event.workspaceId, world.workspaceId);
  assert.is(
    await slackText(event),
    "Acme: The removal of what is past its retention fails. It is tried again each hour, and the log of the service says why",
  );
  await verifyBalanced(world.admin);
});

test("backups that fail are said once, and when one succeeds again", async () => {
  const world = await createWorld();
  const notice = (cause?: string, place = "s3://backups") =>
    noticeBackup({ database: world.database, clock: () => world.now }, place, cause);
  await notice();
  for (const cause of ["the bucket\nis full", "the key is wrong"]) await Promise.all([notice(cause), notice(cause)]);
  assert.equal((await eventsOf(world, "backup.*")).map(({ note }) => note), [
    "Backups fail, and are tried again: the bucket is full",
  ]);
  // A place that was set since then is backed up to.
  for (let nth = 0; nth < 2; nth++) await notice(undefined, "/backups");
  const [failed, recovered] = await eventsOf(world, "backup.*") as [Event, Event];
  assert.equal([failed.type, recovered.type, recovered.workspaceId], ["backup.failed", "backup.recovered", null]);
  assert.is(await slackText(recovered), "s3://backups: A backup to /backups has succeeded");
  await notice("the disk is full".repeat(99));
  assert.is((await eventsOf(world, "backup.failed")).length, 2);
  await verifyBalanced(world.admin);
});

test("a deletion that fails is said once, and when it is complete", async () => {
  const world = await createWorld();
  const { workspaceId } = world;
  await use(world, 1);
  let isFailing = true;
  const database: Database = {
    ...world.database,
    write: (statements) =>
      isFailing && statements.some(({ sql }) => sql.includes("api_key_secrets"))
        ? Promise.reject(new Error("disk I/O error"))
        : world.database.write(statements),
  };
  await world.database.write([{
    sql: "insert into deleted_workspaces (id, reads, submits, months, deleted_at) values (?, 1, 0, 1, ?)",
    args: [workspaceId, world.now],
  }]);
  const run = () =>
    runUpkeep({ database, clock: () => world.now += hour }, { holder: "x", interval: 0, isOver: () => false });
  for (let nth = 0; nth < 2; nth++) assert.ok("error" in await run());
  assert.equal(await saidOf(world), [["upkeep.failed", "deletion"]]);
  isFailing = false;
  for (let nth = 0; nth < 2; nth++) await run();
  assert.equal(await saidOf(world), [["upkeep.failed", "deletion"], ["upkeep.recovered", "deletion"]]);
  assert.equal(await world.database.read({ sql: "select * from notices" }), []);
});

test("a check asks little of the database while there is nothing to say", async () => {
  const world = await createWorld({ monthlyLimit: 10 });
  await use(world, 5);
  await check(world);
  const { counts, database } = counting(world.database);
  await check(world, database);
  assert.ok(counts.reads <= 8 && counts.writes === 0, JSON.stringify(counts));
});

test.run();
