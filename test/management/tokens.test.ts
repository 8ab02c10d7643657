// Management tokens: creation, secrets, expiry, rotation, who may create which, and the limit on guesses.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { isApiKey, isToken, newToken, sha256 } from "../../src/common/ids.ts";
import type { Database } from "../../src/database/database.ts";
import { management } from "../../src/faces/management.ts";
import { createGate } from "../../src/faces/management-access.ts";
import { serveDatabase } from "../../src/service/service.ts";
import { findTokenCaller } from "../../src/management/access/tokens.ts";
import { adminToken, counting, createTenant, createWorld, noon, openMemory, readAnswer } from "../helpers.ts";
import type { Answer, World } from "../helpers.ts";
import { holdTimers } from "../cli/held-timers.ts";
import { until } from "../conformance/processes.ts";
import { dump, readAll, refused, taken } from "./management.ts";

const test = suite("management tokens");

type Token = Record<string, unknown> & { id: string; token: string; prefix: string };

const hour = 3_600_000;
const minute = 60_000;

const as = (token: string) => ({ Authorization: `Bearer ${token}` });
const make = async (world: World, body: object = {}, by = adminToken) =>
  taken<Token>(await world.manage("POST", "/tokens", { name: "Ann", role: "viewer", ...body }, as(by)), 201);
const use = async (world: World, token: string, path = "/workspaces") =>
  (await world.manage("GET", path, undefined, as(token))).status;
const show = async (world: World, id: string) => taken(await world.manage("GET", `/tokens/${id}`));

const metricsOf = async (world: World) => {
  const { text } = await world.send("/metrics", { headers: as(adminToken) });
  const pattern = /^promptledger_management_refusals_total{reason="(\w+)"} (\d+)$/gm;
  return Object.fromEntries([...text.matchAll(pattern)].map(([, reason, count]) => [reason, Number(count)]));
};

test("a token's secret is shown once, is no API key, and is stored as a hash", async () => {
  const world = await createWorld();
  const { token, ...made } = await make(world, { expiresAt: noon + hour, workspaceId: world.workspaceId });
  assert.ok(isToken(token) && !isApiKey(token) && !isToken(world.key));
  assert.is(made.prefix, token.slice(0, 10));
  const never = { revokedAt: null, rotatedAt: null, overlapEndsAt: null, lastUsedAt: null };
  const { id, prefix } = made;
  const { workspaceId } = world;
  const said = {
    id,
    workspaceId,
    name: "Ann",
    role: "viewer",
    owner: null,
    prefix,
    createdAt: noon,
    expiresAt: noon + hour,
  };
  assert.equal(made, { ...said, ...never });
  assert.equal(await show(world, id), made);
  assert.equal(await readAll(world, "/tokens"), [made]);
  assert.not.match(await dump(world), token.slice(10));
  refused(await world.manage("GET", `/tokens/${token}`), 400, "A token is named by its id, token_…, not by its secret");
  refused(await world.manage("GET", "/tokens/token_1"), 404, "Token token_1 not found");
});

test("an API key is refused as a token, and a token as an API key", async () => {
  const world = await createWorld();
  const { token } = await make(world, { role: "owner" });
  assert.equal([await use(world, token), await use(world, world.key)], [200, 401]);
  assert.equal(
    [(await world.read(undefined, token)).status, (await world.submit(undefined, undefined, token)).status],
    [
      401,
      401,
    ],
  );
  assert.throws(() => management({ adminToken: token }), /adminToken must not be a management token/);
});

test("a token can belong to a person, whom it keeps when its secret changes", async () => {
  const world = await createWorld();
  const { id, token, owner } = await make(world, { owner: "ann@acme.com" });
  assert.is(owner, "ann@acme.com");
  assert.is((await findTokenCaller(world.admin, await sha256(token)))?.owner, "ann@acme.com");
  assert.is(taken(await world.manage("POST", `/tokens/${id}/rotate`)).owner, "ann@acme.com");
  assert.is((await show(world, id)).owner, "ann@acme.com");
  const { token: other } = await make(world);
  assert.is((await findTokenCaller(world.admin, await sha256(other)))?.owner, undefined);
  refused(
    await world.manage("POST", "/tokens", { name: "Ann", role: "viewer", owner: "" }),
    400,
    "Field owner must be a name of 1 to 200 characters without control characters",
  );
});

test("who makes a token owns it, and only the role owner gives one to somebody else, or takes one", async () => {
  const world = await createWorld();
  const [ann, robot, olga, root] = await Promise.all([
    make(world, { role: "admin", owner: "ann@acme.com" }),
    make(world, { role: "admin", workspaceId: world.workspaceId }),
    make(world, { role: "owner", owner: "olga@acme.com" }),
    make(world, { role: "owner" }),
  ]);
  const ownerBy = async ({ token }: Token, body: object = {}) => (await make(world, body, token)).owner;
  assert.equal(await Promise.all([ann, robot, olga, root].map((maker) => ownerBy(maker))), [
    ...["ann@acme.com", robot.id, "olga@acme.com", null],
  ]);
  assert.is(await ownerBy(ann, { owner: "Ann@ACME.com" }), "Ann@ACME.com");
  for (const maker of [olga, root]) assert.is(await ownerBy(maker, { owner: "bob@acme.com" }), "bob@acme.com");
  // What a token makes makes nobody else either.
  const made = await make(world, { role: "admin" }, robot.token);
  assert.is(await ownerBy(made), robot.id);
  const before = (await readAll(world, "/tokens")).length;
  for (const maker of [ann, robot, made]) {
    for (const owner of ["bob@acme.com", "ann@acme.co", root.id]) {
      const body = { name: "x", role: "viewer", owner };
      refused(
        await world.manage("POST", "/tokens", body, as(maker.token)),
        403,
        "This needs the role owner for a token of another person",
      );
    }
  }
  assert.is((await readAll(world, "/tokens")).length, before);

  const bob = await make(world, { role: "publisher", owner: "bob@acme.com" });
  const program = await make(world, { role: "publisher" });
  const rotate = (maker: Token, id: string) => world.manage("POST", `/tokens/${id}/rotate`, {}, as(maker.token));
  for (const { id } of [bob, program, robot]) {
    refused(await rotate(ann, id), 403, "This needs the role owner to rotate a token of another person");
  }
  const { token } = taken<Token>(await rotate(robot, made.id));
  refused(await rotate(ann, made.id), 403, "This needs the role owner to rotate a token of another person");
  taken(await rotate({ ...made, token }, robot.id));
  for (const { id } of [bob, program]) taken(await rotate(olga, id));
  taken(await rotate(ann, ann.id));
  assert.ok(taken(await world.manage("POST", `/tokens/${bob.id}/revoke`, {}, as(root.token))).revokedAt);
});

test("a token is refused when it has expired or been revoked", async () => {
  const world = await createWorld();
  const { token } = await make(world, { expiresAt: noon + hour });
  const { id, token: revoked } = await make(world);
  assert.equal([await use(world, token), await use(world, revoked)], [200, 200]);
  assert.is(taken(await world.manage("POST", `/tokens/${id}/revoke`)).revokedAt, noon);
  assert.is(await use(world, revoked), 401);
  refused(await world.manage("POST", `/tokens/${id}/rotate`), 409, `Token ${id} is revoked`);
  world.now += hour - 1;
  assert.is(await use(world, token), 200);
  world.now++;
  assert.is(await use(world, token), 401);
});

test("a rotated token has a new secret, and the old one stays valid only for the overlap", async () => {
  const world = await createWorld();
  const { id, token: first, ...made } = await make(world);
  const rotate = async (body?: object) => taken<Token>(await world.manage("POST", `/tokens/${id}/rotate`, body));
  const { token: second, ...rotated } = await rotate({ overlapMs: hour });
  const times = { rotatedAt: noon, overlapEndsAt: noon + hour };
  assert.equal(rotated, { id, ...made, ...times, prefix: second.slice(0, 10) });
  assert.equal([await use(world, first), await use(world, second)], [200, 200]);
  world.now += hour;
  assert.equal([await use(world, first), await use(world, second)], [401, 200]);
  const { token: third } = await rotate();
  assert.equal([await use(world, second), await use(world, third)], [401, 200]);
  taken(await world.manage("POST", `/tokens/${id}/revoke`));
  assert.is(await use(world, third), 401);
});

test("a token must expire in the future when it is created", async () => {
  const world = await createWorld();
  for (const expiresAt of [noon, 0]) {
    const answer = await world.manage("POST", "/tokens", { name: "Ann", role: "viewer", expiresAt });
    refused(answer, 400, "Field expiresAt must be in the future");
  }
  assert.equal(await readAll(world, "/tokens"), []);
});

// A Worker may be stopped once it has answered.
test("the last use of a token is stored before its request is answered", async () => {
  const memory = await openMemory();
  let isHeld = false;
  const waiting: (() => void)[] = [];
  const write: typeof memory.write = async (statements) => {
    if (isHeld) await new Promise<void>((resolve) => waiting.push(resolve));
    return await memory.write(statements);
  };
  const world = await createWorld({ database: { ...memory, write } });
  const { id, token } = await make(world);
  // It waits for a second at most, which never passes here.
  const timers = holdTimers(1_000, () => {});
  isHeld = true;
  const order: string[] = [];
  const answering = use(world, token).then(() => order.push("answered"));
  await until(() => waiting.length === 1);
  order.push("stored");
  isHeld = false;
  waiting.pop()!();
  await answering.finally(timers.restore);
  assert.equal([order, (await show(world, id)).lastUsedAt], [["stored", "answered"], noon]);
});

test("a token shows when it was last used, to the hour", async () => {
  const world = await createWorld();
  const { id, token } = await make(world);
  world.now = noon + 2 * hour + 5;
  await use(world, token);
  assert.is((await show(world, id)).lastUsedAt, noon + 2 * hour);
  world.now += minute;
  const before = await dump(world);
  await use(world, token);
  assert.is(await dump(world), before);
  world.now = noon + 3 * hour;
  await use(world, token);
  assert.is((await show(world, id)).lastUsedAt, noon + 3 * hour);
});

test("nobody creates, rotates or revokes a token that may do more than they may", async () => {
  const world = await createWorld();
  const { workspaceId } = world;
  const { token: admin } = await make(world, { role: "admin" });
  const { id: ownerId } = await make(world, { role: "owner" });
  const before = await dump(world);
  const by = (path: string, body?: object) => world.manage("POST", path, body, as(admin));
  for (const path of ["rotate", "revoke"]) {
    refused(await by(`/tokens/${ownerId}/${path}`), 403, "This needs the role owner");
  }
  refused(await by("/tokens", { name: "x", role: "owner" }), 403, "This needs the role owner");
  const bound = { name: "x", role: "owner", workspaceId };
  refused(await world.manage("POST", "/tokens", bound), 400, "A token with the role owner must be for all workspaces");
  const tables = (text: string) => text.replace(/"last_used_at":\d+/g, '"last_used_at":null');
  assert.is(tables(await dump(world)), tables(before));
  assert.is((await make(world, { role: "admin" }, admin)).workspaceId, null);
});

test("a bound token creates tokens for its workspace only, and is deleted with it", async () => {
  const world = await createWorld();
  const { workspaceId } = world;
  const other = await createTenant(world.admin);
  const { token } = await make(world, { role: "admin", workspaceId });
  assert.is((await make(world, {}, token)).workspaceId, workspaceId);
  const foreign = { name: "x", role: "viewer", workspaceId: other.workspaceId };
  refused(
    await world.manage("POST", "/tokens", foreign, as(token)),
    404,
    `Workspace ${other.workspaceId} not found`,
  );
  assert.equal(await readAll<Token>(world, "/tokens").then((all) => all.length), 2);
  taken(await world.manage("DELETE", `/workspaces/${workspaceId}?confirm=Acme`));
  assert.is(await use(world, token), 401);
  assert.equal(await readAll(world, "/tokens"), []);
  assert.not.match(await dump(world, "audit_log"), '"token_id"');
});

test("histories show the name of the token, and its holder cannot give another name", async () => {
  const world = await createWorld();
  const path = `/deployments/${world.deployId}`;
  const { token } = await make(world, { role: "publisher" });
  const deactivate = (body: object) => world.manage("POST", `${path}/deactivate`, body, as(token));
  const before = await dump(world);
  const answer = await deactivate({ actor: "Eve" });
  refused(answer, 400, "actor is the name of the management token; remove it");
  assert.is((answer.json as { code: string }).code, "actor_given");
  const tables = (text: string) => text.replace(/"last_used_at":\d+/g, '"last_used_at":null');
  assert.is(tables(await dump(world)), tables(before));
  taken(await deactivate({ note: "Broken" }));
  taken(await world.manage("POST", `${path}/activate`, { actor: "Bob" }));
  const history = await readAll<{ actor: string; source: string }>(world, `${path}/history`);
  assert.equal(history.map(({ actor, source }) => [actor, source]).slice(0, 2), [["Bob", "api"], ["Ann", "api"]]);
});

test("management can be on for tokens only, without an admin token", async () => {
  const world = await createWorld();
  const { token } = await make(world);
  const service = serveDatabase(world.database, { clock: () => world.now, faces: [management({ tokens: true })] });
  const ask = async (token: string) => {
    const request = new Request("http://ledger.test/admin/v1/workspaces", { headers: as(token) });
    return (await readAnswer(await service.fetch(request))).status;
  };
  assert.equal([await ask(token), await ask(adminToken)], [200, 401]);
});

test("a text that is not a token is refused without a query", async () => {
  const { database, counts } = counting(await openMemory());
  const world = await createWorld({ database });
  const { token } = await make(world);
  const mistyped = token.slice(0, -1) + (token.endsWith("0") ? "1" : "0");
  const { reads, writes } = counts;
  for (const wrong of [mistyped, world.key, "x", ""]) assert.is(await use(world, wrong), 401);
  assert.equal(counts, { reads, writes });
  assert.is(await use(world, newToken()), 401);
  assert.is(counts.reads, reads + 1);
});

/** How many queries requests take. */
async function countReads(counts: { reads: number }, ask: () => Promise<unknown>): Promise<number> {
  const before = counts.reads;
  await ask();
  return counts.reads - before;
}

test("after 30 failures in a minute, guesses cost a query a second and get Retry-After, and valid tokens still work", async () => {
  const { database, counts } = counting(await openMemory());
  const world = await createWorld({ database, servesMetrics: true });
  world.now = noon + 20_500;
  const { token: known } = await make(world);
  const { id, token: unknown } = await make(world);
  assert.is(await use(world, known), 200);
  const guess = () => world.manage("GET", "/workspaces", undefined, as(newToken()));
  const statuses = await Promise.all(Array.from({ length: 30 }, async () => (await guess()).status));
  assert.equal(new Set(statuses), new Set([401]));
  const limited: Answer[] = [];
  const ask = async () => {
    for (const headers of [as(newToken()), as("x"), {}, as(newToken())]) {
      limited.push(await world.send("/admin/v1/workspaces", { headers: headers as Record<string, string> }));
    }
  };
  assert.is(await countReads(counts, ask), 1);
  for (const answer of limited) {
    refused(answer, 429, "Too many requests with invalid tokens: try again later");
    assert.is((answer.json as { code: string }).code, "too_many_failures");
    assert.is(answer.headers.get("Retry-After"), "40");
  }
  assert.equal(await Promise.all([known, unknown, adminToken].map((token) => use(world, token))), [200, 200, 200]);
  assert.equal(await metricsOf(world), { missing: 0, invalid: 30, forbidden: 0, limited: 4 });
  // A token that was made meanwhile works a second later.
  const { token: late } = await make(world);
  world.now += 1_000;
  assert.equal([await use(world, late), (await guess()).status], [200, 429]);
  // A known token is still looked up each time.
  taken(await world.manage("POST", `/tokens/${id}/revoke`));
  assert.is(await use(world, unknown), 401);
  world.now = noon + minute;
  assert.is((await guess()).status, 401);
});

test("concurrent guesses are limited too, and concurrent requests with a valid token are not", async () => {
  const { database, counts } = counting(await openMemory());
  const world = await createWorld({ database });
  const { token } = await make(world);
  const together = async (tokenOf: () => string) => {
    const statuses = await Promise.all(Array.from({ length: 100 }, () => use(world, tokenOf())));
    return [200, 401, 429].map((status) => statuses.filter((each) => each === status).length);
  };
  assert.equal(await together(() => token), [100, 0, 0]);
  assert.is(await countReads(counts, async () => assert.equal(await together(newToken), [0, 30, 70])), 30 + 1);
  assert.equal(await together(() => token), [100, 0, 0]);
});

test("a request waits for no lookup of another store, as each request to a Worker has its own", async () => {
  const world = await createWorld();
  const { token } = await make(world);
  const gate = createGate(undefined);
  const storeOn = (database: Database) => ({ database, clock: () => noon });
  void gate(token, storeOn({ ...world.database, read: () => new Promise(() => {}) }));
  const found = await gate(token, storeOn(world.database));
  assert.is("caller" in found && found.caller.actor, "Ann");
});

test("a token changes nothing after it was revoked, whatever it has asked for before", async () => {
  const world = await createWorld();
  const { id, token } = await make(world, { role: "admin" });
  const path = `/workspaces/${world.workspaceId}/keys`;
  const [revoked, ...answers] = await Promise.all([
    world.manage("POST", `/tokens/${id}/revoke`),
    ...Array.from({ length: 8 }, () => world.manage("POST", path, {}, as(token))),
  ]);
  taken(revoked!);
  const entries = await readAll<{ action: string; tokenId: string | null }>(world, "/audit");
  const since = entries.slice(0, entries.findIndex(({ action }) => action === "token.revoked"));
  assert.equal(since, []);
  for (const { status } of answers) assert.ok([201, 401].includes(status));
  assert.ok(answers.some(({ status }) => status === 401));
});

test("refusals are counted by reason", async () => {
  const world = await createWorld({ servesMetrics: true });
  const { token } = await make(world);
  await world.send("/admin/v1/workspaces", { headers: {} });
  await use(world, "x");
  await world.manage("POST", "/workspaces", { name: "x" }, as(token));
  await world.manage("GET", "/workspaces/ws_1");
  assert.equal(await metricsOf(world), { missing: 1, invalid: 1, forbidden: 1, limited: 0 });
});

test("a lookup that fails does not count as a guess", async () => {
  const memory = await openMemory();
  let isAway = false;
  const read: typeof memory.read = (statement) => isAway ? Promise.reject(new Error("away")) : memory.read(statement);
  const world = await createWorld({ database: { ...memory, read } });
  const { token } = await make(world);
  isAway = true;
  for (let nth = 0; nth < 40; nth++) assert.is(await use(world, token), 500);
  isAway = false;
  assert.is(await use(world, token), 200);
});

test.run();
