// Backups of a database that is in use, on the runtime that runs the tests.
// Runs on every runtime in CI.
import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createFolder, runFile, startService } from "../conformance/processes.ts";
import { audit, createSeededDatabase } from "../faults/audit.ts";
import { emptyOutcomes, startLoad } from "../faults/load.ts";
import { currentRuntime } from "../runtimes.ts";
import { runIn } from "./places.ts";

const test = suite(`backup on ${currentRuntime}`);

const { path: folder, remove } = await createFolder();
test.after(remove);

const seeded = await createSeededDatabase(`file:${folder}/ledger.db`);
const settings = { DATABASE_URL: seeded.url };

test("a backup under load has everything that was answered before it, balances, and does not disturb the service", async () => {
  const service = await startService(currentRuntime, settings);
  const load = startLoad({ bases: [service.url], connections: 16, tenant: seeded.tenant, thinkMs: 20 });
  while (load.outcomes.recorded.length < 300) await load.untilSuccess();
  const recorded = [...load.outcomes.recorded];
  const file = `${folder}/a copy.db`;
  const { code, out, said } = await runFile(currentRuntime, "src/cli.ts", ["backup", file, "--json"], settings);
  assert.is(code, 0, said);
  // Progress follows after 10 s.
  assert.match(said, /^Copying [\d.]+ [kM]B …\n([A-Z].*\n)*Backed up [\d.]+ [kM]B to .*\/a copy\.db in [\d.]+ m?s\n$/);
  await load.untilSuccess();
  await load.stop();
  assert.is(await service.stop(), 0);
  assert.equal(await audit(seeded, load.outcomes), { lost: 0, doubled: 0, faults: [] });

  const { createdAt, createdAtIso: _, durationMs, ...made } = JSON.parse(out);
  assert.ok(durationMs > 0);
  const { size, mode } = await stat(file);
  assert.equal([made, mode & 0o777], [{ file, bytes: size }, 0o600]);
  assert.ok(Math.abs(createdAt - Date.now()) < 60_000);
  assert.not.ok((await readdir(folder)).some((name) => name.includes(".part")));

  const restored = { ...seeded, url: `file:${folder}/restored.db` };
  const { code: restoreCode } = await runIn(["restore", file], { DATABASE_URL: restored.url });
  assert.is(restoreCode, 0);
  const { lost, faults } = await audit(restored, { ...emptyOutcomes(), recorded });
  assert.equal([lost, faults], [0, []]);
});

await mkdir(`${folder}/place`);
await writeFile(`${folder}/place/taken.db`, "taken");
await writeFile(`${folder}/place/begun.db.part`, "begun");
await writeFile(`${folder}/place/other.db`, "");

const refusals: [name: string, file: string, error: RegExp, url?: string][] = [
  ["an existing file", `${folder}/place/taken.db`, /taken.db already exists; choose a new file name$/],
  ["the database itself", `${folder}/ledger.db`, /ledger.db already exists; choose a new file name$/],
  [
    "a file that is being written",
    `${folder}/place/begun.db`,
    /begun.db.part already exists; remove it if nothing is writing/,
  ],
  ["a folder that is not there", `${folder}/no/copy.db`, /no\/copy.db cannot be written: .*ENOENT/],
  ["what is no folder", `${folder}/place/taken.db/copy.db`, /copy.db cannot be written: .*ENOTDIR/],
  [
    "a database that is not there",
    `${folder}/place/copy.db`,
    /none.db \(DATABASE_URL\) does not exist$/,
    `file:${folder}/none.db`,
  ],
  [
    "a database that is no ledger",
    `${folder}/place/copy.db`,
    /other.db cannot be copied to .*\/copy.db: it is not a promptledger database$/,
    `file:${folder}/place/other.db`,
  ],
  [
    "a database on a server",
    `${folder}/place/copy.db`,
    /http:\/\/127.0.0.1:1 is on a server. Use the backups of that server$/,
    "http://127.0.0.1:1",
  ],
];

for (const [name, file, error, url = seeded.url] of refusals) {
  test(`refuses ${name}, and leaves no file`, async () => {
    const { code, out, said } = await runIn(["backup", file], { DATABASE_URL: url });
    assert.equal([code, out], [1, ""]);
    assert.match(said, /^promptledger: [^\n]+\n$/);
    assert.match(said.trimEnd(), error);
    const left = (await readdir(`${folder}/place`)).filter((left) => !left.startsWith("other.db-"));
    assert.equal(left.sort(), ["begun.db.part", "other.db", "taken.db"]);
    assert.not.ok((await readdir(folder)).includes("none.db"));
  });
}

test("refuses a database on a server", async () => {
  const { code } = await runIn(["backup", `${folder}/place/copy.db`, "--server", "http://127.0.0.1:1"], settings);
  assert.is(code, 2);
});

test.run();
