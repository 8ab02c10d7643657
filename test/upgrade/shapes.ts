// A record of each shape, as the body of a submit.
export const session = (sessionId: string, content: unknown, more: unknown = {}) => ({
  sessionId,
  status: 1,
  content,
  ...more as object,
});

export const tools = [
  { role: "user", content: "Where is order 4711?" },
  {
    role: "assistant",
    content: "",
    tool_calls: [{ id: "c1", function: { name: "find", arguments: '{"order":4711}' } }],
  },
  { role: "tool", tool_call_id: "c1", content: "On its way" },
];

/** A record of each shape, as bodies. */
export const shapes: unknown[] = [
  session("order-4711", { input: "Where is it?", output: "On its way." }, {
    latency: 812.5,
    startAt: 1_763_700_000_000,
    endAt: 1_763_700_000_812,
    additional_properties: {
      trace_id: "4bf92f35",
      model: "gpt-4o",
      provider: "openai",
      usage: { prompt_tokens: 120, completion_tokens: 18, prompt_tokens_details: { cached_tokens: 64 } },
    },
  }),
  session("order-4711", { output: JSON.stringify(tools) }, { latency: 0, endAt: 0 }),
  session("order-4711", { input: "" }, { status: 0, latency: 30_000, startAt: 2, endAt: 1 }),
  session("Größe 東京 👩‍👩‍👧", { input: JSON.stringify(tools), output: "a\tb\r\n\u0001\u001b[31m\u2028\ud800 end" }, {
    status: -7,
  }),
  session("usage", { output: "Anthropic" }, {
    additional_properties: {
      model: "claude-sonnet-4-5",
      usage: { input_tokens: 9, cache_read_input_tokens: 80, output_tokens: 5 },
    },
  }),
  session("usage", { output: "Gemini" }, {
    additional_properties: {
      usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 3 },
      modelVersion: "gemini-2.5-pro",
    },
  }),
  '{"sessionId":"digits","status":9007199254740991,"content":{"output":"1"},"additional_properties":' +
  '{"big":12345678901234567890,"precise":0.1234567890123456789,"__proto__":{"a":[]},"":null}}',
  session("members", { output: "of its own" }, {
    feedback: { thumb: 1 },
    rollout: "blue",
    tags: ["a", "b"],
    id: "mine",
  }),
];
