// Where text stops being JSON: the position, and agreement with JSON.parse.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { describeJsonFault } from "../../src/support/json-fault.ts";
import { isJson } from "./is-json.ts";

const test = suite("faults in JSON");

const faults: [name: string, text: string, fault: string][] = [
  ["an empty text", "", "line 1, column 1: expected a value, found the end of the text"],
  ["white space", " \n ", "line 2, column 2: expected a value, found the end of the text"],
  [
    "a trailing comma in an object",
    '{\n  "a": 1,\n}',
    "line 3, column 1: expected a name in double quotes, found }: remove the comma before it",
  ],
  ["a trailing comma in an array", "[1, ]", "line 1, column 5: expected a value, found ]: remove the comma before it"],
  ["a missing comma", '{"a": 1\n "b": 2}', 'line 2, column 2: expected , or }, found "'],
  ["a missing colon", '{"a" 1}', "line 1, column 6: expected : after a name, found 1"],
  [
    "a raw line break in a string",
    '{"a": "שלום 👋\nb"}',
    'line 1, column 14: found a line break in a string: write \\n, or end the string with "',
  ],
  ["a tab in a string", '["\t"]', "line 1, column 3: found a control character in a string: write \\t"],
  [
    "an unknown escape",
    '["C:\\dir"]',
    "line 1, column 5: found an unknown escape in a string: write a backslash as \\\\",
  ],
  ["a string that does not end", '["a', 'line 1, column 2: found a string without its closing "'],
  ["YAML", "title: Hello\n", "line 1, column 1: expected a value, found t"],
  ["single quotes", "{'a': 1}", "line 1, column 2: expected a name in double quotes, found '"],
  ["a comment", '{\r\n// why\r\n"a": 1}', "line 2, column 1: expected a name in double quotes, found /"],
  ["text after the end", "{} {}", "line 1, column 4: expected the end of the text, found {"],
  ["the wrong bracket", "[1}", "line 1, column 3: expected , or ], found }"],
  ["a number that JSON does not have", "[01]", "line 1, column 2: expected a value, found 0"],
];

for (const [name, text, fault] of faults) {
  test(`finds ${name}`, () => assert.is(describeJsonFault(text), fault));
}

test("finds a fault exactly where JSON.parse refuses a text", () => {
  const source = '{"a":[1,-2.5e+3,"x\\n\\u00e9",true,null,{}],"b":{"c":[],"d":false}, "e" : 0}';
  const characters = [...'{}[]:,"\\ \n\t0159-+.eEtfnulxa\u0000é'];
  let state = 1;
  const next = (below: number) => (state = (state * 48271) % 2147483647) % below;
  for (let round = 0; round < 20_000; round++) {
    let text = source;
    for (let changes = 1 + next(3); changes > 0; changes--) {
      const at = next(text.length + 1);
      text = text.slice(0, at) + (next(3) === 0 ? "" : characters[next(characters.length)]) + text.slice(at + next(2));
    }
    assert.is(describeJsonFault(text) === undefined, isJson(text), JSON.stringify(text));
  }
});

test("nesting of any depth is read", () => {
  assert.is(describeJsonFault("[".repeat(100_000) + "]".repeat(100_000)), undefined);
});

test.run();
