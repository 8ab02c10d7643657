// Exports of records.
// Runs on every runtime in CI.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { stringify } from "../../src/common/json-text.ts";
import type { Database } from "../../src/database/database.ts";
import { noCosting } from "../../src/log/scan.ts";
import { pagesOf } from "../../src/management/records/records.ts";
import type { Diagnosis } from "../../src/schema/ledger.ts";
import { adminToken, counting, createWorld, goodBody, noon, openMemory } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { readCsv } from "./csv.ts";
import { sessions, texts } from "./filled-log.ts";
import { readAll, refused, taken, toLines } from "./management.ts";

const test = suite("exports of records");

type Shown = { id: string; sessionId: string };

const allOf = ({ deployId }: World) => ({ filter: { deployIds: [deployId] }, costing: noCosting });
const pathOf = ({ deployId }: { deployId: string }) => `/deployments/${deployId}/diagnoses`;

/** Submits a record and returns its id. */
const record = async (world: World, body: unknown = goodBody): Promise<string> =>
  taken<{ id: string }>(await world.submit(body), 201).id;

/** Rebuilds a record from the cells of its line. */
function fromCells(names: string[], cells: string[]): Record<string, unknown> {
  const cell = Object.fromEntries(names.map((name, index) => [name, cells[index]!]));
  const json = (name: string) => cell[name] === "" ? null : JSON.parse(cell[name]!);
  // A spreadsheet would run text that begins with these characters, so a quote precedes them.
  const text = (name: string) => cell[name]!.replace(/^'(?='*[=+\-@\t\r])/, "");
  const texts = Object.fromEntries(
    ["input", "output"].filter((name) => cell[name] !== "").map((name) => [name, text(name)]),
  );
  return {
    id: cell.id,
    sessionId: text("sessionId"),
    status: json("status"),
    content: json("content") ?? texts,
    latency: json("latency"),
    startAt: json("startAt"),
    endAt: json("endAt"),
    additional_properties: json("additional_properties"),
    ...json("other"),
    promptVersion: json("promptVersion"),
    ...Object.fromEntries(
      ["deployId", "reference", "keyId", "statusName"].map((name) => [name, cell[name] === "" ? null : cell[name]]),
    ),
    createdAt: Date.parse(cell.createdAt!),
  };
}

const anyText = fc.oneof(
  fc.constantFrom(...texts, ...sessions),
  fc.string({ unit: "binary" }).map((text) => text.toWellFormed()),
);
const anyObject = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 });
const anyRecord = fc.tuple(
  fc.record({ sessionId: anyText, status: fc.maxSafeInteger() }),
  fc.tuple(
    fc.record({ input: anyText, output: anyText }, { requiredKeys: ["input"] }),
    fc.constantFrom({}, {}, { more: [1, "2"] }),
  ).map(([content, more]) => ({ content: { ...content, ...more } })),
  fc.record({
    latency: fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }).map((latency) => latency + 0),
    startAt: fc.nat(),
    endAt: fc.nat(),
    additional_properties: anyObject,
    id: anyText,
    submitted: anyObject,
    extra: fc.jsonValue(),
    content2: anyText,
    null: fc.constantFrom(null, "null", ""),
  }, { requiredKeys: [] }),
).map((parts) => Object.assign({}, ...parts) as Record<string, unknown>);

test("an export has everything of a record, as lines of JSON and as CSV", async () => {
  const world = await createWorld({ monthlyLimit: 1e6, maxBodyBytes: 1e6 });
  for (const [index, body] of fc.sample(anyRecord, { numRuns: 120 }).entries()) {
    await record(world, index % 2 === 0 ? body : { ...body, content: { output: index % 4 === 1 ? "" : "o" } });
  }
  const items = await readAll<Record<string, unknown>>(world, `${pathOf(world)}?limit=1000`);
  const ndjson = await world.manage("GET", `${pathOf(world)}/export`);
  assert.is(ndjson.headers.get("Content-Type"), "application/x-ndjson");
  assert.is(ndjson.headers.get("Content-Disposition"), 'attachment; filename="records.ndjson"');
  assert.equal(ndjson.text.split("\n").slice(0, -1).map((line) => JSON.parse(line)), items);
  assert.is((await world.manage("GET", `${pathOf(world)}/export?format=ndjson`)).text, ndjson.text);
  const csv = await world.manage("GET", `${pathOf(world)}/export?format=csv`);
  assert.is(csv.headers.get("Content-Type"), "text/csv; charset=utf-8; header=present");
  assert.is(csv.headers.get("Content-Disposition"), 'attachment; filename="records.csv"');
  const [names, ...lines] = readCsv(csv.text);
  assert.is(
    names!.join(),
    "id,createdAt,promptVersion,sessionId,status,input,output,latency,startAt,endAt,additional_properties,content,other,reference,deployId,keyId,statusName",
  );
  assert.is(lines.length, items.length);
  for (const [index, cells] of lines.entries()) {
    assert.is(cells.length, names!.length);
    assert.equal(fromCells(names!, cells), items[index], csv.text.split("\r\n")[index + 1]);
  }
});

test("a CSV export has no formulas, and times in ISO 8601", async () => {
  const world = await createWorld();
  const inputs = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''@", "'tis", "1=1", "'"];
  for (const input of inputs) await record(world, { ...goodBody, status: -3, content: { input } });
  const [, ...lines] = readCsv((await world.manage("GET", `${pathOf(world)}/export?format=csv`)).text);
  const expected = ["'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\t=1", "'\r=1", "''=1", "'''@", "'tis", "1=1", "'"];
  assert.equal(lines.map((cells) => cells[5]).reverse(), expected);
  // A number cannot be run, and stays as it is.
  assert.equal(lines[0]!.slice(1, 5), [new Date(noon).toISOString(), "1", goodBody.sessionId, "-3"]);
});

test("an export has JSON as it was submitted, digit by digit", async () => {
  const world = await createWorld();
  const exact = '{"b":12345678901234567890,"a":1e400,"__proto__":-0.0}';
  await record(
    world,
    `{"sessionId":"s","status":1,"content":{"input":"x","n":1.0},"additional_properties":${exact},"e":1.10}`,
  );
  const ndjson = (await world.manage("GET", `${pathOf(world)}/export`)).text;
  assert.ok(ndjson.includes(`"additional_properties":${exact},"e":1.10`));
  const [, cells] = readCsv((await world.manage("GET", `${pathOf(world)}/export?format=csv`)).text);
  assert.equal(cells!.slice(-7, -4), [exact, '{"input":"x","n":1.0}', '{"e":1.10}']);
});

test("an export has one line for a record that was submitted on several", async () => {
  const world = await createWorld();
  const lines = '{"sessionId":"s","status":1,"content":{"input":\n"x\\n"},"additional_properties":{\r\n"a":\r[\n1\n]}}';
  await record(world, lines);
  await record(world);
  const { text } = await world.manage("GET", `${pathOf(world)}/export`);
  assert.equal(text.split(/[\r\n]/).slice(0, -1).map((line) => JSON.parse(line).sessionId), [goodBody.sessionId, "s"]);
});

test("an export without records is empty, in CSV with its header, and one without a deployment is a 404", async () => {
  const world = await createWorld();
  assert.is((await world.manage("GET", `${pathOf(world)}/export`)).text, "");
  assert.is(readCsv((await world.manage("GET", `${pathOf(world)}/export?format=csv`)).text).length, 1);
  refused(await world.manage("GET", "/deployments/dep_x/diagnoses/export"), 404, "Deployment dep_x not found");
});

test("an export reads no further than its consumer, and stops with it", async () => {
  const memory = await openMemory();
  const { database, counts } = counting(memory);
  const world = await createWorld({ monthlyLimit: 1e6, database });
  await Promise.all(Array.from({ length: 1200 }, () => world.submit()));
  // Another service exports all of it meanwhile.
  const { manage } = await createWorld({ database: memory });
  const exportElsewhere = async () => taken(await manage("GET", `${pathOf(world)}/export?format=csv`));
  const headers = { Authorization: `Bearer ${adminToken}` };
  const response = await world.fetch(new Request(`http://ledger.test/admin/v1${pathOf(world)}/export`, { headers }));
  const reader = response.body!.getReader();
  const first = new TextDecoder().decode((await reader.read()).value);
  assert.is(first.split("\n").length, 257);
  const before = counts.reads;
  await exportElsewhere();
  assert.ok(counts.reads - before <= 2, `${counts.reads - before} reads ahead`);
  await reader.cancel();
  const after = counts.reads;
  await exportElsewhere();
  assert.is(counts.reads, after);

  const pages = await pagesOf(world.admin, allOf(world));
  for await (const page of pages) {
    assert.is(page.length, 256);
    break;
  }
  assert.equal(await pages.next(), { done: true, value: undefined });
  const whole = (await world.manage("GET", `${pathOf(world)}/export`)).text.split("\n").slice(0, -1);
  assert.is(new Set(whole.map((line) => JSON.parse(line).id)).size, 1200);
});

test("an export continues while records are deleted and added", async () => {
  const world = await createWorld({ monthlyLimit: 1e6 });
  await Promise.all(Array.from({ length: 700 }, (_, nth) => record(world, { ...goodBody, sessionId: `${nth % 2}` })));
  const kept = (await readAll<Shown>(world, `${pathOf(world)}?limit=1000&sessionId=1`)).map(({ id }) => id);
  const seen: string[] = [];
  for await (const page of await pagesOf(world.admin, allOf(world))) {
    seen.push(
      ...page.map((diagnosis: Diagnosis) => JSON.parse(stringify(diagnosis))).filter(({ sessionId }) =>
        sessionId === "1"
      ).map(({ id }) => id),
    );
    await world.manage("DELETE", `${pathOf(world)}?sessionId=0`);
    await record(world);
  }
  assert.equal(seen, kept);
});

test("the log has the cause if an export breaks off, the response does not", async () => {
  const memory = await openMemory();
  let isBroken = false;
  const read: Database["read"] = (statement) =>
    isBroken ? Promise.reject(new Error("no disk")) : memory.read(statement);
  const world = await createWorld({ monthlyLimit: 1e6, database: { ...memory, read } });
  // More than is sent at once.
  await Promise.all(Array.from({ length: 1200 }, () => world.submit()));
  const headers = { Authorization: `Bearer ${adminToken}` };
  const response = await world.fetch(new Request(`http://ledger.test/admin/v1${pathOf(world)}/export`, { headers }));
  assert.is(response.status, 200);
  isBroken = true;
  await response.text().then(() => assert.unreachable(), () => {});
  assert.is(world.logged.length, 1);
  assert.match(world.logged[0]!, /Response broke off.*no disk/);
});

test("CSV has a column for each name of feedback: its value, or of several authors the mean, or all labels", async () => {
  const world = await createWorld();
  const { manage, workspaceId } = world;
  const path = `/workspaces/${workspaceId}/diagnoses/export?format=csv&order=oldest`;
  const ids = await Promise.all([1, 2].map(async () => taken<{ id: string }>(await world.submit(), 201).id));
  const before = readCsv((await manage("GET", path)).text);
  assert.not.ok(before[0]!.some((column) => column.startsWith("feedback")));
  const pieces: [record: string, author: string, name: string, value: unknown][] = [
    [ids[0]!, "", "status", true],
    [ids[1]!, "ann", "status", true],
    [ids[1]!, "bob", "status", false],
    [ids[1]!, "ann", "score", 0.1],
    [ids[1]!, "bob", "score", 0.2],
    [ids[1]!, "ann", "tone", '=kind, "very"'],
    [ids[1]!, "bob", "tone", "curt"],
    [ids[1]!, "eve", "tone", "curt"],
  ];
  const feedback = pieces.map(([record, author, name, value]) => ({ record, author, name, value }));
  taken(await manage("POST", `/workspaces/${workspaceId}/feedback`, { feedback }));
  const [header, ...rows] = readCsv((await manage("GET", path)).text);
  assert.equal(header!.slice(-4), ["feedback", "feedback.score", "feedback.status", "feedback.tone"]);
  assert.equal(header!.slice(0, -4), before[0]);
  const cellsOf = (id: string) => rows.find(([own]) => own === id)!;
  assert.equal(cellsOf(ids[0]!).slice(-3), ["", "true", ""]);
  assert.equal(cellsOf(ids[1]!).slice(-3), ["0.15", "0.5", '\'=kind, "very"; curt']);
  assert.equal(JSON.parse(cellsOf(ids[1]!).at(-4)!).length, 7);
  for (const [nth, row] of before.slice(1).entries()) assert.equal(rows[nth]!.slice(0, -4), row);
});

type TestCase = { vars: Record<string, unknown>; metadata: Record<string, unknown> };

const exportTests = async (world: World, query = ""): Promise<TestCase[]> => {
  const { text, headers } = await world.manage("GET", `${pathOf(world)}/export?format=promptfoo&order=oldest${query}`);
  assert.is(headers.get("Content-Type"), "application/jsonl");
  return toLines<TestCase>(text);
};

test("records are test cases of promptfoo, with their feedback", async () => {
  const world = await createWorld();
  const plain = await record(world, { sessionId: "s", status: 1, content: { input: "Hi", output: "Hello" } });
  const asked = await record(world, { ...goodBody, content: { input: '{"shop":"Acme","n":3,"list":[1],"a b":1}' } });
  const feedback = [
    { record: plain, name: "thumb", value: true, author: "ann", comment: "{{good}}" },
    { record: plain, name: "thumb", value: false, author: "bob" },
    { record: asked, name: "tone", value: "kind" },
  ];
  taken(await world.send("/v1/feedback", { method: "POST", body: JSON.stringify({ feedback }) }));
  const common = { deployment: "greeting@production", promptVersion: 1, createdAt: new Date(noon).toISOString() };
  const given = { source: "user", givenAt: noon };
  assert.equal(await exportTests(world), [
    {
      vars: { input: "Hi", reference: "Hello" },
      metadata: {
        ...{ record: plain, ...common, sessionId: "s", status: 1, input: "Hi", output: "Hello" },
        feedback: [
          { name: "thumb", value: true, comment: "{{good}}", author: "ann", ...given },
          { name: "thumb", value: false, comment: "", author: "bob", ...given },
        ],
        "feedback.thumb": 0.5,
      },
    },
    {
      vars: { shop: "Acme", n: 3, input: '{"shop":"Acme","n":3,"list":[1],"a b":1}' },
      metadata: {
        ...{ record: asked, ...common, sessionId: goodBody.sessionId, status: goodBody.status },
        ...{ input: '{"shop":"Acme","n":3,"list":[1],"a b":1}' },
        feedback: [{ name: "tone", value: "kind", comment: "", author: "", ...given }],
        "feedback.tone": "kind",
      },
    },
  ]);
  assert.equal((await exportTests(world, "&feedback=thumb%3Dtrue")).map(({ metadata }) => metadata.record), [plain]);
});

test("a test case has every text exactly, and promptfoo runs none of them", async () => {
  const world = await createWorld();
  const check = fc.asyncProperty(anyRecord, async (body) => {
    const id = await record(world, body);
    const { vars, metadata } = (await exportTests(world)).find(({ metadata }) => metadata.record === id)!;
    const { input, output } = body.content as Record<string, string>;
    assert.equal([metadata.input, metadata.output, metadata.sessionId], [input, output, body.sessionId]);
    assert.equal([vars.input, vars.reference].map((text) => (text as string | undefined)?.replaceAll("\u2060", "")), [
      ...[input, output].map((text) => text?.replaceAll("\u2060", "")),
    ]);
  });
  await fc.assert(check, { numRuns: 60 });
  const hostile = [
    "{{ env.KEY }}",
    "{% for x in y %}",
    "{{{#",
    "file://run.js",
    "package:x:y",
    '{"a":"file://run.py"}',
  ];
  for (const input of hostile) await record(world, { ...goodBody, content: { input, output: input } });
  const found = (await exportTests(world)).slice(-hostile.length);
  assert.equal(found.map(({ metadata }) => metadata.input), hostile);
  for (const value of found.flatMap(({ vars }) => Object.values(vars))) {
    assert.not.match(value as string, /\{[{%#]|^(file|package):/);
  }
});

test.run();
