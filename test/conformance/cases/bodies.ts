// Bodies that are refused, and the errors that say why.
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import * as assert from "uvu/assert";
import { goodBody } from "../../helpers.ts";
import { isRecorded, isRefusal } from "../answers.ts";
import { bearer, newestRecord, ownCase, submit, usageOf } from "../target.ts";
import type { Case } from "../target.ts";

const safe = "an integer from -9007199254740991 to 9007199254740991";
const time = "an integer of Unix milliseconds from 0 to 9007199254740991";
const duration = "a finite number of milliseconds, at least 0";
const text = "a string of at most 512 characters";
const neither = "an object with input or output";

/** What a field must be, and values that are not. */
const fields: [field: string, wanted: string, wrong: [name: string, value: unknown][]][] = [
  ["sessionId", text, [
    ["a number", 1],
    ["513 characters long", "x".repeat(513)],
    ["513 characters long, of two units each", "\u{1f600}".repeat(513)],
    ["an object that cannot be printed", { toString: 1 }],
  ]],
  ["status", safe, [["a string", "1"], ["a fraction", 1.5], ["null", null]]],
  ["content", "an object", [["a string", "x"], ["an array", []]]],
  ["content", neither, [["empty", {}], ["without input and output", { text: "x" }]]],
  ["latency", duration, [["negative", -0.1], ["a string", "12"], ["null", null]]],
  ["startAt", time, [["negative", -1], ["in ISO 8601", "2026-11-15"]]],
  ["endAt", time, [["a fraction", 1.5], ["negative", -1]]],
  ["additional_properties", "an object", [["an array", []], ["null", null], ["a number", 1]]],
];

/** Numbers as text, since JSON.stringify would change them. */
const numbers: [field: string, wanted: string, wrong: string[]][] = [
  ["status", safe, ["9007199254740992", "9007199254740993", "1e20", "1.00000000000000001"]],
  ["startAt", time, ["9007199254740990.6"]],
  ["endAt", time, ["1e-400", "1e999"]],
  ["latency", duration, ["-1e-400", "1e999"]],
];

const notJson = "Request body must be valid JSON";
const notObject = "Request body must be an object";
const tooDeep = "Request body must be nested at most 1000 levels deep";
const notUtf8 = "Request body must be UTF-8";
const deep = `${"[".repeat(1900)}${"]".repeat(1900)}`;

const refusals: [name: string, body: unknown, error: string][] = [
  ...["sessionId", "status", "content"].map((field): [string, object, string] => [
    `no ${field}`,
    { ...goodBody, [field]: undefined },
    `Missing required field ${field}`,
  ]),
  ...fields.flatMap(([field, wanted, wrong]) =>
    wrong.map(([name, value]): [string, object, string] => [
      `${field} that is ${name}`,
      { ...goodBody, [field]: value },
      `Field ${field} must be ${wanted}`,
    ])
  ),
  ["an input that is a number", { ...goodBody, content: { input: 1 } }, "Field content.input must be a string"],
  [
    "an output of null",
    { ...goodBody, content: { input: "x", output: null } },
    "Field content.output must be a string",
  ],
  ...numbers.flatMap(([field, wanted, wrong]) =>
    wrong.map((number): [string, string, string] => [
      `${field} of ${number}`,
      `${JSON.stringify(goodBody).slice(0, -1)},"${field}":${number}}`,
      `Field ${field} must be ${wanted}`,
    ])
  ),
  ["no text", "", notJson],
  ["white space", " \n", notJson],
  ["a body cut short", '{"sessionId":"s"', notJson],
  ["two documents", "{}{}", notJson],
  ["half a surrogate's escape", String.raw`{"sessionId":"\ud8zz"}`, notJson],
  ["a quote in a surrogate's escape", String.raw`{"sessionId":"\udc\"}`, notJson],
  ["a literal NUL in a string", '{"sessionId":"\0"}', notJson],
  ["an array", "[]", notObject],
  ["1,000 nested arrays", "[".repeat(1000) + "]".repeat(1000), notObject],
  ["null", "null", notObject],
  ["a string", '"text"', notObject],
  ["an empty object", "{}", "Missing required field sessionId"],
  ["1,900 nested arrays", deep, tooDeep],
  ["1,001 arrays that only open", "[".repeat(1001), tooDeep],
  ["a field that is too deep", `{"sessionId":${deep}}`, tooDeep],
  [
    "properties of 1,000 levels, one too many with the body's own",
    `{"sessionId":"s","status":0,"content":{"input":""},"additional_properties":${'{"b":'.repeat(1000)}1${
      "}".repeat(1001)
    }`,
    tooDeep,
  ],
  ["a byte that is not UTF-8", new Uint8Array([0x7b, 0xff, 0x7d]), notUtf8],
  ["UTF-16", new Uint8Array([0xff, 0xfe, 0x7b, 0x00]), notUtf8],
  ["a surrogate in UTF-8", new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]), notUtf8],
];

const encodings: [name: string, encode: (text: string) => Uint8Array][] = [
  ["gzip", gzipSync],
  ["GZIP", gzipSync],
  ["x-gzip", gzipSync],
  ["deflate", deflateSync],
  ["deflate", deflateRawSync],
  ["br", brotliCompressSync],
  ["gzip, identity", gzipSync],
  ["gzip, gzip", (text) => gzipSync(gzipSync(text))],
];

export const bodyCases: Case[] = [
  ...refusals.map(([name, body, error]): Case => [
    `POST answers 400 to ${name}`,
    async (target) => isRefusal(await submit(target, body), 400, error),
  ]),
  ["POST without any body answers 400", async ({ send, key, deployId }) => {
    const answer = await send(`/v1/diagnosis?deployId=${deployId}`, { method: "POST", headers: [bearer(key)] });
    isRefusal(answer, 400, notJson);
  }],
  ownCase("bodies that are refused store nothing and cost nothing", async (own) => {
    for (const [name, body] of refusals) assert.is((await submit(own, body)).status, 400, name);
    const { ledgers } = await own.manage<{ ledgers: unknown[] }>("GET", `/verify?workspaceId=${own.workspaceId}`);
    assert.equal([(await usageOf(own)).used, ledgers], [0, []]);
  }),
  ownCase("a compressed body is 415, which names Content-Encoding, costs nothing and stores nothing", async (own) => {
    const text = JSON.stringify(goodBody),
      as = (encoding: string) => ({ headers: [bearer(own.key), `Content-Encoding: ${encoding}`] });
    for (const [encoding, encode] of encodings) {
      const answer = await submit(own, new Uint8Array(encode(text)), as(encoding));
      isRefusal(answer, 415, "Request body must be sent without Content-Encoding");
      assert.is(answer.headers.get("accept-encoding"), "identity");
    }
    // A plain body is read, whatever the header says.
    for (const encoding of ["identity", "Identity", ""]) {
      isRecorded(await submit(own, text, as(encoding)));
      isRefusal(await submit(own, new Uint8Array([0xff]), as(encoding)), 400, notUtf8);
    }
    assert.is((await usageOf(own)).used, 3);
  }),
  ownCase("a body of 1 MiB is accepted, one byte more is 413, with its length and in chunks", async (own) => {
    const limit = 1024 * 1024;
    const empty = JSON.stringify({ ...goodBody, content: { input: "é" } });
    const full = empty.replace("é", `${"x".repeat(limit - empty.length - 1)}é`);
    for (const request of [{}, { chunkSize: 65536 }]) {
      isRecorded(await submit(own, full.replace("xx", "x"), request));
      isRecorded(await submit(own, full, request));
      const refused = await submit(own, full.replace("xx", "xxx"), request);
      isRefusal(refused, 413, `Request body must be at most ${limit} bytes`);
      assert.is(refused.headers.get("connection"), "close");
    }
    assert.is(JSON.parse(await newestRecord(own)).content.input.length, limit - empty.length);
    assert.is((await usageOf(own)).used, 4);
  }),
];
