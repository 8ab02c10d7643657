// Prompts and their versions, managed over HTTP.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createTenant, createWorld, noon, promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { readAll, refused, taken } from "./management.ts";

const test = suite("prompts");

type Version = { id: string; version: number; title: string; note: string; isNew: boolean; variables: string[] };

const push = (world: World, body: unknown, id = world.promptId) =>
  world.manage("POST", `/prompts/${id}/versions`, body);

const show = async (world: World, path = "") =>
  taken<Version>(await world.manage("GET", `/prompts/${world.promptId}${path}`));

test("a new prompt has version 1 with its note and its variables", async () => {
  const world = await createWorld();
  const body = {
    ...promptFile,
    messages: [{ role: "user", content: "{{b}} {{ a }} {{b}} {{not one}}" }],
    note: "Begun\nin two lines",
  };
  const { id, isNew, ...made } = taken<Version>(
    await world.manage("POST", `/workspaces/${world.workspaceId}/prompts`, body),
    201,
  );
  assert.equal({ isNew, ...made }, {
    ...body,
    name: "greeting-2",
    isNew: true,
    version: 1,
    createdAt: noon,
    variables: ["b", "a"],
  });
  const listed = await readAll<{ id: string }>(world, `/workspaces/${world.workspaceId}/prompts`);
  const { workspaceId } = world;
  const prompt = {
    ...{ id, workspaceId, name: "greeting-2", title: "Greeting", latestVersion: 1, createdAt: noon, archivedAt: null },
  };
  assert.equal(listed.find((each) => each.id === id), prompt);
  assert.equal(taken(await world.manage("GET", `/prompts/${id}`)), { id, ...made, prompt });
});

test("a prompt is shown by its name too, and also if it is archived", async () => {
  const world = await createWorld();
  taken(await push(world, { ...promptFile, title: "Second" }), 201);
  world.now += 5;
  taken(await world.manage("POST", `/prompts/${world.promptId}/archive`));
  for (const ref of [world.promptId, "greeting"]) {
    const { version, prompt } = taken<{ version: number; prompt: object }>(
      await world.manage("GET", `/prompts/${ref}`),
    );
    const { workspaceId, promptId: id } = world;
    assert.is(version, 2);
    assert.equal(prompt, {
      ...{ id, workspaceId, name: "greeting", title: "Second", latestVersion: 2, createdAt: noon },
      archivedAt: noon + 5,
    });
  }
});

test("description and llmConfig may be left out", async () => {
  const world = await createWorld();
  const body = { title: "Bare", messages: [] };
  const made = taken(await world.manage("POST", `/workspaces/${world.workspaceId}/prompts`, body), 201);
  const { description, messages, llmConfig, note, variables } = made;
  assert.equal(
    { description, messages, llmConfig, note, variables },
    { description: "", messages: [], llmConfig: {}, note: "", variables: [] },
  );
});

test("unchanged content makes no version, whatever its note, its white space and the order of its members", async () => {
  const world = await createWorld();
  const { title, description, messages, llmConfig } = promptFile;
  const same = [
    promptFile,
    { ...promptFile, note: "another note" },
    JSON.stringify({ llmConfig, messages, description, title }, null, 4),
  ];
  for (const body of same) {
    const answer = await push(world, body);
    const { isNew, version, note } = taken<Version>(answer);
    assert.equal({ isNew, version, note }, { isNew: false, version: 1, note: "" });
    assert.is(answer.headers.get("Location"), null);
  }
  assert.is((await readAll(world, `/prompts/${world.promptId}/versions`)).length, 1);
});

const changes: [name: string, body: object | string][] = [
  ["title", { ...promptFile, title: "Greeting " }],
  ["description", { ...promptFile, description: "" }],
  ["messages", { ...promptFile, messages: [] }],
  ["llmConfig", { ...promptFile, llmConfig: {} }],
  ["a digit", JSON.stringify(promptFile).replace("0.5", "0.50")],
  ["the order of the members of llmConfig", {
    ...promptFile,
    llmConfig: { temperature: 0.5, provider: "openai", model: "gpt-4o" },
  }],
  ["how a letter is written", JSON.stringify(promptFile).replace("openai", "\\u006fpenai")],
];

for (const [name, body] of changes) {
  test(`a change of ${name} makes a version`, async () => {
    const world = await createWorld();
    const answer = await push(world, body);
    const { isNew, version } = taken<Version>(answer, 201);
    assert.equal([isNew, version], [true, 2]);
    assert.is(answer.headers.get("Location"), `../../prompts/${world.promptId}/versions/2`);
  });
}

test("versions are numbered without gaps and never change, also if earlier content is pushed again", async () => {
  const world = await createWorld();
  const titles = ["Greeting", "b", "b", "Greeting", "c", "b", "b"];
  const versions = new Map<number, Omit<Version, "isNew">>();
  for (const [index, title] of titles.entries()) {
    world.now = noon + index;
    const { isNew, ...pushed } = taken<Version>(
      await push(world, { ...promptFile, title, note: `${index}` }),
      index === 0 || title === titles[index - 1] ? 200 : 201,
    );
    if (isNew) versions.set(pushed.version, pushed);
    assert.is(pushed.version, 1 + versions.size);
  }
  for (const [number, version] of versions) assert.equal(await show(world, `/versions/${number}`), version);
  const { prompt: _, ...newest } = await show(world) as Version & { prompt: object };
  assert.equal(newest, versions.get(1 + versions.size));
  const listed = await readAll<Version>(world, `/prompts/${world.promptId}/versions`);
  assert.equal(listed.map(({ version, title, note }) => [version, title, note]), [
    [5, "b", "5"],
    [4, "c", "4"],
    [3, "Greeting", "3"],
    [2, "b", "1"],
    [1, "Greeting", ""],
  ]);
});

test("concurrent pushes get different numbers, and those with the same content get one", async () => {
  const world = await createWorld();
  const pushAll = async (titles: string[]) => {
    const pushed = await Promise.all(titles.map((title) => push(world, { ...promptFile, title })));
    return pushed.map(({ json }) => json as Version).filter(({ isNew }) => isNew).map(({ version }) => version).sort();
  };
  assert.equal(await pushAll(["a", "b", "c"]), [2, 3, 4]);
  assert.equal(await pushAll(["d", "d", "d"]), [5]);
  assert.is((await show(world)).version, 5);
});

const exact =
  '{"t":1.0,"big":12345678901234567890,"huge":1e400,"small":-1E-400,"zero":-0,"__proto__":{"b":1,"a":2},"2":0,"1":0,"twice":1,"twice":2,"":[[],{}],"\\u0061\\/":"\\ud83d\\ude00 é\\u0000"}';

test("JSON is kept as it was written, digit by digit, from the push to the read", async () => {
  const world = await createWorld();
  const messages = `[{"content":"x","role":"user","extra":${exact}},{"role":"tool","content":[${exact}]}]`;
  const spaced = `{ "messages" :\n${messages.replaceAll(",{", " ,\t{")} , "title": "Exact", "llmConfig": ${exact} }`;
  const answer = await push(world, spaced);
  taken(answer, 201);
  await world.manage("POST", `/deployments/${world.deployId}/promote`, { version: 2 });
  const shown = await world.manage("GET", `/prompts/${world.promptId}/versions/2`);
  const newest = await world.manage("GET", `/prompts/${world.promptId}`);
  const rendered = await world.manage("POST", `/prompts/${world.promptId}/render`, { values: {} });
  for (const { text } of [answer, shown, newest, await world.read()]) {
    assert.ok(text.includes(`"messages":${messages}`), text);
    assert.ok(text.includes(`"llmConfig":${exact}`), text);
  }
  assert.ok(rendered.text.includes(`"messages":${messages}`), rendered.text);
  taken(await push(world, spaced));
});

test("ill-formed Unicode is made well-formed, and stays readable", async () => {
  const world = await createWorld();
  const body = '{"title":"a\\ud800b","messages":[{"role":"user","content":"\\udc00 \\ud83d\\ude00"}]}';
  const { title } = taken<Version>(await push(world, body), 201);
  assert.is(title, "a\ufffdb");
  assert.ok(
    (await world.manage("GET", `/prompts/${world.promptId}`)).text.includes('"content":"\\ufffd \\ud83d\\ude00"'),
  );
  taken(await push(world, body));
});

test("if a member of the content appears twice, the last one wins", async () => {
  const world = await createWorld();
  const answer = await push(world, '{"title":"a","messages":[{"role":"x","content":""}],"title":"b","messages":[]}');
  const { title, messages } = taken<Version & { messages: unknown }>(answer, 201);
  assert.equal({ title, messages }, { title: "b", messages: [] });
});

test("rendering replaces every variable by its value, unchanged", async () => {
  const world = await createWorld();
  const messages = [
    { role: "system", content: "{{a}} and {{ b }}, {{a}}", "{{a}}": "{{a}}" },
    { role: "user", content: [{ type: "text", text: "{{__proto__}} {{größe.1}} {{}} {{not one}}" }] },
  ];
  await push(world, { ...promptFile, messages });
  const values = `{"a":"{{b}} $& \\"\\n","b":"","__proto__":"p","größe.1":"😀","unused":"x"}`;
  const answer = await world.manage("POST", `/prompts/${world.promptId}/render`, `{"values":${values}}`);
  assert.equal(taken(answer), {
    id: world.promptId,
    version: 2,
    messages: [
      { role: "system", content: '{{b}} $& "\n and , {{b}} $& "\n', "{{a}}": '{{b}} $& "\n' },
      { role: "user", content: [{ type: "text", text: "p 😀 {{}} {{not one}}" }] },
    ],
  });
});

test("rendering uses the given version, by default the newest", async () => {
  const world = await createWorld();
  await push(world, { ...promptFile, messages: [] });
  const render = (body: object) => world.manage("POST", `/prompts/${world.promptId}/render`, body);
  assert.is(taken(await render({ values: {} })).version, 2);
  assert.is(taken(await render({ values: { name: "x" }, version: 1 })).version, 1);
  refused(await render({ values: {}, version: 3 }), 404, `Version 3 of prompt ${world.promptId} not found`);
});

test("rendering refuses values that make a prompt too long", async () => {
  const world = await createWorld({ maxBodyBytes: 2 ** 20 });
  await push(world, { ...promptFile, messages: Array(20).fill({ role: "user", content: "{{a}}".repeat(5000) }) });
  const render = (length: number) =>
    world.manage("POST", `/prompts/${world.promptId}/render`, { values: { a: "x".repeat(length) } });
  assert.is(taken<{ messages: unknown[] }>(await render(160)).messages.length, 20);
  refused(await render(170), 400, "The values make the messages longer than 16777216 characters");
  refused(await render(1_000_000), 400, "The values make the messages longer than 16777216 characters");
});

test("rendering without all values is a 409 that names the missing ones", async () => {
  const world = await createWorld();
  const content = "{{toString}} {{a}} {{b}} {{a}} {{constructor}}";
  await push(world, { ...promptFile, messages: [{ role: "user", content }] });
  const render = (values: unknown) => world.manage("POST", `/prompts/${world.promptId}/render`, { values });
  refused(await render({ b: "" }), 409, "Variables without a value: toString, a, constructor");
  refused(await render({}), 409, "Variables without a value: toString, a, b, constructor");
  for (const values of [{ a: 1 }, { a: null }, [], "a", null]) {
    refused(await render(values), 400, "Field values must be an object of strings");
  }
});

test("a diff shows what differs between two versions, in both directions, and is empty for one version", async () => {
  const world = await createWorld();
  await push(world, { ...promptFile, title: "Farewell" });
  await push(world, { ...promptFile, title: "Farewell", description: "Says goodbye" });
  const diff = async (query: string) =>
    taken<{ from: number; to: number; diff: string }>(
      await world.manage("GET", `/prompts/${world.promptId}/diff?${query}`),
    );
  const toNewest = await diff("from=1");
  assert.equal([toNewest.from, toNewest.to], [1, 3]);
  assert.ok(toNewest.diff.startsWith("--- version 1\n+++ version 3\n@@"));
  for (
    const line of ["-title: Greeting", "+title: Farewell", "-description: Says hello", "+description: Says goodbye"]
  ) {
    assert.ok(toNewest.diff.includes(`\n${line}\n`), line);
  }
  const back = await diff("from=3&to=2");
  assert.ok(back.diff.includes("\n-description: Says goodbye\n+description: Says hello\n"));
  assert.not.ok(back.diff.includes("+title"));
  assert.is((await diff("from=2&to=2")).diff, "");
  const wrong = await world.manage("GET", `/prompts/${world.promptId}/diff?from=1&to=9`);
  refused(wrong, 404, `Version 9 of prompt ${world.promptId} not found`);
  refused(await world.manage("GET", `/prompts/${world.promptId}/diff`), 400, "Missing required field from");
});

test("another workspace can neither list nor deploy nor publish a prompt", async () => {
  const world = await createWorld();
  const other = await createTenant(world.admin);
  const listed = await readAll<Version>(world, `/workspaces/${other.workspaceId}/prompts`);
  assert.equal(listed.map(({ id }) => id), [other.promptId]);
  const { promptId } = world;
  const deploy = await world.manage("POST", `/workspaces/${other.workspaceId}/deployments`, { name: "x", promptId });
  refused(deploy, 404, `Prompt ${promptId} not found`);
  const publication = { ...promptFile, title: "Mine", deploy: "x", promptId };
  const publish = await world.manage("POST", `/workspaces/${other.workspaceId}/publish`, publication);
  refused(publish, 404, `Prompt ${promptId} not found`);
  assert.is((await show(world)).version, 1);
});

test.run();
