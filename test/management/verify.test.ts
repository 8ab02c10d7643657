// A log that was tampered with does not balance. One log has every kind of row, and each test makes one change to it.
// Runs on Node alone.
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Row, Statement } from "../../src/database/database.ts";
import { createTenant, createWorld, goodBody } from "../helpers.ts";
import { taken } from "./management.ts";

const test = suite("verify");

const day = 86_400_000;
const world = await createWorld();
const other = await createTenant(world.admin);
const { database } = world;
const twin = taken<{ id: string }>(
  await world.manage("POST", `/workspaces/${world.workspaceId}/deployments`, { name: "x", promptId: world.promptId }),
  201,
);

// In November the first calls are pruned. A record of these and one of the rest are deleted. December has three records.
await world.read();
await Promise.all([world.submit(), world.submit()]);
await world.submit(goodBody, other.deployId, other.key);
world.now += 3 * day;
const marked = taken<{ id: string }>(await world.submit(), 201).id;
await world.read();
await world.submit();
taken(await world.manage("DELETE", `/diagnoses/${marked}`));
world.now += 25 * day;
await Promise.all([world.submit(), world.read(), world.submit({ ...goodBody, sessionId: "b" })]);
await world.submit(goodBody, other.deployId, other.key);
await world.submit();
taken(await world.manage("POST", "/prune", { olderThanMs: 26 * day }));

const verify = async (query = "") =>
  taken<{ balanced: boolean }>(await world.manage("GET", `/verify${query}`)).balanced;

const tables = ["quota_usage", "commits", "calls", "diagnoses", "deleted_diagnoses", "pruned_calls"];
/** The rows of a table without `statistics`, which is computed from the other columns. */
const rowsOf = async (table: string): Promise<Row[]> =>
  (await database.read({ sql: `select * from ${table} order by 1` })).map(({ statistics: _, ...row }) => row);
const kept = new Map<string, Row[]>();
for (const table of tables) kept.set(table, await rowsOf(table));

/** Restores every table. */
async function restore(): Promise<void> {
  const statements = tables.flatMap((table): Statement[] => [
    { sql: `delete from ${table}` },
    ...kept.get(table)!.map((row) => ({
      sql: `insert into ${table} (${Object.keys(row).join()}) values (${Object.keys(row).map(() => "?").join()})`,
      args: Object.values(row) as (string | number | null)[],
    })),
  ]);
  await database.write(statements);
}

const at = ({ position }: Row) => `where position = ${position}`;
const each = (table: string, tamper: (row: Row) => string | string[]): string[][] =>
  kept.get(table)!.map((row) => [tamper(row)].flat());

const ofMonth = ({ workspace_id, month }: Row) => `where workspace_id = '${workspace_id}' and month = '${month}'`;
const mark = (row: Row, position: unknown) =>
  `insert into deleted_diagnoses values (${position}, '${row.deployment_id}', ${row.prompt_version}, 1)`;
const live = kept.get("diagnoses")!;
const own = live.filter(({ deployment_id }) => deployment_id === world.deployId);

const tamperings: [name: string, changes: string[][]][] = [
  ["a call was taken away", each("calls", (row) => `delete from calls ${at(row)}`)],
  [
    "a call was moved to another position",
    each("calls", (row) => `update calls set position = position + 100 ${at(row)}`),
  ],
  ["a call was counted otherwise", each("calls", (row) => `update calls set count = count + 1 ${at(row)}`)],
  ["a call was given another number", each("calls", (row) => `update calls set number = number + 1 ${at(row)}`)],
  [
    "a read was made a submit, or a submit a read",
    each("calls", (row) => `update calls set operation = iif(operation = 'read', 'submit', 'read') ${at(row)}`),
  ],
  [
    "a call was given to a key that is not there",
    each("calls", (row) => `update calls set api_key_id = 'x' ${at(row)}`),
  ],
  [
    "a call was given to another workspace",
    each(
      "calls",
      (row) =>
        `update calls set workspace_id = iif(workspace_id = '${other.workspaceId}', '${world.workspaceId}', '${other.workspaceId}') ${
          at(row)
        }`,
    ),
  ],
  [
    "a call was given to another deployment",
    each("calls", (row) => `update calls set deployment_id = 'dep_x' ${at(row)}`),
  ],
  [
    "a submit was given to another deployment and version",
    own.map((
      row,
    ) => [
      `update calls set deployment_id = '${twin.id}', prompt_version = 2 where position <= ${row.position} and position + count > ${row.position}`,
    ]),
  ],
  ["a commit was taken away", each("commits", (row) => `delete from commits ${at(row)}`)],
  [
    "a commit's time was moved to another month",
    each("commits", (row) => `update commits set created_at = created_at + ${40 * day} ${at(row)}`),
  ],
  [
    "a commit's end was moved into the next one",
    kept.get("commits")!.slice(0, -1).map((row) => [`update commits set next_position = next_position + 1 ${at(row)}`]),
  ],
  ["a commit's month was changed", each("commits", (row) => `update commits set month = '2026-01' ${at(row)}`)],
  [
    "a commit's time and month were changed",
    each("commits", (row) => `update commits set created_at = created_at - ${60 * day}, month = '2026-10' ${at(row)}`),
  ],
  ["a record was deleted without a mark", each("diagnoses", (row) => `delete from diagnoses ${at(row)}`)],
  ["a mark was added beside a record", each("diagnoses", (row) => mark(row, row.position))],
  ["a mark was taken away", each("deleted_diagnoses", (row) => `delete from deleted_diagnoses ${at(row)}`)],
  [
    "a mark was added where nothing was recorded",
    each("calls", (row) => row.operation === "read" ? mark(own[0]!, row.position) : mark(own[0]!, 999)),
  ],
  [
    "a mark beside another record stands for one that is lost",
    own.map((row, index) => [`delete from diagnoses ${at(row)}`, mark(row, own[(index + 1) % own.length]!.position)]),
  ],
  [
    "a mark was moved to where a record is",
    own.map((row) => [`update deleted_diagnoses set position = ${row.position}`]),
  ],
  [
    "a record was moved to another position",
    each("diagnoses", (row) => `update diagnoses set position = position + 100 ${at(row)}`),
  ],
  [
    "a record was moved to where a read is",
    own.map((
      row,
    ) => [`update diagnoses set position = (select max(position) from calls where operation = 'read') ${at(row)}`]),
  ],
  [
    "a record was given to another deployment",
    [twin.id, other.deployId, "dep_x"].flatMap((id) =>
      own.map((row) => [`update diagnoses set deployment_id = '${id}' ${at(row)}`])
    ),
  ],
  [
    "a record was given to another version",
    each("diagnoses", (row) => `update diagnoses set prompt_version = 2 ${at(row)}`),
  ],
  [
    "a mark was given to another deployment",
    each("deleted_diagnoses", (row) => `update deleted_diagnoses set deployment_id = '${twin.id}' ${at(row)}`),
  ],
  ["more was counted", each("quota_usage", (row) => `update quota_usage set reads = reads + 1 ${ofMonth(row)}`)],
  ["less was counted", each("quota_usage", (row) => `update quota_usage set submits = submits - 1 ${ofMonth(row)}`)],
  [
    "reads were counted as submits",
    each("quota_usage", (row) => `update quota_usage set reads = submits, submits = reads ${ofMonth(row)}`),
  ],
  ["nothing was counted", each("quota_usage", (row) => `delete from quota_usage ${ofMonth(row)}`)],
  [
    "it was counted in another month",
    each("quota_usage", (row) => `update quota_usage set month = '2026-01' ${ofMonth(row)}`),
  ],
  ["a month was counted that was not", [[`insert into quota_usage values ('${world.workspaceId}', '2026-01', 1, 0)`]]],
  ["more was pruned", each("pruned_calls", (row) => `update pruned_calls set reads = reads + 1 ${ofMonth(row)}`)],
  ["less was pruned", each("pruned_calls", (row) => `update pruned_calls set submits = submits - 1 ${ofMonth(row)}`)],
  [
    "reads were pruned as submits",
    each("pruned_calls", (row) => `update pruned_calls set reads = submits, submits = reads ${ofMonth(row)}`),
  ],
  ["nothing was pruned", each("pruned_calls", (row) => `delete from pruned_calls ${ofMonth(row)}`)],
  ["a month was pruned that was not", [[
    `insert into pruned_calls values ('${world.workspaceId}', '2026-12', 'k', 'd', 0, 1)`,
  ]]],
  [
    "what was counted makes up for what was pruned",
    [[
      `update quota_usage set reads = reads + 1 where workspace_id = '${world.workspaceId}' and month = '2026-11'`,
      `update pruned_calls set reads = reads + 1 where workspace_id = '${world.workspaceId}'`,
    ]],
  ],
  [
    "the last call was taken away with its record",
    [[
      "delete from diagnoses where position = (select max(position) from diagnoses)",
      "delete from calls where position = (select max(position) from calls)",
    ]],
  ],
];

test("a log with records, deletions and pruned months balances", async () => {
  assert.ok(await verify());
  for (const table of tables) assert.ok(kept.get(table)!.length > 0, table);
  await restore();
  assert.ok(await verify());
});

for (const [name, changes] of tamperings) {
  test(`finds that ${name}`, async () => {
    assert.ok(changes.length > 0);
    for (const [nth, statements] of changes.entries()) {
      if (!isFull && nth % 3 > 0) continue;
      await database.write(statements.map((sql) => ({ sql })));
      const all = await verify();
      const each = [
        await verify(`?workspaceId=${world.workspaceId}`),
        await verify(`?workspaceId=${other.workspaceId}`),
      ];
      await restore();
      assert.not(all, statements.join("; "));
      assert.ok(each.includes(false), statements.join("; "));
    }
    assert.ok(await verify());
  });
}

test.run();
