// Backups in a folder: making, listing, checking and restoring them, on the runtime that runs the tests.
// Runs on every runtime in CI.
import { copyFile, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createFolder, runFile, startCommand, startProgram, startService, until } from "../conformance/processes.ts";
import { audit, createSeededDatabase } from "../faults/audit.ts";
import { mount } from "../faults/full-disk.ts";
import { emptyOutcomes, startLoad } from "../faults/load.ts";
import { commandOf, currentRuntime } from "../runtimes.ts";
import { createChecks } from "./backup-checks.ts";
import { runIn } from "./places.ts";

const test = suite(`backups in a folder on ${currentRuntime}`);

const { path: folder, remove } = await createFolder();
test.after(remove);

const seeded = await createSeededDatabase(`file:${folder}/ledger.db`);
const place = `${folder}/place`;
await mkdir(place);
const settings = { DATABASE_URL: seeded.url, BACKUP_TO: place };

const cli = (args: string[], env = {}) => runFile(currentRuntime, "src/cli.ts", args, { ...settings, ...env });

type Made = { name: string; createdAt: number; bytes: number; removed: string[] };

/** Makes a backup, in this process or in one of its own. */
async function backUp(env = {}, isApart = false): Promise<Made> {
  const args = ["backup", "now", "--json"];
  const { code, out, said } = await (isApart ? cli(args, env) : runIn(args, { ...settings, ...env }));
  assert.is(code, 0, said);
  return JSON.parse(out) as Made;
}

/** The files in a place, but for the mark that says whose it is. */
const filesIn = async (place: string) =>
  (await readdir(place)).filter((name) => name !== "promptledger-database.txt").sort();

/** Where to restore to. */
let nth = 0;
const fresh = () => ({ ...seeded, url: `file:${folder}/restored-${nth++}.db` });

test("a backup under load has everything that was answered before it, balances, and is listed, checked and restored", async () => {
  const service = await startService(currentRuntime, { DATABASE_URL: seeded.url });
  const load = startLoad({ bases: [service.url], connections: 16, tenant: seeded.tenant, thinkMs: 20 });
  while (load.outcomes.recorded.length < 300) await load.untilSuccess();
  const recorded = [...load.outcomes.recorded];
  const { name, createdAt, bytes, removed } = await backUp({}, true);
  await load.untilSuccess();
  await load.stop();
  assert.is(await service.stop(), 0);
  assert.equal(await audit(seeded, load.outcomes), { lost: 0, doubled: 0, faults: [] });
  assert.equal(removed, []);
  assert.equal(await filesIn(place), [name]);
  const { size, mode } = await stat(`${place}/${name}`);
  assert.equal([size, mode & 0o777], [bytes, 0o600]);
  assert.equal((await readdir(folder)).filter((name) => /part|-backup$/.test(name)), []);

  const { json } = await runIn(["backup", "list", "--json"], settings);
  const [{ ageMs, ...listed }] = json as [{ ageMs: number }];
  assert.ok(ageMs >= 0);
  const createdAtIso = new Date(createdAt).toISOString();
  assert.equal(listed, { name, createdAt, createdAtIso, bytes, keptBy: ["hourly", "daily", "monthly"] });
  const { code, said, out } = await runIn(["backup", "check"], settings);
  assert.is(code, 0, said);
  assert.match(out, name);
  assert.match(said, `${name}, from ${createdAtIso}, is whole: 1 ledger balanced`);

  for (const source of ["latest", `${place}@latest`, `${place}@${createdAtIso}`, `${place}/${name}`]) {
    const restored = fresh();
    const { code, said } = await runIn(["restore", source], { ...settings, DATABASE_URL: restored.url });
    assert.is(code, 0, said);
    const { lost, faults } = await audit(restored, { ...emptyOutcomes(), recorded });
    assert.equal([lost, faults], [0, []]);
  }
});

test("a folder of such a name, or a link that leads nowhere, is no backup", async () => {
  const own = `${folder}/odd`, name = (nth: number) => `promptledger-20270131T18000${nth}Z.db.gz`;
  await mkdir(`${own}/${name(1)}`, { recursive: true });
  await mkdir(`${own}/${name(4)}.part`);
  await symlink(`${own}/nowhere`, `${own}/${name(2)}`);
  await writeFile(`${own}/${name(3)}`, "x");
  const { json } = await runIn(["backup", "list", "--json"], { ...settings, BACKUP_TO: own });
  assert.equal((json as Made[]).map((each) => each.name), [name(3)]);
  assert.is((await runIn(["backup", "now"], { ...settings, BACKUP_TO: own })).code, 0);
});

test("a disk without room for the copy is left to the service", async () => {
  const disk = await mount(`${folder}/disk`, 24);
  if ("missing" in disk) return console.log(`skipped: ${disk.missing}`);
  try {
    await copyFile(`${folder}/ledger.db`, `${folder}/disk/ledger.db`);
    const { code, said } = await cli(["backup", "now"], { DATABASE_URL: `file:${folder}/disk/ledger.db` });
    assert.is(code, 1);
    assert.match(said, /cannot be backed up: a copy takes \S+ kB beside it .* \S+disk has \S+ MB$/m);
    assert.equal((await readdir(`${folder}/disk`)).filter((name) => name.includes(".part")), []);
    // It is neither the backup that is at fault, nor may a check fill the disk of the service.
    const env = { DATABASE_URL: `file:${folder}/disk/ledger.db` };
    const left = / has \S+ MB free, of which 33\.6 MB are left to the service$/m;
    for (const args of [["backup", "check"], ["restore", "latest"]]) assert.match((await cli(args, env)).said, left);
    await mkdir(`${folder}/disk/place`);
    const { said: full } = await runIn(["backup", "now"], { ...settings, BACKUP_TO: `${folder}/disk/place` });
    assert.match(full, left);
    assert.equal(await filesIn(`${folder}/disk/place`), []);
  } finally {
    disk.unmount();
  }
});

test("what no rule keeps is removed after the next backup, and nothing else", async () => {
  const [last] = await filesIn(place);
  const others = ["notes.txt", "promptledger-20261399T000000Z.db.gz", "promptledger-20200101T000000Z.db"];
  for (const name of others) await writeFile(`${place}/${name}`, "");
  const old = ["promptledger-20200101T000000Z.db.gz", "promptledger-20200101T003000Z.db.gz"];
  for (const name of [...old, "promptledger-20380101T000000Z.db.gz"]) {
    await copyFile(`${place}/${last}`, `${place}/${name}`);
  }
  // A killed process has left a part.
  await writeFile(`${place}/promptledger-20200102T000000Z.db.gz.part`, "part");
  for (const name of ["part", "part.part"]) await writeFile(`${folder}/ledger.db-backup.${name}`, "part");
  const { name, removed } = await backUp({ BACKUP_KEEP: "1 latest, 2 yearly" });
  assert.equal(removed, [old[0], last]);
  assert.equal(await filesIn(place), [...others, old[1], name, "promptledger-20380101T000000Z.db.gz"].sort());
  assert.equal((await readdir(folder)).filter((name) => name.includes(".part")), []);
  // The clock of this machine may be wrong. What is newest is said by the backups alone.
  const future = "promptledger-20380101T000000Z.db.gz";
  assert.match((await runIn(["backup", "check"], settings)).said, `${future}, from 2038`);
  const { out } = await runIn(["backup", "list"], { ...settings, BACKUP_KEEP: "1 latest" });
  assert.match(out, /20380101T000000Z.*future\n.*latest\n.*20200101T003000Z.*until the next\n$/);
  for (const name of [...others, old[1]!, "promptledger-20380101T000000Z.db.gz"]) await rm(`${place}/${name}`);
});

test("a place takes no backups of a second database, and a restored one goes on in it", async () => {
  const other = { ...settings, DATABASE_URL: `file:${folder}/other.db` };
  assert.is((await runIn(["workspace", "create", "--name", "Other"], other)).code, 0);
  const before = await filesIn(place);
  const { code, said } = await runIn(["backup", "now"], other);
  assert.is(code, 1);
  assert.match(said, /^promptledger: \S+ has the backups of another database\. Set BACKUP_TO to a place of its own$/m);
  assert.equal(await filesIn(place), before);
  const { url } = fresh();
  assert.is((await runIn(["restore", "latest"], { ...settings, DATABASE_URL: url })).code, 0);
  await backUp({ DATABASE_URL: url });
});

const spoilt: [name: string, spoil: (bytes: Buffer) => Buffer, error: RegExp][] = [
  [
    "whose end is missing",
    (bytes) => bytes.subarray(0, bytes.length - 100),
    /cannot be restored: it is damaged or cut off: /,
  ],
  [
    "with a flipped bit",
    (bytes) => {
      const flipped = Buffer.from(bytes);
      flipped[Math.floor(flipped.length / 2)]! ^= 4;
      return flipped;
    },
    /cannot be restored: it is damaged or cut off: /,
  ],
  [
    "that is empty",
    () => Buffer.alloc(0),
    /cannot be restored: it is (damaged or cut off|not a promptledger database)/,
  ],
];

for (const [name, spoil, error] of spoilt) {
  test(`a backup ${name} is refused in one line, and the database stays as it was`, async () => {
    const good = (await filesIn(place)).at(-1)!;
    const bad = "promptledger-20300101T000000Z.db.gz";
    await writeFile(`${place}/${bad}`, spoil(await readFile(`${place}/${good}`)));
    const before = await readFile(`${folder}/ledger.db`);
    for (const args of [["backup", "check", bad], ["restore", `${place}@2031-01-01`], ["restore", `${place}/${bad}`]]) {
      const { code, out, said } = await runIn(args, settings);
      assert.equal([code, out], [1, ""]);
      assert.match(said.trimEnd(), error);
      assert.match(said, /^promptledger: [^\n]+\n$/);
    }
    await rm(`${place}/${bad}`);
    assert.ok(before.equals(await readFile(`${folder}/ledger.db`)));
    assert.equal((await readdir(folder)).filter((name) => /part|replaced/.test(name)), []);
  });
}

test("with a key, backups are encrypted, and only that key opens them", async () => {
  for (const name of ["one", "two"]) {
    await writeFile(`${folder}/${name}.key`, `${name === "one" ? "01" : "02"}`.repeat(32));
  }
  const keyed = (name: string) => ({ ...settings, BACKUP_KEY_FILE: `${folder}/${name}.key` });
  const { name } = await backUp(keyed("one"));
  assert.match(name, /Z\.db\.gz\.age$/);
  assert.is((await runIn(["backup", "check", name], keyed("one"))).code, 0);
  for (const source of [`${place}/${name}`, "latest"]) {
    const { url } = fresh();
    assert.is((await runIn(["restore", source], { ...keyed("one"), DATABASE_URL: url })).code, 0);
    const other = await runIn(["restore", source], keyed("two"));
    assert.match(
      other.said,
      /^promptledger: .* cannot be restored: it was encrypted with another key than that of BACKUP_KEY_FILE\n$/,
    );
    const none = await runIn(["restore", source], settings);
    assert.match(
      none.said,
      /^promptledger: .* cannot be restored: it is encrypted\. Set BACKUP_KEY_FILE to the file with its key\n$/,
    );
    assert.equal([other.code, none.code], [1, 1]);
  }
  await rm(`${place}/${name}`);
  await backUp();
});

const refusals: [name: string, args: string[], env: Record<string, string>, error: RegExp][] = [
  ["a place that is not set", ["backup", "now"], { BACKUP_TO: "" }, /Set BACKUP_TO to the place of the backups/],
  [
    "a folder that is not there",
    ["backup", "now"],
    { BACKUP_TO: `${folder}/no` },
    /The folder \S+no \(BACKUP_TO\) does not exist$/m,
  ],
  [
    "a folder in an argument that is not there",
    ["restore", `${folder}/no@2031-01-01`],
    {},
    /The folder \S+no \(BACKUP\) does not exist$/m,
  ],
  ["the newest of none", ["restore", `${folder}@latest`], {}, /: \S+ has no backups$/m],
  [
    "a file as a folder",
    ["backup", "list"],
    { BACKUP_TO: `${folder}/ledger.db` },
    /\(BACKUP_TO\) cannot be read: .*ENOTDIR/,
  ],
  [
    "a database that is not there",
    ["backup", "now"],
    { DATABASE_URL: `file:${folder}/no.db` },
    /no.db \(DATABASE_URL\) does not exist/,
  ],
  [
    "a time before all backups",
    ["restore", `${place}@2019-01-01`],
    {},
    /has no backup from before 2019-01-01T00:00:00.000Z\. The oldest is /,
  ],
  [
    "a name that is not there",
    ["backup", "check", "promptledger-20190101T000000Z.db.gz"],
    {},
    /has no backup promptledger-2019/,
  ],
  ["what is no time", ["restore", `${place}@yesterday`], {}, /BACKUP must be a time such as/],
  [
    "an interval of nothing",
    ["backup", "now"],
    { BACKUP_EVERY: "0m" },
    /BACKUP_EVERY must be a duration from 1m to 31d/,
  ],
  ["rules that say nothing", ["backup", "now"], { BACKUP_KEEP: "all" }, /BACKUP_KEEP must be rules such as 24 hourly/],
  [
    "a database on a server",
    ["backup", "now"],
    { DATABASE_URL: "http://127.0.0.1:1" },
    /BACKUP_TO needs a database in a file/,
  ],
];

for (const [name, args, env, error] of refusals) {
  test(`refuses ${name}`, async () => {
    const { code, said } = await runIn(args, { ...settings, ...env });
    assert.is(code, 1);
    assert.match(said, error);
  });
}

test("one backup waits for another, and both are kept by their second", async () => {
  const two = await Promise.all([1, 2].map(() => backUp({ BACKUP_KEEP: "2 latest" }, true)));
  assert.is(new Set(two.map(({ name }) => name)).size, 2);
  assert.equal((await filesIn(place)).slice(-2), two.map(({ name }) => name).sort());
});

test("a service makes a backup soon after its start, and logs it", async () => {
  for (const name of await filesIn(place)) await rm(`${place}/${name}`);
  const command = commandOf[currentRuntime]("src/cli.ts");
  // Each backup is made by a process of its own.
  if (currentRuntime === "Deno") command.splice(2, 0, "--allow-run");
  const service = await startProgram([...command, "serve"], { ...settings, PORT: "0" }, /Listening/);
  await until(() => /Made a backup|Backup failed/.test(service.output()));
  const [name] = await filesIn(place);
  assert.ok(service.output().includes(`Made a backup name=${name} bytes=`), service.output());
  assert.is(await service.stop(), 0);
});

const kills = isFull && currentRuntime === "Node" ? 40 : 2;

test("whenever a backup is killed, every listed backup restores, and the next one succeeds", async () => {
  const env = { ...settings, BACKUP_KEEP: "2 latest" };
  const isWhole = createChecks(env, (name) => `${place}/${name}`);
  const start = performance.now();
  await backUp(env);
  const duration = performance.now() - start;
  for (let kill = 0; kill < kills; kill++) {
    const running = startCommand([...commandOf[currentRuntime]("src/cli.ts"), "backup", "now"], env);
    await new Promise((resolve) => setTimeout(resolve, duration * (0.3 + 0.8 * kill / kills)));
    await running.stop("SIGKILL");
    const listed = (await runIn(["backup", "list", "--json"], env)).json as Made[];
    assert.ok(listed.length > 0);
    for (const { name } of listed) assert.is(await isWhole(name), true);
  }
  const { name } = await backUp(env);
  assert.ok((await filesIn(place)).includes(name));
  assert.ok((await filesIn(place)).every((name) => !name.endsWith(".part")));
});

test.run();
