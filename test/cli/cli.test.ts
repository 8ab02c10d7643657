// Runs on every runtime in CI.
import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { version } from "../../src/common/version.ts";
import { findCommit } from "../../src/runtime/commit.ts";
import { describeCreated } from "../../src/cli/frame/local.ts";
import { migrations } from "../../src/database/migrations.ts";
import { adminToken, goodBody, promptFile } from "../helpers.ts";
import { pathOf } from "../runtimes.ts";
import { openPlaces, runIn, words } from "./places.ts";
import type { Data } from "./places.ts";

const migrationNames = migrations.map(({ name }) => name);

const test = suite("command line");

const { here, everywhere, folder, url, DATABASE_URL, request } = await openPlaces(test);
const promptPath = join(folder, "prompt.json");

/** Runs locally, with other settings. */
const cliWith = (env: Record<string, string>, args: string[]) => runIn(args, { DATABASE_URL, ...env });

everywhere("creates, lists and changes workspaces", async ({ cli, data }) => {
  const made = await data(words`workspace create --name Näme --upgrade-url https://example.com/up`);
  assert.match(made.id!, /^ws_/);
  const named = await cli(words`workspace create --name Mine --limit 5 --status 7=late --json`);
  assert.is(
    named.said,
    "It accepts 5 requests per month, and its statuses are 7=late. workspace update changes both\n",
  );
  const unnamed = await cli(words`workspace create --name Mine --status ${""} --json`);
  assert.equal((unnamed.json as Data).statuses, []);
  assert.match(unnamed.said, "It accepts 1,000,000 requests per month, and names no status. ");
  assert.equal([made.name, made.monthlyLimit, made.upgradeUrl], ["Näme", 1_000_000, "https://example.com/up"]);
  const changed = await data(words`workspace update ${made.id!} --limit 5 --upgrade-url ${""}`);
  assert.equal(changed, { ...made, monthlyLimit: 5, upgradeUrl: null });
  const kept = await cli(words`workspace update ${made.id!} --keep-records 90d --keep-calls 30d`);
  assert.is(kept.said, "Records go with their calls, after 30d\n");
  await data(words`workspace update ${made.id!} --keep-records forever --keep-calls forever`);
  const renamed = await data(words`workspace update ${made.id!} --name New`);
  assert.equal(renamed, { ...changed, name: "New" });
  const all = await data<Data[]>(words`workspace list`);
  assert.ok(all.some(({ id, name }) => id === made.id && name === "New"));
});

everywhere("shows a key's secret once, and lists its first characters", async ({ cli, setUp }) => {
  const { workspaceId, key, keyId } = await setUp();
  const { out } = await cli(words`key list --workspace ${workspaceId} --json`);
  assert.not.ok(out.includes(key));
  const [listed] = JSON.parse(out);
  assert.equal([listed.id, listed.name, listed.prefix, listed.revokedAt], [keyId, "test", key.slice(0, 9), null]);
});

everywhere("revokes a key, and a second time changes nothing", async ({ data, setUp }) => {
  const { key, keyId, deployId } = await setUp();
  assert.is((await request(key, deployId)).status, 200);
  const { revokedAt } = await data(words`key revoke ${keyId}`);
  assert.ok(revokedAt! > 0);
  assert.is((await request(key, deployId)).status, 401);
  assert.is((await data(words`key revoke ${keyId}`)).revokedAt, revokedAt);
});

everywhere("creates restricted keys", async ({ data, setUp }) => {
  const { workspaceId, deployId } = await setUp();
  const reader = await data(words`key create --workspace ${workspaceId} --read-only`);
  assert.equal([reader.readOnly, reader.submitOnly, reader.deployId], [true, false, null]);
  const bound = await data(words`key create --workspace ${workspaceId} --deploy ${deployId} --submit-only`);
  assert.equal([bound.readOnly, bound.submitOnly, bound.deployId], [false, true, deployId]);
});

everywhere("creates keys that expire", async ({ cli, data, setUp }) => {
  const { workspaceId, deployId } = await setUp();
  const expired = await cli(words`key create --workspace ${workspaceId} --expires 2020-01-01T00:00:00Z --json`);
  assert.is(expired.code, 1);
  assert.match(expired.said, "--expires must be in the future");
  const lasting = await data(words`key create --workspace ${workspaceId} --expires 2999-01-31`);
  assert.is((await request(lasting.key!, deployId)).status, 200);
  const short = await cli(words`key create --workspace ${workspaceId} --expires 90d --json`);
  const { expiresAt: at } = short.json as Data;
  assert.ok(Math.abs(at! - Date.now() - 90 * 86_400_000) < 3_600_000);
  const until = new Date(at!).toISOString();
  assert.is(short.said, `Store the key now: it is not shown again. It expires at ${until}\n`);
});

everywhere("pushes from a file and from stdin, and skips unchanged content", async ({ cli, data, setUp }) => {
  const { workspaceId, promptId } = await setUp();
  const push = words`prompt push ${promptPath} --workspace ${workspaceId} --prompt ${promptId} --json`;
  await writeFile(promptPath, JSON.stringify(promptFile, null, 4));
  const same = await cli(push);
  assert.is((same.json as Data).version, 1);
  assert.match(same.said, "Unchanged: version 1");
  await writeFile(promptPath, JSON.stringify({ ...promptFile, title: "Two" }));
  assert.is(((await cli(push)).json as Data).version, 2);
  const back = await data(words`prompt push - ${push.slice(3, -1)}`, JSON.stringify(promptFile));
  assert.is(back.version, 3);
  const versions = await data<Data[]>(words`prompt versions ${promptId}`);
  assert.equal(versions.map(({ version, title }) => [version, title]), [[3, "Greeting"], [2, "Two"], [1, "Greeting"]]);
  const list = await data<Data[]>(words`prompt list --workspace ${workspaceId}`);
  assert.equal(list.map(({ id, title, latestVersion }) => [id, title, latestVersion]), [[promptId, "Greeting", 3]]);
});

everywhere("pushes the JSON that prompt show, prompt push and the service print", async ({ cli, setUp }) => {
  const { workspaceId, promptId, deployId, key } = await setUp();
  const llmConfig = '{"seed":12345678901234567890,"temperature":1.0,"__proto__":{"b":1,"a":1e400}}';
  const messages = '[{"role":"user","content":"שלום {{name}} 👋","x":1.0}]';
  const source = `{"title":"Exact","messages":${messages},"llmConfig":${llmConfig}}`;
  const push = words`prompt push - --workspace ${workspaceId}`;
  const pushed = await cli([...push, "--deploy", deployId, "--force", "--json"], source);
  const shown = await cli(words`prompt show ${promptId} --json`);
  const served = await request(key, deployId);
  for (const text of [pushed.out, shown.out, served.text]) {
    const { code, said } = await cli([...push, "--prompt", promptId], text);
    assert.is(code, 0, said);
    assert.match(said, "Unchanged: version 2");
  }
});

everywhere("push --deploy creates the prompt and the deployment, and then reuses them", async ({ cli, data }) => {
  const { id: workspaceId } = await data(words`workspace create --name CI`);
  const push = words`prompt push - --workspace ${workspaceId!} --deploy live --name ci`;
  type Pushed = { id: string; version: number; deployment: { id: string; currentVersion: number } };
  const first = await data<Pushed>(push, JSON.stringify(promptFile));
  const second = await data<Pushed>(push, JSON.stringify({ ...promptFile, title: "Two" }));
  assert.equal([first.version, second.version], [1, 2]);
  assert.equal([second.id, second.deployment.id], [first.id, first.deployment.id]);
  assert.is(second.deployment.currentVersion, 2);
  const scope = words`prompt push - --workspace ${workspaceId!}`;
  const other = await data([...scope, "--name", "other", "--new"], JSON.stringify(promptFile));
  const three = JSON.stringify({ ...promptFile, title: "Three" });
  const clash = await cli([...scope, "--prompt", other.id!, "--deploy", second.deployment.id], three);
  assert.is(clash.code, 1);
  assert.match(clash.said, "serves another prompt");
  assert.is((await data<Data[]>(words`prompt versions ${other.id!}`)).length, 1);
});

everywhere("a promotion and a rollback say which variables come and go", async ({ cli, data, setUp }) => {
  const { workspaceId, promptId, deployId } = await setUp();
  const messages = [{ role: "system", content: "Greet {{person}} in {{language}}" }];
  const push = words`prompt push - --workspace ${workspaceId} --prompt ${promptId}`;
  await data(push, JSON.stringify({ ...promptFile, messages }));
  const serves = (version: number, before: number) =>
    `greeting@production serves version ${version} from now on (before: ${before})`;
  assert.is(
    (await cli(words`deploy promote ${deployId} --version 2`)).said,
    `${serves(2, 1)}; variables since version 1: added person, language, removed name\n`,
  );
  assert.is(
    (await cli(words`deploy rollback ${deployId}`)).said,
    `${serves(1, 2)}; variables since version 2: added name, removed person, language\n`,
  );
});

everywhere("promotes, deactivates and activates a deployment, and keeps its history", async ({ cli, data, setUp }) => {
  const { workspaceId, promptId, deployId, key } = await setUp();
  const push = words`prompt push - --workspace ${workspaceId} --prompt ${promptId}`;
  await data(push, JSON.stringify({ ...promptFile, title: "Two" }));
  const promoted = await cli(words`deploy promote ${deployId} --version 2 --json`);
  assert.is((promoted.json as Data).currentVersion, 2);
  assert.is(promoted.said, "greeting@production serves version 2 from now on (before: 1)\n");
  const again = await cli(words`deploy promote ${deployId} --version 2`);
  assert.equal([again.code, again.said], [0, "Nothing to change: version 2 is live\n"]);
  assert.is((await data(words`deploy deactivate ${deployId}`)).isActive, false);
  assert.is((await request(key, deployId)).status, 404);
  await data(words`deploy deactivate ${deployId}`);
  assert.is((await data(words`deploy activate ${deployId}`)).isActive, true);
  const history = await data<Data[]>(words`deploy history ${deployId}`);
  assert.equal(history.map(({ revision, action, from, to }) => [revision, action, from, to]), [
    [4, "activated", false, true],
    [3, "deactivated", true, false],
    [2, "promoted", 1, 2],
    [1, "created", null, 1],
  ]);
  const [listed] = await data<Data[]>(words`deploy list --workspace ${workspaceId}`);
  assert.equal([listed!.id, listed!.name, listed!.currentVersion, listed!.isActive], [deployId, "production", 2, true]);
});

everywhere("lists records exactly as they were sent, by session and status", async ({ cli, data, setUp }) => {
  const { key, deployId } = await setUp();
  const properties = '{"trace_id":"4bf9","big":12345678901234567890,"one":1.0,"huge":1e400,"":0,"__proto__":{}}';
  await request(
    key,
    deployId,
    `{"sessionId":"a","status":-3,"content":{"input":"i"},"additional_properties":${properties}}`,
  );
  await request(key, deployId, JSON.stringify(goodBody));
  const { out } = await cli(words`record list --deploy ${deployId} --session a --status=-3 --json`);
  assert.ok(out.includes(`"additional_properties":${properties}`));
  assert.is(JSON.parse(out).length, 1);
  assert.is((await data<Data[]>(words`record list --deploy ${deployId}`)).length, 2);
  assert.is((await data<Data[]>(words`record list --deploy ${deployId} --limit 1`)).length, 1);
  assert.is((await cli(words`record list --deploy ${deployId} --session none --json`)).out, "[]\n");
});

everywhere("of several --where all must hold", async ({ data, setUp }) => {
  const { deployId, key } = await setUp();
  for (const own of [{ tier: "a,b", region: "eu" }, { tier: "a,b" }, { region: "eu" }]) {
    await request(key, deployId, JSON.stringify({ ...goodBody, additional_properties: own }));
  }
  const list = words`record list --deploy ${deployId} --where tier=a,b`;
  assert.is((await data<Data[]>(list)).length, 2);
  assert.is((await data<Data[]>([...list, "--where", "region=eu"])).length, 1);
});

everywhere("lists calls, and shows a month's usage", async ({ data, setUp }) => {
  const { key, workspaceId, deployId } = await setUp();
  await request(key, deployId);
  await request(key, deployId, JSON.stringify(goodBody));
  const calls = await data<Data[]>(words`call list --workspace ${workspaceId}`);
  assert.equal(calls.map(({ operation, number }) => [operation, number]), [["submit", 2], ["read", 1]]);
  assert.is((await data<Data[]>(words`call list --workspace ${workspaceId} --limit 1`)).length, 1);
  const { month, resetTime, lastCallAt, lastCallAtIso: _, keys, costs, ...counts } = await data<
    Record<string, unknown>
  >(
    words`usage --workspace ${workspaceId}`,
  );
  const day = new Date().toISOString().slice(0, 10);
  const days = [{ day, reads: 1, submits: 1 }];
  const others = { reads: 0, submits: 0 };
  assert.equal(counts, { limit: 100, used: 2, remaining: 98, reads: 1, submits: 1, days, others });
  assert.equal((keys as Data[]).map(({ deployId, reads, submits }) => [deployId, reads, submits]), [[deployId, 1, 1]]);
  assert.match(String(month), /^\d{4}-\d\d$/);
  assert.equal([(costs as Data).month, (costs as Data).records], [month, 1]);
  assert.ok(Number(resetTime) > Date.now() / 1000);
  assert.ok(Math.abs(Number(lastCallAt) - Date.now()) < 60_000);
  assert.is((await data(words`usage --workspace ${workspaceId} --month 2020-02`)).resetTime, Date.UTC(2020, 2) / 1000);
});

everywhere("verify exits 0 if the ledger balances", async ({ cli, data, setUp }) => {
  const { key, workspaceId, deployId } = await setUp();
  await request(key, deployId);
  const { balanced, ledgers } = await data<{ balanced: boolean; ledgers: Data[] }>(
    words`verify --workspace ${workspaceId}`,
  );
  assert.equal([balanced, ledgers.length, ledgers[0]!.used, ledgers[0]!.calls], [true, 1, 1, 1]);
  const whole = await cli(words`verify`);
  assert.is(whole.code, 0);
  assert.match(whole.out, /^feedback +0 pieces, 0 earlier, 0 waiting$/m);
  assert.match(whole.out, /^damaged +(none|-)$/m);
  assert.not.match(whole.out, /[{}]/);
  assert.match((await cli(words`verify --workspace ${workspaceId}`)).said, "Balanced: 1 of 1 ledgers. Feedback: ");
});

everywhere("verify says so if there is no ledger yet", async ({ cli, setUp }) => {
  const { workspaceId } = await setUp();
  const { code, said } = await cli(words`verify --workspace ${workspaceId}`);
  assert.equal([code, said], [0, "No ledger yet: no request was accepted. Feedback: 0 pieces, 0 earlier, 0 waiting\n"]);
});

everywhere("verify exits 1 if a ledger does not balance, and shows it", async ({ cli, setUp }) => {
  const { key, workspaceId, deployId } = await setUp();
  await request(key, deployId);
  const { openDatabase } = await import("../../src/database/file/open.ts");
  const database = openDatabase(DATABASE_URL, "manage");
  await database.write([{ sql: "update quota_usage set reads = 2 where workspace_id = ?", args: [workspaceId] }]);
  const { code, said, json } = await cli(words`verify --workspace ${workspaceId} --json`);
  assert.is(code, 1);
  assert.match(said, "Balanced: 0 of 1 ledgers");
  assert.is((json as { balanced: boolean }).balanced, false);
  await database.write([{ sql: "update quota_usage set reads = 1 where workspace_id = ?", args: [workspaceId] }]);
  database.close();
});

everywhere("verify counts feedback, and exits 1 if any is wrong, and shows it", async ({ cli, setUp }) => {
  const { workspaceId } = await setUp();
  const { openDatabase } = await import("../../src/database/file/open.ts");
  const database = openDatabase(DATABASE_URL, "manage");
  await database.write([{ sql: "insert into feedback values (90000, 'thumb', 'ann', 1, '', 'user', 1, 1)" }]);
  const { code, said } = await cli(words`verify`);
  assert.is(code, 1);
  assert.match(said, "Feedback: 1 piece, 0 earlier, 0 waiting, wrong: position 90000 thumb ann (no_record)");
  assert.is((await cli(words`verify --workspace ${workspaceId}`)).code, 0);
  await database.write([{ sql: "delete from feedback" }]);
  assert.match((await cli(words`verify`)).said, "Feedback: 0 pieces, 0 earlier, 0 waiting");
  database.close();
});

everywhere("verify exits 1 if a row disagrees with the audit log, and shows it", async ({ cli, setUp }) => {
  const { deployId } = await setUp();
  const { openDatabase } = await import("../../src/database/file/open.ts");
  const database = openDatabase(DATABASE_URL, "manage");
  const setActive = (isActive: number) =>
    database.write([{ sql: "update deployments set is_active = ? where id = ?", args: [isActive, deployId] }]);
  await setActive(0);
  const { code, said, out } = await cli(words`verify`);
  assert.is(code, 1);
  assert.match(said, /Audit log: intact, \d+ entries, rows that disagree with it: 1\n$/);
  assert.match(out, new RegExp(`changed +deployment +isActive +\\d+ +${deployId}\n`));
  await setActive(1);
  assert.is((await cli(words`verify`)).code, 0);
  database.close();
});

test("usage says that the quota is used up, and that it can be raised", async () => {
  const path = join(folder, "used-up.db"), used = { DATABASE_URL: `file:${path}` };
  const { json } = await cliWith(used, words`workspace create --name A --limit 0 --json`);
  const { said, out } = await cliWith(used, words`usage`);
  assert.equal([said, out.slice(0, out.indexOf("month "))], [
    "",
    "The quota is used up. Requests are refused with 429. To raise the limit, run:\n\n" +
    `  promptledger workspace update ${(json as Data).id} --limit REQUESTS\n\n`,
  ]);
});

test("migrate says what it applied, and --check what is missing, without creating a database", async () => {
  const path = join(folder, "fresh.db");
  const fresh = { DATABASE_URL: `file:${path}` };
  const before = await cliWith(fresh, words`migrate --check --json`);
  assert.equal([before.code, before.json], [1, { missing: [...migrationNames] }]);
  assert.is(before.said, "The schema is out of date. Run promptledger migrate\n");
  assert.not.ok(await stat(path).catch(() => undefined));
  const first = await cliWith(fresh, words`migrate --json`);
  assert.ok((first.json as { applied: string[] }).applied.includes("001-create-catalog"));
  const applied =
    `Applied ${migrationNames.length} migrations to ${fresh.DATABASE_URL} \\([\\d.]+ kB\\) in [\\d.]+ m?s`;
  assert.match(first.said, new RegExp(`${applied}\n$`));
  const second = await cliWith(fresh, words`migrate --json`);
  const { durationMs, bytes, ...done } = second.json as { durationMs: number; bytes: number };
  assert.equal([durationMs > 0, bytes > 0, done], [true, true, { applied: [], database: fresh.DATABASE_URL }]);
  const upToDate = `The schema of ${fresh.DATABASE_URL} is up to date\n`;
  assert.is(second.said, upToDate);
  const after = await cliWith(fresh, words`migrate --check --json`);
  assert.equal([after.code, after.json, after.said], [0, { missing: [] }, upToDate]);
});

everywhere(
  "without --json data is for people: tables, ISO times, and no control characters",
  async ({ cli, data, setUp }) => {
    const { key, keyId, workspaceId, deployId } = await setUp();
    const body = { ...goodBody, sessionId: "a\u001b[31m\nb", startAt: 0, endAt: Number.MAX_SAFE_INTEGER };
    await request(key, deployId, JSON.stringify(body));
    const strange = '"\\u001b[31mRED\\n":1,"fooAt":-1e300,"barAt":1e400,"resetTime":-1e300,"__proto__":1';
    await request(key, deployId, `${JSON.stringify(goodBody).slice(0, -1)},${strange}}`);
    const all = await cli(words`record list --deploy ${deployId}`);
    assert.not.match(all.out, /[^\P{Cc}\n]/u);
    assert.is(all.out.trimEnd().split("\n").length, 3);
    const { out } = await cli(words`record list --deploy ${deployId} --session ${"a\u001b[31m\nb"}`);
    assert.match(out, /^createdAt +status .* sessionId .* id\n/);
    assert.ok(out.includes("a [31m b"));
    const [strangeOne, one] = await data<Data[]>(words`record list --deploy ${deployId}`);
    assert.not.match((await cli(words`record show ${strangeOne!.id!}`)).out, /[^\P{Cc}\n]/u);
    const shown = (await cli(words`record show ${one!.id!}`)).out;
    assert.match(shown, /^startAt +1970-01-01T00:00:00\.000Z\nendAt +9007199254740991$/m);
    assert.is(out.trimEnd().split("\n").length, 2);
    assert.match((await cli(words`usage --workspace ${workspaceId}`)).out, /^limit +100$/m);
    assert.match(
      (await cli(words`prompt list --workspace ${workspaceId}`)).out,
      /^name +version +live +title +.* id$/m,
    );
    const narrow = await cli(words`call list --workspace ${workspaceId}`, "", { columns: 80 });
    for (const line of narrow.out.split("\n")) assert.ok(line.length <= 80, line);
    assert.ok(narrow.out.includes(`deployId: ${deployId}`) && narrow.out.includes(`keyId: ${keyId}`), narrow.out);
    const empty = await cli(words`call list --workspace ${(await data(["workspace", "create", "--name", "E"])).id!}`);
    assert.equal([empty.out, empty.said], ["", "Nothing to list\n"]);
  },
);

await writeFile(join(folder, "latin1.json"), new Uint8Array([0x7b, 0xff, 0x7d]));
await writeFile(join(folder, "comma.json"), '{\n  "title": "t",\n}\n');
const { workspaceId, promptId, deployId } = await here.setUp();
const other = await here.setUp();
const scope = ["--workspace", workspaceId];

// test/management and test/http/admin state what management refuses. These tests state that the messages name options.
const push = words`prompt push - ${scope}`;
const promptText = JSON.stringify(promptFile);
const refusals: [name: string, args: string[], error: string, input?: string][] = [
  ["an unknown workspace", words`key list --workspace ws_0`, "Workspace ws_0 not found"],
  ["an unknown workspace to verify", words`verify --workspace ws_0`, "Workspace ws_0 not found"],
  ["an unknown version", words`prompt show ${promptId} --version 9`, `Version 9 of prompt ${promptId} not found`],
  ["an unknown deployment's records", words`record list --deploy dep_0`, "Deployment dep_0 not found"],
  ["another's prompt", [...push, "--prompt", other.promptId], `Prompt ${other.promptId} not found`, promptText],
  [
    "a prompt's name",
    words`deploy show greeting`,
    "greeting not found. Give its id, or its reference, NAME@DEPLOYMENT",
  ],
  ["a wrong name", words`workspace delete ${workspaceId} --confirm x`, "--confirm must be the name of workspace"],
  [
    "a push that removes variables",
    words`prompt push - ${scope} --name greeting --deploy production`,
    "To publish anyway, use --force\n",
    JSON.stringify({ ...promptFile, messages: [] }),
  ],
  ["a file that is not there", words`prompt push ${folder}/none.json ${scope}`, "none.json cannot be read"],
  ["a file that is not UTF-8", words`prompt push ${folder}/latin1.json ${scope}`, "it is not UTF-8"],
  [
    "standard input that is not JSON",
    push,
    "Standard input is not valid JSON: line 2, column 1: expected a name in double quotes, found the end of the text",
    "{\n",
  ],
  [
    "a file that is not JSON",
    words`prompt push ${folder}/comma.json ${scope}`,
    "comma.json is not valid JSON: line 3, column 1: expected a name in double quotes, found }",
  ],
  [
    "a prompt with a field it cannot have",
    push,
    "Unknown field llm. Allowed: name, was, title",
    '{"title":"t","messages":[],"llm":1}',
  ],
  [
    "a prompt with a wrong field",
    push,
    "Standard input: Missing required field messages[0].role",
    '{"title":"t","messages":[{}]}',
  ],
];

for (const [name, args, error, input] of refusals) {
  everywhere(`exits 1 on ${name}, and says why`, async ({ cli }) => {
    const { code, out, said } = await cli([...args, "--json"], input);
    assert.equal([code, out], [1, ""]);
    assert.ok(said.startsWith("promptledger: ") && said.includes(error), said);
  });
}

// arguments.test.ts states how values are read.
const misuses: [name: string, args: string[], error: string][] = [
  ["an unknown command", words`workspace destroy`, "unknown command"],
  [
    "a wrong verb",
    words`workspace lst`,
    "unknown command workspace lst. Did you mean workspace list? See promptledger",
  ],
  ["a noun alone", words`record`, "record needs a verb: list, export, show, delete. See promptledger record"],
  ["help on an unknown noun", words`foo --help`, "unknown command foo"],
  ["help on an unknown verb", words`workspace foo --help`, "unknown command workspace foo"],
  ["an empty name", words`workspace create --name=`, "--name must be a name of 1 to 200 characters"],
  ["a bad name", words`prompt rename greeting --name Greeting`, "--name must be lower-case letters"],
  ["a bad name of a deployment", words`prompt push - ${scope} --deploy Prod`, "--deploy must be lower-case letters"],
  ["an empty id", words`workspace show ${""}`, "WORKSPACE must be the id or the name of a workspace"],
  ["an empty text to look for", words`record list --deploy ${deployId} --text ${""}`, "--text must be a non-empty"],
  ["a bad cursor", words`call list ${scope} --cursor +`, "--cursor must be the nextCursor of an earlier response"],
  ["a bad URL", words`workspace create --name x --upgrade-url x:1`, "--upgrade-url must be an http or https URL"],
  ["a server without http://", words`workspace list --server 127.0.0.1:1`, "Write http:// or https:// in front"],
  ["a key for nothing", words`key create ${scope} --read-only --submit-only`, "--read-only and --submit-only exclude"],
  ["an owner of a workspace", words`token create --name x --role owner ${scope}`, "--role owner is for all workspaces"],
  [
    "an unknown noun",
    words`deployment list`,
    "Commands: workspace, key, token, prompt, deploy, change, record, session, stats, feedback, review, budget, price, call, usage",
  ],
  ["a missing option", words`workspace create`, "Missing --name NAME"],
  ["a missing argument", words`key revoke`, "Missing ID"],
  ["a missing argument beside options", words`record delete`, "Missing ID\nUsage: promptledger record delete ID"],
  ["a session without its deployment", words`record delete --session s`, "Missing --deploy REF"],
  ["a version to compare that is missing", words`prompt diff ${promptId}`, "Missing --from N"],
  ["an argument too many", words`key revoke a b`, "Unexpected argument b"],
  ["a record and a session", words`record delete diag_0 --deploy ${deployId}`, "Unexpected argument diag_0"],
  ["an unknown option", words`workspace list --all`, "--all"],
  ["an option twice", words`key list ${scope} ${scope}`, "--workspace was given 2 times"],
  [
    "a workspace to change without what to change",
    words`workspace update ${workspaceId}`,
    "Nothing to change: set --name, --limit, --upgrade-url, --keep-records, --keep-calls, --status or --cost-source\nUsage: promptledger workspace update WORKSPACE",
  ],
  ["all of a list and a part of it", words`call list ${scope} --all --limit 5`, "--all and --limit exclude"],
  ["all of a list in pages", words`call list ${scope} --all --page`, "--all and --page exclude each other"],
  ["a list of none", words`record list --deploy ${deployId} --limit 0`, "--limit must be an integer from 1"],
  ["a limit beyond 2^53", words`workspace create --name x --limit 9007199254740993`, "--limit must be"],
  ["a month that is none", words`usage ${scope} --month 2027-13`, "--month must be a month"],
  [
    "a command on the database itself, and a server",
    words`backup x.db --server http://127.0.0.1:1`,
    "backup works on the database itself, in DATABASE_URL. Leave out --server",
  ],
];

for (const [name, args, error] of misuses) {
  test(`exits 2 on ${name}, and shows the usage`, async () => {
    const { code, out, said } = await here.cli(args);
    assert.equal([code, out], [2, ""]);
    assert.ok(said.includes(error), said);
  });
}

test("exits 1 if a setting is invalid, or the database cannot be opened", async () => {
  const setting = await cliWith({ LOG_LEVEL: "loud" }, words`workspace list`);
  assert.is(setting.code, 1);
  assert.match(setting.said, "LOG_LEVEL must be one of");
  const nowhere = `file:${join(folder, "no", "such", "folder.db")}`;
  const database = await cliWith({ DATABASE_URL: nowhere }, words`workspace create --name x`);
  assert.is(database.code, 1);
  assert.match(database.said, /^promptledger: the database file:.*folder.db \(DATABASE_URL\) cannot be used: /);
});

everywhere("--status accepts a negative number, with a space or =", async ({ cli }) => {
  for (const status of [["--status", "-3"], ["--status=-3"]]) {
    assert.is((await cli(words`record list --deploy ${deployId} ${status}`)).code, 0);
  }
});

everywhere("diagnosis is another word for record", async ({ cli }) => {
  const listed = await cli(words`diagnosis list --deploy ${deployId} --json`);
  assert.equal(listed, await cli(words`record list --deploy ${deployId} --json`));
  const [help, misused] = [await cli(words`diagnosis show --help`), await cli(words`diagnosis`)];
  assert.match(help.out, "record show ID");
  assert.match(misused.said, "record needs a verb");
});

everywhere("--json may stand anywhere", async ({ cli }) => {
  const { code, json } = await cli(["--json", "workspace", "list"]);
  assert.ok(code === 0 && Array.isArray(json));
});

test("--version prints the version, and the commit of the checkout", async () => {
  const commit = await findCommit(pathOf("."));
  const { code, out } = await runIn(["--version"], {});
  assert.equal([code, out], [0, commit === undefined ? `${version}\n` : `${version} (${commit})\n`]);
});

test("workspace create and migrate create a missing database, and other commands refuse it", async () => {
  const path = join(folder, "new.db");
  const run = (...args: string[]) => cliWith({ DATABASE_URL: `file:${path}` }, args);
  assert.is((await run(...words`workspace create --name=`)).code, 2);
  for (const args of [words`workspace list`, words`verify`, words`key create --workspace ws_x`]) {
    const { code, said } = await run(...args);
    const error = `The database file:${path} (DATABASE_URL) does not exist. Create it with workspace create or migrate`;
    assert.equal([code, said], [1, `promptledger: ${error}\n`]);
  }
  assert.not.ok((await readdir(folder)).includes("new.db"));
  const { code, said } = await run("workspace", "create", "--name", "First");
  const defaults =
    "It accepts 1,000,000 requests per month, and its statuses are 0=failed! 1=ok. workspace update changes both";
  assert.equal([code, said], [0, `Created the database file:${path}\n${defaults}\n`]);
});

test("a database that is created without DATABASE_URL is named, and why", () => {
  assert.is(describeCreated({}), "Created the database file:promptledger.db, because DATABASE_URL is not set");
});

everywhere("a list that continues says how to see more", async ({ cli }) => {
  await request(other.key, other.deployId);
  await request(other.key, other.deployId);
  const list = (limit: string, ...more: string[]) =>
    cli(words`call list --workspace ${other.workspaceId} --limit ${limit} ${more}`);
  const { out, said } = await list("1");
  const [, cursor] = /^More: --cursor (\w+)\n$/.exec(said) ?? [];
  const next = await list("1", "--cursor", cursor!);
  assert.not.equal(next.out, out);
  assert.is(next.out.split("\n").length, 3);
  assert.is((await list("100")).said, "");
});

everywhere("an action that no entry has is answered with what an action looks like", async ({ cli }) => {
  const { code, out, said } = await cli(words`audit list --action promoted`);
  assert.equal([code, out], [0, ""]);
  const shape = "An action is a noun such as deployment, or a noun and a verb such as deployment.promoted";
  assert.is(said, `Nothing to list. ${shape}\n`);
  assert.not.match((await cli(words`audit list --action workspace.created`)).said, shape);
});

everywhere("--all lists everything, and --page gives one page with the next cursor", async ({ cli }) => {
  await request(other.key, other.deployId);
  await request(other.key, other.deployId);
  const list = words`call list --workspace ${other.workspaceId}`;
  const all = await cli([...list, "--all", "--json"]);
  assert.equal([(all.json as Data[]).length > 1, all.said], [true, ""]);
  type Page = { items: Data[]; nextCursor: string | null };
  const seen: Data[] = [];
  let cursor: string[] = [];
  do {
    const { json, said } = await cli([...list, "--page", "--json", "--limit", "1", ...cursor]);
    const { items, nextCursor } = json as Page;
    seen.push(...items);
    assert.is(said, "");
    cursor = nextCursor === null ? [] : ["--cursor", nextCursor];
  } while (cursor.length > 0);
  assert.equal(seen, all.json);
  const { out } = await cli([...list, "--page", "--limit", "1"]);
  assert.is(out.split("\n").length, 3);
});

test("PROMPTLEDGER_SERVER is the default of --server", async () => {
  const env = { PROMPTLEDGER_SERVER: url, ADMIN_TOKEN: adminToken, DATABASE_URL: "file:/no/such/ledger.db" };
  const workspaces = await runIn(words`workspace list --json`, env);
  assert.ok(workspaces.code === 0 && (workspaces.json as Data[]).length > 1, workspaces.said);
  const bad = await runIn(words`workspace list`, { ...env, PROMPTLEDGER_SERVER: "prompts.example.com" });
  assert.equal([bad.code, bad.said.split(" must")[0]], [1, "promptledger: PROMPTLEDGER_SERVER"]);
  const first = await runIn(words`workspace list --server ${url}`, { ...env, PROMPTLEDGER_SERVER: "x" });
  assert.is(first.code, 0);
  const here = await runIn(words`migrate --check`, { ...env, DATABASE_URL });
  const error = "migrate works on the database itself, in DATABASE_URL. Unset PROMPTLEDGER_SERVER";
  assert.equal([here.code, here.said.split("\n")[0]], [2, `promptledger: ${error}`]);
});

everywhere(
  "push --deploy accepts the id or the reference of a deployment, which determines the prompt",
  async ({ cli, setUp }) => {
    const { workspaceId, deployId } = await setUp();
    for (const deploy of [deployId, "greeting@production"]) {
      const push = words`prompt push - --workspace ${workspaceId} --deploy ${deploy}`;
      const { code, said } = await cli(push, JSON.stringify({ ...promptFile, title: deploy }));
      assert.is(code, 0, said);
      assert.ok(said.includes(`greeting@production (${deployId}) serves it from now on`), said);
    }
  },
);

everywhere("making a version live in an inactive deployment says that it is inactive", async ({ cli, data }) => {
  await data(words`deploy deactivate ${other.deployId}`);
  const { said } = await cli(
    words`prompt push - --workspace ${other.workspaceId} --deploy ${other.deployId}`,
    JSON.stringify(promptFile),
  );
  assert.match(said, "inactive");
});

test.run();
