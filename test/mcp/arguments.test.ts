// Arguments as agents send them: for what they leave out null or an empty text, and numbers, lists and objects as text.
// Runs on Node alone.
import fc from "fast-check";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createWorld, goodBody, promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { bodyOf, createAgent, headersOf, makeToken, post } from "./agent.ts";

const test = suite("MCP: arguments");

const twoMessages = [{ role: "system", content: "Hi {{name}}" }, { role: "user", content: "{{history}}", weight: 1 }];

test("null and empty texts are what is left out", async () => {
  const world = await createWorld();
  await world.submit();
  const agent = createAgent(world);
  // A text that is no number cannot be one. But "null" may be a title, or an id.
  for (const [none, noText] of [["", ""], [null, null], ["null", null], [" ", ""], ["None", null]]) {
    const { version } = await agent.output("get_prompt", { prompt: "greeting", version: none, workspaceId: noText });
    assert.is(version, 1);
    const { items } = await agent.output<{ items: unknown[] }>("list_records", {
      ...{
        deployment: noText,
        promptVersion: none,
        status: noText,
        failures: none,
        from: none,
        to: none,
        model: noText,
      },
      ...{
        slowerThan: none,
        feedback: noText,
        withoutFeedback: noText,
        limit: none,
        cursor: noText,
        workspaceId: noText,
      },
    });
    assert.is(items.length, 1);
    await agent.output("list_prompts", { text: noText, limit: none, cursor: noText });
    await agent.output("publish_version", {
      ...{ prompt: "greeting", baseVersion: 1, title: noText, description: null, edits: none },
      ...{ messages: none, llmConfig: none, declarations: none, note: null },
    });
  }
  const { latestVersion } = await agent.output("get_prompt", { prompt: "greeting" });
  assert.is(latestVersion, 1);
});

test("a text that may be empty, and one that says null, are that text", async () => {
  const world = await createWorld();
  const agent = createAgent(world);
  const { description, title } = await agent.output("publish_version", {
    ...{ prompt: "greeting", baseVersion: 1, description: "", title: "null" },
  });
  assert.equal([description, title], ["", "null"]);
  assert.equal((await agent.output("list_prompts", { text: "null" })).nextCursor, null);
});

test("what is required must be there", async () => {
  const agent = createAgent(await createWorld());
  for (const none of [null, "", "null", undefined]) {
    const failure = await agent.failure("promote", { deployment: "greeting@production", revision: none, version: 1 });
    assert.match(failure, /revision/);
  }
  assert.match(await agent.failure("get_prompt", { prompt: null }), /prompt/);
});

test("numbers and booleans may be texts, and texts numbers", async () => {
  const world = await createWorld();
  await world.submit({ ...goodBody, sessionId: "4711", status: 1, latency: 1_200 });
  const agent = createAgent(world);
  for (const limit of [1, "1", " 1 ", "1.0", "1e0", 1.0]) {
    assert.is((await agent.output<{ items: unknown[] }>("list_prompts", { limit })).items.length, 1);
  }
  for (
    const filter of [
      { sessionId: 4711 },
      { status: 1 },
      { slowerThan: "500" },
      { promptVersion: "1" },
      { from: "0", to: "99999999999999" },
      { failures: "False" },
      { deployment: "greeting@production", failures: "false", sessionId: "4711" },
    ]
  ) {
    const { items } = await agent.output<{ items: unknown[] }>("list_records", filter);
    assert.is(items.length, 1, JSON.stringify(filter));
  }
  const promoted = await agent.output("promote", { deployment: "greeting@production", revision: "1", version: "1" });
  assert.is(promoted.changed, false);
  for (
    const version of ["1.5", "one", "1, 2", "0x1", "١", "1 2", true, {}, [1], "9007199254740993", "-1", "Infinity"]
  ) {
    assert.match(await agent.failure("get_prompt", { prompt: "greeting", version }), /Field version must be|not_found/);
  }
});

test("lists and objects may be JSON text, and a list of one its item", async () => {
  const world = await createWorld();
  const agent = createAgent(world);
  const edit = { old: "Greet", new: "Greet kindly" };
  let version = 1;
  for (const edits of [JSON.stringify([edit]), edit, JSON.stringify(edit), ` ${JSON.stringify([edit])}\n`]) {
    const published = await agent.output<{ version: number; messages: unknown }>("publish_version", {
      ...{ prompt: "greeting", baseVersion: version, edits },
    });
    version = published.version;
    assert.equal(published.messages, [{ role: "system", content: "Greet kindly {{name}}" }]);
    ({ version } = await agent.output<{ version: number }>("publish_version", {
      ...{ prompt: "greeting", baseVersion: String(version), messages: JSON.stringify(promptFile.messages) },
    }));
  }
  const last = await agent.output("publish_version", {
    ...{
      prompt: "greeting",
      baseVersion: version,
      messages: JSON.stringify(twoMessages),
      llmConfig: '{"model":"small"}',
    },
  });
  assert.equal([last.messages, last.llmConfig], [twoMessages, { model: "small" }]);
  for (const edits of ["[", "Greet", "[1]", '{"old":1}', 5]) {
    assert.match(await agent.failure("publish_version", { prompt: "greeting", baseVersion: 1, edits }), /edits/);
  }
});

test("all arguments may be JSON text, or missing", async () => {
  const world = await createWorld();
  for (const sent of ['{"limit":"1"}', {}, null, undefined]) {
    const params = { name: "list_prompts", arguments: sent };
    const { json } = await post(world, bodyOf("tools/call", params), headersOf("tools/call", params));
    const { result } = json as { result: { structuredContent: { items: unknown[] } } };
    assert.is(result.structuredContent.items.length, 1);
  }
  for (const sent of ["", "limit", "[]", 5, [], true]) {
    const params = { name: "list_prompts", arguments: sent };
    const { json } = await post(world, bodyOf("tools/call", params), headersOf("tools/call", params));
    assert.is((json as { error: { message: string } }).error.message, "arguments must be an object");
  }
});

test("a message of a prompt stays a text, whatever it looks like", async () => {
  const world = await createWorld();
  const agent = createAgent(world);
  const contents = ["[1]", "null", "true", '{"a":1}', "5", ""];
  const messages = contents.map((content) => ({ role: "user", content }));
  const published = await agent.output("publish_version", { prompt: "greeting", baseVersion: 1, messages });
  assert.equal(published.messages, messages);
  assert.equal((await agent.output("list_prompts", { text: "[1]" })).nextCursor, null);
});

test("variables are declared by a list too, as models write it", async () => {
  const world = await createWorld();
  const agent = createAgent(world);
  const list = [
    { name: "name", type: "text", example: 5, required: "True", description: "Who" },
    { name: "count", type: "number", example: "1.50", required: false, description: null },
    { name: "isNew", type: "boolean", example: "true" },
    { name: "history", type: "messages", example: '[{"role":"user","content":"Hi"}]', required: null },
    { name: "größe", type: "text", example: "[1]" },
  ];
  const declarations = {
    name: { type: "text", example: "5", required: true, description: "Who" },
    count: { type: "number", example: 1.5, required: false },
    isNew: { type: "boolean", example: true },
    history: { type: "messages", example: [{ role: "user", content: "Hi" }] },
    größe: { type: "text", example: "[1]" },
  };
  let version = 1;
  for (const sent of [list, JSON.stringify(list), declarations, JSON.stringify(declarations)]) {
    const note = `${version}`, title = `Version ${version}`;
    const input = { prompt: "greeting", baseVersion: version, declarations: sent, note, title };
    const published = await agent.output<{ version: number; declarations: unknown }>("publish_version", input);
    assert.equal(published.declarations, declarations);
    version = published.version;
  }
  const wrong = [
    [{ name: "name", type: "date" }],
    [{ type: "text" }],
    [{ name: "a b", type: "text" }],
    "[]",
    [5],
  ];
  const expected = [
    /declarations\.name\.type must be/,
    /declarations must be/,
    /declarations\.a b must be/,
    /./,
    /declarations/,
  ];
  for (const [nth, sent] of wrong.entries()) {
    const input = { prompt: "greeting", baseVersion: version, declarations: sent, title: `Wrong ${nth}` };
    const { isError, content } = await agent.call("publish_version", input);
    if (isError) assert.match(content[0]!.text, expected[nth]!);
    else assert.equal(sent, "[]");
  }
});

test("feedback that is spelt as a text has the kind of its name", async () => {
  const world = await createWorld();
  const { id: record } = (await world.submit()).json as { id: string };
  const agent = createAgent(world, await makeToken(world, "editor", undefined, "judge"));
  const kept = async (name: string) => {
    const rows = await world.database.read({ sql: "select value from feedback where name = ?", args: [name] });
    return rows[0]!.value;
  };
  for (
    const [name, value, stored] of [
      ["correct", "true", 1],
      ["score", " 0.5 ", 0.5],
      ["tone", "kind", "kind"],
      // The name has labels by now.
      ["tone", "true", "true"],
      ["tone", "5", "5"],
      ["correct", false, 0],
    ] as const
  ) {
    await agent.output("give_feedback", { record, name, value, comment: null });
    assert.is(await kept(name), stored, `${name} ${value}`);
  }
  assert.match(
    await agent.failure("give_feedback", { record, name: "correct", value: "kind" }),
    /feedback_kind_differs/,
  );
  assert.match(await agent.failure("give_feedback", { record, name: "correct", value: "" }), /value/);
});

test("no text in JSON text reaches the database ill-formed, and none nested too deep is read", async () => {
  const world = await createWorld({ maxBodyBytes: 1_000_000 });
  const agent = createAgent(world);
  const messages = String.raw`[{"role":"user","content":"a\ud800b"}]`;
  await agent.output("publish_version", { prompt: "greeting", baseVersion: 1, messages });
  assert.equal((await agent.output("get_prompt", { prompt: "greeting" })).messages, [{
    role: "user",
    content: "a\ufffdb",
  }]);
  for (const depth of [150, 100_000]) {
    const deep = `${"[".repeat(depth)}${"]".repeat(depth)}`;
    for (
      const [name, value] of [["edits", deep], ["llmConfig", `{"a":${deep}}`], ["messages", deep], [
        "baseVersion",
        deep,
      ]]
    ) {
      const input = { prompt: "greeting", baseVersion: 2, [name!]: value };
      await agent.call("publish_version", input);
    }
  }
});

test("what fits already is never changed", async () => {
  const world: World = await createWorld();
  const agent = createAgent(world);
  const anyText = fc.oneof(
    fc.constantFrom("null", "none", "true", "1", "[]", "{}", '"a"', " x "),
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }),
  ).filter((text) => !/\p{Cc}|\p{Zl}|\p{Zp}/u.test(text) && text.trim() !== "");
  let version = 1;
  await fc.assert(
    fc.asyncProperty(anyText, anyText, async (title, content) => {
      const messages = [{ role: "user", content }];
      const input = { prompt: "greeting", baseVersion: version, title, description: content, messages };
      const published = await agent.output<{ version: number }>("publish_version", input);
      version = published.version;
      const { title: kept, description, messages: keptMessages } = published as unknown as typeof input;
      assert.equal([kept, description, keptMessages], [title, content, messages]);
    }),
    { numRuns: isFull ? 300 : 30 },
  );
});

test.run();
