// Importers: what each keeps of an export, what it leaves out and names, and what stops a prompt.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { sources } from "../../src/files/import/index.ts";
import { exportOf, fileOf, filesOf, read, readFixture, rolesAndTexts, shown } from "./imports.ts";

const test = suite("importers");

const expected = JSON.parse(await readFixture("imported.json")) as Record<string, unknown>;

for (const source of sources) {
  test(`${source} keeps what it can hold, and names all else with its place`, async () => {
    const { prompts, left, faults } = await read(source, await filesOf(source));
    assert.equal({ prompts: shown(prompts), left, faults }, expected[source]);
    assert.not.match(JSON.stringify([shown(prompts), left, faults]), "hidden-value");
  });

  test(`files of ${source} are recognized`, async () => {
    const { prompts, left, faults } = await read(undefined, await filesOf(source));
    assert.equal({ prompts: shown(prompts), left, faults }, expected[source]);
  });
}

test("logic is kept as text where that is asked for, and variables are still ours", async () => {
  const langfuse = await read("langfuse", await filesOf("langfuse"), { keepsLogic: true });
  assert.equal(langfuse.prompts.map(({ name }) => name), ["support/movie-critic", "with-section", "with-reference"]);
  const layer = (content: string) =>
    fileOf(
      "promptlayer",
      JSON.stringify({ prompt_name: "a", prompt_template: { messages: [{ role: "user", content }] } }),
    );
  const kept = await read("promptlayer", [layer("{x} {y!r} {{z}} }")], { keepsLogic: true });
  assert.equal(shown(kept.prompts)[0]![1], "user: {{x}} {y!r} {z} }");
  const refused = await read("promptlayer", [layer("{x} {y!r} {{z}} }")]);
  assert.equal([refused.prompts, refused.faults], [[], [
    "a, message 1, character 5: {y!r} is more than a variable",
    "a, message 1, character 17: A single } must be written twice",
  ]]);
});

test("a version that cannot be held stops its prompt alone", async () => {
  const versions = [{ name: "a", version: 1, prompt: "{{#x}}" }, { name: "a", version: 2, prompt: "Hi" }];
  const { prompts } = await read("langfuse", [
    fileOf("langfuse", JSON.stringify([...versions, { name: "b", version: 1, prompt: "Hi" }])),
  ]);
  assert.equal(prompts.map(({ name }) => name), ["b"]);
});

test("commits of LangSmith come in the order of their times, not in that of the list", async () => {
  const manifest = (template: string) => ({ lc: 1, id: ["PromptTemplate"], kwargs: { template } });
  const commits = ["03", "01", "02"].map((day) => ({
    ...{ repo_handle: "a", commit_hash: day, created_at: `2026-05-${day}T00:00:00Z`, manifest: manifest(day) },
  }));
  const { prompts } = await read("langsmith", [fileOf("langsmith", JSON.stringify({ commits }))]);
  assert.equal(prompts[0]!.versions.map(({ number }) => number), ["01", "02", "03"]);
});

// `String` throws a TypeError for such an object.
const textless = { toString: "" };

for (
  const [source, value] of [
    ["langsmith", { manifest: { lc: 1, id: [textless], kwargs: {} } }],
    ["langsmith", {
      manifest: {
        kwargs: { first: { lc: 1, id: ["PromptTemplate"], kwargs: {} }, last: { lc: 1, id: [textless, "ChatOpenAI"] } },
      },
    }],
    ["promptlayer", { prompt_name: "a", release_labels: [textless, { name: textless }] }],
    ["promptlayer", { prompt_name: "a", prompt_template: { messages: [{ role: "placeholder", name: textless }] } }],
    ["promptlayer", { prompt_name: "a", prompt_template: { content: [{ type: textless }] } }],
  ] as const
) {
  test(`${source} takes an object where a text belongs: ${JSON.stringify(value)}`, async () => {
    await read(source, [fileOf(source, JSON.stringify(value))]);
  });
}

test("two prompts whose names would become the same each get one of their own, as the second time", async () => {
  const text = JSON.stringify(["A b", "a-b", "c"].map((name) => ({ name, version: 1, prompt: "Hi" })));
  const names = async () => (await read("langfuse", [fileOf("langfuse", text)])).prompts.map(({ name }) => name);
  const [first, ...others] = await names();
  assert.match(first!, /^a-b-\w{8}$/);
  assert.equal([others, await names()], [["a-b", "c"], [first, ...others]]);
});

test("a prompt that the service would refuse is left out with the reason", async () => {
  const of = (more: object) => fileOf("langfuse", JSON.stringify({ name: "a", version: 3, prompt: "Hi", ...more }));
  const reasons: [object, string][] = [
    [{ name: "a".repeat(201) }, "cannot be held: Field title must be a name of 1 to 200 characters"],
    [{ prompt: "x".repeat(1024 * 1024) }, "cannot be held: The prompt must be at most 1048576 characters"],
    [{ prompt: [{ role: "", content: "Hi" }] }, "a version 3, message 1: has no role"],
  ];
  for (const [more, reason] of reasons) {
    const { prompts, faults } = await read("langfuse", [of(more)]);
    assert.equal([prompts, faults.length], [[], 1]);
    assert.ok(faults[0]!.includes(reason), faults[0]);
  }
});

const key = `sk-proj-${"a1B2".repeat(8)}`;

test("prompt files of LangChain are read as format strings, or as what they name", async () => {
  const own = { input_variables: ["x"], output_parser: null };
  const few = {
    _type: "few_shot",
    prefix: "P",
    examples: [{ x: "1" }],
    suffix: "{y}",
    example_prompt: { ...own, template: "{x}!" },
  };
  const files = [
    { ...own, template: "{{}} {x}" },
    { _type: "prompt", ...own, template: "{ {{x}}", template_format: "jinja2" },
    { ...own, ...few },
    { ...own, template_path: "a.txt" },
  ].map((value, nth) => ({ path: `p${nth}.json`, text: JSON.stringify(value) }));
  const { prompts, faults } = await read(undefined, files);
  assert.equal(prompts.map((prompt) => [prompt.source, ...rolesAndTexts(prompt)]), [
    ["langsmith", ["user", "{} {{x}}"]],
    ["langsmith", ["user", "{ {{x}}"]],
    ["langsmith", ["user", "P\n\n1!\n\n{{y}}"]],
  ]);
  assert.equal(faults, ["p3: refers to a file by template_path: put its text into template"]);
});

test("Agenta's API and its SDK give one prompt in two forms", async () => {
  const parameters = { prompt: { messages: [{ role: "user", content: "Hi {{x}}" }], llm_config: { model: "m" } } };
  const forms = [
    { params: parameters, app_slug: "app", variant_slug: "app.v", variant_version: 2, environment_slug: "production" },
    {
      ...{
        params: parameters,
        application_ref: { slug: "app", id: "1" },
        variant_ref: { slug: "v", version: 2, id: "2" },
      },
      environment_ref: { slug: "production", version: 1 },
    },
  ];
  for (const form of forms) {
    const { prompts, left } = await read(undefined, [{ path: "a.json", text: JSON.stringify(form) }]);
    assert.equal(shown(prompts), [["app/v|2|app/v|||production", "user: Hi {{x}}", '{"model":"m"}']]);
    assert.equal(left, []);
  }
  const revision = { count: 1, application_revision: { slug: "default", version: "3", data: { parameters } } };
  const { prompts } = await read(undefined, [{ path: "app.json", text: JSON.stringify(revision) }]);
  assert.equal(shown(prompts), [["app|3|app||", "user: Hi {{x}}", '{"model":"m"}']]);
});

test("a file that only looks like a prompt is not taken for one", async () => {
  for (
    const value of [{ template: "a" }, { prompt: "a" }, { params: {} }, { versions: [] }, { name: "a" }, 1, null, []]
  ) {
    const { prompts, faults } = await read(undefined, [{ path: "some.json", text: JSON.stringify(value) }]);
    assert.equal(prompts, []);
    assert.match(faults.join(), "comes from no tool that is known");
  }
});

test("a prompt of OpenAI is found by its id, wherever a file has it", async () => {
  const messages = [{ role: "developer", content: [{ type: "input_text", text: "Hi {{x}}" }] }];
  const files = [
    { id: "pmpt_1", model: "m", messages },
    {
      ...{ id: "resp_1", object: "response", status: "completed", model: "m", instructions: messages, output: [] },
      prompt: { id: "pmpt_1", version: "3", variables: { x: "{{x}}" } },
    },
    { model: "m", input: "Hi {{x}}", instructions: "Be" },
  ];
  const own = ["developer: Hi {{x}}", '{"model":"m"}'];
  const described = "OpenAI's prompt pmpt_1|pmpt_1";
  const expected = [
    [[`pmpt_1||pmpt_1|${described}`, ...own]],
    [[`pmpt_1|3|pmpt_1|${described}`, ...own]],
    [["some||some||", "developer: Be", "user: Hi {{x}}", '{"model":"m"}']],
  ];
  for (const [nth, file] of files.entries()) {
    const { prompts, left, faults } = await read(undefined, [exportOf("openai", file)]);
    assert.equal([shown(prompts), faults], [expected[nth], []]);
    assert.equal(left, nth === 1 ? ["pmpt_1 version 3: id, status and prompt.variables are left out"] : []);
  }
});

test("a row of LiteLLM may have its parameters as a text of JSON", async () => {
  const litellm_params = {
    prompt_id: "p",
    prompt_integration: "dotprompt",
    dotprompt_content: "User: Hi {{x}}",
    other: 1,
  };
  const row = (params: unknown) => exportOf("litellm", { prompt_id: "p", version: 2, litellm_params: params });
  const texts = await read(undefined, [row(JSON.stringify(litellm_params))]);
  assert.equal(shown(texts.prompts), shown((await read(undefined, [row(litellm_params)])).prompts));
  assert.equal(rolesAndTexts(texts.prompts[0]!), [["user", "Hi {{x}}"]]);
  assert.match(texts.left.join(), "litellm_params.other is left out");
});

test("files in a configuration of promptfoo are read, or stop the prompt that has them", async () => {
  const promptWith = (response_format: string) => ({
    path: "promptfooconfig.yaml",
    text: JSON.stringify({
      prompts: [{ raw: "Hi {{env.USER}}", label: "p", config: { response_format, own: 'a "file://x"' } }],
    }),
  });
  const read_ = {
    read: (_: string, path: string) => Promise.resolve(path === "a.yaml" ? "type: json_object\n" : undefined),
  };
  const { prompts, left } = await read(undefined, [promptWith("file://a.yaml")], read_);
  const config = JSON.stringify({ response_format: { type: "json_object" }, own: 'a "file://x"' });
  assert.equal(shown(prompts), [["p||p||", "user: Hi {{env.USER}}", config]]);
  assert.equal(left, ["p: env.USER is a variable here: nothing reads it from the environment"]);
  for (const path of ["b.json", "c.js"]) {
    const { prompts, faults } = await read(undefined, [promptWith(`file://${path}`)], read_);
    assert.equal([prompts, faults], [[], [`${path}: is in a configuration and cannot be read as text, JSON or YAML`]]);
  }
});

test("what an editor alone fills in is a text, and a warning says so", async () => {
  const { prompts, left } = await read(undefined, [{ path: "p.prompt.md", text: "Explain ${selection} to {{x}}\n" }]);
  assert.equal(rolesAndTexts(prompts[0]!), [["user", 'Explain ${selection} to {{"{{"}}x}}']]);
  assert.equal(left, ["p.prompt.md:1:9: ${selection} is filled in by the editor alone, so that it is a text here"]);
});

test("a file of no tool says why it is not read", async () => {
  const faultOf = async (path: string, text: string) => (await read(undefined, [{ path, text }])).faults.join();
  assert.match(await faultOf("a.json", '{"name": "a",\n "prompt": }'), "a.json: is not JSON: line 2, column 12");
  assert.match(
    await faultOf("a.json", '{"a":1}\n{"a":2}'),
    "a.json: comes from no tool that is known. Name the tool before it",
  );
  assert.match(
    await faultOf("a.md", "# system\nHi"),
    "a.md: is Markdown of no tool that is known. Name agents before it",
  );
});

test("a prompt without messages is imported with a warning", async () => {
  const { prompts, left } = await read("dotprompt", [{ path: "a.prompt", text: "---\nmodel: m\n---\n" }]);
  assert.is(prompts.length, 1);
  assert.equal(left, ["a: has no messages"]);
});

test("a text with a secret stops its prompt, and a note with one is left out; neither is printed", async () => {
  const place = [{ prompt: `Use ${key}` }, { name: key }, { prompt: `{{ call("${key}") }}` }];
  for (const more of place) {
    const text = JSON.stringify({ name: "a", version: 1, prompt: "Hi", ...more });
    const { prompts, faults, left } = await read("langfuse", [fileOf("langfuse", text)]);
    assert.equal(prompts, []);
    assert.not.match(JSON.stringify([faults, left]), "a1B2a1B2");
    assert.ok(faults.length > 0);
  }
  const text = JSON.stringify({ name: "a", version: 1, prompt: "Hi", commitMessage: key, config: { a: [{ b: key }] } });
  const { prompts, left } = await read("langfuse", [fileOf("langfuse", text)]);
  assert.equal(left, [
    "a version 1: a.0.b is left out, since it may be secret",
    "a version 1: The note is left out, since it may be secret",
  ]);
  assert.not.match(JSON.stringify(shown(prompts)), key);
});

test("numbers of tokens are no secrets", async () => {
  const config = { max_tokens: 1, max_token: 2, clientSecret: "x", "x-api-key": "y", eos_token: null };
  const text = JSON.stringify({ name: "a", version: 1, prompt: "Hi", config });
  const { prompts } = await read("langfuse", [fileOf("langfuse", text)]);
  assert.equal(prompts[0]!.versions[0]!.llmConfig.text, '{"max_tokens":1,"max_token":2}');
});

test("what is not JSON is one fault, and a line that is not is that of the line", async () => {
  const { faults } = await read("mlflow", [fileOf("mlflow", '{\n  "name": "a",\n}\n')]);
  assert.equal(faults, [
    "some.ndjson: is not JSON: line 3, column 1: expected a name in double quotes, found }: remove the comma before it",
  ]);
  const lines = await read("mlflow", [fileOf("mlflow", '{"name":"a","template":"Hi"}\n{"name":\n')]);
  assert.equal([lines.prompts.length, lines.faults.length], [1, 1]);
  assert.match(lines.faults[0]!, /^some\.ndjson:2: is not JSON/);
});

test.run();
