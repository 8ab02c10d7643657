// Why a database file cannot be opened, in a message that an operator can act on.
// Runs on every runtime.
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { findFileFault } from "../../src/runtime/file-fault.ts";
import { runIn } from "../cli/places.ts";
import { createFolder } from "../conformance/processes.ts";

const test = suite("faults of a database file");

const folder = await createFolder();
test.after(() => folder.remove());
await mkdir(`${folder.path}/data`);
await writeFile(`${folder.path}/data/ledger.db`, "");
await chmod(`${folder.path}/data/ledger.db`, 0o600);

/** `access` of a process that may not use one path. */
const refusing = (refused: string) => (path: unknown) =>
  path === refused ? Promise.reject(new Error("EACCES")) : Promise.resolve();

const faults: [name: string, path: string, fault: string][] = [
  ["a missing folder", "no/ledger.db", `the folder ${folder.path}/no does not exist. Create it first`],
  ["a folder given as a file", "data", `${folder.path}/data is a folder. Name a file`],
  ["a file given as a folder", "data/ledger.db/x.db", `${folder.path}/data/ledger.db is not a folder`],
  [
    "a file given as a folder's parent",
    "data/ledger.db/a/x.db",
    `a part of ${folder.path}/data/ledger.db/a is not a folder`,
  ],
];

for (const [name, path, fault] of faults) {
  test(`${name} is reported, also on the command line`, async () => {
    assert.is(await findFileFault(`${folder.path}/${path}`), fault);
    const DATABASE_URL = `file:${folder.path}/${path}`;
    for (const command of [["workspace", "create", "--name", "x"], ["migrate"]]) {
      const { code, said } = await runIn(command, { DATABASE_URL });
      const error = `the database ${DATABASE_URL} (DATABASE_URL) cannot be used: ${fault}`;
      assert.equal([code, said], [1, `promptledger: ${error}\n`]);
    }
  });
}

test("a file of another user is reported with its owner, its mode and the user of this process", async () => {
  const file = `${folder.path}/data/ledger.db`;
  const fault = await findFileFault(file, refusing(file));
  assert.ok(fault?.startsWith(`${file} belongs to `), fault);
  assert.match(fault!, / \(mode 0600\), and this process, which runs as \S+/);
});

test("a folder of another user is reported", async () => {
  const fault = await findFileFault(`${folder.path}/data/new.db`, refusing(`${folder.path}/data`));
  assert.ok(fault?.startsWith(`${folder.path}/data belongs to `), fault);
});

test("a file that can be used has no fault", async () => {
  assert.is(await findFileFault(`${folder.path}/data/ledger.db`), undefined);
  assert.is(await findFileFault(`${folder.path}/data/new.db`), undefined);
});

test.run();
