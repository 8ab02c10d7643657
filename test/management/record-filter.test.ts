// The filter of records, which is the same for lists, exports and statistics, compared with a plain one in JavaScript.
import fc from "fast-check";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { extremes, usually } from "../extremes.ts";
import type { Session } from "../../src/management/records/sessions.ts";
import { createWorld, goodBody, promptFile } from "../helpers.ts";
import { readAll, refused, taken, toLines, toQuery } from "./management.ts";

const test = suite("filter of records");

type Body = {
  sessionId: string;
  status: number;
  content: { input: string };
  latency?: number | undefined;
  model?: string | undefined;
  cost?: number | undefined;
  additional_properties: Record<string, unknown>;
};
type Sent = Body & { id: string; keyId: string; at: number; isOfTwin: boolean };
type Filter = Record<string, string | number>;

const texts = [
  ...["Grüße aus KÖLN", "grüsse", "ΣΟΦΟΣ", "σοφος", "Ünïcode", "PLAIN text", "(a|b)*", "back\\slash", '"'],
  ...["İstanbul", "i̇STANBUL", "Istanbul"],
];
const traces: Record<string, unknown>[] = [
  {},
  { trace_id: "4bf9" },
  { "a.b": 1, a: { b: 2 } },
  { a: { "b.c": "deep" } },
  { trace_id: 10.5, list: [{ trace_id: "4bf9" }] },
  { trace_id: "1e1" },
  { trace_id: true, other: null },
];
const wheres = [
  ...["trace_id=4bf9", "a.b=1", "a.b=2", "a.b.c=deep", "trace_id=10.50", "trace_id=1e1", "trace_id=true"],
  "trace_id=1e400",
];
const both = ["a.b=1\na.b=2", "a.b=1\ntrace_id=4bf9"];

const body = fc.record({
  sessionId: fc.constantFrom("s", "t"),
  status: fc.constantFrom(0, 1, 1, 2, -3),
  content: fc.record({ input: fc.constantFrom(...texts) }),
  latency: fc.option(usually(fc.nat({ max: 2000 }), extremes.latency), { nil: undefined }),
  model: fc.constantFrom(undefined, "gpt-4o-mini", "GPT-4o"),
  cost: fc.option(fc.constantFrom(0.1, 0.25, 2), { nil: undefined, freq: 2 }),
  additional_properties: fc.tuple(
    fc.constantFrom(...traces),
    fc.constantFrom({}, { input_tokens: 5, output_tokens: 1 }, { promptTokenCount: 100 }),
  ).map((parts) => Object.assign({}, ...parts)),
});

const filters = fc.record({
  sessionId: fc.constantFrom("s", "none"),
  status: fc.constantFrom("0", "1", "0,2", "failed", "ok,slow", "failed,1"),
  failures: fc.constant("true"),
  model: fc.constantFrom("gpt-4o", "GPT-4O-mini", "other"),
  slowerThan: fc.nat({ max: 2000 }),
  moreTokensThan: fc.constantFrom(0, 5, 6, 99),
  costlierThan: fc.constantFrom("0", "0.1", "0.2499999999999999999", "0.25", "3"),
  where: fc.constantFrom(...wheres, ...both),
  text: fc.constantFrom(
    ...["grÜSSE", "grüße", "köln", "σοφοσ", "ΟΦΟς", "plain T", "(A|B)", "K\\S", '"', "ü"],
    ...["i̇stanbul", "İSTANBUL", "ıstanbul"],
  ),
  keyId: fc.constantFrom("first", "second"),
  from: fc.constantFrom(0, 1, 2),
  order: fc.constantFrom("newest", "oldest"),
}, { requiredKeys: [] });

const names: Record<string, number> = { failed: 0, ok: 1, slow: 2 };
const failing = [0, 2];

/** Whether a filter finds a record. What it compares follows the words of the API. */
function fits(filter: Filter, record: Sent): boolean {
  const { latency, additional_properties: extra, cost, content: { input } } = record;
  const tokens = extra.input_tokens === 5 ? 6 : extra.promptTokenCount === 100 ? 100 : 0;
  const foldings: [needle: string, texts: string[]][] = [
    ["grÜSSE", ["Grüße aus KÖLN", "grüsse"]],
    ["grüße", ["Grüße aus KÖLN", "grüsse"]],
    ["i̇stanbul", ["İstanbul", "i̇STANBUL"]],
    ["İSTANBUL", ["İstanbul", "i̇STANBUL"]],
    ["ıstanbul", ["Istanbul"]],
    ["köln", ["Grüße aus KÖLN"]],
    ["σοφοσ", ["ΣΟΦΟΣ", "σοφος"]],
    ["ΟΦΟς", ["ΣΟΦΟΣ", "σοφος"]],
    ["plain T", ["PLAIN text"]],
    ["(A|B)", ["(a|b)*"]],
    ["K\\S", ["back\\slash"]],
    ['"', ['"']],
    ["ü", ["Grüße aus KÖLN", "grüsse", "Ünïcode"]],
  ];
  const paths: Record<string, Record<string, unknown>[]> = {
    "trace_id=4bf9": [traces[1]!],
    "a.b=1": [traces[2]!],
    "a.b=2": [traces[2]!],
    "a.b.c=deep": [traces[3]!],
    "trace_id=10.50": [traces[4]!],
    "trace_id=1e1": [traces[5]!],
    "trace_id=true": [traces[6]!],
    "trace_id=1e400": [],
  };
  const has = (part: Record<string, unknown>) =>
    Object.entries(part).every(([name, value]) => JSON.stringify(extra[name]) === JSON.stringify(value));
  const tests: Record<string, (wanted: string) => boolean> = {
    sessionId: (wanted) => record.sessionId === wanted,
    status: (wanted) => wanted.split(",").map((text) => names[text] ?? Number(text)).includes(record.status),
    failures: () => failing.includes(record.status),
    model: (wanted) => (record.model ?? "gpt-4o").toLowerCase() === wanted.toLowerCase(),
    slowerThan: (wanted) => latency !== undefined && latency > Number(wanted),
    moreTokensThan: (wanted) => tokens > Number(wanted),
    costlierThan: (wanted) =>
      cost !== undefined && (wanted === "0.2499999999999999999" ? cost >= 0.25 : cost > Number(wanted)),
    where: (wanted) => wanted.split("\n").every((line) => paths[line]!.some(has)),
    text: (wanted) => foldings.find(([needle]) => needle === wanted)![1].includes(input),
    keyId: (wanted) => record.keyId === wanted,
    from: (wanted) => record.at >= Number(wanted),
    order: () => true,
  };
  return Object.entries(filter).every(([name, wanted]) => tests[name]!(String(wanted)));
}

test("lists, exports, statistics and sessions find what a plain filter does, in a deployment and in a workspace", async () => {
  const histories = fc.sample(fc.array(fc.array(body, { maxLength: 30 }), { minLength: 3, maxLength: 3 }), {
    numRuns: isFull ? 8 : 1,
  });
  for (const [seed, history] of histories.entries()) {
    const world = await createWorld({ monthlyLimit: 1e6 });
    const { workspaceId, deployId, promptId } = world;
    const body = { name: "twin", promptId };
    const twin = taken<{ id: string }>(await world.manage("POST", `/workspaces/${workspaceId}/deployments`, body), 201);
    const ofWorkspace = `/workspaces/${workspaceId}`;
    const scopes: [path: string, own: Record<string, string>, has: (record: Sent) => boolean][] = [
      [`/deployments/${deployId}`, {}, ({ isOfTwin }) => !isOfTwin],
      [ofWorkspace, {}, () => true],
      [ofWorkspace, { deployId: "greeting@twin" }, ({ isOfTwin }) => isOfTwin],
    ];
    const statuses = Object.entries(names).map(([name, status]) => ({
      ...{ status, name },
      isFailure: failing.includes(status),
    }));
    taken(await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { statuses }));
    const second = taken<{ key: string; id: string }>(
      await world.manage("POST", `/workspaces/${world.workspaceId}/keys`, {}),
      201,
    );
    const keys = [world, second];
    const sent: Sent[] = [];
    const start = world.now;
    for (const [at, bodies] of history.entries()) {
      world.now = start + at;
      for (const [nth, record] of bodies.entries()) {
        const { key } = keys[nth % 2]!, isOfTwin = nth % 3 === 0;
        const { id } = taken<{ id: string }>(await world.submit(record, isOfTwin ? twin.id : deployId, key), 201);
        sent.push({ ...record, id, keyId: nth % 2 === 0 ? "first" : "second", at, isOfTwin });
      }
    }
    const together = fc.sample(filters, { seed, numRuns: 25 });
    // Few records pass many conditions, so that each condition also stands alone.
    const alone = together.slice(0, 5).flatMap((filter) =>
      Object.entries(filter).map(([name, value]): Partial<typeof filter> => ({ [name]: value }))
    );
    const different = new Map([...together, ...alone].map((filter) => [JSON.stringify(filter), filter]));
    for (const filter of different.values()) {
      const { order = "newest", keyId, from, ...rest } = filter;
      const query = {
        ...rest,
        keyId: keyId === undefined ? undefined : keyId === "first" ? world.keyId : second.id,
        from: from === undefined ? undefined : start + from,
      };
      for (const [path, own, has] of scopes) {
        const found = sent.filter((record) => has(record) && fits(filter as Filter, record));
        const ids = (order === "newest" ? found.toReversed() : found).map(({ id }) => id);
        const list = `${path}/diagnoses${toQuery({ ...query, ...own, order, limit: 7 })}`;
        assert.equal((await readAll<{ id: string }>(world, list)).map(({ id }) => id), ids, JSON.stringify(filter));
        const lines = await world.manage("GET", `${path}/diagnoses/export${toQuery({ ...query, ...own, order })}`);
        assert.equal(toLines<{ id: string }>(lines.text).map(({ id }) => id), ids);
        const stats = taken(await world.manage("GET", `${path}/stats${toQuery({ ...query, ...own })}`));
        assert.is(stats.records, found.length);
        if (path !== ofWorkspace) continue;
        const sessions = `${path}/sessions${toQuery({ ...query, ...own, limit: 1 })}`;
        const counted = sent.filter((record) => has(record) && record.at >= (from ?? 0));
        assert.equal(
          (await readAll<Session>(world, sessions)).map(({ sessionId, records }) => [sessionId, records]),
          [...new Set(found.toReversed().map(({ sessionId }) => sessionId))]
            .map((wanted) => [wanted, counted.filter(({ sessionId }) => sessionId === wanted).length]),
          JSON.stringify(filter),
        );
      }
    }
  }
});

test("a number is found at a path however it is written, also beyond what a double holds", async () => {
  const world = await createWorld();
  const path = `/deployments/${world.deployId}/diagnoses`;
  const { sessionId, status, content } = goodBody;
  for (const seed of ["1e400", "9007199254740993", "0.1", "7"]) {
    const properties = `"additional_properties":{"seed":${seed}}`;
    const body = `${JSON.stringify({ sessionId, status, content }).slice(0, -1)},${properties}}`;
    assert.is((await world.submit(body)).status, 201);
  }
  const wanted: [text: string, records: number][] = [
    ["1e400", 1],
    ["10E399", 1],
    ["1e401", 0],
    ["9007199254740993.0", 1],
    ["9007199254740992", 0],
    ["100e-3", 1],
    ["7.000", 1],
  ];
  for (const [text, records] of wanted) {
    assert.is((await readAll(world, `${path}?where=seed=${text}`)).length, records, text);
  }
});

test("records tell their deployment, their key and the name of their status", async () => {
  const world = await createWorld();
  const statuses = [{ status: 1, name: "ok" }];
  taken(await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { statuses }));
  await world.submit({ ...goodBody, status: 2, keyId: "own" });
  await world.submit();
  const path = `/deployments/${world.deployId}/diagnoses`;
  const { deployId, keyId } = world;
  const common = { deployId, reference: "greeting@production", keyId };
  const records = await readAll<Record<string, unknown>>(world, path);
  for (const [index, statusName] of ["ok", null].entries()) {
    const { deployId, reference, keyId, statusName: name } = records[index]!;
    assert.equal([{ deployId, reference, keyId }, name], [common, statusName]);
  }
  assert.equal(records[1]!.submitted, { keyId: "own" });
  taken(await world.manage("POST", `/deployments/${deployId}/rename`, { name: "live" }));
  assert.is(taken(await world.manage("GET", `/diagnoses/${records[0]!.id}`)).reference, "greeting@live");
});

test("a model is that of the version, if the record names none", async () => {
  const world = await createWorld();
  const path = `/deployments/${world.deployId}/diagnoses`;
  await world.submit();
  const llmConfig = { model: "claude-opus-4-1" };
  taken(await world.manage("POST", `/prompts/${world.promptId}/versions`, { ...promptFile, llmConfig }), 201);
  taken(await world.manage("POST", `/deployments/${world.deployId}/promote`, { version: 2 }));
  await world.submit();
  const count = async (model: string) => (await readAll(world, `${path}?model=${model}`)).length;
  assert.equal([await count("gpt-4o"), await count("claude-opus-4-1"), await count("gpt")], [1, 1, 0]);
});

test("statuses must be known, and failures named", async () => {
  const world = await createWorld();
  const path = `/deployments/${world.deployId}/diagnoses`;
  const statuses = [{ status: 1, name: "ok" }, { status: 2, name: "late" }];
  taken(await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { statuses }));
  refused(
    await world.manage("GET", `${path}?status=1,lat`),
    400,
    "The workspace has no status named lat. Its names: ok, late",
  );
  refused(
    await world.manage("GET", `${path}?failures=true`),
    409,
    "No status of the workspace counts as a failure: name one with workspace update --status 0=failed!",
  );
  refused(
    await world.manage("GET", `${path}?where=trace_id`),
    400,
    "Field where must be a path and a value, as in trace_id=4bf92f35",
  );
  refused(
    await world.manage("GET", `${path}?costlierThan=-1`),
    400,
    "Field costlierThan must be a decimal text of USD such as 0.15",
  );
});

test.run();
