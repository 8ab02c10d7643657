// The tokens, latency, model and cost that statistics take from a record.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { measuresOf } from "../../src/ledger/measures.ts";
import { parse } from "../../src/schema/parse.ts";
import { DiagnosisRequest } from "../../src/schema/submits.ts";
import { createWorld, goodBody } from "../helpers.ts";

const test = suite("measures of a record");

type Json = Record<string, unknown>;
type Count = number | null;
type Tokens = { input: Count; output: Count; cached: number };

/** The measures of a submit, as statistics read them: with the names that the index reads from its document. */
function measured(body: object | string): unknown[] {
  const { value, members } = parse(DiagnosisRequest, typeof body === "string" ? body : JSON.stringify(body));
  const { model, provider } = value as Json;
  const measures = measuresOf(value, members);
  const named = measures.replace("\t", () => JSON.stringify(model)).replace("\n", () => JSON.stringify(provider));
  return JSON.parse(`[${named}]`);
}

const submit = (more: Json) => ({ ...goodBody, ...more });

function tokensOf(more: Json): Tokens {
  const [, input, output, [cached = 0] = []] = measured(submit(more)) as [null, number, number, number[]?];
  return { input, output, cached };
}

const none: Tokens = { input: null, output: null, cached: 0 };

/** What a provider documents: an example, the page that it is on, and how it counts. */
type Provider = { source: string; usage: Json; tokens: Tokens; count(usage: Json): Tokens | undefined };

const isCount = (value: unknown) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 1e12;

/** Reads counts by the names of one provider, written as the provider documents it. Undefined if one is not a count. */
function reading(
  names: string[],
  count: (values: [Count, Count, Count, Count, Count]) => Tokens,
): (usage: Json) => Tokens | undefined {
  return (usage) => {
    const values = names.map((name) => {
      const [outer, inner] = name.split(" in ").reverse() as [string, string?];
      const holder = inner === undefined ? usage : usage[outer];
      return ((holder ?? {}) as Json)[inner ?? outer] ?? null;
    });
    if (!values.every((value) => value === null || isCount(value))) return undefined;
    const found = count(values as [Count, Count, Count, Count, Count]);
    return found.cached <= (found.input ?? 0) ? found : undefined;
  };
}

const sum = (...values: Count[]): Count =>
  values.every((value) => value === null) ? null : values.reduce<number>((all, value) => all + (value ?? 0), 0);

const providers: Record<string, Provider> = {
  "OpenAI Chat Completions": {
    source: "https://platform.openai.com/docs/guides/prompt-caching",
    usage: {
      prompt_tokens: 2006,
      completion_tokens: 300,
      total_tokens: 2306,
      prompt_tokens_details: { cached_tokens: 1920 },
      completion_tokens_details: { reasoning_tokens: 0, accepted_prediction_tokens: 0, rejected_prediction_tokens: 0 },
    },
    tokens: { input: 2006, output: 300, cached: 1920 },
    count: reading(
      ["prompt_tokens", "completion_tokens", "cached_tokens in prompt_tokens_details"],
      ([input, output, cached]) => ({ input, output, cached: cached ?? 0 }),
    ),
  },
  "OpenAI Responses": {
    source: "https://platform.openai.com/docs/api-reference/responses/object",
    usage: {
      input_tokens: 36,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 87,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 123,
    },
    tokens: { input: 36, output: 87, cached: 0 },
    count: reading(
      ["input_tokens", "output_tokens", "cached_tokens in input_tokens_details"],
      ([input, output, cached]) => ({ input, output, cached: cached ?? 0 }),
    ),
  },
  "Anthropic Messages": {
    source: "https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching",
    usage: { input_tokens: 21, cache_creation_input_tokens: 0, cache_read_input_tokens: 188086, output_tokens: 393 },
    tokens: { input: 188107, output: 393, cached: 188086 },
    count: reading(
      ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"],
      ([input, created, read, output]) => ({
        // The cache is counted beside the input, so that nothing is known of the input without it.
        input: input === null ? null : sum(input, created, read),
        output,
        cached: read ?? 0,
      }),
    ),
  },
  "xAI Chat Completions": {
    source: "https://docs.x.ai/developers/advanced-api-usage/prompt-caching/usage-and-pricing",
    usage: {
      prompt_tokens: 125,
      completion_tokens: 48,
      total_tokens: 173,
      prompt_tokens_details: { text_tokens: 125, audio_tokens: 0, image_tokens: 0, cached_tokens: 98 },
      completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
    },
    tokens: { input: 125, output: 48, cached: 98 },
    count: reading(
      ["prompt_tokens", "completion_tokens", "cached_tokens in prompt_tokens_details"],
      ([input, output, cached]) => ({ input, output, cached: cached ?? 0 }),
    ),
  },
  "AI SDK 6": {
    // Of this type's members, the input includes both kinds of cached tokens. The last two are deprecated.
    source: "https://app.unpkg.com/ai@6.0.41/files/src/types/usage.ts",
    usage: {
      inputTokens: 1500,
      inputTokenDetails: { noCacheTokens: 400, cacheReadTokens: 1024, cacheWriteTokens: 76 },
      outputTokens: 220,
      outputTokenDetails: { textTokens: 92, reasoningTokens: 128 },
      totalTokens: 1720,
      reasoningTokens: 128,
      cachedInputTokens: 1024,
    },
    tokens: { input: 1500, output: 220, cached: 1024 },
    count: reading(
      ["inputTokens", "outputTokens", "cachedInputTokens", "cacheReadTokens in inputTokenDetails"],
      ([input, output, old, cached]) => ({
        input,
        output,
        cached: old !== null && cached !== null && old !== cached ? NaN : old ?? cached ?? 0,
      }),
    ),
  },
  "AI SDK 5": {
    source: "https://ai-sdk.dev/docs/reference/ai-sdk-core/generate-text",
    usage: { inputTokens: 1500, outputTokens: 220, totalTokens: 1720, reasoningTokens: 128, cachedInputTokens: 1024 },
    tokens: { input: 1500, output: 220, cached: 1024 },
    count: reading(
      ["inputTokens", "outputTokens", "cachedInputTokens"],
      ([input, output, cached]) => ({ input, output, cached: cached ?? 0 }),
    ),
  },
  "Gemini": {
    source: "https://ai.google.dev/api/generate-content#UsageMetadata",
    usage: {
      promptTokenCount: 696219,
      cachedContentTokenCount: 696190,
      candidatesTokenCount: 214,
      thoughtsTokenCount: 12,
      toolUsePromptTokenCount: 5,
      totalTokenCount: 696450,
    },
    tokens: { input: 696224, output: 226, cached: 696190 },
    count: reading(
      [
        "promptTokenCount",
        "toolUsePromptTokenCount",
        "candidatesTokenCount",
        "thoughtsTokenCount",
        "cachedContentTokenCount",
      ],
      ([prompt, tools, candidates, thoughts, cached]) => ({
        input: prompt === null ? null : sum(prompt, tools),
        output: sum(candidates, thoughts),
        cached: cached ?? 0,
      }),
    ),
  },
  "OpenTelemetry": {
    source: "https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/",
    usage: {
      "gen_ai.provider.name": "openai",
      "gen_ai.usage.input_tokens": 100,
      "gen_ai.usage.output_tokens": 180,
      "gen_ai.usage.cache_read.input_tokens": 50,
    },
    tokens: { input: 100, output: 180, cached: 50 },
    count: reading(
      ["gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.cache_read.input_tokens"],
      ([input, output, cached]) => ({ input, output, cached: cached ?? 0 }),
    ),
  },
  "Amazon Bedrock Converse": {
    source: "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html",
    usage: {
      inputTokens: 30,
      outputTokens: 628,
      totalTokens: 658,
      cacheReadInputTokens: 1000,
      cacheWriteInputTokens: 200,
    },
    tokens: { input: 1230, output: 628, cached: 1000 },
    count: reading(
      ["inputTokens", "cacheWriteInputTokens", "cacheReadInputTokens", "outputTokens"],
      ([input, written, read, output]) => ({
        input: input === null ? null : sum(input, written, read),
        output,
        cached: read ?? 0,
      }),
    ),
  },
};

/** Where a record may have the counts. */
const places: ((usage: Json) => Json)[] = [
  (usage) => ({ additional_properties: usage }),
  (usage) => ({ additional_properties: { trace_id: "4bf92f35", list: [1], none: null, usage } }),
  (usage) => ({ usage }),
];

for (const [name, { source, usage, tokens, count }] of Object.entries(providers)) {
  test(`the example of ${name} (${source}) is counted right, wherever it stands`, () => {
    assert.equal(count(usage), tokens);
    for (const place of places) assert.equal(tokensOf(place(usage)), tokens);
  });
}

const allNames = Object.values(providers).flatMap(({ usage }) => Object.keys(usage));

/** Two providers call the input alike, so that the name of a count may turn the payload of one into that of the other. */
const alike = [["input_tokens", "cache_read_input_tokens"], ["inputTokens", "cacheReadInputTokens"]];
const isAlike = (usage: Json, name: string) =>
  alike.some(([input, cached]) =>
    input! in usage && name.replace(/Write|creation/, (word) => word === "Write" ? "Read" : "read") === cached
  );
const wrong = fc.constantFrom<unknown>("7", -1, 1.5, 1e13, true, [], {}, [3], "", 2 ** 53, -0.5);

/** A change of one member, or of one inside it. */
const change = fc.record({
  at: fc.nat(),
  inner: fc.boolean(),
  to: fc.oneof(
    fc.constant({ kind: "delete" } as const),
    fc.record({ kind: fc.constant("set" as const), value: fc.oneof(wrong, fc.nat({ max: 1e6 }), fc.constant(null)) }),
    fc.record({ kind: fc.constant("rename" as const), name: fc.constantFrom(...allNames, "other") }),
  ),
});
type Change = { at: number; inner: boolean; to: { kind: string; value?: unknown; name?: string } };

function mutate(usage: Json, { at, inner, to }: Change): Json {
  const names = Object.keys(usage);
  const name = names[at % names.length]!;
  const value = usage[name];
  if (inner && typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0) {
    return { ...usage, [name]: mutate(value as Json, { at: at >> 4, inner, to }) };
  }
  const { [name]: _, ...rest } = usage;
  if (to.kind === "delete") return rest;
  return to.kind === "set" ? { ...usage, [name]: to.value } : { ...rest, [to.name!]: value };
}

test("1,000 changed payloads are counted right or not at all", () => {
  const cases = fc.record({
    provider: fc.constantFrom(...Object.keys(providers)),
    changes: fc.array(change, { minLength: 1, maxLength: 3 }),
    place: fc.constantFrom(...places),
  });
  let counted = 0;
  fc.assert(
    fc.property(cases, ({ provider, changes, place }) => {
      const { usage, count } = providers[provider]!;
      // A renamed member among other changes could make a valid payload of another provider.
      const renaming = changes.find(({ to }) => to.kind === "rename" && !isAlike(usage, to.name));
      const others = changes.filter(({ to }) => to.kind !== "rename");
      const changed = (renaming === undefined ? others : [renaming]).reduce(mutate, usage);
      const tokens = tokensOf(place(changed));
      if (tokens.input === null && tokens.output === null) return;
      counted++;
      assert.equal(tokens, count(changed), JSON.stringify(changed));
    }),
    { numRuns: 1000 },
  );
  assert.ok(counted > 200, `${counted} counted`);
});

const holders: [additional: Json, tokens: Tokens][] = [
  [{ usage: { prompt_tokens: "1" }, other: { prompt_tokens: 3 } }, { input: 3, output: null, cached: 0 }],
  [{ prompt_tokens: 5, completion_tokens: 2, input_tokens: 5, output_tokens: 2 }, { input: 5, output: 2, cached: 0 }],
  [{ prompt_tokens: 5, completion_tokens: 2, input_tokens: 6, output_tokens: 2 }, none],
  // The AI SDK 5 counts the cache of some providers beside the input, and leaves out what is written to it.
  [{ inputTokens: 4, outputTokens: 2, cachedInputTokens: 5439 }, none],
  [{ inputTokens: 9, outputTokens: 2, inputTokenDetails: { cacheReadTokens: 4 } }, { input: 9, output: 2, cached: 4 }],
  [{ inputTokens: 9, inputTokenDetails: { cacheReadTokens: 4 }, cachedInputTokens: 5 }, none],
  // What providers of the AI SDK 6 give it, before it makes numbers of that.
  [{ inputTokens: { total: 9, cacheRead: 4 }, outputTokens: { total: 2 } }, none],
  [{ a: { b: { prompt_tokens: 1 } } }, none],
  [{ prompt_tokens: null, completion_tokens: null }, none],
  [{ thoughtsTokenCount: 7, promptTokenCount: 3 }, { input: 3, output: 7, cached: 0 }],
];

for (const [additional_properties, tokens] of holders) {
  test(`tokens of ${JSON.stringify(additional_properties)} are ${JSON.stringify(tokens)}`, () =>
    assert.equal(tokensOf({ additional_properties }), tokens));
}

test("additional properties come before a top-level usage", () => {
  const usage = { prompt_tokens: 1 };
  assert.is(tokensOf({ usage, additional_properties: { completion_tokens: 2 } }).output, 2);
});

const latencies: [times: Json, latency: number | null][] = [
  [{ latency: 7.5, startAt: 1, endAt: 9 }, 7.5],
  [{ startAt: 100, endAt: 140 }, 40],
  [{ startAt: 100, endAt: 100 }, 0],
  [{ startAt: 100, endAt: 99 }, null],
  [{ startAt: 100 }, null],
  [{ endAt: 100 }, null],
];

for (const [times, latency] of latencies) {
  test(`the latency of ${JSON.stringify(times)} is ${latency}`, () => assert.is(measured(submit(times))[0], latency));
}

const others: [body: string, rest: unknown[] | undefined][] = [
  ['"model":"gpt-4o","provider":"openai"', [0, "gpt-4o", "openai"]],
  ['"model":"own","additional_properties":{"model":"other"}', [0, "own"]],
  [String.raw`"model":"a\"\u0000,b"`, [0, 'a"\0,b']],
  [`"model":"${"x".repeat(201)}"`, undefined],
  ['"model":7,"cost":null', undefined],
  ['"cost":0.10', [0, "", "", "0.10"]],
  ['"cost":1.2300000000000000000001E-5', [0, "", "", "1.2300000000000000000001E-5"]],
  ['"cost":"0.5"', [0, "", "", "0.5"]],
  ['"cost":2,"additional_properties":{"cost":1}', [0, "", "", "2"]],
  ['"cost":-1', undefined],
  ['"cost":"free"', undefined],
  ['"cost":{"total":1}', undefined],
];

for (const [members, rest] of others) {
  test(`of {${members.slice(0, 50)}} is known ${JSON.stringify(rest)}`, () => {
    const body = `{"sessionId":"s","status":1,"content":{"output":""},${members}}`;
    assert.equal(measured(body)[3], rest);
  });
}

const character = fc.constantFrom(
  "a",
  "4",
  "-",
  " ",
  "é",
  "漢",
  "🙂",
  "\t",
  "\n",
  "\0",
  '"',
  "\\",
  "\\t",
  "$",
  "[",
  ",",
  "]",
);
const name = fc.oneof(
  fc.constantFrom("gpt-4o", "claude-3-5-sonnet@20240620", "", "x".repeat(200), "x".repeat(201)),
  fc.array(character, { maxLength: 8 }).map((characters) => characters.join("")),
);

/** The JSON text of a name, of which some characters are escaped without need. */
const textOf = fc.tuple(name, fc.boolean()).map(([name, isEscaped]) => {
  const text = JSON.stringify(name);
  return isEscaped ? text.replace(/[a4é漢]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`) : text;
});

const levels = 1000; // as deep as a body may be nested

test("statistics have the names that a record has, whatever their characters, and however deep the record", async () => {
  const world = await createWorld({ monthlyLimit: 1e6 });
  const deep = "[".repeat(levels - 2) + "]".repeat(levels - 2);
  const cases = fc.record({ model: textOf, provider: fc.option(textOf), cost: fc.option(fc.constant("0.5")) });
  const bodies = [
    { model: '"gpt-4o"', provider: null, cost: null },
    ...fc.sample(cases, { numRuns: 600 }),
  ]
    .map((texts, nth) => {
      const members = Object.entries(texts).map(([member, text]) => text === null ? "" : `,"${member}":${text}`).join(
        "",
      );
      const more = nth === 0 ? `,"additional_properties":{"deep":${deep}}` : "";
      return `{"sessionId":"s","status":1,"content":{"output":""}${members}${more}}`;
    });
  for (const body of bodies) assert.is((await world.submit(body)).status, 201);
  const rows = await world.database.read({ sql: "select statistics from diagnoses order by position" });
  for (const [nth, { statistics }] of rows.entries()) {
    const [, , , , , rest] = JSON.parse(`[${statistics}]`);
    const known = measured(bodies[nth]!)[3];
    assert.equal(rest, known);
    const isShort = (text: unknown) => typeof text === "string" && text.length <= 200 ? text : "";
    const { model, provider } = JSON.parse(bodies[nth]!);
    assert.equal([rest?.[1] ?? "", rest?.[2] ?? ""], [isShort(model), isShort(provider)]);
  }
  assert.is(rows.length, bodies.length);
});

test.run();
