// Many requests at once, and failures of the database.
// Runs on every runtime in CI.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import {
  createApiKey,
  createDeployment,
  createPrompt,
  listDiagnoses,
  promoteDeployment,
  pushPrompt,
  setDeploymentActive,
  updateWorkspace,
} from "../actions.ts";
import { Refusal } from "../../src/common/errors.ts";
import { newApiKey } from "../../src/common/ids.ts";
import type { DeploymentId } from "../../src/common/ids.ts";
import { stringify } from "../../src/common/json-text.ts";
import { classifyErrors } from "../../src/database/database.ts";
import type { Database, Row } from "../../src/database/database.ts";
import { verifyBalanced } from "../balanced.ts";
import { until } from "../conformance/processes.ts";
import { adminToken, bearer, counting, createTenant, createWorld, goodBody, openMemory, toPrompt } from "../helpers.ts";
import type { Answer, Tenant, World } from "../helpers.ts";
import { ledgerOf, losingReplies, readBy, submitBy, upTo } from "./requests.ts";
import type { Loss } from "./requests.ts";

const test = suite("groups");

const idOf = ({ json }: Answer) => (json as { id: string }).id;
const isAccepted = ({ status }: Answer) => status === 200 || status === 201;

/** Counts answers by status. */
function statusesOf(answers: Answer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** The sequence numbers of accepted requests, sorted. */
const numbersOf = (answers: Answer[]) =>
  answers.filter(isAccepted).map(({ headers }) => Number(headers.get("X-RateLimit-Used"))).sort((a, b) => a - b);

/** The records of a deployment, as `ID SESSION`, sorted. */
const recordsOf = async ({ admin }: World, deployId: DeploymentId) =>
  (await listDiagnoses(admin, { deployId }))
    .map(({ id, sessionId }) => `${id} ${JSON.parse(stringify(sessionId))}`).sort();

const bodyOf = (sessionId: string) => ({ ...goodBody, sessionId });

/** A world whose database loses replies, and management that loses none. */
async function createLossyWorld(monthlyLimit: number) {
  const memory = await openMemory();
  const loss: Loss = { times: 0 };
  const world = await createWorld({ database: losingReplies(memory, loss), monthlyLimit });
  return { world, loss, admin: { ...world.admin, database: memory } };
}

test("more requests than fit in a group are all decided", async () => {
  const world = await createWorld({ monthlyLimit: 601 });
  // Bodies under a key that is not cached yet have a smaller budget.
  assert.is((await world.read()).status, 200);
  const answers = await Promise.all(upTo(610).map(() => world.submit()));
  assert.is(statusesOf(answers)[429], 10);
  assert.equal(numbersOf(answers), upTo(601).slice(1));
  const records = answers.filter(({ status }) => status === 201).map((answer) => `${idOf(answer)} session-1`);
  assert.equal(await recordsOf(world, world.deployId), records.sort());
  // An id has two digits for the slot of the request.
  assert.ok(records.every((record) => /^diag_[0-9a-z]{26} /.test(record)));
  await verifyBalanced(world.admin);
});

test("a workspace may have 5,000 requests waiting: one more is a 503, while others have room", async () => {
  const memory = await openMemory();
  let release = () => {}, begun = 0;
  let isUnderWay = Promise.resolve();
  const database: Database = {
    ...memory,
    write: async (statements) => {
      begun++;
      await isUnderWay;
      return memory.write(statements);
    },
  };
  const world = await createWorld({ database, monthlyLimit: 100_000, servesMetrics: true });
  const untilWaiting = (count: number) =>
    until(async () => {
      const { text } = await world.send("/metrics", { headers: bearer(adminToken) });
      return text.includes(`\npromptledger_waiting_requests ${count}\n`);
    });
  const other = await createTenant(world.admin);
  await world.read();
  isUnderWay = new Promise((resolve) => release = resolve);
  begun = 0;
  const first = world.read();
  await until(() => begun === 1);
  const others = Array.from({ length: 5_000 }, () => world.read());
  await untilWaiting(5_001);
  const refused = await world.read();
  assert.equal([refused.status, refused.json], [503, { error: "Too many requests are waiting" }]);
  assert.is(refused.headers.get("Retry-After"), "1");
  // Keys whose workspace is not known yet count as one workspace.
  others.push(world.read(other.deployId, other.key), world.read(other.deployId, newApiKey()));
  await untilWaiting(5_003);
  release();
  assert.equal(statusesOf(await Promise.all([first, ...others])), { 200: 5_002, 401: 1 });
});

for (
  const [name, alternating] of [
    ["reads and submits", async (world: World) => [await readBy(world), await submitBy(world)]],
    ["two keys of one workspace", async (world: World) => {
      const { key } = await createApiKey(world.admin, world.workspaceId, { name: "second", expiresAt: null });
      return [await readBy(world), await readBy({ ...world, key })];
    }],
  ] as const
) {
  test(`if the quota ends within a group, batches of like requests take what is left in turn: ${name}`, async () => {
    const world = await createWorld({ monthlyLimit: 7 });
    const ledger = ledgerOf(world);
    const [first, second] = await alternating(world);
    const decisions = await Promise.all(
      upTo(8).map((index) => ledger.admit({ ...(index % 2 === 1 ? first! : second!) })),
    );
    const accepted = decisions.map(({ outcome }) => outcome !== "quota_exhausted");
    assert.equal(accepted, [true, true, true, true, true, true, true, false]);
    assert.equal(decisions.map((decision) => "quota" in decision && decision.quota.used), [1, 5, 2, 6, 3, 7, 4, 7]);
    assert.is((await verifyBalanced(world.admin))[0]?.used, 7);
  });
}

test("a group that exceeds the quota is decided by one attempt", async () => {
  const { database, counts } = counting(await openMemory());
  const world = await createWorld({ database, monthlyLimit: 5 });
  const admissions = [await readBy(world), await submitBy(world), await submitBy(world, "a"), await readBy(world)];
  const ledger = ledgerOf(world);
  counts.reads = counts.writes = 0;
  const decisions = await Promise.all(
    [...admissions, ...admissions].map((admission) => ledger.admit({ ...admission })),
  );
  // The repeat of the key waits for the first submit.
  assert.equal({ ...counts }, { reads: 0, writes: 2 });
  const outcomes = decisions.map(({ outcome }) => outcome);
  const [read, recorded, exhausted] = ["read", "recorded", "quota_exhausted"];
  assert.equal(outcomes, [read, recorded, exhausted, read, read, exhausted, exhausted, read]);
});

test("after a group in which every request was refused, another such group takes no write lock", async () => {
  const { database, counts } = counting(await openMemory());
  const world = await createWorld({ database, monthlyLimit: 1 });
  const unknownKey = newApiKey();
  await world.read();
  const refused = () =>
    Promise.all([
      world.read(),
      world.read("dep_0"),
      world.read(world.deployId, unknownKey),
      world.read(world.deployId, unknownKey),
    ]);
  await refused();
  counts.writes = 0;
  assert.equal(statusesOf(await refused()), { 429: 1, 404: 1, 401: 2 });
  assert.is(counts.writes, 0);

  await updateWorkspace(world.admin, world.workspaceId, { monthlyLimit: 2 });
  assert.equal(statusesOf(await refused()), { 200: 1, 404: 1, 401: 2 });
});

test("a lone request of any kind takes one round trip", async () => {
  const { database, counts } = counting(await openMemory());
  const world = await createWorld({ database, monthlyLimit: 4 });
  const { deployId, key } = world;
  const idempotent = { "Idempotency-Key": "a" };
  const requests: [send: () => Promise<Answer>, status: number][] = [
    [() => world.read(deployId, newApiKey()), 401],
    [() => world.read(), 200],
    [() => world.submit(), 201],
    [() => world.submit(goodBody, deployId, key, idempotent), 201],
    [() => world.submit(goodBody, deployId, key, idempotent), 201],
    [() => world.submit(bodyOf("another"), deployId, key, idempotent), 422],
    [() => world.read("dep_0"), 404],
    [() => world.submit("{}"), 400],
    [() => world.submit("{}", deployId, newApiKey()), 401],
    [() => world.read(), 200],
    [() => world.read(), 429],
    [() => world.submit(), 429],
  ];
  for (const [send, status] of requests) {
    counts.reads = counts.writes = 0;
    assert.is((await send()).status, status);
    assert.is(counts.reads + counts.writes, 1);
  }
});

test("if the quota ends within a group, lost replies change nothing, even after a refused group", async () => {
  const loss = { times: 0 };
  const world = await createWorld({ database: losingReplies(await openMemory(), loss), monthlyLimit: 5 });
  const other = await createTenant(world.admin, 3, "Other");
  const send = () =>
    Promise.all(
      upTo(6).flatMap((index) => [
        world.read(),
        world.submit(goodBody, world.deployId, world.key, { "Idempotency-Key": `${world.now} ${index}` }),
        world.submit(goodBody, other.deployId, other.key),
      ]),
    );
  const all: Answer[][] = [];
  for (const limit of [5, 5, 9]) {
    await updateWorkspace(world.admin, world.workspaceId, { monthlyLimit: limit });
    world.now += 1;
    loss.times = 3;
    all.push(await send());
    loss.times = 0;
  }
  const [first, second, third] = all;
  assert.equal(numbersOf(first!), [...upTo(5), ...upTo(3)].sort());
  assert.equal(statusesOf(second!), { 429: 18 });
  assert.equal(numbersOf(third!), [6, 7, 8, 9]);
  const records = all.flat().filter(({ status }) => status === 201).map((answer) => `${idOf(answer)} session-1`);
  const stored = [...await recordsOf(world, world.deployId), ...await recordsOf(world, other.deployId)];
  assert.equal(stored.sort(), records.sort());
  await verifyBalanced(world.admin);
});

test("requests that another process decides while a reply is lost are not mixed up with the lost ones", async () => {
  const memory = await openMemory();
  const loss: Loss = { times: 0 };
  const world = await createWorld({ database: losingReplies(memory, loss) });
  const elsewhere = await createWorld({ database: memory });
  const exhausted = await createTenant(world.admin, 0, "Exhausted");
  const ledger = ledgerOf(world);
  const group = await Promise.all([
    readBy(world),
    submitBy(world, "a"),
    submitBy(exhausted),
    submitBy(exhausted, "b"),
    submitBy(exhausted),
    submitBy(exhausted),
  ]);
  loss.times = 1;
  // These calls take the positions that the refused requests of the lost commit would have had.
  loss.meanwhile = async () => {
    await elsewhere.read();
    await elsewhere.submit(bodyOf("elsewhere"));
    await elsewhere.read(world.deployId, world.key);
    await elsewhere.read();
  };
  const decisions = await Promise.all(group.map((admission) => ledger.admit(admission)));
  const refused = "quota_exhausted";
  assert.equal(decisions.map(({ outcome }) => outcome), ["read", "recorded", refused, refused, refused, refused]);
  const [, recorded] = decisions;
  assert.equal(await recordsOf(world, world.deployId), [`${recorded?.outcome === "recorded" && recorded.recordId} s`]);
  assert.equal((await recordsOf(world, elsewhere.deployId)).map((record) => record.split(" ")[1]), ["elsewhere"]);
  const keys = await memory.read({ sql: "select workspace_id from idempotency_keys" });
  assert.equal(keys.map(({ workspace_id }) => workspace_id), [world.workspaceId]);
  await verifyBalanced(world.admin);
});

test("an accepted request is answered as accepted, even if its deployment is deactivated while the reply is lost", async () => {
  const memory = await openMemory();
  const loss: Loss = { times: 0 };
  const world = await createWorld({ database: losingReplies(memory, loss) });
  const admin = { ...world.admin, database: memory };
  for (const [send, status] of [[() => world.read(), 200], [() => world.submit(), 201]] as const) {
    loss.times = 1;
    loss.meanwhile = () => setDeploymentActive(admin, world.deployId, false);
    assert.is((await send()).status, status);
    await setDeploymentActive(admin, world.deployId, true);
  }
});

test("a request that the database rejects fails alone, whatever else is in its group", async () => {
  const memory = await openMemory();
  const poison = "poison";
  const database = classifyErrors({
    ...memory,
    write: (statements) =>
      JSON.stringify(statements).includes(poison)
        ? Promise.reject(new Error("A document cannot be stored"))
        : memory.write(statements),
  }, () => "rejected");
  const world = await createWorld({ database });
  const answers = await Promise.all(
    upTo(30).map((index) => index % 3 === 0 ? world.read() : world.submit(bodyOf(index === 13 ? poison : `s${index}`))),
  );
  assert.equal(statusesOf(answers), { 200: 10, 201: 19, 500: 1 });
  assert.is(answers.findIndex(({ status }) => status === 500), 12);
  assert.equal(numbersOf(answers), upTo(29));
  assert.is((await recordsOf(world, world.deployId)).length, 19);
  await verifyBalanced(world.admin);
  assert.is(world.logged.length, 1);
});

test("the texts of a prompt are read only for accepted requests, and once for all in a group", async () => {
  const memory = await openMemory();
  let longest = 0;
  const measure = (row: Row | undefined) => {
    longest = Math.max(longest, String(row?.states ?? "").length);
  };
  const database: Database = {
    ...memory,
    read: async (statement) => {
      const rows = await memory.read(statement);
      measure(rows[0]);
      return rows;
    },
    write: async (statements) => {
      const results = await memory.write(statements);
      measure(results.at(-1)?.[0]);
      return results;
    },
  };
  const world = await createWorld({ database, monthlyLimit: 10 });
  const size = 100_000;
  const { workspaceId } = world;
  const long = toPrompt({ title: "Long", messages: [{ role: "user", content: "x".repeat(size) }] });
  const { id: promptId } = await createPrompt(world.admin, workspaceId, long);
  const { id: deployId } = await createDeployment(world.admin, workspaceId, { name: "long", promptId });
  const answers = await Promise.all(upTo(40).map(() => world.read(deployId)));
  assert.equal(statusesOf(answers), { 200: 10, 429: 30 });
  assert.ok(longest > size && longest < 2 * size);
  longest = 0;
  assert.is((await world.read(deployId)).status, 429);
  assert.ok(longest < 1000);
});

test("of many uncached prompts, four are read with their group, and the others four at a time after it", async () => {
  const { database, counts } = counting(await openMemory());
  const world = await createWorld({ database });
  const tenants: Tenant[] = [];
  for (const index of upTo(10)) tenants.push(await createTenant(world.admin, 1000, `Tenant ${index}`));
  const admissions = await Promise.all(tenants.map(readBy));
  const ledger = ledgerOf(world);
  for (const operations of [{ writes: 1, reads: 2 }, { writes: 1, reads: 0 }]) {
    counts.reads = counts.writes = 0;
    const decisions = await Promise.all(admissions.map((admission) => ledger.admit(admission)));
    const prompts = decisions.map((decision) => decision.outcome === "read" && JSON.parse(decision.prompt.text));
    assert.equal(prompts.map(({ workspace }) => workspace.name), upTo(10).map((index) => `Tenant ${index}`));
    assert.ok(prompts.every(({ messages }) => messages.length > 0));
    assert.equal({ ...counts }, operations);
  }
});

test("a group is counted once if the texts of its prompts cannot be read after its commit", async () => {
  const memory = await openMemory();
  let failures = 0;
  const database = classifyErrors({
    ...memory,
    read: (statement) => failures-- > 0 ? Promise.reject(new Error("The disk failed")) : memory.read(statement),
  }, () => "rejected");
  const world = await createWorld({ database });
  const tenants: Tenant[] = [];
  for (const index of upTo(5)) tenants.push(await createTenant(world.admin, 1000, `Tenant ${index}`));
  const admissions = await Promise.all(tenants.map(readBy));
  const ledger = ledgerOf(world);
  failures = 1;
  const decisions = await Promise.all(admissions.map((admission) => ledger.admit(admission)));
  assert.equal(decisions.map(({ outcome }) => outcome), upTo(5).map(() => "read"));
  const ledgers = await verifyBalanced(world.admin);
  assert.equal(ledgers.map(({ used }) => used), [1, 1, 1, 1, 1]);
});

test("after a database is restored, a version is served as it is there, even if its number is cached", async () => {
  const world = await createWorld();
  const { promptId, deployId } = world;
  const publish = async (text: string) => {
    await pushPrompt(world.admin, promptId, toPrompt({ title: "T", messages: [{ role: "user", content: text }] }));
    await promoteDeployment(world.admin, deployId, { version: 2 });
  };
  await publish("lost");
  assert.match((await world.read()).text, /lost/);
  await world.database.write([
    { sql: "update deployments set current_version = 1" },
    { sql: "delete from prompt_versions where version = 2" },
  ]);
  world.now += 1;
  await publish("found");
  assert.match((await world.read()).text, /found/);
});

test("a reply to another group is discarded, and the group is sent again", async () => {
  const memory = await openMemory();
  let last: Row[][] = [];
  let isRepeated = false;
  const database: Database = {
    ...memory,
    write: async (statements) => {
      const repeated = isRepeated ? last : undefined;
      isRepeated = false;
      last = await memory.write(statements);
      return repeated ?? last;
    },
  };
  const world = await createWorld({ database });
  const first = await world.submit();
  isRepeated = true;
  const second = await world.submit();
  assert.equal([first.status, second.status], [201, 201]);
  assert.is.not((first.json as { id: string }).id, (second.json as { id: string }).id);
  assert.equal((await recordsOf(world, world.deployId)).length, 2);
  await verifyBalanced(world.admin);
});

test("many usage requests at once, with valid and invalid keys, take few reads and no write", async () => {
  const { database, counts } = counting(await openMemory());
  const world = await createWorld({ database });
  await world.read();
  await world.submit();
  const ask = (key: string) => world.send("/v1/usage", { headers: { Authorization: `Bearer ${key}` } });
  const keys = upTo(500).map((index) => index % 2 === 1 ? world.key : newApiKey());
  // Keys are hashed on other threads, in any time. The second time their hashes are known.
  await Promise.all(keys.map(ask));
  counts.reads = counts.writes = 0;
  const answers = await Promise.all(keys.map(ask));
  assert.equal(statusesOf(answers), { 200: 250, 401: 250 });
  assert.is(counts.writes, 0);
  assert.ok(counts.reads < 20, `${counts.reads} reads`);
  const { used, reads, submits } = answers[0]!.json as Record<string, number>;
  assert.equal([used, reads, submits], [2, 1, 1]);
});

test("of like submits that exceed the quota the first are stored, each under the id in its answer", async () => {
  const world = await createWorld({ monthlyLimit: 3 });
  const ledger = ledgerOf(world);
  const submits = await Promise.all(upTo(5).map((nth) => submitBy(world, undefined, `s${nth}`)));
  const read = await readBy(world);
  const decisions = await Promise.all([...submits, read].map((admission) => ledger.admit(admission)));
  const exhausted = "quota_exhausted";
  assert.equal(decisions.map(({ outcome }) => outcome), [
    ...Array(3).fill("recorded"),
    exhausted,
    exhausted,
    exhausted,
  ]);
  const answered = decisions.map((decision, index) =>
    decision.outcome === "recorded" && `${decision.recordId} s${index + 1}`
  );
  const items = await listDiagnoses(world.admin, { deployId: world.deployId });
  const stored = items.map(({ id, sessionId }) => `${id} ${JSON.parse(stringify(sessionId))}`);
  assert.equal(stored.reverse(), answered.slice(0, 3));
  const [commit] = await world.database.read({ sql: "select next_position - position as length from commits" });
  assert.is(commit!.length, 3);
  await updateWorkspace(world.admin, world.workspaceId, { monthlyLimit: 4 });
  assert.is((await ledger.admit(read)).outcome, "read");
  await verifyBalanced(world.admin);
});

test("like reads that exceed the quota are answered as decided, even if the limit is raised while the reply is lost", async () => {
  const { world, loss, admin } = await createLossyWorld(2);
  const ledger = ledgerOf(world);
  const read = await readBy(world);
  loss.times = 1;
  loss.meanwhile = () => updateWorkspace(admin, world.workspaceId, { monthlyLimit: 9 });
  const decisions = await Promise.all(upTo(3).map(() => ledger.admit({ ...read })));
  assert.equal(decisions.map(({ outcome }) => outcome), ["read", "read", "quota_exhausted"]);
  const [, , refused] = decisions;
  assert.equal(refused?.outcome === "quota_exhausted" && [refused.quota.limit, refused.quota.used], [2, 2]);
  assert.is((await ledger.admit(read)).outcome, "read");
});

test("after a refused group, reads whose reply was lost get their texts, even if they used up the quota", async () => {
  const { world, loss, admin } = await createLossyWorld(80);
  const { workspaceId } = world;
  const reads: Awaited<ReturnType<typeof readBy>>[] = [];
  // One after another: changes that race give up after some attempts.
  for (const nth of upTo(80)) {
    const prompt = toPrompt({ title: `Prompt ${nth}`, messages: [] });
    const { id: promptId } = await createPrompt(admin, workspaceId, prompt);
    const { id: deployId } = await createDeployment(admin, workspaceId, { name: "production", promptId });
    reads.push(await readBy({ ...world, deployId }));
  }
  const ledger = ledgerOf(world, { timeoutMs: 60_000 });
  const unknown = await readBy({ ...world, deployId: "dep_0" });
  await Promise.all([ledger.admit(unknown), ledger.admit({ ...unknown })]);
  loss.times = 1;
  const decisions = await Promise.all(reads.map((read) => ledger.admit(read)));
  assert.equal(decisions.map(({ outcome }) => outcome), Array(80).fill("read"));
});

test("a refused request that could be accepted once its group's reply was lost fails as overloaded", async () => {
  const { world, loss, admin } = await createLossyWorld(9);
  const { workspaceId, promptId, deployId } = world;
  const { id: inactive } = await createDeployment(admin, workspaceId, { name: "inactive", promptId });
  await setDeploymentActive(admin, inactive, false);
  const ledger = ledgerOf(world);
  const [good, bad] = [await submitBy(world), await submitBy({ ...world, deployId: inactive })];
  loss.times = 1;
  loss.meanwhile = () => setDeploymentActive(admin, inactive, true);
  const [accepted, refused] = await Promise.allSettled([ledger.admit(good), ledger.admit(bad)]);
  assert.is(accepted.status === "fulfilled" && accepted.value.outcome, "recorded");
  const reason = refused.status === "rejected" && refused.reason;
  assert.is(reason instanceof Refusal && reason.kind, "overloaded");
  assert.is((await listDiagnoses(admin, { deployId: inactive })).length, 0);
  assert.is((await listDiagnoses(admin, { deployId })).length, 1);
  assert.is((await ledger.admit(bad)).outcome, "recorded");
  await verifyBalanced(admin);
});

test.run();
