// The command line on databases without a schema. Only migrate and workspace create create one.
// Runs on Node alone.
import { writeFile } from "node:fs/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { migrations } from "../../src/database/migrations.ts";
import { createFolder, startSqld } from "../conformance/processes.ts";
import { findSqld } from "../conformance/sqld.ts";
import { runIn } from "./places.ts";

const migrationNames = migrations.map(({ name }) => name);

const test = suite("empty databases");

const folder = await createFolder();
test.after(() => folder.remove());

async function refusesAllButTheFirst(DATABASE_URL: string): Promise<void> {
  const error =
    `the database ${DATABASE_URL} (DATABASE_URL) cannot be used: it is empty. workspace create and migrate ` +
    "set it up";
  for (const args of [["workspace", "list"], ["verify"], ["key", "create", "--workspace", "ws_x"]]) {
    const { code, said } = await runIn(args, { DATABASE_URL });
    assert.equal([code, said], [1, `promptledger: ${error}\n`]);
  }
  const { json } = await runIn(["migrate", "--check", "--json"], { DATABASE_URL });
  assert.equal(json, { missing: migrationNames });
  const { code, said } = await runIn(["workspace", "create", "--name", "First"], { DATABASE_URL });
  assert.is(code, 0);
  assert.ok(said.startsWith(`Created the database ${DATABASE_URL}\nIt accepts 1,000,000 requests`), said);
  assert.is((await runIn(["workspace", "list"], { DATABASE_URL })).code, 0);
}

test("listing creates no schema in an empty file", async () => {
  await writeFile(`${folder.path}/empty.db`, "");
  await refusesAllButTheFirst(`file:${folder.path}/empty.db`);
});

const sqld = await findSqld();
if ("missing" in sqld) console.log(`skipped: an empty database on a server: ${sqld.missing}`);
else {
  test("listing creates no schema in an empty database on a server", async () => {
    const server = await startSqld(sqld.binary, `${folder.path}/sqld`);
    try {
      await refusesAllButTheFirst(server.url);
    } finally {
      await server.stop();
    }
  });
}

test.run();
