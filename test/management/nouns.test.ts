// A noun is declared in nouns.ts, from which most of what it needs follows. Here is what may still be forgotten: a table, an id or
// a change in the audit log of no declared noun, and code that has to read, remove or show each noun.
// Runs on Node alone.
import { readdir, readFile } from "node:fs/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { pages } from "../../src/console/pages.ts";
import type { DeploymentResult } from "../../src/management/deployments/deployments.ts";
import type { Database, Statement } from "../../src/database/database.ts";
import { findRowFaults } from "../../src/management/verify/audit-rows.ts";
import { deleteWorkspace } from "../../src/management/access/deletion.ts";
import { namedIn, refuseHidden } from "../../src/management/kernel/hidden.ts";
import { operations } from "../../src/management/index.ts";
import { allNouns } from "../../src/management/kernel/nouns.ts";
import type { Noun } from "../../src/management/kernel/nouns.ts";
import { prune } from "../../src/management/records/prune.ts";
import { verify } from "../../src/management/verify/verify.ts";
import { nounOf } from "../../src/schema/struct.ts";
import { call } from "../actions.ts";
import { visit } from "../console/visitor.ts";
import { createWorld, goodBody, openMemory } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { pathOf } from "../runtimes.ts";
import { taken } from "./management.ts";

const test = suite("nouns");

const day = 86_400_000;

const all = [...allNouns];
const owned = all.filter(([, { owner }]) => owner !== "service");
const tablesOf = (nouns: [string, Noun][]) => nouns.flatMap(([, { tables }]) => tables.map(({ name }) => name));
const audited = all.filter(([, { audit }]) => audit !== undefined);

/** The service's own tables. What they keep of a deleted workspace has no texts. */
const ofService = [
  "changed_blocks",
  "deleted_workspaces",
  "ended_sessions",
  "promptledger_migrations",
  "prunings",
  "reindexing",
  "service_secret",
  "upkeep",
];

const list = "src/management/kernel/nouns.ts";

/** What the audit log says of records, which it does not list when they arrive, and of what services find. */
const deeds = ["backup", "log", "quota", "record", "records", "session", "upkeep"];

/** Inputs that are ids of an application's own. */
const foreign = ["sessionId"];

/** What verify does not read, as it is said nowhere else: how far people are with a review, what webhooks sent, and what was said. */
const unverified = ["budget_periods", "notices", "review_records", "webhook_secrets", "webhook_deliveries"];

const isSame = (actual: Iterable<string>, expected: Iterable<string>, message: string) =>
  assert.equal([...new Set(actual)].sort(), [...new Set(expected)].sort(), message);

const isMissing = (wanted: readonly string[], actual: Iterable<string>, message: string) => {
  const found = new Set(actual);
  assert.equal(wanted.filter((each) => !found.has(each)), [], message);
};

/** What a text has in the place of the group of a pattern, wherever it matches. */
const matches = (text: string, pattern: RegExp): string[] =>
  Array.from(text.matchAll(pattern), ([, one, other]) => (one ?? other)!);

const readSource = (path: string) => readFile(pathOf(`src/${path}`), "utf8");

async function readTables(database: Database, type: "table" | "trigger") {
  const rows = await database.read({ sql: `select name, sql from sqlite_master where type = '${type}'` });
  return rows.map(({ name, sql }) => ({ name: name as string, sql: sql as string }))
    .filter(({ name }) => !name.startsWith("sqlite_"));
}

/** The same database, and all SQL that it was asked for. */
function recording(database: Database): { database: Database; said: string[] } {
  const said: string[] = [];
  const note = ({ sql }: Statement) => void said.push(sql);
  return {
    said,
    database: {
      ...database,
      read: (statement) => (note(statement), database.read(statement)),
      write: (statements) => (statements.forEach(note), database.write(statements)),
    },
  };
}

const readFrom = (said: string[]) => matches(said.join("\n"), /\b(?:from|join) (\w+)/g);

/** The tables from which statements remove rows, or triggers do behind them. */
async function removedBy(said: string[], database: Database): Promise<Set<string>> {
  const removed = new Set(matches(said.join("\n"), /\bdelete from (\w+)/g));
  for (const { sql } of await readTables(database, "trigger")) {
    const [, cause] = /after delete on (\w+)/.exec(sql) ?? [];
    if (removed.has(cause!)) matches(sql, /\bdelete from (\w+)/g).forEach((table) => removed.add(table));
  }
  return removed;
}

test("every table is of a noun, or the service's own", async () => {
  const tables = await readTables(await openMemory(), "table");
  isSame(tables.map(({ name }) => name), [...tablesOf(all), ...ofService], list);
});

test("every id is of a noun", async () => {
  const ids = matches(await readSource("common/ids.ts"), /Id<"(\w+)">/g);
  isMissing(ids, all.flatMap(([, { prefix }]) => prefix ?? []), list);
});

test("every change in the audit log is of a noun", async () => {
  const files = (await readdir(pathOf("src/management"), { recursive: true })).filter((name) => name.endsWith(".ts"));
  const sources = (await Promise.all(files.map((name) => readSource(`management/${name}`)))).join("\n");
  const found = matches(sources, /\baction: ["`]([a-z_]+)\.|\bauditNoun: "(\w+)"/g);
  isSame(found, [...audited.map(([noun]) => noun), ...deeds], list);
});

test("deleting a workspace removes every noun of it", async () => {
  const world = await createWorld();
  await world.submit();
  const { database, said } = recording(world.database);
  await call(deleteWorkspace, { ...world.admin, database }, { id: world.workspaceId, confirm: "Acme" });
  isMissing(tablesOf(owned), await removedBy(said, database), list);
});

test("pruning removes everything that has a position of the log", async () => {
  const world = await createWorld();
  for (const workspaceId of [undefined, world.workspaceId]) {
    await world.submit();
    world.now += 2 * day;
    await world.submit(); // the newest commit stays
    const { database, said } = recording(world.database);
    await call(prune, { ...world.admin, database }, { olderThanMs: day, workspaceId });
    const columns = await Promise.all(
      tablesOf(owned).map(async (table) => ({
        table,
        columns: await database.read({ sql: `select name from pragma_table_info('${table}')` }),
      })),
    );
    const positioned = columns.filter(({ columns }) => columns.some(({ name }) => name === "position"))
      .map(({ table }) => table);
    isMissing(positioned, await removedBy(said, database), "src/log/prune.ts or src/log/retention.ts");
  }
});

test("every id in an input is hidden from other workspaces", async () => {
  const { database, said } = recording(await openMemory());
  const found = new Set<string>();
  for (const { id, input: { schema } } of operations) {
    for (const [name, struct] of Object.entries(schema)) {
      const noun = nounOf(struct);
      if (noun === undefined && !foreign.includes(name)) {
        assert.not.match(name, /^id$|[a-z]Id$/, `${id} takes ${name} without its noun`);
      }
      if (noun !== undefined && noun !== "Deployment or name") found.add(noun);
    }
    const ids = Object.fromEntries(Object.keys(schema).map((name) => [name, "x"]));
    await refuseHidden(database, namedIn(schema, ids), { bound: "ws_x" }).catch(() => {});
  }
  isMissing([...found], all.map(([, { name }]) => name), list);
  const hidden = owned.filter(([noun, { name }]) => found.has(name) && !["workspace", "record"].includes(noun));
  isMissing(hidden.map(([, { tables: [first] }]) => first!.name), readFrom(said), "src/management/kernel/hidden.ts");
});

test("verify reads every table, and compares what the audit log is about", async () => {
  const world = await createWorld();
  await world.submit();
  const { database, said } = recording(world.database);
  await call(verify, { ...world.admin, database }, {});
  const tables = tablesOf(all).filter((table) => !unverified.includes(table));
  isMissing(tables, readFrom(said), "src/management/verify/verify.ts");
  const compared = recording(world.database);
  await findRowFaults(compared.database, () => {}, () => {});
  isMissing(
    audited.map(([, { tables: [first] }]) => first!.name),
    readFrom(compared.said),
    "src/management/verify/audit-rows.ts",
  );
});

test("every noun that the console links or names in its navigation has a page", () => {
  const paths = pages.map(({ path }) => path.replace("/:workspaceId/", "").replace(/:\w+/, ":id"));
  isMissing(
    all.flatMap(([, { page, section }]) => [page ?? [], section?.path ?? []].flat()),
    paths,
    "src/console/pages.ts",
  );
});

test("the audit log of the console links what changed", async () => {
  const world = await createWorld();
  const made = await changeAll(world);
  const text = await (await visit(world)).see("/audit?everywhere=yes");
  for (const [noun, { page }] of audited) {
    if (page === undefined) continue;
    assert.ok(text.includes(`href="${page.replace(":id", made[noun] ?? "")}"`), `the log links no ${noun}`);
  }
});

/** Makes one of each noun that the audit log is about, and returns their ids. */
async function changeAll(world: World): Promise<Record<string, string>> {
  const { workspaceId, promptId, deployId, keyId } = world;
  const of = `/workspaces/${workspaceId}`;
  const make = async (path: string, body: object) => {
    const answer = await world.manage("POST", path, body);
    return taken<{ id: string }>(answer, answer.status === 201 ? 201 : 200).id;
  };
  const token = await make("/tokens", { name: "Ann", role: "viewer", workspaceId });
  await make(`${of}/feedback-names`, { name: "helpful", kind: "boolean" });
  const price = await make("/prices", { model: "m", input: "1", output: "2" });
  await world.submit(goodBody);
  const review = await make(`${of}/reviews`, { title: "Wednesday" });
  const guarded = await make(`${of}/deployments`, { name: "guarded", promptId });
  taken(await world.manage("POST", `/deployments/${guarded}/protect`, { approvals: 1 }));
  const archiving = taken<DeploymentResult>(await world.manage("POST", `/deployments/${guarded}/archive`), 202);
  const webhook = await make("/webhooks", { url: "https://example.com/", workspaceId });
  const budget = await make(`${of}/budgets`, { amount: "50", per: "month" });
  const alert = await make(`${of}/alerts`, { condition: "records<1" });
  return {
    key: keyId,
    prompt: promptId,
    deployment: deployId,
    token,
    price,
    review,
    webhook,
    alert,
    budget,
    change: archiving.request!.id,
  };
}

test.run();
