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
type Tokens = { input: number | null; output: number | null; cached: number };

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

/** Where a record may have the counts. */
const places: ((usage: Json) => Json)[] = [
  (usage) => ({ additional_properties: usage }),
  (usage) => ({ additional_properties: { trace_id: "4bf92f35", list: [1], none: null, usage } }),
  (usage) => ({ usage }),
];

test("counts are found wherever they stand", () => {
  const usage = { input_tokens: 6, cache_creation_input_tokens: 3, cache_read_input_tokens: 5, output_tokens: 2 };
  for (const place of places) assert.equal(tokensOf(place(usage)), { input: 14, output: 2, cached: 5 });
});

test("counts are searched in the first 50 objects of a record", () => {
  const usage = { prompt_tokens: 1, completion_tokens: 2 };
  const withOthers = (count: number) => ({
    additional_properties: { ...Object.fromEntries(Array.from({ length: count }, (_, nth) => [`o${nth}`, {}])), usage },
  });
  assert.is(tokensOf(withOthers(48)).input, 1);
  assert.is(tokensOf(withOthers(49)).input, null);
});

const holders: [additional: Json, tokens: Tokens][] = [
  [{ usage: { prompt_tokens: "1" }, other: { prompt_tokens: 3 } }, { input: 3, output: null, cached: 0 }],
  [{ usage: { prompt_tokens: 5, warm_cache_tokens: 4 } }, none],
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
  ['"usage":{"input_tokens":9,"cache_creation_input_tokens":4}', [0, "", "", "", 4]],
  [
    '"usage":{"input_tokens":9,"cache_creation_input_tokens":4,"cache_creation":{"ephemeral_1h_input_tokens":4}}',
    [0, "", "", "", 4, 4],
  ],
  ['"usage":{"prompt_tokens":9,"prompt_tokens_details":{"audio_tokens":4}}', [0, "", "", "", 0, 0, 1]],
  ['"model":"m","usage":{"prompt_tokens":9,"cost":0.25}', [0, "m", "", "", 0, 0, 0, "0.25"]],
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
