// An application with the AI SDK against a model server that speaks OpenAI's protocol: each call of a model is recorded once, through
// the client, in the real service. By telemetry with 7, by the middleware with 5, 6 and 7. Runs on every runtime.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import * as ai7 from "ai";
import * as ai5 from "ai-5";
import * as ai6 from "ai-6";
import { createOpenAICompatible as createOpenAICompatible1 } from "openai-compatible-1";
import { createOpenAICompatible as createOpenAICompatible2 } from "openai-compatible-2";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { forAiSdk, ledgerMiddleware, ledgerTelemetry } from "../../src/client/ai-sdk/index.ts";
import type { AiSettings, RecordOptions } from "../../src/client/ai-sdk/index.ts";
import type { Client, Prompt } from "../../src/client/index.ts";
import { createWorld } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";
import { startModelServer } from "./model-server.ts";
import { createClient } from "./patient.ts";
import { reference } from "./stage.ts";

const test = suite(`AI SDK on ${currentRuntime}`);

Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

const server = await startModelServer();
test.after(() => server.close());

// The functions that all versions have. Their types differ in what is not used here.
type Sdk = Pick<
  typeof ai7,
  | "generateObject"
  | "generateText"
  | "jsonSchema"
  | "stepCountIs"
  | "streamObject"
  | "streamText"
  | "tool"
  | "wrapLanguageModel"
>;
type Stage = { world: World; client: Client; prompt: Prompt };
type Way = {
  name: string;
  sdk: Sdk;
  /** Arguments that a call of the SDK needs besides those of the prompt. */
  connect(stage: Stage, options?: RecordOptions): { model: ai7.LanguageModel; telemetry?: ai7.TelemetryOptions };
};

const provider = { name: "acme.chat", baseURL: server.url, includeUsage: true };
const model7 = createOpenAICompatible(provider)("small");
const model6 = createOpenAICompatible2(provider)("small") as unknown as typeof model7;
const model5 = createOpenAICompatible1(provider)("small") as unknown as typeof model7;

const wrapped = (sdk: Sdk, model: typeof model7): Way["connect"] => ({ client }, options) => ({
  model: sdk.wrapLanguageModel({ model, middleware: ledgerMiddleware(client, options) }),
});

const ways: Way[] = [
  {
    name: "7, telemetry",
    sdk: ai7,
    connect: ({ client }, options) => ({
      model: model7,
      telemetry: { integrations: ledgerTelemetry(client, options) },
    }),
  },
  { name: "7, middleware", sdk: ai7, connect: wrapped(ai7, model7) },
  { name: "6, middleware", sdk: ai6 as unknown as Sdk, connect: wrapped(ai6 as unknown as Sdk, model6) },
  { name: "5, middleware", sdk: ai5 as unknown as Sdk, connect: wrapped(ai5 as unknown as Sdk, model5) },
];

async function createStage(): Promise<Stage> {
  const world = await createWorld();
  const client = createClient({ apiKey: world.key, fetch: world.fetch, watch: false });
  return { world, client, prompt: await client.prompt(reference) };
}

/** The records that the service has, the oldest first: what is the same in each run. */
async function stored({ world, client }: Stage): Promise<Record<string, unknown>[]> {
  await client.flush();
  const rows = await world.database.read({
    sql: "select prompt_version, document, measures from diagnoses order by position",
  });
  return rows.map(({ prompt_version, document, measures }) => {
    const { sessionId, status, content, model, provider, latency, startAt, endAt, additional_properties } = JSON.parse(
      String(document),
    );
    assert.ok(latency >= 0 && latency === endAt - startAt && Math.abs(Date.now() - endAt) < 60_000);
    const { token_usage, ...facts } = additional_properties;
    // The service counts them: input, output and cached.
    const tokens = String(measures).match(/\d+|null/g)!.slice(1).join();
    assert.is(token_usage?.outputTokenDetails?.reasoningTokens ?? token_usage?.reasoningTokens, token_usage && 2);
    const input = JSON.parse(content.input ?? "null");
    return {
      version: prompt_version,
      sessionId,
      status,
      input,
      output: content.output,
      model,
      provider,
      tokens,
      ...facts,
    };
  });
}

const ask = (settings: AiSettings, text: string) => ({
  maxRetries: 0,
  onError: () => {},
  ...settings,
  messages: [...settings.messages, { role: "user" as const, content: text }],
});

const system = { role: "system", content: "Greet Ada" };
const shared = { version: 1, sessionId: "order-4711", provider: "acme" };
const answered = { ...shared, status: 1, model: "small-2027", tokens: "20,6,8", response_id: "chatcmpl-1" };
const parcel = { type: "tool-call", toolCallId: "call_1", toolName: "parcel", input: { id: "4711" } };

for (const { name, sdk, connect } of ways) {
  const begin = async (options?: RecordOptions) => {
    const stage = await createStage();
    const settings = forAiSdk(stage.prompt, { name: "Ada" }, {
      sessionId: "order-4711",
      additional_properties: { trace_id: "4bf92f35" },
    });
    return { stage, ...connect(stage, options), settings: { ...connect(stage, options), ...settings } };
  };
  const trace_id = "4bf92f35";

  test(`${name}: an answer, at once and streamed, is recorded with its tokens, model and reason`, async () => {
    const { stage, settings } = await begin();
    const { text } = await sdk.generateText({ ...settings, ...ask(settings, "Hi") });
    const { textStream } = sdk.streamText({ ...settings, ...ask(settings, "Hi again") });
    let streamed = "";
    for await (const delta of textStream) streamed += delta;
    assert.equal([text, streamed], ["Hello Ada", "Hello Ada"]);
    const [first, second] = ["Hi", "Hi again"].map((content) => ({
      ...answered,
      input: [system, { role: "user", content }],
      output: "Hello Ada",
      trace_id,
      finish_reason: "stop",
    }));
    assert.equal(await stored(stage), [first, second]);
    assert.equal(server.requests().map(({ model, messages }) => [model, messages.length]), [["small", 2], [
      "small",
      2,
    ]]);
    assert.equal(await stage.client.close(), { sent: 2, dropped: 0, failed: 0 });
  });

  for (const isStreamed of [false, true]) {
    test(`${name}: a run with tools, ${isStreamed ? "streamed" : "at once"}, has one record for each call of the model`, async () => {
      const { stage, settings } = await begin();
      const run = {
        ...settings,
        ...ask(settings, "Where is my parcel?"),
        stopWhen: sdk.stepCountIs(3),
        tools: {
          parcel: sdk.tool({
            description: "Finds a parcel",
            inputSchema: sdk.jsonSchema<{ id: string }>({ type: "object", properties: { id: { type: "string" } } }),
            execute: ({ id }) => `Parcel ${id} is on its way`,
          }),
        },
      };
      const text = isStreamed ? await sdk.streamText(run).text : (await sdk.generateText(run)).text;
      assert.is(text, "Hello Ada");
      const [first, second, ...others] = await stored(stage);
      assert.equal(others, []);
      const input = [system, { role: "user", content: "Where is my parcel?" }];
      assert.equal(
        { ...first, output: JSON.parse(String(first!.output)) },
        { ...answered, input, output: [parcel], trace_id, finish_reason: "tool-calls" },
      );
      const { input: whole, ...rest } = second!;
      assert.equal(rest, { ...answered, output: "Hello Ada", trace_id, finish_reason: "stop" });
      assert.equal((whole as { role: string }[]).map(({ role }) => role), ["system", "user", "assistant", "tool"]);
      assert.match(JSON.stringify(whole), /Parcel 4711 is on its way/);
      assert.is(server.requests().length, 2);
    });
  }

  test(`${name}: a refused call is recorded as failed, each attempt once`, async () => {
    const { stage, settings } = await begin();
    const failed = await sdk.generateText({ ...settings, ...ask(settings, "ERROR") }).catch(({ name }) => name);
    assert.is(failed, "AI_APICallError");
    await sdk.streamText({ ...settings, ...ask(settings, "ERROR") }).consumeStream();
    const record = {
      ...shared,
      status: 0,
      input: [system, { role: "user", content: "ERROR" }],
      output: "",
      model: "small",
      tokens: "null,null,0",
      trace_id,
      error: "AI_APICallError: No such model",
    };
    assert.equal(await stored(stage), [record, record]);
    assert.is(server.requests().length, 2);
  });

  test(`${name}: a stream that breaks is recorded as failed, with what came`, async () => {
    const { stage, settings } = await begin();
    await sdk.streamText({ ...settings, ...ask(settings, "CUT") }).consumeStream();
    const [{ error, ...record }, ...others] = await stored(stage) as [Record<string, unknown>];
    assert.equal(others, []);
    assert.match(String(error), /Error: ./);
    assert.equal([record.status, record.output, record.model], [0, "Hello", "small-2027"]);
    server.requests();
  });

  test(`${name}: a stream that is aborted, or takes too long, is recorded once, with what came`, async () => {
    const { stage, settings } = await begin();
    const abort = new AbortController();
    const { textStream } = sdk.streamText({
      ...settings,
      ...ask(settings, "SLOW"),
      abortSignal: abort.signal,
    });
    for await (const delta of textStream) if (delta) abort.abort();
    const late = sdk.streamText({ ...settings, ...ask(settings, "SLOW"), abortSignal: AbortSignal.timeout(150) });
    await late.consumeStream();
    const records = await stored(stage);
    assert.equal(records.map(({ status, output }) => [status, output]), [[2, "Hello"], [0, "Hello"]]);
    server.requests();
  });

  test(`${name}: a call that is aborted before its answer is recorded`, async () => {
    const { stage, settings } = await begin();
    const abort = new AbortController();
    const run = sdk.generateText({ ...settings, ...ask(settings, "SLOW"), abortSignal: abort.signal });
    setTimeout(() => abort.abort(), 50);
    assert.is(await run.catch(({ name }) => name), "AbortError");
    assert.equal((await stored(stage)).map(({ status, output }) => [status, output]), [[2, ""]]);
    server.requests();
  });

  test(`${name}: generateObject and streamObject are recorded`, async () => {
    const { stage, settings } = await begin();
    const schema = sdk.jsonSchema({ type: "object" });
    for (const text of ["Hi", "ERROR"]) {
      await sdk.generateObject({ ...settings, ...ask(settings, text), schema }).catch(() => {});
      for await (const _ of sdk.streamObject({ ...settings, ...ask(settings, text), schema }).partialObjectStream);
    }
    assert.equal(
      (await stored(stage)).map(({ status, input, output, tokens }) => [status, (input as []).length, output, tokens]),
      [[1, 2, "Hello Ada", "20,6,8"], [1, 2, "Hello Ada", "20,6,8"], [0, 2, "", "null,null,0"], [
        0,
        2,
        "",
        "null,null,0",
      ]],
    );
    assert.is(server.requests().length, 4);
  });

  test(`${name}: a call without a prompt is recorded only if there is one for all`, async () => {
    const { stage, model, telemetry } = await begin();
    const given = { messages: [{ role: "user" as const, content: "Hi" }], maxRetries: 0 };
    await sdk.generateText({ model, ...(telemetry && { telemetry }), ...given });
    assert.equal(await stored(stage), []);
    await sdk.generateText({ ...connect(stage, { prompt: stage.prompt, sessionId: "order-4711" }), ...given });
    assert.equal(await stored(stage), [
      { ...answered, input: [{ role: "user", content: "Hi" }], output: "Hello Ada", finish_reason: "stop" },
    ]);
    server.requests();
  });
}

test.run();
