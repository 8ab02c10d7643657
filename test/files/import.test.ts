// Importers: what each keeps of an export, what it leaves out and names, and what stops a prompt. The fixtures are rebuilt from
// the public samples of each project, and `hidden-value` stands in them where a secret may.
// Runs on Node alone.
import { readFile } from "node:fs/promises";
import fc from "fast-check";
import { parseDocument } from "yaml";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { Refusal } from "../../src/common/errors.ts";
import { readImport, sources } from "../../src/files/import/index.ts";
import type { ImportedFile, ImportedPrompt } from "../../src/files/import/reader.ts";
import * as v from "../../src/management/values.ts";
import { documentAt, sectionOf } from "../documents.ts";
import { pathOf } from "../runtimes.ts";

const test = suite("importers");

const fixtures: Record<string, string[]> = {
  langfuse: ["langfuse.json"],
  openai: ["openai.json"],
  github: ["github.prompt.yml"],
  dotprompt: ["dotprompt.prompt"],
  prompty: ["prompty-1.prompty", "prompty-2.prompty"],
  promptfoo: ["promptfooconfig.yaml"],
  langsmith: ["langsmith.json"],
  promptlayer: ["promptlayer.json"],
  mlflow: ["mlflow.ndjson"],
};

const readFixture = (name: string): Promise<string> => readFile(pathOf(`test/files/fixtures/${name}`), "utf8");
const filesOf = (source: string): Promise<ImportedFile[]> =>
  Promise.all(fixtures[source]!.map(async (path) => ({ path, text: await readFixture(path) })));

type Read = { prompts: ImportedPrompt[]; left: string[]; faults: string[] };

async function read(source: string, files: ImportedFile[], keepsLogic = false): Promise<Read> {
  const result: Read = { prompts: [], left: [], faults: [] };
  result.prompts = await readImport(source, files, {
    keepsLogic,
    complain: (place, message, isWarning) =>
      void (isWarning ? result.left : result.faults).push(`${place}: ${message}`),
    read: (_, path) => readFixture(path).catch(() => undefined),
  });
  return result;
}

/** A file that nobody exported, with a name that its importer reads. */
const fileOf = (source: string, text: string): ImportedFile => ({
  path: fixtures[source]![0]!.replace(/^\w+/, "some"),
  text,
});

/** Versions as lines: what each is called, its messages as `role: content`, and its configuration. */
const shown = (prompts: ImportedPrompt[]) =>
  prompts.flatMap(({ name, versions }) =>
    versions.map(({ number, title, description, note, labels, messages, llmConfig }) => [
      [name, number, title, description, note, ...labels].join("|"),
      ...(JSON.parse(messages.text) as { role: string; content: unknown }[]).map(({ role, content }) =>
        `${role}: ${typeof content === "string" ? content : JSON.stringify(content)}`
      ),
      llmConfig.text,
    ])
  );

const expected: Record<string, { prompts: string[][]; left: string[]; faults: string[] }> = {
  langfuse: {
    prompts: [
      ["support/movie-critic|1|Support/Movie Critic|||old-one", "user: Do you like {{movie}}?", "{}"],
      [
        "support/movie-critic|2|Support/Movie Critic||Asks back|production",
        "system: You are a {{level}} movie critic.",
        "placeholder: {{history}}",
        "user: Do you like {{movie}}?",
        '{"model":"gpt-4o","temperature":0.7}',
      ],
    ],
    left: [
      "Support/Movie Critic version 2: tags is left out",
      "Support/Movie Critic version 2: apiKey is left out, since it may be secret",
    ],
    faults: [
      "with-section version 1, message 1, character 4: {{#name}} is more than a variable",
      "with-section version 1, message 1, character 18: {{/name}} is more than a variable",
      "with-reference version 1: @@@langfusePrompt:name=base|label=production@@@ refers to another prompt",
      "in-a-list: has no content: export each version, not the list alone",
    ],
  },
  openai: {
    prompts: [
      ["haiku|1|Haiku||pmpt_123|production", "user: A haiku about {{topic}}", '{"model":"gpt-4o"}'],
      [
        "haiku|2|Haiku||pmpt_123",
        "developer: You write haiku about {{topic}}.",
        'user: [{"type":"input_text","text":"Like this:"},{"type":"input_image","image_url":"{{image}}"}]',
        '{"model":"gpt-5","max_output_tokens":200,"reasoning":{"effort":"low"}}',
      ],
    ],
    left: [],
    faults: [],
  },
  github: {
    prompts: [[
      "github||Summarizer|Summarizes a text|",
      "system: You summarize {{kind}} texts.",
      "user: {{input}}",
      '{"provider":"openai","model":"gpt-4o","temperature":0.50,"seed":12345678901234567890,' +
      '"responseFormat":"json_schema","jsonSchema":"{ \\"name\\": \\"summary\\" }"}',
    ]],
    left: [
      "github.prompt.yml:14:1: Field testData is left out",
      "github.prompt.yml:16:1: Field evaluators is left out",
    ],
    faults: [],
  },
  dotprompt: {
    prompts: [[
      "dotprompt||greeting|Greets a guest|",
      "system: You greet {{name}} of {{company.name}}.",
      "placeholder: {{history}}",
      "user: Hello",
      "assistant: Welcome",
      '{"provider":"googleai","model":"gemini-2.0-flash","temperature":0.7,"tools":["lookup"],"output":{"format":"json"}}',
    ]],
    left: [
      "dotprompt.prompt:4:1: Field variant is left out",
      "dotprompt.prompt:5:1: Field version is left out",
      "dotprompt.prompt:11:1: Field input is left out",
      "dotprompt.prompt:16:1: Field ext is left out",
      "dotprompt.prompt:17:1: Field metadata is left out",
      "dotprompt.prompt: apiKey is left out, since it may be secret",
    ],
    faults: [],
  },
  prompty: {
    prompts: [
      [
        "prompty-1||Basic|Answers questions|",
        "system: You answer {{firstName}}.\n\n# Context\n{{context}}",
        "user: {{question}}",
        '{"provider":"azure_openai","model":"gpt-4o","max_tokens":128,"temperature":0.2,"tools":["lookup"]}',
      ],
      [
        "prompty-2||Chat with a thread|Talks|",
        "system: You help.",
        "placeholder: {{conversation}}",
        "user: {{ question }}",
        '{"provider":"foundry","model":"gpt-4o","temperature":0.2,"maxOutputTokens":100,"tools":["lookup"]}',
      ],
    ],
    left: [
      "prompty-1.prompty:4:1: Field authors is left out",
      "prompty-1.prompty:5:1: Field tags is left out",
      "prompty-1.prompty:6:1: Field version is left out",
      "prompty-1.prompty:19:1: Field sample is left out",
      "prompty-1.prompty:17:1: Field inputs is left out but for threads",
      "prompty-1.prompty:7:1: Field model.configuration is left out, since it may be secret",
      "prompty-1.prompty:7:1: Field model.api is left out",
      "prompty-1.prompty:7:1: Field model.response is left out",
      "prompty-2.prompty:5:1: Field metadata is left out",
      "prompty-2.prompty:15:1: Field outputs is left out",
      "prompty-2.prompty:17:1: Field template is left out",
      "prompty-2.prompty:12:1: Field inputs is left out but for threads",
      "prompty-2.prompty:6:1: Field model.connection is left out, since it may be secret",
      "prompty-2.prompty:6:1: Field model.apiType is left out",
    ],
    faults: [],
  },
  promptfoo: {
    prompts: [
      ["prompt-1||prompt-1||", "user: Translate {{text}} to {{language}}", "{}"],
      ["from-a-file-1||From a file-1||", "user: First: {{text}}", "{}"],
      ["from-a-file-2||From a file-2||", "user: Second: {{text}}", "{}"],
      ["chat||Chat||", "system: You translate.", "user: {{text}}", "{}"],
    ],
    left: ["description", "providers", "tests", "scenarios", "defaultTest"].map((name) =>
      `promptfooconfig.yaml: ${name} is left out`
    ),
    faults: [
      "make_prompt.py: is code or a table: write what it gives into a text file",
      "missing.txt: cannot be read",
      "exec:./make.sh: is code or a table: write what it gives into a text file",
      "langfuse://somewhere: is code or an address: write what it gives into a file",
      "prompt-4, message 1, character 7: {{ text | upper }} is more than a variable",
    ],
  },
  langsmith: {
    prompts: [[
      "rag-answer|0123456789ab|rag-answer|Answers from documents|",
      'system: Answer from {{context}} as {"answer": …}.',
      "placeholder: {{history}}",
      "user: {{question}}",
      '{"provider":"openai","model":"gpt-4o","temperature":0}',
    ]],
    left: [
      ...["examples", "tags", "readme"].map((name) => `rag-answer commit 0123456789ab: ${name} is left out`),
      "rag-answer commit 0123456789ab: openai_api_key is left out, since it may be secret",
    ],
    faults: [],
  },
  promptlayer: {
    prompts: [
      ["welcome|1|Welcome||First", "user: Hi {{ name }}", "{}"],
      [
        "welcome|2|Welcome||Shorter|prod",
        "system: You greet {{name}} with {braces}.",
        "placeholder: {{history}}",
        "user: {{question}}",
        '{"provider":"openai","model":"gpt-4o","temperature":0.1,"extra_headers":{}}',
      ],
    ],
    left: [
      "Welcome version 2: tags is left out",
      "Welcome version 2: extra_headers.Authorization is left out, since it may be secret",
    ],
    faults: ["with-snippet version 1: @@@style@@@ refers to a snippet: export it with snippets resolved"],
  },
  mlflow: {
    prompts: [
      ["qa|1|qa||First", "user: Answer {{question}}", "{}"],
      [
        "qa|2|qa||As a chat|production",
        "system: You answer.",
        "user: {{question}}",
        '{"provider":"openai","model":"gpt-4o","temperature":0.3,"max_tokens":100,"response_format":{"type":"object"}}',
      ],
    ],
    left: ["qa version 2: tags is left out"],
    faults: [
      "qa-jinja version 1, message 1, character 1: {% for q in questions %} is more than a variable",
      "qa-jinja version 1, message 1, character 32: {% endfor %} is more than a variable",
    ],
  },
};

for (const source of sources) {
  test(`${source} keeps what it can hold, and names all else with its place`, async () => {
    const { prompts, left, faults } = await read(source, await filesOf(source));
    assert.equal({ prompts: shown(prompts), left, faults }, expected[source]);
    assert.not.match(JSON.stringify([shown(prompts), left, faults]), "hidden-value");
  });
}

test("logic is kept as text where that is asked for, and variables are still ours", async () => {
  const langfuse = await read("langfuse", await filesOf("langfuse"), true);
  assert.equal(langfuse.prompts.map(({ name }) => name), ["support/movie-critic", "with-section", "with-reference"]);
  const layer = (content: string) =>
    fileOf(
      "promptlayer",
      JSON.stringify({ prompt_name: "a", prompt_template: { messages: [{ role: "user", content }] } }),
    );
  const kept = await read("promptlayer", [layer("{x} {y!r} {{z}} }")], true);
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

test("two prompts whose names become the same are both left out", async () => {
  const text = JSON.stringify(["A b", "a-b", "c"].map((name) => ({ name, version: 1, prompt: "Hi" })));
  const { prompts, faults } = await read("langfuse", [fileOf("langfuse", text)]);
  assert.equal(prompts.map(({ name }) => name), ["c"]);
  assert.equal(faults, ["a-b: is the name of 2 prompts. Import one of them with another --prefix"]);
});

test("a prompt that the service would refuse is left out with the reason", async () => {
  const of = (more: object) => fileOf("langfuse", JSON.stringify({ name: "a", version: 3, prompt: "Hi", ...more }));
  const reasons: [object, string][] = [
    [{ name: "a".repeat(201) }, "cannot be held: Field title must be a name of 1 to 200 characters"],
    [{ prompt: "x".repeat(1024 * 1024) }, "cannot be held: The prompt must be at most 1048576 characters"],
    [{ prompt: [{ role: "", content: "Hi" }] }, "cannot be held: "],
  ];
  for (const [more, reason] of reasons) {
    const { prompts, faults } = await read("langfuse", [of(more)]);
    assert.equal([prompts, faults.length], [[], 1]);
    assert.ok(faults[0]!.includes(reason), faults[0]);
  }
});

const key = `sk-proj-${"a1B2".repeat(8)}`;

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

const many = isFull ? 100_000 : 20_000;
const hostile: Record<string, string> = {
  "deep lists": "[".repeat(many) + "]".repeat(many),
  "deep objects": '{"prompt":'.repeat(many) + "1" + "}".repeat(many),
  "deep messages": `{"name":"a","prompt":${"[".repeat(many)}${"]".repeat(many)}}`,
  "deep YAML": `---\nmodel: ${"[".repeat(many)}\n---\n`,
  "an alias in itself": "model: &a [*a, *a]\nmessages: *a\nprompts: *a\n",
  "aliases that double": Array.from({ length: 60 }, (_, nth) => `a${nth}: &a${nth} [*a${nth - 1}, *a${nth - 1}]`).join(
    "\n",
  )
    .replace("*a-1, *a-1", "x"),
  "many names": `---\nconfig:\n${Array.from({ length: many / 10 }, (_, nth) => `  k${nth}: 1\n`).join("")}---\nHi`,
  "tags without an end": "{%{{{#".repeat(many / 4),
  "many tags": "{{#a}}".repeat(many / 4),
  "spaces": `${" ".repeat(many)}x`,
  "spaces in braces": `{{{${" ".repeat(many)}`,
  "dots in a name": JSON.stringify({ name: `${".".repeat(many)}a`, version: 1, prompt: "Hi" }),
  "dashes": "---\n".repeat(many / 4),
  "NUL": "\0".repeat(1000),
  "nothing": "",
};

for (const [name, text] of Object.entries(hostile)) {
  test(`${name} end in prompts or faults`, async () => {
    for (const source of sources) {
      const { faults } = await read(source, [fileOf(source, text)]);
      assert.ok(faults.length < 100, `${source}: ${faults.length} faults`);
    }
  });
}

const numRuns = isFull ? 150 : 15;

/** A JSON value in which any part may be replaced by one of another type. */
function damaged(value: unknown): fc.Arbitrary<unknown> {
  const other = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom(null, {}, [], "", "{{", "\ud800", 1e300, [null]),
  );
  const whole = Array.isArray(value)
    ? fc.tuple(...value.map(damaged))
    : typeof value === "object" && value !== null
    ? fc.record(Object.fromEntries(Object.entries(value).map(([name, member]) => [name, damaged(member)])), {
      requiredKeys: [],
    })
    : fc.constant(value);
  return fc.oneof({ arbitrary: whole, weight: 14 }, { arbitrary: other, weight: 1 });
}

/** An export as text whose values are of any type. */
async function damagedExport(source: string): Promise<fc.Arbitrary<string>> {
  const texts = await Promise.all(fixtures[source]!.map(readFixture));
  return fc.oneof(...texts.map((text) => {
    const { head, body } = partsOf(text);
    if (source === "mlflow") {
      return damaged(text.trim().split("\n").map((line) => JSON.parse(line))).map((value) => JSON.stringify(value));
    }
    // JSON is YAML.
    const value: unknown = head === undefined ? JSON.parse(text) : parseDocument(head).toJS();
    return damaged(value).map((value) =>
      body === "" ? JSON.stringify(value) : `---\n${JSON.stringify(value)}\n---\n${body}`
    );
  }));
}

/** The YAML of a file, and what is below it. JSON has no YAML. */
function partsOf(text: string): { head: string | undefined; body: string } {
  const [, head, body = ""] = /^---\n([^]*?)\n---\n([^]*)$/.exec(text) ?? [];
  return { head: head ?? (text.startsWith("{") ? undefined : text), body };
}

for (const source of sources) {
  test(`${source} takes values of any type, and makes prompts that are valid`, async () => {
    await fc.assert(
      fc.asyncProperty(await damagedExport(source), async (text) => {
        const { prompts } = await read(source, [fileOf(source, text)]).catch((error) => {
          if (error instanceof Refusal) return { prompts: [] };
          throw error;
        });
        for (const { name, versions } of prompts) {
          assert.ok(v.promptName.is(name), name);
          assert.ok(
            versions.every(({ labels, title }) =>
              labels.every((label) => v.deploymentName.is(label)) && v.name.is(title)
            ),
          );
        }
      }),
      { numRuns },
    );
  });

  test(`${source} takes any text`, () =>
    fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary" }), fc.boolean(), async (text, keepsLogic) => {
        await read(source, [fileOf(source, text)], keepsLogic);
      }),
      { numRuns },
    ));
}

type Row = { source: string; kept: string[]; left: string[] };

/** The rows of the table in src/cli/README.md, each cell with the names that it has in backticks. */
const rows: Row[] = sectionOf(documentAt("src/cli/README.md"), "Import from others").split("\n")
  .filter((line) => /^\| `/.test(line)).map((line) => {
    const [source, kept, left] = line.split("|").slice(1, 4).map((cell) =>
      Array.from(cell.matchAll(/`([^`]+)`/g), ([, name]) => name!)
    );
    return { source: source![0]!, kept: kept!, left: left! };
  });

/** An export without the members of a name, wherever they are. */
function without(text: string, name: string): string {
  const drop = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(drop) : typeof value === "object" && value !== null
      ? Object.fromEntries(
        Object.entries(value).filter(([key]) => key !== name).map(([key, member]) => [key, drop(member)]),
      )
      : value;
  const { head, body } = partsOf(text);
  if (head === undefined) {
    return text.trim().split(/\n(?=\{)/).map((document) => JSON.stringify(drop(JSON.parse(document)))).join("\n");
  }
  const json = JSON.stringify(drop(parseDocument(head).toJS()));
  return body === "" ? json : `---\n${json}\n---\n${body}`;
}

test("the table of importers in src/cli/README.md has a row for each, and its names are those of the code", async () => {
  assert.equal(rows.map(({ source }) => source), sources);
  for (const { source, kept, left } of rows) {
    const files = await filesOf(source);
    const drop = (name: string) => files.map(({ path, text }) => ({ path, text: without(text, name) }));
    const all = await read(source, drop(""));
    for (const name of kept) {
      const { prompts, faults } = await read(source, drop(name));
      assert.not.equal([shown(prompts), faults], [shown(all.prompts), all.faults], `${source} keeps ${name}`);
    }
    const named = all.left.flatMap((text) => /: (?:Field )?(?:model\.)?(\w+) is left out/.exec(text)?.[1] ?? []);
    const secrets = ["apiKey", "openai_api_key"]; // of these fixtures
    assert.equal(left.toSorted(), [...new Set(named)].filter((name) => !secrets.includes(name)).sort(), source);
  }
});

test.run();
