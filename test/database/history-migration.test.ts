// The migration that turns the histories of deployments into the first entries of the audit log.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { migrate } from "../../src/database/migrate.ts";
import { migrations } from "../../src/database/migrations.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import type { DeploymentId } from "../../src/common/ids.ts";
import { checkChain } from "../../src/management/kernel/audit-chain.ts";
import { listAuditEntries } from "../../src/management/events/audit.ts";
import { listDeploymentChanges, renameDeployment } from "../../src/management/deployments/deployment-changes.ts";
import { call, managementOf, verify } from "../actions.ts";
import { counting, noon } from "../helpers.ts";

const test = suite("the migration of histories");

const id: DeploymentId = "dep_1";

/** A database whose deployment has a history from before the audit log. */
async function openOld() {
  const at = migrations.findIndex(({ name }) => name === "013-create-audit-log");
  const database = openDatabase(":memory:");
  await migrate(database, migrations.slice(0, at), noon);
  const addChange = (revision: number, action: string, from: string | null, to: string) => ({
    sql: `insert into deployment_changes
        (deployment_id, revision, action, from_value, to_value, source, actor, note, created_at)
      values (?, ?, ?, ?, ?, 'api', 'Ada', 'Why', ?)`,
    args: [id, revision, action, from, to, noon + revision],
  });
  await database.write([
    { sql: "insert into workspaces (id, name, monthly_limit, created_at) values ('ws_1', 'A', 1, 0)" },
    { sql: "insert into prompts (id, workspace_id, name, created_at) values ('prompt_1', 'ws_1', 'a', 0)" },
    { sql: "insert into prompt_versions values ('prompt_1', 1, 'A', '', '[]', '{}', '', 0)" },
    {
      sql: `insert into deployments
          (id, workspace_id, name, prompt_id, current_version, is_active, revision, created_at)
        values (?, 'ws_1', 'a', 'prompt_1', 1, 0, 5, 0)`,
      args: [id],
    },
    addChange(1, "created", null, "1"),
    addChange(2, "renamed", '"b"', '"a"'),
    addChange(3, "deactivated", "true", "false"),
    addChange(4, "archived", "false", "true"),
    addChange(5, "unarchived", "true", "false"),
  ]);
  return database;
}

test("histories are unchanged, and become the first entries", async () => {
  const database = await openOld();
  const old = await database.read({ sql: "select * from deployment_changes order by revision desc" });
  await migrate(database, migrations, noon + 1000);
  const admin = managementOf(database);
  const { items } = await call(listDeploymentChanges, admin, { id });
  const parse = (json: unknown) => json === null ? null : JSON.parse(String(json));
  assert.equal(
    items,
    old.map(({ revision, action, source, actor, note, created_at: createdAt, ...values }) => {
      const { from_value: from, to_value: to } = values;
      return { revision, action, from: parse(from), to: parse(to), source, actor, note, origin: null, createdAt };
    }) as typeof items,
  );
  const entries = (await call(listAuditEntries, admin, {})).items;
  assert.equal(entries.map(({ before, after }) => [before, after]), [
    [{ archivedAt: noon + 4 }, { archivedAt: null, revision: 5 }],
    [{ archivedAt: null }, { archivedAt: noon + 4, revision: 4 }],
    [{ isActive: true }, { isActive: false, revision: 3 }],
    [{ name: "b" }, { name: "a", revision: 2 }],
    [null, { currentVersion: 1, revision: 1 }],
  ]);
});

test("the hash of the first change after it covers the older entries too", async () => {
  const database = await openOld();
  await migrate(database, migrations, noon + 1000);
  assert.equal(await checkChain(database), { entries: 5, brokenAt: null, head: "" });
  await call(renameDeployment, managementOf(database), { id, name: "new" });
  const { head, ...state } = await checkChain(database);
  assert.equal(state, { entries: 6, brokenAt: null });
  assert.match(head, /^[0-9a-f]{64}$/);
  await database.write([
    { sql: "drop trigger audit_log_no_update" },
    { sql: "update audit_log set actor = 'Eve' where position = 2" },
  ]);
  assert.is((await checkChain(database)).brokenAt, 6);
});

test("verify takes rows and entries from before the log as they are, and no others for such", async () => {
  const database = await openOld();
  await migrate(database, migrations, noon + 1000);
  const check = async () => (await verify(managementOf(database))).audit!;
  await call(renameDeployment, managementOf(database, () => noon + 2000), { id, name: "new" });
  const { isIntact, differences, rows } = await check();
  assert.equal([isIntact, differences, rows], [true, 0, []]);
  await database.write([
    { sql: "insert into prompts (id, workspace_id, name, created_at) values ('prompt_2', 'ws_1', 'b', 1)" },
    { sql: "insert into prompt_versions values ('prompt_2', 1, 'B', '', '[]', '{}', '', 0, null)" },
  ]);
  // Nothing tells this one from those that the database had before.
  assert.is((await check()).differences, 0);
  await database.write([{ sql: `update prompts set created_at = ${noon + 1001} where id = 'prompt_2'` }]);
  await database.write([{ sql: "update deployments set is_active = 1" }]);
  assert.equal((await check()).rows.map(({ what, id }) => [what, id]), [["added", "prompt_2"], ["changed", id]]);
  await database.write([
    { sql: "drop trigger audit_log_no_update" },
    { sql: "update audit_log set hash = '', actor = 'Eve'" },
    { sql: "update audit_head set hash = ''" },
  ]);
  assert.equal((await check()).brokenAt, 6);
});

test("a removed entry of those before the log is found, and keeps nobody from making changes", async () => {
  const database = await openOld();
  await migrate(database, migrations, noon + 1000);
  await database.write([{ sql: "drop trigger audit_log_no_delete" }, {
    sql: "delete from audit_log where position = 2",
  }]);
  for (const name of ["new", "newer"]) await call(renameDeployment, managementOf(database), { id, name });
  assert.is((await checkChain(database)).brokenAt, 2);
});

test("reads the log before its first hash only to make a change, and only once", async () => {
  const { database, counts } = counting(await openOld());
  await migrate(database, migrations, noon + 1000);
  const readsOf = async (change: () => Promise<unknown>) => {
    const before = counts.reads;
    await change();
    return counts.reads - before;
  };
  const rename = (name: string) => readsOf(() => call(renameDeployment, managementOf(database), { id, name }));
  const unchanged = await rename("a"), first = await rename("b"), second = await rename("c");
  assert.equal([first - second, second - unchanged], [1, 1]);
});

test.run();
