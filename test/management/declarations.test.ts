// What a version declares of its variables.
// Runs on Node alone.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createWorld, promptFile } from "../helpers.ts";
import type { Answer, World } from "../helpers.ts";
import { refused, taken } from "./management.ts";

const test = suite("declarations of variables");

type Version = { version: number; isNew: boolean; declarations?: Record<string, unknown>; variables: string[] };

const push = (world: World, declarations: unknown, more: object = {}): Promise<Answer> =>
  world.manage("POST", "/prompts/greeting/versions", { ...promptFile, ...more, declarations });

const name = { type: "text", example: "Ada", required: false, description: "Who is greeted" };

test("a version keeps its declarations, and what is served has none", async () => {
  const world = await createWorld();
  const { version, isNew, declarations, variables } = taken<Version>(await push(world, { name }), 201);
  assert.equal([version, isNew, declarations, variables], [2, true, { name }, ["name"]]);
  assert.equal(taken<Version>(await world.manage("GET", "/prompts/greeting")).declarations, { name });
  assert.is(taken<Version>(await world.manage("GET", "/prompts/greeting/versions/1")).declarations, undefined);
  const { items } = taken<{ items: Version[] }>(
    await world.manage("GET", `/workspaces/${world.workspaceId}/prompt-contents?versions=all`),
  );
  assert.equal(items.map(({ declarations }) => declarations), [undefined, { name }]);
  taken(await world.manage("POST", "/deployments/greeting@production/promote", { version: 2 }));
  assert.not.match((await world.read()).text, "declarations");
});

test("a change of the declarations alone is a new version, and what declares nothing is as without any", async () => {
  const world = await createWorld();
  const pushed = async (declarations: unknown) => {
    const { isNew, version } = (await push(world, declarations)).json as Version;
    return `${isNew ? "new" : "same"} ${version}`;
  };
  assert.is(await pushed({}), "same 1");
  assert.is(await pushed({ name: { type: "text" } }), "new 2");
  assert.is(await pushed({ name: { type: "text" } }), "same 2");
  assert.is(await pushed({ name }), "new 3");
  assert.is(await pushed(undefined), "new 4");
  const { audit } = taken<{ audit: { differences: number } }>(await world.manage("GET", "/verify"));
  assert.is(audit.differences, 0);
  const { diff } = taken<{ diff: string }>(await world.manage("GET", "/prompts/greeting/diff?from=1&to=2"));
  assert.match(diff, /^\+--- variables$/m);
});

test("verify finds declarations that were changed in the database", async () => {
  const world = await createWorld();
  taken(await push(world, { name }), 201);
  await world.database.write([{ sql: `update prompt_versions set declarations = '{}' where version = 2` }]);
  const { audit } = taken<{ audit: { rows: object[] } }>(await world.manage("GET", "/verify"));
  assert.equal(audit.rows.map((row) => (row as { members: string[] }).members), [["content"]]);
});

test("a release set and a publication have declarations too, whose digits stay as they were sent", async () => {
  const world = await createWorld();
  const declarations = `{"a":{"type":"number","example":12345678901234567890.10}}`;
  const body = (more: object) =>
    JSON.stringify({ ...promptFile, ...more }).replace(/\}$/, `,"declarations":${declarations}}`);
  const published = await world.manage("POST", `/workspaces/${world.workspaceId}/publish`, body({ name: "a" }));
  assert.match(published.text, `"declarations":${declarations}`);
  const change = body({ name: "b", ifLatest: null });
  taken(await world.manage("POST", "/apply", `{"workspaceId":"${world.workspaceId}","prompts":[${change}]}`));
  assert.match((await world.manage("GET", "/prompts/b")).text, `"declarations":${declarations}`);
});

const long = (bytes: number) => ({ name: { type: "text", example: "x".repeat(bytes - 37) } });

const faults: [what: string, declarations: unknown, fault: string][] = [
  ["a list", [], "Field declarations must be an object"],
  ["a declaration that is none", { name: "text" }, "Field declarations.name must be an object"],
  ["no type", { name: {} }, "Missing required field declarations.name.type"],
  [
    "an unknown type",
    { name: { type: "string" } },
    "Field declarations.name.type must be one of text, number, boolean, messages",
  ],
  [
    "a name that no variable has",
    { "a b": { type: "text" } },
    "Field declarations.a b must be named with letters, digits, _ . $ and -",
  ],
  [
    "the example of another type",
    { n: { type: "number", example: "1" } },
    "Field declarations.n.example must be a number",
  ],
  [
    "messages without a role",
    { h: { type: "messages", example: [{ content: "" }] } },
    "Missing required field declarations.h.example[0].role",
  ],
  [
    "a text for required",
    { a: { type: "text", required: "no" } },
    "Field declarations.a.required must be true or false",
  ],
  [
    "a misspelt member",
    { a: { type: "text", exmple: "" } },
    "Unknown field declarations.a.exmple. Allowed: type, example, required, description",
  ],
  [
    "a name too many",
    Object.fromEntries(Array.from({ length: 201 }, (_, nth) => [`v${nth}`, { type: "text" }])),
    "Field declarations must be at most 200 variables",
  ],
  ["a byte too many", long(16_385), "Field declarations must be at most 16384 bytes of JSON"],
];
test("refuses what is no declaration, and names the field", async () => {
  const world = await createWorld({ maxBodyBytes: 2 ** 20 });
  for (const [what, declarations, fault] of faults) {
    assert.is(((await push(world, declarations)).json as { error: string }).error, fault, what);
  }
  taken(await push(world, long(16_384)), 201);
  // A number that is short as a double is as long as it was written.
  const digits = JSON.stringify({ ...promptFile, declarations: { n: { type: "number", example: 1 } } })
    .replace('"example":1', `"example":1.${"0".repeat(20_000)}`);
  refused(await world.manage("POST", "/prompts/greeting/versions", digits), 400, faults.at(-1)![2]);
});

test("names and texts of every kind are kept", async () => {
  const world = await createWorld();
  const variable = fc.oneof(
    fc.stringMatching(/^[\p{L}\p{N}_.$-]{1,4}$/u),
    fc.constantFrom("__proto__", "constructor", "0", "a.b", "type"),
  );
  const text = fc.string({ unit: "binary", maxLength: 8 });
  const declaration = fc.oneof(
    fc.record({ type: fc.constant("text"), example: text }, { requiredKeys: ["type"] }),
    fc.record({ type: fc.constant("number"), example: fc.double({ noNaN: true, noDefaultInfinity: true }) }),
    fc.record({ type: fc.constant("boolean"), example: fc.boolean(), required: fc.boolean() }),
    fc.record({ type: fc.constant("messages"), description: text.map((each) => each.replaceAll("\0", "")) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(variable, declaration), { minLength: 1, maxLength: 4 }), async (entries) => {
      // JSON.stringify escapes a lone surrogate, which becomes U+FFFD.
      const sent = JSON.stringify(Object.fromEntries(entries));
      const { id } = taken<{ id: string }>(
        await world.manage("POST", `/workspaces/${world.workspaceId}/prompts`, {
          ...promptFile,
          declarations: JSON.parse(sent),
        }),
        201,
      );
      const { declarations } = taken<Version>(await world.manage("GET", `/prompts/${id}`));
      assert.is(JSON.stringify(declarations), JSON.stringify(wellFormed(JSON.parse(sent))));
    }),
    { numRuns: 100 },
  );
});

/** A value with well-formed texts. */
const wellFormed = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_, each) => typeof each === "string" ? each.toWellFormed() : each);

test.run();
