// Generated requests, most of them wrong: never a crash or a 5xx, a refusal always says why, and whatever is accepted
// can be read back as it was sent. The seed is fixed, so a failure can be repeated.
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { listDiagnoses, verify } from "../../src/admin/records.ts";
import { stringify } from "../../src/json-text.ts";
import { createWorld, goodBody } from "../helpers.ts";
import type { Answer, World } from "../helpers.ts";

const test = suite("malformed requests");

const seed = 20261115;

/** JSON text as it is sent, and as it must come back: they differ in lone surrogates only. */
type Sent = { text: string; back: string };

const same = (text: string): Sent => ({ text, back: text });
const join = (parts: Sent[], separator: string, open: string, close: string): Sent => ({
  text: open + parts.map(({ text }) => text).join(separator) + close,
  back: open + parts.map(({ back }) => back).join(separator) + close,
});

const loneSurrogates: Sent[] = ["\\ud800", "\\uDBFF", "\\udc00", "\\uDfFf"].map((text) => ({ text, back: "\\ufffd" }));
const characters = [
  "a",
  "é",
  "😀",
  "\u2028",
  "\u007f",
  "\\u0000",
  "\\n",
  '\\"',
  "\\\\",
  "\\/",
  "\\ud83d\\ude00",
  "{",
  "]",
  ",",
  ":",
];
const character = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...characters.map(same)) },
  { weight: 1, arbitrary: fc.constantFrom(...loneSurrogates) },
);
// Two lone surrogates side by side could make a pair, so a dot stands between characters.
const string = fc.array(character, { maxLength: 5 }).map((parts) => join(parts, ".", '"', '"'));
const key = fc.oneof(
  string,
  fc.constantFrom(...['""', '"__proto__"', '"constructor"', '"1"', '"same"', '"toString"'].map(same)),
);
const scalar = fc.constantFrom(
  ...[
    "null",
    "true",
    "0",
    "-0",
    "-0.0",
    "1.0",
    "1e999",
    "-1e-999",
    "9007199254740993",
    "12345678901234567890",
    "0.1000",
  ].map(same),
);
const space = fc.constantFrom("", " ", "\n\t");

const { value } = fc.letrec<{ value: Sent; array: Sent; object: Sent }>((tie) => ({
  value: fc.oneof({ maxDepth: 4, depthSize: "small" }, scalar, string, tie("array"), tie("object")),
  array: fc.tuple(fc.array(tie("value"), { maxLength: 4 }), space).map(([items, gap]) =>
    join(items, `,${gap}`, "[", "]")
  ),
  object: fc.tuple(fc.array(fc.tuple(key, tie("value")), { maxLength: 4 }), space).map(([members, gap]) =>
    join(members.map((member) => join(member, `${gap}:`, "", "")), `${gap},`, "{", "}")
  ),
}));
const object = value.filter(({ text }) => text.startsWith("{"));
const deep = fc.integer({ min: 10, max: 997 }).map((depth) => same(`{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`));

async function newestRecord({ admin, deployId }: World): Promise<string> {
  return stringify((await listDiagnoses(admin, { deployId }, { limit: 1 })).items[0]);
}

test("any additional_properties are accepted, and come back as they were sent", async () => {
  const world = await createWorld({ monthlyLimit: 1e9, maxBodyBytes: 1024 * 1024 });
  const properties = fc.oneof({ weight: 30, arbitrary: object }, { weight: 1, arbitrary: deep });
  await fc.assert(
    fc.asyncProperty(properties, string, string, async (properties, sessionId, output) => {
      const content = `{"output":${output.text}}`;
      const body =
        `{"sessionId":${sessionId.text},"status":1,"content":${content},"additional_properties":${properties.text}}`;
      const { status, text } = await world.submit(body);
      assert.is(status, 201, text);
      const record = await newestRecord(world);
      assert.ok(record.includes(`"additional_properties":${properties.back}`), properties.text);
      assert.ok(record.includes(`"content":{"output":${output.back}}`), output.text);
      assert.is(JSON.parse(record).sessionId, JSON.parse(sessionId.back));
    }),
    { seed, numRuns: 700 },
  );
  assert.ok((await verify(world.admin)).balanced);
});

function isCalm(world: World, { status, json, text }: Answer): void {
  assert.ok(status < 500, text);
  assert.equal(world.logged, []);
  if (status >= 400) assert.type((json as { error: unknown }).error, "string");
}

const good = JSON.stringify({
  ...goodBody,
  latency: 1.5,
  startAt: 1,
  endAt: 2,
  additional_properties: { a: [1, { b: "c" }] },
});
const fieldNames = ["sessionId", "status", "content", "latency", "startAt", "endAt", "additional_properties", "extra"];

/** A good body in which a member has any value, or which is cut, mixed up or no text at all. */
const wrongBody = fc.oneof(
  fc.tuple(fc.constantFrom(...fieldNames), value).map(([name, { text }]) => `${good.slice(0, -1)},"${name}":${text}}`),
  fc.tuple(fc.constantFrom("input", "output", "x"), value).map(([name, { text }]) =>
    `{"sessionId":"s","status":1,"content":{"${name}":${text}}}`
  ),
  value.map(({ text }) => text),
  fc.nat({ max: good.length }).map((length) => good.slice(0, length)),
  fc.tuple(fc.nat({ max: good.length - 1 }), fc.constantFrom(...'{}[]",:\\0x\0')).map(([at, char]) =>
    good.slice(0, at) + char + good.slice(at + 1)
  ),
  fc.string({ unit: "binary" }),
  fc.uint8Array({ maxLength: 200 }),
  fc.integer({ min: 10, max: 100_000 }).map((depth) => "[".repeat(depth)),
);

test("whatever the body is, the answer is a 201 that can be read back or a refusal that says why", async () => {
  const world = await createWorld({ monthlyLimit: 1e9, maxBodyBytes: 1024 * 1024 });
  const headers = { Authorization: `Bearer ${world.key}` };
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(wrongBody, async (body) => {
      const init = { method: "POST", headers, body: body as RequestInit["body"] ?? null };
      const answer = await world.send(`/v1/diagnosis?deployId=${world.deployId}`, init);
      isCalm(world, answer);
      if (answer.status !== 201) return;
      accepted++;
      assert.is(JSON.parse(await newestRecord(world)).id, (answer.json as { id: string }).id);
    }),
    { seed, numRuns: 1000 },
  );
  assert.is((await listDiagnoses(world.admin, { deployId: world.deployId }, { limit: 1e6 })).items.length, accepted);
  assert.ok((await verify(world.admin)).balanced);
});

const headerText = fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)) });
const queryText = fc.oneof(
  fc.string({ unit: "binary" }).map((text) => `deployId=${encodeURIComponent(text.toWellFormed())}`),
  fc.string().map((text) => text.replaceAll("#", "")),
  fc.constantFrom(
    "deployId",
    "deployId=%",
    "deployId=%ff%00",
    "=&=",
    "deployId[]=1",
    "DEPLOYID=1",
    "deployId=1;deployId=2",
  ),
);
const authorization = fc.oneof(
  headerText,
  headerText.map((text) => `Bearer ${text}`),
  fc.string({ minLength: 49, maxLength: 49 }).map((text) => `Bearer pl_${text}`),
).filter((text) => {
  try {
    return new Headers({ text }).has("text");
  } catch {
    return false;
  }
});
const method = fc.constantFrom("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS");
const path = fc.oneof(fc.constantFrom("/v1/prompts", "/v1/diagnosis", "/v1/prompts/", "//v1/prompts"), fc.webPath());

test("whatever method, path, query and Authorization are, the answer is a refusal that says why", async () => {
  const world = await createWorld();
  await fc.assert(
    fc.asyncProperty(method, path, queryText, authorization, async (method, path, query, authorization) => {
      const key = `Bearer ${world.key}`;
      for (const Authorization of [authorization, key]) {
        const answer = await world.send(`${path}?${query}`, { method, headers: { Authorization } });
        isCalm(world, method === "HEAD" ? { ...answer, json: { error: "" } } : answer);
        assert.ok(answer.status >= 400);
      }
    }),
    { seed, numRuns: 700 },
  );
});

test.run();
