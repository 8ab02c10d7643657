// Whatever numbers clients have sent, everything that reads them answers: operations, pages and commands.
// Runs on Node alone.
import { isFull, suite } from "./suite.ts";
import * as assert from "uvu/assert";
import { migrate } from "../src/database/migrate.ts";
import { migrations } from "../src/database/migrations.ts";
import { openDatabase } from "../src/database/file/open.ts";
import { createDeployment, pushPrompt, updateWorkspace } from "./actions.ts";
import { runIn, words } from "./cli/places.ts";
import { createFolder } from "./conformance/processes.ts";
import { linksIn, visit } from "./console/visitor.ts";
import { extremes } from "./extremes.ts";
import { createWorld, goodBody, noon, promptFile, toPrompt } from "./helpers.ts";
import type { World } from "./helpers.ts";
import { readContract } from "./http/openapi-contract.ts";
import type { OpenApi } from "./http/openapi-contract.ts";
import { readAll, taken } from "./management/management.ts";

const test = suite("extreme numbers");

const folder = await createFolder();
test.after(() => folder.remove());

const most = Number.MAX_SAFE_INTEGER;
const { latency, moment, count, status, cost } = extremes;
const nth = <T>(values: readonly T[], index: number): T => values[Math.floor(index) % values.length]!;

/** Records with all extremes in many combinations, each at least twice in each of two sessions. */
const records = Array.from({ length: 480 }, (_, index) => ({
  ...goodBody,
  promptVersion: 1 + index % 2,
  sessionId: nth(["a", "b"], index / 2),
  status: nth([...status, 0], index / 4),
  latency: nth([...latency, undefined], index / 3),
  startAt: nth([...moment, undefined], index / 4),
  endAt: nth([...moment, undefined], index / 8),
  model: "gpt-4o",
  cost: nth([...cost, undefined], index / 2),
  additional_properties: {
    prompt_tokens: nth([...count, 52, 7], index / 2),
    completion_tokens: nth(count, index / 14),
  },
}));

type Stage = { world: World; env: Record<string, string>; ids: string[]; keyId: string; tokenId: string };

async function createStage(): Promise<Stage> {
  const DATABASE_URL = `file:${folder.path}/ledger.db`;
  const database = openDatabase(DATABASE_URL);
  await migrate(database, migrations, noon);
  const world = await createWorld({ database, monthlyLimit: most });
  const { admin, workspaceId, promptId } = world;
  await pushPrompt(admin, promptId, toPrompt({ ...promptFile, title: "Second" }));
  await createDeployment(admin, workspaceId, { name: "other", promptId, version: 2 });
  const statuses = [{ status: status[0]!, name: "ok" }, { status: status[1]!, name: "failed", isFailure: true }];
  const keep = 3660 * 86_400_000;
  await updateWorkspace(admin, workspaceId, { statuses, keepRecordsMs: keep, keepCallsMs: keep });
  const make = async (path: string, body: object): Promise<string> => {
    const { status, json, text } = await world.manage("POST", path, body);
    assert.ok(status < 300, text);
    return (json as { id: string }).id;
  };
  const keyId = await make(`/workspaces/${workspaceId}/keys`, { name: "late", expiresAt: most });
  const tokenId = await make("/tokens", { name: "late", role: "viewer", expiresAt: most });
  const price = { model: "gpt-4o", input: "999999.999999999", output: "999999.999999999" };
  for (const validFrom of moment) await make("/prices", { ...price, validFrom });
  // At once, they are a few commits.
  const answers = await Promise.all(records.map((record) => world.submit(record)));
  const ids = answers.map((answer) => taken<{ id: string }>(answer, 201).id);
  return { world, env: { DATABASE_URL, USER: "" }, ids, keyId, tokenId };
}

const stage = await createStage();
test.after(() => stage.world.close());

test("a record is served back as it was sent", async () => {
  const { world, ids } = stage;
  for (const [index, id] of ids.entries()) {
    const found = taken(await world.manage("GET", `/diagnoses/${id}`));
    for (const [name, value] of Object.entries(records[index]!)) {
      const absent = name === "cost" ? undefined : null;
      assert.equal(found[name], value ?? absent, `${name} of record ${index}`);
    }
  }
});

test("statistics, comparisons, sessions and exports answer as they are described", async () => {
  const { world } = stage;
  const { deployId, workspaceId } = world;
  const document = (await world.send("/openapi.json")).json as OpenApi;
  const contract = readContract(document, "http://ledger.test/openapi.json");
  const asked: [operation: string, path: string][] = [
    ...["", "&slowerThan=316224000000", `&moreTokensThan=${most}`, "&costlierThan=999999999999.99999999999999999999"]
      .flatMap((filter): [string, string][] => [
        ...["hour", "day", "week"].map((interval): [string, string] => [
          "readStats",
          `/deployments/${deployId}/stats?interval=${interval}${filter}`,
        ]),
        ["compareStats", `/stats/compare?a=${deployId}&aVersion=1&b=${deployId}&bVersion=2${filter}`],
        ["listDiagnoses", `/deployments/${deployId}/diagnoses?from=0&to=${most}${filter}`],
        ["exportDiagnoses", `/deployments/${deployId}/diagnoses/export?format=csv${filter}`],
      ]),
    ["listDiagnoses", `/deployments/${deployId}/diagnoses?promptVersion=${most}&status=${most},${-most}`],
    ["listSessions", `/workspaces/${workspaceId}/sessions?from=${most}`],
    ["showSession", `/workspaces/${workspaceId}/session-records?sessionId=a`],
    ["listCalls", `/workspaces/${workspaceId}/calls?from=0&to=${most}`],
    ["listPrices", "/prices"],
    ["readUsage", `/workspaces/${workspaceId}/usage/9999-12`],
    ["listAuditEntries", `/audit?from=0&to=${most}`],
  ];
  for (const [id, path] of asked) {
    const answer = await world.manage("GET", path);
    assert.is(answer.status, 200, `${path}: ${answer.text}`);
    const described = contract.operations.find(({ operationId }) => operationId === id)!;
    contract.checkAnswer(described, answer);
    // A cursor may have these letters.
    assert.not.match(answer.text, /\bNaN\b|\bInfinity\b/, path);
  }
});

type Comparison = { differences: Record<string, { low: number | null; high: number | null }> };

test("a difference of means has an interval, whatever the numbers are", async () => {
  const { world } = stage;
  const { deployId } = world;
  const path = `/stats/compare?a=${deployId}&aVersion=1&b=${deployId}&bVersion=2`;
  const { feedback: _, ...differences } = taken<Comparison>(await world.manage("GET", path)).differences;
  for (const [name, { low, high }] of Object.entries(differences)) {
    assert.ok(low !== null && high !== null && low <= high, `${name}: ${low} to ${high}`);
  }
});

const mostOfKind = isFull ? 8 : 1; // pages
const broken = /\bNaN\b|\bInfinity\b|\bundefined\b|Invalid Date|\[object /;

test("every page of the console shows them", async () => {
  const { world } = stage;
  const visitor = await visit(world);
  const base = `http://ledger.test/console/`;
  const waiting = [`${world.workspaceId}`, `${world.workspaceId}/deployments/${world.deployId}/stats?last=all`];
  const seen = new Set(waiting);
  const kinds = new Map<string, number>();
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    const { status, text } = await visitor.open(path);
    assert.ok(status === 200 || status === 303, `${path} is ${status}`);
    assert.not.match(text, broken, path);
    for (const href of linksIn(text)) {
      const found = new URL(href, base + path).href;
      if (!found.startsWith(base) || found.includes("#") || found.includes("export")) continue;
      const next = found.slice(base.length), kind = next.replace(/(?<=_)\w{26}|=[^&]*/g, "");
      // A few of each kind show all that there is.
      if (seen.has(next) || (kinds.get(kind) ?? 0) >= mostOfKind) continue;
      seen.add(next);
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      waiting.push(next);
    }
  }
  assert.ok(seen.size > 40, [...seen].join("\n"));
});

test("every command shows them, on any terminal", async () => {
  const { world, env, ids, keyId, tokenId } = stage;
  const { deployId, workspaceId } = world;
  const commands = [
    words`stats --deploy ${deployId} --interval hour`,
    words`stats compare ${deployId}:1 ${deployId}:2`,
    words`record list --deploy ${deployId} --all`,
    ...ids.slice(0, isFull ? 30 : 8).map((id) => words`record show ${id}`),
    words`record list --deploy ${deployId} --version ${String(most)} --more-tokens-than ${String(most)}`,
    words`session list --workspace ${workspaceId}`,
    words`session show a --workspace ${workspaceId} --all`,
    words`usage --workspace ${workspaceId} --month 2026-11`,
    words`workspace show ${workspaceId}`,
    words`key list --workspace ${workspaceId}`,
    words`key show ${keyId}`,
    words`token list`,
    words`price list`,
    words`audit list`,
    words`verify`,
    words`key rotate ${keyId}`,
    words`token rotate ${tokenId}`,
  ];
  for (const command of commands) {
    for (const columns of command[1] === "rotate" ? [undefined] : [undefined, 120, 20]) {
      const { code, out, said } = await runIn(command, env, "", columns === undefined ? {} : { columns });
      assert.is(code, 0, `${command.join(" ")}: ${said}`);
      assert.not.match(out + said, broken, command.join(" "));
    }
    if (command[1] === "rotate") continue;
    const { code, json } = await runIn([...command, "--json"], env);
    assert.ok(code === 0 && json !== undefined, command.join(" "));
  }
  const { out } = await runIn(words`record export --deploy ${deployId} --format csv`, env);
  assert.is(out.trimEnd().split("\r\n").length, records.length + 1);
});

/** What rows could hold: what older services stored, and what none did. */
const stored = [
  "1.7e308,9007199254740991,9007199254740991,[9007199254740991]",
  "1.7e308,9007199254740991,9007199254740991",
  "1e999,1e999,1e999,[1e999]",
  "-1,-5,1.5,[99]",
  "5e-324,5e-324,-0,[-1]",
  '1,1,1,[0,"gpt-4o","","1e99"]',
  '1,1,1,[0,"","","9999999999999.9"]',
];

test("statistics are safe whatever the rows hold, and no other record is lost", async () => {
  const world = await createWorld();
  taken(await world.manage("POST", "/prices", { model: "gpt-4o", input: "999999.999999999", output: "1" }));
  for (let index = 0; index < 2 * stored.length; index++) await world.submit();
  await world.submit({ ...goodBody, latency: 840, additional_properties: { prompt_tokens: 7 } });
  const rows = await world.database.read({ sql: "select position from diagnoses order by position" });
  await world.database.write(
    rows.slice(0, -1).map(({ position }, index) => ({
      sql: "update diagnoses set measures = ? where position = ?",
      args: [nth(stored, index), Number(position)],
    })),
  );
  const path = `/deployments/${world.deployId}`;
  const { all } = taken<{ all: { records: number; latency: object; tokens: Record<string, number> } }>(
    await world.manage("GET", `${path}/stats?interval=day`),
  );
  assert.equal([all.records, all.latency], [15, { records: 15, p50: 1, p95: 1e12, p99: 1e12, mean: 400_000_000_000 }]);
  // The exact sum is 4 × (2^53 - 1) + 4 + 7.
  assert.equal([all.tokens.prompt, all.tokens.cached], [2 ** 55 + 7, 2 * most]);
  const cases = ["&slowerThan=1000", "&moreTokensThan=1", "&costlierThan=1"].map((filter) =>
    readAll(world, `${path}/diagnoses?limit=9${filter}`)
  );
  assert.equal((await Promise.all(cases)).map(({ length }) => length), [6, 9, 5]);
  await world.close();
});

test.run();
