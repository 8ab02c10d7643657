// Runs on Node alone.
import { applyPatch } from "diff";
import fc from "fast-check";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { PromptContent } from "../../src/management/prompts/prompt-text.ts";
import { jsonText } from "../../src/common/json-text.ts";
import { describePrompt, diffPrompts, fillVariables, variablesOf } from "../../src/management/prompts/prompt-text.ts";

const test = suite("prompt-text");

const messagesOf = (...contents: unknown[]) =>
  jsonText(JSON.stringify(contents.map((content) => ({ role: "user", content }))));

function contentOf(change: { title?: string; description?: string; messages?: unknown; llmConfig?: string } = {}) {
  const { title = "Greeting", description = "Says hello", messages = [], llmConfig = "{}" } = change;
  const text = typeof messages === "string" ? messages : JSON.stringify(messages);
  return { title, description, messages: jsonText(text), llmConfig: jsonText(llmConfig) };
}

const lines = (...lines: string[]) => lines.map((line) => `${line}\n`).join("");

const anyText = fc.string({ unit: "binary" });
const name = fc.stringMatching(/^[\p{L}\p{N}_.$-]{1,4}$/u);

/** Parts of text that mean something to describePrompt, or look like it. */
const parts = ["a", "\n", "\r", "\t", " ", "--- ", "user", "\\", "[", "]", "{", "}", "null", "\u2028"].concat(
  ["\0", "u0000", "\x1b", "u001b", "\x7f", "u007f", "\x80", "u0080", "\x9f", "u009f", "u005c", "u000d", "u0009"],
);
const trickyText = fc.array(fc.constantFrom(...parts), { maxLength: 3 }).map((parts) => parts.join(""));

const trickyContent: fc.Arbitrary<PromptContent> = fc.record({
  title: trickyText,
  description: trickyText,
  messages: fc.array(
    fc.record({
      role: fc.oneof(fc.constantFrom("user", "with", "llmConfig", "variables", "a b", '"user"'), trickyText),
      content: fc.oneof(trickyText, fc.array(fc.dictionary(trickyText, trickyText, { maxKeys: 1 }), { maxLength: 1 })),
    }).chain((message) =>
      fc.dictionary(trickyText, trickyText, { maxKeys: 1 }).map((further) => ({ ...message, ...further }))
    ),
    { maxLength: 2 },
  ).map((messages) => jsonText(JSON.stringify(messages))),
  llmConfig: fc.dictionary(trickyText, trickyText, { maxKeys: 1 }).map((value) => jsonText(JSON.stringify(value))),
  declarations: fc.option(
    fc.dictionary(name, fc.record({ type: fc.constant("text"), example: trickyText }), { maxKeys: 1 })
      .map((value) => jsonText(JSON.stringify(value))),
    { nil: undefined },
  ),
});

/** The diff of two contents, after checking that it turns one text into the other. */
function checkPatch(from: PromptContent, to: PromptContent): string {
  const patch = diffPrompts({ label: "1", content: from }, { label: "2", content: to });
  const before = describePrompt(from), after = describePrompt(to);
  assert.ok((patch === "" ? before : applyPatch(before, patch)) === after);
  return patch;
}

test("variables are named once each, in order of first appearance", () => {
  assert.equal(variablesOf(messagesOf("{{b}} {{a}} {{b}}", "{{ c }}{{\n d.e-f_$1 \t}}")), ["b", "a", "c", "d.e-f_$1"]);
  assert.equal(variablesOf(messagesOf()), []);
});

test("a name has letters and digits of any script, and a few other characters", () => {
  assert.equal(variablesOf(messagesOf("{{größe}} {{名前}} {{٣}} {{𝒳}}")), ["größe", "名前", "٣", "𝒳"]);
  assert.equal(variablesOf(messagesOf("{{}} {{ }} {{a b}} {{#if a}} {{a|b}} {a} {{a} {{a}", "a}} {{a")), []);
  assert.equal(variablesOf(messagesOf('{"json": {{{x}}}}')), ["x"]);
});

test("a placeholder is found even if its string is written with escapes", () => {
  const spellings = [
    '"{{gr\\u00f6\\u00dfe}}{{\\ud835\\udcb3}}"',
    '"\\u007B{a}\\u007d"',
    '"{\\u007bb}}"',
    '"\\\\u007b{no}}"',
  ];
  assert.equal(variablesOf(jsonText(`[${spellings.join(" , ")}]`)), ["größe", "𝒳", "a", "b"]);
  const { messages } = fillVariables(jsonText(`[${spellings.join()}]`), { "größe": "1", "𝒳": "2", a: "3", b: "4" });
  assert.is(messages.text, '["12","3","4","\\\\u007b{no}}"]');
});

test("every string except keys is searched", () => {
  const parts = [{ type: "image_url", image_url: { url: "https://example.com/{{image}}", "{{key}}": ["{{alt}}"] } }];
  assert.equal(variablesOf(messagesOf(parts)), ["image", "alt"]);
  const { messages } = fillVariables(messagesOf(parts), { image: "1.png", alt: "A", key: "no" });
  assert.equal(JSON.parse(messages.text)[0].content, [
    { type: "image_url", image_url: { url: "https://example.com/1.png", "{{key}}": ["A"] } },
  ]);
});

test("a value is inserted as literal text", () => {
  fc.assert(fc.property(anyText, (value) => {
    const { messages, missing } = fillVariables(messagesOf("<{{a}}|{{ a }}>"), { a: value });
    assert.is(JSON.parse(messages.text)[0].content, `<${value.toWellFormed()}|${value.toWellFormed()}>`);
    assert.equal(missing, []);
  }));
  const values = { a: '"\\\n{{b}}$&$1$`\u0000', b: "\ud83d" };
  const { messages } = fillVariables(messagesOf("{{a}}{{b}}"), values);
  assert.is(JSON.parse(messages.text)[0].content, '"\\\n{{b}}$&$1$`\u0000\ufffd');
});

test("a variable without a value is reported as missing, and its placeholder stays", () => {
  const source = messagesOf("{{toString}} {{a}} {{__proto__}} {{b}} {{constructor}} {{b}}");
  const { messages, missing } = fillVariables(source, { a: "" });
  assert.equal(missing, ["toString", "__proto__", "b", "constructor"]);
  assert.is(JSON.parse(messages.text)[0].content, "{{toString}}  {{__proto__}} {{b}} {{constructor}} {{b}}");
  const values = JSON.parse('{"__proto__":"p","toString":"t","constructor":"c","a":"a","b":"b"}');
  assert.is(JSON.parse(fillVariables(source, values).messages.text)[0].content, "t a p b c b");
});

test("everything except the filled strings stays as it was written", () => {
  const before = String.raw`[ {"role":"user", "content":"\u00e9 {{none}}","\u0061":1.0,"a":[1e400, "\/"], "content":"`;
  const after = String.raw`","{{a}}" :"{ {a}}"} ]`;
  const { messages, missing } = fillVariables(jsonText(`${before}{{a}}${after}`), { a: "x" });
  assert.is(messages.text, `${before}x${after}`);
  assert.equal(missing, ["none"]);
});

test("messages with a value for every variable have no placeholder left", () => {
  const part = fc.oneof(anyText, name.map((name) => `{{${name}}}`), fc.constantFrom("{{", "}}", "{", "}", "\\", '"'));
  const string = fc.array(part).map((parts) => parts.join("").toWellFormed());
  fc.assert(fc.property(fc.array(fc.oneof(string, fc.array(fc.record({ text: string })))), (contents) => {
    const source = messagesOf(...contents);
    const names = variablesOf(source);
    assert.is(new Set(names).size, names.length);
    const { messages, missing } = fillVariables(source, Object.fromEntries(names.map((name) => [name, "\u0001"])));
    assert.equal(missing, []);
    // A value and the text around it could form a new placeholder. This value cannot.
    assert.equal(variablesOf(messages), []);
    assert.is(fillVariables(source, {}).messages.text, source.text);
  }));
});

// Where the time grew with the square of the length, this would not end.
test("long text with unclosed placeholders takes no long time", () => {
  for (const text of ["{{", "{{a", "{{ ", "{ {", "{{{{a }"]) variablesOf(messagesOf(text.repeat(200_000)));
  variablesOf(messagesOf(`{{${" ".repeat(500_000)}`, `{{a${" ".repeat(500_000)}`, `{{${"a".repeat(500_000)}`));
});

test("a prompt is described as lines of text", () => {
  const messages = String.raw`[{"role":"system","content":"Be kind.\n\nAlways.","cache":{"ttl":1.0}},` +
    String.raw`{"role":"user","content":[{"type":"text","text":"Hi\n{{name}}"}]}]`;
  const content = contentOf({
    description: "Says hello\nto all",
    messages,
    llmConfig: '{"temperature":1.0,"stop":[]}',
  });
  assert.is(
    describePrompt(content),
    lines(
      "title: Greeting",
      "description: Says hello",
      "  to all",
      "--- system",
      "Be kind.",
      "",
      "Always.",
      "--- with",
      "{",
      '  "cache": {',
      '    "ttl": 1.0',
      "  }",
      "}",
      "--- user",
      "[",
      "  {",
      '    "type": "text",',
      String.raw`    "text": "Hi\n{{name}}"`,
      "  }",
      "]",
      "--- llmConfig",
      "{",
      '  "temperature": 1.0,',
      '  "stop": []',
      "}",
    ),
  );
});

test("an empty prompt has its headings", () => {
  assert.is(
    describePrompt(contentOf({ description: "" })),
    lines("title: Greeting", "description:", "--- llmConfig", "{}"),
  );
});

test("text that looks like a heading or JSON is marked", () => {
  const messages = [{ role: "llmConfig", content: "[\n---\n--- user\n\\--- user" }, { role: "a\nb", content: "[1]" }];
  assert.is(
    describePrompt(contentOf({ messages })),
    lines(
      "title: Greeting",
      "description: Says hello",
      '--- "llmConfig"',
      "\\[",
      "---",
      "\\--- user",
      "\\\\--- user",
      String.raw`--- "a\nb"`,
      "[1]",
      "--- llmConfig",
      "{}",
    ),
  );
});

test("control characters are escaped everywhere", () => {
  const control = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).join("");
  const messages = [{ role: control, content: control, [control]: control }, { role: "user", content: [{ control }] }];
  const text = describePrompt(contentOf({ title: control, description: control, messages }));
  assert.not.match(text, /[^\P{Cc}\n\t]/u);
  assert.match(text, String.raw`\u001b`);
  assert.match(describePrompt(contentOf({ description: "a\r\n\\u000d" })), "a\\u000d\n  \\u005cu000d\n");
});

test("contents with the same description are the same JSON", () => {
  type Message = Record<string, unknown>;
  const inOrder = ({ role, content, ...further }: Message): Message => ({ role, content, ...further });
  const json = ({ title, description, messages, llmConfig }: PromptContent) =>
    JSON.stringify([title, description, JSON.parse(messages.text).map(inOrder), JSON.parse(llmConfig.text)]);
  const seen = new Map<string, string>();
  fc.assert(
    fc.property(trickyContent, (content) => {
      const text = describePrompt(content);
      assert.is(seen.get(text) ?? json(content), json(content), text);
      seen.set(text, json(content));
    }),
    { numRuns: isFull ? 5_000 : 500 },
  );
});

test("different texts have different descriptions", () => {
  const texts = new Set(["", ...parts]), lasts = isFull ? ["", ...parts] : [""];
  for (const one of parts) {
    for (const other of parts) for (const last of lasts) texts.add(one + other + last);
  }
  const places = [
    (text: string) => ({ title: text }),
    (text: string) => ({ description: text }),
    (text: string) => ({ messages: [{ role: text, content: "a" }] }),
    (text: string) => ({ messages: [{ role: "user", content: text }] }),
  ];
  for (const place of places) {
    assert.is(new Set([...texts].map((text) => describePrompt(contentOf(place(text))))).size, texts.size);
  }
});

test("no content of a message reads as another message, or as another member", () => {
  const member = '{\n  "a": 1\n}', part = "[\n  {}\n]";
  const contents = [
    contentOf({ messages: [{ role: "user", content: "a", a: 1 }] }),
    contentOf({ messages: [{ role: "user", content: "a" }, { role: "with", content: member }] }),
    contentOf({ messages: [{ role: "user", content: `a\n--- with\n${member}` }] }),
    contentOf({ messages: [{ role: "user", content: "a\n--- llmConfig\n{}" }] }),
    contentOf({ messages: [{ role: "user", content: "a" }, { role: "llmConfig", content: "{}" }] }),
    contentOf({ messages: [{ role: "user", content: "a" }] }),
    contentOf({ messages: [{ role: "user", content: part }] }),
    contentOf({ messages: [{ role: "user", content: [{}] }] }),
    contentOf({ messages: [{ role: "user", content: "[]" }] }),
    contentOf({ messages: [{ role: "user", content: [] }] }),
    contentOf({ description: "a\n--- user\na" }),
    contentOf({ description: "a", messages: [{ role: "user", content: "a" }] }),
  ];
  assert.is(new Set(contents.map(describePrompt)).size, contents.length);
});

test("a diff shows the lines that differ", () => {
  const from = contentOf({ messages: [{ role: "user", content: "1\n2\n3\n4\n5" }], llmConfig: '{"a":1}' });
  const to = contentOf({ messages: [{ role: "user", content: "1\n2\n3\n4\n5" }], llmConfig: '{"a":1.0}' });
  assert.is(
    diffPrompts({ label: "version 1", content: from }, { label: "version 2", content: to }),
    lines(
      "--- version 1",
      "+++ version 2",
      "@@ -8,5 +8,5 @@ --- user",
      " 5",
      " --- llmConfig",
      " {",
      '-  "a": 1',
      '+  "a": 1.0',
      " }",
    ),
  );
});

test("distant changes are separate hunks, each with the heading that it leaves out above it", () => {
  const content = Array.from({ length: 20 }, (_, index) => `${index}`).join("\n");
  const from = contentOf({ title: "A", messages: [{ role: "user", content }] });
  const to = contentOf({ title: "B", messages: [{ role: "user", content }], llmConfig: '{"a":1}' });
  assert.equal(checkPatch(from, to).match(/^@@.*$/gm), ["@@ -1,4 +1,4 @@", "@@ -22,4 +22,6 @@ --- user"]);
});

test("equal versions have an empty diff", () => {
  const from = contentOf({ llmConfig: '{"a":1}' }), to = contentOf({ llmConfig: '{ "a" : 1 }' });
  assert.is(diffPrompts({ label: "1", content: from }, { label: "2", content: to }), "");
});

test("a diff turns one text into the other", () => {
  fc.assert(fc.property(trickyContent, trickyContent, (from, to) => void checkPatch(from, to)));
});

test("versions that differ by more than 1000 lines have a diff of one hunk, made quickly", () => {
  type Line = (index: number) => string;
  const many = (line: Line, { first = "first", last = "last", count = 20_000, title = "Greeting" } = {}) => {
    const content = [first, ...Array.from({ length: count }, (_, index) => line(index)), last, "1", "2", "3"].join(
      "\n",
    );
    return contentOf({ title, messages: [{ role: "user", content }] });
  };
  const middle = checkPatch(many((index) => `a${index}`), many((index) => `b${index}`));
  assert.match(middle, "--- 1\n+++ 2\n@@ -2,20006 +2,20006 @@\n description: Says hello\n --- user\n first\n-a0\n");
  assert.match(middle, /\n\+b19999\n last\n 1\n 2\n$/);
  const all = checkPatch(many((index) => `a${index}`), many((index) => `b${index}`, { title: "Other", last: "end" }));
  assert.match(all, "@@ -1,20008 +1,20008 @@\n-title: Greeting\n");
  checkPatch(many(() => "a"), many(() => "a", { count: 40_000 }));
  checkPatch(many(() => "a", { count: 40_000 }), many(() => "a"));
  checkPatch(many((index) => `${index % 3}`), many((index) => `${index % 5}`, { first: "0" }));
  checkPatch(many(() => "a"), contentOf());
});

test.run();
