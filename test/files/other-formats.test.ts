// Prompt files in the formats of others: what is kept, what is left out with a word, and what stops a prompt.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { placeOf } from "../../src/files/formats/faults.ts";
import type { Report } from "../../src/files/formats/faults.ts";
import { readDotprompt } from "../../src/files/formats/dotprompt.ts";
import { readPromptYaml } from "../../src/files/formats/prompt-yaml.ts";
import { readPrompty } from "../../src/files/formats/prompty.ts";
import type { FileContent } from "../../src/files/formats/content.ts";
import type { ReadOptions } from "../../src/files/formats/prompty.ts";

const test = suite("prompt files of others");

type Read = (source: string, report: Report, options?: ReadOptions) => FileContent | undefined;

/** What a reader gives, and what it says, each as `line:column message`. */
function readWith(read: Read, source: string, options: ReadOptions = {}) {
  const said: string[] = [];
  const content = read(source, (offset, message, isWarning) => {
    const { line, column } = placeOf(source, offset);
    said.push(`${isWarning ? "warning " : ""}${line}:${column} ${message}`);
  }, options);
  if (content === undefined) return { content, said };
  const { title, description, messages, llmConfig } = content;
  return {
    content: { title, description, messages: JSON.parse(messages.text), llmConfig: JSON.parse(llmConfig.text) },
    said,
  };
}

test("GitHub's .prompt.yml keeps model, parameters and messages", () => {
  const source = `name: Summarizer
description: Short texts
model: openai/gpt-4o
modelParameters:
  temperature: 0.50
responseFormat: json_object
messages:
  - role: system
    content: You summarize {{kind}} texts.
  - role: user
    content: |
      {{input}}
testData:
  - input: a
`;
  assert.equal(readWith(readPromptYaml, source), {
    content: {
      title: "Summarizer",
      description: "Short texts",
      messages: [{ role: "system", content: "You summarize {{kind}} texts." }, {
        role: "user",
        content: "{{input}}\n",
      }],
      llmConfig: { provider: "openai", model: "gpt-4o", temperature: 0.5, responseFormat: "json_object" },
    },
    said: ["warning 13:1 Field testData is left out"],
  });
});

test("Prompty of version 1 and 2 keeps the model and its options, and leaves connections out", () => {
  const first = `---
name: Basic
authors: [ada]
model:
  api: chat
  configuration:
    type: azure_openai
    azure_deployment: gpt-4o
    api_key: \${env:KEY}
  parameters:
    temperature: 0
sample:
  question: Hi
---
You help {{name}}.
user:
{{question}}
`;
  assert.equal(readWith(readPrompty, first), {
    content: {
      title: "Basic",
      description: undefined,
      messages: [{ role: "system", content: "You help {{name}}." }, { role: "user", content: "{{question}}" }],
      llmConfig: { provider: "azure_openai", model: "gpt-4o", temperature: 0 },
    },
    said: [
      "warning 9:5 Field model.configuration.api_key is left out: it is ${env:KEY}, as the environment is not read",
      "warning 3:1 Field authors is left out",
      "warning 5:3 Field model.api is left out",
    ],
  });
  const second = `---
name: chat
displayName: Chat
model: { id: gpt-4o, provider: openai, connection: { kind: key, key: sk-1 }, options: { topP: 1 } }
inputs:
  - name: conversation
    kind: thread
---
# system:
Be short.
{{conversation}}
`;
  const { content } = readWith(readPrompty, second);
  assert.equal(content, {
    title: "Chat",
    description: undefined,
    messages: [{ role: "system", content: "Be short." }, { role: "placeholder", content: "{{conversation}}" }],
    llmConfig: { provider: "openai", model: "gpt-4o", topP: 1 },
  });
});

test("dotprompt keeps roles, history and variables", () => {
  const source = `---
model: googleai/gemini-flash
config:
  temperature: 0.7
output:
  format: json
---
{{role "system"}}
You help {{user.name}} of {{{shop}}}.
{{history}}
{{role 'user'}}
{{question}}
{{role "model"}}
Sure.
`;
  assert.equal(readWith(readDotprompt, source), {
    content: {
      title: undefined,
      description: undefined,
      messages: [
        { role: "system", content: "You help {{user.name}} of {{shop}}." },
        { role: "placeholder", content: "{{history}}" },
        { role: "user", content: "{{question}}" },
        { role: "assistant", content: "Sure." },
      ],
      llmConfig: { provider: "googleai", model: "gemini-flash", temperature: 0.7, output: { format: "json" } },
    },
    said: [],
  });
});

test("a text that has only comments is no message", () => {
  const dotprompt = readWith(
    readDotprompt,
    '{{! one }}\n\n{{role "system"}}\n{{! two }}\nYou help.\n{{role "user"}}\n{{!x}}\n',
  );
  assert.equal(dotprompt.content?.messages, [{ role: "system", content: "You help." }]);
  assert.is(dotprompt.said.filter((line) => /The comment .* is left out/.test(line)).length, 3);
  const prompty = readWith(readPrompty, "---\nname: a\n---\n{# one #}\nsystem:\nYou help.\n");
  assert.equal(prompty.content?.messages, [{ role: "system", content: "You help." }]);
});

test("a text of YAML with a colon says that it needs quotes", () => {
  const { said } = readWith(readPrompty, "---\nname: a\ndescription: Use when: x\n---\nuser:\nHi\n");
  assert.equal(said, ['3:14 A text with ": " in it needs quotes']);
});

const logic: Record<string, [read: Read, source: string, said: string[]]> = {
  "a condition in Prompty": [
    readPrompty,
    "---\nname: a\n---\nsystem:\n{% if x %}Hi{% endif %} {{ y | upper }}\n",
    [
      "5:1 {% if x %} is more than a variable",
      "5:13 {% endif %} is more than a variable",
      "5:25 {{ y | upper }} is more than a variable",
    ],
  ],
  "a block and a partial in dotprompt": [
    readDotprompt,
    "{{#if x}}Hi{{/if}}\n{{>other}} {{media url=photo}}",
    [
      "1:1 {{#if x}} is more than a variable",
      "1:12 {{/if}} is more than a variable",
      "2:1 {{>other}} is more than a variable",
      "2:12 {{media url=photo}} is more than a variable",
    ],
  ],
  "a section in .prompt.yml": [
    readPromptYaml,
    "messages:\n  - { role: user, content: '{{#a}}x{{/a}}' }\n",
    ["2:19 {{#a}} is more than a variable", "2:19 {{/a}} is more than a variable"],
  ],
};

for (const [name, [read, source, said]] of Object.entries(logic)) {
  test(`${name} stops the prompt at its place, unless it is kept as text`, () => {
    assert.equal(readWith(read, source), { content: undefined, said });
    assert.ok(readWith(read, source, { keepsLogic: true }).content !== undefined);
  });
}

test.run();
