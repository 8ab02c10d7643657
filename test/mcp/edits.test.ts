// Edits of messages: those that match once change that place and nothing else.
// Runs on Node alone.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { jsonText, stringify } from "../../src/common/json-text.ts";
import { applyEdits } from "../../src/mcp/edits.ts";
import type { Edit } from "../../src/mcp/edits.ts";

const test = suite("MCP: edits");

type Message = { role: string; content: string | object[]; [more: string]: unknown };

const edited = (messages: Message[], edits: Edit[]): Message[] =>
  JSON.parse(applyEdits(jsonText(JSON.stringify(messages)), edits).text) as Message[];

// Few different characters, so that pieces occur more than once, and some that JSON escapes or String.replace reads.
const text = fc.array(fc.constantFrom("a", "b", "aa", "$&", '"', "\\", "\n", "é", "😀", "{{x}}"), { maxLength: 12 })
  .map((parts) => parts.join(""));
const piece = text.filter((value) => value !== "");
const part = fc.oneof(
  text.map((text) => ({ type: "text", text })),
  text.map((url) => ({ type: "image_url", image_url: { url } })),
);
const message = fc.record({
  role: fc.constantFrom("system", "user", "a"),
  content: fc.oneof(text, fc.array(part, { maxLength: 3 })),
}, { noNullPrototype: true }) as fc.Arbitrary<Message>;
const messages = fc.array(message, { maxLength: 4 });

/** The places of the texts of messages, by a plain walk. */
function textsOf(messages: Message[]): string[] {
  return messages.flatMap(({ content }) =>
    typeof content === "string"
      ? [content]
      : (content as { text?: unknown }[]).flatMap(({ text }) => typeof text === "string" ? [text] : [])
  );
}

const countIn = (text: string, piece: string): number =>
  Array.from({ length: text.length }, (_, at) => text.startsWith(piece, at)).filter(Boolean).length;

test("an edit is applied if it matches once in all texts, and refused otherwise", () => {
  fc.assert(fc.property(messages, piece, text, (messages, old, replacement) => {
    const texts = textsOf(messages);
    const count = texts.reduce((sum, one) => sum + countIn(one, old), 0);
    if (count !== 1) {
      assert.throws(() => edited(messages, [{ old, new: replacement }]), /must occur exactly once/);
      return;
    }
    const after = edited(messages, [{ old, new: replacement }]);
    const expected = texts.map((one) => one.split(old).join(replacement));
    assert.equal(textsOf(after), expected);
    const blank = (messages: Message[]) =>
      JSON.stringify(
        messages,
        (key, value: unknown) => typeof value === "string" && (key === "content" || key === "text") ? "" : value,
      );
    assert.is(blank(after), blank(messages));
  }));
});

test("an edit and its inverse leave the messages as they were", () => {
  const mark = "§";
  fc.assert(fc.property(messages, piece, (messages, old) => {
    fc.pre(textsOf(messages).reduce((sum, one) => sum + countIn(one, old), 0) === 1);
    const there = edited(messages, [{ old, new: mark }]);
    assert.equal(edited(there, [{ old: mark, new: old }]), messages);
    assert.equal(edited(messages, [{ old, new: mark }, { old: mark, new: old }]), messages);
  }));
});

test("edits follow each other", () => {
  fc.assert(
    fc.property(messages, fc.array(fc.record({ old: piece, new: text }), { maxLength: 4 }), (messages, edits) => {
      const apply = (run: () => Message[]) => {
        try {
          return JSON.stringify(run());
        } catch {
          return "refused";
        }
      };
      const atOnce = apply(() => edited(messages, edits));
      assert.is(atOnce, apply(() => edits.reduce((before, edit) => edited(before, [edit]), messages)));
    }),
  );
});

test("a text that was made to be slow to search takes no longer than others", () => {
  // `indexOf` would take many minutes.
  const half = "a".repeat(1_000_000);
  const began = performance.now();
  assert.throws(
    () => edited([{ role: "user", content: "a".repeat(4_000_000) }], [{ old: `${half}b${half}`, new: "" }]),
    /nowhere/,
  );
  assert.ok(performance.now() - began < 60_000);
});

test("what is not edited stays as it was written, in every digit and escape", () => {
  const source =
    '[{"role":"user","content":"\\u0041bc","seed":1.00},{"role":"user","content":[{"type":"text","text":"x"},{"n":1e2}]}]';
  const after = stringify(applyEdits(jsonText(source), [{ old: "x", new: "y" }]));
  assert.is(after, source.replace('"x"', '"y"'));
});

test.run();
