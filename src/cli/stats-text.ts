// Statistics for people: a block of numbers for each version, sparklines over time, and comparisons side by side.
import type { Comparison } from "../management/compare.ts";
import type { Stats } from "../management/stats.ts";
import type { RecordStats, StatsPoint } from "../schema/ledger.ts";
import { bar, sparkline, table } from "./charts.ts";
import { format } from "./format.ts";
import { cutTo } from "./table.ts";

/** Statistics of each version, and over time if they have a series. No line is longer than `columns`. */
export function statsText({ versions, all, series, promotions, ...totals }: Stats, columns = 100): string {
  const blocks = versions.map(({ version, ...stats }) => block(`version ${version}`, stats));
  if (versions.length > 1) blocks.push(block("all versions", all));
  const text = [format(totals), ...blocks, ...series.length === 0 ? [] : [seriesText(series, promotions, columns)]]
    .join("\n");
  return text.split("\n").map((line) => cutTo(line, columns)).join("\n");
}

const percentOf = (share: number) => `${(100 * share).toFixed(1)} %`;

function block(
  name: string,
  { records, statuses, otherStatuses, failures, latency, tokens, cost }: RecordStats,
): string {
  const rows = statuses.map(({ status, name, isFailure, ...rest }) => ({
    ...rest,
    status: `${status}${name === null ? "" : ` ${name}`}${isFailure ? "!" : ""}`,
  }));
  if (otherStatuses.records > 0) rows.push({ status: "others", ...otherStatuses });
  const failed = failures === null || failures.share === null
    ? ""
    : `, ${percentOf(failures.share)} failed (95 % interval ${percentOf(failures.low!)} to ${
      percentOf(failures.high!)
    })`;
  const { p50, p95, p99, mean } = latency;
  const unpriced = cost.unpriced === 0 ? "" : `; ${cost.unpriced} without a price`;
  return [
    `${name}: ${records} records${failed}\n`,
    indented(table([
      ["status", "records", "share", ""],
      ...rows.map(({ status, records, share }) => [status, records, percentOf(share), bar(share)]),
    ])),
    latency.records === 0
      ? ""
      : `  latency of ${latency.records}: p50 ${p50} ms, p95 ${p95} ms, p99 ${p99} ms, mean ${mean} ms\n`,
    tokens.records === 0
      ? ""
      : `  tokens of ${tokens.records}: ${tokens.prompt} prompt, ${tokens.completion} completion, ${tokens.cached} cached, ` +
        `mean ${numberText(tokens.mean!)}\n`,
    cost.records === 0
      ? ""
      : `  cost of ${cost.records}: $${cost.total}, p50 $${cost.p50}, p95 $${cost.p95}, mean $${cost.mean}${unpriced}\n`,
  ].join("");
}

const numberText = (value: number) => String(Number(value.toPrecision(4)));

const indented = (text: string) => text.replace(/^(?=.)/gm, "  ");

const labelWidth = 10;

/** Sparklines of the newest points, below them the versions that became live. */
function seriesText(series: StatsPoint[], promotions: Stats["promotions"], columns: number): string {
  const points = series.slice(-(columns - labelWidth - 20));
  const first = points[0]!.at, last = points.at(-1)!.at;
  const line = (label: string, values: (number | null)[], toText: (value: number) => string) => {
    const max = Math.max(...values.map((value) => value ?? 0));
    return values.every((value) => value === null)
      ? ""
      : `${label.padEnd(labelWidth)}${sparkline(values)}  max ${toText(max)}\n`;
  };
  // Where each promotion falls: the last point that begins before it.
  const marks = new Map<number, number>();
  for (const { at, version } of promotions) {
    if (at < first) continue;
    marks.set(points.findLastIndex((point) => point.at <= at), version);
  }
  let live = "";
  for (const [index, version] of [...marks].sort(([a], [b]) => a - b)) live = `${live.padEnd(index)}↑${version}`;
  return [
    `from ${new Date(first).toISOString()} to ${new Date(last).toISOString()}\n`,
    line("records", points.map(({ records }) => records), String),
    line("failed", points.map(({ failures, records }) => failures === null ? null : failures / records), percentOf),
    line("p95", points.map(({ latency }) => latency.p95), (value) => `${value} ms`),
    line("tokens", points.map(({ tokens }) => tokens.prompt + tokens.completion), String),
    line("cost", points.map(({ cost }) => Number(cost.total)), (value) => `$${value}`),
    live === "" ? "" : `${"live".padEnd(labelWidth)}${live}\n`,
  ].join("");
}

type Side = Comparison["a"];

const nameOf = ({ reference, version }: Side) => version === null ? reference : `${reference} version ${version}`;

/** Both sides in columns, the differences, and the sentence. */
export function comparisonText({ a, b, differences, sentence }: Comparison): string {
  const { failures, latency, tokens, cost } = differences;
  const change = (
    difference: { difference: number | string; low: number | null; high: number | null } | null,
    toText: (value: number) => string,
  ) => {
    if (difference === null) return "";
    const { difference: value, low, high } = difference;
    return `${toText(Number(value))}${low === null || high === null ? "" : ` (${toText(low)} to ${toText(high)})`}`;
  };
  const share = ({ failures }: Side) => failures?.share === null || failures === null ? "-" : percentOf(failures.share);
  const signed = (value: string) => value.startsWith("-") ? `−${value.slice(1)}` : `+${value}`;
  const ms = (value: number | null) => value === null ? "-" : `${value} ms`;
  const usd = (value: string | null) => value === null ? "-" : `$${value}`;
  const count = (value: number | null) => value === null ? "-" : numberText(value);
  const rows = [
    ["", nameOf(a), nameOf(b), "difference (95 %)"],
    ["records", String(a.records), String(b.records), ""],
    ["failed", share(a), share(b), change(failures, (value) => `${signed((100 * value).toFixed(1))} points`)],
    [
      "latency mean",
      ms(a.latency.mean),
      ms(b.latency.mean),
      change(latency, (value) => `${signed(numberText(value))} ms`),
    ],
    ["latency p50", ms(a.latency.p50), ms(b.latency.p50), ""],
    ["latency p95", ms(a.latency.p95), ms(b.latency.p95), ""],
    ["tokens mean", count(a.tokens.mean), count(b.tokens.mean), change(tokens, (value) => signed(numberText(value)))],
    ["cost mean", usd(a.cost.mean), usd(b.cost.mean), change(cost, (value) => signed(numberText(value)))],
    ["cost", usd(a.cost.total), usd(b.cost.total), ""],
  ];
  return `${table(rows)}\n${sentence}\n`;
}
