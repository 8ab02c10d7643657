// Which tests run, and the names of the others. It is apart from suite.ts because run.ts, which reads them, loads uvu itself.
import process from "node:process";

/** The names of the tests that were left out. */
export const otherNames: string[] = [];

/** Whether a test is to run: all are, unless TEST_NAME names one. */
export const isChosen = (name: string): boolean => (process.env.TEST_NAME ?? name) === name || leaveOut(name);

/** Notes that a test does not run. Returns false. */
export function leaveOut(name: string): false {
  otherNames.push(name);
  return false;
}
