// An application with the AI SDK against a model server that speaks OpenAI's protocol: each call of a model is recorded once, through
// the client, in the real service. By telemetry with 7, by the middleware with 5, 6 and 7. With 7 in CI, or once it is installed.
// Runs on every runtime in CI.
import * as ai5 from "ai-5";
import * as ai6 from "ai-6";
import { createOpenAICompatible as createOpenAICompatible1 } from "openai-compatible-1";
import { createOpenAICompatible as createOpenAICompatible2 } from "openai-compatible-2";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { forAiSdk, ledgerMiddleware, ledgerTelemetry } from "../../src/client/ai-sdk/index.ts";
import type { AiSettings, CallRecord, RecordOptions } from "../../src/client/ai-sdk/index.ts";
import type { Client, Prompt } from "../../src/client/index.ts";
import { until } from "../conformance/processes.ts";
import { createWorld } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";
import { loadAiSdk7 } from "./ai-sdk-7.ts";
import { startModelServer } from "./model-server.ts";
import { createClient } from "./patient.ts";
import { reference } from "./stage.ts";

const test = suite(`AI SDK on ${currentRuntime}`);

Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

const server = await startModelServer();
test.after(() => server.close());

// The functions that all versions have. Their types differ in what is not used here.
type Sdk = Pick<
  typeof ai6,
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
  connect(stage: Stage, options?: RecordOptions): { model: ai6.LanguageModel; telemetry?: object };
};

const provider = { name: "acme.chat", baseURL: server.url, includeUsage: true };
const model6 = createOpenAICompatible2(provider)("small");
const model5 = createOpenAICompatible1(provider)("small") as unknown as typeof model6;

const wrapped = (sdk: Sdk, model: typeof model6): Way["connect"] => ({ client }, options) => ({
  model: sdk.wrapLanguageModel({ model, middleware: ledgerMiddleware(client, options) }),
});

const ways: Way[] = [
  { name: "6, middleware", sdk: ai6, connect: wrapped(ai6, model6) },
  { name: "5, middleware", sdk: ai5 as unknown as Sdk, connect: wrapped(ai5 as unknown as Sdk, model5) },
];
const byTelemetry: Way[] = [];
const ai7 = await loadAiSdk7({ install: isFull });
if (ai7 !== undefined) {
  const { sdk } = ai7;
  const model = ai7.createOpenAICompatible(provider)("small");
  byTelemetry.push({
    name: "7, telemetry",
    sdk,
    connect: ({ client }, options) => ({ model, telemetry: { integrations: ledgerTelemetry(client, options) } }),
  });
  ways.unshift(...byTelemetry, { name: "7, middleware", sdk, connect: wrapped(sdk, model) });
}

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
    assert.ok(latency >= 0 && latency === endAt - startAt && Math.abs(Date.now() - endAt) < 3_600_000);
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
    try {
      for await (const delta of sdk.streamText({ ...settings, ...ask(settings, "CUT") }).textStream) {
        if (delta) server.cut("CUT");
      }
    } catch {
      // Some versions end the stream with the error.
    }
    const [{ error, ...record }, ...others] = await stored(stage) as [Record<string, unknown>];
    assert.equal(others, []);
    assert.match(String(error), /Error: ./);
    assert.equal([record.status, record.output, record.model], [0, "Hello", "small-2027"]);
    server.requests();
  });

  test(`${name}: a stream that ends before the model has finished is recorded as failed`, async () => {
    const { stage, settings } = await begin();
    await sdk.streamText({ ...settings, ...ask(settings, "EARLY") }).consumeStream();
    assert.equal((await stored(stage)).map(({ status, output }) => [status, output]), [[0, "Hello"]]);
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
    const timeout = new AbortController();
    const late = sdk.streamText({ ...settings, ...ask(settings, "SLOW"), abortSignal: timeout.signal });
    const tooLate = new DOMException("The operation timed out", "TimeoutError");
    try {
      for await (const delta of late.textStream) if (delta) timeout.abort(tooLate);
    } catch {
      // Some versions end the stream with the error.
    }
    const records = await stored(stage);
    assert.equal(records.map(({ status, output }) => [status, output]), [[2, "Hello"], [0, "Hello"]]);
    server.requests();
  });

  test(`${name}: an error in a stream is recorded once`, async () => {
    const { stage, settings } = await begin();
    await sdk.streamText({ ...settings, ...ask(settings, "FAULT") }).consumeStream();
    const records = await stored(stage);
    assert.equal(records.map(({ status, output }) => [status, output]), [[0, "Hello"]]);
    assert.match(String(records[0]!.error), /Overloaded/);
    server.requests();
  });

  test(`${name}: what the application aborts with counts as aborted, whatever it is`, async () => {
    const { stage, settings } = await begin();
    for (const reason of ["The user left", new Error("The user left")]) {
      const abort = new AbortController();
      const { textStream } = sdk.streamText({ ...settings, ...ask(settings, "SLOW"), abortSignal: abort.signal });
      try {
        for await (const delta of textStream) if (delta) abort.abort(reason);
      } catch {
        // Some versions end the stream with an error of their own.
      }
    }
    assert.equal((await stored(stage)).map(({ status, output }) => [status, output]), [[2, "Hello"], [2, "Hello"]]);
    server.requests();
  });

  test(`${name}: files are recorded by their size`, async () => {
    const { stage, settings } = await begin();
    const content = [
      { type: "text" as const, text: "What is this?" },
      { type: "image" as const, image: new Uint8Array(600), mediaType: "image/png" },
    ];
    await sdk.generateText({ ...settings, maxRetries: 0, messages: [{ role: "user", content }] });
    const input = JSON.stringify((await stored(stage))[0]!.input);
    assert.match(input, /What is this\?.*\[\d+ (bytes|characters)\]/);
    assert.ok(input.length < 500, input);
    server.requests();
  });

  test(`${name}: a call that is aborted before its answer is recorded`, async () => {
    const { stage, settings } = await begin();
    const abort = new AbortController();
    const run = sdk.generateText({ ...settings, ...ask(settings, "SLOW"), abortSignal: abort.signal });
    await until(() => server.requests().length > 0);
    abort.abort();
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

for (const { name, sdk, connect } of ways) {
  test(`${name}: of many calls at once, each has one record under its own session`, async () => {
    const stage = await createStage();
    const recorded: string[] = [];
    const onRecord = ({ sessionId, idempotencyKey }: CallRecord) => recorded.push(`${sessionId} ${idempotencyKey}`);
    const connected = connect(stage, { onRecord });
    const kinds = ["Hi", "ERROR", "CUT", "FAULT", "SLOW"];
    const rounds = isFull ? 20 : 6;
    await Promise.all(Array.from({ length: rounds * kinds.length }, async (_, index) => {
      const kind = kinds[index % kinds.length]!;
      const settings = forAiSdk(stage.prompt, { name: "Ada" }, { sessionId: `${index}` });
      const abort = new AbortController();
      const { textStream } = sdk.streamText({
        ...connected,
        ...ask(settings, `${kind} ${index}`),
        abortSignal: abort.signal,
      });
      try {
        for await (const delta of textStream) {
          if (delta && kind === "SLOW") abort.abort();
          if (delta && kind === "CUT") server.cut(`CUT ${index}`);
        }
      } catch {
        // Some versions end the stream with its error.
      }
    }));
    const statuses = [1, 0, 0, 0, 2], outputs = ["Hello Ada", "", "Hello", "Hello", "Hello"];
    const records = await stored(stage);
    assert.equal(
      records.map(({ sessionId, status, output }) => [Number(sessionId), status, output])
        .sort(([one], [other]) => Number(one) - Number(other)),
      Array.from({ length: rounds * kinds.length }, (_, index) => [index, statuses[index % 5], outputs[index % 5]]),
    );
    assert.is(new Set(recorded).size, records.length);
    stage.client.feedback(recorded[0]!.split(" ")[1]!, { name: "thumb", value: true });
    assert.equal(await stage.client.close(), { sent: records.length + 1, dropped: 0, failed: 0 });
    server.requests();
  });
}

for (const { name, sdk, connect } of byTelemetry) {
  test(`${name}: what the application keeps to itself is not recorded`, async () => {
    const stage = await createStage();
    const { model, telemetry } = connect(stage, { prompt: stage.prompt, sessionId: "order-4711" });
    const settings = { model, ...forAiSdk(stage.prompt, { name: "Ada" }) };
    const run = (text: string, options: object) => {
      const own = { telemetry: { ...telemetry, ...options } };
      return sdk.generateText({ ...settings, ...ask(settings, text), ...own }).catch(() => {});
    };
    await run("Hi", { recordInputs: false });
    await run("Hi", { recordOutputs: false });
    await run("ERROR", { recordInputs: false });
    await run("Hi", { isEnabled: false });
    const records = await stored(stage);
    assert.equal(records.map(({ sessionId, input, output, error }) => [sessionId, Boolean(input), output, error]), [
      ["order-4711", false, "Hello Ada", undefined],
      [settings.providerOptions.promptledger.sessionId, true, "", undefined],
      ["order-4711", false, "", "AI_APICallError"],
    ]);
    server.requests();
  });
}

test("the active span of each call says which prompt it uses", async () => {
  const stage = await createStage();
  const set: object[] = [];
  const trace = { getActiveSpan: () => ({ setAttributes: (attributes: object) => set.push(attributes) }) };
  const settings = forAiSdk(stage.prompt, { name: "Ada" });
  for (const way of ways) await way.sdk.generateText({ ...way.connect(stage, { trace }), ...ask(settings, "Hi") });
  assert.equal(set, ways.map(() => ({ "gen_ai.prompt.name": "greeting", "gen_ai.prompt.version": "1" })));
  server.requests();
});

const streamOf = (parts: unknown[]) =>
  new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });

test("what a provider gives in another form, or wrongly, costs no call and no record", async () => {
  const stage = await createStage();
  const { wrapGenerate, wrapStream } = ledgerMiddleware(stage.client, {
    prompt: stage.prompt,
    onRecord() {
      throw new Error("no listener");
    },
  });
  const circular: Record<string, unknown> = { role: "user", n: 1n };
  circular.content = [circular];
  const model = { provider: "acme", modelId: "small" };
  const params = { prompt: [circular] };
  const give = <T>(value: T) => wrapGenerate({ model, params, doGenerate: () => Promise.resolve(value) });
  const odd = [undefined, 7, {}, { content: null, usage: 1 }, { content: [null, {}, { type: 1 }], finishReason: 3 }];
  for (const value of odd) assert.is(await give(value), value);
  assert.equal(await give({ finishReason: { unified: "error" }, usage: {} }), {
    finishReason: { unified: "error" },
    usage: {},
  });
  const parts = [
    null,
    { type: "text-delta", delta: "a" },
    {},
    { type: "text-delta", id: "1" },
    { type: "odd" },
    { type: "error", error: { type: "error", error: { message: "Overloaded" } } },
  ];
  const { stream } = await wrapStream({ model, params, doStream: () => Promise.resolve({ stream: streamOf(parts) }) });
  const read = [];
  for await (const part of stream as unknown as AsyncIterable<unknown>) read.push(part);
  assert.equal(read, parts);
  await stage.client.flush();
  const rows = await stage.world.database.read({ sql: "select status, document from diagnoses order by position" });
  assert.equal(rows.map(({ status }) => status), [1, 1, 1, 1, 1, 0, 0]);
  const { content, additional_properties } = JSON.parse(String(rows[6]!.document));
  assert.match(content.input, /^\[TypeError: /);
  assert.is(content.output, "a");
  assert.is(additional_properties.error, "Error: Overloaded");
});

test("AI SDK 5 counts the input of Anthropic and Bedrock without what came from a cache, and the service with it", async () => {
  const stage = await createStage();
  const { wrapGenerate } = ledgerMiddleware(stage.client, { prompt: stage.prompt });
  const counts = { input_tokens: 12, cache_creation_input_tokens: 3, cache_read_input_tokens: 800, output_tokens: 6 };
  const result = {
    content: [{ type: "text", text: "Hello Ada" }],
    finishReason: "stop",
    usage: { inputTokens: 12, outputTokens: 6, totalTokens: 18, cachedInputTokens: 800 },
  };
  const model = { provider: "acme", modelId: "small" };
  for (
    const providerMetadata of [
      { anthropic: { usage: counts } },
      { bedrock: { usage: { cacheWriteInputTokens: 3 } } },
    ]
  ) {
    const doGenerate = () => Promise.resolve({ ...result, providerMetadata });
    await wrapGenerate({ model, params: { prompt: [] }, doGenerate });
  }
  await stage.client.flush();
  const rows = await stage.world.database.read({ sql: "select measures from diagnoses" });
  assert.is(rows.length, 2);
  for (const { measures } of rows) assert.match(String(measures), /^\d+,815,6,\[800,/);
});

test("what gateways and providers charge is recorded beside the tokens, and the time of writes to Anthropic's caches", async () => {
  const stage = await createStage();
  const { wrapGenerate } = ledgerMiddleware(stage.client, { prompt: stage.prompt });
  const flat = { inputTokens: 12, outputTokens: 6, totalTokens: 18 };
  const nested = { inputTokens: { total: 12, cacheRead: 2, cacheWrite: 8 }, outputTokens: { total: 6 } };
  const counts = {
    ...{ input_tokens: 2, cache_creation_input_tokens: 8, cache_read_input_tokens: 2, output_tokens: 6 },
    cache_creation: { ephemeral_5m_input_tokens: 5, ephemeral_1h_input_tokens: 3 },
  };
  const finishes: [usage: object, providerMetadata: object, measures: string][] = [
    [flat, { gateway: { cost: "0.25", marketCost: "0.25" } }, '12,6,[0,"\t","\n","",0,0,0,"0.25"]'],
    // With a key of one's own, the gateway charges nothing.
    [flat, { gateway: { cost: "0", marketCost: "0.25" } }, '12,6,[0,"\t","\n"]'],
    [flat, { openrouter: { usage: { cost: 0.5 } } }, '12,6,[0,"\t","\n","",0,0,0,"0.5"]'],
    [nested, { xai: { costInUsdTicks: 7 } }, '12,6,[2,"\t","\n","",8,0,0,"7e-10"]'],
    [{ ...nested, raw: { cost: 0.75, is_byok: false } }, {}, '12,6,[2,"\t","\n","",8,0,0,"0.75"]'],
    [{ ...nested, raw: { cost: 0.75, is_byok: true } }, {}, '12,6,[2,"\t","\n","",8]'],
    [nested, { anthropic: { usage: counts }, gateway: { cost: "1" } }, '12,6,[2,"\t","\n","",8,3,0,"1"]'],
  ];
  for (const [usage, providerMetadata] of finishes) {
    const result = { content: [], finishReason: "stop", usage, providerMetadata };
    const model = { provider: "acme", modelId: "small" };
    await wrapGenerate({ model, params: { prompt: [] }, doGenerate: () => Promise.resolve(result) });
  }
  await stage.client.flush();
  const rows = await stage.world.database.read({ sql: "select measures from diagnoses order by position" });
  const expected = finishes.map(([, , measures]) => measures.replace('"\t"', "\t").replace('"\n"', "\n"));
  assert.equal(rows.map(({ measures }) => String(measures).replace(/^\d+,/, "")), expected);
});

test("a stream was cut off if its provider says no more than a reason that it began with", async () => {
  const stage = await createStage();
  const model = { provider: "acme", modelId: "small" };
  const { wrapStream } = ledgerMiddleware(stage.client, { prompt: stage.prompt });
  const usage = { inputTokens: 1, outputTokens: 1, reasoningTokens: 2 };
  const endings = [
    [],
    [{ type: "finish", finishReason: "unknown", usage: { inputTokens: undefined } }],
    [{ type: "finish", finishReason: { unified: "other", raw: undefined }, usage }],
    [{ type: "finish", finishReason: "unknown", usage }],
    [{ type: "finish", finishReason: "other" }],
    [{ type: "finish", finishReason: { unified: "other", raw: "OTHER" } }],
  ];
  for (const parts of endings) {
    const doStream = () => Promise.resolve({ stream: streamOf(parts) });
    const { stream } = await wrapStream({ model, params: { prompt: [] }, doStream });
    for await (const _ of stream as unknown as AsyncIterable<unknown>);
  }
  assert.equal((await stored(stage)).map(({ status, finish_reason }) => [status, finish_reason]), [
    ...[1, 2, 3].map(() => [0, "interrupted"]),
    [1, "unknown"],
    [1, "other"],
    [1, "other"],
  ]);
});

test("forAiSdk gives settings, system messages and others in the form of the AI SDK", async () => {
  const { prompt } = await createStage();
  const llmConfig = {
    model: "small",
    max_tokens: 100,
    top_p: 0.9,
    topK: 40,
    frequency_penalty: 0.1,
    presencePenalty: 0.2,
    seed: 7,
    stop: "END",
    temperature: "hot",
    providerOptions: { openai: { user: "ada" } },
  };
  const fill = prompt.fill;
  const { providerOptions, ...settings } = forAiSdk({ ...prompt, llmConfig, fill }, [
    { role: "system", content: "Be brief." },
    { role: "developer", content: [{ type: "text", text: "Be kind." }] },
    {
      role: "user",
      content: [{ type: "text", text: "Who?" }, { type: "image_url", image_url: { url: "https://a.b/c" } }],
    },
    { role: "system", content: "Now in French." },
    { role: "assistant", content: "Ada" },
  ], { sessionId: "s" });
  assert.equal(settings, {
    maxOutputTokens: 100,
    topP: 0.9,
    topK: 40,
    frequencyPenalty: 0.1,
    presencePenalty: 0.2,
    seed: 7,
    stopSequences: ["END"],
    system: "Be brief.\n\nBe kind.",
    messages: [
      { role: "user", content: [{ type: "text", text: "Who?" }, { type: "image", image: "https://a.b/c" }] },
      { role: "system", content: "Now in French." },
      { role: "assistant", content: "Ada" },
    ] as never[],
    allowSystemInMessages: true,
  });
  const { deployId, reference } = prompt;
  assert.equal(providerOptions, {
    openai: { user: "ada" },
    promptledger: { deployId, reference, version: 1, sessionId: "s" },
  });
  assert.throws(() => forAiSdk(prompt), /without a value: name/);
  assert.equal(forAiSdk(prompt, {}, { missing: "keep" }).system, "Greet {{name}}");
  const two = [0, 1].map(() => forAiSdk(prompt, { name: "Ada" }).providerOptions.promptledger.sessionId);
  assert.ok(two[0] !== two[1]);
});

test.run();
