// Tallies that a process keeps of the log: statistics made with them are those that a scan of everything makes, whatever has
// changed since, and they read little.
// Runs on Node alone.
import fc from "fast-check";
import * as assert from "uvu/assert";
import type { DeploymentId } from "../../src/common/ids.ts";
import type { Database, Statement } from "../../src/database/database.ts";
import { createKeptTallies } from "../../src/tallies/kept-tallies.ts";
import { compareStats } from "../../src/management/records/compare.ts";
import type { Session } from "../../src/management/kernel/operation.ts";
import { readStats, readWorkspaceStats } from "../../src/management/records/stats.ts";
import { call } from "../actions.ts";
import { fillHistory } from "../bench/fill.ts";
import { createVisit } from "../console/visitor.ts";
import { bearer, createWorld, goodBody, openMemory, promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { isFull, suite } from "../suite.ts";
import { taken } from "./management.ts";

const test = suite("kept tallies");

const hour = 3_600_000, day = 24 * hour; // ms
const partLength = 256; // positions, so that a short history has several parts

type Piece = { name: string; value: unknown };

const piece: fc.Arbitrary<Piece> = fc.oneof(
  fc.record({ name: fc.constant("thumb"), value: fc.boolean() }),
  fc.record({ name: fc.constant("score"), value: fc.integer({ min: 1, max: 8 }) }),
  fc.record({ name: fc.constant("tone"), value: fc.constantFrom("kind", "curt") }),
);
const hours = fc.integer({ min: -6 * 24, max: 1 });
const moment = fc.oneof(fc.constant(undefined), hours.map((hours) => hours * hour));
const question = fc.record({
  ...{ from: moment, to: moment, splitAt: moment },
  interval: fc.constantFrom(undefined, "hour" as const, "day" as const, "week" as const),
  promptVersion: fc.constantFrom(undefined, undefined, 1, 2),
  nthDeployment: fc.constantFrom(0, 1),
});

type History = { world: World; deployIds: DeploymentId[]; ids: string[]; versions: number };

async function createHistory(): Promise<History> {
  const world = await createWorld({ monthlyLimit: 1e6, maxBodyBytes: 1e6 });
  const body = { name: "twin", promptId: world.promptId, version: 1 };
  const twin = taken<{ id: DeploymentId }>(
    await world.manage("POST", `/workspaces/${world.workspaceId}/deployments`, body),
    201,
  );
  return { world, deployIds: [world.deployId, twin.id], ids: [], versions: 1 };
}

async function submitMany({ world, deployIds, ids }: History, count: number): Promise<void> {
  const records = Array.from({ length: count }, (_, index) => ({
    ...goodBody,
    ...{ deployId: deployIds[index % 5 === 0 ? 1 : 0], status: index % 7, latency: ids.length * index % 3000 / 8 },
    ...index % 3 === 0 ? { model: "gpt-4o-mini" } : {},
    additional_properties: {
      usage: {
        ...{ prompt_tokens: index, completion_tokens: count, cost: index % 7 === 0 ? index / 8 : undefined },
        prompt_tokens_details: { cache_write_tokens: index >> 1, audio_tokens: index % 11 },
      },
    },
  }));
  const answer = await world.send("/v1/diagnoses", {
    method: "POST",
    headers: { ...bearer(world.key), "Content-Type": "application/json" },
    body: JSON.stringify({ records }),
  });
  ids.push(...taken<{ results: { id: string }[] }>(answer).results.map(({ id }) => id));
}

const give = async ({ manage, workspaceId }: World, records: (string | undefined)[], piece: Piece) =>
  taken(
    await manage("POST", `/workspaces/${workspaceId}/feedback`, {
      feedback: [...new Set(records)].map((record) => ({ record, ...piece })),
    }),
  );

async function publish(history: History, model: string): Promise<void> {
  const { world: { manage, promptId, deployId } } = history, version = ++history.versions;
  const content = { ...promptFile, title: `${version}`, llmConfig: { model } };
  taken(await manage("POST", `/prompts/${promptId}/versions`, content), 201);
  taken(await manage("POST", `/deployments/${deployId}/promote`, { version }));
}

/** What may happen to a log, by a random number. */
const steps: Record<string, (history: History, at: number, piece: Piece) => Promise<unknown>> = {
  records: (history, at) => submitMany(history, 1 + at % 200),
  "more records": (history, at) => submitMany(history, 1 + at % 200),
  give: ({ world, ids }, at, piece) => give(world, [ids[at % ids.length], ids[(at + 300) % ids.length]], piece),
  withdraw: ({ world, ids }, at, { name }) =>
    world.manage("DELETE", `/diagnoses/${ids[at % ids.length]}/feedback?name=${name}`),
  async early({ world, ids }, at, piece) {
    const key = `early ${at}`;
    await give(world, [key], piece);
    const answer = await world.submit(goodBody, world.deployId, world.key, { "Idempotency-Key": key });
    ids.push(taken<{ id: string }>(answer, 201).id);
  },
  delete: ({ world, ids }, at) => world.manage("DELETE", `/diagnoses/${ids[at % ids.length]}`),
  publish: (history, at) => publish(history, ["gpt-4o", "claude-x"][at % 2]!),
  async price({ world }, at) {
    const price = { model: ["gpt-4o*", "claude-*"][at % 2], input: `${1 + at % 9}`, output: "0.3" };
    const tiers = [{ above: at % 200, input: "0.7", cacheWrite: "0.9", output: "2" }];
    const more = { cacheWrite: `${1 + at % 4}`, tiers, unpricedMedia: at % 3 === 0 ? ["audio"] : [] };
    taken(await world.manage("POST", "/prices", { ...price, ...more, validFrom: world.now - at % (3 * day) }));
  },
  async statuses({ world }, at) {
    const statuses = [{ status: 1, name: "ok" }, { status: 2 + at % 5, name: "failed", isFailure: true }];
    taken(await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { statuses }));
  },
  async costs({ world }, at) {
    const costSource = ["provider", "prices"][at % 2];
    taken(await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { costSource }));
  },
  async reindex({ world }, at) {
    // As if a version of the service had stored them that counted no tokens.
    await world.database.write([
      { sql: "update diagnoses set measures = 'null,null,null' where position % 5 = ?", args: [at % 5] },
      { sql: "update reindexing set position = 0" },
    ]);
    if (at % 3 > 0) taken(await world.manage("POST", "/reindex"));
  },
  prune: async ({ world }) => taken(await world.manage("POST", "/prune", { olderThanMs: 4 * day })),
};

/** Numbers without their last digits, which follow from the sequence of their parts. */
const rounded = (output: object): object =>
  JSON.parse(JSON.stringify(output), (_, value) => typeof value === "number" ? Number(value.toPrecision(9)) : value);

test("over any history, statistics with kept tallies are those without", async () => {
  const step = fc.record({
    kind: fc.constantFrom(...Object.keys(steps), "give", "give", "withdraw", "early", "delete", "price"),
    at: fc.nat(),
    ...{ piece, question },
    wait: fc.constantFrom(0, 0, 5 * hour, -hour, day),
  });
  // Small numbers would put all limits of time near the end of the log.
  const histories = fc.noBias(fc.array(step, { minLength: 30, maxLength: 40 }));
  for (const taken of fc.sample(histories, isFull ? 8 : 1)) {
    const history = await createHistory();
    const { world, deployIds } = history, { admin, workspaceId } = world;
    const keeping = { ...admin, kept: createKeptTallies({ length: partLength }) };
    await submitMany(history, 500);
    for (const { kind, at, piece, wait, question } of taken) {
      await steps[kind]!(history, at, piece);
      world.now += wait;
      const toTime = (ms: number | undefined) => ms === undefined ? undefined : world.now + ms;
      const { interval, promptVersion, nthDeployment } = question;
      const time = { from: toTime(question.from), to: toTime(question.to) };
      const [one, other] = [deployIds[nthDeployment]!, deployIds[1 - nthDeployment]!];
      const askAll = async (session: Session) =>
        rounded([
          await call(readStats, session, { interval: "day", deployId: one }),
          await call(readStats, session, { ...time, interval, promptVersion, deployId: one }),
          await call(readWorkspaceStats, session, {
            ...{ ...time, interval, promptVersion, workspaceId, splitAt: toTime(question.splitAt) },
          }),
          await call(compareStats, session, { ...time, a: one, aVersion: promptVersion, b: other }),
        ]);
      assert.equal(await askAll(keeping), await askAll(admin), kind);
    }
    await world.close();
  }
});

/** A database, and how many slices of its log were read since that was last asked. */
function countingSlices(database: Database) {
  let slices = 0;
  return {
    database: {
      ...database,
      read(statement: Statement) {
        slices += Number(statement.sql.includes("as offsets"));
        return database.read(statement);
      },
    },
    countSlices() {
      const counted = slices;
      slices = 0;
      return counted;
    },
  };
}

test("only what has changed is read again, and the end of the log", async () => {
  const history = await createHistory();
  const { world } = history, { admin, deployId } = world;
  for (let nth = 0; nth < 6; nth++) await submitMany(history, 500);
  const { database, countSlices } = countingSlices(world.database);
  const session = { ...admin, database, kept: createKeptTallies({ length: partLength }) };
  const slices = async () => {
    const { records } = await call(readStats, session, { deployId });
    return { records, slices: countSlices() };
  };
  assert.equal(await slices(), { records: 2400, slices: 3 });
  assert.equal(await slices(), { records: 2400, slices: 1 });
  await give(world, [history.ids[300]], { name: "thumb", value: true });
  // The first piece under a name.
  assert.equal(await slices(), { records: 2400, slices: 3 });
  await give(world, [history.ids[301]], { name: "thumb", value: true });
  assert.equal(await slices(), { records: 2400, slices: 2 });
  await give(world, [history.ids[301]], { name: "thumb", value: true });
  assert.equal(await slices(), { records: 2400, slices: 1 });
  taken(await world.manage("DELETE", `/diagnoses/${history.ids[301]}`));
  assert.equal(await slices(), { records: 2399, slices: 2 });
  assert.equal(await slices(), { records: 2399, slices: 1 });
  await world.close();
});

test("what would take more memory than it saves is read anew, once it is known", async () => {
  const history = await createHistory();
  const { world } = history, { admin, workspaceId, deployId } = world;
  for (let nth = 0; nth < 6; nth++) {
    await submitMany(history, 256);
    world.now += 2 * day;
  }
  const { database, countSlices } = countingSlices(world.database);
  const session = { ...admin, database, kept: createKeptTallies({ length: 2 * partLength, maxTallies: 3 }) };
  const ask = async (input: { interval?: "day" } = {}) => {
    const stats = await call(readWorkspaceStats, session, { workspaceId, ...input });
    const slices = countSlices();
    assert.equal(rounded(stats), rounded(await call(readWorkspaceStats, admin, { workspaceId, ...input })));
    return slices;
  };
  // Each part has two or three days of two deployments. A pass over all of them finds that out, then each is scanned.
  assert.equal([await ask(), await ask(), await ask({ interval: "day" })], [5, 4, 4]);
  // Each deployment is kept for itself.
  const askOne = async () => {
    await call(readStats, session, { deployId });
    return countSlices();
  };
  assert.equal([await askOne(), await askOne()], [2, 1]);
  await world.close();
});

test("of more than there is room for, as much is kept as there is room for", async () => {
  const history = await createHistory();
  const { world } = history, { admin, deployId } = world;
  for (let nth = 0; nth < 10; nth++) await submitMany(history, 256);
  const { database, countSlices } = countingSlices(world.database);
  const limits = { length: partLength, maxBytes: 50_000 };
  const session = { ...admin, database, kept: createKeptTallies(limits) };
  const ask = async () => {
    await call(readStats, session, { deployId });
    return countSlices();
  };
  const [first, ...others] = [await ask(), await ask(), await ask()];
  assert.ok(others.every((slices) => slices < first!), `${[first, ...others]}`);
  await world.close();
});

test("a version that is published while statistics are made gets its costs the next time", async () => {
  const history = await createHistory();
  const { world } = history, { admin, deployId } = world;
  taken(await world.manage("POST", "/prices", { model: "new-model", input: "3", output: "7" }));
  await submitMany(history, 300);
  let isPublished = false;
  const database: Database = {
    ...world.database,
    async read(statement) {
      const rows = await world.database.read(statement);
      if (isPublished || !statement.sql.includes("from prompt_versions")) return rows;
      isPublished = true;
      await publish(history, "new-model");
      await submitMany(history, 300);
      return rows;
    },
  };
  const session = { ...admin, database, kept: createKeptTallies({ length: partLength }) };
  await call(readStats, session, { deployId });
  assert.ok(isPublished);
  assert.equal(
    rounded(await call(readStats, session, { deployId })),
    rounded(await call(readStats, admin, { deployId })),
  );
  await world.close();
});

test("after a database is restored, the records that have the positions of lost ones are counted", async () => {
  const history = await createHistory();
  const { world } = history, { admin, deployId } = world;
  await submitMany(history, 300);
  const [row] = await world.database.read({ sql: "select max(next_position) as position from commits" });
  const session = { ...admin, kept: createKeptTallies({ length: partLength }) };
  for (let nth = 0; nth < 2; nth++) await submitMany(history, 350);
  await call(readStats, session, { deployId });
  await world.database.write([
    ...["diagnoses", "calls", "commits"].map((table) => ({
      sql: `delete from ${table} where position >= ?`,
      args: [Number(row!.position)],
    })),
    { sql: "delete from changed_blocks" },
  ]);
  world.now += hour;
  for (let nth = 0; nth < 7; nth++) await submitMany(history, 100);
  assert.equal(
    rounded(await call(readStats, session, { deployId })),
    rounded(await call(readStats, admin, { deployId })),
  );
  await world.close();
});

test("a service keeps them for its API and its console together", async () => {
  const { database, countSlices } = countingSlices(await openMemory());
  const { world, visitor } = await createVisit({ database });
  const { admin, deployId } = world;
  await fillHistory(admin, world, { count: 17_000, days: 1 });
  const stats = `/deployments/${deployId}/stats`;
  taken(await world.manage("GET", stats));
  assert.is(countSlices(), 5);
  taken(await world.manage("GET", stats));
  assert.is(countSlices(), 1);
  await visitor.see(`${stats}?last=all`);
  assert.is(countSlices(), 1);
  await world.close();
});

test.run();
