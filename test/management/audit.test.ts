// The audit log has an entry for each change, with who made it and what it changed. Entries are never modified.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { newToken, sha256 } from "../../src/common/ids.ts";
import type { Database } from "../../src/database/database.ts";
import type { AuditEntry } from "../../src/management/events/audit.ts";
import { openCommit } from "../../src/management/kernel/commit.ts";
import type { Verification } from "../../src/management/verify/verify.ts";
import { management } from "../../src/management.ts";
import { adminToken, counting, createTenant, createWorld, managementOf, noon, openMemory } from "../helpers.ts";
import { promptFile, readAnswer, serveContext } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { dump, readAll, refused, taken, toLines } from "./management.ts";

const test = suite("audit log");

const as = (token: string) => ({ Authorization: `Bearer ${token}` });
const list = (world: World, query = "") => readAll<AuditEntry>(world, `/audit${query}`);
const check = async (world: World) =>
  taken<{ audit: { entries: number; isIntact: boolean; brokenAt: number | null; head: string } }>(
    await world.manage("GET", "/verify"),
  ).audit;
const change = async (world: World, path: string, body: object = {}, token = adminToken) =>
  taken<{ id: string }>(await world.manage("POST", path, body, as(token)), path.endsWith("s") ? 201 : 200);

/** The changes in the log, oldest first. */
const listChanges = async (world: World, query = "") =>
  (await list(world, query)).reverse().map(({ action, targetId, before, after }) => [action, targetId, before, after]);

test("each change has an entry: who made it, what it changed, and why", async () => {
  const world = await createWorld();
  const { id: tokenId, token } = taken<{ id: string; token: string }>(
    await world.manage("POST", "/tokens", { name: "Ann", role: "publisher" }),
    201,
  );
  const { deployId, promptId, workspaceId } = world;
  await change(world, `/prompts/${promptId}/versions`, { ...promptFile, title: "Second" }, token);
  world.now += 1000;
  const headers = { ...as(token), "X-Request-Id": "req-7" };
  const body = { version: 2, note: "Shorter answers" };
  taken(await world.manage("POST", `/deployments/${deployId}/promote`, body, headers));
  const [promoted, pushed, madeToken] = await list(world);
  assert.equal(promoted, {
    position: 7,
    createdAt: noon + 1000,
    action: "deployment.promoted",
    targetId: deployId,
    workspaceId,
    before: { currentVersion: 1, revision: 1 },
    after: { currentVersion: 2, revision: 2 },
    source: "api",
    actor: "Ann",
    tokenId,
    note: "Shorter answers",
    requestId: "req-7",
    hash: promoted!.hash,
  });
  assert.match(promoted!.hash, /^[0-9a-f]{64}$/);
  assert.equal([pushed!.action, pushed!.targetId, pushed!.before], ["prompt.pushed", promptId, { latestVersion: 1 }]);
  assert.equal([madeToken!.action, madeToken!.actor, madeToken!.tokenId], ["token.created", "", null]);
});

test("a commit without changes leaves the log as another change has left it", async () => {
  const world = await createWorld();
  const { database } = world;
  const origin = { source: "api", actor: "", tokenId: null, note: "", requestId: null };
  const commit = await openCommit(database, () => noon, origin);
  await change(world, `/deployments/${world.deployId}/deactivate`);
  await commit([], [{ sql: "update workspaces set name = 'Other' where id = ?", args: [world.workspaceId] }]);
  const [workspace] = await database.read({ sql: "select name from workspaces" });
  assert.is(workspace!.name, "Other");
  await change(world, `/deployments/${world.deployId}/activate`);
  const { isIntact, entries } = await check(world);
  assert.equal([isIntact, entries], [true, (await list(world)).length]);
});

test("an item that changes together with another has its own entry", async () => {
  const world = await createWorld();
  const { deployId, promptId } = world;
  await change(world, `/prompts/${promptId}/archive`);
  const [, , , , ...entries] = await listChanges(world);
  assert.equal(entries, [
    ["prompt.archived", promptId, { archivedAt: null }, { archivedAt: noon }],
    ["deployment.archived", deployId, { archivedAt: null, revision: 1 }, { archivedAt: noon, revision: 2 }],
  ]);
});

test("requests that change nothing or are refused have no entry", async () => {
  const world = await createWorld();
  const { deployId, promptId, keyId, workspaceId } = world;
  await change(world, `/keys/${keyId}/revoke`);
  const before = await dump(world);
  taken(await world.manage("PATCH", `/workspaces/${workspaceId}`, { name: "Acme" }));
  taken(await world.manage("POST", `/prompts/${promptId}/versions`, promptFile));
  for (const path of [`/keys/${keyId}/revoke`, `/deployments/${deployId}/activate`]) await change(world, path);
  await change(world, `/prompts/${promptId}/rename`, { name: "greeting" });
  refused(
    await world.manage("POST", `/deployments/${deployId}/promote`, { version: 9 }),
    404,
    `Version 9 of prompt ${promptId} not found`,
  );
  assert.is(await dump(world), before);
});

test("the log contains no secret and no text of a prompt", async () => {
  const world = await createWorld();
  const { keyId, workspaceId } = world;
  const { key } = taken<{ key: string }>(await world.manage("POST", `/keys/${keyId}/rotate`));
  const { token } = taken<{ token: string }>(
    await world.manage("POST", "/tokens", { name: "Ann", role: "viewer", workspaceId }),
    201,
  );
  const log = JSON.stringify(await list(world));
  for (const secret of [world.key, key, token]) assert.not.ok(log.includes(secret.slice(10)));
  for (const text of [promptFile.title, promptFile.messages[0]!.content]) assert.not.ok(log.includes(text as string));
});

test("a key that stands in a name, a note or an actor is masked", async () => {
  const world = await createWorld();
  const body = { note: `Instead of ${world.key}`, actor: world.key };
  await change(world, `/deployments/${world.deployId}/deactivate`, body);
  taken(await world.manage("POST", `/workspaces/${world.workspaceId}/keys`, { name: newToken() }), 201);
  taken(
    await world.manage("POST", `/workspaces/${world.workspaceId}/keys`, { name: "pl_greetingsinpolandandelsewhere" }),
    201,
  );
  const [other, created, deactivated] = await list(world);
  const names = [other, created].map((entry) => (entry!.after as { name: string }).name);
  assert.equal(names, ["pl_greetingsinpolandandelsewhere", "plm_…"]);
  assert.equal([deactivated!.note, deactivated!.actor], ["Instead of pl_…", "pl_…"]);
});

test("so is the admin token, whatever characters it has", async () => {
  for (const secret of [adminToken, `"\\${"x".repeat(30)}`]) {
    const faces = [management({ adminToken: secret })];
    const database = await openMemory();
    const { deployId, promptId, workspaceId } = await createTenant(managementOf(database));
    const { fetch } = serveContext(database, { faces, clock: () => noon });
    const send = async (method: string, path: string, body?: object) => {
      const init = { method, headers: as(secret), ...body === undefined ? {} : { body: JSON.stringify(body) } };
      return await readAnswer(await fetch(new Request(`http://ledger.test/admin/v1${path}`, init)));
    };
    const body = { note: `With ${secret}.`, actor: secret };
    taken(await send("POST", `/deployments/${deployId}/deactivate`, body));
    taken(await send("PATCH", `/workspaces/${workspaceId}`, { name: `Acme ${secret}` }));
    const { items } = taken<{ items: AuditEntry[] }>(await send("GET", "/audit?limit=2"));
    const [renamed, deactivated] = items;
    assert.equal([deactivated!.note, deactivated!.actor], ["With ….", "…"]);
    assert.equal(renamed!.after, { name: "Acme …" });
    // The rows have what was said, which verify does not take for a change by hand.
    taken(await send("POST", `/prompts/${promptId}/versions`, { ...promptFile, title: "Two", note: body.note }), 201);
    const { audit } = taken<Verification>(await send("GET", "/verify"));
    assert.equal([audit!.isIntact, audit!.rows], [true, []]);
    await database.close();
  }
});

test("a deleted session is not named, but can be found by its hash", async () => {
  const world = await createWorld();
  await world.submit();
  taken(await world.manage("DELETE", `/deployments/${world.deployId}/diagnoses?sessionId=session-1`));
  const [entry] = await list(world, "?action=session");
  assert.not.ok(JSON.stringify(entry).includes("session-1"));
  assert.match((entry!.before as { sessionHash: string }).sessionHash, /^[0-9a-f]{64}$/);
});

/** A world in which the newest records are gone, as by retention, right before a deletion of records is written. */
async function createRetained(gone: number): Promise<World> {
  const memory = await openMemory();
  const sql = "delete from diagnoses where position in (select position from diagnoses order by position desc limit ?)";
  let left = gone;
  const database: Database = {
    ...memory,
    async write(statements) {
      const isDeletion = statements.some(({ sql }) => sql.includes("insert into deleted_diagnoses"));
      if (isDeletion) await memory.write([{ sql, args: [left] }]);
      if (isDeletion) left = 0;
      return await memory.write(statements);
    },
  };
  return await createWorld({ database });
}

test("the deletion of a session is one entry, though its first records are gone meanwhile", async () => {
  const world = await createRetained(250);
  await Promise.all(Array.from({ length: 300 }, () => world.submit()));
  const answer = await world.manage("DELETE", `/deployments/${world.deployId}/diagnoses?sessionId=session-1`);
  assert.equal(taken(answer), { deleted: 50 });
  assert.is((await list(world, "?action=session")).length, 1);
});

test("of a record that is gone meanwhile the answer says that it was not deleted", async () => {
  const world = await createRetained(1);
  const { id } = (await world.submit()).json as { id: string };
  assert.equal(taken(await world.manage("DELETE", `/diagnoses/${id}`)), { deleted: 0 });
});

test("entries can be filtered by workspace, action, target, actor and time", async () => {
  const world = await createWorld();
  const { deployId, workspaceId } = world;
  const other = await createTenant(world.admin, 1, "Other");
  world.now += 1000;
  await change(world, `/deployments/${deployId}/deactivate`, { actor: "Ada" });
  const actionsOf = async (query: string) => (await list(world, query)).map(({ action }) => action);
  const made = ["deployment.created", "prompt.created", "key.created", "workspace.created"];
  assert.equal(await actionsOf(`?workspaceId=${other.workspaceId}`), made);
  assert.equal(await actionsOf(`?workspaceId=${workspaceId}&to=${noon + 1}`), made);
  for (const query of [`?from=${noon + 1}`, "?actor=Ada", "?action=deployment.deactivated"]) {
    assert.equal(await actionsOf(query), ["deployment.deactivated"]);
  }
  assert.equal(await actionsOf(`?target=${deployId}`), ["deployment.deactivated", "deployment.created"]);
  assert.equal(await actionsOf("?action=deployment"), ["deployment.deactivated", ...Array(2).fill(made[0])]);
  assert.equal(await actionsOf("?action=deployment.*,feedback_name"), await actionsOf("?action=deployment"));
  assert.is((await actionsOf("?action=prompt,deployment.deactivated,nothing.at_all")).length, 3);
  taken(await world.manage("POST", `/prompts/${world.promptId}/versions`, { ...promptFile, title: "Another" }), 201);
  // The type of the event does as well.
  assert.equal(await actionsOf("?action=prompt.version_published"), ["prompt.pushed"]);
  assert.equal(await actionsOf("?action=deploy"), []);
  refused(
    await world.manage("GET", "/audit?action=Deploy*"),
    400,
    "Field action must be actions such as deployment.promoted, or nouns such as deployment, separated by commas",
  );
  refused(await world.manage("GET", "/audit?workspaceId=ws_x"), 404, "Workspace ws_x not found");
});

test("an export has the entries of the list, one per line", async () => {
  const world = await createWorld();
  const answer = await world.manage("GET", "/audit/export?action=key");
  assert.is(answer.headers.get("Content-Type"), "application/x-ndjson");
  assert.is(answer.headers.get("Content-Disposition"), 'attachment; filename="audit.ndjson"');
  assert.equal(toLines(answer.text), await list(world, "?action=key"));
});

test("an export of all entries proves itself: anyone can compute its hashes anew", async () => {
  const world = await createWorld();
  await change(world, `/deployments/${world.deployId}/deactivate`, { note: '"Why" – 😀\n' });
  const toText = (value: object | null) => value && JSON.stringify(value);
  let hash = "";
  for (const entry of toLines<AuditEntry>((await world.manage("GET", "/audit/export")).text).reverse()) {
    const { position, createdAt, source, actor, tokenId, action, targetId, workspaceId, note, requestId } = entry;
    const head = [hash, position, createdAt, source, actor, tokenId, action, targetId, workspaceId];
    hash = await sha256(JSON.stringify([...head, toText(entry.before), toText(entry.after), note, requestId]));
    assert.is(entry.hash, hash);
  }
});

test("a bound token sees only the entries of its workspace", async () => {
  const world = await createWorld();
  const { workspaceId } = world;
  const other = await createTenant(world.admin, 1, "Other");
  const { token } = taken<{ token: string }>(
    await world.manage("POST", "/tokens", { name: "Ann", role: "viewer", workspaceId }),
    201,
  );
  const see = (query: string) => world.manage("GET", `/audit${query}`, undefined, as(token));
  const seen = taken<{ items: AuditEntry[] }>(await see(""));
  const others = (entries: AuditEntry[]) => entries.map(({ position: _, hash: __, ...entry }) => entry);
  assert.equal(others(seen.items), others(await list(world, `?workspaceId=${workspaceId}`)));
  assert.equal(taken<{ items: AuditEntry[] }>(await see(`?target=${other.keyId}`)).items, []);
  assert.is((await see(`?workspaceId=${other.workspaceId}`)).status, 404);
});

test("a token may ask for the entries of an actor, though it may not name the actor of a change", async () => {
  const world = await createWorld();
  const { token } = taken<{ token: string }>(
    await world.manage("POST", "/tokens", { name: "Ann", role: "admin" }),
    201,
  );
  await change(world, `/deployments/${world.deployId}/deactivate`, {}, token);
  const { items } = taken<{ items: AuditEntry[] }>(
    await world.manage("GET", "/audit?actor=Ann", undefined, as(token)),
  );
  assert.equal(items.map(({ action }) => action), ["deployment.deactivated"]);
  const named = await world.manage("POST", `/deployments/${world.deployId}/activate`, { actor: "Eve" }, as(token));
  refused(named, 400, "actor is the name of the management token; remove it");
});

test("the entries of a deleted workspace stay", async () => {
  const world = await createWorld();
  const before = await list(world);
  taken(await world.manage("DELETE", `/workspaces/${world.workspaceId}?confirm=Acme`));
  const [deleted, ...rest] = await list(world, `?workspaceId=${world.workspaceId}`);
  assert.equal(rest, before);
  assert.equal([deleted!.action, deleted!.after], ["workspace.deleted", null]);
  assert.is((deleted!.before as { name: string }).name, "Acme");
});

test("concurrent changes are made one after the other, through two services too", async () => {
  const world = await createWorld();
  const { promptId, workspaceId } = world;
  const services = [world, await createWorld({ database: world.database })];
  const send = (nth: number, path: string, body: object) => services[nth % 2]!.manage("POST", path, body);
  const push = (nth: number) => send(nth, `/prompts/${promptId}/versions`, { ...promptFile, title: `Title ${nth}` });
  const name = (nth: number) => send(nth, `/workspaces/${workspaceId}/deployments`, { name: "same", promptId });
  const pushes = await Promise.all(Array.from({ length: 30 }, (_, nth) => push(nth)));
  const versions = pushes.map((answer) => taken<{ version: number }>(answer, 201).version).sort((a, b) => a - b);
  assert.equal(versions, Array.from({ length: 30 }, (_, nth) => nth + 2));
  const statuses = (await Promise.all(Array.from({ length: 8 }, (_, nth) => name(nth)))).map(({ status }) => status);
  assert.equal(statuses.sort(), [201, ...Array(7).fill(409)]);
  assert.equal((await check(world)).isIntact, true);
});

test("changes of one service do not overtake each other: each is written once", async () => {
  const { database, counts } = counting(await openMemory());
  const world = await createWorld({ database });
  const before = counts.writes;
  const answers = await Promise.all(Array.from({ length: 200 }, (_, nth) => {
    const path = `/workspaces/${world.workspaceId}`;
    return nth % 2 === 0
      ? world.manage("PATCH", path, { monthlyLimit: nth })
      : world.manage("POST", `${path}/keys`, { name: "k" });
  }));
  for (const answer of answers) assert.ok(answer.status < 300, answer.text);
  assert.is(counts.writes - before, 200);
});

test("a change that cannot be written has no entry", async () => {
  const world = await createWorld();
  const before = await dump(world);
  await world.database.write([{
    sql: "create trigger fail before update on deployments begin select raise(abort, 'no'); end",
  }]);
  assert.is((await world.manage("POST", `/deployments/${world.deployId}/deactivate`)).status, 500);
  await world.database.write([{ sql: "drop trigger fail" }]);
  assert.is(await dump(world), before);
});

test("no operation modifies or removes an entry", async () => {
  const { database } = await createWorld();
  for (const sql of ["update audit_log set actor = 'Eve'", "delete from audit_log where position = 3"]) {
    const error = await database.write([{ sql }]).catch((error: Error) => error);
    assert.match((error as Error).message, "Entries of the audit log stay");
  }
});

const unlocked = [
  { sql: "drop trigger audit_log_no_delete" },
  { sql: "drop trigger audit_log_no_update" },
];

const columns = {
  created_at: "created_at + 1",
  source: "iif(source = 'api', 'command line', 'api')",
  actor: "actor || 'x'",
  token_id: "coalesce(token_id, '') || 'x'",
  action: "action || 'x'",
  target_id: "coalesce(target_id, '') || 'x'",
  workspace_id: "coalesce(workspace_id, '') || 'x'",
  before: "iif(before is null, '{}', null)",
  after: "iif(after is null, '{}', null)",
  note: "note || 'x'",
  request_id: "coalesce(request_id, '') || 'x'",
  hash: "replace(hash, substr(hash, 1, 1), iif(substr(hash, 1, 1) = 'a', 'b', 'a'))",
};

test("verify finds the first entry that was altered, removed or swapped, or has lost its hash", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 5 }),
      fc.constantFrom("remove", "swap", "blank", ...Object.keys(columns) as (keyof typeof columns)[]),
      async (first, second, how) => {
        const world = await createWorld();
        await change(world, `/deployments/${world.deployId}/deactivate`);
        assert.equal(await check(world), {
          entries: 5,
          isIntact: true,
          brokenAt: null,
          head: (await list(world))[0]!.hash,
          ...{ triggers: [], differences: 0, rows: [] },
        });
        const at = Math.min(first, second), other = Math.max(first, second);
        if (how === "swap" && at === other) return;
        const tampered = how === "remove"
          ? [`delete from audit_log where position = ${at}`]
          : how === "blank"
          ? [`update audit_log set actor = 'Eve', hash = '' where position = ${at}`]
          : how === "swap"
          ? [[at, -1], [other, at], [-1, other]].map(([from, to]) =>
            `update audit_log set position = ${to} where position = ${from}`
          )
          : [`update audit_log set ${how} = ${columns[how]} where position = ${at}`];
        const free = { sql: "pragma ignore_check_constraints = on" };
        await world.database.write([...unlocked, free]);
        await world.database.write(tampered.map((sql) => ({ sql })));
        const { isIntact, brokenAt } = await check(world);
        assert.is(isIntact, false, how);
        assert.ok(brokenAt === at || how === "blank" && brokenAt! >= at, `${how} at ${at}: ${brokenAt}`);
      },
    ),
    { numRuns: 40 },
  );
});

const unknown = (position: number) =>
  `insert into audit_log select ${position}, created_at, source, 'Eve', token_id, action, target_id, workspace_id, before, after,
    note, request_id, hash from audit_log where position = 1`;

for (
  const [what, sql, at] of [
    ["an entry after the newest one", unknown(5), 5],
    ["an entry before the first one", unknown(0), 1],
    [
      "entries after a head that was put back",
      "update audit_head set position = 2, hash = (select hash from audit_log where position = 2)",
      3,
    ],
    ["a missing head", "delete from audit_head", 1],
    ["a head that lost its hash", "update audit_head set hash = ''", 4],
    [
      "a log that has lost all hashes, as if it were older than they are",
      "update audit_log set actor = 'Eve', hash = ''; update audit_head set hash = ''",
      1,
    ],
  ] as const
) {
  test(`verify finds ${what}`, async () => {
    const world = await createWorld();
    const statements = ["pragma ignore_check_constraints = on", ...sql.split("; ")];
    await world.database.write([...unlocked, ...statements.map((sql) => ({ sql }))]);
    const { isIntact, brokenAt } = await check(world);
    assert.equal([isIntact, brokenAt], [false, at]);
  });
}

test.run();
