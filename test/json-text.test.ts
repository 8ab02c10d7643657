import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { compact, jsonText, makeWellFormed, readMembers, stringify } from "../src/json-text.ts";

const test = suite("json-text");

const anyText = fc.string({ unit: "binary" });
const anyObject = fc.dictionary(anyText, fc.jsonValue({ stringUnit: "binary" }));
const spaces = fc.constantFrom("", " ", "\n\t", "\r\n  ");

test("the members of an object are the texts that JSON.parse reads them from", () => {
  fc.assert(fc.property(anyObject, fc.constantFrom(undefined, 1, "\t"), (value, indent) => {
    const members = readMembers(JSON.stringify(value, null, indent));
    const parsed = Object.fromEntries([...members].map(([key, text]) => [key, JSON.parse(text)]));
    assert.is(JSON.stringify(parsed), JSON.stringify(value));
  }));
});

test("a member's text keeps every digit, its spaces and its order", () => {
  const text = ' { "a" : [1.0, 12345678901234567890,{"b":1e400}] ,"":-0.10 , "__proto__":{"z":1,"a":2} } ';
  assert.equal([...readMembers(text)], [
    ["a", '[1.0, 12345678901234567890,{"b":1e400}]'],
    ["", "-0.10"],
    ["__proto__", '{"z":1,"a":2}'],
  ]);
});

test("of a repeated key the last member counts", () => {
  assert.equal([...readMembers('{"a":1,"b":2,"\\u0061":3}')], [["b", "2"], ["a", "3"]]);
});

test("brackets and quotes inside of strings are text", () => {
  const text = String.raw`{"a":"}\"]{","b\\":"\\","c":["\"]"]}`;
  assert.equal([...readMembers(text)], [["a", String.raw`"}\"]{"`], ["b\\", String.raw`"\\"`], [
    "c",
    String.raw`["\"]"]`,
  ]]);
});

test("an object without members has none", () => {
  assert.is(readMembers(" {\n} ").size, 0);
});

test("depth costs no stack", () => {
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  assert.is(readMembers(`{"a":${deep}}`).get("a"), deep);
});

test("makeWellFormed agrees with toWellFormed, and changes nothing else", () => {
  fc.assert(fc.property(fc.array(fc.constantFrom("\ud83d", "\ude00", "\\", '"', "u", "d83d", "é", "a")), (parts) => {
    const value = parts.join("");
    const text = JSON.stringify(value);
    assert.is(JSON.parse(makeWellFormed(text)), value.toWellFormed());
    if (value.isWellFormed()) assert.is(makeWellFormed(text), text);
  }));
});

test("makeWellFormed makes no JSON of what is none", () => {
  const parts = ["\\u", "d8", "D8", "00", "3d", "dc", "\\", '"', "z", "u", "\\ud83d", "\\ude00"];
  const isJson = (text: string) => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...parts), { maxLength: 8 }), (parts) => {
      const text = `"${parts.join("")}"`;
      assert.is(isJson(makeWellFormed(text)), isJson(text), text);
    }),
    { numRuns: 5000 },
  );
});

test("an escaped pair of surrogates stays as it was sent, in either case", () => {
  assert.is(makeWellFormed('"\\uD83D\\ude00"'), '"\\uD83D\\ude00"');
  assert.is(makeWellFormed('"\\uD83D\\n\\ude00"'), '"\\ufffd\\n\\ufffd"');
  assert.is(makeWellFormed('"\\\\ud83d"'), '"\\\\ud83d"');
});

test("compact takes out the white space between tokens and nothing else", () => {
  fc.assert(fc.property(anyObject, spaces, (value, space) => {
    const text = JSON.stringify(value);
    assert.is(compact(JSON.stringify(value, null, space || undefined)), text);
  }));
  assert.is(compact('{ "a b" : [ 1.0 , "  " ] }'), '{"a b":[1.0,"  "]}');
});

test("stringify writes JSON text where it stands, and else what JSON.stringify writes", () => {
  fc.assert(fc.property(anyObject, (value) => assert.is(stringify(value), JSON.stringify(value))));
  assert.is(stringify([{ a: jsonText("1.0"), b: undefined }, null]), '[{"a":1.0},null]');
});

test.run();
