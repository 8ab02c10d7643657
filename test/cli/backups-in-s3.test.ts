// Backups in a bucket of a real server, by commands, which are killed.
// Runs on every runtime in CI.
import { rm, writeFile } from "node:fs/promises";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createFolder, runFile, startCommand, startProgram, startService, until } from "../conformance/processes.ts";
import { audit, createSeededDatabase } from "../faults/audit.ts";
import { emptyOutcomes, startLoad } from "../faults/load.ts";
import { refuse, startBucket } from "../runtime/bucket.ts";
import type { Fault } from "../runtime/bucket.ts";
import { startProxy } from "../runtime/raw-proxy.ts";
import { commandOf, currentRuntime } from "../runtimes.ts";
import { createChecks } from "./backup-checks.ts";
import { runIn } from "./places.ts";

const test = suite(`backups in S3 on ${currentRuntime}`);

const { path: folder, remove } = await createFolder();
const bucket = await startBucket(`${folder}/bucket`);
test.after(async () => {
  await bucket.stop();
  await remove();
});

const seeded = await createSeededDatabase(`file:${folder}/ledger.db`);
const keyFile = `${folder}/backup.key`;
await writeFile(keyFile, "0f".repeat(32));
const settings = { ...bucket.env, DATABASE_URL: seeded.url, BACKUP_KEY_FILE: keyFile };
const cli = (args: string[], env = {}) => runFile(currentRuntime, "src/cli.ts", args, { ...settings, ...env });

type Listed = { name: string; createdAt: number };

const list = async () => (await runIn(["backup", "list", "--json"], settings)).json as Listed[];

test("after the disk is gone, the newest backup restores with all that was answered before it", async () => {
  const service = await startService(currentRuntime, { DATABASE_URL: seeded.url });
  const load = startLoad({ bases: [service.url], connections: 8, tenant: seeded.tenant, thinkMs: 20 });
  while (load.outcomes.recorded.length < 100) await load.untilSuccess();
  const recorded = [...load.outcomes.recorded];
  const { code, said } = await cli(["backup", "now"]);
  assert.is(code, 0, said);
  assert.match(said, /Backed up .* to promptledger-\w+\.db\.gz\.age in s3:\/\/backups\/prod\/ledger in /);
  await load.stop();
  assert.is(await service.stop("SIGKILL"), "SIGKILL");
  const [newest] = await list();
  const { BACKUP_TO } = settings;
  for (const source of [`${BACKUP_TO}@${new Date().toISOString()}`, `${BACKUP_TO}/${newest!.name}`, "latest"]) {
    for (const suffix of ["", "-wal", "-shm"]) await rm(`${folder}/ledger.db${suffix}`, { force: true });
    const restored = await (source === "latest" ? cli(["restore", source]) : runIn(["restore", source], settings));
    assert.is(restored.code, 0, restored.said);
    const { lost, faults } = await audit(seeded, { ...emptyOutcomes(), recorded });
    assert.equal([lost, faults], [0, []]);
  }
});

test("the proxies of the environment lead to the bucket, on each runtime", async () => {
  const { port } = new URL(bucket.env.AWS_ENDPOINT_URL_S3), proxy = await startProxy(() => Number(port));
  const env = { AWS_ENDPOINT_URL_S3: "http://storage.test", HTTP_PROXY: proxy.url, http_proxy: proxy.url };
  const { code, out, said } = await cli(["backup", "now", "--json"], env);
  assert.is(code, 0, said);
  const { name } = JSON.parse(out) as { name: string };
  assert.ok(proxy.heads.some((head) => head.startsWith("PUT http://storage.test/backups/prod/ledger/")));
  assert.is((await cli(["backup", "check", name], env)).code, 0);
  const count = proxy.heads.length;
  const direct = await cli(["backup", "list"], { ...env, NO_PROXY: "storage.test", no_proxy: "storage.test" });
  assert.match(direct.said, /s3:\/\/backups\/prod\/ledger cannot be listed: /);
  assert.is(proxy.heads.length, count);
  proxy.close();
});

test("the service on another machine finds the place by the settings alone", async () => {
  const { url } = { url: `file:${folder}/elsewhere.db` };
  const { BACKUP_TO: _, ...env } = settings;
  const { code, said } = await cli(["restore", `${bucket.env.BACKUP_TO}@latest`], {
    ...env,
    BACKUP_TO: "",
    DATABASE_URL: url,
  });
  assert.is(code, 0, said);
});

const refusals: [name: string, env: Record<string, string>, error: RegExp][] = [
  ["a bucket that has no name", { BACKUP_TO: "s3://" }, /BACKUP_TO must be s3:\/\/bucket or s3:\/\/bucket\/prefix/],
  ["no key", { AWS_ACCESS_KEY_ID: "" }, /AWS_ACCESS_KEY_ID must be set for a place in S3/],
  [
    "http without encryption",
    { AWS_ENDPOINT_URL_S3: "http://10.0.0.9", BACKUP_KEY_FILE: "" },
    /AWS_ENDPOINT_URL_S3 must be an https: URL, as http: needs BACKUP_KEY_FILE/,
  ],
  [
    "an endpoint with a password",
    { AWS_ENDPOINT_URL_S3: "https://a:b@s3.example" },
    /AWS_ENDPOINT_URL_S3 must not contain a user name/,
  ],
  ["a wrong secret", { AWS_SECRET_ACCESS_KEY: "hunter2hunter2" }, /cannot be listed: 403 SignatureDoesNotMatch/],
];

for (const [name, env, error] of refusals) {
  test(`refuses ${name}, and repeats no secret`, async () => {
    const { code, said } = await runIn(["backup", "now"], { ...settings, ...env });
    assert.is(code, 1);
    assert.match(said, error);
    assert.not.match(said, /hunter2|a:b@/);
  });
}

test("a key that may not remove leaves a backup, and a failure that says so", async () => {
  const env = { ...settings, BACKUP_KEEP: "1 latest" };
  assert.is((await runIn(["backup", "now"], env)).code, 0);
  const kept: Fault = ({ method, url }, response) =>
    method === "DELETE" && !url!.includes("uploadId=") && refuse(response, 403, "AccessDenied", "No \u001b[2J");
  const { code, said, json } = await bucket.during(kept, () => runIn(["backup", "now", "--json"], env));
  const { name, removed, unremoved } = json as { name: string; removed: string[]; unremoved: string };
  assert.equal([code, removed], [1, []]);
  assert.match(
    unremoved,
    /^Backups that no rule keeps cannot be removed: s3:\S+ cannot be changed: 403 AccessDenied\. No \[2J/,
  );
  assert.match(said, `Backed up`);
  assert.match(said, unremoved);
  assert.equal((await list()).map((each) => each.name)[0], name);
  assert.is((await runIn(["backup", "now"], env)).code, 0);
  assert.is((await list()).length, 1);
});

test("a bucket that is full is what the command says", async () => {
  const full: Fault = ({ method }, response) => method === "PUT" && refuse(response, 507, "XMinioStorageFull", "Full");
  const { code, said } = await bucket.during(full, () => runIn(["backup", "now"], settings));
  assert.is(code, 1);
  assert.match(said, /^promptledger: s3:\S+ cannot be written: 507 XMinioStorageFull\. Full$/m);
});

const moments: [name: string, isNow: (method: string, url: string) => boolean][] = [
  ["begins to upload", (method, url) => method === "POST" && url.endsWith("?uploads=")],
  ["uploads a part", (method) => method === "PUT"],
  ["completes the upload", (method, url) => method === "POST" && url.includes("uploadId=")],
  ["removes what no rule keeps", (method, url) => method === "DELETE" && !url.includes("uploadId=")],
];

for (const [name, isNow] of moments) {
  // The others are the same on every runtime.
  if (!name.startsWith("completes") && (!isFull || currentRuntime !== "Node")) continue;
  test(`a backup that is killed when it ${name} leaves nothing that does not restore`, async () => {
    const env = { ...settings, BACKUP_KEEP: "1 latest" };
    const before = await list();
    for (const outcome of [true, "lost"] as const) {
      const running = startCommand([...commandOf[currentRuntime]("src/cli.ts"), "backup", "now"], env);
      let ending: Promise<unknown> | undefined;
      // The request reaches the server, or does not.
      const kill: Fault = ({ method, url }) => {
        if (!isNow(method!, url!)) return false;
        ending ??= running.stop("SIGKILL");
        return outcome;
      };
      await bucket.during(kill, () => running.ended);
      assert.ok(ending !== undefined, running.said());
      const listed = await list();
      assert.ok(listed.length > 0);
      const older = new Set(before.map(({ name }) => name));
      for (const { name } of listed.filter(({ name }) => !older.has(name))) {
        assert.is((await runIn(["backup", "check", name], settings)).code, 0);
      }
    }
    assert.is((await cli(["backup", "now"], { BACKUP_KEEP: "1 latest" })).code, 0);
    assert.is((await list()).length, 1);
  });
}

test.full("a service that stops ends the backup that it makes", async () => {
  const command = commandOf[currentRuntime]("src/cli.ts");
  if (currentRuntime === "Deno") command.splice(2, 0, "--allow-run");
  let isUploading = false;
  const silent: Fault = ({ method }) => method === "PUT" && (isUploading = true);
  // A place without backups needs one at once.
  const env = { ...settings, BACKUP_TO: "s3://backups/prod/stopped" };
  await bucket.during(silent, async () => {
    const service = await startProgram([...command, "serve"], { ...env, PORT: "0" }, /Listening/);
    await until(() => isUploading);
    assert.is(await service.stop(), 0);
  });
  const { code, said } = await cli(["backup", "now"]);
  assert.is(code, 0);
  // No other process has the lock.
  assert.not.match(said, "Waiting");
});

const kills = currentRuntime === "Node" ? 30 : 2;

test.full("whenever a backup is killed, every listed backup restores, and the next one succeeds", async () => {
  // Each backup removes one, so that some are killed while they do.
  const env = { ...settings, BACKUP_KEEP: "2 latest" };
  let begin = () => {};
  /** Starts a backup. `begun` resolves with its first request: before that it is a program that starts. */
  function backUp() {
    const begun = new Promise<void>((resolve) => begin = resolve);
    const running = startCommand([...commandOf[currentRuntime]("src/cli.ts"), "backup", "now"], env);
    return { ...running, begun: Promise.race([begun, running.ended]) };
  }
  const isWhole = createChecks(settings, (name) => `${folder}/bucket/backups/prod/ledger/${name}._S3rver_object`);
  const see: Fault = () => {
    begin();
    return false;
  };
  await bucket.during(see, async () => {
    const first = backUp();
    await first.begun;
    const start = performance.now();
    assert.is(await first.ended, 0);
    const span = 1.2 * (performance.now() - start);
    for (let kill = 0; kill < kills; kill++) {
      const running = backUp();
      await running.begun;
      await new Promise((resolve) => setTimeout(resolve, span * kill / kills));
      await running.stop("SIGKILL");
      const listed = await list();
      assert.ok(listed.length > 0);
      for (const { name } of listed.slice(0, 2)) assert.is(await isWhole(name), true);
    }
    const last = backUp();
    assert.is(await last.ended, 0, last.said());
  });
  assert.is((await list()).length, 2);
});

test.run();
