// Tamperings with the audit log, with what guards it, and with the rows that it is about. Each is made in a copy of a database
// with a random history, and `verify` finds it, unless it is one of those that the documents say it cannot find.
// Runs on Node alone.
import process from "node:process";
import fc from "fast-check";
import { isFull, seed, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Row, Statement } from "../../src/database/database.ts";
import type { AuditEntry } from "../../src/management/events/audit.ts";
import type { Verification } from "../../src/management/verify/verify.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { migrate } from "../../src/migrate.ts";
import { createFolder, startSqld } from "../conformance/processes.ts";
import { findSqld } from "../conformance/sqld.ts";
import { createTenant, createWorld, managementOf } from "../helpers.ts";
import { openSnapshot, takeSnapshot } from "../snapshots.ts";
import { verify } from "../actions.ts";
import { createHistory, readEntries, replay } from "./histories.ts";
import { taken } from "./management.ts";

const test = suite("tampering");

const world = await createHistory(260, seed);
const { id: gone } = taken<{ id: string }>(await world.manage("POST", "/workspaces", { name: "Gone" }), 201);
taken(await world.manage("DELETE", `/workspaces/${gone}?confirm=Gone`));
// A random history may end without a price.
taken(await world.manage("POST", "/prices", { model: "o", input: "1", output: "2" }));
const snapshot = await takeSnapshot(world.database);
const entries = await readEntries(world);
const noChecks = ["pragma ignore_check_constraints = on", "pragma foreign_keys = off"];
const dropTriggers = ["drop trigger audit_log_no_delete", "drop trigger audit_log_no_update"];
const triggers = (await world.database.read({
  sql: "select sql from sqlite_master where type = 'trigger' and tbl_name = 'audit_log'",
}))
  .map(({ sql }) => String(sql));

const copy = await openSnapshot(snapshot);
// In a transaction, the second of these has no effect.
for (const sql of noChecks) await copy.read({ sql });

/** What `verify` says of a copy in which statements were run, which are undone then. */
async function verifyAfter(tampering: (string | Statement)[]): Promise<NonNullable<Verification["audit"]>> {
  // A copy for each takes as long as what it is verified with.
  await copy.read({ sql: "begin" });
  try {
    for (const statement of tampering) await copy.read(typeof statement === "string" ? { sql: statement } : statement);
    return (await verify(managementOf(copy))).audit!;
  } finally {
    await copy.read({ sql: "rollback" });
  }
}

const isClean = ({ isIntact, triggers, differences }: NonNullable<Verification["audit"]>) =>
  isIntact && triggers.length === 0 && differences === 0;

test("a history that nobody tampered with is clean", async () => {
  assert.equal(await verifyAfter([]), {
    ...{ entries: entries.length, isIntact: true, brokenAt: null, head: entries.at(-1)!.hash },
    ...{ triggers: [], differences: 0, rows: [] },
  });
  const kinds = new Set(entries.map(({ action }) => action));
  assert.ok(kinds.size > 20, [...kinds].join());
});

const asOlder = "update audit_log set hash = '', action = 'deployment.' || substr(action, instr(action, '.') + 1)";

for (
  const [what, tampering] of Object.entries({
    "all hashes are blank and all actions those of deployments, as if all entries were from before the log": [
      asOlder,
      "update audit_head set hash = ''",
    ],
    "as many entries are counted as older": [asOlder, "update audit_head set hash = '', older = position"],
    "the first entries are blank, and the others are hashed anew": [
      `${asOlder} where position <= 3`,
      "update audit_head set older = 3",
    ],
    "a note goes on behind a NUL": ["update audit_log set note = note || char(0) || 'Paid' where position = 2"],
  })
) {
  test(`verify finds that ${what}`, async () => {
    assert.is((await verifyAfter([...dropTriggers, ...tampering, ...triggers])).isIntact, false);
  });
}

test("verify names the row, its members and its last entry", async () => {
  const { database, deployId, workspaceId, keyId, manage } = await createWorld();
  taken(await manage("POST", `/deployments/${deployId}/deactivate`));
  for (
    const sql of [
      `update deployments set is_active = 1 where id = '${deployId}'`,
      `update workspaces set monthly_limit = 7, name = 'Eve' where id = '${workspaceId}'`,
      `update api_keys set revoked_at = 1 where id = '${keyId}'`,
      "insert into prices (id, provider, model, input, output, valid_from, created_at) values ('p', '*', 'm', '1', '1', 0, 0)",
    ]
  ) await database.write([{ sql }]);
  const { differences, rows, isIntact } = taken<Verification>(await manage("GET", "/verify")).audit!;
  assert.equal([differences, isIntact], [5, true]);
  assert.equal(rows, [
    { what: "changed", noun: "workspace", id: workspaceId, members: ["name", "monthlyLimit"], position: 1 },
    { what: "changed", noun: "key", id: keyId, members: ["revokedAt"], position: 2 },
    { what: "changed", noun: "key", id: keyId, members: ["secrets"], position: 2 },
    { what: "changed", noun: "deployment", id: deployId, members: ["isActive"], position: 5 },
    { what: "added", noun: "price", id: "p", members: [], position: null },
  ]);
});

test("verify finds a change by hand that a later change has made good, by what that one found", async () => {
  const { database, workspaceId, manage } = await createWorld();
  await database.write([{ sql: "update workspaces set monthly_limit = 7" }]);
  taken(await manage("PATCH", `/workspaces/${workspaceId}`, { monthlyLimit: 8 }));
  const { differences, rows } = taken<Verification>(await manage("GET", "/verify")).audit!;
  assert.equal([differences, rows], [1, [
    { what: "found", noun: "workspace", id: workspaceId, members: ["monthlyLimit"], position: 5 },
  ]]);
});

test("verify compares the names of feedback that were declared", async () => {
  const { database, workspaceId, manage, submit } = await createWorld();
  const { id } = taken<{ id: string }>(await submit(), 201);
  const declare = async (body: object) =>
    taken(await manage("POST", `/workspaces/${workspaceId}/feedback-names`, body));
  taken(await manage("POST", `/diagnoses/${id}/feedback`, { name: "used", value: 1 }));
  taken(await manage("POST", `/diagnoses/${id}/feedback`, { name: "later", value: 1 }));
  await declare({ name: "later", kind: "number" });
  await declare({ name: "correctness", kind: "number", minimum: 0.5, maximum: 1e15 });
  await declare({ name: "tone", kind: "label", labels: ["kind", "rude"], better: "lower" });
  await declare({ name: "thumb", kind: "boolean" });
  taken(await manage("DELETE", `/workspaces/${workspaceId}/feedback-names?name=thumb`));
  for (const [name, value] of Object.entries({ tone: "kind", correctness: 0.7 })) {
    taken(await manage("POST", `/diagnoses/${id}/feedback`, { name, value }));
  }
  const auditOf = async () => taken<Verification>(await manage("GET", "/verify")).audit!;
  assert.equal((await auditOf()).rows, []);
  for (
    const sql of [
      "update feedback_names set maximum = 7 where name = 'correctness'",
      "update feedback_names set better = 'higher' where name = 'later'",
      "delete from feedback_names where name = 'thumb'",
      "insert into feedback_names (workspace_id, name, kind, is_declared) values ('ws', 'length', 'number', 1)"
        .replaceAll("'ws'", `'${workspaceId}'`),
    ]
  ) await database.write([{ sql }]);
  const { differences, rows, isIntact } = await auditOf();
  const fault = (what: string, name: string, members: string[], position: number | null) => (
    { what, noun: "feedback_name", id: `${workspaceId}:${name}`, members, position }
  );
  assert.equal([differences, isIntact, rows], [4, true, [
    fault("changed", "later", ["better"], 5),
    fault("changed", "correctness", ["maximum"], 6),
    fault("removed", "thumb", [], 9),
    fault("added", "length", [], null),
  ]]);
});

/** Tables of rows that the log is about, with the columns that `verify` cannot check, as the documents say. */
const unchecked: Record<string, string[]> = {
  workspaces: [],
  api_keys: [],
  api_key_secrets: ["last_used_at"],
  prompts: [],
  prompt_versions: ["created_at"],
  deployments: [],
  management_tokens: ["last_used_at"],
  management_token_secrets: [],
  prices: ["created_at"],
  deleted_workspaces: ["reads", "submits", "months", "deleted_at", "finished_at"],
};

const tables = Object.keys(unchecked);
const rowsOf = new Map<string, Row[]>();
for (const table of ["audit_log", ...tables]) {
  rowsOf.set(
    table,
    await world.database.read({ sql: `select rowid, * from ${table}` }).catch(() =>
      world.database.read({ sql: `select * from ${table}` })
    ),
  );
}
const keys: Record<string, string[]> = {
  prompt_versions: ["prompt_id", "version"],
  api_key_secrets: ["hash"],
  management_token_secrets: ["hash"],
};

test("the history has rows of every table", () => {
  for (const [table, rows] of rowsOf) assert.ok(rows.length > 0, table);
});

const isKey = (column: string): boolean =>
  ["rowid", "id", "prompt_id", "version", "api_key_id", "token_id"].includes(column);

/** The condition that selects a row. */
const only = (table: string, row: Row): string =>
  (keys[table] ?? ["id"]).map((column) => `${column} = '${row[column]}'`).join(" and ");

const quoted = (value: unknown): string =>
  value === null ? "null" : typeof value === "number" ? String(value) : `'${String(value).replaceAll("'", "''")}'`;

/** Another value of the same kind. JSON stays JSON. */
function other(value: unknown, nth: number): unknown {
  if (value === null) return nth % 2 === 0 ? 1_794_744_000_000 + nth : nth;
  if (typeof value === "number") return value === 0 ? 1 : value === 1 ? 0 : value + 1 + nth;
  const text = String(value);
  if (/^\[/.test(text)) return '[{"role":"user","content":"Other"}]';
  if (/^\{/.test(text)) return '{"model":"other"}';
  return /^\d/.test(text) && text.length === 64 ? `${"0".repeat(60)}${1000 + nth}` : `${text}x`;
}

type Tampering = { what: string; sql: (string | Statement)[]; isHidden?: boolean };

const texts = Object.keys(rowsOf.get("audit_log")![0]!)
  .filter((name) => !["rowid", "position", "created_at", "hash"].includes(name));
const unlocked = (...sql: string[]) => [...dropTriggers, ...sql, ...triggers];
const at = (nth: number) => nth % entries.length + 1;

/** Whether a log without its last entries explains the same catalog. Then nothing tells that they are gone. */
function explainsAll(kept: readonly AuditEntry[]): boolean {
  const toText = ({ catalog, hashes }: ReturnType<typeof replay>) =>
    JSON.stringify([...catalog].map(([id, state]) => [id, Object.entries(state).sort()]).sort()) +
    JSON.stringify([...hashes]);
  const deletions = (log: readonly AuditEntry[]) => log.filter(({ action }) => action === "workspace.deleted").length;
  return toText(replay(kept)) === toText(replay(entries)) && deletions(kept) === deletions(entries);
}

const ofLog: ((nth: number, second: number) => Tampering)[] = [
  (nth, second) => {
    const column = texts[second % texts.length]!;
    return {
      what: `NUL in ${column}`,
      sql: unlocked(
        `update audit_log set ${column} = coalesce(${column}, '') || char(0) || 'x' where position = ${at(nth)}`,
      ),
    };
  },
  (nth, second) => {
    const column = [...texts, "created_at"][second % (texts.length + 1)]!,
      value = (rowsOf.get("audit_log")![at(nth) - 1]!)[column];
    return {
      what: `other ${column}`,
      sql: unlocked(`update audit_log set ${column} = ${quoted(other(value, second))} where position = ${at(nth)}`),
    };
  },
  (nth) => ({ what: "remove", sql: unlocked(`delete from audit_log where position = ${at(nth)}`) }),
  (nth, second) => ({
    what: "swap",
    sql: at(nth) === at(second) ? dropTriggers : unlocked(
      ...[[at(nth), -1], [at(second), at(nth)], [-1, at(second)]].map(([from, to]) =>
        `update audit_log set position = ${to} where position = ${from}`
      ),
    ),
  }),
  (nth) => ({ what: "blank", sql: unlocked(`update audit_log set hash = '' where position = ${at(nth)}`) }),
  (nth) => ({
    what: "blank up to one",
    sql: unlocked(`${asOlder} where position <= ${at(nth)}`, `update audit_head set older = ${at(nth)}`),
  }),
  (nth) => ({
    what: "copy behind the last",
    sql: unlocked(
      `insert into audit_log select ${
        entries.length + 1
      }, created_at, source, actor, token_id, action, target_id, workspace_id,
        before, after, note, request_id, hash from audit_log where position = ${at(nth)}`,
      ...nth % 2 === 0 ? [] : ["update audit_head set position = position + 1"],
    ),
  }),
  (nth) => {
    const kept = entries.slice(0, -(nth % 9 + 1));
    return {
      what: "cut off the end",
      sql: unlocked(
        `delete from audit_log where position > ${kept.length}`,
        `update audit_head set position = ${kept.length}, hash = '${kept.at(-1)!.hash}'`,
      ),
      isHidden: explainsAll(kept),
    };
  },
  (nth) => ({ what: "drop trigger", sql: [dropTriggers[nth % 2]!] }),
  (nth) => ({
    what: "replace trigger",
    sql: [dropTriggers[nth % 2]!, triggers[nth % 2]!.replace("begin", "when old.position < 0 begin")],
  }),
  (nth) => ({
    what: "add trigger",
    sql: [`create trigger more after insert on ${["audit_log", ...tables][nth % 11]} begin select 1; end`],
  }),
];

const ofRows: ((nth: number, second: number) => Tampering)[] = [
  (nth, second) => {
    const table = tables[nth % tables.length]!, rows = rowsOf.get(table)!, row = rows[second % rows.length]!;
    const columns = Object.keys(row).filter((name) => !isKey(name));
    const column = columns[(nth + second) % columns.length]!;
    return {
      what: `${table}.${column}`,
      sql: [`update ${table} set ${column} = ${quoted(other(row[column], second % 5))} where ${only(table, row)}`],
      isHidden: unchecked[table]!.includes(column),
    };
  },
  (nth, second) => {
    const table = tables[nth % tables.length]!, rows = rowsOf.get(table)!, row = rows[second % rows.length]!;
    return { what: `a row of ${table} is removed`, sql: [`delete from ${table} where ${only(table, row)}`] };
  },
  (nth, second) => {
    const table = tables[nth % tables.length]!,
      rows = rowsOf.get(table)!,
      { rowid: _, ...row } = rows[second % rows.length]!;
    const [key = "id"] = (keys[table] ?? ["id"]).toReversed();
    const copy = {
      ...row,
      [key]: typeof row[key] === "number" ? row[key] + 1000 : `${String(row[key]).slice(0, -1)}~`,
    };
    const names = Object.keys(copy).includes("name") && table !== "management_tokens" ? { name: `copy${nth}` } : {};
    const prices = table === "prices" ? { model: `copy${nth}` } : {};
    const values = Object.entries({ ...copy, ...names, ...prices });
    return {
      what: `a row of ${table} is added`,
      sql: [
        `insert into ${table} (${values.map(([name]) => name)}) values (${values.map(([, value]) => quoted(value))})`,
      ],
    };
  },
];

// Few random ones would leave out some kinds.
const ofEachKind = [...ofLog, ...ofRows].map((make, nth): [typeof make, number, number] => [make, 7 * nth, 5 * nth]);

test("verify finds each random tampering, or the documents say that it cannot", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...ofLog, ...ofRows, ...ofRows, ...ofRows),
      fc.nat(1000),
      fc.nat(1000),
      async (make, nth, second) => {
        const { what, sql, isHidden = false } = make(nth, second);
        const audit = await verifyAfter(sql);
        assert.is(isClean(audit), isHidden, `${what}: ${JSON.stringify(sql)}`);
      },
    ),
    { numRuns: Number(process.env.NUM_RUNS ?? (isFull ? 150 : 10)), examples: ofEachKind },
  );
});

test("verify finds no other value of a column that the documents name, and each of any other column", async () => {
  let columns = 0;
  for (const table of tables) {
    const [row] = rowsOf.get(table) as [Row];
    for (const [column, value] of Object.entries(row)) {
      if (isKey(column) || columns++ % (isFull ? 1 : 4) !== 0) continue;
      const sql = `update ${table} set ${column} = ${quoted(other(value, 2))} where ${only(table, row)}`;
      assert.is(isClean(await verifyAfter([sql])), unchecked[table]!.includes(column), sql);
    }
  }
});

test("verify finds the same on a server", async () => {
  const sqld = await findSqld();
  if ("missing" in sqld) return;
  const folder = await createFolder(), server = await startSqld(sqld.binary, folder.path);
  await migrate(server.url);
  const database = openDatabase(server.url, "manage");
  try {
    const admin = managementOf(database), { deployId } = await createTenant(admin);
    assert.ok(isClean((await verify(admin)).audit!));
    await database.write([
      { sql: "update prompt_versions set messages = '[]'" },
      { sql: "update deployments set is_active = 0 where id = ?", args: [deployId] },
      { sql: "drop trigger audit_log_no_delete" },
    ]);
    const { triggers, rows } = (await verify(admin)).audit!;
    assert.equal([triggers, rows.map(({ noun, members }) => [noun, ...members])], [
      ["audit_log_no_delete"],
      [["deployment", "isActive"], ["version", "content"]],
    ]);
  } finally {
    database.close();
    await server.stop("SIGKILL");
    await folder.remove();
  }
});

test("a change at the same moment is not taken for a tampering", async () => {
  const { workspaceId, deployId, manage, admin } = await createWorld();
  const other = await createTenant(admin);
  const changes: Promise<unknown>[] = [];
  for (let nth = 0; nth < 40; nth++) {
    changes.push(
      manage("PATCH", `/workspaces/${workspaceId}`, { monthlyLimit: nth + 1 }),
      manage("POST", `/deployments/${nth % 2 === 0 ? deployId : other.deployId}/rename`, { name: `x${nth}` }),
      manage("POST", `/workspaces/${other.workspaceId}/keys`, {}),
    );
    const { differences, isIntact } = taken<Verification>(await manage("GET", "/verify")).audit!;
    assert.equal([differences, isIntact], [0, true]);
  }
  await Promise.all(changes);
});

test.run();
