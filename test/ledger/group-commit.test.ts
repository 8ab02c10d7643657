// Runs on every runtime.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { Refusal } from "../../src/common/errors.ts";
import { groupCommit } from "../../src/ledger/group-commit.ts";
import type { GroupLimits } from "../../src/ledger/waiting-room.ts";

const test = suite("group commit");

/** Compared by identity. */
type Attempt = Record<string, never>;
type Decide = (items: string[], attempt: Attempt) => Promise<Map<string, string>>;

/** Decides all items: the result of a text is the text in capitals. */
const decideAll: Decide = (items) => Promise.resolve(new Map(items.map((item) => [item, item.toUpperCase()])));

const failing = (failure: "retryable" | "indeterminate" | "rejected" | undefined, message = "no luck") =>
  new Error(message, { cause: failure });

const wide: GroupLimits = { items: 100, size: 1000, waitingItems: 1000, waitingSize: 10_000, timeoutMs: 60_000 };

/**
 * A group commit of texts, with lists of its groups and attempts. The size of a text is its length. A text up to a slash is
 * its owner, and a text up to a colon its conflict key.
 */
function start(
  decide: Decide = decideAll,
  limits: Partial<GroupLimits> = {},
  begin = (): Attempt => ({}),
  clock?: () => number,
) {
  const groups: string[] = [];
  const attempts: Attempt[] = [];
  const { submit } = groupCommit<string, string, Attempt>(
    {
      begin,
      decide: (items, attempt) => {
        groups.push(items.join(" "));
        attempts.push(attempt);
        return decide(items, attempt);
      },
      failureOf: (error) => (error as { cause?: "retryable" | "indeterminate" | "rejected" }).cause,
      sizeOf: (item) => item.length,
      ownerOf: (item) => /^(.*)\//.exec(item)?.[1] ?? "",
      conflictKey: (item) => /^(.*):/.exec(item)?.[1],
      isGone(item) {
        if (item === "odd") throw new Error("nobody knows");
        return item.startsWith("gone");
      },
      isReadOnly: (item) => item.startsWith("read"),
    },
    { ...wide, ...limits },
    clock,
  );
  const submitAll = (texts: string) => Promise.all(texts.split(" ").map(submit));
  const settleAll = (texts: string) => Promise.allSettled(texts.split(" ").map(submit));
  return { submit, submitAll, settleAll, groups, attempts };
}

/** Decides all items of a group once that is released. */
function hold() {
  const held: (() => void)[] = [];
  const decide: Decide = async (items, attempt) => {
    await new Promise<void>((resolve) => held.push(resolve));
    return decideAll(items, attempt);
  };
  return { decide, release: () => held.shift()!() };
}

const nextTick = () => new Promise((resolve) => setTimeout(resolve));

async function until(holds: () => boolean): Promise<void> {
  for (let tick = 0; tick < 100_000 && !holds(); tick++) await nextTick();
  assert.ok(holds(), String(holds));
}

/** The results of promises, or the messages of their errors. */
const outcomes = (settled: PromiseSettledResult<string>[]) =>
  settled.map((one) => one.status === "fulfilled" ? one.value : (one.reason as Error).message);

test("while nothing can be written, items that write nothing are decided without the others", async () => {
  const { settleAll, groups } = start((items, attempt) => {
    if (items.some((item) => !item.startsWith("read"))) throw failing(undefined, "disk full");
    return decideAll(items, attempt);
  });
  assert.equal(outcomes(await settleAll("a read1 b read2")), ["disk full", "READ1", "disk full", "READ2"]);
  assert.equal(groups, ["a read1 b read2", "read1 read2"]);
});

test("items that arrive in one tick of the event loop are decided together, in order of arrival", async () => {
  const { submit, submitAll, groups } = start();
  const first = submit("b");
  for (let step = 0; step < 100; step++) await Promise.resolve();
  assert.equal([await submitAll("a d c"), await first], [["A", "D", "C"], "B"]);
  assert.equal(groups, ["b a d c"]);
});

test("items that arrive while a group is under way wait for its end, and form the next group", async () => {
  const { decide, release } = hold();
  const { submit, groups } = start(decide);
  const results = [submit("a")];
  await until(() => groups.length === 1);
  for (const item of ["b", "c"]) {
    results.push(submit(item));
    await nextTick();
  }
  assert.equal(groups, ["a"]);
  release();
  await until(() => groups.length === 2);
  release();
  assert.equal([await Promise.all(results), groups], [["A", "B", "C"], ["a", "b c"]]);
});

/** A group commit in which a group with `a` takes `took` ms on its clock, which can be set. */
function startSlow(took: number) {
  const clock = { now: 0 };
  const decide: Decide = (items, attempt) => {
    if (items.includes("a")) clock.now += took;
    return decideAll(items, attempt);
  };
  return { clock, ...start(decide, {}, undefined, () => clock.now) };
}

test("after a slow group, the next one waits for as many items, which arrive a little later one by one", async () => {
  const { submit, submitAll, groups } = startSlow(1000);
  await submitAll("a b c");
  const results = [];
  for (const item of ["d", "e", "f"]) {
    results.push(submit(item));
    for (let tick = 0; tick < 5; tick++) await nextTick();
  }
  await Promise.all(results);
  assert.equal(groups, ["a b c", "d e f"]);
});

test("a group waits no longer if no others follow, or if the slow group ended long ago", async () => {
  const followed = startSlow(8);
  await followed.submitAll("a b c");
  assert.equal([await followed.submit("d"), followed.groups], ["D", ["a b c", "d"]]);

  const forever = startSlow(1e9);
  await forever.submitAll("a b c");
  forever.clock.now *= 3;
  assert.equal([await forever.submit("d"), forever.groups], ["D", ["a b c", "d"]]);
});

test("however long a group took, as in an outage, the next one waits for others only briefly", async () => {
  const { submit, submitAll, groups } = startSlow(1e9);
  await submitAll("a b c");
  assert.equal([await submit("d"), groups], ["D", ["a b c", "d"]]);
});

test("an item that is alone again and again never waits for others", async () => {
  const { submit, groups } = startSlow(1e9);
  assert.equal([await submit("a"), await submit("b"), groups], ["A", "B", ["a", "b"]]);
});

test("however items arrive, one group is under way at a time, and each item is decided once and in order", async () => {
  const burst = fc.record({ size: fc.integer({ min: 1, max: 8 }), ticks: fc.nat({ max: 3 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(burst, { maxLength: 10 }), fc.array(fc.nat({ max: 3 })), async (bursts, durations) => {
      let underWay = 0;
      const { submit, groups } = start(async (items, attempt) => {
        assert.is(++underWay, 1);
        for (let ticks = durations.shift() ?? 0; ticks > 0; ticks--) await nextTick();
        underWay--;
        return decideAll(items, attempt);
      }, { items: 5 });
      const items: string[] = [];
      const results: Promise<string>[] = [];
      for (const { size, ticks } of bursts) {
        for (let count = 0; count < size; count++) results.push(submit(items[items.push(`i${items.length}`) - 1]!));
        for (let tick = 0; tick < ticks; tick++) await nextTick();
      }
      assert.equal(await Promise.all(results), items.map((item) => item.toUpperCase()));
      assert.equal(groups.flatMap((group) => group.split(" ")), items);
    }),
    { numRuns: 40 },
  );
});

test("a group has no more items than the limit", async () => {
  const { submitAll, groups } = start(decideAll, { items: 2 });
  assert.equal(await submitAll("a b c d e"), ["A", "B", "C", "D", "E"]);
  assert.equal(groups, ["a b", "c d", "e"]);
});

test("a group is no larger than the limit, unless a single item is", async () => {
  const { submitAll, groups } = start(decideAll, { size: 5 });
  await submitAll("aaa bb c dddddd e");
  assert.equal(groups, ["aaa bb", "c", "dddddd", "e"]);
});

for (
  const [name, limits, waiting, tooMuch] of [
    ["items", { waitingItems: 4 }, ["b", "c"], "d"],
    ["characters", { waitingSize: 10 }, ["bb", "ccc"], "d"],
  ] as const
) {
  test(`while too many ${name} wait, one more is rejected at once as overloaded, and the others are decided`, async () => {
    const { decide, release } = hold();
    const { submit, groups } = start(decide, limits);
    const first = submit("a");
    await until(() => groups.length === 1);
    const others = waiting.map(submit);
    const error: unknown = await submit(tooMuch).catch((error) => error);
    assert.instance(error, Refusal);
    assert.is((error as Refusal).kind, "overloaded");

    release();
    await until(() => groups.length === 2);
    // The second group is under way, so there is room again.
    const later = submit(tooMuch);
    release();
    await until(() => groups.length === 3);
    release();
    await Promise.all([first, ...others, later]);
    assert.equal(groups, ["a", waiting.join(" "), tooMuch]);
  });
}

test("an item of which it cannot be told whether it is gone is decided, and so are later ones", async () => {
  const { submit, submitAll } = start();
  assert.equal(await submitAll("a odd b"), ["A", "ODD", "B"]);
  assert.is(await submit("c"), "C");
});

test("items with one conflict key are decided one after the other, and delay no others", async () => {
  const { submitAll, groups } = start();
  assert.equal(await submitAll("x:1 x:2 a x:3 y:1 b y:2"), ["X:1", "X:2", "A", "X:3", "Y:1", "B", "Y:2"]);
  assert.equal(groups, ["x:1 a y:1 b", "x:2 y:2", "x:3"]);
});

test("an item that is parked behind another is decided even if that one fails", async () => {
  const { settleAll, groups } = start((items, attempt) =>
    items.includes("x:1") ? Promise.reject(failing(undefined)) : decideAll(items, attempt)
  );
  assert.equal(outcomes(await settleAll("x:1 x:2 x:gone")), ["no luck", "X:2", "X:GONE"]);
  assert.equal(groups, ["x:1", "x:2", "x:gone"]);
});

test("each owner has an equal share of a group, and the others take what one leaves free", async () => {
  const { submitAll, groups } = start(decideAll, { items: 4 });
  await submitAll("a/1 a/2 a/3 a/4 a/5 a/6 b/1 c/1 c/2 c/3");
  assert.equal(groups, ["a/1 b/1 c/1 a/2", "c/2 c/3 a/3 a/4", "a/5 a/6"]);
});

test("beside another owner, one who has much to decide fills no group that the other waits for", async () => {
  const { decide, release } = hold();
  const { submit, groups } = start(decide, { items: 256, size: 10_000, waitingItems: 10_000, waitingSize: 100_000 });
  const send = (owner: string, count: number) => Array.from({ length: count }, (_, nth) => submit(`${owner}/${nth}`));
  const settled = send("a", 1_000);
  const sizes = () => groups.map((group) => group.split(" ").length);
  await until(() => groups.length === 1);
  settled.push(...send("b", 2), ...send("c", 30));
  for (let nth = 2; nth <= 19; nth++) {
    release();
    await until(() => groups.length === nth);
  }
  // The second and third have all of b and c. Their next items would have had a place in each of the 15 small ones after them.
  assert.equal(sizes(), [256, 64, 32, ...Array(15).fill(32), 200]);
  release();
  await Promise.all(settled);
});

test("no owner takes up more of the waiting room than it leaves for the others", async () => {
  const { decide, release } = hold();
  const { submit, groups } = start(decide, { waitingItems: 8 });
  const first = submit("first");
  await until(() => groups.length === 1);
  const enter = (owner: string, count: number) => Array.from({ length: count }, (_, nth) => submit(`${owner}/${nth}`));
  const settled = Promise.allSettled([...enter("a", 6), ...enter("b", 3), ...enter("c", 2)]);
  release();
  await until(() => groups.length === 2);
  release();
  await first;
  const refused = (await settled).flatMap(({ status }, index) => status === "rejected" ? [index] : []);
  assert.equal(refused, [4, 5, 8, 10]);
});

test("a parked item fails at its timeout, and those before and behind it keep their order", async () => {
  const { decide, release } = hold();
  let now = 0;
  const { submit, groups } = start(decide, { timeoutMs: 300 }, undefined, () => now);
  const first = submit("x:1");
  await until(() => groups.length === 1);
  const late = submit("x:2");
  now = 301;
  assert.equal(outcomes(await Promise.allSettled([late])), ["Timed out after 0.3 s waiting for a commit"]);
  const next = submit("x:3");
  release();
  assert.is(await first, "X:1");
  await until(() => groups.length === 2);
  release();
  assert.is(await next, "X:3");
});

test("a rejected group is halved until the item at fault fails alone", async () => {
  const { settleAll, groups } = start((items, attempt) =>
    items.includes("d") ? Promise.reject(failing("rejected", `at fault: ${items}`)) : decideAll(items, attempt)
  );
  assert.equal(outcomes(await settleAll("a b c d e")), ["A", "B", "C", "at fault: d", "E"]);
  assert.equal(groups, ["a b c d e", "a b", "c d e", "c", "d e", "d", "e"]);
});

test("whatever items are at fault, and whatever fails in between, each item gets what it would get alone", async () => {
  const kinds = fc.array(fc.constantFrom("good", "good", "bad"), { minLength: 1, maxLength: 30 });
  const failures = fc.array(fc.boolean(), { maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(kinds, fc.integer({ min: 1, max: 20 }), failures, async (kinds, most, failures) => {
      const decided: string[] = [];
      const kindOf = (item: string) => item.split("-")[0];
      const { settleAll } = start((items, attempt) => {
        if (failures.shift()) return Promise.reject(failing("retryable"));
        if (items.some((item) => kindOf(item) === "bad")) return Promise.reject(failing("rejected", items.join(" ")));
        decided.push(...items);
        return decideAll(items, attempt);
      }, { items: most });
      const items = kinds.map((kind, index) => `${kind}-${index}`);
      const expected = items.map((item) => kindOf(item) === "bad" ? item : item.toUpperCase());
      assert.equal(outcomes(await settleAll(items.join(" "))), expected);
      assert.equal(decided.sort(), items.filter((item) => kindOf(item) !== "bad").sort());
    }),
    { numRuns: 60 },
  );
});

test("an indeterminate attempt is repeated as the very same attempt, and the next group has a new one", async () => {
  let failures = 3;
  const { submitAll, groups, attempts } = start((items, attempt) =>
    failures-- > 0 ? Promise.reject(failing("indeterminate")) : decideAll(items, attempt)
  );
  assert.equal(await submitAll("a b"), ["A", "B"]);
  await submitAll("c");
  assert.equal(groups, ["a b", "a b", "a b", "a b", "c"]);
  assert.is(new Set(attempts.slice(0, 4)).size, 1);
  assert.is(new Set(attempts).size, 2);
});

test("after an indeterminate attempt a group is never halved, whatever fails next", async () => {
  const failures = [failing("indeterminate"), failing("rejected"), failing(undefined), failing("retryable")];
  const { submitAll, groups, attempts } = start((items, attempt) => {
    const failure = failures.shift();
    return failure === undefined ? decideAll(items, attempt) : Promise.reject(failure);
  });
  assert.equal(await submitAll("a b"), ["A", "B"]);
  assert.equal(groups, ["a b", "a b", "a b", "a b", "a b"]);
  assert.is(new Set(attempts).size, 1);
});

for (const [failure, last] of [["retryable", "young"], ["indeterminate", "old young"]] as const) {
  test(`while attempts are ${failure}, each item fails at its own timeout, and "${last}" is decided in the end`, async () => {
    const { decide, release } = hold();
    let isDown = false, now = 0;
    const decideUnlessDown: Decide = (items, attempt) =>
      isDown ? Promise.reject(failing(failure)) : decide(items, attempt);
    const { submit, groups } = start(decideUnlessDown, { timeoutMs: 1000 }, undefined, () => now);
    const before = submit("before");
    await until(() => groups.length === 1);
    const old = submit("old");
    now = 700;
    const young = submit("young");
    isDown = true;
    release();
    await before;
    await until(() => groups.length > 1);
    now = 1001;
    assert.equal(outcomes(await Promise.allSettled([old])), ["no luck"]);
    isDown = false;
    const decided = groups.length;
    await until(() => groups.length > decided);
    release();
    assert.is(await young, "YOUNG");
    assert.is(groups.at(-1), last);
  });
}

test("an item that is larger than the waiting room is accepted if nothing else waits", async () => {
  const { submit } = start(decideAll, { waitingSize: 3 });
  assert.is(await submit("abcd"), "ABCD");
});

test("an item whose timeout passes while it waits is rejected, is never decided, and makes room for others", async () => {
  const { decide, release } = hold();
  let now = 0;
  const limits = { timeoutMs: 50, waitingItems: 4, waitingSize: 8 };
  const { submit, groups } = start(decide, limits, undefined, () => now);
  const first = submit("a");
  await until(() => groups.length === 1);
  const late = [submit("bb"), submit("cc")];
  now = 51;
  const waiting = await Promise.allSettled(late);
  assert.equal(outcomes(waiting), [
    "Timed out after 0.05 s waiting for a commit",
    "Timed out after 0.05 s waiting for a commit",
  ]);
  const later = [submit("dd"), submit("ee")];
  release();
  assert.is(await first, "A");
  await until(() => groups.length === 2);
  release();
  await Promise.all(later);
  assert.equal(groups, ["a", "dd ee"]);
});

test("an unclassified error rejects the group without another attempt, and the next group is decided", async () => {
  const { settleAll, groups } = start((items, attempt) =>
    items.includes("a") ? Promise.reject(failing(undefined)) : decideAll(items, attempt)
  );
  assert.equal(outcomes(await settleAll("a b")), ["no luck", "no luck"]);
  assert.equal(outcomes(await settleAll("c")), ["C"]);
  assert.equal(groups, ["a b", "c"]);
});

test("an item that nobody waits for any more is not decided, and takes no place in a group", async () => {
  const { settleAll, groups } = start(decideAll, { items: 2 });
  assert.equal(outcomes(await settleAll("a gone b gone2 c")), [
    "A",
    "Client closed the connection",
    "B",
    "Client closed the connection",
    "C",
  ]);
  assert.equal(groups, ["a b", "c"]);
});

test("a group whose attempt cannot begin is rejected, and the next group is decided", async () => {
  let isBroken = true;
  const { settleAll } = start(decideAll, {}, () => {
    if (isBroken) throw new Error("no beginning");
    return {};
  });
  assert.equal(outcomes(await settleAll("a b")), ["no beginning", "no beginning"]);
  isBroken = false;
  assert.equal(outcomes(await settleAll("a")), ["A"]);
});

test("an item without a result is rejected as overloaded, so that it is sent again, and the others get theirs", async () => {
  const { submit, groups } = start((items, attempt) => decideAll(items.filter((item) => item !== "b"), attempt));
  const [a, b, c] = await Promise.allSettled(["a", "b", "c"].map(submit));
  assert.equal(outcomes([a!, c!]), ["A", "C"]);
  assert.is(b?.status === "rejected" && (b.reason as Refusal).kind, "overloaded");
  assert.equal(groups, ["a b c"]);
});

test.run();
