// A database in whose texts a bad sector has left bytes that are not UTF-8, or zeros. Whatever is looked at is shown, the rest is
// served, and what is damaged is named. Restoring a backup makes its indexes fit again.
// Runs on every runtime in CI.
import { readFile, rm, writeFile } from "node:fs/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createFolder } from "../conformance/processes.ts";
import { runIn } from "../cli/places.ts";
import {
  adminToken,
  bearer,
  captureLog,
  createTenant,
  managementOf,
  noon,
  readAnswer,
  withManagement,
} from "../helpers.ts";
import { openMigrated } from "../../src/database/file/open-migrated.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { removeLog } from "../../src/database/file/maintenance.ts";
import { openService } from "../../src/index.ts";
import { serveDatabase } from "../../src/service/service.ts";

const test = suite("damaged text");

const folder = await createFolder();
test.after(folder.remove);

const invalid = 0xff, zero = 0;

/** What is damaged in a record's document: what precedes the byte that is overwritten, and the byte. */
const damages: Record<string, [before: string, byte: number]> = {
  "a letter of its output": ["the output of ", invalid],
  "the quote that ends its output": ["the output of 2", invalid],
  "the quote that ends its output, by a zero": ["the output of 3", zero],
  "its first brace": ["", invalid],
  "its last brace": ['"last":5', invalid],
  "a letter of its model": ['"model":"gpt-', invalid],
};

type Opened = Awaited<ReturnType<typeof openDamaged>>;

let opened: Promise<Opened> | undefined;

/** A service on a file with a sound record 0, a damaged record for each damage, and a prompt whose text is damaged. */
async function openDamaged() {
  const path = `${folder.path}/ledger.db`;
  const { database } = await openMigrated(`file:${path}`, "manage");
  const tenant = await createTenant(managementOf(database, () => noon));
  await removeLog(database);
  database.close();
  const before = await openService({ database: `file:${path}` });
  const ids: string[] = [];
  for (let number = 0; number <= Object.keys(damages).length; number++) {
    const record = {
      sessionId: `session-${number}`,
      status: 1,
      model: `gpt-${number}`,
      content: { input: "an input", output: `the output of ${number}` },
      latency: 5,
      last: number,
    };
    const target = { key: tenant.key, deployId: tenant.deployId };
    ids.push((await before.recordDiagnosis(target, record)).id);
  }
  await before.close();
  const bytes = await readFile(path);
  for (const [number, [text, byte]] of Object.values(damages).entries()) {
    const document = bytes.indexOf(`{"sessionId":"session-${number + 1}"`);
    assert.ok(document > 0);
    bytes[bytes.indexOf(text, document) + text.length] = byte;
  }
  const title = bytes.indexOf("Says hello");
  bytes[title + 2] = invalid;
  for (const suffix of ["-wal", "-shm"]) await rm(path + suffix, { force: true });
  await writeFile(path, bytes);
  const { log, logged } = captureLog("warn");
  const damaged = openDatabase(`file:${path}`, "serve");
  const service = serveDatabase(damaged, { clock: () => noon, log, faces: withManagement });
  const send = async (path: string, init: RequestInit = {}) =>
    readAnswer(await service.fetch(new Request(`http://ledger.test${path}`, { headers: bearer(adminToken), ...init })));
  return { path, tenant, ids, service, send, logged };
}

test("shows every record, and what is left of those that are no longer JSON", async () => {
  const { tenant, ids, send } = await (opened ??= openDamaged());
  const { status, json } = await send(`/admin/v1/deployments/${tenant.deployId}/diagnoses`);
  assert.is(status, 200);
  const { items } = json as {
    items: { id: string; sessionId: string; isDamaged?: true; content: { output: string } }[];
  };
  assert.equal(items.map(({ id }) => id), [...ids].reverse());
  const found = [...items].reverse();
  assert.equal(found.map(({ sessionId }) => sessionId), ids.map((_, number) => `session-${number}`));
  assert.equal(found.map(({ isDamaged = false }) => isDamaged), [false, false, true, true, true, true, false]);
  assert.is(found[1]!.content.output, "the output of \ufffd");
  for (const { content } of found.slice(2)) assert.match(content.output, "the output of");
  for (const [number, id] of ids.entries()) {
    const one = await send(`/admin/v1/diagnoses/${id}`);
    assert.equal([one.status, one.json], [200, found[number]]);
  }
});

test("searches, exports, counts and draws as if nothing were damaged", async () => {
  const { tenant, ids, send } = await (opened ??= openDamaged());
  const { workspaceId, deployId } = tenant;
  const records = `/admin/v1/deployments/${deployId}/diagnoses`;
  for (
    const [path, pattern] of [
      [`${records}?text=output%20of%200`, "session-0"],
      [`${records}/export`, "the output of 0"],
      [`${records}/export?format=csv`, "the output of 0"],
      [`/admin/v1/workspaces/${workspaceId}/sessions`, "session-3"],
      [`/admin/v1/deployments/${deployId}/stats`, `"records":${ids.length}`],
      [`/admin/v1/workspaces/${workspaceId}/prompts`, "greeting"],
    ] as const
  ) {
    const { status, text } = await send(path);
    assert.is(status, 200, path);
    assert.match(text, pattern);
  }
});

test("refuses to serve a prompt that is damaged, and stores records of its deployment", async () => {
  const { tenant, send, logged } = await (opened ??= openDamaged());
  const headers = bearer(tenant.key);
  const { status, json } = await send(`/v1/prompts?deployId=${tenant.deployId}`, { headers });
  assert.equal([status, json], [500, { error: "Internal server error" }]);
  assert.match(logged.at(-1)!, "A text in the database is damaged");
  const body = JSON.stringify({ sessionId: "after", status: 1, content: { input: "x" } });
  const submit = await send(`/v1/diagnosis?deployId=${tenant.deployId}`, { method: "POST", headers, body });
  assert.is(submit.status, 201);
});

test("names what is damaged, and still balances", async () => {
  const { tenant, ids, send } = await (opened ??= openDamaged());
  const { status, json } = await send("/admin/v1/verify");
  const { balanced, damaged } = json as { balanced: boolean; damaged: { total: number; rows: object[] } };
  assert.equal([status, balanced], [200, true]);
  const records = ids.slice(1).filter((_, number) => number !== 2).map((key) => ({ table: "diagnoses", key }));
  assert.equal(damaged, {
    total: records.length + 1,
    rows: [...records, { table: "prompt_versions", key: `${tenant.promptId} 1` }],
  });
});

test("a backup of it is restored with indexes that fit, and then its records can be deleted", async () => {
  const { path, tenant, ids, service } = await (opened ??= openDamaged());
  await service.close();
  const backup = `${folder.path}/backup.db`, restored = `${folder.path}/restored.db`;
  assert.is((await runIn(["backup", backup], { DATABASE_URL: `file:${path}` })).code, 0);
  const { code, said } = await runIn(["restore", backup], { DATABASE_URL: `file:${restored}` });
  assert.is(code, 0, said);
  assert.match(said, `6 rows have damaged text: diagnoses ${ids[1]}`);
  assert.match(said, `prompt_versions ${tenant.promptId} 1`);
  for (const id of ids) {
    assert.is((await runIn(["record", "delete", id], { DATABASE_URL: `file:${restored}` })).code, 0);
  }
  const verified = await runIn(["verify"], { DATABASE_URL: `file:${restored}` });
  assert.match(verified.said, `A row has damaged text: prompt_versions ${tenant.promptId} 1`);
  assert.is(verified.code, 1);
});

test.run();
