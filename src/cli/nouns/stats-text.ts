// Statistics for people: a block of numbers for each version, sparklines over time, and comparisons side by side.
import { dollarText } from "../../support/dollars.ts";
import type { Comparison } from "../../management/records/compare.ts";
import { feedbackLeftOut } from "../../management/records/stats.ts";
import type { Stats, WorkspaceStats } from "../../management/records/stats.ts";
import type { FiguresPoint, RecordStats } from "../../schema/ledger.ts";
import { bar, countTable, numberText, percentOf, sparkline } from "../frame/charts.ts";
import { meaningOf, statsLine } from "./feedback.ts";
import { counted, format, indented } from "../frame/format.ts";
import { cutTo, layOut, widthOf, wrap } from "../frame/table.ts";

/** Statistics of each version, and over time if they have a series by `interval`. */
export function statsText(
  { reference, deployId, versions, otherVersions, all, series, promotions, records, isFeedbackLeftOut }: Stats,
  interval = "day",
  columns = Infinity,
): string {
  const totals = { deployment: reference, deployId, records };
  const blocks = versions.map(({ version, ...stats }) => block(`version ${version}`, stats, columns));
  // A service of an earlier version has all of them in the list.
  if (otherVersions?.versions > 0) {
    blocks.push(`${counted(otherVersions.versions, "earlier version")}: ${recordsText(otherVersions.records)}\n`);
  }
  if (versions.length > 1) blocks.push(block("all versions", all, columns));
  return [
    format(totals),
    ...blocks,
    ...series.length === 0 ? [] : [seriesText(series, promotions, interval, columns)],
    ...isFeedbackLeftOut ? [wrapped(`${feedbackLeftOut}.`, columns)] : [],
  ].join("\n");
}

/** Statistics of a workspace over all, a line for each deployment, and the same over time. */
export function workspaceStatsText(
  { workspaceId, deployments, others, all, series, records, isFeedbackLeftOut }: WorkspaceStats,
  interval = "day",
  columns = Infinity,
): string {
  const rows = deployments.map(({ reference, records, failures, latency, cost }) => [
    reference,
    String(records),
    shareText(failures),
    latency.p95 === null ? "-" : `${latency.p95} ms`,
    cost.records === 0 ? "-" : usd(cost.total),
  ]);
  if (others.deployments > 0) rows.push([`${others.deployments} others`, String(others.records), "", "", ""]);
  return [
    format({ workspaceId, records }),
    ...records === 0 ? [] : [
      block("all deployments", all, columns),
      layOut(["deployment", "records", "failed", "p95", "cost"], rows, columns, [1, 2, 3, 4]),
    ],
    ...series.length === 0 ? [] : [seriesText(series, [], interval, columns)],
    ...isFeedbackLeftOut ? [wrapped(`${feedbackLeftOut}.`, columns)] : [],
  ].join("\n");
}

function block(
  name: string,
  // A service of an earlier version has no feedback.
  { records, statuses, otherStatuses, failures, latency, tokens, cost, feedback = [] }: RecordStats,
  columns: number,
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
  const unpriced = cost.unpriced === 0 ? "" : `${recordsText(cost.unpriced)} without a price`;
  const counts = rows.map(({ status, records, share }) => [status, records, percentOf(share), bar(share)]);
  const measured = [
    latency.records > 0 &&
    `latency (${recordsText(latency.records)}): p50 ${p50} ms, p95 ${p95} ms, p99 ${p99} ms, mean ${mean} ms`,
    tokens.records > 0 &&
    `tokens (${recordsText(tokens.records)}): ${tokens.prompt} prompt, ${tokens.completion} completion, ` +
      `${tokens.cached} cached, ${tokens.written > 0 ? `${tokens.written} written to a cache, ` : ""}` +
      `mean ${numberText(tokens.mean!)}`,
    cost.records === 0
      ? unpriced && `cost: ${unpriced}`
      : `cost (${recordsText(cost.records)}): ${usd(cost.total)}, p50 ${usd(cost.p50)}, p95 ${usd(cost.p95)}, ` +
        `mean ${usd(cost.mean)}${unpriced && `; ${unpriced}`}`,
    ...feedback.map(statsLine),
  ];
  return [
    wrapped(`${name}: ${recordsText(records)}${failed}`, columns),
    indented(countTable(["status", "records", "share", ""], counts, columns - 2)),
    ...measured.map((text) => text ? wrapped(`  ${text}`, columns) : ""),
  ].join("");
}

const wrapped = (line: string, columns: number) => `${wrap(line, columns, 4)}\n`;

/** The share of records that failed. */
const shareText = (failures: RecordStats["failures"]): string =>
  failures === null || failures.share === null ? "-" : percentOf(failures.share);

const recordsText = (records: number) => counted(records, "record");

const usd = (amount: string | null) => amount === null ? "-" : dollarText(Number(amount));

const labelWidth = 10;

const hour = 3_600_000, day = 24 * hour;

/** Time range of points: `by hour, from 2026-11-23 00:00 to 2026-11-23 02:00 (UTC)`. Days include the last one. */
function rangeText(first: number, last: number, interval: string): string {
  const [end, length] = interval === "hour" ? [last + hour, 16] : [interval === "week" ? last + 6 * day : last, 10];
  const text = (at: number) => new Date(at).toISOString().slice(0, length).replace("T", " ");
  return `by ${interval}, from ${text(first)} to ${text(end)} (UTC)`;
}

/** Sparklines of the newest points, below them the versions that became live. */
function seriesText(
  series: FiguresPoint[],
  promotions: Stats["promotions"],
  interval: string,
  columns: number,
): string {
  const points = series.slice(-Math.max(columns - labelWidth - 20, 1));
  const first = points[0]!.at, last = points.at(-1)!.at;
  const line = (label: string, values: (number | null)[], toText: (value: number) => string) => {
    const max = Math.max(...values.map((value) => value ?? 0));
    return values.every((value) => value === null)
      ? ""
      : `${label.padEnd(labelWidth)}${sparkline(values)}  max ${toText(max)}\n`;
  };
  // Point of each promotion: the last to begin by then.
  const marks = new Map<number, number>();
  for (const { at, version } of promotions) {
    if (at < first) continue;
    marks.set(points.findLastIndex((point) => point.at <= at), version);
  }
  let live = "";
  for (const [index, version] of [...marks].sort(([a], [b]) => a - b)) live = `${live.padEnd(index)}↑${version}`;
  return [
    wrapped(rangeText(first, last, interval), columns),
    line("records", points.map(({ records }) => records), String),
    line("failed", points.map(({ failures, records }) => failures === null ? null : failures / records), percentOf),
    line("p95", points.map(({ latency }) => latency.p95), (value) => `${value} ms`),
    line(
      "tokens",
      points.map(({ tokens }) => tokens.records === 0 ? null : tokens.prompt + tokens.completion),
      String,
    ),
    line(
      "cost",
      points.map(({ cost, records }) => cost.unpriced === records ? null : Number(cost.total)),
      dollarText,
    ),
    ...feedbackLines(points, line),
    live === "" ? "" : `${"live".padEnd(labelWidth)}${live}\n`,
  ].join("");
}

type Line = (label: string, values: (number | null)[], toText: (value: number) => string) => string;

/** A line for each name of feedback but those with labels: its mean, or its share of true. */
function feedbackLines(points: FiguresPoint[], line: Line): string[] {
  const names = [...new Set(points.flatMap(({ feedback = [] }) => feedback.map(({ name }) => name)))].sort();
  return names.map((name) => {
    const stats = points.map(({ feedback = [] }) => feedback.find((each) => each.name === name));
    const toText = stats.some((each) => each?.kind === "boolean") ? percentOf : numberText;
    return line(cutTo(name, labelWidth - 1), stats.map((each) => each?.mean ?? each?.share ?? null), toText);
  });
}

type Side = Comparison["a"];

const nameOf = ({ reference, version }: Side) => version === null ? reference : `${reference} version ${version}`;

/** The names of feedback that one of the sides has. */
const namesOf = (a: Side, b: Side): string[] =>
  [...new Set([a, b].flatMap(({ feedback = [] }) => feedback.map(({ name }) => name)))].sort();

/** A side as the command takes it. */
const argumentOf = ({ reference, version }: Side) => version === null ? reference : `${reference}:${version}`;

/** Both sides in columns, the differences, and the sentence. A narrow terminal has the names of the sides above. */
export function comparisonText({ a, b, differences, sentence }: Comparison, columns = Infinity): string {
  const { failures, latency, tokens, cost, feedback = [] } = differences;
  const change = (
    difference: { difference: number | string; low: number | null; high: number | null } | null,
    toText: (value: number) => string,
  ) => {
    if (difference === null) return "";
    const { difference: value, low, high } = difference;
    return `${toText(Number(value))}${low === null || high === null ? "" : ` (${toText(low)} to ${toText(high)})`}`;
  };
  const signed = (value: string) => value.startsWith("-") ? `−${value.slice(1)}` : `+${value}`;
  const ms = (value: number | null) => value === null ? "-" : `${value} ms`;
  const count = (value: number | null) => value === null ? "-" : numberText(value);
  const dollars = (value: number) => `${value < 0 ? "" : "+"}${dollarText(value)}`;
  const row = (label: string, read: (side: Side) => string, difference = "") => [label, read(a), read(b), difference];
  const points = (value: number) => `${signed((100 * value).toFixed(1))} points`;
  const changed = (value: number) => signed(numberText(value));
  const rows = [
    row("records", ({ records }) => String(records)),
    row("failed", ({ failures }) => shareText(failures), change(failures, points)),
    row("latency mean", ({ latency }) => ms(latency.mean), change(latency, (value) => `${changed(value)} ms`)),
    row("latency p50", ({ latency }) => ms(latency.p50)),
    row("latency p95", ({ latency }) => ms(latency.p95)),
    row("tokens mean", ({ tokens }) => count(tokens.mean), change(tokens, changed)),
    row("cost mean", ({ cost }) => usd(cost.mean), change(cost, dollars)),
    row("cost", ({ cost }) => cost.records === 0 ? "-" : usd(cost.total)),
    row("unpriced", ({ cost }) => String(cost.unpriced)),
    ...namesOf(a, b).map((name) => {
      const pieces = ({ feedback = [] }: Side) => feedback.find((stats) => stats.name === name);
      const isShare = (pieces(a) ?? pieces(b))?.kind === "boolean";
      const found = feedback.find((each) => each.name === name) ?? null;
      return row(name, (side) => {
        const stats = pieces(side);
        return stats ? meaningOf(stats) : "-";
      }, change(found, isShare ? points : changed));
    }),
  ];
  const heading = "difference (95 %)";
  const whole = countTable(["", nameOf(a), nameOf(b), heading], rows);
  const isNarrow = whole.split("\n").some((line) => widthOf(line) > columns);
  const numbers = isNarrow
    ? `A  ${argumentOf(a)}\nB  ${argumentOf(b)}\n\n${countTable(["", "A", "B", heading], rows, columns)}`
    : whole;
  return `${numbers}\n${wrap(sentence, columns)}\n`;
}
