// Calls recorded by the responses of providers, whose forms are those of their public documentation: at once, streamed, cut off, left
// and failed. Through the client into the real service, which counts the tokens.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { recordAnthropic, recordGemini, recordOpenAI, tracePrompt } from "../../src/client/providers/index.ts";
import type { RecordedWith, RecordResponse } from "../../src/client/providers/index.ts";
import { currentRuntime } from "../runtimes.ts";
import { createStage, fallback, reference, refused } from "./stage.ts";
import type { Stage } from "./stage.ts";

const test = suite(`recording providers' responses on ${currentRuntime}`);

const weather = { city: "Oslo" };

const chat = {
  object: "chat.completion",
  id: "chatcmpl-7",
  model: "gpt-5-mini-2025-08-07",
  created: 1_800_000_000,
  choices: [{
    index: 0,
    message: { role: "assistant", content: "Hello Ada", refusal: null, annotations: [] },
    logprobs: null,
    finish_reason: "stop",
  }],
  usage: {
    prompt_tokens: 19,
    completion_tokens: 10,
    total_tokens: 29,
    prompt_tokens_details: { cached_tokens: 4, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 3, audio_tokens: 0 },
  },
};
const chatTool = {
  id: "call_7",
  type: "function",
  function: { name: "weather", arguments: JSON.stringify(weather) },
};
const chunk = (delta: object, finish_reason: string | null = null) => ({
  object: "chat.completion.chunk",
  id: "chatcmpl-7",
  model: "gpt-5-mini-2025-08-07",
  choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  usage: null,
});
const chatUsage = { ...chunk({}), choices: [], usage: chat.usage };

const message = {
  type: "message",
  id: "msg_1",
  status: "completed",
  role: "assistant",
  content: [{ type: "output_text", text: "Hello Ada", annotations: [] }],
};
const functionCall = { type: "function_call", id: "fc_1", call_id: "call_7", name: "weather", status: "completed" };
const reasoning = { type: "reasoning", id: "rs_1", summary: [] };
const response = {
  object: "response",
  id: "resp_1",
  model: "gpt-5-mini-2025-08-07",
  status: "completed",
  error: null,
  incomplete_details: null,
  output: [reasoning, message] as object[],
  usage: {
    input_tokens: 19,
    input_tokens_details: { cached_tokens: 4 },
    output_tokens: 10,
    output_tokens_details: { reasoning_tokens: 3 },
    total_tokens: 29,
  },
};
const begun = { ...response, status: "in_progress", output: [], usage: null };
const responseEvents = [
  { type: "response.created", response: begun },
  { type: "response.output_item.added", output_index: 0, item: reasoning },
  { type: "response.output_item.done", output_index: 0, item: reasoning },
  { type: "response.output_item.added", output_index: 1, item: { ...message, status: "in_progress", content: [] } },
  { type: "response.output_text.delta", output_index: 1, content_index: 0, item_id: "msg_1", delta: "Hello" },
  { type: "response.output_text.delta", output_index: 1, content_index: 0, item_id: "msg_1", delta: " Ada" },
  { type: "response.output_item.done", output_index: 1, item: message },
  { type: "response.completed", response },
];

const claude = {
  type: "message",
  id: "msg_01",
  role: "assistant",
  model: "claude-sonnet-5",
  content: [{ type: "thinking", thinking: "Ada?", signature: "c2ln" }, { type: "text", text: "Hello Ada" }] as object[],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 10, cache_creation_input_tokens: 5, cache_read_input_tokens: 4, output_tokens: 10 },
};
const claudeTool = { type: "tool_use", id: "toolu_1", name: "weather", input: weather };
const claudeEvents = [
  {
    type: "message_start",
    message: { ...claude, content: [], stop_reason: null, usage: { ...claude.usage, output_tokens: 1 } },
  },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "ping" },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: " Ada" } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 10 } },
  { type: "message_stop" },
];

const gemini = {
  responseId: "r-1",
  modelVersion: "gemini-3-flash",
  candidates: [{
    index: 0,
    content: { role: "model", parts: [{ text: "Ada?", thought: true }, { text: "Hello Ada" }] as object[] },
    finishReason: "STOP",
  }],
  usageMetadata: {
    promptTokenCount: 19,
    cachedContentTokenCount: 4,
    candidatesTokenCount: 7,
    thoughtsTokenCount: 3,
    totalTokenCount: 29,
  },
};
const geminiPart = (parts: object[], finishReason?: string) => ({
  ...gemini,
  candidates: [{ index: 0, content: { role: "model", parts }, finishReason }],
});

async function* stream(parts: readonly object[], error?: Error, stage?: Stage): AsyncGenerator<object> {
  for (const part of parts) {
    if (stage) stage.clock.now += 100;
    yield part;
  }
  if (error) throw error;
}

const abort = Object.assign(new Error("This operation was aborted"), { name: "AbortError" });

/** The record of a call: its status, output, model and tokens as the service reads them, and what else is known. */
async function recorded(stage: Stage): Promise<unknown[]> {
  await stage.client.flush();
  const rows = await stage.world.database.read({ sql: "select document, measures from diagnoses order by position" });
  const { status, content, model, additional_properties: facts } = JSON.parse(String(rows[0]!.document));
  assert.is(rows.length, 1);
  const [, input, output, cached = 0] = String(rows[0]!.measures).match(/\d+|null/g)!;
  return [
    status,
    content.output,
    model,
    `${input},${output},${cached}`,
    facts.finish_reason,
    ...(facts.error ? [facts.error] : []),
  ];
}

type Case = [name: string, record: RecordResponse, response: unknown, expected: unknown[]];

const of = (model: string, tokens = "19,10,4") => ({
  done: (output: unknown, reason: string, status = 1) => [status, text(output), model, tokens, reason],
});
const text = (output: unknown) => typeof output === "string" ? output : JSON.stringify(output);
const gpt = of(chat.model), sonnet = of(claude.model), flash = of(gemini.modelVersion);
const withChoice = (choice: object) => ({ ...chat, choices: [{ index: 0, ...choice }] });
const toolItem = { ...functionCall, arguments: JSON.stringify(weather) };
const none = "null,null,0";

const cases: Case[] = [
  ["a chat completion", recordOpenAI, chat, gpt.done("Hello Ada", "stop")],
  [
    "a chat completion with tool calls",
    recordOpenAI,
    withChoice({ message: { role: "assistant", content: null, tool_calls: [chatTool] }, finish_reason: "tool_calls" }),
    gpt.done({ role: "assistant", content: null, tool_calls: [chatTool] }, "tool_calls"),
  ],
  [
    "a chat completion that was refused",
    recordOpenAI,
    withChoice({ message: { role: "assistant", content: null, refusal: "No." }, finish_reason: "stop" }),
    gpt.done("No.", "stop"),
  ],
  [
    "two choices",
    recordOpenAI,
    { ...chat, choices: ["a", "b"].map((content, index) => ({ index, message: { content }, finish_reason: "stop" })) },
    gpt.done([{ content: "a" }, { content: "b" }], "stop"),
  ],
  [
    "a streamed chat completion",
    recordOpenAI,
    stream([
      chunk({ role: "assistant", content: "", refusal: null }),
      chunk({ content: "Hello" }),
      chunk({ content: " Ada" }),
      chunk({}, "stop"),
      chatUsage,
    ]),
    gpt.done("Hello Ada", "stop"),
  ],
  [
    "streamed tool calls of a chat completion",
    recordOpenAI,
    stream([
      chunk({
        role: "assistant",
        content: null,
        tool_calls: [{ index: 0, ...chatTool, function: { name: "weather", arguments: "" } }],
      }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '"Oslo"}' } }] }),
      chunk({}, "tool_calls"),
      chatUsage,
    ]),
    gpt.done({
      tool_calls: [{
        id: "call_7",
        type: "function",
        function: { arguments: JSON.stringify(weather), name: "weather" },
      }],
    }, "tool_calls"),
  ],
  [
    "streamed tool calls of which a server gives no index, or one for all",
    recordOpenAI,
    stream([
      ...[{ id: "a" }, { id: "b" }, { index: 0, id: "c" }].map((call) =>
        chunk({ tool_calls: [{ ...call, function: { name: call.id, arguments: "{}" } }] })
      ),
      chunk({ tool_calls: [] }, "tool_calls"),
      chatUsage,
    ]),
    gpt.done({
      tool_calls: ["a", "b", "c"].map((id) => ({ id, function: { arguments: "{}", name: id } })),
    }, "tool_calls"),
  ],
  [
    "a chat completion of vLLM, which lists no tool calls",
    recordOpenAI,
    withChoice({ message: { role: "assistant", content: "Hello Ada", tool_calls: [] }, finish_reason: "stop" }),
    gpt.done("Hello Ada", "stop"),
  ],
  [
    "a streamed chat completion of Mistral, with its reasoning",
    recordOpenAI,
    stream([
      chunk({ role: "assistant", content: [{ type: "thinking", thinking: [{ type: "text", text: "Ada?" }] }] }),
      chunk({ content: [{ type: "text", text: "Hello" }] }),
      chunk({ content: " Ada" }, "stop"),
      chatUsage,
    ]),
    gpt.done("Hello Ada", "stop"),
  ],
  [
    "a streamed chat completion of Groq",
    recordOpenAI,
    stream([
      { ...chunk({ content: "Hello Ada" }), usage: undefined, x_groq: { id: "req_1" } },
      { ...chunk({}, "stop"), usage: undefined, x_groq: { id: "req_1", usage: chat.usage } },
    ]),
    gpt.done("Hello Ada", "stop"),
  ],
  [
    "a chat completion of OpenRouter that its provider has not finished",
    recordOpenAI,
    withChoice({ message: { content: "Hello" }, finish_reason: "error", error: { code: 502, message: "Overloaded" } }),
    [0, "Hello", chat.model, "19,10,4", "error", "Error: Overloaded"],
  ],
  [
    "a chat completion that ends before it has finished",
    recordOpenAI,
    stream([chunk({ role: "assistant", content: "Hello" })]),
    [0, "Hello", chat.model, none, "interrupted"],
  ],
  [
    "a chat completion that ends because it was aborted, as OpenAI's client lets it",
    recordOpenAI,
    Object.assign(stream([chunk({ role: "assistant", content: "Hello" })]), {
      controller: { signal: AbortSignal.abort() },
    }),
    [2, "Hello", chat.model, none, undefined],
  ],
  ["a response", recordOpenAI, response, gpt.done("Hello Ada", "completed")],
  [
    "a response with a function call",
    recordOpenAI,
    { ...response, output: [reasoning, toolItem] },
    gpt.done([toolItem], "completed"),
  ],
  [
    "a response with an image",
    recordOpenAI,
    {
      ...response,
      output: [{ type: "image_generation_call", id: "ig_1", status: "completed", result: "A".repeat(100) }],
    },
    gpt.done([{ type: "image_generation_call", id: "ig_1", status: "completed" }], "completed"),
  ],
  [
    "an incomplete response",
    recordOpenAI,
    { ...response, status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
    gpt.done("Hello Ada", "max_output_tokens"),
  ],
  [
    "a failed response",
    recordOpenAI,
    { ...response, status: "failed", output: [], error: { code: "server_error", message: "Try again" } },
    [0, "", chat.model, "19,10,4", "failed", "Error: Try again"],
  ],
  ["a streamed response", recordOpenAI, stream(responseEvents), gpt.done("Hello Ada", "completed")],
  [
    "a streamed response that was cut off",
    recordOpenAI,
    stream(responseEvents.slice(0, 5)),
    [0, "Hello", chat.model, none, "interrupted"],
  ],
  [
    "a streamed response with a function call, and an error",
    recordOpenAI,
    stream([
      { type: "response.created", response: begun },
      { type: "response.output_item.added", output_index: 0, item: { ...functionCall, arguments: "" } },
      { type: "response.function_call_arguments.delta", output_index: 0, delta: '{"city":' },
      { type: "error", code: "server_error", message: "Try again" },
    ]),
    [0, text([{ ...functionCall, arguments: '{"city":' }]), chat.model, none, undefined, "Error: Try again"],
  ],
  ["a message of Anthropic", recordAnthropic, claude, sonnet.done("Hello Ada", "end_turn")],
  [
    "a message of Anthropic that uses a tool",
    recordAnthropic,
    { ...claude, content: [{ type: "text", text: "Let me see" }, claudeTool], stop_reason: "tool_use" },
    sonnet.done([{ type: "text", text: "Let me see" }, claudeTool], "tool_use"),
  ],
  ["a streamed message of Anthropic", recordAnthropic, stream(claudeEvents), sonnet.done("Hello Ada", "end_turn")],
  [
    "a streamed message of Anthropic that uses a tool",
    recordAnthropic,
    stream([
      claudeEvents[0]!,
      { type: "content_block_start", index: 0, content_block: { ...claudeTool, input: {} } },
      { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '{"city":' } },
      { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '"Oslo"}' } },
      { type: "content_block_stop", index: 0 },
      {
        type: "message_delta",
        delta: { stop_reason: "tool_use" },
        usage: { output_tokens: 10, input_tokens: 10, cache_read_input_tokens: null },
      },
    ]),
    sonnet.done([claudeTool], "tool_use"),
  ],
  [
    "a stream of Anthropic with an error",
    recordAnthropic,
    stream([
      ...claudeEvents.slice(0, 4),
      { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
    ]),
    [0, "Hello", claude.model, "19,1,4", undefined, "overloaded_error: Overloaded"],
  ],
  ["a response of Gemini", recordGemini, gemini, flash.done("Hello Ada", "STOP")],
  [
    "a response of Gemini with a function call and an image",
    recordGemini,
    geminiPart([
      { functionCall: { name: "weather", args: weather } },
      { inlineData: { mimeType: "image/png", data: "A".repeat(100) } },
    ], "STOP"),
    flash.done([
      { functionCall: { name: "weather", args: weather } },
      { inlineData: { mimeType: "image/png" } },
    ], "STOP"),
  ],
  [
    "a streamed response of Gemini",
    recordGemini,
    stream([geminiPart([{ text: "Hello" }]), geminiPart([{ text: " Ada" }], "STOP")]),
    flash.done("Hello Ada", "STOP"),
  ],
  [
    "a prompt that Gemini has blocked",
    recordGemini,
    { ...gemini, candidates: undefined, promptFeedback: { blockReason: "SAFETY" } },
    [0, "", gemini.modelVersion, "19,10,4", "SAFETY", "Blocked: SAFETY"],
  ],
  [
    "what has another form",
    recordGemini,
    { candidates: [{ content: { parts: "?" } }] },
    [1, '{"candidates":[{"content":{"parts":"?"}}]}', undefined, none, undefined],
  ],
];

for (const [name, record, given, expected] of cases) {
  test(`${name} is recorded`, async () => {
    const stage = await createStage();
    const call = (await stage.client.prompt(reference)).call({ sessionId: "order-4711" });
    const whole = await record(call, given);
    if (Symbol.asyncIterator in Object(given)) {
      for await (const part of whole as AsyncIterable<unknown>) assert.ok(part);
    } else assert.is(whole, given);
    assert.equal(await recorded(stage), expected);
  });
}

for (
  const [provider, record, parts, error, name] of [
    ["OpenAI", recordOpenAI, [chunk({ content: "Hello" })], new RangeError("cut"), "RangeError: cut"],
    ["Anthropic", recordAnthropic, claudeEvents.slice(0, 4), abort, "AbortError: This operation was aborted"],
    [
      "Gemini",
      recordGemini,
      [geminiPart([{ text: "Hello" }])],
      new TypeError("fetch failed"),
      "TypeError: fetch failed",
    ],
  ] as const
) {
  const status = error === abort ? 2 : 0;

  test(`a stream of ${provider} that breaks gives its parts and its error, and is recorded with what came`, async () => {
    const stage = await createStage();
    const call = (await stage.client.prompt(reference)).call();
    const read: object[] = [];
    try {
      for await (const part of await record(call, stream(parts, error))) read.push(part);
      assert.unreachable();
    } catch (thrown) {
      assert.is(thrown, error);
    }
    assert.equal(read, parts);
    const [stored, output, , , , said] = await recorded(stage);
    assert.equal([stored, output, said], [status, "Hello", name]);
  });

  test(`a stream of ${provider} that the application leaves is recorded as aborted, with its latency`, async () => {
    const stage = await createStage();
    const call = (await stage.client.prompt(reference)).call();
    for await (const part of await record(call, stream([...parts, {}], undefined, stage))) {
      if (part === parts.at(-1)) break;
    }
    const [stored, output] = await recorded(stage);
    assert.equal([stored, output], [2, "Hello"]);
    const [row] = await stage.world.database.read({ sql: "select document from diagnoses" });
    assert.is(JSON.parse(String(row!.document)).latency, 100 * parts.length);
  });

  test(`a request to ${provider} that fails is recorded, and rejects as it did`, async () => {
    const stage = await createStage();
    const call = (await stage.client.prompt(reference)).call();
    assert.is(await record(call, Promise.reject(error)).catch((thrown) => thrown), error);
    assert.equal(await recorded(stage), [status, "", undefined, none, undefined, name]);
  });
}

test("what is given besides wins, and is recorded with the rest", async () => {
  const stage = await createStage();
  const call = (await stage.client.prompt(reference)).call({ additional_properties: { trace_id: "4bf92f35" } });
  const given: RecordedWith = { status: 7, input: "Hi", provider: "azure", additional_properties: { turn: 2 } };
  await recordOpenAI(call, Promise.resolve(chat), given);
  await stage.client.flush();
  const [row] = await stage.world.database.read({ sql: "select prompt_version, document from diagnoses" });
  const { status, content, model, provider, additional_properties } = JSON.parse(String(row!.document));
  assert.equal([row!.prompt_version, status, content, model, provider], [
    1,
    7,
    { input: "Hi", output: "Hello Ada" },
    chat.model,
    "azure",
  ]);
  assert.equal(additional_properties, {
    trace_id: "4bf92f35",
    token_usage: chat.usage,
    response_id: "chatcmpl-7",
    finish_reason: "stop",
    turn: 2,
  });
});

test("the active span says which prompt is used", async () => {
  const stage = await createStage();
  const set: object[] = [];
  const trace = { getActiveSpan: () => ({ setAttributes: (attributes: object) => set.push(attributes) }) };
  tracePrompt(trace, await stage.client.prompt(reference));
  stage.network = refused;
  const asked = stage.client.prompt("other@staging", { fallback });
  await stage.pass(20_000);
  tracePrompt(trace, await asked);
  tracePrompt({ getActiveSpan: () => undefined }, await stage.client.prompt(reference));
  tracePrompt(undefined, await stage.client.prompt(reference));
  assert.equal(set, [
    { "gen_ai.prompt.name": "greeting", "gen_ai.prompt.version": "1" },
    { "gen_ai.prompt.name": "other" },
  ]);
  tracePrompt({
    getActiveSpan() {
      throw new Error("no context");
    },
  }, await stage.client.prompt(reference));
});

test.run();
