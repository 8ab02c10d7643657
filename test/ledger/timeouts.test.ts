// Every item is decided or rejected in the end, wherever between two readings of the clock its timeout falls.
// Runs on every runtime.
import { suite } from "../suite.ts";
import { groupCommit } from "../../src/ledger/group-commit.ts";
import { until } from "../conformance/processes.ts";

const test = suite("timeouts");

/** Starts a group commit of numbers. */
function start(
  clock: () => number,
  timeoutMs: number,
  decide: (items: number[]) => Promise<Map<number, number>>,
  failure?: "retryable" | "indeterminate",
) {
  return groupCommit<number, number, undefined>(
    {
      begin: () => undefined,
      decide,
      failureOf: () => failure,
      sizeOf: () => 1,
      ownerOf: () => "",
      conflictKey: () => undefined,
      isGone: () => false,
      isReadOnly: () => false,
    },
    { items: 100, size: 1000, waitingItems: 1000, waitingSize: 1000, timeoutMs },
    clock,
  ).submit;
}

/** A clock that is a millisecond later at each reading, and how often it was read. */
function steppingClock() {
  const clock = () => clock.readings++;
  clock.readings = 0;
  return clock;
}

/** Handles promises. `settled` waits for them. */
function follow(clock: () => number) {
  let pending = 0;
  const settle = () => void pending--;
  return {
    add(promise: Promise<unknown>) {
      pending++;
      promise.then(settle, settle);
    },
    settled: () =>
      until(() => {
        // Time passes for the remaining items.
        for (let reading = 0; reading < 20; reading++) clock();
        return pending === 0;
      }),
  };
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

for (const failure of ["retryable", "indeterminate"] as const) {
  test(`every item of a group whose attempts stay ${failure} is rejected at its timeout`, async () => {
    for (const timeoutMs of upTo(12)) {
      const clock = steppingClock();
      const fail = (items: number[]) =>
        items.length === 0 ? Promise.resolve(new Map()) : Promise.reject(new Error("no luck"));
      const submit = start(clock, timeoutMs, fail, failure);
      const { add, settled } = follow(clock);
      for (const item of upTo(5)) add(submit(item));
      await settled();
    }
  });
}

test("every item that waits while a group is under way is decided or rejected", async () => {
  const clock = steppingClock();
  let release: (() => void) | undefined;
  const submit = start(clock, 1150, async (items) => {
    if (items.includes(-1)) await new Promise<void>((resolve) => release = resolve);
    return new Map(items.map((item) => [item, item]));
  });
  const { add, settled } = follow(clock);
  add(submit(-1));
  await until(() => release !== undefined);
  add(submit(0));
  for (let reading = 0; reading < 300; reading++) clock();
  // When the sweep reaches these items, the one before them is overdue. They become overdue during the sweep.
  for (const item of upTo(900)) add(submit(item));
  // Meanwhile nothing else reads the clock.
  const before = clock.readings;
  await until(() => clock.readings > before);
  release!();
  await settled();
});

test.run();
