// Folding of case, on all characters, or in part on those of the first two planes, which have all letters with two cases.
import fc from "fast-check";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { fold } from "../../src/support/fold.ts";

const test = suite("folding");

const codes = Array.from({ length: isFull ? 0x110000 : 0x20000 }, (_, code) => code);
const characters = codes.filter((code) => code < 0xd800 || code > 0xdfff).map((code) => String.fromCodePoint(code));

test("a character folds as its capital and its small letter do, and once folded stays", () => {
  const wrong = characters.filter((character) => {
    const forms = [character.toLowerCase(), character.toUpperCase(), fold(character)];
    return forms.some((form) => fold(form) !== fold(character));
  });
  assert.equal(wrong, []);
});

const alike = [
  "i̇stanbul İstanbul İSTANBUL",
  "straße STRASSE STRAẞE",
  "σοφός ΣΟΦΌΣ ΣΟΦΌς",
  "ıspartalı ISPARTALI",
  "ﬁx FIX",
];

test("words are the same in any case and language", () => {
  for (const words of alike) assert.is(new Set(words.split(" ").map(fold)).size, 1, words);
  for (const words of ["i̇ i", "ü u", "é É\u0301"]) assert.is(new Set(words.split(" ").map(fold)).size, 2, words);
});

test("parts of a text fold as they do in the whole", () => {
  const part = fc.array(fc.constantFrom(..."iIİıßẞσςΣéÉ\u0307\u0345ﬁ aK", "i̇"), { maxLength: 5 }).map((all) =>
    all.join("")
  );
  fc.assert(fc.property(part, part, (one, other) => assert.is(fold(one + other), fold(one) + fold(other))));
});

test.run();
