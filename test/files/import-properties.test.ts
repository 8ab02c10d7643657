// Laws of importers for any content: what a tool would send is what a prompt here sends, and how a file is written changes nothing.
// Runs on Node alone.
import fc from "fast-check";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { fillText } from "../../src/support/template.ts";
import { distinctNames, toLabel, toName } from "../../src/files/import/names.ts";
import * as v from "../../src/management/kernel/values.ts";
import { canonicalOf } from "../../src/files/formats/content.ts";
import { asFile, exportOf, filesOf, read, rolesAndTexts, shown } from "./imports.ts";
import { sources } from "../../src/files/import/index.ts";
import type { ImportedFile } from "../../src/files/import/reader.ts";

const test = suite("laws of imports");

const numRuns = isFull ? 3000 : 200;

/** Parts of a template, each as it is written and as its tool sends it. `x` is a variable with the value `X`. */
type Parts = [source: string, sent: string][];

const literal = (...texts: string[]): Parts => texts.map((text) => [text, text]);
const texts = literal("a", " ", "\n", "é", "客服", '"', "'", "\\n", "$", "#", "%", "<b>", "\t");

/** A tool by one of its files, with the parts that its templates have, and a file with a template as its only text. */
type Tool = { parts: Parts; file(template: string): ImportedFile };

const manifest = (template_format: string) => (template: string) =>
  exportOf("langsmith", {
    ...{ lc: 1, type: "constructor", id: ["langchain_core", "prompts", "prompt", "PromptTemplate"] },
    kwargs: { template, template_format, input_variables: ["x"] },
  });

const tools: Record<string, Tool> = {
  langfuse: {
    parts: [
      ...[["{{x}}", "X"], ["{{ x }}", "X"], ["{{{x}}}", "X"], ["{{& x}}", "X"], ["a{{! c }}b", "ab"]] satisfies Parts,
      ...literal("{ ", "} ", "}} "),
    ],
    file: (prompt) => exportOf("langfuse", { name: "p", version: 1, prompt }),
  },
  dotprompt: {
    parts: [
      ...[["{{x}}", "X"], ["{{{x}}}", "X"], ["|\\{{x}}", "|{{x}}"], ["|{{!-- c }} --}}|", "||"], [
        "|{{~x~}}|",
        "|X|",
      ]] satisfies Parts,
      ...literal("{ ", "} "),
    ],
    file: (template) => ({ path: "p.prompt", text: `---\nmodel: a/b\n---\n${template}` }),
  },
  prompty: {
    parts: [
      ...[["{{x}}", "X"], ["|{{-x-}}|", "|X|"], ["{# c #}", ""], [
        "{% raw %}{{x}}{% endraw %}",
        "{{x}}",
      ]] satisfies Parts,
      ...[["{{ '{{' }}", "{{"], ["|{%- raw -%} {%x%} {%- endraw -%}|", "|{%x%}|"]] satisfies Parts,
      ...literal("{ ", "}", "}}"),
    ],
    file: (template) => ({ path: "p.prompty", text: `---\nname: p\n---\nuser:\n${template}` }),
  },
  langsmith: {
    parts: [["{x}", "X"], ["{{", "{"], ["}}", "}"], ["{{x}}", "{x}"], ["{{{{x}}}}", "{{x}}"], ...literal("a\n")],
    file: manifest("f-string"),
  },
  mustache: { parts: [["{{x}}", "X"], ...literal("{x}", "{}", "{ ", "} ")], file: manifest("mustache") },
  literal: {
    parts: literal("{{x}}", "{x}", "{", "{{#x}}", "{% if %}", '{{"{{"}}', "{{", "}}", "{{{", "}"),
    file: (content) =>
      exportOf("langsmith", {
        ...{ lc: 1, type: "constructor", id: ["langchain_core", "prompts", "chat", "ChatPromptTemplate"] },
        kwargs: { messages: [{ lc: 1, type: "constructor", id: ["HumanMessage"], kwargs: { content } }] },
      }),
  },
  promptlayer: {
    parts: [["{x}", "X"], ["{{", "{"], ["}}", "}"]],
    file: (text) => {
      const content = [{ type: "text", text }];
      return exportOf("promptlayer", { prompt_name: "p", prompt_template: { type: "completion", content } });
    },
  },
  helicone: {
    parts: [["{{hc:x:string}}", "X"], ["{{hc:x}}", "X"], ...literal("{{x}}", "{x}", "{", "}}")],
    file: (content) => exportOf("helicone", { name: "p", prompt_body: { messages: [{ role: "user", content }] } }),
  },
  agents: {
    parts: [["${input:x}", "X"], ["${input:x:a hint}", "X"], ...literal("{{x}}", "{", "}}")],
    file: (text) => ({ path: "p.prompt.md", text: `---\ndescription: d\n---\n${text}` }),
  },
};

for (const [name, { parts, file }] of Object.entries(tools)) {
  test(`a template of ${name} is sent here as it is there`, () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...parts, ...texts)), async (own) => {
        // Text around it, so that nothing is at the edge of the message.
        const join = (nth: 0 | 1) => `|${own.map((part) => part[nth]).join("")}|`;
        const { prompts: [prompt], faults } = await read(undefined, [file(join(0))]);
        assert.equal(faults, []);
        const sent = rolesAndTexts(prompt!).map(([, text]) => fillText(text, (name) => name === "x" ? "X" : undefined));
        assert.equal(sent, [join(1)]);
        assert.equal(asFile(prompt!), canonicalOf(prompt!.versions[0]!));
      }),
      { numRuns },
    ));
}

type Turn = [role: string, text: string];

/** Chats as files, in each format that has roles in its own way. */
const chats: Record<string, (turns: Turn[]) => ImportedFile> = {
  prompty: (turns) => ({
    path: "p.prompty",
    text: `---\nname: p\n---\n${turns.map(([role, text]) => `# ${role}:\n${text}\n`).join("\n")}`,
  }),
  dotprompt: (turns) => ({
    path: "p.prompt",
    text: turns.map(([role, text]) => `{{role "${role === "assistant" ? "model" : role}"}}\n${text}\n`).join(""),
  }),
  humanloop: (turns) => ({
    path: "p.prompt",
    text: `---\nmodel: m\n---\n${
      turns.map(([role, text]) => `<${role}>\n${text.replace(/^/gm, "  ")}\n</${role}>\n`).join("\n")
    }`,
  }),
  litellm: (turns) => {
    const lines = turns.map(([role, text]) => `${role[0]!.toUpperCase()}${role.slice(1)}: ${text}`);
    return exportOf("litellm", { prompt_id: "p", litellm_params: { dotprompt_content: lines.join("\n") } });
  },
  langfuse: (turns) =>
    exportOf("langfuse", { name: "p", version: 1, prompt: turns.map(([role, content]) => ({ role, content })) }),
  openai: (turns) => exportOf("openai", { messages: turns.map(([role, content]) => ({ role, content })) }),
  promptfoo: (turns) => ({
    path: "promptfooconfig.yaml",
    text: JSON.stringify({
      prompts: [JSON.stringify(turns.map(([role, content]) => ({ role, content })))],
      providers: [],
    }),
  }),
};

const line = fc.constantFrom(
  "Hello",
  "客服 é",
  "- a: b",
  "# Title",
  "user",
  "system prompt:",
  "a  b",
  "{{x}}",
  "--- a",
  "end:",
);
const turn = fc.tuple(
  fc.constantFrom("system", "user", "assistant"),
  fc.array(line, { minLength: 1, maxLength: 4 }).map((lines) => lines.join("\n")),
);

for (const [name, file] of Object.entries(chats)) {
  test(`a chat of ${name} keeps the role and the text of each message`, () =>
    fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 5 }), async (turns) => {
        const { prompts: [prompt], faults } = await read(undefined, [file(turns)]);
        assert.equal(faults, []);
        assert.equal(rolesAndTexts(prompt!), turns);
        assert.equal(asFile(prompt!), canonicalOf(prompt!.versions[0]!));
      }),
      { numRuns: numRuns / 2 },
    ));
}

for (const source of sources) {
  test(`a file of ${source} reads alike with the line ends and the mark of Windows, and with blank lines around it`, async () => {
    for (const { path, text } of await filesOf(source)) {
      const original = await read(source, [{ path, text }]);
      const variants = [
        `\ufeff${text}`,
        text.replaceAll("\n", "\r\n"),
        `\ufeff\r\n${text.replaceAll("\n", "\r\n")}\r\n\r\n`,
        text.replaceAll("\n", "\r"),
        text.replace(/^---$/gm, "---\t "),
      ];
      for (const variant of variants) {
        const { prompts, left } = await read(source, [{ path, text: variant }]);
        assert.equal(shown(prompts), shown(original.prompts), JSON.stringify(variant.slice(0, 40)));
        assert.is(left.length, original.left.length);
      }
    }
  });
}

const heads: Record<string, string[]> = {
  "p.prompty": ["", " ", "\t"],
  "p.prompt": ["", " ", "# Licence", "#", "# a: b"],
  "p.agent.md": ["", " ", "\t"],
};

for (const [path, lines] of Object.entries(heads)) {
  test(`front matter of ${path} is no message, whatever stands before it, or a warning says so`, () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(fc.constantFrom(...lines), fc.constantFrom("Hello", "// a"))),
        fc.constantFrom("---", "--- ", "+++"),
        fc.constantFrom("\n", "\r\n"),
        fc.constantFrom(
          "model: m\nname: hidden-value",
          "\n\nname: hidden-value",
          "# c\nname: hidden-value",
          "name = 'hidden-value'",
        ),
        async (before, fence, end, head) => {
          const text = [...before, fence, head.replaceAll("\n", end), fence, "Hi {{x}}", ""].join(end);
          const { prompts, left, faults } = await read(undefined, [{ path, text }]);
          const isSent = prompts.some((prompt) =>
            rolesAndTexts(prompt).some(([, own]) => own.includes("hidden-value"))
          );
          const isNamed = [...left, ...faults].some((line) => /front matter|YAML|mapping/i.test(line));
          assert.ok(!isSent || isNamed, JSON.stringify({ text, left, faults }));
          assert.ok(prompts.length > 0 || faults.length > 0);
          // Lines that a format allows before front matter change nothing.
          if (before.every((line) => lines.includes(line)) && fence.startsWith("---") && !head.includes("=")) {
            assert.not(isSent, JSON.stringify(text));
          }
        },
      ),
      { numRuns },
    ));
}

const title = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 12 }),
  fc.stringMatching(/^[ab]{0,3}[ /._-]?[AB]{0,3}$/),
  fc.constantFrom("客服", "客服助手", "Über", "Uber", "uber", "e\u0301", "é", "🙂", "🙃", "..", "/", "a//b", " "),
);

for (
  const [noun, toOwn, isName] of [
    ["prompts", toName, (name: string) => v.promptName.is(name)],
    ["labels", toLabel, (name: string) => v.deploymentName.is(name)],
  ] as const
) {
  test(`names of ${noun} are valid, and no two become one, in any order`, () =>
    fc.assert(
      fc.property(fc.uniqueArray(title, { selector: (text) => text.normalize("NFC").trim() }), (titles) => {
        const names = distinctNames(titles, toOwn);
        assert.ok([...names.values()].every(isName), JSON.stringify([...names]));
        assert.is(new Set(names.values()).size, titles.length, JSON.stringify([...names]));
        assert.equal(new Map([...distinctNames(titles.toReversed(), toOwn)].toReversed()), names);
      }),
      { numRuns },
    ));
}

/** A JSON schema, whose properties have any names. */
const property = fc.constantFrom("password", "api_key", "private_key", "token", "cookie", "connection", "name");
const schema = fc.letrec<{ schema: unknown }>((tie) => ({
  schema: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom({ type: "string" }, { type: "string", description: "A secret: sk-…" }, {
      type: "number",
      minimum: 1,
    }),
    fc.dictionary(property, tie("schema"), { noNullPrototype: true }).map((properties) => ({
      type: "object",
      properties,
    })),
    fc.dictionary(property, tie("schema"), { minKeys: 1, noNullPrototype: true }).map((properties) => ({
      ...{ type: "object", properties },
      required: Object.keys(properties),
    })),
    tie("schema").map((items) => ({ type: "array", items })),
  ),
})).schema;

test("no part of a JSON schema is taken for a secret, and all else that may be one is left out or kept by its name", () =>
  fc.assert(
    fc.asyncProperty(
      schema,
      property,
      fc.constantFrom("json_schema", "parameters", "input_schema", "schema", "responseSchema"),
      fc.boolean(),
      async (own, member, wrapper, keeps) => {
        const short = { name: "g", parameters: { [member]: { kind: "string" } } };
        const config = {
          model: "m",
          tools: [{ name: "f", [wrapper]: own }, short],
          deep: [{ [member]: "hidden-value" }],
        };
        const file = exportOf("langfuse", { name: "p", version: 1, prompt: "Hi", config });
        const { prompts: [prompt], left } = await read(undefined, [file], keeps ? { keeps: [`deep.0.${member}`] } : {});
        const kept = JSON.parse(prompt!.versions[0]!.llmConfig.text) as typeof config;
        assert.equal(kept.tools, config.tools);
        const isSecret = member !== "name";
        assert.equal(kept.deep, isSecret && !keeps ? [{}] : config.deep);
        assert.equal(left.length, isSecret && !keeps ? 1 : 0, left.join());
      },
    ),
    { numRuns: numRuns / 2 },
  ));

test.run();
