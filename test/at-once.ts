// Tests that wait most of their time: some of a suite run at once, each is reported by its own name and in its turn.
import { isChosen, leaveOut } from "./outcomes.ts";
import { isFull } from "./suite.ts";

type Test = (name: string, run: () => Promise<void>) => void;

/** Returns a function that adds tests to a suite, of which at most `max` run at a time from when the first is due. */
export function atOnce(test: Test, max: number): Test & { full: Test } {
  const waiting: (() => Promise<void>)[] = [];
  let workers = 0;

  async function work(): Promise<void> {
    // An error is for the test to report.
    for (let start = waiting.shift(); start !== undefined; start = waiting.shift()) await start().catch(() => {});
  }

  const add: Test = (name, run) => {
    if (!isChosen(name)) return;
    let begin = () => {};
    const outcome = new Promise<void>((resolve) => begin = resolve).then(run);
    waiting.push(() => {
      begin();
      return outcome;
    });
    test(name, () => {
      while (workers < max) {
        workers++;
        void work();
      }
      return outcome;
    });
  };
  const full: Test = (name, run) => {
    if (isFull || leaveOut(name)) add(name, run);
  };
  return Object.assign(add, { full });
}
