// A day of an application on a virtual clock: 10 processes ask for 5 prompts, record their calls and give thumbs, while 100 promotions are made,
// the service is away for an hour, slow for ten minutes and restarted ten times, and so are the processes. For ten minutes the key
// is refused, six times a deployment is switched off, and twelve times something else answers in place of the service.
// Runs on Node alone.
// Runs in CI alone.
import { readFile } from "node:fs/promises";
import process from "node:process";
import { isFull, seed, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createClientOn } from "../../src/client/client.ts";
import type { Client } from "../../src/client/client.ts";
import { NotFoundError } from "../../src/client/errors.ts";
import type { Prompt } from "../../src/client/prompt.ts";
import { createDeployment, createPrompt, promoteDeployment, pushPrompt, setDeploymentActive } from "../actions.ts";
import { verifyBalanced } from "../balanced.ts";
import { createWorld, promptFile, toPrompt } from "../helpers.ts";
import { currentRuntime, pathOf } from "../runtimes.ts";
import { createClock, oddResponse } from "./stage.ts";
import type { Odd } from "./stage.ts";

const test = suite(`a day of the client on ${currentRuntime}`);

const second = 1_000, minute = 60 * second, hour = 60 * minute; // ms
const processes = isFull ? 10 : 2, prompts = 5, promotions = 100, restarts = 10, oddities = 12, switches = 6;
const lookEvery = 15 * second; // at most

/** What is not as usual, from when to when. */
type Window = { from: number; to: number };

const odd = JSON.parse(await readFile(pathOf("test/client/odd.json"), "utf8")) as Odd;

/** Numbers from 0 to below 1 that a seed repeats. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

test("no request fails, no prompt is older than said, and every record and thumb is stored once where it belongs", async () => {
  const random = createRandom(seed);
  const between = (from: number, to: number) => Math.floor(from + random() * (to - from));
  const world = await createWorld({ monthlyLimit: 1_000_000, maxBodyBytes: 1024 * 1024 });
  const start = world.now, end = start + 24 * hour;
  const clock = createClock(start);
  Object.defineProperty(world, "now", { get: () => clock.now });
  const { admin, workspaceId, database } = world;
  const at = (time: number, run: () => void) => void clock.runtime.startTimer(run, time - clock.now, false);

  // The prompts, and which version is live from when on.
  const references: string[] = [];
  const live = new Map<string, { version: number; from: number }[]>();
  const targets: { promptId: Parameters<typeof pushPrompt>[1]; deployId: Parameters<typeof promoteDeployment>[1] }[] =
    [];
  for (let number = 0; number < prompts; number++) {
    const name = `prompt-${number}`;
    const { id: promptId } = await createPrompt(admin, workspaceId, toPrompt({ ...promptFile, name }));
    const { id: deployId } = await createDeployment(admin, workspaceId, { name: "production", promptId });
    targets.push({ promptId, deployId });
    references.push(`${name}@production`);
    live.set(`${name}@production`, [{ version: 1, from: start }]);
  }

  // What happens to the service.
  const outage = { from: start + 9 * hour, to: start + 10 * hour };
  const slowness = { from: start + 15 * hour, to: start + 15 * hour + 10 * minute };
  const restarted: Window[] = Array.from({ length: restarts }, (_, index) => {
    const from = start + (index < 5 ? 1 : 17) * hour + index * 50 * minute + between(0, 40 * minute);
    return { from, to: from + 3 * second };
  });
  const refusal = { from: start + 16 * hour, to: start + 16 * hour + 10 * minute };
  const odds: Window[] = Array.from({ length: oddities }, (_, index) => {
    const from = start + (index < 6 ? 6 : 7) * hour + index * 10 * minute + between(0, 5 * minute);
    return { from, to: from + between(second, 3 * minute) };
  });
  // One is long enough that records are tried and set aside again.
  const off = Array.from({ length: switches }, (_, index) => {
    const from = start + 11 * hour + index * 30 * minute;
    return { from, to: from + (index === 3 ? 20 * minute : 20 * second), number: index % 2 };
  });
  const isIn = (time: number, { from, to }: Window, after = 0) => time >= from && time < to + after;
  const isCalm = (time: number) =>
    !isIn(time, outage, lookEvery) && !isIn(time, slowness, 40 * second) && !isIn(time, refusal, minute + lookEvery) &&
    [...restarted, ...off].every((window) => !isIn(time, window, lookEvery)) &&
    odds.every((window) => !isIn(time, window, 30 * second + lookEvery));
  let repliesToLose = 0, readsLost = 0, oddAnswers = 0, madeWhileOff = 0;
  for (const { from } of restarted) at(from, () => repliesToLose++);
  for (const { from, to, number } of off) {
    const setActive = (isActive: boolean) => () =>
      void clock.follow(setDeploymentActive(admin, targets[number]!.deployId, isActive).then(() => looks = new Map()));
    at(from, setActive(false));
    at(to, setActive(true));
  }

  const delay = (ms: number) => new Promise<void>((resolve) => void clock.runtime.startTimer(resolve, ms, true));

  // Looks are nine of ten requests. The service answers one like the other as long as nothing changes.
  let looks = new Map<string | null, Response>();

  async function answer(request: Request): Promise<Response> {
    if (!request.url.endsWith("/v1/revisions")) return await world.fetch(request);
    const tag = request.headers.get("If-None-Match");
    const known = looks.get(tag) ?? await world.fetch(request);
    looks.set(tag, known);
    return known.clone();
  }

  function noteLost(request: Request, response: Response): void {
    if (request.method === "GET" && request.url.includes("/v1/prompts") && response.ok) readsLost++;
  }

  async function fetch(request: Request): Promise<Response> {
    const gone = () => new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });
    if (isIn(clock.now, slowness)) await delay(between(0, 8 * second));
    // Feedback that is given up on its way must not come after what has replaced it.
    if (request.signal.aborted && request.url.endsWith("/v1/feedback")) throw gone();
    if (isIn(clock.now, refusal)) return new Response('{"error":"Invalid API key"}', { status: 401 });
    if (odds.some((window) => isIn(clock.now, window))) {
      oddAnswers++;
      // Some requests have reached the service, and only their reply has not come back.
      if (random() < 0.3) noteLost(request, await clock.follow(answer(request)));
      return oddResponse(odd, random);
    }
    const isLost = repliesToLose > 0;
    if (isIn(clock.now, outage) || !isLost && restarted.some((window) => isIn(clock.now, window))) throw gone();
    const response = await clock.follow(answer(request));
    if (isLost) {
      // It has taken effect.
      repliesToLose--;
      noteLost(request, response);
      throw gone();
    }
    if (isIn(clock.now, slowness)) await delay(between(0, 8 * second));
    // The client no longer waits for it.
    if (request.signal.aborted) noteLost(request, response);
    return await clock.followBody(response);
  }

  // The application: each process asks for a prompt every two minutes, and records what came of it some seconds later.
  let snapshot = "";
  const store = { load: () => snapshot, save: (text: string) => void (snapshot = text) };
  const used = new Map<string, { reference: string; version: number }>();
  const thumbs = new Map<string, number>(); // the last one of each session
  let given = 0;
  const sources = new Map<string, number>();
  const lags = { calm: 0, cache: 0, any: 0 };
  const failures: unknown[] = [];
  const closed: { sent: number; dropped: number; failed: number; reads: number }[] = [];
  let expectedReads = 0;

  const isOff = (reference: string, time: number, after = 0) =>
    off.some((window) => references[window.number] === reference && isIn(time, window, after));

  function take(reference: string, prompt: Prompt, askedAt: number): void {
    const history = live.get(reference)!;
    const next = history[history.findIndex(({ version }) => version === prompt.version) + 1];
    const lag = next === undefined ? 0 : Math.max(0, askedAt - next.from);
    lags.any = Math.max(lags.any, lag);
    if (isCalm(askedAt)) lags.calm = Math.max(lags.calm, lag);
    if (prompt.source === "cache") lags.cache = Math.max(lags.cache, lag);
    sources.set(prompt.source, (sources.get(prompt.source) ?? 0) + 1);
  }

  function startProcess(from: number, until: number): void {
    let client: Client;
    let startedAt: number;
    const asked = new Set<string>();

    async function handle(reference: string): Promise<void> {
      if (clock.now >= until) return;
      const askedAt = clock.now;
      try {
        const prompt = await client.prompt(reference);
        take(reference, prompt, askedAt);
        asked.add(reference);
        const call = prompt.call();
        used.set(call.sessionId, { reference, version: prompt.version });
        at(clock.now + between(second, 5 * second), () => {
          call.done({ status: 1, input: prompt.fill({ name: "Ada" }) });
          if (isOff(reference, clock.now)) madeWhileOff++;
        });
        // Some come before the record, some are changed.
        for (let count = between(0, 3); count > 0; count--) {
          at(clock.now + between(0, random() < 0.5 ? 8 * second : hour), () => {
            if (clock.now >= until + 9 * second) return;
            const value = random() < 0.5;
            call.feedback({ name: "thumb", value });
            thumbs.set(call.sessionId, Number(value));
            given++;
          });
        }
      } catch (error) {
        // What was refused is remembered for a minute, unless a look shows that it is active.
        if (!(error instanceof NotFoundError && isOff(reference, askedAt, minute + lookEvery))) failures.push(error);
      }
    }

    function handleNow(): void {
      if (clock.now >= until) return;
      at(clock.now + between(minute, 3 * minute), handleNow);
      void handle(references[between(0, prompts)]!);
    }

    at(from, () => {
      startedAt = clock.now;
      client = createClientOn(clock.runtime, { apiKey: world.key, fetch, snapshot: clock.followStore(store) });
      client.on("error", () => {});
      handleNow();
    });
    // Each has calls under way when a deployment is switched off.
    for (const { from: offAt, number } of off) {
      if (offAt > from && offAt < until) at(offAt - second, () => void handle(references[number]!));
    }
    // What the last request did is recorded by then.
    at(until + 10 * second, async () => {
      const { reads } = client.stats();
      closed.push({ ...await client.close(), reads });
      const changes = [...asked].flatMap((reference) =>
        live.get(reference)!.filter((change) => change.from > startedAt)
      );
      expectedReads += asked.size + changes.length + off.filter(({ from }) => from > startedAt).length;
    });
  }

  for (let number = 0; number < processes; number++) {
    // Each is restarted once, while the service is there. One more begins while it is not.
    const turn = start + 19 * hour + number * 20 * minute;
    startProcess(start + number * second, turn);
    startProcess(turn + 15 * second, end);
  }
  startProcess(start + 9.5 * hour, end);

  for (let number = 0; number < promotions; number++) {
    at(start + between(2 * minute, 24 * hour - 10 * minute), () => {
      const index = between(0, prompts);
      const history = live.get(references[index]!)!;
      const version = history.length + 1;
      history.push({ version, from: clock.now });
      const { promptId, deployId } = targets[index]!;
      const file = toPrompt({
        ...promptFile,
        messages: [...promptFile.messages, { role: "user", content: `${version}` }],
      });
      void clock.follow(
        pushPrompt(admin, promptId, file).then(({ version }) => promoteDeployment(admin, deployId, { version })).then(
          () => looks = new Map(),
        ),
      );
    });
  }

  await clock.pass(end + minute - start);

  const stored = await database.read({ sql: "select session_id, prompt_version, deployment_id from diagnoses" });
  const [{ reads }] = (await database.read({
    sql: "select sum(reads) as reads from quota_usage where workspace_id = :workspaceId",
    args: { workspaceId },
  })) as [{ reads: number }];
  const sum = (name: "sent" | "dropped" | "failed" | "reads") =>
    closed.reduce((total, totals) => total + totals[name], 0);

  const context =
    `SEED=${seed}, ${used.size} requests, ${reads} reads of at most ${expectedReads}, ${readsLost} lost, ` +
    `${JSON.stringify([...sources])}, lags ${JSON.stringify(lags)}, ${oddAnswers} odd answers, ` +
    `${madeWhileOff} records of a deployment that was off, ${given} thumbs on ${thumbs.size} records`;
  if (process.env.VERBOSE !== undefined) console.log(context);
  assert.equal(failures, [], context);
  assert.is(closed.length, 2 * processes + 1);
  assert.ok(oddAnswers > 100 && madeWhileOff > processes, context);

  // No prompt older than said.
  assert.ok(lags.calm <= lookEvery, context);
  assert.ok(lags.cache <= minute, context);
  assert.ok(lags.any <= hour + minute, context);

  // Every record once, under the version and the deployment it was made with.
  assert.equal([sum("sent"), sum("dropped"), sum("failed")], [used.size + given, 0, 0], context);
  assert.is(stored.length, used.size, context);
  const wrong = stored.filter(({ session_id: sessionId, prompt_version: version, deployment_id: deployId }) => {
    const call = used.get(String(sessionId));
    return call?.version !== version || targets[references.indexOf(call!.reference)]!.deployId !== deployId;
  });
  assert.equal(wrong, [], context);

  // Every thumb once, under its record.
  const found = await database.read({
    sql: "select session_id, value from feedback join diagnoses using (position) where name = 'thumb'",
  });
  assert.ok(thumbs.size > 10 && found.length === thumbs.size, `${found.length} thumbs of ${context}`);
  assert.equal(found.filter(({ session_id, value }) => thumbs.get(String(session_id)) !== value), [], context);
  assert.equal(await database.read({ sql: "select name from waiting_feedback" }), [], context);

  // One read for each start and each change, in each process. Changes that follow each other are one.
  assert.is(reads, sum("reads") + readsLost, context);
  assert.ok(reads - readsLost <= expectedReads, context);
  await verifyBalanced(admin, workspaceId);
});

test.run();
