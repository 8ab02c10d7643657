// State of the tests of a process, apart from suite.ts because run.ts reads it and must not load uvu.
import process from "node:process";

/** The names of the tests that were left out. */
export const otherNames: string[] = [];

/** True if a test is to run: all are, unless TEST_NAME names one. */
export const isChosen = (name: string): boolean => (process.env.TEST_NAME ?? name) === name || leaveOut(name);

/** Notes that a test does not run. Returns false. */
export function leaveOut(name: string): false {
  otherNames.push(name);
  return false;
}

/** How a test ended. It has failed until it has passed: a `before` that throws fails all tests of its suite. */
export type Outcome = { name: string; state: "failed" | "passed" | "skipped" };

/** The outcomes of the file that runs. */
export const outcomes: Outcome[] = [];

/** The files for loader.ts to import. The next is asked for once the tests of the last are over. */
export const work: { files: AsyncIterator<string> } = { files: (async function* () {})() };
