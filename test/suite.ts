// uvu's suites, of which one test can be run alone, by its name, and which may have tests for CI.
import process from "node:process";
import fc from "fast-check";
import { suite as uvuSuite } from "uvu";
import type { Callback, Test } from "uvu";
import { isChosen, leaveOut, outcomes } from "./outcomes.ts";
import type { Outcome } from "./outcomes.ts";

/** Where random tests begin: each run makes the same cases, so that a run fails for a change and not by chance. */
export const seed = Number(process.env.SEED ?? 20261115);
// uvu prints the message of an error and not its cause, so the message says what did not hold.
fc.configureGlobal({ seed, includeErrorInReport: true });

/** Whether tests run in full, as in CI. `npm test` runs a small form of what is exhaustive. */
export const isFull = process.env.TEST_SCOPE === "full";

type Add = (title: string, run: Callback) => void;

/** A suite of uvu. `test.full` adds a test that runs in full alone. */
type Suite = Test & { full: Add };

/** Makes a suite. */
export function suite(name: string): Suite {
  const test: Test = uvuSuite(name);
  const addTo = (to: Add): Add => (title, run) => {
    if (!isChosen(title)) return;
    const outcome: Outcome = { name: title, state: "failed" };
    outcomes.push(outcome);
    to(title, async (context) => {
      await run(context);
      outcome.state = "passed";
    });
  };
  const add = addTo(test);
  const full: Add = (title, run) => {
    if (isFull || leaveOut(title)) add(title, run);
  };
  const skip = (title = "") => {
    outcomes.push({ name: title, state: "skipped" });
    test.skip();
  };
  // uvu drops what this hook throws.
  const before = (hook: Callback) =>
    test.before(async (context) => {
      try {
        await hook(context);
      } catch (error) {
        console.log(error);
        throw error;
      }
    });
  const { after, run } = test;
  return Object.assign(add, {
    before: Object.assign(before, { each: test.before.each }),
    after,
    only: addTo(test.only),
    skip,
    full,
    run,
  });
}
