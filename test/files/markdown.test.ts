// Prompts as Markdown: what is read, what is written, and that one is the inverse of the other.
// Runs on Node alone.
import fc from "fast-check";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { jsonText, stringify } from "../../src/common/json-text.ts";
import { canonicalOf } from "../../src/files/formats/content.ts";
import type { FileContent } from "../../src/files/formats/content.ts";
import { placeOf } from "../../src/files/formats/faults.ts";
import { readMarkdown, writeMarkdown } from "../../src/files/formats/markdown.ts";

const test = suite("prompts as Markdown");

/** Reads a text; a fault as `line:column message`. */
function read(source: string): FileContent | string {
  let fault = "";
  const content = readMarkdown(source, (offset, message) => {
    const { line, column } = placeOf(source, offset);
    fault ||= `${line}:${column} ${message}`;
  });
  return content ?? fault;
}

const contentOf = (messages: object[], llmConfig: object = {}, rest: Partial<FileContent> = {}): FileContent => ({
  title: "Title",
  messages: jsonText(stringify(messages)),
  llmConfig: jsonText(JSON.stringify(llmConfig)),
  ...rest,
});

const assistant = `---
title: Support assistant
llmConfig: { model: your-model, temperature: 0.20 }
---
# system
You answer customers of {{shop}}.

# Not a role
\\# user

# placeholder {{history}}

# user

{{question}}
`;

test("the headings that are roles part the messages, and every other one is text", () => {
  const content = read(assistant) as FileContent;
  assert.equal([content.title, content.llmConfig.text], [
    "Support assistant",
    '{"model":"your-model","temperature":0.20}',
  ]);
  assert.equal(JSON.parse(content.messages.text), [
    { role: "system", content: "You answer customers of {{shop}}.\n\n# Not a role\n# user" },
    { role: "placeholder", content: "{{history}}" },
    { role: "user", content: "{{question}}" },
  ]);
});

test("a file without headings is one message", () => {
  assert.is((read("Greet {{name}}\n") as FileContent).messages.text, '[{"role":"user","content":"Greet {{name}}"}]');
  assert.is((read("") as FileContent).messages.text, "[]");
});

const faults: Record<string, [source: string, fault: string]> = {
  "front matter without an end": ["---\ntitle: A\n", "1:1 The front matter has no end: a line that is ---"],
  "an unknown field": [
    "---\ntitel: A\n---\n",
    "2:1 Unknown field titel. Allowed: name, was, title, description, llmConfig, variables",
  ],
  "a title that is no text": ["---\n\ntitle: 7\n---\n", "3:1 Field title must be a text"],
  "a configuration that is no mapping": ["---\nllmConfig: gpt\n---\n", "2:1 Field llmConfig must be a mapping"],
  "a number that JSON cannot hold": ["---\nllmConfig: { a: .inf }\n---\n", "2:17 Not a number that JSON can hold"],
  "a name twice": ["---\ntitle: A\ntitle: B\n---\n", "3:1 Map keys must be unique"],
  "a tab for indentation": ["---\nllmConfig:\n\tmodel: a\n---\n", "3:1 Tabs are not allowed as indentation"],
  "a text before the first heading": [
    "---\ntitle: A\n---\nHi\n# user\n",
    "4:1 Text before the first heading belongs to no message",
  ],
  "a placeholder that is more than its variable": [
    "# user\nHi\n\n# placeholder {{a}} {{b}}\n",
    "4:1 A placeholder with a variable in its heading must be one variable, without a text",
  ],
  "variables that are a list": ["---\nvariables: [a]\n---\n", "2:1 Field variables must be a mapping"],
  "a variable of an unknown type": [
    "---\nvariables:\n  a: { type: text }\n  b:\n    type: date\n---\n",
    "5:5 Field variables.b.type must be one of text, number, boolean, messages",
  ],
  "an example of another type": [
    "---\nvariables: { a: { type: number, example: '1' } }\n---\n",
    "2:33 Field variables.a.example must be a number",
  ],
  "a variable without a type": ["---\nvariables: { a: { } }\n---\n", "2:14 Missing required field variables.a.type"],
  "an alias of nothing": ["---\ntitle: *a\n---\n", "2:8 Nothing is anchored as a"],
};

for (const [name, [source, fault]] of Object.entries(faults)) {
  test(`refuses ${name}, with its place`, () => assert.is(read(source), fault));
}

test("of a file that is written again, comments, order and numbers survive", () => {
  const source =
    "---\n# Reviewed monthly\nllmConfig:\n  temperature: 0.20 # low\n  seed: 12345678901234567890\n  model: a\ntitle: Old # shown\n---\n# user\nHi\n";
  const content = { ...read(source) as FileContent, title: "New" };
  const changed = { ...content, llmConfig: jsonText('{"temperature":0.20,"seed":12345678901234567890,"model":"b"}') };
  assert.is(writeMarkdown(content, source), source.replace("Old", "New"));
  assert.is(writeMarkdown(changed, source), source.replace("Old", "New").replace("model: a", "model: b"));
});

const held: Record<string, FileContent> = {
  "a heading in a text": contentOf([{ role: "user", content: "# user\n\\# system\n\\\\# tool\n# userland" }]),
  "declared variables": contentOf([], {}, {
    declarations: jsonText('{"a":{"type":"number","example":1.50},"b":{"type":"messages","required":false}}'),
  }),
  "no message": contentOf([]),
  "an empty text": contentOf([{ role: "tool", content: "" }]),
  "a placeholder": contentOf([{ role: "placeholder", content: "{{ history }}" }]),
  "a placeholder with a text": contentOf([{ role: "placeholder", content: "the {{history}}" }]),
  "front matter in a text": contentOf([{ role: "user", content: "---\na: b\n---" }]),
  "texts that YAML would take for something else": contentOf([], {
    a: "true",
    b: "1.0",
    c: "",
    d: "- x",
    e: "null",
    f: "0x1F",
  }),
};
for (const [name, content] of Object.entries(held)) {
  test(`holds ${name}`, () => {
    const text = writeMarkdown(content);
    assert.is(text && canonicalOf(read(text) as FileContent), canonicalOf(content));
  });
}

const notHeld: Record<string, FileContent> = {
  "a role of its own": contentOf([{ role: "critic", content: "Hi" }]),
  "parts": contentOf([{ role: "user", content: [{ type: "text", text: "Hi" }] }]),
  "further members": contentOf([{ role: "user", content: "Hi", name: "Ada" }]),
  "an empty line at the end of a text": contentOf([{ role: "user", content: "Hi\n" }]),
  "a digit that no double has": { ...contentOf([]), llmConfig: jsonText('{"a":0.12345678901234567890123}') },
};
for (const [name, content] of Object.entries(notHeld)) {
  test(`leaves ${name} to JSON`, () => assert.is(writeMarkdown(content), undefined));
}

const line = fc.oneof(
  fc.constantFrom(
    "",
    "# user",
    "\\# user",
    "# placeholder {{a}}",
    "---",
    "# system ",
    "{{a}}",
    " ",
    "```",
    "# x",
    "\r",
    "\ufeff",
  ),
  fc.string({ unit: "binary", maxLength: 20 }).map((text) => text.toWellFormed()),
);
const anyText = fc.array(line, { maxLength: 6 }).map((lines) => lines.join("\n"));
const declaration = fc.oneof(
  fc.record({ type: fc.constant("text"), example: anyText, description: anyText }, { requiredKeys: ["type"] }),
  fc.record({ type: fc.constant("number"), example: fc.double({ noNaN: true, noDefaultInfinity: true }) }),
  fc.record({ type: fc.constant("boolean"), example: fc.boolean(), required: fc.boolean() }),
  fc.record({
    type: fc.constant("messages"),
    example: fc.array(fc.record({ role: fc.constantFrom("user", "tool"), content: anyText }), { maxLength: 2 }),
  }),
);
const anyDeclarations = fc.option(
  fc.dictionary(fc.stringMatching(/^[\p{L}\p{N}_.$-]{1,4}$/u), declaration, { minKeys: 1, maxKeys: 3 }),
  { nil: undefined },
);
const anyContent = fc.record({
  title: anyText,
  description: anyText,
  messages: fc.array(fc.record({ role: fc.constantFrom("system", "user", "placeholder", "tool"), content: anyText })),
  llmConfig: fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue(), { maxKeys: 4 }),
  declared: anyDeclarations,
}).map(({ title, description, messages, llmConfig, declared }) =>
  contentOf(messages, llmConfig, {
    ...{ title, description },
    ...(declared === undefined ? {} : { declarations: jsonText(JSON.stringify(declared)) }),
  })
);

test("what is written reads back as it was, whatever was in the file before", () => {
  let written = 0, all = 0;
  fc.assert(
    fc.property(anyContent, anyContent, (content, other) => {
      all++;
      const before = writeMarkdown(other);
      for (const text of [writeMarkdown(content), writeMarkdown(content, before)]) {
        if (text === undefined) continue;
        written++;
        assert.is(canonicalOf(read(text) as FileContent), canonicalOf(content));
        assert.is(writeMarkdown(content, text), text);
      }
    }),
    { numRuns: isFull ? 1_000 : 40 },
  );
  assert.ok(written > all / 4, `${written} of ${2 * all}`);
});

test.run();
