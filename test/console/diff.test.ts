// How differences are shown: by lines, and in lines that take the place of others by words.
// Runs on Node alone.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { toHtml } from "../../src/console/frame/html.ts";
import { Diff } from "../../src/console/frame/diff.tsx";
import { diffPrompts } from "../../src/management/prompts/prompt-text.ts";
import { toContent } from "../../src/management/prompts/versions.ts";
import { promptFile, toPrompt } from "../helpers.ts";

const test = suite("differences");

const contentWith = (text: string) =>
  toContent(toPrompt({ ...promptFile, messages: [{ role: "user", content: text }] }));

/** The difference of two prompts with these texts. */
const patchOf = (before: string, after: string): string =>
  diffPrompts({ label: "before", content: contentWith(before) }, { label: "after", content: contentWith(after) });

const show = (before: string, after: string): string =>
  toHtml(Diff({ text: patchOf(before, after), label: "Difference" }));

/** The lines that were removed or added, with the words that are marked in brackets. */
function changes(page: string): string[] {
  const lines = page.matchAll(/<(?:ins|del)><span class="sign">(.)<\/span>(.*?)\n<\/(?:ins|del)>/gs);
  return Array.from(lines, ([, sign, line]) => sign + line!.replaceAll("<b>", "[").replaceAll("</b>", "]"));
}

test("words are marked, not letters, and a mark goes on over the space between two words", () => {
  assert.equal(changes(show("Answer in one short sentence, please.", "Answer in two brief sentences, please.")), [
    "−Answer in [one short sentence], please.",
    "+Answer in [two brief sentences], please.",
  ]);
  assert.equal(changes(show("a friendly assistant of {{shop}}", "the assistant of {{store}}")), [
    "−[a friendly] assistant of {{[shop]}}",
    "+[the] assistant of {{[store]}}",
  ]);
});

test("lines that become more or fewer lines are compared too, and one that is new as a whole has no mark", () => {
  assert.equal(changes(show("Be brief. Be kind.", "Be brief.\nBe very kind.\nNever promise a refund.")), [
    "−Be brief. Be kind.",
    "+Be brief.",
    "+Be [very] kind.",
    "+Never promise a refund.",
  ]);
});

test("lines that are left out show the heading that they stand below", () => {
  const lines = Array.from({ length: 9 }, (_, nth) => `${nth}`).join("\n");
  const [, heading] = /<div class="hunk">(.*?)<\/div>/.exec(show(`${lines}\nold`, `${lines}\nnew`))!;
  assert.match(heading!, /⋯<\/span>--- user$/);
});

test("texts with little in common have no marks", () => {
  assert.not.match(show("alpha, beta, gamma!", "one two, three, four five!"), "<b>");
});

test("in long texts whole lines differ, and no time goes into words", () => {
  const words = (seed: number) => Array.from({ length: 20_000 }, (_, nth) => `w${nth * seed % 10_007}`).join(" ");
  for (const [before, after] of [[words(3), words(5)], ["x ".repeat(200_000), "y ".repeat(200_000)]] as const) {
    assert.not.match(show(before, after), "<b>");
  }
});

test("whatever two texts are, the lines without their marks are those of their difference, in order", () => {
  const words = [
    "a",
    "b",
    "{{x}}",
    "<b>",
    "é",
    "漢",
    "🙂",
    ",",
    " ",
    "  ",
    "\t",
    "\n",
    "\r",
    "-",
    "+",
    "@@",
    "\\",
    "--- ",
  ];
  const text = fc.array(fc.constantFrom(...words), { maxLength: 40 }).map((words) => words.join(""));
  const property = fc.property(text, text, (before, after) => {
    const patch = patchOf(before, after), page = toHtml(Diff({ text: patch, label: "Difference" }));
    const lines = patch.slice(patch.search(/^@@/m)).split("\n").filter((line) => /^[ +-]/.test(line));
    const shown = page.matchAll(
      /<(?:ins|del|span class="same")><span class="sign">(.?)<\/span>(.*?)\n<\/(?:ins|del|span)>/gs,
    );
    const unmarked = Array.from(shown, ([, sign, line]) => (sign || " ") + line!.replace(/<\/?b>/g, ""));
    assert.equal(unmarked, patch === "" ? [] : lines.map((line) => toHtml(line).replace(/^-/, "−")));
    assert.not.match(page, /<b>(<|\s)|\s<\/b>/);
  });
  fc.assert(property, { numRuns: 300 });
});

test.run();
