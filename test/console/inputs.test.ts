// Times that people type into filters and forms.
import process from "node:process";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { momentOf } from "../../src/console/frame/inputs.tsx";
import { currentRuntime } from "../runtimes.ts";

const test = suite("typed times");

const at = Date.UTC(2026, 10, 15, 12);
const accepted: [text: string, at: number][] = [
  ["2026-11-15", Date.UTC(2026, 10, 15)],
  ["2026-11-15T12:00", at],
  ["2026-11-15 12:00", at],
  ["2026-11-15 12:00:30.5", at + 30_500],
  ["2026-11-15T12:00Z", at],
  ["2026-11-15 14:00+02:00", at],
  ["2026-11-15T07:00-0500", at],
  ["9999-12-31T23:59", Date.UTC(9999, 11, 31, 23, 59)],
];

test("a time without a zone is in UTC, wherever the service runs", () => {
  const { TZ } = process.env;
  // Other runtimes read the zone once, when they start.
  for (const zone of currentRuntime === "Node" ? ["UTC", "Asia/Tokyo", "America/New_York"] : [TZ]) {
    if (zone !== undefined) process.env.TZ = zone;
    for (const [text, expected] of accepted) assert.is(momentOf(text, "from"), expected, `${text} in ${zone}`);
  }
  if (TZ === undefined) delete process.env.TZ;
  else process.env.TZ = TZ;
});

test("what is no time is refused, and so is a day that no month has", () => {
  const refused = [
    "",
    "bad",
    "15.11.2026",
    "2026-11",
    "2026-02-30",
    "2026-02-30T12:00",
    "2026-11-15T25:00",
    "1969-12-31",
  ];
  for (const text of [...refused, "2026-11-15 noon", "2026-11-15T12:00 CET", "2026-11-15T12", "2026-11-15Z"]) {
    assert.throws(() => momentOf(text, "from"), /^A time must look like 2026-11-15T12:00$/, text);
  }
  assert.is(momentOf(undefined, "from"), undefined);
});

test.run();
