// How the command line shows statistics and comparisons.
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { comparisonText, statsText } from "../../src/cli/stats-text.ts";
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
  tokens: { records: 2, prompt: 100, completion: 20, cached: 50, p50: 50, p95: 70, p99: 70, mean: 60 },
  cost: { records: 2, unpriced: 2, total: "0.00123", p50: "0.0006", p95: "0.00063", p99: "0.00063", mean: "0.000615" },
};
const older: VersionStats = {
  ...version,
  version: 1,
  statuses: [status(1, 3, 0.75), status(-3, 1, 0.25)],
  failures: null,
  latency: { records: 0, ...none },
  tokens: { records: 0, prompt: 0, completion: 0, cached: 0, ...none },
  cost: { records: 0, unpriced: 4, total: "0", ...none },
};
const { version: _, ...all } = older;
const stats = { deployId: "dep_1" as const, records: 4, versions: [version], all, series: [], promotions: [] };

test("a version shows failures with their interval, statuses by name, latency, tokens and cost", () => {
  assert.is(
    statsText({ ...stats, versions: [version] }, 200),
    `deployId  dep_1
records   4

version 2: 4 records, 25.0 % failed (95 % interval 4.6 % to 69.9 %)
  status      records   share
  1 ok              3  75.0 %  ███████████████
  -3 failed!        1  25.0 %  █████
  latency of 3: p50 10.5 ms, p95 1200 ms, p99 1200 ms, mean 470.1 ms
  tokens of 2: 100 prompt, 20 completion, 50 cached, mean 60
  cost of 2: $0.00123, p50 $0.0006, p95 $0.00063, mean $0.000615; 2 without a price
`,
  );
});

test("several versions are followed by all of them together, and what has no numbers has no line", () => {
  const text = statsText({ ...stats, versions: [version, older] });
  assert.match(text, /\nversion 1: 4 records\n {2}status .*\n {2}1 .*\n {2}-3 .*\n\nall versions: 4 records\n/);
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
  tokens: { prompt: records, completion: 0 },
  cost: { total: String(records / 8), unpriced: 0 },
  versions: [{ version: 1, records }],
});

test("a series has sparklines with the greatest values, and marks where a version became live", () => {
  const series = [point(0, 8), point(1, 4), point(2, 8)];
  const text = statsText({ ...stats, versions: [], series, promotions: [{ at: 1.5 * hour, version: 2 }] });
  assert.ok(
    text.endsWith(`
from 1970-01-01T00:00:00.000Z to 1970-01-01T02:00:00.000Z
records   █▅█  max 8
failed    ▁██  max 25.0 %
p95       ▁▅█  max 20 ms
tokens    █▅█  max 8
cost      █▅█  max $1
live       ↑2
`),
    text,
  );
});

test("no line is longer than the terminal is wide, and the newest points stay", () => {
  const series = Array.from({ length: 500 }, (_, nth) => point(nth, nth));
  const lines = statsText({ ...stats, series }, 60).split("\n");
  assert.ok(lines.every((line) => line.length <= 60));
  assert.ok(lines.some((line) => line.endsWith("max 499")));
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
    },
    sentence: "version 2 fails less often",
  });
  assert.match(text, /^ +a@b version 1 +a@b version 2 +difference \(95 %\)\n/);
  assert.match(text, /\nfailed +4\.0 % +2\.1 % +−1\.9 points \(−2\.9 points to −0\.9 points\)\n/);
  assert.match(text, /\nlatency mean +- +470\.1 ms +\+12 ms\n/);
  assert.ok(text.endsWith("\n\nversion 2 fails less often\n"));
});

test.run();
