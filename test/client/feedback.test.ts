// How feedback reaches the real service: under its record, in order and once, from the queue and by a page with a token.
// Runs on every runtime in CI.
import process from "node:process";
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { PromptLedgerError } from "../../src/client/errors.ts";
import type { FeedbackTokenOptions, GivenFeedback } from "../../src/client/feedback.ts";
import type { ModelCall } from "../../src/client/prompt.ts";
import type { DiagnosisItem } from "../../src/schema/shapes.ts";
import { bearer, goodBody } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";
import { answering, createStage, reference, refused, silent, up } from "./stage.ts";
import type { Network, Stage } from "./stage.ts";

const test = suite(`client feedback on ${currentRuntime}`);

const day = 86_400_000; // ms

const record: DiagnosisItem = { deployId: reference, ...goodBody };

/** All feedback that is stored, with the session of its record. */
const stored = async ({ world }: Stage, table = "feedback"): Promise<unknown[][]> =>
  (await world.database.read({
    sql: `select session_id, name, author, value from ${table} join diagnoses using (position)
      order by session_id, name, author, given_at, value`,
  })).map(({ session_id, name, author, value }) => [session_id, name, author, value]);

const startCall = async ({ client }: Stage, sessionId = "session"): Promise<ModelCall> =>
  (await client.prompt(reference)).call({ sessionId });

const told = (stage: Stage) =>
  stage.told().map((event) => [
    event.event,
    "error" in event && event.error.code,
    "feedback" in event && event.feedback,
  ]);

test("feedback on a call is stored under its record, whether it comes before the record or after it", async () => {
  const stage = await createStage();
  const call = await startCall(stage);
  call.feedback({ name: "thumb", value: true, comment: "It knew" });
  await stage.pass(2_000);
  assert.equal(await stored(stage), []);
  const key = call.record;
  call.done({ status: 1 });
  call.feedback({ name: "score", value: 0.5, author: "judge", source: "program" });
  await stage.pass(1_000);
  assert.match(call.record!, /^diag_/);
  assert.match(key!, /^[0-9a-f-]{36}$/);
  call.feedback({ name: "tone", value: "kind" });
  await stage.client.flush();
  assert.equal(await stored(stage), [
    ["session", "score", "judge", 0.5],
    ["session", "thumb", "", 1],
    ["session", "tone", "", "kind"],
  ]);
  assert.equal(await stage.client.close(), { sent: 4, dropped: 0, failed: 0 });
});

test("feedback by the id of a record or by its key replaces, and null withdraws", async () => {
  const stage = await createStage();
  const { client } = stage;
  const { id } = await client.submit({ ...record, idempotencyKey: "order-4711" });
  client.feedback("order-4711", { name: "thumb", value: true });
  client.feedback(id, { name: "thumb", value: false });
  client.feedback("order-4711", { name: "gone", value: 1 });
  client.feedback(id, { name: "gone", value: null });
  client.feedback(id, { name: "gone", value: null });
  await client.flush();
  assert.equal(await stored(stage), [["session-1", "thumb", "", 0]]);
  assert.equal(await stored(stage, "earlier_feedback"), [["session-1", "gone", "", 1], ["session-1", "thumb", "", 1]]);
  assert.equal(client.stats().sent, 5);
});

test("the record's id is used once it is known, so that feedback comes through when its key is forgotten", async () => {
  const stage = await createStage({ watch: false });
  const call = await startCall(stage);
  call.done({ status: 1 });
  await stage.pass(3 * day);
  call.feedback({ name: "thumb", value: true });
  await stage.pass(1_000);
  assert.equal(await stored(stage), [["session", "thumb", "", 1]]);
});

test("feedback whose reply was lost is sent again, and stored once", async () => {
  const stage = await createStage();
  const { id } = await stage.client.submit(record);
  stage.sent();
  stage.network = async (_, pass) => {
    await pass();
    stage.network = up;
    throw new TypeError("fetch failed");
  };
  for (const value of [true, false]) stage.client.feedback(id, { name: "thumb", value });
  await stage.pass(1_250);
  assert.equal(stage.sent(), ["feedback", "feedback"]);
  assert.equal(await stored(stage), [["session-1", "thumb", "", 0]]);
  assert.equal(await stage.client.close(), { sent: 2, dropped: 0, failed: 0 });
});

test("what could not be sent does not overwrite what came after it", async () => {
  const stage = await createStage({ watch: false });
  const { id } = await stage.client.submit(record);
  // The service refuses the first piece for lack of room, and stores the others.
  stage.network = async (request) => {
    stage.network = up;
    const { feedback } = await stage.clock.follow(request.json()) as { feedback: object[] };
    const body = JSON.stringify({ feedback: feedback.slice(1) });
    const { json } = await stage.clock.follow(stage.world.send("/v1/feedback", { method: "POST", body }));
    const busy = { status: 503, error: "Too many requests are waiting", code: "overloaded" };
    return Response.json({ results: [busy, ...(json as { results: object[] }).results] });
  };
  stage.client.feedback(id, { name: "thumb", value: true });
  stage.client.feedback(id, { name: "thumb", value: false });
  stage.client.feedback(id, { name: "thumb", author: "bob", value: true });
  await stage.pass(2_000);
  assert.equal(await stored(stage), [["session-1", "thumb", "", 0], ["session-1", "thumb", "bob", 1]]);
  assert.equal(await stage.client.close(), { sent: 3, dropped: 0, failed: 0 });
});

test("refused pieces are reported, and take no others with them", async () => {
  const stage = await createStage();
  const { client } = stage;
  const { id } = await client.submit(record);
  const wrong = [
    { name: "thumb", value: "good" },
    { name: "-", value: true },
    { name: "thumb" },
    { name: "score", value: 1e16 },
    { name: "score", value: [1] },
    { name: "score", value: 1, comment: "x".repeat(8_193) },
    { name: "score", value: 1, author: "a\0" },
    { name: "score", value: 1, source: "model" },
    { name: "score", value: 1, valeu: 2 },
    { name: "score", value: 1, sessionId: "s", deployId: reference },
  ] as unknown as GivenFeedback[];
  client.feedback(id, { name: "thumb", value: true });
  for (const given of wrong) client.feedback(id, given);
  client.feedback(id.replace(/..$/, "7f"), { name: "thumb", value: true });
  client.feedback("", { name: "thumb", value: true });
  client.feedback("ключ", { name: "thumb", value: true });
  client.feedback(undefined as unknown as string, { name: "thumb", value: true });
  client.feedback(id, { name: "last", value: true });
  await stage.pass(5_000);
  assert.equal(await stored(stage), [["session-1", "last", "", 1], ["session-1", "thumb", "", 1]]);
  assert.equal(told(stage), [["error", "invalid", wrong.length + 4]]);
  assert.equal(await client.close(), { sent: 2, dropped: 0, failed: wrong.length + 4 });
});

test("feedback() never throws, and drops what is no JSON or would withdraw by mistake", async () => {
  const stage = await createStage();
  const { client } = stage;
  const call = await startCall(stage);
  const throwing = {
    get name(): string {
      throw new Error("mine");
    },
  };
  const values = [NaN, Infinity, -Infinity, new Date(NaN), 1n];
  const given = [undefined, null, throwing, ...values.map((value) => ({ name: "thumb", value }))];
  for (const piece of given as GivenFeedback[]) {
    call.feedback(piece);
    client.feedback("order-4711", piece);
  }
  await stage.pass(1_000);
  assert.equal([client.stats().dropped, client.stats().queued], [2 * given.length, 0]);
  assert.equal(told(stage), [["drop", "invalid_feedback", false]]);
  assert.equal(stage.sent().filter((name) => name === "feedback"), []);
  await client.close();
  client.feedback("order-4711", { name: "thumb", value: true });
});

test("feedback goes out after a second, 500 at once, and one batch follows the other", async () => {
  const stage = await createStage();
  const { client } = stage;
  const records = [await client.submit(record), await client.submit(record)];
  const sizes: number[] = [];
  let underWay = 0;
  stage.network = async (request, pass) => {
    sizes.push((JSON.parse(await request.clone().text()) as { feedback: object[] }).feedback.length);
    assert.is(underWay++, 0);
    return await pass().finally(() => underWay--);
  };
  for (let nth = 0; nth < 1_100; nth++) client.feedback(records[nth % 2]!.id, { name: `name-${nth % 50}`, value: nth });
  await stage.pass(1);
  assert.equal(sizes, [500, 500]);
  await stage.pass(1_000);
  assert.equal(sizes, [500, 500, 100]);
  const values = (await stored(stage)).map(([, name, , value]) => [name, value]);
  assert.equal(values.length, 50);
  for (const [name, value] of values) assert.is(name, `name-${Number(value) - 1_050}`);
});

test("a workspace that gives too much at once is waited for, and so is a service that has no feedback yet", async () => {
  for (
    const [status, body] of [
      [429, { error: "The workspace gives too much feedback at once: try again later", code: "too_much_feedback" }],
      [404, { error: "Not found" }],
      [401, { error: "Invalid API key" }],
    ] as const
  ) {
    const stage = await createStage({ watch: false });
    const { id } = await stage.client.submit(record);
    stage.network = answering(status, body, { "Retry-After": "60" });
    for (const name of ["thumb", "score"]) stage.client.feedback(id, { name, value: true });
    await stage.pass(10_000);
    assert.is(stage.client.stats().queued, 2);
    stage.network = up;
    await stage.pass(120_000);
    assert.equal(await stored(stage), [["session-1", "score", "", 1], ["session-1", "thumb", "", 1]]);
    assert.equal(told(stage).map(([event]) => event), ["error", "recover"]);
  }
});

test("a record that the mask leaves out gets no feedback, and one whose key the mask changes does", async () => {
  const stage = await createStage({
    mask: (record) => record.sessionId === "secret" ? null : { ...record, idempotencyKey: `${record.sessionId}-1` },
  });
  for (const sessionId of ["secret", "public"]) {
    const call = await startCall(stage, sessionId);
    call.done({ status: 1 });
    call.feedback({ name: "thumb", value: true });
    if (sessionId === "public") continue;
    assert.is(call.record, undefined);
    const error = await call.feedbackToken({ names: ["thumb"], expires: 1_000 }).catch((error) => error);
    assert.is(error.message, "The mask left out the record");
  }
  await stage.pass(1_000);
  assert.equal(await stored(stage), [["public", "thumb", "", 1]]);
  assert.equal(await stage.client.close(), { sent: 2, dropped: 0, failed: 0 });
});

test("close() gives up feedback that is left, and counts it", async () => {
  for (
    const [network, totals] of [
      [refused, { dropped: 2, failed: 0 }],
      [answering(401, { error: "Invalid API key" }), { dropped: 0, failed: 2 }],
    ] as const
  ) {
    const stage = await createStage();
    stage.network = network;
    for (const name of ["thumb", "score"]) stage.client.feedback("order-4711", { name, value: true });
    await stage.pass(1_000);
    told(stage);
    const closed = stage.client.close();
    await stage.pass(5_000);
    assert.equal(await closed, { sent: 0, ...totals });
    assert.equal(told(stage), [["drop", "closed", 2]]);
  }
});

/** A firewall that lets nothing through whose text it takes for an attack. */
const firewall: Network = async (request, pass) =>
  (await request.clone().text()).includes("<script>")
    ? new Response("<html>Blocked</html>", { status: 403 })
    : await pass();

const weather = fc.record({
  kind: fc.constantFrom("up", "refused", "silent", "lost", "401", "busy", "firewall"),
  ms: fc.constantFrom(0, 300, 1_500, 20_000, 90_000, 400_000),
  given: fc.array(
    fc.record({
      session: fc.nat(2),
      author: fc.constantFrom("", "ann"),
      value: fc.option(fc.boolean()),
      comment: fc.constantFrom("", "<script>"),
    }),
    { maxLength: 8 },
  ),
  isDone: fc.boolean(),
});

type Weather = typeof weather extends fc.Arbitrary<infer W> ? W : never;

async function survive(changes: Weather[]): Promise<void> {
  const stage = await createStage({ watch: false });
  const calls = await Promise.all(["0", "1", "2"].map((sessionId) => startCall(stage, sessionId)));
  const last = new Map<string, unknown[]>();
  let made = 0;
  for (const { kind, ms, given, isDone } of changes) {
    const networks: Record<string, Network> = {
      refused,
      silent,
      firewall,
      lost: async (request, pass) => {
        await pass();
        return await refused(request, pass);
      },
      busy: async (request, pass) => {
        const response = await pass();
        if (!request.url.endsWith("/v1/feedback")) return response;
        // Every other piece is stored, but not known to be.
        const { results } = await response.json() as { results: object[] };
        const busy = { status: 503, error: "Database is busy", code: "unavailable" };
        return Response.json({ results: results.map((result, nth) => nth % 2 === 0 ? busy : result) });
      },
      401: answering(401, { error: "Invalid API key" }),
    };
    stage.network = networks[kind] ?? up;
    for (const { session, author, value, comment } of given) {
      calls[session]!.feedback({ name: "thumb", author, value, comment });
      last.set(`${session} ${author}`, [`${session}`, "thumb", author, Number(value), value]);
      made++;
    }
    if (isDone) calls.forEach((call) => call.done({ status: 1 }));
    await stage.pass(ms);
  }
  calls.forEach((call) => call.done({ status: 1 }));
  stage.network = up;
  await stage.pass(4_000_000);
  const expected = [...last.values()].filter(([, , , , value]) => value !== null).map((row) => row.slice(0, 4));
  assert.equal(await stored(stage), expected.sort());
  assert.equal(await stage.client.close(), { sent: made + 3, dropped: 0, failed: 0 });
}

test("whatever happens on the way to the service, in whatever order, what was given last stands", async () => {
  await fc.assert(fc.asyncProperty(fc.array(weather, { maxLength: 8 }), survive), {
    numRuns: Number(process.env.NUM_RUNS ?? 30),
  });
});

/** What a page does with a token. */
const give = (stage: Stage, record: string, token: string, name = "thumb") =>
  stage.world.send(`/v1/diagnosis/${record}/feedback/${name}`, {
    method: "PUT",
    headers: bearer(token),
    body: JSON.stringify({ value: true }),
  });

test("a token that is made offline gives feedback on its record, before it is stored and after", async () => {
  const stage = await createStage({ watch: false });
  const call = await startCall(stage);
  stage.network = refused;
  const early = await call.feedbackToken({ names: ["thumb"], expires: 60_000, author: "ann" });
  assert.is((await give(stage, call.record!, early)).status, 200);
  assert.is((await give(stage, call.record!, early, "score")).status, 403);
  stage.network = up;
  call.done({ status: 1 });
  await stage.pass(1_000);
  const expires = new Date(stage.clock.now + 30 * day);
  const late = await call.feedbackToken({ names: ["score"], expires });
  stage.clock.now += 30 * day - 1_000;
  assert.is((await give(stage, call.record!, late, "score")).status, 200);
  assert.equal(await stored(stage), [["session", "score", "", 1], ["session", "thumb", "ann", 1]]);
  stage.clock.now += 1_000;
  assert.is((await give(stage, call.record!, late, "score")).status, 401);
});

test("a token that could not be used is refused", async () => {
  const stage = await createStage({ watch: false });
  const call = await startCall(stage);
  const { now } = stage.clock;
  const codeOf = async (options: object, of = call): Promise<string> =>
    await of.feedbackToken({ names: ["thumb"], expires: 60_000, ...options } as FeedbackTokenOptions)
      .then(() => "made", (error: PromptLedgerError) => error.code);
  const wrong = [
    ...[2 * day + 1, 0, -1, NaN, Infinity, undefined, "soon", new Date(now), new Date(NaN), new Date(now + 3 * day)]
      .map((expires) => ({ expires })),
    ...[[], undefined, "thumb", ["-"], [null], ["a b"], ["x".repeat(65)], Array(50).fill("x".repeat(64))]
      .map((names) => ({ names })),
    ...["x".repeat(129), "a\nb"].map((author) => ({ author })),
  ];
  for (const options of wrong) assert.is(await codeOf(options), "invalid_argument", JSON.stringify(options));
  assert.is(await codeOf({ expires: 2 * day, author: "💚".repeat(128) }), "made");
  assert.is(await codeOf({ names: Array(50).fill("x".repeat(30)) }), "made");
  const page = stage.connect({ apiKey: null });
  const fallback = { messages: [] };
  stage.network = refused;
  const asked = page.prompt(reference, { fallback });
  await stage.pass(3_000);
  assert.is(await codeOf({}, (await asked).call()), "invalid_argument");
  const nothing = await call.feedbackToken(undefined as unknown as FeedbackTokenOptions).catch((error) => error.code);
  assert.is(nothing, "invalid_argument");
});

test.run();
