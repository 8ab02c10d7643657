// Tests that wait most of their time: some of a suite run at once, each is reported by its own name and in its turn.

import { isChosen, leaveOut } from "./outcomes.ts";
import { isFull } from "./suite.ts";

type Test = (name: string, run: () => Promise<void>) => void;

/** Gives a function that adds tests to a suite, of which so many run at a time from when the first is due. `full` adds one of CI. */
export function atOnce(test: Test, most: number): Test & { full: Test } {
  const waiting: (() => Promise<void>)[] = [];
  let isStarted = false;

  async function work(): Promise<void> {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await next();
  }

  const add: Test = (name, run) => {
    if (!isChosen(name)) return;
    let settle = (_outcome: Promise<void>) => {};
    const outcome = new Promise<void>((resolve) => settle = resolve);
    // Looked at later, by its test.
    outcome.catch(() => {});
    waiting.push(async () => {
      const running = run();
      settle(running);
      await running.catch(() => {});
    });
    test(name, () => {
      if (!isStarted) { for (let worker = 0; worker < most; worker++) void work(); }
      isStarted = true;
      return outcome;
    });
  };
  const full: Test = (name, run) => {
    if (isFull || leaveOut(name)) add(name, run);
  };
  return Object.assign(add, { full });
}
