// How the command line shows statistics and comparisons.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { comparisonText, statsText } from "../../src/cli/nouns/stats-text.ts";
import type { FeedbackStats } from "../../src/schema/feedback.ts";
import type { StatsPoint, VersionStats } from "../../src/schema/ledger.ts";

const test = suite("statistics as text");

const status = (code: number, records: number, share: number, name: string | null = null, isFailure = false) => ({
  ...{ status: code, name, isFailure, records, share },
});
const none = { p50: null, p95: null, p99: null, mean: null };

const version: VersionStats = {
  version: 2,
  records: 4,
  statuses: [status(1, 3, 0.75, "ok"), status(-3, 1, 0.25, "failed", true)],
  otherStatuses: { records: 0, share: 0 },
  failures: { records: 1, share: 0.25, low: 0.0456, high: 0.6994 },
  latency: { records: 3, p50: 10.5, p95: 1200, p99: 1200, mean: 470.1 },
  tokens: { records: 2, prompt: 100, completion: 20, cached: 50, written: 0, p50: 50, p95: 70, p99: 70, mean: 60 },
  cost: { records: 2, unpriced: 2, total: "0.00123", p50: "0.0006", p95: "0.00063", p99: "0.00063", mean: "0.000615" },
  feedback: [],
};
const older: VersionStats = {
  ...version,
  version: 1,
  statuses: [status(1, 3, 0.75), status(-3, 1, 0.25)],
  failures: null,
  latency: { records: 0, ...none },
  tokens: { records: 0, prompt: 0, completion: 0, cached: 0, written: 0, ...none },
  cost: { records: 0, unpriced: 4, total: "0", ...none },
};
const { version: _, ...all } = older;
const stats = {
  deployId: "dep_1" as const,
  reference: "a@b",
  records: 4,
  versions: [version],
  all,
  series: [],
  promotions: [],
  otherVersions: { versions: 0, records: 0 },
  isFeedbackLeftOut: false,
};

test("a version shows failures with their interval, statuses by name, latency, tokens and cost", () => {
  assert.is(
    statsText({ ...stats, versions: [version] }, undefined, 200),
    `deployment  a@b
deployId    dep_1
records     4

version 2: 4 records, 25.0 % failed (95 % interval 4.6 % to 69.9 %)
  status      records   share
  1 ok              3  75.0 %  ███████████████
  -3 failed!        1  25.0 %  █████
  latency (3 records): p50 10.5 ms, p95 1200 ms, p99 1200 ms, mean 470.1 ms
  tokens (2 records): 100 prompt, 20 completion, 50 cached, mean 60
  cost (2 records): $0.00123, p50 $0.0006, p95 $0.00063, mean $0.000615; 2 records without a price
`,
  );
});

test("several versions are followed by all of them together, and what has no numbers has no line but records without a price", () => {
  const text = statsText({ ...stats, versions: [version, older] });
  assert.match(
    text,
    /\nversion 1: 4 records\n {2}status .*\n {2}1 .*\n {2}-3 .*\n {2}cost: 4 records without a price\n\nall versions: 4 records\n/,
  );
});

test("the rarest of many statuses are summed up", () => {
  const statuses = Array.from({ length: 10 }, (_, code) => status(code, 1, 1 / 12));
  const otherStatuses = { records: 2, share: 2 / 12 };
  const text = statsText({ ...stats, versions: [{ ...version, records: 12, statuses, otherStatuses }] });
  assert.match(text, /^ {2}9 +1 +8\.3 % .*\n {2}others +2 +16\.7 %/m);
});

const hour = 3_600_000;
const point = (nth: number, records: number): StatsPoint => ({
  at: nth * hour,
  records,
  failures: nth,
  latency: { p50: 1, p95: 10 * nth },
  tokens: { records, prompt: records, completion: 0 },
  cost: { total: String(records / 8), unpriced: 0 },
  feedback: [],
  versions: [{ version: 1, records }],
});

test("a series has sparklines with the greatest values, and marks where a version became live", () => {
  const series = [point(0, 8), point(1, 4), point(2, 8)];
  const text = statsText({ ...stats, versions: [], series, promotions: [{ at: 1.5 * hour, version: 2 }] }, "hour");
  assert.ok(
    text.endsWith(`
by hour, from 1970-01-01 00:00 to 1970-01-01 03:00 (UTC)
records   █▅█  max 8
failed    ▁██  max 25.0 %
p95       ▁▅█  max 20 ms
tokens    █▅█  max 8
cost      █▅█  max $1.00
live       ↑2
`),
    text,
  );
});

test("days and weeks are named by their first and last day", () => {
  const series = [point(0, 8), point(24, 8)];
  assert.match(statsText({ ...stats, series }, "day"), "\nby day, from 1970-01-01 to 1970-01-02 (UTC)\n");
  assert.match(statsText({ ...stats, series }, "week"), "\nby week, from 1970-01-01 to 1970-01-08 (UTC)\n");
});

test("what no record of a point was counted for is missing, not 0", () => {
  const unknown = { tokens: { records: 0, prompt: 0, completion: 0 }, cost: { total: "0", unpriced: 8 } };
  const empty = [{ ...point(0, 8), ...unknown }];
  assert.not.match(statsText({ ...stats, versions: [], series: empty }), /^(tokens|cost) /m);
  assert.match(statsText({ ...stats, versions: [], series: [...empty, point(1, 8)] }), "\ncost       █  max $1.00\n");
});

test("a series is as long as the terminal is wide, and its newest points stay", () => {
  const series = Array.from({ length: 500 }, (_, nth) => point(nth, nth));
  const lines = statsText({ ...stats, series }, "hour", 60).split("\n");
  assert.ok(lines.every((line) => line.length <= 60));
  assert.ok(lines.some((line) => line.endsWith("max 499")));
});

test("statistics have every figure, however narrow the terminal, and lines are wrapped at words", () => {
  const series = Array.from({ length: 50 }, (_, nth) => point(nth, nth + 1));
  for (let columns = 1; columns <= 45; columns++) {
    const text = statsText({ ...stats, series, promotions: [{ at: 0, version: 2 }] }, "hour", columns);
    const words = text.split(/\s+/);
    for (const figure of ["-3", "75.0", "10.5", "1200", "470.1", "$0.00123", "$0.000615", "100", "50"]) {
      assert.ok(words.some((word) => word.replace(/[,;]$/, "") === figure), `${figure}\n${text}`);
    }
    if (columns >= 40) assert.ok(text.split("\n").every((line) => line.length <= columns), text);
  }
  assert.match(statsText({ ...stats, series }, "hour", 25), /\nrecords {3}█ {2}max 50\n/);
});

test("statistics of extreme numbers are written without NaN and Infinity", () => {
  const most = Number.MAX_VALUE,
    cost = { ...version.cost, total: `1${"0".repeat(300)}`, p50: "0", p95: "0", mean: "0" };
  const extreme = { ...version, latency: { records: 1, p50: 0, p95: most, p99: most, mean: most }, cost };
  const series = [0, 1, 2].map((nth) => ({
    ...point(nth, nth + 1),
    latency: { p50: 0, p95: nth * (most / 2) },
    tokens: { records: 1, prompt: nth * (most / 2), completion: 0 },
    cost: { total: cost.total, unpriced: 0 },
  }));
  const text = statsText({ ...stats, versions: [extreme], series }, "hour", 200);
  assert.not.match(text, /NaN|undefined|Infinity/, text);
  assert.match(text, "$1.000e+300");
});

const compared = {
  a: { ...{ deployId: "dep_1" as const, reference: "support/assistant@production" }, ...all, version: 1 },
  b: { ...{ deployId: "dep_2" as const, reference: "support/assistant@staging" }, ...version },
  differences: {
    failures: null,
    latency: { difference: 12, low: 1.25, high: 20 },
    tokens: null,
    cost: null,
    feedback: [],
  },
  sentence: "support/assistant@staging version 2 is slower (mean 470.1 ms against 458.1 ms)",
};

test("a comparison shows no cost of records without a price, and how many they are", () => {
  const text = comparisonText(compared);
  assert.match(text, /\ncost +- +\$0\.00123\n/);
  assert.match(text, /\nunpriced +4 +2\n/);
});

test("a comparison on a narrow terminal has the names above it, and wraps its sentence", () => {
  for (const columns of [80, 60, 40]) {
    const text = comparisonText(compared, columns);
    assert.ok(text.split("\n").every((line) => line.length <= columns), text);
    assert.match(text, /^A {2}support\/assistant@production:1\nB {2}support\/assistant@staging:2\n/);
    assert.match(text.replace(/\s+/g, " "), "latency mean - 470.1 ms");
    assert.match(text.replace(/\s+/g, " "), /470\.1 ms (difference \(95 %\): )?\+12 ms \(\+1\.25 ms to \+20 ms\)/);
    assert.match(text.replaceAll("\n", " "), compared.sentence);
  }
});

test("a comparison has both sides in columns, differences with intervals, and a sentence", () => {
  const side = { deployId: "dep_1" as const, reference: "a@b", ...all };
  const failed = (share: number) => ({ failures: { records: 1, share, low: 0, high: 1 } });
  const text = comparisonText({
    a: { ...side, version: 1, ...failed(0.04) },
    b: { ...side, version: 2, ...failed(0.021), latency: version.latency },
    differences: {
      failures: { difference: -0.019, low: -0.029, high: -0.009 },
      latency: { difference: 12, low: null, high: null },
      tokens: null,
      cost: null,
      feedback: [],
    },
    sentence: "version 2 fails less often",
  });
  assert.match(text, /^ +a@b version 1 +a@b version 2 +difference \(95 %\)\n/);
  assert.match(text, /\nfailed +4\.0 % +2\.1 % +−1\.9 points \(−2\.9 points to −0\.9 points\)\n/);
  assert.match(text, /\nlatency mean +- +470\.1 ms +\+12 ms\n/);
  assert.ok(text.endsWith("\n\nversion 2 fails less often\n"));
});

const judged = (name: string, kind: FeedbackStats["kind"], more: Partial<FeedbackStats>): FeedbackStats => ({
  ...{
    name,
    kind,
    pieces: 12,
    records: 12,
    mean: null,
    share: null,
    low: null,
    high: null,
    labels: [],
    otherLabels: 0,
  },
  ...more,
});
const thumb = judged("thumb", "boolean", { share: 10 / 12, low: 0.552, high: 0.953 });
const score = judged("score", "number", { mean: 0.625, pieces: 40, low: 0.58, high: 0.66 });
const tone = judged("tone", "label", {
  labels: [{ label: "kind\u202e", pieces: 9, share: 0.75, low: 0.468, high: 0.911 }],
  otherLabels: 3,
});

test("feedback has a line for each name, with intervals and how many records were rated", () => {
  const text = statsText({ ...stats, versions: [{ ...version, feedback: [score, thumb, tone] }] });
  assert.match(text, "\n  score (12 records, 40 pieces): mean 0.625 (95 % interval 0.58 to 0.66)\n");
  assert.match(text, "\n  thumb (12 records): 83.3 % true (95 % interval 55.2 % to 95.3 %)\n");
  assert.match(text, "\n  tone (12 records): kind\u202e 75.0 % (95 % interval 46.8 % to 91.1 %), others 25.0 %\n");
});

test("a series has a sparkline for each name of numbers and booleans", () => {
  const series = [point(0, 8), { ...point(1, 4), feedback: [score, thumb, tone] }];
  const text = statsText({ ...stats, versions: [], series }, "hour");
  assert.match(text, /\nscore +.+ {2}max 0\.625\nthumb +.+ {2}max 83\.3 %\n/);
  assert.not.match(text, "tone");
});

test("a comparison has a line for each name of feedback, with the difference where both sides have it", () => {
  const feedback = [{ name: "thumb", difference: -0.25, low: -0.5, high: 0.125 }];
  const text = comparisonText({
    ...compared,
    a: { ...compared.a, feedback: [thumb] },
    b: { ...compared.b, feedback: [thumb, score, tone] },
    differences: { ...compared.differences, feedback },
  });
  assert.match(text, /\nthumb +83\.3 % true +83\.3 % true +−25\.0 points \(−50\.0 points to \+12\.5 points\)\n/);
  assert.match(text, /\nscore +- +0\.625\n/);
  assert.match(text, /\ntone +- +75\.0 % kind/);
});

test.run();
