// Structs, which describe every body, query and response.
// Runs on Node alone.
import { string } from "superstruct";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { jsonText } from "../../src/common/json-text.ts";
import { readObject } from "../../src/schema/parse.ts";
import { check, listOf, named, object, optional, rawJson, schemaOf } from "../../src/schema/struct.ts";
import { text } from "../../src/schema/values.ts";

const test = suite("structs");

test("a struct that another module made is refused everywhere", () => {
  const foreign = string();
  const uses: Record<string, () => unknown> = {
    check: () => check(foreign, "text"),
    schemaOf: () => schemaOf({}),
    object: () => object({ member: foreign }),
    listOf: () => listOf(foreign),
    optional: () => optional(foreign),
    named: () => named("Name", foreign),
    rawJson: () => rawJson(foreign),
  };
  for (const [name, use] of Object.entries(uses)) assert.throws(use, "Not a struct made by schema/struct.ts", name);
});

test("a rawJson member may be a value or its JSON text", () => {
  const struct = object({ items: rawJson(listOf(text)) });
  const input = { items: jsonText('["a"]') };
  assert.is(check(struct, input), input);
  check(struct, { items: ["a"] });
  assert.throws(() => check(struct, { items: [1] }), "Field items[0] must be a string");
  assert.equal(readObject(struct, '{ "items": [ "\\u0061" ] }').items.text, '["\\u0061"]');
});

test.run();
