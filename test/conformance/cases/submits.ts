// Submits: what is stored of a record, and how it is returned.
import * as assert from "uvu/assert";
import { goodBody } from "../../helpers.ts";
import { isRecorded } from "../answers.ts";
import { bearer, newestRecord, recordsOf, submit } from "../target.ts";
import type { Case } from "../target.ts";

const properties = [
  '{"n":12345678901234567890,"f":1.0,"e":1e400,"m":-0.0,"t":0.1000}',
  '{"":1,"__proto__":{"a":1},"constructor":null,"10":1,"9":2,"b":1,"a":2}',
  '{ "spaced" : [ 1 , 2 ],\n\t"same":1,"same":2 }',
  '{"escaped":"\\u00e9\\/\\uD83D\\uDE00\\u0000\\u007f","literal":"é😀"}',
  "{}",
];

const withProperties = (text: string) =>
  `{"additional_properties":${text},"sessionId":"s","status":0,"content":{"input":""}}`;

/** A good body with one more member, as text. */
const withMember = (member: string) => `${JSON.stringify(goodBody).slice(0, -1)},${member}}`;

const latencies: Record<string, string> = {
  "0": "0",
  "-0": "0",
  "1.50": "1.5",
  "-0.0": "0",
  "15e2": "1500",
  "0.1": "0.1",
  "1e300": "1e+300",
  "9007199254740993": "9007199254740993",
  "12345678901234567890": "12345678901234567890",
  "0.1000000000000000055511151231257827": "0.1000000000000000055511151231257827",
  "1e-400": "1e-400",
};

const accepted: [name: string, body: unknown][] = [
  ["an empty input", { ...goodBody, content: { input: "" } }],
  ["an output alone", { ...goodBody, content: { output: "" } }],
  ["an empty session id", { ...goodBody, sessionId: "" }],
  ["a negative status", { ...goodBody, status: -1 }],
  ["the largest status", { ...goodBody, status: Number.MAX_SAFE_INTEGER }],
  ["the smallest status", { ...goodBody, status: Number.MIN_SAFE_INTEGER }],
  ["a status written as 1.0", withMember('"status":1.0')],
  ["a status written as 2e2", withMember('"status":2e2')],
  ["an endAt before the startAt", { ...goodBody, startAt: 2, endAt: 1 }],
  ["timestamps of 0", { ...goodBody, startAt: 0, endAt: 0 }],
  ["a byte order mark", `\ufeff${JSON.stringify(goodBody)}`],
];

export const submitCases: Case[] = [
  ...["/v1/prompts", "/v1/diagnosis"].map((path): Case => [
    `POST ${path} answers 201 with the new record's id, and the quota`,
    async (target) => void isRecorded(await submit(target, goodBody, {}, path)),
  ]),
  ["a record is stored with every field, and the version that was live", async (target) => {
    const times = { latency: 12.5, startAt: 1700000000000, endAt: 1700000000012 };
    const body = { ...goodBody, ...times, additional_properties: { token_usage: { prompt_tokens: 5 } } };
    const id = isRecorded(await submit(target, body));
    const { createdAt, deployId, reference, keyId, ...record } = JSON.parse(await newestRecord(target));
    assert.equal(record, { id, ...body, promptVersion: 1, statusName: "ok" });
    assert.equal([deployId, reference, keyId.slice(0, 4)], [target.deployId, "greeting@production", "key_"]);
    assert.ok(Math.abs(createdAt - Date.now()) < 60_000);
  }],
  ["absent members are null", async (target) => {
    isRecorded(await submit(target));
    const { latency, startAt, endAt, additional_properties } = JSON.parse(await newestRecord(target));
    assert.equal([latency, startAt, endAt, additional_properties], [null, null, null, null]);
  }],
  ["additional_properties are stored as sent: every digit, key and space, in order", async (target) => {
    for (const text of properties) {
      isRecorded(await submit(target, withProperties(text)));
      assert.ok((await newestRecord(target)).includes(`"additional_properties":${text}`), text);
    }
  }],
  ["lone surrogates become U+FFFD, and nothing else changes", async (target) => {
    const body = String.raw`{"sessionId":"s\ud800","status":0,"content":{"input":"\udfff"},"additional_properties":` +
      String.raw`{"\udc00k":"a\ud800b\uD83D\uDE00\\ud800"}}`;
    isRecorded(await submit(target, body));
    const record = await newestRecord(target);
    assert.ok(record.includes(String.raw`"additional_properties":{"\ufffdk":"a\ufffdb\uD83D\uDE00\\ud800"}`));
    const { sessionId, content } = JSON.parse(record);
    assert.equal([sessionId, content], ["s\ufffd", { input: "\ufffd" }]);
  }],
  ["NUL survives in every string, and a session id with one can be searched for", async (target) => {
    const body = { ...goodBody, sessionId: "a\0b", content: { input: "\0", output: "x\0y" } };
    isRecorded(await submit(target, body));
    const [record] = await recordsOf(target, "&sessionId=a%00b");
    assert.equal([record?.sessionId, record?.content], [body.sessionId, body.content]);
  }],
  ["members that the specification does not name are stored and returned", async (target) => {
    const parts = ['"content":{"input":"i","extra":1.0}', '"tags":["a"]', '"cost":0.10', '"__proto__":{"x":1}'];
    isRecorded(await submit(target, `{"sessionId":"s","status":0,${parts.join()}}`));
    const record = await newestRecord(target);
    for (const part of parts) assert.ok(record.includes(part), part);
  }],
  ["a member whose name the service uses itself is returned in submitted", async (target) => {
    const submitted = { id: "mine", createdAt: 1, submitted: true, keyId: "mine", statusName: "mine" };
    const id = isRecorded(await submit(target, { ...goodBody, ...submitted }));
    const record = JSON.parse(await newestRecord(target));
    assert.equal([record.id, record.promptVersion, record.submitted], [id, 1, submitted]);
  }],
  ["if a member is repeated, the last one wins", async (target) => {
    isRecorded(await submit(target, withMember('"x":1,"sessionId":"last","x":2')));
    const { sessionId, x } = JSON.parse(await newestRecord(target));
    assert.equal([sessionId, x], ["last", 2]);
  }],
  ["1,000 nested levels are stored and returned", async (target) => {
    const levels = [10, 997, 998, 999].map((depth) => `${'{"b":'.repeat(depth)}1${"}".repeat(depth)}`);
    for (const text of [...levels, `{"a":${"[".repeat(998)}${"]".repeat(998)}}`]) {
      isRecorded(await submit(target, withProperties(text)));
      assert.ok((await newestRecord(target)).includes(`"additional_properties":${text}`));
    }
  }],
  ...Object.entries(latencies).map(([sent, stored]): Case => [
    `POST stores a latency of ${sent} as ${stored}`,
    async (target) => {
      isRecorded(await submit(target, withMember(`"latency":${sent}`)));
      assert.match(await newestRecord(target), `"latency":${stored},`);
    },
  ]),
  ...accepted.map(([name, body]): Case => [
    `POST accepts ${name}`,
    async (target) => void isRecorded(await submit(target, body)),
  ]),
  ["a body may come in chunks, and with any content type or none", async (target) => {
    isRecorded(await submit(target, goodBody, { chunkSize: 10 }));
    for (const type of [[], ["Content-Type: text/plain"], ["Content-Type: application/x-www-form-urlencoded"]]) {
      isRecorded(await submit(target, goodBody, { headers: [bearer(target.key), ...type] }));
    }
  }],
];
