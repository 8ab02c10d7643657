// Feedback that was changed in the database by hand is found, with its place. One log has every kind of feedback, and each test
// makes one change to it.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Row, Statement } from "../../src/database/database.ts";
import { sha256 } from "../../src/common/ids.ts";
import { verifyFeedback } from "../../src/feedback/verify-feedback.ts";
import type { FeedbackCheck } from "../../src/schema/feedback.ts";
import { bearer, createTenant, createWorld, goodBody } from "../helpers.ts";
import { taken } from "./management.ts";

const test = suite("verify feedback");

const world = await createWorld({ maxBodyBytes: 200_000, monthlyLimit: 1000 });
const other = await createTenant(world.admin, 1000, "Other");
const { database } = world;

const record = async (tenant = { deployId: world.deployId, key: world.key }) =>
  taken<{ id: string }>(await world.submit(goodBody, tenant.deployId, tenant.key), 201).id;
const give = async (feedback: object[], key = world.key) => {
  const body = JSON.stringify({ feedback });
  const answer = await world.send("/v1/feedback", { method: "POST", headers: bearer(key), body });
  const { results } = taken<{ results: { status: number }[] }>(answer);
  assert.equal(results.filter(({ status }) => status !== 200), []);
};

// The first record has all kinds and a history, the second one a withdrawn piece alone, the third as much as may be, and the
// fourth more changes than are kept. The last is of another workspace.
const [first, withdrawn, full, changed] = [await record(), await record(), await record(), await record()];
const theirs = await record(other);
await world.read();
const { items: [read] } = taken<{ items: { id: string }[] }>(
  await world.manage("GET", `/workspaces/${world.workspaceId}/calls?limit=1`),
);
const ofRead = read!.id.replace("call_", "diag_");
await give([
  ...[true, false, true].map((value) => ({ record: first, name: "thumb", value })),
  { record: first, name: "score", value: 0.5, author: "judge" },
  { record: first, name: "tone", value: "kind" },
  { record: withdrawn, name: "thumb", value: true },
  { record: withdrawn, name: "thumb", value: null },
  ...Array.from({ length: 50 }, (_, nth) => ({ record: full, name: `n${nth}`, value: nth })),
  ...Array.from({ length: 19 }, (_, nth) => ({ record: full, name: "n0", value: nth, author: `a${nth}` })),
  ...Array.from({ length: 150 }, (_, nth) => ({ record: changed, name: "thumb", value: nth % 2 === 0 })),
  { record: "early", name: "thumb", value: true },
]);
await give([{ record: changed, name: "thumb", value: null }]);
await give([{ record: theirs, name: "thumb", value: 3 }], other.key);

const verify = async (query = "") =>
  taken<{ feedback: FeedbackCheck }>(await world.manage("GET", `/verify${query}`)).feedback;

// Triggers keep the counts of the others.
const counts = ["feedback_counts", "feedback_histories", "feedback_words"];
const tables = ["feedback", "earlier_feedback", "feedback_names", "waiting_feedback", "diagnoses", "idempotency_keys"];
const rowsOf = async (table: string): Promise<Row[]> =>
  (await database.read({ sql: `select * from ${table}` })).map(({ statistics: _, places: __, ...row }) => row);
const kept = new Map<string, Row[]>();
for (const table of tables) kept.set(table, await rowsOf(table));

async function restore(): Promise<void> {
  const statements = [...counts, ...[...tables].reverse()].map((table): Statement => ({ sql: `delete from ${table}` }));
  for (const table of tables) {
    statements.push(...kept.get(table)!.map((row) => ({
      sql: `insert into ${table} (${Object.keys(row).join()}) values (${Object.keys(row).map(() => "?").join()})`,
      args: Object.values(row) as (string | number | null)[],
    })));
  }
  // The triggers have counted from what the test had changed.
  statements.push(
    { sql: "delete from waiting_counts" },
    { sql: "insert into waiting_counts select workspace_id, sum(places) from waiting_feedback group by workspace_id" },
  );
  await database.write(statements);
}

const own = { pieces: 72, earlier: 102, waiting: 1 };
const good = { faults: 0, rows: [] };

test("feedback is counted, and nothing is wrong with it", async () => {
  assert.equal(await verify(), { ...own, pieces: 73, ...good });
  assert.equal(await verify(`?workspaceId=${world.workspaceId}`), { ...own, ...good });
  assert.equal(await verify(`?workspaceId=${other.workspaceId}`), { pieces: 1, earlier: 0, waiting: 0, ...good });
  await restore();
  assert.equal(await verify(), { ...own, pieces: 73, ...good });
});

test("slices of any size find the same", async () => {
  await database.write([{ sql: "update feedback set value = 'x' where name in ('thumb', 'n7')" }]);
  const all = await verifyFeedback(database, undefined, () => {});
  assert.is(all.faults, 3);
  const sorted = ({ rows, ...counts }: FeedbackCheck) => ({ ...counts, rows: rows.map((row) => row.place).sort() });
  for (const rows of [1, 2, 3, 70]) {
    assert.equal(sorted(await verifyFeedback(database, undefined, () => {}, rows)), sorted(all));
  }
  await restore();
});

const positionOf = (nth: number) => Number(kept.get("diagnoses")![nth]!.position);
const at = (nth: number) => `position = ${positionOf(nth)}`;
const keyHash = await sha256("early");
const piece = (position: string, more: string) =>
  `insert into feedback values (${position}, ${more}, '', 'user', 1, 1)`;
const fault = (what: string, place: string, name: string | null, author: string | null = "") => ({
  ...{ what, place, name, author },
});

const tamperings: [name: string, change: string, faults: object[]][] = [
  ["a piece is where no record is", piece("9000", "'thumb', '', 1"), [fault("no_record", "position 9000", "thumb")]],
  [
    "a piece is where a read is",
    piece("(select position from calls where operation = 'read')", "'thumb', '', 1"),
    [fault("no_record", ofRead, "thumb")],
  ],
  [
    "a piece was moved to another workspace",
    `update feedback set position = ${positionOf(4)} where ${at(0)} and name = 'score'`,
    [fault("unknown_name", theirs, "score", "judge")],
  ],
  [
    "a value is of another kind",
    `update feedback set value = 0.5 where ${at(0)} and name = 'thumb'`,
    [fault("other_kind", first, "thumb")],
  ],
  [
    "an earlier value is of another kind",
    `update earlier_feedback set value = 'x' where ${at(1)}`,
    [fault("other_kind", withdrawn, "thumb")],
  ],
  [
    "the kind of a name was changed",
    "update feedback_names set kind = 'boolean' where name = 'tone'",
    [fault("other_kind", first, "tone")],
  ],
  ["a name was taken away", "delete from feedback_names where name = 'tone'", [fault("unknown_name", first, "tone")]],
  [
    "a change was taken out of a history",
    `delete from earlier_feedback where ${at(0)} and change = 1`,
    [fault("history", first, "thumb")],
  ],
  [
    "the change before the current one was taken out",
    `delete from earlier_feedback where ${at(0)} and change = 2`,
    [fault("history", first, "thumb")],
  ],
  [
    "a change was taken out of a long history",
    `delete from earlier_feedback where ${at(3)} and change = 100`,
    [fault("history", changed, "thumb")],
  ],
  [
    "the history of a piece was taken away",
    `delete from earlier_feedback where ${at(0)}`,
    [fault("history", first, "thumb")],
  ],
  ["a record has too many names", piece(`${positionOf(2)}`, "'thumb', '', 1"), [
    fault("too_many_names", full, null, null),
  ]],
  [
    "a name has too many authors",
    piece(`${positionOf(2)}`, "'n0', 'b', 1"),
    [fault("too_many_authors", full, "n0", null)],
  ],
  [
    "statistics count a value twice",
    `update feedback_counts set pieces = 2 where ${at(0)} and value = 0.5`,
    [fault("other_count", first, null, null)],
  ],
  [
    "statistics count another value",
    `update feedback_counts set value = 0.25 where ${at(0)} and value = 0.5`,
    [fault("other_count", first, null, null)],
  ],
  [
    "statistics do not count a piece",
    `delete from feedback_counts where ${at(0)} and value = 0.5`,
    [fault("other_count", first, null, null)],
  ],
  [
    "statistics count a piece of no record",
    "insert into feedback_counts values (9000, 1, 1, 1)",
    [fault("other_count", "position 9000", null, null)],
  ],
  [
    "a label has another number",
    "update feedback_words set id = 9000 where word = 'kind'",
    [fault("other_count", first, null, null)],
  ],
  [
    "the changes of a record are counted wrong",
    `update feedback_histories set changes = 1 where ${at(0)}`,
    [fault("other_count", first, null, null)],
  ],
  [
    "feedback waits for a record that has arrived",
    `insert into idempotency_keys (workspace_id, key, fingerprint, record_id, created_at)
      values ('${world.workspaceId}', '${keyHash}', '', '${first}', 1);
      insert into waiting_feedback values ('${world.workspaceId}', '${keyHash}', 'thumb', '', null, 1, '', 'user', 1)`,
    [fault("arrived", keyHash, "thumb")],
  ],
  [
    "feedback that waits is of another kind",
    "update waiting_feedback set value = 2",
    [fault("other_kind", keyHash, "thumb")],
  ],
  [
    "feedback waits for no workspace",
    "update waiting_feedback set workspace_id = 'ws_x'; update waiting_counts set workspace_id = 'ws_x'",
    [fault("no_workspace", keyHash, "thumb")],
  ],
  [
    "more waits than is counted",
    "update waiting_counts set places = 7",
    [fault("other_count", world.workspaceId, null, null)],
  ],
  [
    "what waits is not counted",
    "delete from waiting_counts",
    [fault("other_count", world.workspaceId, null, null)],
  ],
  [
    "a name is of no workspace",
    "insert into feedback_names (workspace_id, name, kind, is_declared) values ('ws_x', 'thumb', 'label', 0)",
    [fault("no_workspace", "ws_x", "thumb", null)],
  ],
];

for (const [name, change, faults] of tamperings) {
  test(`finds that ${name}`, async () => {
    await database.write(change.split(";").map((sql) => ({ sql })));
    const { rows, faults: count } = await verify();
    await restore();
    assert.is(count, faults.length);
    assert.equal(rows, faults);
  });
}

test("a workspace is shown what is wrong with its own feedback", async () => {
  await database.write([
    { sql: "update feedback set value = 'x' where name = 'score'" },
    { sql: piece("9000", "'thumb', '', 1") },
  ]);
  const faults = await Promise.all(
    [world, other].map(async ({ workspaceId }) => (await verify(`?workspaceId=${workspaceId}`)).faults),
  );
  await restore();
  assert.equal(faults, [1, 0]);
});

test("a hundred faults are named, and all are counted", async () => {
  const numbers = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 150)";
  await database.write([{
    sql: `insert into feedback ${numbers} select 9000 + i, 'x', '', 1, '', 'user', 1, 1 from n`,
  }]);
  const { faults, rows } = await verify();
  await restore();
  assert.equal([faults, rows.length], [150, 100]);
});

test.run();
