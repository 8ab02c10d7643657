// Records: filters and deletion.
// Runs on Node alone.
import fc from "fast-check";
import { isFull, seed, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { fold } from "../../src/support/fold.ts";
import { findPositions } from "../../src/log/diagnoses.ts";
import { noCosting } from "../../src/log/scan.ts";
import { verifyBalanced } from "../balanced.ts";
import { createTenant, createWorld, goodBody, noon } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { readCsv } from "./csv.ts";
import { batches, fillLog, moveCommits, sessions, texts } from "./filled-log.ts";
import type { FilledLog } from "./filled-log.ts";
import { dump, readAll, readPages, refused, taken, toQuery } from "./management.ts";

const test = suite("records");

type Shown = {
  id: string;
  sessionId: string;
  status: number;
  content: { input?: string; output?: string };
  promptVersion: number;
  createdAt: number;
};

const pathOf = ({ deployId }: { deployId: string }) => `/deployments/${deployId}/diagnoses`;

/** Submits a record and returns its id. */
const record = async (world: World, body: unknown = goodBody): Promise<string> =>
  taken<{ id: string }>(await world.submit(body), 201).id;

type Filter = Partial<
  Record<"sessionId" | "text", string> & Record<"status" | "promptVersion" | "from" | "to", number>
>;

/** Whether a record fits a filter, computed as simply as possible. */
const fits = (filter: Filter) => ({ sessionId, status, promptVersion, createdAt, content }: Shown): boolean =>
  (filter.sessionId === undefined || sessionId === filter.sessionId) &&
  (filter.status === undefined || status === filter.status) &&
  (filter.promptVersion === undefined || promptVersion === filter.promptVersion) &&
  (filter.from === undefined || createdAt >= filter.from) &&
  (filter.to === undefined || createdAt < filter.to) &&
  (filter.text === undefined ||
    [content.input ?? "", content.output ?? ""].some((text) => fold(text).includes(fold(filter.text!))));

const moment = ({ entries }: FilledLog) => {
  const times = entries.map(({ createdAt }) => createdAt);
  return fc.tuple(fc.constantFrom(...times), fc.constantFrom(-1, 0, 1)).map(([time, shift]) => time + shift);
};

const sought = fc.constantFrom(
  ...texts.filter((text) => text !== ""),
  "hello",
  "O W",
  "%",
  "_",
  "\0",
  '"',
  "\\",
  "ss",
  "ä",
  "\n",
);

const filterOf = (log: FilledLog): fc.Arbitrary<Filter> =>
  fc.record({
    sessionId: fc.constantFrom(...sessions, "c", "N"),
    status: fc.constantFrom(0, 1, -1, Number.MAX_SAFE_INTEGER, 2),
    promptVersion: fc.constantFrom(1, 2, 3),
    from: moment(log),
    to: moment(log),
    text: sought,
  }, { requiredKeys: [] });

/** All listed records of a deployment, after checking that they are the submitted ones. */
async function listed({ world, entries }: FilledLog, deployId: string): Promise<Shown[]> {
  const all = await readAll<Shown>(world, `${pathOf({ deployId })}?limit=1000`);
  const submitted = entries.filter((entry) => entry.deployId === deployId && entry.record !== undefined);
  const wanted = submitted.map(({ record, promptVersion, createdAt }) => {
    const { id, sessionId, status, input, output } = record!;
    return { id, sessionId, status, content: JSON.parse(JSON.stringify({ input, output })), promptVersion, createdAt };
  });
  const byId = <T extends { id: string }>(records: T[]) => Array.from(records).sort((a, b) => a.id < b.id ? -1 : 1);
  const shown = all.map(({ id, sessionId, status, content, promptVersion, createdAt }) => //
  ({ id, sessionId, status, content, promptVersion, createdAt }));
  assert.equal(byId(shown), byId(wanted));
  const batchOf = new Map(submitted.map(({ record, batch }) => [record!.id, batch]));
  const order = all.map(({ id }) => batchOf.get(id)!);
  assert.equal(order, Array.from(order).sort((a, b) => b - a));
  return all;
}

test("every filter, alone and with others, gives the same as checking each record, in pages of any size", async () => {
  await fc.assert(
    fc.asyncProperty(batches, fc.infiniteStream(fc.nat()), async (batches, seeds) => {
      const log = await fillLog(batches);
      for (const isSpread of [false, true]) {
        // If records are spread over a million positions, a search for a page may end early.
        if (isSpread) await moveCommits(log.world, (position, index) => position + 140_001 * index);
        for (const deployId of log.deployIds) {
          const all = await listed(log, deployId);
          for (const [index, filter] of fc.sample(filterOf(log), { seed: seeds.next().value!, numRuns: 5 }).entries()) {
            const limit = [1, 2, 3, 7, 1000][index]!;
            const pages = await readPages<Shown>(log.world, pathOf({ deployId }) + toQuery({ ...filter, limit }));
            assert.equal(pages.flat(), all.filter(fits(filter)), JSON.stringify(filter));
            assert.ok(pages.every(({ length }) => length <= limit));
          }
        }
      }
    }),
    { numRuns: isFull ? 8 : 3 },
  );
});

test("a page whose search ends early is short or empty, and the next one continues from there", async () => {
  const { world } = await fillLog(fc.sample(batches, { numRuns: 1 })[0]!);
  for (let times = 0; times < 40; times++) await record(world, { ...goodBody, sessionId: `${times % 5}` });
  const { database, deployId } = world;
  const matching = { filter: { deployIds: [deployId], sessionIds: ["3"] }, costing: noCosting };
  const { positions: wanted } = await findPositions(database, matching, { limit: 1000 });
  assert.is(wanted.length, (await readAll<Shown>(world, `${pathOf(world)}?sessionId=3`)).length);
  const size = (max: number) => fc.integer({ min: 1, max });
  const limits = fc.record({ first: size(3), query: size(9), least: size(40) });
  await fc.assert(
    fc.asyncProperty(
      limits,
      size(5),
      fc.constantFrom("newest", "oldest"),
      size(4),
      async (limits, limit, order, slices) => {
        const found: number[] = [];
        let cursor: string | undefined;
        do {
          let left = slices;
          const request = { limit, cursor, order, isOver: () => left-- === 0 };
          const page = await findPositions(database, matching, request, undefined, limits);
          assert.ok(page.positions.length <= limit);
          // A page that is not full ends when its time is over, or with the log.
          assert.ok(page.positions.length === limit || left < 0 || page.nextCursor === null);
          const isFurther = (next: number) => order === "newest" ? next < Number(cursor) : next > Number(cursor);
          assert.ok(page.nextCursor === null || cursor === undefined || isFurther(Number(page.nextCursor)));
          found.push(...page.positions);
          cursor = page.nextCursor ?? undefined;
        } while (cursor !== undefined);
        assert.equal(found, order === "newest" ? wanted : wanted.toReversed());
      },
    ),
    { numRuns: 40 },
  );
});

test("a time range may end after the last possible time, and begin there too", async () => {
  const world = await createWorld();
  await record(world);
  for (const far of [2 ** 50 - 1, 2 ** 50, 2 ** 50 + noon, Number.MAX_SAFE_INTEGER]) {
    assert.is((await readAll(world, pathOf(world) + toQuery({ to: far }))).length, 1);
    assert.is((await readAll(world, pathOf(world) + toQuery({ from: far }))).length, 0);
  }
});

const wrongFilters: [query: string, error: string][] = [
  ["text=", "Field text must be a non-empty string"],
  [`text=${"%F0%9F%91%8B".repeat(201)}`, "Field text must be at most 200 characters"],
  ["status=1.5", "The workspace has no status named 1.5. Its names: failed, ok"],
  ["status=", "Field status must be a list of statuses and names of statuses, separated by commas"],
  ["promptVersion=0", "Field promptVersion must be an integer from 1 to 9007199254740991"],
  ["from=-1", "Field from must be an integer of Unix milliseconds from 0 to 9007199254740991"],
  ["to=2026-11-15", "Field to must be an integer of Unix milliseconds from 0 to 9007199254740991"],
];

for (const [query, error] of wrongFilters) {
  test(`a filter cannot be ${query.slice(0, 60)}`, async () => {
    const world = await createWorld();
    refused(await world.manage("GET", `${pathOf(world)}?${query}`), 400, error);
    refused(await world.manage("GET", `${pathOf(world)}/export?${query}`), 400, error);
  });
}

test("a text is found beside and in records of the deepest nesting", async () => {
  const world = await createWorld({ maxBodyBytes: 1e6 });
  const deep = `${'{"a":['.repeat(499)}${"]}".repeat(499)}`;
  for (const output of ["needle 1", "hay", "NEEDLE 2"]) {
    await record(world, { ...goodBody, content: { output } });
    await record(
      world,
      `{"sessionId":"deep","status":1,"additional_properties":${deep},"content":{"input":"${output}"}}`,
    );
    await record(world, `{"sessionId":"deep","status":1,"content":{"output":"${output}","other":${deep}}}`);
  }
  const find = async (query: string) =>
    (await readAll<Shown>(world, `${pathOf(world)}?${query}`)).map(({ content }) => content.input ?? content.output);
  const needles = ["NEEDLE 2", "NEEDLE 2", "NEEDLE 2", "needle 1", "needle 1", "needle 1"];
  assert.equal(await find("text=needle"), needles);
  assert.equal(await find("text=Needle&limit=1"), needles);
  assert.equal(await find("text=needle&sessionId=deep"), needles.filter((_, index) => index % 3 > 0));
  assert.equal(await find("text=a%22%3A"), []);
});

test("if a member of the content appears twice, the last one wins, in a search and in an export", async () => {
  const world = await createWorld();
  const id = await record(
    world,
    String
      .raw`{"sessionId":"s","status":1,"content":{"input":"first","input":"last","outp\u0075t":"old","output":"new"}}`,
  );
  const find = async (text: string) =>
    (await readAll<{ id: string }>(world, `${pathOf(world)}?text=${text}`)).map(({ id }) => id);
  for (const [text, found] of [["first", []], ["last", [id]], ["old", []], ["new", [id]]] as const) {
    assert.equal(await find(text), found, text);
  }
  const [, cells] = readCsv((await world.manage("GET", `${pathOf(world)}/export?format=csv`)).text);
  assert.equal(cells!.slice(5, 7), ["last", "new"]);
});

test("a text is found after a NUL, and in a member whose name is written with an escape", async () => {
  const world = await createWorld();
  await record(world, String.raw`{"sessionId":"s","status":1,"content":{"inp\u0075t":"a\u0000needle"}}`);
  for (const text of ["needle", "a%00n"]) {
    assert.is((await readAll(world, `${pathOf(world)}?text=${text}`)).length, 1, text);
  }
});

test("a text is found only in the input and the output", async () => {
  const world = await createWorld();
  const content = { input: "a", output: "b", other: "needle" };
  await record(world, {
    ...goodBody,
    sessionId: "needle",
    content,
    needle: "needle",
    additional_properties: { input: "needle" },
  });
  assert.equal(await readAll(world, `${pathOf(world)}?text=needle`), []);
});

test("a page has at most some megabytes, and the list continues", async () => {
  const world = await createWorld({ maxBodyBytes: 2 ** 20 });
  const input = "x".repeat(1_000_000);
  const ids: string[] = [];
  for (let times = 0; times < 14; times++) ids.unshift(await record(world, { ...goodBody, content: { input } }));
  const pages = await readPages<Shown>(world, `${pathOf(world)}?limit=1000`);
  assert.equal(pages.flat().map(({ id }) => id), ids);
  assert.ok(pages.every(({ length }) => length < 10));
});

test("a record is shown by its id, with every member as it was submitted", async () => {
  const world = await createWorld();
  const body =
    '{"sessionId":"s","extra":1e400,"status":2,"content":{"output":"b","more":[1.0]},"latency":1.50,"endAt":5,' +
    '"id":"theirs","createdAt":1.0,"__proto__":{"a":1},"additional_properties":{"b":12345678901234567890,"a":-0}}';
  const id = await record(world, body);
  const { text } = await world.manage("GET", `/diagnoses/${id}`);
  assert.is(
    text,
    `{"id":"${id}","sessionId":"s","status":2,"content":{"output":"b","more":[1.0]},"latency":1.5,"startAt":null,` +
      '"endAt":5,"additional_properties":{"b":12345678901234567890,"a":-0},"extra":1e400,"__proto__":{"a":1},' +
      `"submitted":{"id":"theirs","createdAt":1.0},"promptVersion":1,"createdAt":${noon},` +
      `"deployId":"${world.deployId}","reference":"greeting@production","keyId":"${world.keyId}","statusName":null}`,
  );
  assert.is((await world.manage("GET", pathOf(world))).text, `{"items":[${text}],"nextCursor":null}`);
});

test("an id that is no record is a 404, also that of a read, of a slot after its commit, and in another case", async () => {
  const world = await createWorld();
  const id = await record(world);
  await world.read();
  const calls = await readAll<{ id: string }>(world, `/workspaces/${world.workspaceId}/calls`);
  const others = [
    calls[0]!.id.replace("call_", "diag_"),
    id.replace("diag_", "call_"),
    `${id.slice(0, -2)}01`,
    `${id.slice(0, -2)}ff`,
    id.toUpperCase(),
    `${id}0`,
    "diag_",
    world.deployId,
  ];
  for (const other of others) {
    refused(await world.manage("GET", `/diagnoses/${other}`), 404, `Record ${other} not found`);
    refused(await world.manage("DELETE", `/diagnoses/${other}`), 404, `Record ${other} not found`);
  }
  taken(await world.manage("GET", `/diagnoses/${id}`));
});

test("a deleted record is gone everywhere, its id gets 410, and the ledger balances", async () => {
  const world = await createWorld();
  const ids: string[] = [];
  for (const input of ["first", "SECRET", "third"]) ids.push(await record(world, { ...goodBody, content: { input } }));
  assert.equal(taken(await world.manage("DELETE", `/diagnoses/${ids[1]}`)), { deleted: 1 });
  assert.equal(taken(await world.manage("DELETE", `/diagnoses/${ids[1]}`)), { deleted: 0 });
  refused(await world.manage("GET", `/diagnoses/${ids[1]}`), 410, `Record ${ids[1]} was deleted`);
  assert.equal((await readAll<Shown>(world, pathOf(world))).map(({ id }) => id), [ids[2], ids[0]]);
  assert.equal(await readAll(world, `${pathOf(world)}?text=secret`), []);
  assert.not.ok((await world.manage("GET", `${pathOf(world)}/export`)).text.includes("SECRET"));
  assert.not.ok((await dump(world)).includes("SECRET"));
  const { workspaceId } = world;
  const balance = { used: 3, calls: 3, reads: 0, records: 3, deleted: 1, pruned: 0, balanced: true };
  assert.equal(await verifyBalanced(world.admin), [{ workspaceId, month: "2026-11", ...balance }]);
});

test("concurrent deletions of one record delete it once", async () => {
  const world = await createWorld();
  const id = await record(world);
  const answers = await Promise.all([1, 2, 3].map(() => world.manage("DELETE", `/diagnoses/${id}`)));
  assert.equal(answers.map((answer) => taken(answer).deleted).sort(), [0, 0, 1]);
});

test("deleting a session deletes all of its records in one deployment, and nothing else", async () => {
  const world = await createWorld({ monthlyLimit: 1e6 });
  const other = await createTenant(world.admin);
  await world.submit({ ...goodBody, sessionId: "s%" }, other.deployId, other.key);
  await Promise.all(
    Array.from({ length: 450 }, (_, nth) => record(world, { ...goodBody, sessionId: nth % 9 === 0 ? "s_" : "s%" })),
  );
  const remove = (query: string) => world.manage("DELETE", pathOf(world) + query);
  assert.equal(taken(await remove(toQuery({ sessionId: "s" }))), { deleted: 0 });
  assert.equal(taken(await remove(toQuery({ sessionId: "" }))), { deleted: 0 });
  assert.equal(taken(await remove(toQuery({ sessionId: "s%" }))), { deleted: 400 });
  assert.equal(taken(await remove(toQuery({ sessionId: "s%" }))), { deleted: 0 });
  const left = await readAll<Shown>(world, `${pathOf(world)}?limit=1000`);
  assert.equal([left.length, new Set(left.map(({ sessionId }) => sessionId)).size], [50, 1]);
  assert.is((await readAll(world, pathOf(other))).length, 1);
  await verifyBalanced(world.admin);
});

test("records cannot be deleted without an id or a session", async () => {
  const world = await createWorld();
  await record(world);
  refused(await world.manage("DELETE", pathOf(world)), 400, "Missing required field sessionId");
  refused(
    await world.manage("DELETE", pathOf(world), { sessionId: "session-1" }),
    400,
    "Missing required field sessionId",
  );
  const status = await world.manage("DELETE", `${pathOf(world)}?sessionId=session-1&status=1`);
  refused(status, 400, "Unknown field status. Allowed: deployId, workspaceId, sessionId");
  assert.is((await readAll(world, pathOf(world))).length, 1);
});

test("an export has the filters of a list", async () => {
  const log = await fillLog(fc.sample(batches, { seed: seed + 1, numRuns: 1 })[0]!);
  const deployId = log.deployIds[0]!;
  const all = await listed(log, deployId);
  for (const filter of fc.sample(filterOf(log), { numRuns: 12 })) {
    const { text } = await log.world.manage("GET", `${pathOf({ deployId })}/export${toQuery(filter)}`);
    assert.equal(text.split("\n").slice(0, -1).map((line) => JSON.parse(line)), all.filter(fits(filter)));
  }
  refused(
    await log.world.manage("GET", `${pathOf({ deployId })}/export?format=xml`),
    400,
    "Field format must be one of ndjson, csv, promptfoo",
  );
  const limit = await log.world.manage("GET", `${pathOf({ deployId })}/export?limit=1`);
  assert.is(limit.status, 400);
});

test.run();
