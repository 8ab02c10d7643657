// The schemas of tools have what every client, validator and provider of models takes, and nothing else.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createWorld } from "../helpers.ts";
import { createAgent } from "./agent.ts";

const test = suite("MCP: schemas");

type Schema = Record<string, unknown>;
type Tool = { name: string; description: string; inputSchema: Schema; outputSchema: Schema };

const { tools } = await createAgent(await createWorld()).request("tools/list") as unknown as { tools: Tool[] };

/** Each schema in a schema, with its path and its level. */
function* walk(schema: Schema, path: string, level = 1): Generator<[schema: Schema, path: string, level: number]> {
  yield [schema, path, level];
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    yield* walk(member as Schema, `${path}.${name}`, level + 1);
  }
  if (schema.items !== undefined) yield* walk(schema.items as Schema, `${path}[]`, level + 1);
}

const inputs = tools.flatMap(({ name, inputSchema }) => [...walk(inputSchema, `${name} input`)]);
const outputs = tools.flatMap(({ name, outputSchema }) => [...walk(outputSchema, `${name} output`)]);

/** Runs a check on every schema, whose failures name it. */
const everywhere = (name: string, schemas: typeof inputs, check: (schema: Schema, level: number) => void) =>
  test(name, () => {
    assert.ok(schemas.length > 50);
    for (const [schema, path, level] of schemas) {
      try {
        check(schema, level);
      } catch (error) {
        throw new Error(`${path}: ${(error as Error).message}: ${JSON.stringify(schema)}`, { cause: error });
      }
    }
  });

const keywords = ["type", "properties", "required", "items", "enum", "description"];
const types = ["object", "array", "string", "integer", "number", "boolean"];

// Gemini refuses a request, with all tools in it, for one keyword more, a list of types or an object without members. Validators in
// Python fail for patterns of JavaScript.
everywhere("they have six keywords, and one type at most", [...inputs, ...outputs], (schema) => {
  assert.equal(Object.keys(schema).filter((keyword) => !keywords.includes(keyword)), []);
  if ("type" in schema) assert.ok(types.includes(schema.type as string));
  else assert.equal(Object.keys(schema), ["description"]);
});

everywhere("keywords stand beside the type to which they belong", [...inputs, ...outputs], (schema) => {
  const { type, properties, required, items, enum: texts } = schema;
  assert.is(properties !== undefined, type === "object");
  assert.is(items !== undefined, type === "array");
  if (type === "object") assert.ok(Object.keys(properties as object).length > 0);
  if (required !== undefined) {
    assert.ok((required as string[]).length > 0);
    assert.equal((required as string[]).filter((name) => !Object.hasOwn(properties as object, name)), []);
  }
  if (texts !== undefined) {
    assert.is(type, "string");
    assert.ok((texts as unknown[]).length > 0 && (texts as unknown[]).every((text) => typeof text === "string"));
  }
});

everywhere("every input has a type", inputs, (schema) => assert.ok("type" in schema));

everywhere("none is deep, and descriptions are no essays", [...inputs, ...outputs], ({ description = "-" }, level) => {
  assert.ok(level <= 5);
  assert.ok(typeof description === "string" && description !== "" && description.length <= 600);
});

everywhere("members have plain names", [...inputs, ...outputs], ({ properties = {} }) => {
  for (const name of Object.keys(properties as object)) assert.match(name, /^[A-Za-z_]\w{0,63}$/);
});

test("names are short also with what clients put before them, and plain for every provider", () => {
  for (const { name, description } of tools) {
    assert.match(name, /^[a-z][a-z_]*$/);
    assert.ok(`mcp__promptledger-production__${name}`.length <= 64, name);
    assert.ok(description.length <= 1_000, name);
  }
});

test("all tools together take little of a model's context", () => {
  const bytes = new TextEncoder().encode(JSON.stringify(tools)).length;
  assert.ok(bytes <= 48_000, `${bytes} bytes`);
});

test.run();
