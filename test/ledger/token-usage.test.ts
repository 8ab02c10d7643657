// Token usage as providers, gateways and frameworks report it: examples of each, and the same counts in each of their forms.
import { readFile } from "node:fs/promises";
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { decimalText, readAmount } from "../../src/support/decimal.ts";
import { readTokenUsage } from "../../src/ledger/token-usage.ts";
import type { TokenUsage } from "../../src/ledger/token-usage.ts";
import { pathOf } from "../runtimes.ts";

const test = suite("token usage");

type Json = Record<string, unknown>;
type Example = { from: string; usage: Json; tokens: Partial<TokenUsage>; cost?: string };

const examples = JSON.parse(await readFile(pathOf("test/ledger/usages.json"), "utf8")) as Example[];
const nothing = { cached: 0, written: 0, writtenHour: 0, media: 0 };

for (const { from, usage, tokens, cost } of examples) {
  test(`the example of ${from} is counted right`, () => {
    const { charge, ...counts } = readTokenUsage(usage)!;
    assert.equal(counts, { ...nothing, ...tokens });
    assert.is(charge === "" ? undefined : decimalText(readAmount(charge)!), cost);
  });
}

/** What a call has used. Nothing is in two of these counts. */
type Facts = {
  plain: number;
  cached: number;
  minutes: number;
  hour: number;
  tools: number;
  answer: number;
  reasoning: number;
};

/** A form of usage. `leavesOut` are facts that it has no count for, which count as other input or output. */
type Form = { from: string; leavesOut?: (keyof Facts)[]; usage(facts: Facts & Sums): Json };
type Sums = { written: number; input: number; output: number; total: number };

const sumsOf = ({ plain, cached, minutes, hour, tools, answer, reasoning }: Facts): Sums => {
  const written = minutes + hour, input = plain + cached + written + tools, output = answer + reasoning;
  return { written, input, output, total: input + output };
};

const forms: Form[] = [
  {
    from: "OpenAI Chat Completions",
    leavesOut: ["hour", "tools"],
    usage: ({ input, output, total, cached, written, reasoning }) => ({
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: total,
      prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: 0, accepted_prediction_tokens: 0 },
    }),
  },
  {
    from: "OpenAI Responses",
    leavesOut: ["hour", "tools"],
    usage: ({ input, output, total, cached, written, reasoning }) => ({
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: reasoning },
      total_tokens: total,
    }),
  },
  {
    from: "Anthropic Messages",
    leavesOut: ["tools"],
    usage: ({ plain, cached, written, minutes, hour, output, reasoning }) => ({
      input_tokens: plain,
      cache_creation_input_tokens: written,
      cache_read_input_tokens: cached,
      cache_creation: { ephemeral_5m_input_tokens: minutes, ephemeral_1h_input_tokens: hour },
      output_tokens: output,
      output_tokens_details: { thinking_tokens: reasoning },
      service_tier: "standard",
      server_tool_use: { web_search_requests: 0 },
    }),
  },
  {
    from: "Amazon Bedrock Converse",
    leavesOut: ["tools"],
    usage: ({ plain, cached, written, minutes, hour, output, total }) => ({
      inputTokens: plain,
      outputTokens: output,
      totalTokens: total,
      cacheReadInputTokens: cached,
      cacheReadInputTokenCount: cached,
      cacheWriteInputTokens: written,
      cacheDetails: [{ ttl: "1h", inputTokens: hour }, { ttl: "5m", inputTokens: minutes }],
    }),
  },
  {
    from: "Gemini",
    leavesOut: ["minutes", "hour"],
    usage: ({ plain, cached, tools, answer, reasoning, total }) => ({
      promptTokenCount: plain + cached,
      cachedContentTokenCount: cached,
      toolUsePromptTokenCount: tools,
      candidatesTokenCount: answer,
      thoughtsTokenCount: reasoning,
      totalTokenCount: total,
      promptTokensDetails: [{ modality: "TEXT", tokenCount: plain + cached }],
      cacheTokensDetails: [{ modality: "TEXT", tokenCount: cached }],
      trafficType: "ON_DEMAND",
    }),
  },
  {
    from: "Gemini Interactions",
    leavesOut: ["minutes", "hour"],
    usage: ({ plain, cached, tools, answer, reasoning, total }) => ({
      total_tokens: total,
      total_input_tokens: plain + cached,
      input_tokens_by_modality: [{ modality: "text", tokens: plain + cached }],
      total_cached_tokens: cached,
      total_output_tokens: answer,
      total_tool_use_tokens: tools,
      total_thought_tokens: reasoning,
    }),
  },
  {
    from: "a compatible host that leaves thoughts to the total",
    leavesOut: ["minutes", "hour", "tools"],
    usage: ({ input, answer, total, cached, reasoning }) => ({
      prompt_tokens: input,
      completion_tokens: answer,
      total_tokens: total,
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens_details: { reasoning_tokens: reasoning },
    }),
  },
  {
    from: "DeepSeek",
    leavesOut: ["minutes", "hour", "tools"],
    usage: ({ input, output, total, plain, cached, reasoning }) => ({
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: total,
      prompt_cache_hit_tokens: cached,
      prompt_cache_miss_tokens: plain,
      completion_tokens_details: { reasoning_tokens: reasoning },
    }),
  },
  {
    from: "LiteLLM",
    leavesOut: ["tools"],
    usage: ({ input, output, total, cached, written, minutes, hour, reasoning }) => ({
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: total,
      prompt_tokens_details: {
        text_tokens: null,
        cached_tokens: cached,
        cache_creation_tokens: written,
        cache_creation_token_details: { ephemeral_5m_input_tokens: minutes, ephemeral_1h_input_tokens: hour },
      },
      completion_tokens_details: { reasoning_tokens: reasoning },
      cache_read_input_tokens: cached,
      cache_creation_input_tokens: written,
    }),
  },
  {
    from: "LangChain",
    leavesOut: ["tools"],
    usage: ({ input, output, total, cached, minutes, hour, reasoning }) => ({
      input_tokens: input,
      output_tokens: output,
      total_tokens: total,
      input_token_details: {
        cache_read: cached,
        cache_creation: 0,
        ephemeral_5m_input_tokens: minutes,
        ephemeral_1h_input_tokens: hour,
        audio: 0,
      },
      output_token_details: { reasoning },
    }),
  },
  {
    from: "pydantic-ai",
    leavesOut: ["hour", "tools"],
    usage: ({ input, output, cached, written, reasoning }) => ({
      input_tokens: input,
      cache_write_tokens: written,
      cache_read_tokens: cached,
      output_tokens: output,
      input_audio_tokens: 0,
      cache_audio_read_tokens: 0,
      details: { reasoning_tokens: reasoning, cached_tokens: cached },
    }),
  },
  {
    from: "AI SDK 6 and 7",
    leavesOut: ["hour", "tools"],
    usage: ({ input, output, total, plain, cached, written, answer, reasoning }) => ({
      inputTokens: input,
      inputTokenDetails: { noCacheTokens: plain, cacheReadTokens: cached, cacheWriteTokens: written },
      outputTokens: output,
      outputTokenDetails: { textTokens: answer, reasoningTokens: reasoning },
      totalTokens: total,
      reasoningTokens: reasoning,
      cachedInputTokens: cached,
    }),
  },
  {
    from: "AI SDK's providers",
    leavesOut: ["hour", "tools"],
    usage: ({ input, output, plain, cached, written, answer, reasoning }) => ({
      inputTokens: { total: input, noCache: plain, cacheRead: cached, cacheWrite: written },
      outputTokens: { total: output, text: answer, reasoning },
      raw: { input_tokens: plain, cache_read_input_tokens: cached, output_tokens: output },
    }),
  },
  {
    from: "OpenTelemetry",
    leavesOut: ["hour", "tools"],
    usage: ({ input, output, cached, written, reasoning }) => ({
      "gen_ai.provider.name": "anthropic",
      "gen_ai.usage.input_tokens": input,
      "gen_ai.usage.output_tokens": output,
      "gen_ai.usage.cache_read.input_tokens": cached,
      "gen_ai.usage.cache_creation.input_tokens": written,
      "gen_ai.usage.reasoning.output_tokens": reasoning,
    }),
  },
  {
    from: "OpenInference",
    leavesOut: ["hour", "tools"],
    usage: ({ input, output, total, cached, written, reasoning }) => ({
      "llm.token_count.prompt": input,
      "llm.token_count.completion": output,
      "llm.token_count.total": total,
      "llm.token_count.prompt_details.cache_read": cached,
      "llm.token_count.prompt_details.cache_write": written,
      "llm.token_count.completion_details.reasoning": reasoning,
    }),
  },
  {
    from: "Microsoft.Extensions.AI",
    leavesOut: ["minutes", "hour", "tools"],
    usage: ({ input, output, total, cached, reasoning }) => ({
      InputTokenCount: input,
      OutputTokenCount: output,
      TotalTokenCount: total,
      CachedInputTokenCount: cached,
      ReasoningTokenCount: reasoning,
    }),
  },
  {
    from: "OpenAI Agents for JavaScript",
    leavesOut: ["minutes", "hour", "tools"],
    usage: ({ input, output, total, cached, reasoning }) => ({
      requests: 2,
      inputTokens: input,
      outputTokens: output,
      totalTokens: total,
      inputTokensDetails: [{ cached_tokens: cached - cached % 7 }, { cached_tokens: cached % 7 }],
      outputTokensDetails: [{ reasoning_tokens: reasoning }],
    }),
  },
  {
    from: "Cohere",
    leavesOut: ["cached", "minutes", "hour", "tools"],
    usage: ({ input, output }) => ({
      billed_units: { input_tokens: input, output_tokens: output },
      tokens: { input_tokens: input + 1_500, output_tokens: output + 3 },
      cached_tokens: 992,
    }),
  },
  {
    from: "Ollama",
    leavesOut: ["cached", "minutes", "hour", "tools"],
    usage: ({ input, output }) => ({ prompt_eval_count: input, eval_count: output, total_duration: 5_589_157_167 }),
  },
];

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replace(/^_/, "");
const camel = (name: string) => name.replace(/_([a-z\d])/g, (_, letter: string) => letter.toUpperCase());

/** Changes the names of all members, as clients for other languages do. */
const renamed = (value: unknown, rename: (name: string) => string): unknown =>
  Array.isArray(value)
    ? value.map((each) => renamed(each, rename))
    : typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([name, each]) => [rename(name), renamed(each, rename)]))
    : value;

/** Replaces the members that are 0, as those do who leave out what was not used. */
const withoutZeros = (value: unknown, replace: (entries: [string, unknown][]) => [string, unknown][]): unknown =>
  Array.isArray(value)
    ? value.map((each) => withoutZeros(each, replace))
    : typeof value === "object" && value !== null
    ? Object.fromEntries(replace(Object.entries(value).map(([name, each]) => [name, withoutZeros(each, replace)])))
    : value;

/** The same usage in other words. */
const variants: Record<string, (usage: Json) => unknown> = {
  "as it is": (usage) => usage,
  "in snake case": (usage) => renamed(usage, snake),
  "in camel case": (usage) => renamed(usage, camel),
  "with null for 0": (usage) =>
    withoutZeros(usage, (entries) => entries.map(([name, value]) => [name, value === 0 ? null : value])),
  "without what is 0": (usage) => withoutZeros(usage, (entries) => entries.filter(([, value]) => value !== 0)),
  "beside other numbers": (usage) => ({ queue_time: 0.17, ttft_ms: 210, n_requests: 1, ...usage, cache_hit_rate: 0.5 }),
};

const isDotted = (usage: Json) => Object.keys(usage).some((name) => name.includes("."));

/** What a form says of facts: those that it leaves out are other input. */
function expectedOf({ leavesOut = [] }: Form, facts: Facts): { facts: Facts; counts: TokenUsage } {
  const known = { ...facts };
  for (const name of leavesOut) {
    if (name === "hour") known.minutes += known.hour;
    else known.plain += known[name];
    known[name] = 0;
  }
  // Written for an hour becomes written for minutes, and that other input.
  if (leavesOut.includes("minutes")) [known.plain, known.minutes] = [known.plain + known.minutes, 0];
  const { written, input, output } = sumsOf(known);
  const { cached, hour: writtenHour } = known;
  return { facts: known, counts: { input, output, cached, written, writtenHour, media: 0, charge: "" } };
}

const amount = fc.oneof(fc.constant(0), fc.nat({ max: 20 }), fc.nat({ max: 2_000_000 }));
const positive = amount.map((count) => count + 1);
const anyFacts: fc.Arbitrary<Facts> = fc.record({
  ...{
    plain: positive,
    cached: amount,
    minutes: amount,
    hour: amount,
    tools: amount,
    answer: positive,
    reasoning: amount,
  },
});

const someFacts: Facts = { plain: 175, cached: 320, minutes: 51, hour: 12, tools: 33, answer: 26, reasoning: 118 };

for (const form of forms) {
  for (const [how, vary] of Object.entries(variants)) {
    test(`usage of ${form.from} ${how} is counted right`, () => {
      const check = (given: Facts) => {
        const { facts, counts } = expectedOf(form, given);
        const usage = form.usage({ ...facts, ...sumsOf(facts) });
        if (isDotted(usage) && how.includes("case")) return;
        assert.equal(readTokenUsage(vary(usage) as Json), counts, JSON.stringify(vary(usage)));
      };
      check(someFacts);
      fc.assert(fc.property(anyFacts, check), { numRuns: 40 });
    });
  }
}

/** Paths to all counts of a usage. */
const pathsOf = (value: unknown, above: (string | number)[] = []): (string | number)[][] =>
  typeof value === "number"
    ? [above]
    : typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([name, each]) =>
      pathsOf(each, [...above, Array.isArray(value) ? Number(name) : name])
    )
    : [];

const changedAt = (
  value: unknown,
  [name, ...rest]: (string | number)[],
  change: (entry: [string, unknown]) => [string, unknown],
): unknown =>
  Array.isArray(value)
    ? value.map((each, nth) => nth === name ? changedAt(each, rest, change) : each)
    : Object.fromEntries(
      Object.entries(value as Json).map((entry) =>
        entry[0] !== String(name)
          ? entry
          : rest.length === 0
          ? change(entry)
          : [entry[0], changedAt(entry[1], rest, change)]
      ),
    );

const isOfCache = (path: (string | number)[]) => /cache/i.test(path.join("/"));

test("usage whose caches have names that nobody knows is not counted", () => {
  const unknown = fc.constantFrom("cache_lookup_tokens", "tokensFromCache", "cached_units", "warm_cache_input");
  fc.assert(
    fc.property(fc.constantFrom(...forms), anyFacts, unknown, fc.nat(), ({ usage }, facts, name, nth) => {
      const whole = usage({ ...facts, ...sumsOf(facts) });
      const top = Object.keys(whole).filter((member) => isOfCache([member]) && typeof whole[member] === "number");
      const member = top[nth % top.length];
      fc.pre(!("billed_units" in whole) && !isDotted(whole));
      const { [member ?? ""]: _, ...others } = whole;
      assert.is(readTokenUsage({ ...others, [name]: facts.cached + 1 }), undefined);
    }),
    { numRuns: 300 },
  );
});

test("usage with a detail of the input that nobody knows is not counted, unless it is 0", () => {
  for (const details of ["prompt_tokens_details", "input_tokens_details", "inputTokenDetails"]) {
    const usageWith = (count: number) => ({
      prompt_tokens: 50,
      completion_tokens: 5,
      [details]: { rerank_tokens: count },
    });
    assert.is(readTokenUsage(usageWith(7)), undefined);
    assert.is(readTokenUsage(usageWith(0))?.input, 50);
  }
  // What is in the output is counted with it.
  const output = { prompt_tokens: 50, completion_tokens: 5, completion_tokens_details: { draft_tokens: 3 } };
  assert.is(readTokenUsage(output)?.output, 5);
});

const noCount = fc.constantFrom<unknown>("7", "", -1, 1.5, 1e13, true, 2 ** 53, -0.5);

test("usage with a count that is none is not counted", () => {
  const counts = /^(prompt|completion|input|output|total|cache|reasoning)\w*tokens$/i;
  fc.assert(
    fc.property(fc.constantFrom(...forms), anyFacts, noCount, fc.nat(), ({ usage }, facts, value, nth) => {
      const whole = usage({ ...facts, ...sumsOf(facts) });
      const paths = pathsOf(whole).filter(([name, ...rest]) =>
        rest.length === 0 && counts.test(String(name)) && !/audio/.test(String(name))
      );
      fc.pre(paths.length > 0 && !("billed_units" in whole));
      const changed = changedAt(whole, paths[nth % paths.length]!, ([name]) => [name, value]) as Json;
      assert.is(readTokenUsage(changed), undefined, JSON.stringify(changed));
    }),
    { numRuns: 300 },
  );
});

test("usage under the names of two providers counts if they agree", () => {
  const ofBoth = (input: number) => ({ prompt_tokens: 5, completion_tokens: 2, input_tokens: input, output_tokens: 2 });
  assert.equal(readTokenUsage(ofBoth(5)), { ...nothing, input: 5, output: 2, charge: "" });
  assert.is(readTokenUsage(ofBoth(6)), undefined);
  const cached = { inputTokens: 9, inputTokenDetails: { cacheReadTokens: 4 }, cachedInputTokens: 5 };
  assert.is(readTokenUsage(cached), undefined);
  const written = { input_tokens: 3, cache_creation_input_tokens: 9, cache_creation: { ephemeral_1h_input_tokens: 5 } };
  assert.is(readTokenUsage(written), undefined);
});

test("usage of one side alone is counted, and the total gives the other", () => {
  assert.equal(readTokenUsage({ completion_tokens: 2 }), { ...nothing, input: null, output: 2, charge: "" });
  assert.equal(readTokenUsage({ completion_tokens: 2, total_tokens: 9 })?.input, 7);
  assert.equal(readTokenUsage({ prompt_tokens: 7, total_tokens: 9 })?.output, 2);
  for (const more of [{}, { prompt_tokens: null }]) assert.is(readTokenUsage({ total_tokens: 9, ...more }), undefined);
  assert.is(readTokenUsage({ completion_tokens: 2, prompt_tokens_details: { cached_tokens: 3 } }), undefined);
});

test("an object without counts of tokens has none, whatever else it counts", () => {
  for (
    const holder of [
      {},
      { cost: 3, cache_hits: 5 },
      { cached_tokens: 5 },
      { prompt_tokens: null, completion_tokens: null },
      { tokens: 12 },
      { max_tokens: 100 },
      { type: "duration", seconds: 9 },
    ]
  ) assert.is(readTokenUsage(holder), undefined);
});

test("a cost that the provider reports is a decimal text of USD, and nothing else is one", () => {
  const chargeOf = (more: Json) => readTokenUsage({ prompt_tokens: 5, completion_tokens: 2, ...more })!.charge;
  assert.is(chargeOf({ cost: 1e-7 }), "1e-7");
  assert.is(chargeOf({ cost: "0.0125" }), "0.0125");
  assert.is(chargeOf({ cost_in_usd_ticks: 37_756_000 }), "37756000e-10");
  for (const cost of [-1, NaN, Infinity, 1e21, "free", "1,5", "", null, true, [], {}, { total_cost: "x" }]) {
    assert.is(chargeOf({ cost }), "", String(cost));
  }
});

test("names that applications send in any number take bounded memory and time", () => {
  const before = { prompt_tokens: 5, completion_tokens: 2 };
  for (let nth = 0; nth < 5_000; nth++) {
    assert.is(readTokenUsage({ [`tokens_${nth}`]: nth, [`${"cache".repeat(5_000)}${nth}`]: 1 }), undefined);
  }
  assert.is(readTokenUsage(before)?.input, 5);
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, nth) => [`member_${nth}`, nth]));
  assert.is(readTokenUsage({ ...before, ...many }), undefined);
  let deep: unknown = { cached_tokens: 1 };
  for (let depth = 0; depth < 990; depth++) deep = { details: deep };
  assert.is(readTokenUsage({ ...before, prompt_tokens_details: deep })?.cached, 0);
});

test.run();
