// Runs on every runtime in CI.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import {
  compact,
  indent,
  isSameNumber,
  jsonText,
  makeWellFormed,
  mapStrings,
  normalizeNumber,
  readItems,
  readMembers,
  readValue,
  stringify,
} from "../../src/common/json-text.ts";
import { cutDeeper, isDeeper } from "../../src/common/json-scan.ts";
import { isJson } from "./is-json.ts";

const test = suite("json-text");

const anyText = fc.string({ unit: "binary" });
const anyObject = fc.dictionary(anyText, fc.jsonValue({ stringUnit: "binary" }));
const spaces = fc.constantFrom("", " ", "\n\t", "\r\n  ");

/** JSON text with tokens that JSON.stringify would not write, and white space anywhere; no object repeats a key. */
const { anyJson } = fc.letrec<{ anyJson: string; string: string }>((tie) => ({
  string: fc.oneof(
    anyText.map((value) => JSON.stringify(value)),
    fc.constantFrom('"\\u00e9"', '"\\/"', '"\\ud83d"', '"a:[,"', '"\\"]}"', '"__proto__"', '"2"', '"1"', '""'),
  ),
  anyJson: fc.tuple(
    spaces,
    fc.oneof(
      { maxDepth: 9, depthSize: "medium" },
      fc.oneof(
        tie("string"),
        fc.constantFrom("1.0", "1", "-0", "-0.10", "1e400", "12345678901234567890", "true", "false", "null"),
      ),
      fc.array(tie("anyJson"), { maxLength: 4 }).map((items) => `[${items.join(",") || " "}]`),
      fc.uniqueArray(fc.tuple(spaces, tie("string"), spaces, tie("anyJson")), {
        maxLength: 4,
        selector: ([, key]) => JSON.parse(key),
      })
        .map((members) => `{${members.map(([a, key, b, value]) => `${a}${key}${b}:${value}`).join(",") || "\n"}}`),
    ),
    spaces,
  ).map((parts) => parts.join("")),
}));

const nested = (depth: number, inner = "") => `${"[".repeat(depth)}${inner}${"]".repeat(depth)}`;

test("the members of an object are the texts that JSON.parse reads them from", () => {
  fc.assert(fc.property(anyObject, fc.constantFrom(undefined, 1, "\t"), (value, indent) => {
    const members = readMembers(JSON.stringify(value, null, indent));
    const parsed = Object.fromEntries([...members].map(([key, text]) => [key, JSON.parse(text)]));
    assert.is(JSON.stringify(parsed), JSON.stringify(value));
  }));
  assert.is(readMembers(" {\n} ").size, 0);
});

test("what is nested too deep is cut to a text that is as deep as allowed, and nothing else is", () => {
  fc.assert(fc.property(fc.array(anyJson, { minLength: 1 }), fc.integer({ min: 2, max: 6 }), (items, levels) => {
    const text = `[${items.join(",")}]`, cut = cutDeeper(text, levels);
    assert.ok(isJson(cut) && !isDeeper(cut, levels));
    for (const [index, item] of readItems(cut).entries()) {
      const own = items[index]!.trim();
      if (isDeeper(own, levels - 1)) assert.ok(isDeeper(item, levels - 2));
      else assert.is(item, own);
    }
  }));
  assert.is(cutDeeper(nested(1_000_000), 2), "[[0]]");
  assert.is(cutDeeper("[".repeat(1_000_000), 2), "[[0");
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

test("depth costs no stack", () => {
  const deep = nested(100_000);
  assert.is(readMembers(`{"a":${deep}}`).get("a"), deep);
  assert.ok(readItems(`[1,${deep}]`)[1] === deep);
  assert.ok(stringify(readValue(deep)) === deep);
  assert.ok(compact(indent(deep)) === deep);
  assert.ok(mapStrings(deep, () => "0") === deep);
});

test("isDeeper counts the levels of arrays and objects, and no brackets in strings", () => {
  for (const levels of [1, 2, 1000]) {
    assert.equal([isDeeper(nested(levels), levels), isDeeper(nested(levels + 1), levels)], [false, true]);
  }
  assert.is(isDeeper(`[${"[],{},".repeat(2000)}0]`, 2), false);
  assert.is(isDeeper(`["${"[{".repeat(2000)}\\"[["]`, 1), false);
  assert.is(isDeeper("[".repeat(2000), 1000), true);
  assert.is(isDeeper("1", 0), false);
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

test("the items of an array are the texts that JSON.parse reads them from", () => {
  fc.assert(fc.property(fc.array(fc.jsonValue()), fc.constantFrom(undefined, 1, "\t"), (value, indent) => {
    const items = readItems(JSON.stringify(value, null, indent));
    assert.is(JSON.stringify(items.map((item) => JSON.parse(item))), JSON.stringify(value));
  }));
  assert.equal(readItems(' [ 1.0,[2 ],"]," , {"a":[]},1e400]'), ["1.0", "[2 ]", '"],"', '{"a":[]}', "1e400"]);
  assert.equal(readItems("[\n]"), []);
});

test("indent lays JSON out as JSON.stringify does", () => {
  fc.assert(fc.property(fc.jsonValue({ stringUnit: "binary" }), spaces, (value, space) => {
    const text = JSON.stringify(value, null, space || undefined);
    assert.is(indent(text), JSON.stringify(JSON.parse(text), null, 2));
  }));
});

test("indent keeps every token, so that compact undoes it", () => {
  fc.assert(fc.property(anyJson, (text) => assert.is(compact(indent(text)), compact(text))));
  assert.is(
    indent('{"b":1.0,"a":[1e400,{ },[ ]],"b":"\\u00e9: {,"}'),
    '{\n  "b": 1.0,\n  "a": [\n    1e400,\n    {},\n    []\n  ],\n  "b": "\\u00e9: {,"\n}',
  );
});

test("what is nested deeper than 32 levels is not indented, so that layout does not outgrow its text", () => {
  assert.is(indent(nested(32, "0")), JSON.stringify(JSON.parse(nested(32, "0")), null, 2));
  assert.match(indent(nested(34, " 0 ")), `\n${"  ".repeat(32)}[[0]]\n`);
  assert.ok(indent(nested(100_000)).length < 300_000);
});

test("what readValue reads is written again as it was, but for white space and how keys are spelled", () => {
  const tokens = (text: string) =>
    text.match(/"(?:[^"\\]|\\.)*"(\s*:)?|[^\s"]/g)?.filter((token) => !/"\s*:$/.test(token));
  fc.assert(
    fc.property(anyJson, (text) => {
      const written = stringify(readValue(text));
      assert.equal(tokens(written), tokens(text));
      assert.is(JSON.stringify(JSON.parse(written)), JSON.stringify(JSON.parse(text)));
    }),
    { numRuns: 1000 },
  );
});

test("readValue gives plain values where they say the same as their text", () => {
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 5, stringUnit: "binary" }), (value) => {
    const text = JSON.stringify(value);
    if (!/"\d+":/.test(text)) assert.is(JSON.stringify(readValue(text)), text);
  }));
  const read = readValue(' { "a": [1, 1.0, -0, "\\u00e9", "é", null], "b": 1e400, "c": 12345678901234567890 } ');
  assert.equal(read, {
    a: [1, jsonText("1.0"), jsonText("-0"), jsonText('"\\u00e9"'), "é", null],
    b: jsonText("1e400"),
    c: jsonText("12345678901234567890"),
  });
});

test("readValue leaves an object in which a key is repeated, unless that is the whole", () => {
  assert.equal(readValue('{"a":{"b":1,"b":2},"c":{"d":{"e":1,"\\u0065":2}}}'), {
    a: jsonText('{"b":1,"b":2}'),
    c: { d: jsonText('{"e":1,"\\u0065":2}') },
  });
  assert.equal(readValue('[{"a":1,"a":1}]'), [jsonText('{"a":1,"a":1}')]);
});

/** An integer as it is written: beyond 2^53 that has fewer digits of its own than the double. */
function writtenOut(number: number): bigint {
  const [, whole = "", fraction = "", exponent = "0"] = /^(-?\d+)(?:\.(\d+))?(?:e\+(\d+))?$/.exec(String(number))!;
  return BigInt(whole + fraction) * 10n ** BigInt(Number(exponent) - fraction.length);
}

test("isSameNumber tells whether a double says the same as a text", () => {
  const texts = [
    ...["0", "-0", "0.0e7", "1", "1.0", "100", "1e2", "1.50", "0.1", "5e-324", "1e300", "-12.50e-3", "0.00012e4"],
  ];
  for (const text of texts) assert.ok(isSameNumber(text, JSON.parse(text)), text);
  for (
    const text of [
      "9007199254740990.6",
      "9007199254740993",
      "12345678901234567890",
      "1e-400",
      "-1e-400",
      "0.10000000000000001",
    ]
  ) {
    assert.not.ok(isSameNumber(text, JSON.parse(text)), text);
  }
  fc.assert(fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
    for (const text of [String(number), number.toExponential(), `${String(number).replace("e+", "e")}`]) {
      assert.ok(isSameNumber(text, number), text);
    }
  }));
  assert.ok(isSameNumber("-30023997515803310", -30023997515803310));
  for (const text of ["5", "5.0", "5.5"]) assert.not.ok(isSameNumber(text, 6), text);
  fc.assert(fc.property(fc.bigInt(), fc.nat(9), (integer, fraction) => {
    const text = `${integer}.${fraction}`;
    const number = Number(text);
    assert.is(
      isSameNumber(text, number),
      Number.isInteger(number) ? fraction === 0 && writtenOut(number) === integer : String(number) === text,
    );
  }));
  const zeros = "0".repeat(2_000_000);
  assert.ok(isSameNumber(`${zeros}1${zeros}e-2000000`, 1));
});

test("normalizeNumber writes a number as JSON.stringify does, unless that would change its value", () => {
  for (const text of ["0", "-0", "1.0", "1e2", "-12.50e-3", "123456789012345", "1234567890123456", "840.5"]) {
    assert.is(normalizeNumber(text), JSON.stringify(JSON.parse(text)));
  }
  for (const text of ["9007199254740993", "0.10000000000000001", "1e-400"]) {
    assert.is(normalizeNumber(text), text);
  }
});

test("readValue makes __proto__ a member, and keeps the last of a repeated key", () => {
  const read = readValue('{"a":1,"__proto__":{"b":2},"a":3}') as Record<string, unknown>;
  assert.equal(Object.entries(read), [["__proto__", { b: 2 }], ["a", 3]]);
  assert.is(Object.getPrototypeOf(read), Object.prototype);
});

test("readValue leaves an object whose keys a plain one would put in order", () => {
  assert.equal(readValue('{"x":{"2":"a","1":[1.0]}}'), { x: jsonText('{"2":"a","1":[1.0]}') });
  assert.equal(readValue('[{"a":1,"0":2}]'), [jsonText('{"a":1,"0":2}')]);
  assert.equal(readValue('{"01":1,"-1":2,"1.5":3}'), { "01": 1, "-1": 2, "1.5": 3 });
});

test("readValue reads 6 levels and leaves what is deeper", () => {
  assert.equal(readValue(nested(6, "1")), [[[[[[1]]]]]]);
  assert.equal(readValue(nested(7, " 1 ")), [[[[[[jsonText("[ 1 ]")]]]]]]);
});

test("mapStrings reaches every string but the keys, and touches nothing else", () => {
  fc.assert(fc.property(anyJson, (text) => {
    assert.is(mapStrings(text, (string) => string), text);
    const strings: string[] = [];
    const replaced = mapStrings(text, (string) => {
      strings.push(string);
      return "0";
    });
    const withoutStrings = JSON.parse(text, (_key, value) => typeof value === "string" ? 0 : value);
    assert.is(JSON.stringify(JSON.parse(replaced)), JSON.stringify(withoutStrings));
    for (const string of strings) assert.type(JSON.parse(string), "string");
  }));
  assert.is(mapStrings('{"a" : "b\\"", "c":[ "d"]}', (string) => `<${string}>`), '{"a" : <"b\\"">, "c":[ <"d">]}');
});

test.run();
