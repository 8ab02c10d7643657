// How records reach the real service: with their version and once, from the queue and by submit().
// Runs on every runtime in CI.
import { readFile } from "node:fs/promises";
import process from "node:process";
import fc from "fast-check";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { PromptLedgerError } from "../../src/client/errors.ts";
import type { DiagnosisItem } from "../../src/schema/shapes.ts";
import { isSameNumber } from "../../src/common/json-text.ts";
import { readStats } from "../../src/management/records/stats.ts";
import { call, createDeployment, listDiagnoses, setDeploymentActive } from "../actions.ts";
import { goodBody } from "../helpers.ts";
import { currentRuntime, pathOf } from "../runtimes.ts";
import { answering, createStage, fallback, oddResponse, reference, refused, silent, up } from "./stage.ts";
import type { Network, Odd, Stage } from "./stage.ts";

const test = suite(`client records on ${currentRuntime}`);

const odd = JSON.parse(await readFile(pathOf("test/client/odd.json"), "utf8")) as Odd;

const record: DiagnosisItem = { deployId: reference, ...goodBody };

/** The records that are stored, as plain JSON, in the order in which they were stored. */
async function stored({ world: { admin, deployId } }: Stage): Promise<Record<string, unknown>[]> {
  const items = await listDiagnoses(admin, { deployId });
  const plain = items.map((item) =>
    Object.fromEntries(
      Object.entries(item).map(([name, value]) => [
        name,
        typeof value === "object" && value !== null ? JSON.parse(value.text) : value,
      ]),
    )
  );
  return plain.reverse();
}

function circle(): object {
  const circular: Record<string, unknown> = {};
  return circular.self = circular;
}

const sessions = async (stage: Stage) => (await stored(stage)).map(({ sessionId }) => sessionId);

/** The reply to the first request of that name is lost, after it has taken effect. */
const losing = (stage: Stage, path: string): Network => async (request, pass) => {
  const response = await pass();
  if (!request.url.endsWith(path)) return response;
  stage.network = up;
  throw new TypeError("fetch failed");
};

test("a call is recorded under the version it was made with, with its times and tokens", async () => {
  const stage = await createStage();
  const prompt = await stage.client.prompt(reference);
  const startAt = stage.clock.now;
  const call = prompt.call({ sessionId: "order-4711", additional_properties: { user: "u-1", shop: "Acme" } });
  await stage.promote();
  await stage.pass(17_000);
  assert.equal(await stage.ask(), ["cache", 2]);
  call.done({
    status: 1,
    input: prompt.fill({ name: "Ada" }),
    output: "Hello Ada",
    usage: { input_tokens: 52, output_tokens: 4 },
    additional_properties: { shop: "Ada's" },
  });
  await stage.pass(1_000);
  const [found, ...more] = await stored(stage);
  const { id, createdAt, deployId: _deployId, keyId: _keyId, ...rest } = found!;
  assert.match(String(id), /^diag_/);
  assert.is(createdAt, startAt + 18_000);
  assert.equal(rest, {
    sessionId: "order-4711",
    status: 1,
    content: { input: '[{"role":"system","content":"Greet Ada"}]', output: "Hello Ada" },
    latency: 17_000,
    startAt,
    endAt: startAt + 17_000,
    additional_properties: {
      user: "u-1",
      shop: "Ada's",
      token_usage: { input_tokens: 52, output_tokens: 4 },
    },
    promptVersion: 1,
    reference,
    statusName: "ok",
  });
  assert.equal(more, []);
  assert.equal(stage.client.stats(), { reads: 2, sent: 1, dropped: 0, failed: 0, queued: 0, queuedBytes: 0 });
});

test("a call without a session gets one, and without input and output an empty text", async () => {
  const stage = await createStage();
  const call = (await stage.client.prompt(reference)).call();
  call.done({ status: 0 });
  call.done({ status: 1, output: "twice" });
  await stage.pass(1_000);
  const [{ sessionId, status, content }] = await stored(stage) as [Record<string, unknown>];
  assert.is(sessionId, call.sessionId);
  assert.match(call.sessionId, /^[0-9a-f-]{36}$/);
  assert.equal([status, content], [0, { output: "" }]);
});

const usages: [provider: string, usage: object][] = [
  ["OpenAI", { prompt_tokens: 100, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 90 } }],
  ["OpenAI's Responses", { input_tokens: 100, output_tokens: 7, input_tokens_details: { cached_tokens: 90 } }],
  ["Anthropic", { input_tokens: 10, cache_read_input_tokens: 90, output_tokens: 7 }],
  ["the AI SDK", { inputTokens: 100, outputTokens: 7, cachedInputTokens: 90 }],
  ["Gemini", { promptTokenCount: 100, candidatesTokenCount: 7, cachedContentTokenCount: 90 }],
];

for (const [provider, usage] of usages) {
  test(`the tokens that ${provider} reports are recorded as they are, and counted`, async () => {
    const stage = await createStage();
    const prompt = await stage.client.prompt(reference);
    prompt.call().done({ status: 1, usage });
    prompt.call().done({ status: 1, usage: null });
    await stage.pass(1_000);
    const properties = (await stored(stage)).map(({ additional_properties }) => additional_properties);
    assert.equal(properties, [{ token_usage: usage }, {}]);
    const { all: { tokens } } = await call(readStats, stage.world.admin, { deployId: stage.world.deployId });
    assert.equal([tokens.records, tokens.prompt, tokens.completion, tokens.cached], [1, 100, 7, 90]);
  });
}

test("a record made with a fallback counts for the version that the fallback names", async () => {
  const stage = await createStage();
  await stage.promote();
  stage.network = refused;
  const asked = Promise.all(
    [0, 1].map((version) =>
      stage.client.prompt(reference, { fallback: version === 0 ? fallback : { ...fallback, version } })
    ),
  );
  await stage.pass(3_000);
  for (const prompt of await asked) prompt.call().done({ status: 1 });
  stage.network = up;
  await stage.pass(61_000);
  assert.equal((await stored(stage)).map(({ promptVersion }) => promptVersion), [2, 1]);
});

test("a batch whose reply was lost is sent again, and stored once", async () => {
  const stage = await createStage();
  stage.network = losing(stage, "/v1/diagnoses");
  for (const sessionId of ["a", "b", "c"]) stage.client.record({ ...record, sessionId });
  await stage.pass(1_250);
  assert.equal(stage.sent(), ["batch", "batch"]);
  assert.equal(await sessions(stage), ["a", "b", "c"]);
  assert.equal(await stage.client.close(), { sent: 3, dropped: 0, failed: 0 });
});

test("a submit whose reply was lost is sent again, and stored once", async () => {
  const stage = await createStage();
  stage.network = losing(stage, `/v1/diagnosis?deployId=${encodeURIComponent(reference)}`);
  const submitted = stage.client.submit(record);
  await stage.pass(250);
  const { id } = await submitted;
  assert.equal((await stored(stage)).map((found) => found.id), [id]);
  assert.equal(stage.sent(), ["submit", "submit"]);
});

test("a record keeps the key that it is given, in the queue and by submit()", async () => {
  const stage = await createStage();
  const keyed = { ...record, idempotencyKey: 'order "4711"\\1' };
  stage.client.record(keyed);
  await stage.pass(1_000);
  const { id } = await stage.client.submit(keyed);
  assert.equal((await stored(stage)).map((found) => found.id), [id]);
});

test("keys are UUIDs of version 7 that begin with the time of the record", async () => {
  const stage = await createStage();
  const bodies: string[] = [];
  stage.network = async (request, pass) => {
    bodies.push(await request.clone().text());
    return await pass();
  };
  stage.client.record(record);
  stage.client.record(record);
  await stage.pass(1_000);
  const { records } = JSON.parse(bodies[0]!) as { records: DiagnosisItem[] };
  const time = (stage.clock.now - 1_000).toString(16).padStart(12, "0");
  for (const { idempotencyKey } of records) {
    assert.match(idempotencyKey!, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.ok(idempotencyKey!.replaceAll("-", "").startsWith(time));
  }
  assert.is.not(records[0]!.idempotencyKey, records[1]!.idempotencyKey);
});

test("further members are stored, and a record is what it was when it was recorded", async () => {
  const stage = await createStage();
  const own = { ...record, trace: { spans: [1.5] } };
  stage.client.record(own);
  own.trace.spans.push(2);
  await stage.pass(1_000);
  assert.equal((await stored(stage))[0]!.trace, { spans: [1.5] });
});

test("records that cannot be stored take no others with them", async () => {
  const stage = await createStage();
  let deep: unknown = 1;
  for (let level = 0; level < 1_100; level++) deep = [deep];
  stage.client.record({ ...record, sessionId: "first" });
  stage.client.record({ ...record, sessionId: "too deep", deep });
  for (let number = 0; number < 20; number++) stage.client.record({ ...record, sessionId: `${number}` });
  stage.client.record({ ...record, status: 1.5, sessionId: "no integer" });
  stage.client.record({ ...record, deployId: "greeting@nowhere" });
  stage.client.record({ ...record, promptVersion: 9 });
  stage.client.record({ ...record, sessionId: "last" });
  await stage.pass(3_000);
  assert.equal(
    (await sessions(stage)).sort(),
    ["first", "last", ...Array.from({ length: 20 }, (_, n) => `${n}`)].sort(),
  );
  const told = stage.told().map((event) => "error" in event ? event.error.code : "");
  assert.ok(
    told.every((code) => ["invalid_request", "invalid", "deployment_not_found", "version_not_found"].includes(code)),
  );
  assert.equal(await stage.client.close(), { sent: 22, dropped: 0, failed: 4 });
});

test("batches stay below the service's limit, and records that are too large for it are refused", async () => {
  const stage = await createStage();
  const output = "x".repeat(300_000);
  for (let number = 0; number < 7; number++) stage.client.record({ ...record, content: { output } });
  stage.client.record({ ...record, content: { output: "x".repeat(1_100_000) } });
  stage.client.record({ ...record, sessionId: "last" });
  await stage.pass(3_000);
  assert.equal(await stage.client.close(), { sent: 8, dropped: 0, failed: 1 });
  assert.equal(stage.told().map((event) => "error" in event && event.error.status), [413]);
});

test("a queue is bounded in bytes, as they are sent", async () => {
  const size = new TextEncoder().encode(JSON.stringify({ ...record, sessionId: "ü", idempotencyKey: "k" })).length;
  const stage = await createStage({ maxQueuedBytes: 2 * size });
  for (const key of ["a", "b", "c"]) stage.client.record({ ...record, sessionId: "ü", idempotencyKey: key });
  const { queued, queuedBytes, dropped } = stage.client.stats();
  assert.equal([queued, queuedBytes, dropped], [2, 2 * size, 1]);
  assert.equal(stage.told().map((event) => event.event === "drop" && event.error.code), ["queue_full"]);
});

test("a mask changes records, leaves them out, and drops what it fails on", async () => {
  const stage = await createStage({
    mask(record) {
      if (record.sessionId === "secret") return null;
      if (record.sessionId === "broken") throw new Error("mine");
      // What the mask leaves out is left out, but for the key.
      const { deployId, sessionId, status, content } = record;
      return { deployId, sessionId, status, content: { output: content.output?.replace(/\d/g, "*") } };
    },
  });
  for (const sessionId of ["secret", "broken", "broken", "fine"]) {
    stage.client.record({ ...record, sessionId, content: { input: "no", output: "4711" }, extra: 1 });
  }
  stage.network = losing(stage, "/v1/diagnoses");
  await stage.pass(1_250);
  const [found, ...more] = await stored(stage);
  assert.equal([found!.sessionId, found!.content, found!.extra, more], ["fine", { output: "****" }, undefined, []]);
  const told = stage.told().filter(({ event }) => event === "drop") as { error: PromptLedgerError }[];
  assert.equal(told.map(({ error }) => [error.code, error.message]), [["mask_failed", "Error: mine"]]);
  assert.equal(stage.client.stats().dropped, 2);

  const rejected: string[] = [];
  for (const sessionId of ["secret", "broken"]) {
    await stage.client.submit({ ...record, sessionId }).catch(({ code }) => rejected.push(code));
  }
  assert.equal(rejected, ["invalid_argument", "mask_failed"]);
  await stage.client.submit({ ...record, sessionId: "submitted" });
  assert.equal((await stored(stage)).at(-1)!.content, { output: "Hi" });
});

test("done() never throws, whatever it is given", async () => {
  const stage = await createStage();
  const prompt = await stage.client.prompt(reference);
  const throwing = {
    get status(): number {
      throw new Error("mine");
    },
  };
  const outcomes: unknown[] = [{ status: 1, input: circle() }, { status: 1, output: 1n }, throwing, undefined, null];
  for (const outcome of outcomes) prompt.call().done(outcome as { status: number });
  stage.client.record(undefined as unknown as DiagnosisItem);
  prompt.call({ sessionId: "fine" }).done({ status: 1, output: () => {} });
  await stage.pass(1_000);
  assert.equal(await sessions(stage), ["fine"]);
  const { dropped, failed } = stage.client.stats();
  assert.is(dropped + failed, 6);
});

test("where a platform has waitUntil, what is recorded in one go is sent at once and waited for", async () => {
  const promises: Promise<unknown>[] = [];
  const stage = await createStage({ waitUntil: (promise) => void promises.push(promise) });
  for (const sessionId of ["a", "b"]) stage.client.record({ ...record, sessionId });
  await Promise.all(promises);
  assert.equal([stage.sent(), await sessions(stage)], [["batch"], ["a", "b"]]);
  assert.is(promises.length, 2);

  // A service that is away is waited for no longer than a request may take, and tried again with the next record.
  stage.network = refused;
  stage.client.record({ ...record, sessionId: "c" });
  let isOver = false;
  void promises[2]!.then(() => isOver = true);
  await stage.pass(20_000);
  assert.ok(isOver);
  stage.network = up;
  stage.client.record({ ...record, sessionId: "d" });
  await stage.clock.settle();
  assert.equal(await sessions(stage), ["a", "b", "c", "d"]);
});

test("a waitUntil that cannot be called here keeps no record from being sent", async () => {
  const stage = await createStage({
    waitUntil() {
      throw new Error("Outside of a request");
    },
  });
  stage.client.record(record);
  await stage.clock.settle();
  assert.equal([stage.client.stats().sent, stage.client.stats().dropped], [1, 0]);
});

test("flush() resolves once all is settled, or in time", async () => {
  const stage = await createStage();
  stage.client.record(record);
  await stage.client.flush();
  assert.equal([stage.sent(), stage.client.stats().sent], [["batch"], 1]);
  await stage.client.flush();
  stage.network = silent;
  stage.client.record(record);
  const flushed = stage.client.flush({ timeout: 100 });
  await stage.pass(100);
  await flushed;
  assert.equal(stage.client.stats().queued, 1);
});

test("what was recorded holds a process until it is sent, and a service that is away does not", async () => {
  const stage = await createStage({ watch: false });
  stage.client.record(record);
  assert.equal(stage.clock.timers(), { held: 1, others: 0 });
  stage.network = refused;
  await stage.pass(1_000);
  assert.equal(stage.clock.timers(), { held: 0, others: 1 });
});

test("a record has the times of the clock, and a token too, also once that was set back", async () => {
  const stage = await createStage({ watch: false });
  const prompt = await stage.client.prompt(reference);
  stage.clock.now -= 31_536_000_000;
  const call = prompt.call();
  call.done({ status: 1, output: "x" });
  // A minute later than is possible a year ahead.
  await call.feedbackToken({ names: ["thumb"], expires: new Date(stage.clock.now + 60_000) });
  await stage.client.flush();
  const [{ startAt, endAt, latency }] = await stored(stage) as [Record<string, unknown>];
  assert.equal([startAt, endAt, latency], [stage.clock.now, stage.clock.now, 0]);
});

test("a clock that is set back holds no record longer than usual", async () => {
  const stage = await createStage({ watch: false });
  stage.client.record(record);
  stage.clock.now -= 3_600_000;
  stage.client.record(record);
  await stage.pass(1_000);
  assert.is(stage.client.stats().sent, 2);
});

test("a clock that is set back during a back-off does not prolong it", async () => {
  const stage = await createStage({ watch: false });
  stage.network = refused;
  stage.client.record(record);
  await stage.pass(1_000);
  stage.clock.now -= 3_600_000;
  stage.network = up;
  stage.client.record(record);
  await stage.pass(1_000);
  assert.is(stage.client.stats().sent, 2);
});

test("records that were made before a deployment was switched off are stored once it is active again, and others meanwhile", async () => {
  const stage = await createStage();
  const { world: { admin, deployId, promptId, workspaceId } } = stage;
  await createDeployment(admin, workspaceId, { name: "staging", promptId });
  await stage.ask();
  await setDeploymentActive(admin, deployId, false);
  for (const sessionId of ["a", "b"]) stage.client.record({ ...record, sessionId });
  stage.client.record({ ...record, deployId: "greeting@staging", sessionId: "other" });
  await stage.pass(20_000);
  const { sent, queued } = stage.client.stats();
  assert.equal([sent, queued], [1, 2]);
  await setDeploymentActive(admin, deployId, true);
  await stage.pass(300_000);
  assert.equal((await sessions(stage)).sort(), ["a", "b"]);
  assert.equal(
    stage.told().map((told) => [told.event, "deployId" in told ? told.deployId : undefined]),
    [["error", reference], ["recover", reference]],
  );
  assert.equal(await stage.client.close(), { sent: 3, dropped: 0, failed: 0 });
});

test("a process that is closed while a deployment is off tries its records once more", async () => {
  const stage = await createStage();
  await setDeploymentActive(stage.world.admin, stage.world.deployId, false);
  stage.client.record(record);
  await stage.pass(10_000);
  await setDeploymentActive(stage.world.admin, stage.world.deployId, true);
  assert.equal(await stage.client.close(), { sent: 1, dropped: 0, failed: 0 });
});

/** A firewall that lets nothing through whose text it takes for an attack. */
const firewall: Network = async (request, pass) =>
  (await request.clone().text()).includes("<script>")
    ? new Response("<html>Blocked</html>", { status: 403 })
    : await pass();

test("a record that a firewall does not let through holds up no others, and is stored once it passes", async () => {
  const stage = await createStage();
  stage.network = firewall;
  for (let number = 0; number < 120; number++) {
    const output = [17, 18, 99].includes(number) ? "<script>" : "Hi";
    stage.client.record({ ...record, content: { output }, sessionId: `${number}` });
  }
  await stage.pass(30_000);
  const { sent, queued } = stage.client.stats();
  assert.equal([sent, queued], [117, 3]);
  // What comes later does not wait for them.
  stage.client.record({ ...record, sessionId: "later" });
  await stage.pass(1_000);
  assert.is(stage.client.stats().sent, 118);
  stage.told();
  await stage.pass(3_600_000);
  assert.equal(stage.told(), []);
  stage.network = up;
  await stage.pass(300_000);
  assert.equal((await sessions(stage)).length, 121);
  assert.equal(await stage.client.close(), { sent: 121, dropped: 0, failed: 0 });
});

test("a record that never passes is failed after 24 h", async () => {
  const stage = await createStage();
  stage.network = firewall;
  stage.client.record({ ...record, content: { output: "<script>" } });
  stage.client.record(record);
  await stage.pass(86_400_000);
  assert.equal([stage.client.stats().failed, stage.client.stats().queued], [0, 1]);
  await stage.pass(300_000);
  assert.equal(await stage.client.close(), { sent: 1, dropped: 0, failed: 1 });
});

test("a run of failures emits one error, and one recover at its end", async () => {
  const stage = await createStage({ watch: false });
  await stage.ask();
  stage.network = refused;
  for (let second = 0; second < 100; second++) {
    stage.client.record(record);
    await stage.ask();
    await stage.pass(1_000);
  }
  stage.network = up;
  await stage.pass(61_000);
  await stage.ask();
  await stage.clock.settle();
  // The queue and the looks have a run each.
  assert.equal(stage.told().map(({ event }) => event), ["error", "error", "stale", "recover", "recover"]);
});

test("a silent service keeps a finished process for less than 5 s, after a record and after a prompt", async () => {
  const stage = await createStage();
  stage.network = silent;
  stage.client.record(record);
  await stage.pass(4_000);
  assert.equal([stage.client.stats().queued, stage.clock.timers().held], [1, 0]);
  const other = await createStage();
  other.network = silent;
  const asked = other.client.prompt(reference).catch(({ code }) => code);
  await other.pass(4_000);
  assert.equal([await asked, other.clock.timers().held], ["timeout", 0]);
});

test("while the application goes on, a slow service has 20 s", async () => {
  const stage = await createStage({ watch: false });
  let signal: AbortSignal | undefined;
  stage.network = (request) => {
    signal ??= request.signal;
    return silent(request, up as never);
  };
  stage.client.record(record);
  const recordEachSecond = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      stage.client.record(record);
      await stage.pass(1_000);
    }
  };
  await recordEachSecond(20);
  assert.is(signal!.aborted, false);
  await recordEachSecond(2);
  assert.is(signal!.aborted, true);
  const closed = stage.client.close({ timeout: 30_000 });
  await stage.pass(30_000);
  assert.is((await closed).dropped, 23);
});

/** What a path to the service may be like for a while. */
const weather = fc.record({
  kind: fc.constantFrom("up", "refused", "silent", "odd", "lost", "401", "429", "off", "firewall"),
  ms: fc.constantFrom(0, 300, 1_500, 20_000, 90_000, 400_000),
  records: fc.nat(130),
  answer: fc.nat(),
  flushes: fc.boolean(),
});

type Weather = { kind: string; ms: number; records: number; answer: number; flushes: boolean };

async function survive(changes: Weather[]): Promise<void> {
  const stage = await createStage({ watch: false });
  const { world: { admin, deployId }, client } = stage;
  let made = 0;
  for (const { kind, ms, records, answer, flushes } of changes) {
    await setDeploymentActive(admin, deployId, kind !== "off");
    let state = answer;
    const random = () => (state = (state * 48_271 + 11) % 0x7fffffff) / 0x7fffffff;
    const networks: Record<string, Network> = {
      refused,
      silent,
      firewall,
      odd: () => Promise.resolve(oddResponse(odd, random)),
      lost: async (_, pass) => {
        await pass();
        return random() < 0.5 ? oddResponse(odd, random) : await refused(_, pass);
      },
      401: answering(401, { error: "Invalid API key" }),
      429: answering(429, { error: "Rate limit exceeded", details: { limit: 1, used: 1, resetTime: 1796083200 } }),
    };
    stage.network = networks[kind] ?? up;
    for (let number = 0; number < records; number++) {
      const output = number % 40 === 7 ? "<script>" : "Hi";
      client.record({ ...record, content: { output }, sessionId: `${made++}` });
    }
    if (flushes) void client.flush();
    await stage.pass(ms);
    const { sent, dropped, failed, queued } = client.stats();
    assert.equal([dropped, failed, sent + queued], [0, 0, made]);
  }
  await setDeploymentActive(admin, deployId, true);
  stage.network = up;
  await stage.pass(4_000_000);
  assert.equal(client.stats().queued, 0);
  const found = await stage.world.database.read({ sql: "select session_id from diagnoses" });
  assert.equal([found.length, new Set(found.map((row) => row.session_id)).size], [made, made]);
  assert.equal(await client.close(), { sent: made, dropped: 0, failed: 0 });
}

test("whatever happens on the way to the service, in whatever order, each record is stored once", async () => {
  await fc.assert(fc.asyncProperty(fc.array(weather, { maxLength: 8 }), survive), {
    numRuns: Number(process.env.NUM_RUNS ?? (isFull ? 30 : 10)),
  });
});

const told = (stage: Stage) =>
  stage.told().map((event) => [event.event, "error" in event && event.error.code, "records" in event && event.records]);

test("close() emits drop with the number of all records that it gives up, and nothing without one", async () => {
  const stage = await createStage();
  stage.client.record(record);
  await stage.client.close();
  assert.equal(told(stage), []);
  for (
    const [network, totals] of [
      [refused, { dropped: 3, failed: 0 }],
      [answering(401, { error: "Invalid API key" }), { dropped: 0, failed: 3 }],
    ] as const
  ) {
    const client = stage.connect();
    stage.network = network;
    for (let number = 0; number < 3; number++) client.record(record);
    await stage.pass(1_000);
    const why = told(stage);
    const closed = client.close();
    await stage.pass(5_000);
    assert.equal(await closed, { sent: 0, ...totals });
    assert.equal([why.length, ...told(stage)], [1, ["drop", "closed", 3]]);
    stage.network = up;
  }
});

test("close() can be awaited twice, and `await using` closes", async () => {
  const stage = await createStage();
  stage.client.record(record);
  const [first, second] = [stage.client.close(), stage.client.close()];
  assert.is(first, second);
  assert.equal(await first, { sent: 1, dropped: 0, failed: 0 });
  const other = stage.connect();
  other.record(record);
  await other[Symbol.asyncDispose]();
  assert.is((await stored(stage)).length, 2);
});

test("close() with a service that heeds no signal counts what it knows", async () => {
  const stage = await createStage();
  let release = () => {};
  stage.network = async (_, pass) => {
    await new Promise<void>((resolve) => release = resolve);
    return await pass();
  };
  stage.client.record(record);
  await stage.pass(1_000);
  const closed = stage.client.close({ timeout: 0 });
  await stage.pass(0);
  assert.equal(await closed, { sent: 0, dropped: 1, failed: 0 });
  assert.equal(told(stage), [["drop", "closed", 1]]);
  release();
  await stage.clock.settle();
  assert.equal([stage.client.stats().sent, stage.client.stats().dropped], [0, 1]);
});

test("submit() says where a record is refused, and which field is wrong", async () => {
  const { client, sent } = await createStage();
  const error = await client.submit({ ...record, status: "1" as unknown as number }).catch((error) => error);
  assert.equal([error.name, error.status, error.message, error.retryable], [
    "InvalidRequestError",
    400,
    `Field status must be an integer from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`,
    false,
  ]);
  assert.match(error.requestId, /^req_/);
  assert.equal(sent(), ["submit"]);
});

for (
  const [name, code, wrong] of [
    ["no record", "invalid_record", undefined],
    ["null", "invalid_record", null],
    ["a circle", "invalid_record", { ...record, extra: circle() }],
    ["a bigint", "invalid_record", { ...record, extra: 1n }],
    ["half a character in deployId", "invalid_record", { ...record, deployId: "\ud800" }],
    ["an empty key", "invalid_argument", { ...record, idempotencyKey: "" }],
    ["a key beyond ASCII", "invalid_argument", { ...record, idempotencyKey: "ключ" }],
    ["a key with a line break", "invalid_argument", { ...record, idempotencyKey: "a\nb" }],
    ["a key that is too long", "invalid_argument", { ...record, idempotencyKey: "k".repeat(256) }],
  ] as [string, string, DiagnosisItem][]
) {
  test(`submit() refuses ${name} without sending it`, async () => {
    const stage = await createStage();
    const submitted = stage.client.submit(wrong).catch((error) => error);
    await stage.pass(10_000);
    const error = await submitted;
    assert.instance(error, PromptLedgerError);
    assert.equal([error.code, error.retryable, stage.sent()], [code, false, []]);
  });
}

test("numbers arrive as they are", async () => {
  const stage = await createStage();
  const { id } = await stage.client.submit({ ...record, additional_properties: { small: 1e-7, large: 2 ** 60 } });
  const items = await listDiagnoses(stage.world.admin, { deployId: stage.world.deployId });
  assert.is(items[0]!.id, id);
  const { small, large } = JSON.parse((items[0]!.additional_properties as { text: string }).text);
  assert.ok(isSameNumber(String(small), 1e-7) && large === 2 ** 60);
});

test.run();
