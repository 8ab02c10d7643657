// uvu's suites, of which one test can be run alone, by its name.
import process from "node:process";
import { suite as uvuSuite } from "uvu";
import type { Test } from "uvu";

/** Whether a test is to run: all are, unless TEST_NAME names one. */
export const isChosen = (name: string): boolean => (process.env.TEST_NAME ?? name) === name;

/** Makes a suite, as uvu does. */
export function suite(name: string): Test {
  const test: Test = uvuSuite(name);
  return Object.assign(
    (title: string, run: Parameters<Test>[1]) => {
      if (isChosen(title)) test(title, run);
    },
    { before: test.before, after: test.after, only: test.only, skip: test.skip, run: test.run },
  );
}
