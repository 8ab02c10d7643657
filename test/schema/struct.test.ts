// The vocabulary of structs: what every body, query and answer is described with.
import { string } from "superstruct";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { check, listOf, named, object, optional, rawJson, schemaOf } from "../../src/schema/struct.ts";

const test = suite("structs");

test("a struct that this vocabulary did not make is refused, wherever it stands", () => {
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

test.run();
