// Feedback about sessions: which record it is on, however long the log is, and what the search for it costs others.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { classifyErrors } from "../../src/database/database.ts";
import type { Database, Statement } from "../../src/database/database.ts";
import { createApiKey, revokeApiKey } from "../actions.ts";
import { bearer, createTenant, createWorld, goodBody, managementOf, openMemory } from "../helpers.ts";
import type { Answer, Tenant, World } from "../helpers.ts";
import { fillLog } from "../ledger/long-log.ts";

const test = suite("feedback about sessions");

const maxSessions = 20;

const piece = ({ deployId }: Tenant, sessionId: string, more = {}) => ({
  ...{ sessionId, deployId, name: "thumb", value: true },
  ...more,
});

const giveMany = (world: World, feedback: object[], key = world.key): Promise<Answer> =>
  world.send("/v1/feedback", { method: "POST", headers: bearer(key), body: JSON.stringify({ feedback }) });

type Result = { status: number; recordId?: string; error?: string; code?: string };

const resultsOf = async (world: World, feedback: object[], key?: string): Promise<Result[]> => {
  const answer = await giveMany(world, feedback, key);
  assert.is(answer.status, 200, answer.text);
  return (answer.json as { results: Result[] }).results;
};

const statusesOf = async (...given: Parameters<typeof resultsOf>) =>
  (await resultsOf(...given)).map(({ status }) => status);

const record = async (world: World, sessionId: string, tenant: Tenant = world): Promise<string> => {
  const answer = await world.submit({ ...goodBody, sessionId }, tenant.deployId, tenant.key);
  assert.is(answer.status, 201);
  return (answer.json as { id: string }).id;
};

const nextTask = () => new Promise((resolve) => setTimeout(resolve, 1));

const sessions = (count: number, from = 0) => Array.from({ length: count }, (_, nth) => `none-${from + nth}`);

/** A world whose database has a thread for reads, which `aside` is. */
async function createServed(
  aside: (statement: Statement, run: () => ReturnType<Database["read"]>) => ReturnType<Database["read"]>,
) {
  const database = await openMemory();
  const serving = { count: 0 };
  const served: Database = {
    ...database,
    read(statement) {
      serving.count++;
      return database.read(statement);
    },
    readAside: (statement) => aside(statement, () => database.read(statement)),
  };
  const world = await createWorld({
    database: classifyErrors(served, () => "retryable"),
    maxBodyBytes: 100_000,
  });
  return { world, serving };
}

test("the newest record of a session is found however many requests came after it", async () => {
  const world = await createWorld();
  await record(world, "old");
  const id = await record(world, "old");
  for (const positions of [100_000, 1_200_000]) {
    await fillLog(world.database, await createTenant(world.admin), positions);
    const [result] = await resultsOf(world, [piece(world, "old", { name: `after-${positions}` })]);
    assert.equal(result, { status: 200, recordId: id, isChanged: true });
  }
  assert.equal(await statusesOf(world, [piece(world, "older")]), [404]);
});

test("the id of a session may have 512 characters of any kind", async () => {
  const world = await createWorld({ maxBodyBytes: 10_000 });
  const long = "\u{1f600}".repeat(512);
  const id = await record(world, long);
  const results = await resultsOf(world, [piece(world, long), piece(world, `${long}x`)]);
  assert.equal(results.map(({ status, recordId }) => recordId ?? status), [id, 400]);
});

test("pieces on as many sessions as a request may name are given, wherever they stand, and those on others are refused", async () => {
  const world = await createWorld({ maxBodyBytes: 100_000 });
  const names = sessions(maxSessions + 2);
  for (const name of names) await record(world, name);
  const all = [...names, ...names].map((name, nth) => piece(world, name, { name: `n${nth % 50}` }));
  const half = [...Array(maxSessions).fill(200), 400, 400];
  assert.equal(await statusesOf(world, all), [...half, ...half]);
});

test("a session that many pieces are on is searched for once, and as many sessions as a request may name at once", async () => {
  const statements: string[] = [];
  const { world, serving } = await createServed((statement, run) => {
    statements.push(statement.sql);
    return run();
  });
  await fillLog(world.database, await createTenant(world.admin), 100_000);
  const searchesOf = async (feedback: object[]) => {
    statements.length = 0;
    await giveMany(world, feedback);
    return statements.length;
  };
  const one = await searchesOf([piece(world, "none")]);
  assert.is(await searchesOf(Array.from({ length: 400 }, () => piece(world, "none"))), one);
  assert.is(await searchesOf(sessions(maxSessions).map((name) => piece(world, name))), one);
  assert.is(await searchesOf([{ record: "order-1", name: "thumb", value: true }]), 0);
  // Nothing of a search reads on the connection that serves, however long the log is.
  const before = serving.count;
  await giveMany(world, [piece(world, "none")]);
  const reads = serving.count - before;
  await fillLog(world.database, await createTenant(world.admin), 400_000);
  const start = serving.count;
  await giveMany(world, [piece(world, "none")]);
  assert.is(serving.count - start, reads);
  assert.ok(statements.length > one);
});

test("a search for a session that has a record in the newest part of the log reads that part alone", async () => {
  let count = 0;
  const { world } = await createServed((_, run) => {
    count++;
    return run();
  });
  await fillLog(world.database, await createTenant(world.admin), 1_000_000);
  await record(world, "new");
  assert.equal(await statusesOf(world, [piece(world, "new")]), [200]);
  assert.is(count, 2);
});

test("a workspace that searches a lot leaves others their share", async () => {
  const started = new Map<string, (() => void)[]>(); // reads that have not ended, by the deployment
  let most = 0;
  const { world } = await createServed((statement, run) => {
    const owner = [world.deployId, other.deployId].find((id) => JSON.stringify(statement.args).includes(id))!;
    return new Promise((resolve) => {
      const reads = [...started.get(owner) ?? [], () => resolve(run())];
      started.set(owner, reads);
      if (owner === world.deployId) most = Math.max(most, reads.length);
    });
  });
  const other: Tenant = await createTenant(world.admin);
  await record(world, "theirs", other);
  const endReads = (owner: string) => {
    for (const end of started.get(owner) ?? []) end();
    started.delete(owner);
  };
  const busy = Array.from({ length: 50 }, (_, nth) => giveMany(world, [piece(world, `none-${nth}`)]));
  for (let tasks = 0; most === 0 && tasks < 10_000; tasks++) await nextTask();
  // The others' search ends while none of the 50 does.
  const timer = setInterval(() => endReads(other.deployId), 1);
  assert.equal(await statusesOf(world, [piece(other, "theirs")], other.key), [200]);
  clearInterval(timer);
  const rest = setInterval(() => endReads(world.deployId), 1);
  assert.ok((await Promise.all(busy)).every(({ status }) => status === 200));
  clearInterval(rest);
  assert.is(most, 2);
});

test("a search that runs out of time is a 503 for its session alone, and never a 404", async () => {
  const world = await createWorld();
  const id = await record(world, "old");
  await fillLog(world.database, await createTenant(world.admin), 100_000);
  const newest = await record(world, "new");
  const { now } = performance;
  let at = now.call(performance);
  performance.now = () => at += 10_000;
  const feedback = ["old", "new", "none"].map((name) => piece(world, name));
  const answer = await giveMany(world, feedback);
  const alone = await giveMany(world, [piece(world, "old")]);
  performance.now = now;
  const { results } = answer.json as { results: Result[] };
  assert.equal(results.map(({ status }) => status), [503, 200, 503]);
  assert.is(results[1]!.recordId, newest);
  assert.is(results[0]!.error, "The search for session old timed out after 5 s: try again");
  assert.is(alone.status, 503);
  assert.is(alone.headers.get("Retry-After"), "1");
  assert.equal((await resultsOf(world, feedback)).map(({ status, recordId }) => recordId ?? status), [id, newest, 404]);
});

test("a search that fails is a 503 for the pieces on sessions, and the others are given", async () => {
  const { world } = await createServed(() => Promise.reject(new Error("The thread is gone")));
  const id = await record(world, "session-1");
  const feedback = [piece(world, "session-1"), { record: id, name: "tone", value: "kind" }];
  assert.equal(await statusesOf(world, feedback), [503, 200]);
});

test("a key for one deployment learns nothing about sessions of another", async () => {
  const world = await createWorld();
  const { key } = await createApiKey(world.admin, world.workspaceId, { deployId: world.deployId });
  await world.manage("POST", `/workspaces/${world.workspaceId}/deployments`, {
    name: "staging",
    promptId: world.promptId,
  });
  await world.submit({ ...goodBody, sessionId: "theirs" }, "greeting@staging");
  const textsOf = async (sessionId: string) =>
    (await giveMany(world, [{ ...piece(world, sessionId), deployId: "greeting@staging" }], key)).text;
  assert.is(await textsOf("theirs"), (await textsOf("nobodys")).replaceAll("nobodys", "theirs"));
  assert.equal(await statusesOf(world, [piece(world, "theirs")]), [404]);
});

test("a key that may not give feedback, or has been revoked, is refused before anything is searched", async () => {
  const world = await createWorld();
  const { key: reading } = await createApiKey(world.admin, world.workspaceId, { readOnly: true });
  const { key: revoked, id } = await createApiKey(world.admin, world.workspaceId, {});
  await resultsOf(world, [piece(world, "none")], revoked);
  await revokeApiKey(managementOf(world.database), id);
  assert.equal(await statusesOf(world, [piece(world, "none")], reading), [403]);
  assert.equal(await statusesOf(world, [piece(world, "none")], revoked), [401]);
});

test("nothing older than what its workspace keeps is searched", async () => {
  let count = 0;
  const { world } = await createServed((_, run) => {
    count++;
    return run();
  });
  await fillLog(world.database, world, 1_000_000);
  await giveMany(world, [piece(world, "none")]);
  const whole = count;
  await world.database.write([{
    sql: "insert into prunings (workspace_id, position, records_position, sequence) values (?, 0, 990000, 0)",
    args: [world.workspaceId],
  }]);
  count = 0;
  await giveMany(world, [piece(world, "none")]);
  assert.ok(count < whole / 4, `${count} of ${whole}`);
});

test.run();
