// Every item is answered in the end, wherever between two readings of the clock its timeout falls.
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { groupCommit } from "../../src/ledger/group-commit.ts";
import type { GroupLimits } from "../../src/ledger/waiting-room.ts";

const test = suite("timeoutMs");

const limits: Omit<GroupLimits, "timeoutMs"> = { items: 100, size: 1000, waitingItems: 1000, waitingSize: 1000 };

/** A clock of which each look is a millisecond later than the one before. */
function steppingClock(): () => number {
  let looks = 0;
  return () => looks++;
}

/** Follows promises, of which none is left unhandled; `left` waits for them, and gives how many never settle. */
function follow(clock: () => number) {
  let pending = 0;
  const settle = () => void pending--;
  return {
    add(promise: Promise<unknown>) {
      pending++;
      promise.then(settle, settle);
    },
    async left() {
      for (let turn = 0; turn < 300 && pending > 0; turn++) {
        await new Promise((resolve) => setTimeout(resolve, 2));
        // Time goes on for those who are still to be looked at.
        for (let look = 0; look < 20; look++) clock();
      }
      return pending;
    },
  };
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

for (const failure of ["retryable", "indeterminate"] as const) {
  test(`every item of a group whose attempts stay ${failure} is rejected at its timeout`, async () => {
    for (const timeoutMs of upTo(12)) {
      const clock = steppingClock();
      const { submit } = groupCommit<number, number, undefined>(
        {
          begin: () => undefined,
          decide: (items) => items.length === 0 ? Promise.resolve(new Map()) : Promise.reject(new Error("no luck")),
          failureOf: () => failure,
          sizeOf: () => 1,
          ownerOf: () => "",
          conflictKey: () => undefined,
          isGone: () => false,
          isReadOnly: () => false,
        },
        { ...limits, timeoutMs },
        clock,
      );
      const { add, left } = follow(clock);
      for (const item of upTo(5)) add(submit(item));
      assert.is(await left(), 0, `with a timeout of ${timeoutMs} ms`);
    }
  });
}

test("every item that waits while a group is under way is decided or rejected", async () => {
  const clock = steppingClock();
  let release = () => {};
  const { submit } = groupCommit<number, number, undefined>(
    {
      begin: () => undefined,
      decide: async (items) => {
        if (items.includes(-1)) await new Promise<void>((resolve) => release = resolve);
        return new Map(items.map((item) => [item, item]));
      },
      failureOf: () => undefined,
      sizeOf: () => 1,
      ownerOf: () => "",
      conflictKey: () => undefined,
      isGone: () => false,
      isReadOnly: () => false,
    },
    { ...limits, timeoutMs: 1150 },
    clock,
  );
  const { add, left } = follow(clock);
  add(submit(-1));
  await new Promise((resolve) => setTimeout(resolve, 20));
  add(submit(0));
  for (let look = 0; look < 300; look++) clock();
  // When these are looked at, the one before them is overdue; while they are, they come to be.
  for (const item of upTo(900)) add(submit(item));
  await new Promise((resolve) => setTimeout(resolve, 350));
  release();
  assert.is(await left(), 0);
});

test.run();
