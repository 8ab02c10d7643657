// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { endOfMonth, isMonth, monthOf } from "../../src/common/month.ts";

const test = suite("month");

const at = (text: string) => Date.parse(text);

test("a month ends with its last millisecond, in UTC", () => {
  assert.is(monthOf(at("2026-12-31T23:59:59.999Z")), "2026-12");
  assert.is(monthOf(at("2027-01-01T00:00:00.000Z")), "2027-01");
  assert.is(monthOf(at("2027-01-01T00:30:00+02:00")), "2026-12");
});

test("the quota resets with the first millisecond after the month", () => {
  assert.is(endOfMonth("2026-12"), at("2027-01-01T00:00:00Z"));
  assert.is(endOfMonth("2028-02"), at("2028-03-01T00:00:00Z"));
  assert.is(monthOf(endOfMonth("2028-02") - 1), "2028-02");
});

test("only YYYY-MM is a month", () => {
  assert.ok(isMonth("2026-01"));
  for (const text of ["0050-01", "2026-13", "2026-00", "2026-1", "26-01", "2026-01-01", ""]) {
    assert.not(isMonth(text), text);
  }
});

test.run();
