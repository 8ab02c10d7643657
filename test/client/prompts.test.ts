// How prompts are cached, refreshed and replaced, against the real service. What any client must do is in cases.json.
// Runs on every runtime in CI.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { NotFoundError, QuotaExceededError, UnavailableError } from "../../src/client/errors.ts";
import type { PromptLedgerError } from "../../src/client/errors.ts";
import { monthOf } from "../../src/common/month.ts";
import { publishPrompt, readUsage, revokeApiKey, setDeploymentActive, updateWorkspace } from "../actions.ts";
import { currentRuntime } from "../runtimes.ts";
import { toPrompt } from "../helpers.ts";
import { answering, createStage, fallback, reference, refused, silent, up } from "./stage.ts";
import type { Network, Stage } from "./stage.ts";

const test = suite(`client prompts on ${currentRuntime}`);

const rejection = async (promise: Promise<unknown>): Promise<PromptLedgerError> => {
  try {
    await promise;
  } catch (error) {
    return error as PromptLedgerError;
  }
  throw new Error("It did not reject");
};

/** The requests that the workspace has paid for. */
const used = async ({ world: { admin, workspaceId, now } }: Stage): Promise<number> =>
  (await readUsage(admin, workspaceId, monthOf(now))).used;

test("gives the live version by reference or id, with its texts", async () => {
  const { client, world } = await createStage();
  const prompt = await client.prompt<{ model: string }>(reference);
  const { deployId, title, description, messages, version, source } = prompt;
  assert.equal({ deployId, title, description, messages, version, source }, {
    deployId: world.deployId,
    title: "Greeting",
    description: "Says hello",
    messages: [{ role: "system", content: "Greet {{name}}" }],
    version: 1,
    source: "server",
  });
  assert.is(prompt.llmConfig.model, "gpt-4o");
  assert.is((await client.prompt(world.deployId)).messages[0]!.content, "Greet {{name}}");
});

test("what is cached cannot be changed, and what is filled in can", async () => {
  const { client } = await createStage();
  const prompt = await client.prompt(reference);
  assert.throws(() => (prompt.messages as unknown[]).push({}), TypeError);
  assert.throws(() => prompt.llmConfig.model = "other", TypeError);
  const messages = prompt.fill({ name: "Ada" });
  messages[0]!.content += "!";
  assert.equal([messages[0]!.content, prompt.fill({ name: "Ada" })[0]!.content], ["Greet Ada!", "Greet Ada"]);
});

test("an error that the caller gets is no event, and one for which there is a fallback is", async () => {
  const stage = await createStage({ retries: 0 });
  const events = () => stage.told().map(({ event }) => event);
  stage.network = answering(401, { error: "Invalid API key" });
  assert.is((await rejection(stage.client.prompt(reference))).code, "unauthorized");
  assert.equal(events(), []);
  await stage.pass(60_000);
  assert.equal((await Promise.all([rejection(stage.client.prompt(reference)), stage.ask(true)]))[1], ["fallback", 0]);
  assert.equal(events(), ["error"]);
  stage.network = up;
  await stage.pass(60_000);
  await stage.ask();
  assert.equal(events(), ["recover"]);
});

test("an optional variable without a value is an empty text, or no messages, and any other one is an error", async () => {
  const { client, world } = await createStage({
    prompts: {
      "optional@production": { optional: { note: "", ["__proto__"]: "", history: [] } },
      "none@production": { optional: {} },
    },
  });
  const messages = [
    { role: "system", content: "Greet {{name}}{{note}}{{__proto__}}" },
    { role: "placeholder", content: "{{history}}" },
  ];
  const input = { ...toPrompt({ title: "A", messages }), name: "optional", deploy: "production" };
  const { deployment } = await publishPrompt(world.admin, world.workspaceId, input);
  const { fill } = await client.prompt("optional@production");
  const textsOf = (filled: readonly { content: unknown }[]) => filled.map(({ content }) => content);
  assert.equal(textsOf(fill({ name: "Ada" })), ["Greet Ada"]);
  assert.equal(textsOf(fill({ name: "Ada", note: null, history: undefined })), ["Greet Ada"]);
  assert.equal(textsOf(fill({ name: "Ada", note: "!", history: "Hi" })), ["Greet Ada!", "Hi"]);
  assert.equal(textsOf(fill({ name: "Ada" }, { history: [{ role: "user", content: "Hi" }] })), ["Greet Ada", "Hi"]);
  assert.equal(textsOf(fill({}, {}, { missing: "keep" })), textsOf(messages));
  assert.equal(textsOf(fill({}, {}, { missing: "empty" })), ["Greet "]);
  assert.throws(() => fill(), /name/);
  // By its id, nothing is known of it.
  assert.throws((await client.prompt(deployment!.id)).fill, /note/);
});

test("first reads that are asked for at once are one", async () => {
  const stage = await createStage();
  const prompts = await Promise.all(Array.from({ length: 20 }, () => stage.client.prompt(reference)));
  assert.equal(prompts.map(({ source }) => source), Array(20).fill("server"));
  assert.equal(stage.sent(), ["read"]);
  assert.is(stage.client.stats().reads, 1);
});

test("a promotion arrives within 15 s, and is all that is paid for", async () => {
  const stage = await createStage();
  await stage.ask();
  for (let minute = 0; minute < 60; minute++) {
    await stage.pass(60_000);
    await stage.ask();
  }
  assert.is(await used(stage), 1);
  await stage.promote();
  await stage.pass(15_000);
  assert.equal(stage.told().map(({ event, ...told }) => [event, told]), [
    ["change", { deployId: reference, from: 1, to: 2 }],
  ]);
  assert.equal(await stage.ask(), ["cache", 2]);
  assert.is(await used(stage), 2);
});

test("a promotion arrives within 15 s, whenever it is made, if its two requests take 1.5 s together", async () => {
  const { random } = Math;
  try {
    for (const number of [0, 0.999]) {
      Math.random = () => number;
      for (const at of [0, 1_000, 11_000, 12_740, 12_760, 13_480]) {
        const stage = await createStage();
        const delay = () => new Promise<void>((resolve) => void stage.clock.runtime.startTimer(resolve, 375, true));
        await stage.ask();
        await stage.pass(40_000);
        // The service answers at once, and the network takes its time before and after that.
        stage.network = async (_request, pass) => {
          await delay();
          const response = await pass();
          await delay();
          return response;
        };
        await stage.pass(at);
        stage.told();
        await stage.promote();
        await stage.pass(15_000);
        assert.equal(stage.told().map(({ event }) => event), ["change"], `${number} ${at}`);
        await stage.client.close();
      }
    }
  } finally {
    Math.random = random;
  }
});

test("a promotion during a read that is slow arrives with the next one", async () => {
  const stage = await createStage();
  await stage.ask();
  await stage.promote();
  let release = () => {};
  stage.network = async (request, pass) => {
    const response = await pass();
    if (request.url.includes("/v1/prompts")) await new Promise<void>((resolve) => release = resolve);
    return response;
  };
  await stage.pass(15_000); // the read has version 2, and is still on its way
  await stage.promote();
  stage.network = up;
  await stage.pass(15_000); // a look has seen version 3
  release();
  await stage.clock.settle();
  assert.equal(await stage.ask(), ["cache", 3]);
  assert.is(await used(stage), 3);
});

test("a read that was given up does not get in the way of a later one", async () => {
  const stage = await createStage({ watch: false });
  const releases: (() => void)[] = [];
  // The fetch does not heed the signal.
  const stalling: Network = async (_, pass) => {
    const response = await pass();
    await new Promise<void>((resolve) => void releases.push(resolve));
    return response;
  };
  stage.network = stalling;
  const first = rejection(stage.client.prompt(reference));
  await stage.pass(3_000);
  assert.equal([(await first).code, (await first).retryable], ["timeout", true]);
  await stage.pass(17_000);
  assert.equal(stage.told().map(({ event }) => event), ["error"]);
  await stage.promote();
  stage.network = up;
  assert.equal(await stage.ask(), ["server", 2]);
  releases.forEach((release) => release());
  await stage.clock.settle();
  assert.equal(await stage.ask(), ["cache", 2]);
});

test("a Worker's request that is cut off takes no later one with it", async () => {
  const stage = await createStage();
  stage.clock.runtime.hasTimers = false;
  const client = stage.connect();
  // Neither the read nor the timers of that request go on.
  stage.network = silent;
  void client.prompt(reference).catch(() => {});
  await stage.clock.settle();
  stage.clock.forget();
  const next = rejection(client.prompt(reference));
  await stage.pass(3_000);
  assert.is((await next).code, "timeout");
  stage.network = up;
  assert.is((await client.prompt(reference)).source, "server");
});

test("the kill switch works: a deployment that is switched off is no longer served, from no copy either", async () => {
  const saved: string[] = [];
  const stage = await createStage({
    snapshot: { load: () => saved.at(-1), save: (text) => void saved.push(text) },
  });
  await stage.ask();
  await setDeploymentActive(stage.world.admin, stage.world.deployId, false);
  await stage.pass(15_000);
  const error = await rejection(stage.client.prompt(reference));
  assert.instance(error, NotFoundError);
  assert.equal([error.status, error.code, error.retryable], [404, "deployment_not_found", false]);
  stage.network = refused;
  const next = stage.connect({ snapshot: { load: () => saved.at(-1), save: () => {} }, retries: 0 });
  assert.is((await rejection(next.prompt(reference))).code, "unreachable");

  stage.network = up;
  await setDeploymentActive(stage.world.admin, stage.world.deployId, true);
  await stage.pass(15_000);
  assert.equal(await stage.ask(), ["cache", 1]);
});

test("a key that was revoked keeps serving stale, and says why", async () => {
  const stage = await createStage();
  await stage.ask();
  await revokeApiKey(stage.world.admin, stage.world.keyId);
  await stage.pass(70_000);
  assert.equal(await stage.ask(), ["stale", 1]);
  const told = stage.told();
  assert.equal(told.map(({ event }) => event), ["error", "stale"]);
  for (const event of told) {
    if (!("error" in event)) continue;
    const { name, status, code, requestId } = event.error;
    assert.equal([name, status, code], ["AuthenticationError", 401, "unauthorized"]);
    assert.match(requestId!, /^req_/);
  }
});

test("a quota that is used is told with its limit, its reset and where to get more", async () => {
  const stage = await createStage({}, 1);
  const { world, client } = stage;
  await updateWorkspace(world.admin, world.workspaceId, { upgradeUrl: "https://example.com/plans" });
  await client.prompt(reference);
  const other = stage.connect();
  const error = await rejection(other.prompt(reference));
  assert.instance(error, QuotaExceededError);
  const { limit, used, resetAt, upgradeUrl, retryable, status } = error as QuotaExceededError;
  assert.equal([limit, used, resetAt.toISOString(), upgradeUrl, retryable, status], [
    1,
    1,
    "2026-12-01T00:00:00.000Z",
    "https://example.com/plans",
    false,
    429,
  ]);
  assert.equal(stage.sent(), ["read", "read"]);
});

test("with a fallback prompt() never rejects, whatever happens", async () => {
  const stage = await createStage({ watch: false });
  const { client } = stage;
  const sourceOf = async (deployId: string) => (await client.prompt(deployId, { fallback })).source;
  assert.is(await sourceOf("greeting@nowhere"), "fallback");
  assert.is(await sourceOf(""), "fallback");
  assert.is(await sourceOf("\ud800"), "fallback");
  assert.is(await sourceOf(undefined as unknown as string), "fallback");
  stage.network = () => {
    throw new Error("thrown, not rejected");
  };
  const asked = sourceOf(reference);
  await stage.pass(3_000);
  assert.is(await asked, "fallback");
  await client.close();
  assert.is(await sourceOf("other@production"), "fallback");
});

test("a fallback has what it is given, and the rest is empty", async () => {
  const stage = await createStage();
  stage.network = refused;
  const asked = stage.client.prompt(reference, {
    fallback: { ...fallback, version: 3, llmConfig: { model: "small" } },
  });
  await stage.pass(3_000);
  const { deployId, title, llmConfig, version, source, fill } = await asked;
  assert.equal([deployId, title, llmConfig, version, source], [reference, "", { model: "small" }, 3, "fallback"]);
  assert.equal(fill({ name: "Ada" })[0]!.content, "Say hello to Ada");
});

test("a clock that is set back keeps no prompt fresh for longer", async () => {
  const stage = await createStage({ watch: false });
  await stage.ask();
  stage.clock.now -= 3_600_000;
  assert.equal(await stage.ask(), ["cache", 1]);
  await stage.pass(60_000);
  assert.equal(await stage.ask(), ["stale", 1]);
  await stage.clock.settle();
  assert.equal(stage.sent(), ["read", "look"]);
});

test("of more than 1,000 prompts the first ones are forgotten", async () => {
  const stage = await createStage({ watch: false, retries: 0 });
  await stage.ask();
  for (let number = 0; number < 1_000; number++) {
    await stage.client.prompt(`greeting@${number}`, { fallback });
  }
  stage.sent();
  assert.equal(await stage.ask(), ["server", 1]);
});

test("a client that is closed sends nothing, and has what it has", async () => {
  const stage = await createStage();
  await stage.ask();
  assert.equal(await stage.client.close(), { sent: 0, dropped: 0, failed: 0 });
  assert.equal(stage.clock.timers(), { held: 0, others: 0 });
  stage.sent();
  assert.equal(await stage.ask(), ["cache", 1]);
  stage.clock.now += 60_000;
  assert.equal(await stage.ask(), ["stale", 1]);
  assert.is((await rejection(stage.client.prompt("other@production"))).code, "closed");
  await stage.clock.settle();
  assert.equal([stage.sent(), stage.told(), stage.clock.timers()], [[], [], { held: 0, others: 0 }]);
});

test("the watch lets a process end, and whoever waits for a prompt does not", async () => {
  const stage = await createStage();
  await stage.ask();
  assert.equal(stage.clock.timers(), { held: 0, others: 1 });
  stage.network = silent;
  const asked = rejection(stage.client.prompt("other@production"));
  await stage.clock.settle();
  assert.is(stage.clock.timers().held, 2);
  await stage.pass(3_000);
  const error = await asked;
  assert.instance(error, UnavailableError);
  assert.is(error.message, "No response within 3000 ms");
});

/** A body of JSON that has so many bytes, or no end, and counts what is read of it. */
function createBody(bytes: number) {
  const counts = { read: 0, isCancelled: false };
  const chunk = new Uint8Array(65_536).fill(32);
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      counts.read += chunk.length;
      if (counts.read <= bytes) controller.enqueue(chunk);
      else {
        controller.enqueue(new TextEncoder().encode(JSON.stringify(servedPrompt)));
        controller.close();
      }
    },
    cancel: () => void (counts.isCancelled = true),
  });
  return { counts, body };
}

const servedPrompt = {
  ...fallback,
  title: "",
  description: "",
  llmConfig: {},
  deploy: { id: "dep_1", name: "production", currentVersion: 3, isActive: true },
};

test("a response is read up to 8 MiB, whatever its status", async () => {
  for (const status of [200, 404, 503]) {
    const { counts, body } = createBody(Infinity);
    const stage = await createStage({ retries: 0, watch: false });
    stage.network = () => Promise.resolve(new Response(body, { status }));
    const error = await rejection(stage.client.prompt(reference));
    assert.equal([error.code, error.retryable], [status === 503 ? "unavailable" : "unexpected_response", true]);
    assert.ok(counts.isCancelled && counts.read < 9 * 1024 * 1024, `${counts.read} bytes`);
  }
  const stage = await createStage({ retries: 0, watch: false });
  stage.network = () => Promise.resolve(new Response(createBody(8 * 1024 * 1024 - 65_536).body));
  assert.is((await stage.client.prompt(reference)).version, 3);
});

test("stale prompts survive an answer that is not the service's, to a look and to a read", async () => {
  const stage = await createStage({ watch: false });
  await stage.ask();
  stage.network = answering(404, { error: "Not found" });
  for (let hour = 0; hour < 23; hour++) {
    await stage.pass(3_600_000);
    assert.equal(await stage.ask(), ["stale", 1]);
  }
  stage.network = up;
  await stage.promote();
  await stage.pass(60_000);
  await stage.ask();
  await stage.clock.settle();
  assert.equal(await stage.ask(), ["cache", 2]);
});

test("an error says what could not be reached, and keeps its cause", async () => {
  const stage = await createStage({ url: "http://127.0.0.1:9/v1/", retries: 0 });
  stage.network = refused;
  const error = await rejection(stage.client.prompt(reference));
  assert.is(error.message, "Cannot reach http://127.0.0.1:9: refused");
  assert.instance(error.cause, TypeError);
  assert.equal([error.name, error.code, error.status, error.requestId], [
    "UnavailableError",
    "unreachable",
    undefined,
    undefined,
  ]);
});

test("a listener that throws, or has left, disturbs nobody", async () => {
  const stage = await createStage({ watch: false });
  let count = 0;
  stage.client.on("error", () => {
    throw new Error("mine");
  });
  const leave = stage.client.on("error", () => void count++);
  await stage.client.prompt("greeting@nowhere", { fallback });
  leave();
  await stage.client.prompt("greeting@elsewhere", { fallback });
  assert.is(count, 1);
});

test.run();
