// Variables in texts: how they are filled in, braces that are text, and variables that are not closed.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import fc from "fast-check";
import { fillText, placeholder, quoteBraces, unclosed } from "../../src/support/template.ts";

const test = suite("template");

/** The places as `line:column`. */
const placesIn = (text: string): string => unclosed(text).map(({ line, column }) => `${line}:${column}`).join(" ");

test("a variable without its second brace, or without both at the end of a line, is not closed", () => {
  for (
    const [text, places] of [
      ["Hello {{name}, welcome", "1:7"],
      ["Hello {{ name } and {{shop}}", "1:7"],
      ["Hello {{name", "1:7"],
      ["Hello {{ user.name \r\nof {{shop}} {{city\n", "1:7 2:13"],
      ["😀 {{name}", "1:3"],
      ["{{a} {{b} {{c}\r{{d}", "1:1 1:6 1:11 2:1"],
      ["{{{name}", "1:2"],
      ["{{über}", "1:1"],
    ] as const
  ) assert.is(placesIn(text), places, text);
});

test("what is closed, and what may be code or JSON, is left alone", () => {
  for (
    const text of [
      "{{name}} {{ name }} {{\nname\n}} {{ name\n}}",
      "{{}} {{ }} {{ {{{{ }} }",
      '{"a":{"b":1}} {{"a": 1} {{1, 2},',
      'style={{ color: "red",',
      "{{#if user}} {{> part}} {{x | upper}} {% if x %}",
      "\\frac{{a}{b}}",
      "f({{a, b})",
      "{name} {name",
    ]
  ) assert.is(placesIn(text), "", text);
});

test("each place, by its line and characters, is one where such a variable begins", () => {
  const parts = fc.array(fc.constantFrom("{{a}", "{{ b", "{{c}}", "\n", "x", "}", " ", "😀", "\r\n", "{{1}", "{"));
  fc.assert(fc.property(parts, (parts) => {
    const lines = parts.join("").split(/\r\n|\n/);
    for (const { line, column } of unclosed(parts.join(""))) {
      assert.match([...lines[line - 1]!].slice(column - 1).join(""), /^\{\{ *[abcx]+ *(?:$|\}(?!\}))/);
    }
  }));
});

test("a text in which all other braces are quoted is filled with them", () => {
  const parts = fc.array(
    fc.constantFrom("{", "{{", "}}", "}", '"', " ", "a", "{{a}}", '{{"{{"}}', "{{ a | b }}", "{% a %}"),
  );
  fc.assert(fc.property(parts, (parts) => {
    const text = parts.join(""), quoted = quoteBraces(text);
    assert.is(fillText(quoted, () => undefined), text);
    assert.is(fillText(quoted, () => "1"), text.replace(placeholder, "1"));
  }));
});

// Where the time grew with the square of the length, this would not end.
test("long texts take no long time", () => {
  for (const part of ["{{", "{{a}", "{{a ", "{{a} }", "{{a}\n", "{{ "]) unclosed(part.repeat(200_000));
  for (const part of [" ", "a", "{"]) unclosed(`{{a${part.repeat(500_000)}!`);
});

test.run();
