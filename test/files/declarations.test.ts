// Variables as files declare them: read with their places, compared with the messages, and written as they were.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { jsonText } from "../../src/common/json-text.ts";
import { canonicalOf } from "../../src/files/formats/content.ts";
import { describeFault } from "../../src/files/formats/faults.ts";
import { checkPrompts, readFolder } from "../../src/files/folder.ts";
import { writeChanged, writeNew } from "../../src/files/write.ts";

const test = suite("declared variables");

/** What is wrong with a file. */
function faultsOf(path: string, source: string): string[] {
  const { prompts, faults } = readFolder(new Map([[path, source]]));
  return [...faults, ...checkPrompts(prompts)].map(describeFault);
}

const read = (path: string, source: string) => readFolder(new Map([[path, source]])).prompts[0]!;

const markdown = (variables: string, body: string) => `---\ntitle: A\nvariables:\n${variables}---\n${body}`;

test("a prompt whose variables are as declared has no fault, and neither has one that declares none", () => {
  const variables = "  shop: { type: text }\n  history: { type: messages, required: false }\n";
  const body = "# system\nOf {{shop}}\n\n# placeholder {{history}}\n";
  assert.equal(faultsOf("a.md", markdown(variables, body)), []);
  assert.equal(faultsOf("a.md", body), []);
  assert.equal(faultsOf("a.md", `---\nvariables: {}\n---\n${body}`), []);
});

test("variables that are used and not declared, declared and not used, or no whole message, are faults with their places", () => {
  const variables = "  shp: { type: text }\n  history:\n    type: messages\n";
  assert.equal(faultsOf("a.md", markdown(variables, "# user\nHi {{ shop }}\nof {{shop}} {{history}}\n")), [
    "a.md:9:4: Variable shop is not declared. Add it to variables, or correct its name",
    "a.md:4:3: Variable shp is declared and never used",
    "a.md:5:3: Variable history is declared as messages, so it must be the whole content of a message",
  ]);
});

const json = (variables: string) =>
  `{\n\t"variables": ${variables},\n\t"title": "A",\n\t"messages": [{ "role": "user", "content": "{{shop}}" }]\n}\n`;

test("the same in JSON, where variables may be the list that the service prints", () => {
  assert.equal(faultsOf("a.json", json('{ "shop": { "type": "text" } }')), []);
  assert.equal(faultsOf("a.json", json('["shop"]')), []);
  assert.is(read("a.json", json('["shop"]')).content.declarations, undefined);
  assert.equal(faultsOf("a.json", json('{\n\t\t"shp": { "type": "text" }\n\t}')), [
    "a.json:6:45: Variable shop is not declared. Add it to variables, or correct its name",
    "a.json:3:3: Variable shp is declared and never used",
  ]);
  assert.equal(faultsOf("a.json", json('{ "shop": { "type": "text", "example": 1 }, "a": { "type": "no" } }')), [
    "a.json:2:43: Field variables.shop.example must be a string",
    "a.json:2:66: Field variables.a.type must be one of text, number, boolean, messages",
  ]);
  assert.equal(faultsOf("a.json", json('"shop"')), ["a.json:2:2: Field variables must be an object"]);
});

test("too many declarations, and too long ones, are one fault", () => {
  const many = Array.from({ length: 201 }, (_, nth) => `  v${nth}: { type: text }\n`).join("");
  assert.equal(faultsOf("a.md", markdown(many, "")), ["a.md:3:1: Field variables must be at most 200 variables"]);
  const long = `  a: { type: text, example: ${"é".repeat(8_192)} }\n`;
  assert.equal(faultsOf("a.md", markdown(long, "")), ["a.md:3:1: Field variables must be at most 16384 bytes of JSON"]);
});

test("names that mean something else in code, YAML and JSON are names like any other", () => {
  for (const name of ["__proto__", "constructor", "1", "1.0", "true", "null", "a.b", "$", "größe", "-"]) {
    const content = {
      title: "A",
      description: "",
      messages: jsonText(JSON.stringify([{ role: "user", content: `{{${name}}}` }])),
      llmConfig: jsonText("{}"),
      declarations: jsonText(`{${JSON.stringify(name)}:{"type":"number","example":1.50}}`),
    };
    const { path, text } = writeNew("a", content);
    assert.equal([path, faultsOf(path, text)], ["a.md", []], text);
    const file = read(path, text);
    assert.is(canonicalOf(file.content), canonicalOf(content));
    // As JSON it is the same.
    const asJson = { ...content, messages: jsonText('[{"role":"critic","content":"Hi"}]') };
    const written = writeChanged(file, asJson, () => true)!;
    assert.is(written.path, "a.json");
    assert.is(canonicalOf(read("a.json", written.text).content), canonicalOf(asJson));
  }
});

test("a declaration that comes, changes or goes leaves the rest of a file as it is", () => {
  const source =
    "---\ntitle: A\n# Who buys\nvariables:\n  shop: { type: text } # their shop\n  n:\n    type: number\n---\n# user\n{{shop}} {{n}}\n";
  const file = read("a.md", source);
  const changed = jsonText('{"shop":{"type":"text","example":"Acme"},"n":{"type":"number"}}');
  assert.is(
    writeChanged(file, { ...file.content, declarations: changed }, () => true)!.text,
    source.replace("{ type: text }", "{ type: text, example: Acme }"),
  );
  assert.is(
    writeChanged(file, { ...file.content, declarations: undefined }, () => true)!.text,
    "---\ntitle: A\n---\n# user\n{{shop}} {{n}}\n",
  );
});

test.run();
