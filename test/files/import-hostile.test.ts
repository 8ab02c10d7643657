// Importers given anything at all: each ends with prompts that are valid, or with faults.
// Runs on Node alone.
import fc from "fast-check";
import { parseDocument } from "yaml";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { Refusal } from "../../src/common/errors.ts";
import { sources } from "../../src/files/import/index.ts";
import * as v from "../../src/management/kernel/values.ts";
import { fileOf, fixtures, partsOf, read, readFixture } from "./imports.ts";

const test = suite("importers given anything");

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
  "spaces before a brace": `content: {{a}\n${" ".repeat(many)}{{`,
  "comments without an end": "{{!--{#{%raw%}".repeat(many / 7),
  "quotes in tags": '{{\'}}{{"}}\\"'.repeat(many / 10),
  "comments on one line": "{{!}}{##}".repeat(many / 9),
  "loops without an end": `---\nname: a\n---\n${"{% for a in b %}\n".repeat(many / 20)}{{a.role}}:`,
  "loops": "{% for a in b %}\nuser:\n{{a.text}}\n{% endfor %}\n".repeat(many / 40),
  "tags without an end of their own": `<system>${"<user><tool>".repeat(many / 12)}`,
  "licence lines": `${"# a\n\n".repeat(many / 5)}---\n`,
  "merge keys": `a: &a\n  b: 1\n${Array.from({ length: 90 }, (_, nth) => `c${nth}:\n  <<: *a\n`).join("")}`,
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
      return damaged(text.trim().split("\n").map((line) => JSON.parse(line) as unknown)).map((value) =>
        JSON.stringify(value)
      );
    }
    // JSON is YAML.
    const value: unknown = head === undefined ? JSON.parse(text) : parseDocument(head).toJS();
    return damaged(value).map((value) =>
      body === "" ? JSON.stringify(value) : `---\n${JSON.stringify(value)}\n---\n${body}`
    );
  }));
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
        await read(source, [fileOf(source, text)], { keepsLogic });
      }),
      { numRuns },
    ));
}

test.run();
