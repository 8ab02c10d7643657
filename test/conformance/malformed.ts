// Generates what clients send by mistake or on purpose: JSON of every kind, bodies, queries and headers.
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { goodBody } from "../helpers.ts";

/** JSON text as sent, and as it must be returned. Only lone surrogates differ. */
export type Sent = { text: string; back: string };

const same = (text: string): Sent => ({ text, back: text });
const join = (parts: Sent[], separator: string, open: string, close: string): Sent => ({
  text: open + parts.map(({ text }) => text).join(separator) + close,
  back: open + parts.map(({ back }) => back).join(separator) + close,
});

const loneSurrogates: Sent[] = ["\\ud800", "\\uDBFF", "\\udc00", "\\uDfFf"].map((text) => ({ text, back: "\\ufffd" }));
const characters = [
  ...["a", "é", "😀", "\u2028", "\u007f", "\\u0000", "\\n", '\\"', "\\\\", "\\/", "\\ud83d\\ude00", "{", "]", ",", ":"],
];
const character = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...characters.map(same)) },
  { weight: 1, arbitrary: fc.constantFrom(...loneSurrogates) },
);
// Two adjacent lone surrogates could make a pair, so dots separate the characters.
const string = fc.array(character, { maxLength: 5 }).map((parts) => join(parts, ".", '"', '"'));
const key = fc.oneof(
  string,
  fc.constantFrom(...['""', '"__proto__"', '"constructor"', '"1"', '"same"', '"toString"'].map(same)),
);
const scalar = fc.constantFrom(
  ...[
    ...["null", "true", "false", "0", "-0", "-1", "1.5", "1e3", "-0.0", "1.0", "1e999", "-1e-999", "9007199254740991"],
    ...["-9007199254740992", "9007199254740993", "12345678901234567890", "0.1000", "9007199254740990.6"],
    ...["1e-999", "-0e5", "1E+2", "1.00000000000000000001", "0.99999999999999999999"],
    ...["1.7e308", "1.7976931348623157e308", "5e-324", "8640000000000001"],
  ].map(same),
);
const space = fc.constantFrom("", " ", "\n\t");

export const { value } = fc.letrec<{ value: Sent; array: Sent; object: Sent }>((tie) => ({
  value: fc.oneof({ maxDepth: 4, depthSize: "small" }, scalar, string, tie("array"), tie("object")),
  array: fc.tuple(fc.array(tie("value"), { maxLength: 4 }), space).map(([items, gap]) =>
    join(items, `,${gap}`, "[", "]")
  ),
  object: fc.tuple(fc.array(fc.tuple(key, tie("value")), { maxLength: 4 }), space).map(([members, gap]) =>
    join(members.map((member) => join(member, `${gap}:`, "", "")), `${gap},`, "{", "}")
  ),
}));
export const object = value.filter(({ text }) => text.startsWith("{"));

// Bodies with more than 1,000 levels are refused. A member of a body begins on the second level.
const depth = fc.oneof(
  { weight: 2, arbitrary: fc.integer({ min: 10, max: 990 }) },
  { weight: 3, arbitrary: fc.integer({ min: 991, max: 1_010 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1_000, max: 100_000 }) },
);
export const deepOrTooDeep = depth.map((depth) => same(`{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`));

const good = JSON.stringify({
  ...goodBody,
  latency: 1.5,
  startAt: 1,
  endAt: 2,
  additional_properties: { a: [1, { b: "c" }] },
});
const fieldNames = [
  ...["sessionId", "status", "content", "latency", "startAt", "endAt", "additional_properties"],
  ...["extra", "id", "promptVersion", "createdAt", "submitted", "__proto__", "session\\u0049d", "\\udc00"],
];
// Overlong, a surrogate, beyond Unicode, cut off, alone.
const badUtf8 = [[0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82], [0x80], [0xff]];

/** A good body in which a member has any value, or a body that is cut, changed, or no text at all. */
export const wrongBody: fc.Arbitrary<string | Uint8Array> = fc.oneof(
  fc.tuple(fc.constantFrom(...fieldNames), value).map(([name, { text }]) => `${good.slice(0, -1)},"${name}":${text}}`),
  fc.tuple(fc.constantFrom("input", "output", "x"), value).map(([name, { text }]) =>
    `{"sessionId":"s","status":1,"content":{"${name}":${text}}}`
  ),
  value.map(({ text }) => text),
  fc.nat({ max: good.length }).map((length) => good.slice(0, length)),
  fc.tuple(fc.nat({ max: good.length - 1 }), fc.constantFrom(...'{}[]",:\\0x\0')).map(([at, char]) =>
    good.slice(0, at) + char + good.slice(at + 1)
  ),
  fc.tuple(fc.nat({ max: good.length }), fc.constantFrom(...badUtf8)).map(([at, bytes]): Uint8Array =>
    Buffer.concat([Buffer.from(good.slice(0, at)), Buffer.from(bytes), Buffer.from(good.slice(at))])
  ),
  fc.constantFrom("\ufeff", "\ufeff\ufeff", "\u00a0", " ", "\n\n", "//", "\0").map((start) => start + good),
  fc.constantFrom("utf16le", "latin1").map((encoding): Uint8Array => Buffer.from(good.replace("Hi", "Hé"), encoding)),
  fc.string({ unit: "binary" }),
  fc.uint8Array({ maxLength: 200 }),
  depth.map((depth) => "[".repeat(depth)),
);

export const headerText = fc.string({
  unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)),
});
export const queryText = fc.oneof(
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
export const authorization = fc.oneof(
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
export const method = fc.constantFrom("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS");
// Without the root, which needs no key. `/.` is the root too.
export const path = fc.oneof(
  fc.constantFrom("/v1/prompts", "/v1/diagnosis", "/v1/prompts/", "//v1/prompts"),
  fc.webPath().filter((path) => /[^/]/.test(new URL(`http://ledger.test${path}`).pathname)),
);
