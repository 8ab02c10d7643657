// uvu's suites, of which one test can be run alone, by its name, and which may have tests for CI.
import process from "node:process";
import fc from "fast-check";
import { suite as uvuSuite } from "uvu";
import type { Test } from "uvu";
import { isChosen, leaveOut } from "./chosen.ts";

/** Where random tests begin: each run makes the same cases, so that a run fails for a change and not by chance. */
export const seed = Number(process.env.SEED ?? 20261115);
// uvu prints the message of an error and not its cause, so the message says what did not hold.
fc.configureGlobal({ seed, includeErrorInReport: true });

/** Whether tests run in full, as in CI. `npm test` runs a small form of what is exhaustive. */
export const isFull = process.env.TEST_SCOPE === "full";

type Add = (title: string, run: Parameters<Test>[1]) => void;

/** A suite of uvu. `test.full` adds a test that runs in full alone. */
type Suite = Test & { full: Add };

/** Makes a suite. */
export function suite(name: string): Suite {
  const test: Test = uvuSuite(name);
  const add: Add = (title, run) => {
    if (isChosen(title)) test(title, run);
  };
  const full: Add = (title, run) => {
    if (isFull || leaveOut(title)) add(title, run);
  };
  const { before, after, only, skip, run } = test;
  return Object.assign((title: string, run: Parameters<Test>[1]) => add(title, run), {
    ...{ before, after, only, skip, run, full },
  });
}
