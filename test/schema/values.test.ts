// Texts that are bounded in characters, whatever they consist of.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { statusList } from "../../src/management/kernel/statuses.ts";
import { clientName, deployId, isRolloutKey } from "../../src/schema/values.ts";

const test = suite("texts");

/** Characters of one and of two UTF-16 units, and halves of such. */
const character = fc.constantFrom("x", "\u00e9", "\u{1f600}", "\u{10ffff}", "\ud83d");
const limits: [name: string, least: number, most: number, isAllowed: (value: string) => boolean][] = [
  ["the name of a client", 0, 512, (value) => clientName.is(value)],
  ["what names a deployment", 1, 300, (value) => deployId.is(value)],
  ["the key of a rollout", 1, 200, isRolloutKey],
  ["a list of statuses", 1, 1000, (value) => statusList.is(value)],
];

for (const [name, least, most, isAllowed] of limits) {
  test(`${name} has ${least} to ${most} characters`, () => {
    fc.assert(
      fc.property(
        character,
        character,
        fc.integer({ min: -2, max: 2 }),
        fc.nat({ max: 600 }),
        (one, other, near, nth) => {
          for (const count of [0, 1, most / 2 + near, most + near, 2 * most + near, 100 * most]) {
            const text = one.repeat(Math.min(nth, count)) + other.repeat(Math.max(0, count - nth)),
              { length } = [...text];
            assert.is(isAllowed(text), length >= least && length <= most, `${length} characters`);
          }
        },
      ),
    );
  });
}

test.run();
