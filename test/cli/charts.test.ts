// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Usage } from "../../src/management/records/usage.ts";
import { bar, sparkline, usageText, usedUpText } from "../../src/cli/frame/charts.ts";

const test = suite("charts");

test("a bar is as long as its share, to an eighth of a character", () => {
  assert.is(bar(1), "█".repeat(20));
  assert.is(bar(0.5), "█".repeat(10));
  assert.is(bar(0), "");
  assert.equal([1, 2, 3, 4, 5, 6, 7, 8].map((eighths) => bar(eighths / 160)), [..."▏▎▍▌▋▊▉█"]);
});

test("a share above 0 is visible, and one above 1 is not longer than a full bar", () => {
  assert.is(bar(1e-9), "▏");
  assert.is(bar(7), bar(1));
  assert.is(bar(-1), "");
});

const none = { keys: [], others: { reads: 0, submits: 0 } };
const totals = {
  month: "2026-11",
  limit: 10,
  used: 6,
  remaining: 4,
  reads: 4,
  submits: 2,
  resetTime: 1796083200,
  lastCallAt: null,
};

test("a month's usage has totals and a line for each day, also for empty days between others", () => {
  const days = [{ day: "2026-11-08", reads: 3, submits: 1 }, { day: "2026-11-10", reads: 1, submits: 1 }];
  assert.is(
    usageText({ ...totals, ...none, days }, totals.month),
    `month      2026-11
limit      10
used       6
remaining  4
reads      4
submits    2
resetTime  2026-12-01T00:00:00.000Z

day         reads  submits
2026-11-08      3        1  ████████████████████
2026-11-09      0        0
2026-11-10      1        1  ██████████
`,
  );
});

test("a month's usage is as wide as the terminal, with shorter bars", () => {
  const days = [{ day: "2026-11-08", reads: 3, submits: 1 }];
  const text = usageText({ ...totals, ...none, days }, totals.month, 40);
  assert.ok(text.endsWith(`2026-11-08      3        1  ${"█".repeat(12)}\n`), text);
  assert.ok(text.split("\n").every((line) => line.length <= 40));
});

test("a month without usage has only totals", () => {
  const text = usageText({ ...totals, ...none, used: 0, days: [] }, totals.month);
  assert.ok(text.endsWith("resetTime  2026-12-01T00:00:00.000Z\n"), text);
});

test("a quota that is used up is said with since when, until when, and how to raise it", () => {
  const at = Date.UTC(2026, 10, 24, 9), used = { ...totals, ...none, days: [], remaining: 0, lastCallAt: at };
  const textOf = (usage: Usage, columns?: number) => usedUpText(usage, "ws_1", "2026-11", columns);
  const command = "  promptledger workspace update ws_1 --limit REQUESTS\n\n";
  assert.is(
    textOf(used),
    "The quota is used up. The last request was accepted at 2026-11-24T09:00:00.000Z. Requests are refused with 429 " +
      `until 2026-12-01T00:00:00.000Z. To raise the limit, run:\n\n${command}`,
  );
  assert.ok(textOf(used, 60).split("\n").every((line) => line.length <= 60));
  assert.is(
    textOf({ ...used, limit: 0, lastCallAt: null }),
    `The quota is used up. Requests are refused with 429. To raise the limit, run:\n\n${command}`,
  );
  assert.equal([textOf({ ...used, remaining: 1 }), textOf({ ...used, month: "2026-10" })], ["", ""]);
});

test("a month's usage has a line for each key and deployment, and one for the rest", () => {
  const used = { reads: 3, submits: 1 };
  const keys = [
    { keyId: "key_1", keyName: "app", deployId: "dep_1", reference: "greeting@production", ...used },
    { keyId: "key_2", keyName: "", deployId: "dep_2", reference: "greeting@staging", ...used },
    { keyId: null, keyName: null, deployId: null, reference: null, ...used },
  ];
  const text = usageText({ ...totals, keys, others: { reads: 20, submits: 0 }, days: [] }, totals.month);
  assert.ok(
    text.endsWith(`
key      reads  submits  deployment
app          3        1  greeting@production
key_2        3        1  greeting@staging
unknown      3        1  unknown
others      20        0
`),
    text,
  );
});

test("a past month shows the current limit, and nothing remaining", () => {
  assert.is(
    usageText({ ...totals, ...none, month: "2026-10", days: [] }, "2026-11"),
    `month      2026-10
used       6
reads      4
submits    2
resetTime  2026-12-01T00:00:00.000Z
limit now  10
`,
  );
});

test("a month's usage has every figure, however narrow the terminal", () => {
  const days = [{ day: "2026-11-08", reads: 3, submits: 1 }, { day: "2026-11-09", reads: 0, submits: 9 }];
  for (let columns = 1; columns <= 45; columns++) {
    const text = usageText({ ...totals, ...none, days }, totals.month, columns);
    for (const { day, reads, submits } of days) {
      assert.match(text, new RegExp(`${day}\\s+(reads:\\s+)?${reads}\\s+(submits:\\s+)?${submits}( |$)`, "m"));
    }
  }
});

test("values up to the greatest number have a bar and a place in a sparkline", () => {
  assert.is(sparkline([0, Number.MAX_VALUE / 2, 1.7e308, Number.MAX_VALUE]), "▁▅██");
  assert.is(sparkline([Number.MIN_VALUE, 1, Infinity, null]), "▁▁█ ");
  assert.is(bar(Infinity), bar(1));
});

test("a sparkline has a character for each value, and a space for none", () => {
  assert.is(sparkline([0, 1, 2, null, 7, 8]), "▁▂▃ ▇█");
  assert.is(sparkline([0, 0]), "▁▁");
});

test.run();
