// The shapes in which clients of providers give responses: streams with functions of their own, helpers that collect a stream,
// raw responses, and what old, odd and other servers send. Each is given back as it is, and recorded once.
// Runs on every runtime.
import { setImmediate } from "node:timers/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { recordAnthropic, recordGemini, recordOpenAI } from "../../src/client/providers/index.ts";
import type { RecordResponse } from "../../src/client/providers/index.ts";
import type { Outcome } from "../../src/client/prompt.ts";
import { currentRuntime } from "../runtimes.ts";

const test = suite(`shapes of providers' responses on ${currentRuntime}`);

type Recorded = Pick<Outcome, "status" | "output" | "model" | "usage"> & {
  id?: unknown;
  reason?: unknown;
  error?: unknown;
};

/** Records a response. Gives what the application gets, and the records so far. */
async function recorded<Response>(record: RecordResponse, response: Response) {
  const records: Recorded[] = [];
  const done = ({ status, output, model, usage, additional_properties = {} }: Outcome) => {
    const { response_id: id, finish_reason: reason, error } = additional_properties;
    // Of several ends only the first one counts, as for the client's calls.
    if (records.length === 0) {
      records.push(JSON.parse(JSON.stringify({ status, output, model, usage, id, reason, error })));
    }
  };
  return { given: await record({ done }, response), records };
}

async function* partsOf<Part>(parts: readonly Part[]): AsyncGenerator<Part> {
  for (const part of parts) {
    await setImmediate();
    yield part;
  }
}

async function readAll<Part>(parts: AsyncIterable<Part>): Promise<Part[]> {
  const all = [];
  for await (const part of parts) all.push(part);
  return all;
}

/** A stream as the clients of OpenAI and Anthropic make them: read once, with `tee` and a controller. */
class ClientStream<Part> {
  controller = new AbortController();
  isConsumed = false;
  iterator: () => AsyncIterator<Part>;

  constructor(parts: readonly Part[] | (() => AsyncIterator<Part>)) {
    this.iterator = typeof parts === "function" ? parts : () => {
      if (this.isConsumed) throw new Error("Cannot iterate over a consumed stream");
      this.isConsumed = true;
      return partsOf(parts);
    };
  }
  [Symbol.asyncIterator](): AsyncIterator<Part> {
    return this.iterator();
  }
  tee(): [ClientStream<Part>, ClientStream<Part>] {
    const left: Promise<IteratorResult<Part>>[] = [], right: Promise<IteratorResult<Part>>[] = [];
    const iterator = this.iterator();
    const branch = (own: typeof left) => () => ({
      next() {
        if (own.length === 0) {
          const part = iterator.next();
          left.push(part);
          right.push(part);
        }
        return own.shift()!;
      },
    });
    return [new ClientStream(branch(left)), new ClientStream(branch(right))];
  }
}

type Listener = (value: object) => void;

/** A helper as the clients of OpenAI and Anthropic make them: it goes on by itself, and tells its listeners. */
class ClientHelper<Part extends object> {
  controller = new AbortController();
  listeners: [event: string, listener: Listener][] = [];
  parts: readonly Part[];
  name: string;
  ending: Promise<void>;

  constructor(name: string, parts: readonly Part[], error?: Error) {
    this.name = name;
    this.parts = parts;
    this.ending = this.run(error);
  }
  on(event: string, listener: Listener): this {
    this.listeners.push([event, listener]);
    return this;
  }
  emit(event: string, value: object = {}): void {
    for (const [name, listener] of this.listeners) if (name === event) listener(value);
  }
  async run(error?: Error): Promise<void> {
    for (const part of this.parts) {
      await setImmediate();
      if (this.controller.signal.aborted) {
        this.emit("abort", Object.assign(new Error("Request was aborted."), { name: "APIUserAbortError" }));
        this.emit("end");
        return;
      }
      this.emit(this.name, part);
    }
    if (error) this.emit("error", error);
    this.emit("end");
  }
  async finalMessage(): Promise<number> {
    await this.ending;
    return this.parts.length;
  }
  [Symbol.asyncIterator](): AsyncIterator<Part> {
    return partsOf(this.parts);
  }
}

const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
const chunk = (more: object) => ({ id: "c1", model: "gpt-6-sol", choices: [], ...more });
const piece = (delta: object, finish_reason: string | null = null) =>
  chunk({ choices: [{ index: 0, delta, finish_reason }] });
const chunks = [piece({ role: "assistant", content: "" }), piece({ content: "Hel" }), piece({ content: "lo" })];
const answer: Recorded = { status: 1, output: "Hello", model: "gpt-6-sol", usage, id: "c1", reason: "stop" };
const whole = [...chunks, piece({}, "stop"), chunk({ usage })];
const completion = chunk({ choices: [{ index: 0, message: { content: "Hello" }, finish_reason: "stop" }], usage });

const counts = { input_tokens: 5, output_tokens: 2 };
const message = {
  id: "m1",
  model: "claude-opus-5-5",
  content: [{ type: "text", text: "Hello" }],
  stop_reason: "end_turn",
  usage: counts,
};
const events = [
  {
    type: "message_start",
    message: { ...message, content: [], stop_reason: null, usage: { input_tokens: 5, output_tokens: 1 } },
  },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hel" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "lo" } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
];
const claude: Recorded = {
  status: 1,
  output: "Hello",
  model: message.model,
  usage: counts,
  id: "m1",
  reason: "end_turn",
};

const content = { responseId: "g1", modelVersion: "gemini-3.8-flash" };
const gemini: Recorded = { status: 1, output: "Hello", model: "gemini-3.8-flash", usage: {}, id: "g1", reason: "STOP" };
const candidate = (text: string, finishReason?: string) => ({
  candidates: [{ content: { parts: [{ text }] }, finishReason }],
});

type Case = [name: string, record: RecordResponse, response: unknown, expected: Recorded];

const message1 = (more: object) =>
  chunk({ choices: [{ index: 0, message: { content: null, ...more }, finish_reason: "stop" }], usage });
const functionCall = { arguments: '{"city":"Oslo"}', name: "weather" };
const interaction = {
  ...{
    id: "i1",
    model: "gemini-3.8-flash",
    status: "completed",
    usage: { total_input_tokens: 5, total_output_tokens: 2 },
  },
  steps: [
    { type: "user_input", content: [{ type: "text", text: "Hi" }] },
    { type: "thought", signature: "c2ln" },
    { type: "model_output", content: [{ type: "text", text: "Hel" }, { type: "text", text: "lo" }] },
  ],
};
const interacted: Recorded = { ...gemini, usage: interaction.usage, id: "i1", reason: "completed" };

const cases: Case[] = [
  [
    "a stream of Azure, whose first and last chunks have an empty model and id",
    recordOpenAI,
    new ClientStream([{ id: "", model: "", choices: [], prompt_filter_results: [] }, ...whole, {
      ...{ id: "", model: "", usage: null },
      choices: [{ index: 0, delta: {}, finish_reason: null, content_filter_offsets: {} }],
    }]),
    answer,
  ],
  [
    "a streamed response whose last event has an empty model and id",
    recordOpenAI,
    new ClientStream([
      {
        type: "response.created",
        response: { id: "c1", model: "gpt-6-sol", status: "in_progress", output: [], usage: null },
      },
      {
        type: "response.output_item.done",
        output_index: 0,
        item: { type: "message", content: [{ type: "output_text", text: "Hello" }] },
      },
      { type: "response.completed", response: { id: "", model: "", status: "completed", output: [], usage: counts } },
    ]),
    { ...answer, usage: counts, reason: "completed" },
  ],
  [
    "an answer that is audio",
    recordOpenAI,
    message1({ audio: { id: "a1", data: "A".repeat(99), transcript: "Hello" } }),
    answer,
  ],
  [
    "a streamed answer that is audio",
    recordOpenAI,
    new ClientStream([
      piece({ audio: { id: "a1", transcript: "Hel" } }),
      piece({ audio: { data: "AAAA" } }),
      piece({ audio: { transcript: "lo" } }, "stop"),
      chunk({ usage }),
    ]),
    answer,
  ],
  [
    "a response that is audio",
    recordOpenAI,
    {
      ...{ id: "c1", model: "gpt-6-sol", status: "completed", usage: counts },
      output: [{ type: "message", content: [{ type: "output_audio", data: "AAAA", transcript: "Hello" }] }],
    },
    { ...answer, usage: counts, reason: "completed" },
  ],
  [
    "an answer that is an image",
    recordOpenAI,
    message1({
      content: "",
      images: [{ type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(99)}` } }],
    }),
    { ...answer, output: { content: "", images: [{ image_url: { url: "data:image/png;base64" } }] } },
  ],
  [
    "a legacy completion",
    recordOpenAI,
    chunk({ object: "text_completion", choices: [{ text: "Hello", index: 0, finish_reason: "stop" }], usage }),
    answer,
  ],
  [
    "a streamed legacy completion",
    recordOpenAI,
    new ClientStream([
      chunk({ choices: [{ text: "Hel", index: 0, finish_reason: null }] }),
      chunk({ choices: [{ text: "lo", index: 0, finish_reason: "stop" }], usage }),
    ]),
    answer,
  ],
  [
    "several legacy completions",
    recordOpenAI,
    chunk({ choices: ["Hello", "Hi"].map((text, index) => ({ text, index, finish_reason: "stop" })), usage }),
    { ...answer, output: ["Hello", "Hi"] },
  ],
  [
    "a call of a function in its older form",
    recordOpenAI,
    message1({ function_call: functionCall }),
    { ...answer, output: { content: null, function_call: functionCall } },
  ],
  [
    "a streamed call of a function in its older form",
    recordOpenAI,
    new ClientStream([
      piece({ function_call: { name: "weather", arguments: "" } }),
      piece({ function_call: { arguments: '{"city":' } }),
      piece({ function_call: { arguments: '"Oslo"}' } }, "function_call"),
    ]),
    { ...answer, usage: undefined, output: { function_call: functionCall }, reason: "function_call" },
  ],
  [
    "a streamed call of a tool with a text",
    recordOpenAI,
    new ClientStream([
      piece({ tool_calls: [{ index: 0, id: "t1", type: "custom", custom: { name: "shell", input: "l" } }] }),
      piece({ tool_calls: [{ index: 0, custom: { input: "s" } }] }, "tool_calls"),
    ]),
    {
      ...{ ...answer, usage: undefined, reason: "tool_calls" },
      output: { tool_calls: [{ id: "t1", type: "custom", custom: { input: "ls", name: "shell" } }] },
    },
  ],
  ["a transcription", recordOpenAI, { text: "Hello", usage: { type: "duration", seconds: 9 } }, {
    ...{ status: 1, output: "Hello", usage: { type: "duration", seconds: 9 } },
  }],
  [
    "a streamed message whose last event has no input, and an empty model",
    recordAnthropic,
    new ClientStream([
      ...events.slice(0, 5),
      { ...events[5], usage: { input_tokens: 0, output_tokens: 2, cache_read_input_tokens: null } },
    ]),
    claude,
  ],
  [
    "a legacy text completion of Anthropic",
    recordAnthropic,
    { type: "completion", id: "m1", model: message.model, completion: "Hello", stop_reason: "stop_sequence" },
    { ...claude, usage: undefined, reason: "stop_sequence" },
  ],
  [
    "a streamed legacy text completion of Anthropic",
    recordAnthropic,
    new ClientStream([
      { type: "completion", id: "m1", model: message.model, completion: "Hel", stop_reason: null },
      { type: "ping" },
      { type: "completion", id: "m1", model: message.model, completion: "lo", stop_reason: "stop_sequence" },
    ]),
    { ...claude, usage: undefined, reason: "stop_sequence" },
  ],
  [
    "a stream of Gemini whose last part has fewer counts",
    recordGemini,
    partsOf([
      { ...content, ...candidate("Hel"), usageMetadata: { promptTokenCount: 5, cachedContentTokenCount: 3 } },
      {
        ...content,
        ...candidate("lo", "STOP"),
        modelVersion: "",
        usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2 },
      },
    ]),
    { ...gemini, usage: { promptTokenCount: 5, cachedContentTokenCount: 3, candidatesTokenCount: 2 } },
  ],
  [
    "what Vertex AI's older client gives",
    recordGemini,
    { response: { ...content, ...candidate("Hello", "STOP"), usageMetadata: {} } },
    gemini,
  ],
  ["an interaction", recordGemini, interaction, interacted],
  [
    "an interaction with a call and an image",
    recordGemini,
    {
      ...interaction,
      status: "requires_action",
      steps: [
        { type: "model_output", content: [{ type: "image", mime_type: "image/png", data: "AAAA" }] },
        { type: "function_call", id: "f1", name: "weather", arguments: { city: "Oslo" } },
      ],
    },
    {
      ...interacted,
      reason: "requires_action",
      output: [
        { type: "model_output", content: [{ type: "image", mime_type: "image/png" }] },
        { type: "function_call", id: "f1", name: "weather", arguments: { city: "Oslo" } },
      ],
    },
  ],
  [
    "a streamed interaction",
    recordGemini,
    new ClientStream([
      {
        event_type: "interaction.created",
        interaction: { id: "i1", model: "gemini-3.8-flash", status: "in_progress" },
      },
      { event_type: "step.start", index: 0, step: { type: "model_output" } },
      { event_type: "step.delta", index: 0, delta: { type: "text", text: "Hel" } },
      { event_type: "step.delta", index: 0, delta: { type: "text", text: "lo" } },
      { event_type: "step.stop", index: 0 },
      { event_type: "interaction.completed", interaction: { ...interaction, model: "", steps: [] } },
    ]),
    interacted,
  ],
  [
    "a streamed interaction that calls a function and fails",
    recordGemini,
    new ClientStream([
      {
        event_type: "interaction.created",
        interaction: { id: "i1", model: "gemini-3.8-flash", status: "in_progress" },
      },
      { event_type: "step.start", index: 0, step: { type: "function_call", id: "f1", name: "weather", arguments: {} } },
      { event_type: "step.delta", index: 0, delta: { type: "arguments_delta", arguments: '{"city":' } },
      { event_type: "error", error: { code: "internal", message: "Try again" } },
    ]),
    {
      ...{ status: 0, model: "gemini-3.8-flash", id: "i1", error: "Error: Try again" },
      output: [{ type: "function_call", id: "f1", name: "weather", arguments: '{"city":' }],
    },
  ],
  ["an object of another form", recordOpenAI, { answer: "Hello" }, { status: 1, output: { answer: "Hello" } }],
  ["a text", recordAnthropic, "Hello", { status: 1, output: "Hello" }],
];

const definite = (value: object) => JSON.parse(JSON.stringify(value));

for (const [name, record, response, expected] of cases) {
  test(`${name} is recorded, and given as it is`, async () => {
    const { given, records } = await recorded(record, response);
    if (Symbol.asyncIterator in Object(given)) await readAll(given as AsyncIterable<unknown>);
    else assert.is(given, response);
    assert.equal(records, [definite(expected)]);
  });
}

test("a stream keeps its functions, and its first reading is recorded, whoever reads it", async () => {
  const ways: Record<string, (stream: ClientStream<object>) => Promise<unknown>> = {
    loop: readAll,
    tee: (stream) => Promise.all(stream.tee().map(readAll)),
  };
  for (const [name, read] of Object.entries(ways)) {
    const stream = new ClientStream<object>(whole);
    const { given, records } = await recorded(recordOpenAI, stream);
    assert.is(given, stream);
    assert.equal((await read(given)) as object, name === "tee" ? [whole, whole] : whole);
    assert.equal(records, [answer]);
    // As without the recorder.
    await assert.throws(() => given[Symbol.asyncIterator](), /consumed/);
  }
});

test("a stream that cannot be changed is read through another one", async () => {
  const { given, records } = await recorded(
    recordOpenAI,
    Object.freeze(new ClientStream<object>(whole)) as AsyncIterable<object>,
  );
  // The stream itself notes in a member that it was read.
  await readAll(given).catch(() => undefined);
  assert.is(records.length, 1);
});

test("a generator is read by its own functions", async () => {
  const { given, records } = await recorded(recordGemini, partsOf([{ ...content, ...candidate("Hel") }, content]));
  assert.equal((await given.next()).value, { ...content, ...candidate("Hel") });
  assert.equal(await given.return(undefined), { value: undefined, done: true });
  assert.equal(records, [definite({ ...gemini, status: 2, output: "Hel", usage: undefined, reason: undefined })]);
});

test("what withResponse gives is recorded with its data, whole or streamed", async () => {
  const response = new Response(null, { headers: { "x-request-id": "r1" } });
  const atOnce = { data: completion, response, request_id: "r1" };
  const one = await recorded(recordOpenAI, atOnce);
  assert.equal([one.given.data, one.given.response], [completion, response]);
  assert.equal(one.records, [answer]);
  const streamed = { data: new ClientStream<object>(whole), response, request_id: "r1" };
  const other = await recorded(recordOpenAI, streamed);
  assert.is(other.given.data, streamed.data);
  assert.equal(other.records, []);
  await readAll(other.given.data);
  assert.equal(other.records, [answer]);
});

test("a raw response is recorded by a copy of its body, which the application reads itself", async () => {
  const lines = [...whole.map((part) => JSON.stringify(part)), "[DONE]"].map((line) => `data: ${line}\n\n`).join("");
  const named = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  const bodies: [RecordResponse, body: string, Recorded][] = [
    [recordOpenAI, JSON.stringify(completion), answer],
    [recordOpenAI, lines, answer],
    [recordAnthropic, named, claude],
    [recordGemini, JSON.stringify([{ ...content, ...candidate("Hel") }, { ...content, ...candidate("lo", "STOP") }]), {
      ...gemini,
      usage: undefined,
    }],
  ];
  for (const [record, body, expected] of bodies) {
    const response = new Response(body);
    const { given, records } = await recorded(record, response);
    assert.is(given, response);
    assert.is(await given.text(), body);
    for (let turn = 0; turn < 50 && records.length === 0; turn++) await setImmediate();
    assert.equal(records, [definite(expected)]);
  }
  const refused = await recorded(recordOpenAI, new Response('{"error":{"message":"Slow down"}}', { status: 429 }));
  for (let turn = 0; turn < 50 && refused.records.length === 0; turn++) await setImmediate();
  assert.equal([refused.records[0]!.status, refused.records[0]!.error], [0, "Error: HTTP 429"]);
});

test("a helper is recorded when it ends, whether it is read or only asked for its end", async () => {
  const helpers = [
    [recordAnthropic, () => new ClientHelper("streamEvent", events), claude],
    [recordOpenAI, () => new ClientHelper("chunk", whole), answer],
  ] as const;
  for (const [record, make, expected] of helpers) {
    for (const isRead of [false, true]) {
      const helper = make() as ClientHelper<object>;
      const { given, records } = await recorded(record, helper);
      assert.is(given, helper);
      if (isRead) await readAll(given);
      assert.is(await given.finalMessage(), helper.parts.length);
      assert.equal(records, [expected]);
    }
  }
});

test("a helper that is aborted or fails is recorded as that, with what came", async () => {
  const aborted = new ClientHelper<object>("streamEvent", events);
  const one = await recorded(recordAnthropic, aborted);
  aborted.on("streamEvent", (event) => event === events[2] && aborted.controller.abort());
  await aborted.finalMessage();
  assert.equal([one.records[0]!.status, one.records[0]!.output], [2, "Hel"]);
  const failing = new ClientHelper<object>("streamEvent", events.slice(0, 3), new Error("Overloaded"));
  const other = await recorded(recordAnthropic, failing);
  await failing.finalMessage();
  assert.equal([other.records[0]!.status, other.records[0]!.error], [0, "Error: Overloaded"]);
});

test.run();
