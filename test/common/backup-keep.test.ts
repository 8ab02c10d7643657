// Which backups are kept.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { findKept, readKeepRules } from "../../src/runtime/settings/backup-keep.ts";

const test = suite("the rules of backups");

const at = (text: string) => Date.parse(text);
const rulesOf = (text: string) => readKeepRules(text)!;

test("rules are read, and nonsense is not", () => {
  assert.equal(readKeepRules("24 hourly, 30 daily,12 monthly"), [
    { count: 24, period: "hourly" },
    { count: 30, period: "daily" },
    { count: 12, period: "monthly" },
  ]);
  for (
    const text of ["", "24", "hourly", "0 hourly", "-1 daily", "1.5 daily", "1 hourly,", "2 daily, 3 daily", "1 x"]
  ) {
    assert.is(readKeepRules(text), undefined, text);
  }
});

test("the newest of each hour, day and month is kept", () => {
  const times = [
    "2026-11-23T10:00:00Z",
    "2026-11-23T10:59:59Z",
    "2026-11-23T09:30:00Z",
    "2026-11-22T23:59:59Z",
    "2026-11-22T20:00:00Z",
    "2026-10-31T10:00:00Z",
  ].map(at);
  const kept = findKept(times, rulesOf("2 hourly, 2 daily, 2 monthly"), at("2026-11-23T11:00:00Z"));
  assert.equal(times.map((time) => kept.get(time)!.join(" ")), [
    "",
    "hourly daily monthly",
    "hourly",
    "daily",
    "",
    "monthly",
  ]);
});

test("weeks begin on Monday, in UTC", () => {
  const times = ["2026-11-22T23:59:59Z", "2026-11-23T00:00:00Z", "2026-11-29T23:59:59Z", "2026-11-30T00:00:00Z"].map(
    at,
  );
  const kept = findKept(times, rulesOf("3 weekly"), times.at(-1)!);
  assert.equal(times.map((time) => kept.get(time)!.length), [1, 0, 1, 1]);
});

test("a time that has not come yet is kept, and takes no place of a rule", () => {
  const now = at("2026-11-23T10:00:00Z"), future = at("2038-01-19T00:00:00Z");
  const kept = findKept([now, future], rulesOf("1 daily"), now);
  assert.equal([...kept], [[future, ["future"]], [now, ["daily"]]]);
});

const rules = fc.uniqueArray(
  fc.record({
    count: fc.integer({ min: 1, max: 6 }),
    period: fc.constantFrom("latest", "hourly", "daily", "weekly", "monthly", "yearly" as const),
  }),
  { minLength: 1, selector: ({ period }) => period },
).map((rules) => rulesOf(rules.map(({ count, period }) => `${count} ${period}`).join(", ")));
const someTime = fc.integer({ min: at("2024-01-01T00:00:00Z"), max: at("2027-12-31T00:00:00Z") });

test("whatever the times and rules are, the newest is kept, and removing one at a time removes the same", () => {
  fc.assert(fc.property(fc.uniqueArray(someTime, { minLength: 1, maxLength: 60 }), rules, (times, rules) => {
    const now = Math.max(...times);
    const kept = findKept(times, rules, now);
    assert.ok(kept.get(now)!.length > 0);
    const left = times.filter((time) => kept.get(time)!.length > 0);
    // What is left, is all kept for the same reasons: a removal that was interrupted goes on where it ended.
    const again = findKept(left, rules, now);
    for (const time of left) assert.equal(again.get(time), kept.get(time));
    for (const { count, period } of rules) {
      assert.ok(left.filter((time) => kept.get(time)!.includes(period)).length <= count);
    }
  }));
});

test.full("made each hour for two years and thinned after each, all hours, days and months of the rules are there", () => {
  const rules = rulesOf("24 hourly, 30 daily, 12 monthly");
  const hour = 3_600_000, start = at("2025-01-01T00:00:00Z");
  let left: number[] = [];
  for (let nth = 0; nth < 2 * 365 * 24; nth++) {
    const now = start + nth * hour;
    const kept = findKept([...left, now], rules, now);
    left = [...left, now].filter((time) => kept.get(time)!.length > 0);
  }
  const end = at("2026-12-31T23:00:00Z"), has = (text: string) => left.includes(at(text));
  assert.ok(Array.from({ length: 24 }, (_, nth) => end - nth * hour).every((time) => left.includes(time)));
  assert.ok(has("2026-12-02T23:00:00Z") && !has("2026-12-01T23:00:00Z") && has("2026-01-31T23:00:00Z"));
  assert.is(left.length, 24 + 29 + 11);
});

test.run();
