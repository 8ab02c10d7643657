// With a key, a backup counts only for what the key proves: which database it is of, and when its state was.
// Runs on every runtime in CI.
import { createReadStream } from "node:fs";
import { copyFile, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { execFileSync } from "node:child_process";
import { gunzipSync, gzipSync } from "node:zlib";
import { Decrypter, Encrypter, identityToRecipient } from "age-encryption";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { decrypt } from "../../src/runtime/backups/backup-encryption.ts";
import { findBackupKey, identityOf } from "../../src/runtime/backups/backup-key.ts";
import { isEncryptedName, nameOf, timeOf } from "../../src/runtime/backups/backup-names.ts";
import { createFolder } from "../conformance/processes.ts";
import { encryptAes } from "../runtime/aes-backup.ts";
import { currentRuntime } from "../runtimes.ts";
import { runIn } from "./places.ts";

const test = suite(`the origin of backups on ${currentRuntime}`);

const { path: folder, remove } = await createFolder();
test.after(remove);

const keyFile = `${folder}/backup.key`;
await writeFile(keyFile, "07".repeat(32));
const key = (await findBackupKey(keyFile))!;

/** A database with a place for its backups. */
async function createWorld(name: string) {
  // Databases of helpers are copies of one, which count as one.
  const url = `file:${folder}/${name}.db`;
  assert.is((await runIn(["workspace", "create", "--name", name], { DATABASE_URL: url })).code, 0);
  const place = `${folder}/${name}`;
  await mkdir(place);
  const plain = { DATABASE_URL: url, BACKUP_TO: place, BACKUP_KEEP: "100 latest" };
  const keyed = { ...plain, BACKUP_KEY_FILE: keyFile };
  const run = (args: string[], env: Record<string, string>) => runIn(args, env);
  return {
    place,
    plain,
    keyed,
    run,
    async backUp(env: Record<string, string>) {
      const { code, said, json } = await run(["backup", "now", "--json"], env);
      assert.is(code, 0, said);
      return (json as { name: string }).name;
    },
  };
}

const own = await createWorld("own"), other = await createWorld("other");
const { place, plain, keyed, run } = own;
const allow = "--allow-unauthenticated";
const later = (ms: number, isEncrypted = true) => nameOf(Date.now() + ms, isEncrypted);
const minute = 60_000, day = 86_400_000;

/** The settings of a restore to a database that does not exist yet. */
let nth = 0;
const fresh = () => ({ ...keyed, DATABASE_URL: `file:${folder}/restored-${nth++}.db` });

/** The database of a world, whole: a connection of this process may still hold a part of its file in the log beside it. */
async function readState(): Promise<Uint8Array> {
  const name = await own.backUp(plain), state = gunzipSync(await readFile(`${place}/${name}`));
  await rm(`${place}/${name}`);
  return state;
}

/** The compressed database in a backup of the place. */
async function contentOf(name: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of decrypt(createReadStream(`${place}/${name}`), key)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The name of a backup as older versions gave it. */
const olderName = (name: string) => name.replace(/\.age$/, ".enc");

/** Each command that takes a backup refuses this one, however it is named, and the database stays as it was. */
async function assertRefused(name: string, cause: RegExp): Promise<void> {
  // A restore replaces the file. A connection of this process may still write its log back into it.
  const before = await stat(`${folder}/own.db`);
  const commands = [
    ["restore", "latest"],
    ["restore", `${place}@latest`],
    ["restore", `${place}@2100-01-01`],
    ["restore", `${place}@${name}`],
    ["restore", `${place}/${name}`],
    ["backup", "check"],
    ["backup", "check", name],
  ];
  for (const args of commands) {
    const { code, out, said } = await run(args, keyed);
    assert.equal([code, out], [1, ""], `${args.join(" ")}: ${said}`);
    assert.match(said, cause);
    assert.match(said, new RegExp(`To take it anyway, name the file and add ${allow}\n$`));
  }
  assert.is((await stat(`${folder}/own.db`)).ino, before.ino);
  assert.equal((await readdir(folder)).filter((file) => /part|own\.db\.replaced/.test(file)), []);
}

/** Whoever names the file and says so may have it all the same. */
async function assertAllowed(name: string): Promise<Record<string, unknown>> {
  for (const args of [["restore", "latest"], ["restore", `${place}@2100-01-01`], ["backup", "check"]]) {
    const { code, said } = await run([...args, allow], fresh());
    assert.is(code, 1);
    assert.match(said, /^promptledger: --allow-unauthenticated needs the name of a file: /);
  }
  assert.is((await run(["backup", "check", name, allow], keyed)).code, 0);
  assert.is((await run(["restore", `${place}@${name}`, allow], fresh())).code, 0);
  const { code, said, json } = await run(["restore", `${place}/${name}`, allow, "--json"], fresh());
  assert.is(code, 0, said);
  return json as Record<string, unknown>;
}

test("a backup is proven by the key, and restore tells when its state was", async () => {
  const name = await own.backUp(keyed), createdAt = timeOf(name)!;
  for (const source of ["latest", `${place}@2100-01-01`, `${place}/${name}`]) {
    const { code, said, json } = await run(["restore", source, "--json"], fresh());
    assert.is(code, 0, said);
    assert.match(said, new RegExp(`^The state is from ${new Date(createdAt).toISOString()}, \\d+[sm] ago\\. `, "m"));
    assert.match(said, /The database was last used at 20\S+Z$/m);
    const state = json as Record<string, unknown>;
    assert.equal([state.createdAt, state.isAuthenticated], [createdAt, true]);
    assert.ok(typeof state.lastUsedAt === "number" && state.lastUsedAt <= createdAt + 1000);
  }
  // A copy may have any name that is no backup's.
  await copyFile(`${place}/${name}`, `${folder}/copy.bin`);
  const { code, json } = await run(["restore", `${folder}/copy.bin`, "--json"], fresh());
  assert.equal([code, (json as { createdAt: number }).createdAt], [0, createdAt]);
});

test("a plain backup that was put into the place is refused, and counts for nothing", async () => {
  const planted = await other.backUp(other.plain), name = later(minute, false);
  await copyFile(`${other.place}/${planted}`, `${place}/${name}`);
  await assertRefused(name, /cannot be restored: it is not encrypted although BACKUP_KEY_FILE is set/);
  const list = await run(["backup", "list"], keyed);
  assert.match(list.said, /^1 backup is not encrypted\. With BACKUP_KEY_FILE, restore refuses such$/m);
  assert.is((await run(["backup", "list"], plain)).said, "");
  // It takes no place of a rule.
  const [encrypted] = (await readdir(place)).filter((file) => file.endsWith(".age"));
  await writeFile(`${place}/${later(-1000, false)}`, "");
  const next = await own.backUp({ ...keyed, BACKUP_KEEP: "2 latest" });
  assert.equal((await readdir(place)).filter((file) => file.endsWith(".age")).sort(), [encrypted, next].sort());
  assert.equal((await assertAllowed(name)).isAuthenticated, false);
  for (const file of await readdir(place)) if (file.endsWith(".gz")) await rm(`${place}/${file}`);
});

test("a plain database file needs the option too", async () => {
  const file = `${folder}/plain-copy.db`;
  assert.is((await run(["backup", file], keyed)).code, 0);
  assert.match((await run(["restore", file], fresh())).said, /it is not encrypted although BACKUP_KEY_FILE is set/);
  assert.is((await run(["restore", file, allow], fresh())).code, 0);
  assert.is((await run(["restore", file], { ...plain, DATABASE_URL: fresh().DATABASE_URL })).code, 0);
});

test("an old encrypted backup under a newer name is refused", async () => {
  const name = await own.backUp(keyed), renamed = later(minute);
  await copyFile(`${place}/${name}`, `${place}/${renamed}`);
  const inner = name.replace(".gz.age", "");
  await assertRefused(renamed, new RegExp(`cannot be restored: it is ${inner} under another name`));
  const state = await assertAllowed(renamed);
  assert.equal([state.createdAt, state.isAuthenticated], [timeOf(name), false]);
  await rm(`${place}/${renamed}`);
});

test("a backup of another database with the same key is refused where there is one to lose, or the place has a mark", async () => {
  const name = await other.backUp({ ...other.keyed });
  const moved = `${place}/${name}`;
  for (const file of await readdir(place)) if (file.endsWith(".age")) await rm(`${place}/${file}`);
  await copyFile(`${other.place}/${name}`, moved);
  await assertRefused(name, /cannot be restored: it is a backup of another database/);
  assert.match((await run(["restore", "latest"], fresh())).said, /it is a backup of another database/);
  // A file of its own is enough where nothing is replaced.
  assert.is((await run(["restore", moved], fresh())).code, 0);
  assert.is((await assertAllowed(name)).isAuthenticated, true);
  await rm(moved);
});

test("a new service may be replaced before anyone has used it", async () => {
  const name = await own.backUp(keyed), env = fresh();
  // A connection of this process may hold its locks after it is closed.
  assert.is((await run(["migrate"], { DATABASE_URL: `file:${folder}/new.db` })).code, 0);
  assert.is(
    (await run(["backup", env.DATABASE_URL.replace("file:", "")], { DATABASE_URL: `file:${folder}/new.db` })).code,
    0,
  );
  assert.is((await run(["restore", `${place}/${name}`], env)).code, 0);
  const used = { ...keyed, DATABASE_URL: `file:${folder}/used.db` };
  await writeFile(`${folder}/used.db`, await readState());
  assert.is((await run(["restore", `${place}/${name}`], used)).code, 0);
});

test("a backup that an older version encrypted with its name inside is proven by the key too", async () => {
  const latest = await own.backUp(keyed), name = olderName(latest);
  await writeFile(`${place}/${name}`, encryptAes(await contentOf(latest), key));
  await rm(`${place}/${latest}`);
  for (const source of ["latest", `${place}/${name}`]) {
    const { code, said, json } = await run(["restore", source, "--json"], fresh());
    assert.is(code, 0, said);
    assert.equal(
      [(json as { isAuthenticated: boolean }).isAuthenticated, (json as { createdAt: number }).createdAt],
      [true, timeOf(latest)],
    );
  }
  const renamed = olderName(later(minute));
  await copyFile(`${place}/${name}`, `${place}/${renamed}`);
  await assertRefused(renamed, /cannot be restored: it is promptledger-\w+\.db under another name/);
  await rm(`${place}/${renamed}`);
  // Rules count it beside the others.
  const next = await own.backUp({ ...keyed, BACKUP_KEEP: "2 latest" });
  assert.equal((await readdir(place)).filter(isEncryptedName).sort(), [name, next]);
});

test("a backup that was encrypted with age for the public half of the key is refused", async () => {
  const encrypter = new Encrypter();
  encrypter.addRecipient(await identityToRecipient(identityOf(key)));
  const name = later(minute);
  await writeFile(`${place}/${name}`, await encrypter.encrypt(gzipSync(await readState())));
  for (
    const args of [["restore", "latest"], ["restore", `${place}/${name}`, allow], ["backup", "check", name, allow]]
  ) {
    const { code, said } = await run(args, fresh());
    assert.is(code, 1);
    assert.match(said, /cannot be restored: nothing proves who encrypted it: /);
  }
  await rm(`${place}/${name}`);
});

test("a backup of an older version stays readable, unless its name says more than a day too much", async () => {
  const database = await readState();
  const name = olderName(later(minute));
  await writeFile(`${place}/${name}`, encryptAes(gzipSync(database), key));
  const { code, said, json } = await run(["restore", "latest", "--json"], fresh());
  assert.is(code, 0, said);
  assert.match(said, /^An older version encrypted it: nothing proves its name and its time$/m);
  assert.is((json as { isAuthenticated: boolean }).isAuthenticated, false);
  const renamed = olderName(later(2 * day));
  await rename(`${place}/${name}`, `${place}/${renamed}`);
  await assertRefused(
    renamed,
    /nothing proves its name, and its database was last used at \S+, long before the time in it/,
  );
  await assertAllowed(renamed);
  await rm(`${place}/${renamed}`);
});

test("a state from the future, and one that is not the newest, is said", async () => {
  const name = await own.backUp(keyed);
  const [oldest] = (await readdir(place)).filter((file) => file.endsWith(".age")).sort();
  assert.is.not(oldest, name);
  for (const source of [`${place}/${oldest}`, `${place}@${oldest}`]) {
    const { said } = await run(["restore", source], fresh());
    assert.match(said, new RegExp(`^It is not the newest: ${name} is from `, "m"));
  }
  assert.not.match((await run(["restore", "latest"], fresh())).said, /newest/);
  const { said, code } = await run(["backup", "now"], plain);
  assert.is(code, 0, said);
  const ahead = later(day, false), [last] = (await readdir(place)).filter((file) => file.endsWith(".gz"));
  await rename(`${place}/${last}`, `${place}/${ahead}`);
  // Without a key nothing is proven, and the name that the content has is said.
  const restored = await run(["restore", `${place}/${ahead}`], { ...plain, DATABASE_URL: fresh().DATABASE_URL });
  assert.is(restored.code, 0, restored.said);
  assert.match(restored.said, new RegExp(`^It is ${last!.replace(".gz", "")} under another name$`, "m"));
  await writeFile(`${place}/${ahead}`, gzipSync(await readState()));
  const future = await run(["restore", `${place}/${ahead}`], { ...plain, DATABASE_URL: fresh().DATABASE_URL });
  assert.match(future.said, /^The state is from \S+, which has not come yet by the clock of this machine/m);
  await rm(`${place}/${ahead}`);
});

test("the key that is printed opens a backup with age and gunzip", async () => {
  const name = await own.backUp(keyed), printed = await runIn(["backup", "key"], { BACKUP_KEY_FILE: keyFile });
  assert.equal([printed.code, printed.said, printed.out], [0, "", `${identityOf(key)}\n`]);
  const decrypter = new Decrypter();
  decrypter.addIdentity(printed.out.trim());
  const content = gunzipSync(await decrypter.decrypt(await readFile(`${place}/${name}`)));
  assert.is(content.subarray(0, 15).toString(), "SQLite format 3");
  // The key that is printed is a key file, too.
  await writeFile(`${folder}/printed.key`, printed.out);
  assert.is((await run(["backup", "check", name], { ...keyed, BACKUP_KEY_FILE: `${folder}/printed.key` })).code, 0);
  const { json } = await runIn(["backup", "key", "--json"], { BACKUP_KEY_FILE: keyFile });
  assert.equal(json, { identity: identityOf(key) });
  const none = await runIn(["backup", "key"], {});
  assert.equal([none.code, none.out], [1, ""]);
  assert.match(none.said, /Set BACKUP_KEY_FILE to the file with the key of the backups/);
});

test("gunzip opens a plain backup, and restores its name", async () => {
  const name = await own.backUp(plain);
  assert.is(gunzipSync(await readFile(`${place}/${name}`)).subarray(0, 15).toString(), "SQLite format 3");
  await copyFile(`${place}/${name}`, `${folder}/any.gz`);
  await utimes(`${folder}/any.gz`, 0, 0);
  execFileSync("gunzip", ["--name", "any.gz"], { cwd: folder });
  assert.ok((await readdir(folder)).includes(name.replace(".gz", "")));
});

test.run();
