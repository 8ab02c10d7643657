// Statistics beside each other, with the numbers of `promptledger stats`, and the result of a comparison.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { dollarText } from "../../support/dollars.ts";
import type { Comparison } from "../../management/records/compare.ts";
import type { Figures, RecordStats } from "../../schema/ledger.ts";
import {
  counted,
  dash,
  duration,
  durationText,
  number,
  numberText,
  rounded,
  share,
  shareText,
  usd,
} from "../frame/format.tsx";
import { Fragment, h, isolated } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import type { Panel } from "../frame/chart.tsx";
import { Notice, Table } from "../frame/elements.tsx";
import type { Column } from "../frame/elements.tsx";
import { feedbackLine } from "./feedback-figures.tsx";

/** The statistics of one column, and its label. */
type Labelled = { label: string; stats: RecordStats };

type Row = { label: string; cell(stats: RecordStats): Part; difference?: (differences: Differences) => Part };
type Differences = Comparison["differences"];

const rows: Row[] = [
  { label: "Records", cell: ({ records }) => number(records) },
  { label: "Failed", cell: failuresOf, difference: ({ failures }) => differenceOf(failures, points) },
  { label: "Latency, median", cell: ({ latency }) => duration(latency.p50) },
  { label: "Latency, 95th percentile", cell: ({ latency }) => duration(latency.p95) },
  { label: "Latency, 99th percentile", cell: ({ latency }) => duration(latency.p99) },
  {
    label: "Latency, mean",
    cell: ({ latency }) => duration(latency.mean),
    difference: ({ latency }) =>
      differenceOf(latency, (value) => `${value < 0 ? "−" : "+"}${durationText(Math.abs(value))}`),
  },
  {
    label: "Tokens per record",
    cell: ({ tokens }) => tokens.mean === null ? dash : rounded(tokens.mean),
    difference: ({ tokens }) => differenceOf(tokens, (value) => signed(Number(value.toPrecision(3)))),
  },
  { label: "Input tokens", cell: ({ tokens }) => tokens.records === 0 ? dash : number(tokens.prompt) },
  { label: "Output tokens", cell: ({ tokens }) => tokens.records === 0 ? dash : number(tokens.completion) },
  {
    label: "Cost per record",
    cell: ({ cost }) => usd(cost.mean),
    difference: ({ cost }) =>
      cost === null
        ? dash
        : differenceOf({ ...cost, difference: Number(cost.difference) }, (value) =>
          `${value < 0 ? "" : "+"}${dollarText(value)}`),
  },
  { label: "Cost", cell: (stats) => costOf(stats) },
  { label: "Statuses", cell: (stats) => statusesOf(stats) },
];

/** A row for each figure, a column for each of the statistics. */
export function statsTable(columns: readonly Labelled[], differences?: Differences): Html {
  return (
    <Table
      caption="Statistics"
      rows={rows}
      columns={[
        { label: "Figure", isHead: true, cell: ({ label }) => label },
        ...columns.map(({ label, stats }): Column<Row> => ({ label, isNumber: true, cell: ({ cell }) => cell(stats) })),
        differences !== undefined &&
        { label: "Difference (95 %)", isNumber: true, cell: ({ difference }) => difference?.(differences) ?? "" },
      ]}
      isCompared
    />
  );
}

/** Names the sides of a comparison. */
export function sideLabels({ a, b }: Comparison): [a: string, b: string] {
  const isOneDeployment = a.deployId === b.deployId;
  const labelOf = ({ version, reference }: Comparison["a"]) =>
    [version === null ? "all versions" : `v${version}`, ...isOneDeployment ? [] : [reference.split("@")[1]]].join(" ");
  return [labelOf(a), labelOf(b)];
}

/** Two sides beside each other, and a sentence that sums them up. */
export function comparisonView(comparison: Comparison): Html {
  const { a, b, differences, sentence } = comparison, [one, other] = sideLabels(comparison);
  const text = sentence.slice(0, 1).toUpperCase() + sentence.slice(1);
  return (
    <>
      <Notice kind="info">{text}.</Notice>
      {a.records + b.records > 0 &&
        statsTable([{ label: one, stats: a }, { label: other, stats: b }], differences)}
    </>
  );
}

/** The few figures beside a version. */
export const numbersLine = (stats: RecordStats | undefined): Part =>
  stats !== undefined && (
    <p class="hint numbers">
      {counted(stats.records, "record")}
      {stats.failures !== null && stats.failures.share !== null && [" · ", share(stats.failures.share), " failed"]}
      {stats.latency.p50 !== null && [" · ", duration(stats.latency.p50)]}
      {stats.cost.mean !== null && [" · ", usd(stats.cost.mean), " each"]}
      {stats.feedback.length > 0 && [" · ", feedbackLine(stats)]}
    </p>
  );

function failuresOf({ failures }: RecordStats): Part {
  if (failures === null) return <span class="none">no status counts as one</span>;
  if (failures.share === null) return dash;
  const { records, share: part, low, high } = failures;
  return (
    <>
      {number(records)} ({share(part)})
      <p class="hint">{share(low!)} to {share(high!)}</p>
    </>
  );
}

const costOf = ({ cost }: RecordStats): Part => (
  <>
    {cost.records === 0 ? dash : usd(cost.total)}
    {cost.unpriced > 0 && <p class="hint">{counted(cost.unpriced, "record")} without a price</p>}
  </>
);

const statusesOf = ({ statuses, otherStatuses }: RecordStats): Part => (
  <>
    {statuses.map(({ status, name, records, share: part }) => (
      <div>{name === null ? status : isolated(name)}: {number(records)} ({share(part)})</div>
    ))}
    {otherStatuses.records > 0 && <div>others: {number(otherStatuses.records)} ({share(otherStatuses.share)})</div>}
  </>
);

/** Counts of records, in a part of the time or in all of it. */
type Counts = Omit<Figures, "failures"> & { failures: number | null };

/** The panels of a chart over parts of the time. Panels without any value are left out. */
export function panelsOf(points: readonly (Figures | undefined)[], all: RecordStats): Panel[] {
  const total = { ...all, failures: all.failures?.records ?? null };
  const valuesOf = (read: (point: Figures) => number | null) =>
    points.map((point) => point === undefined ? null : read(point));
  const panel = (say: (counts: Counts) => string, rest: Omit<Panel, "total" | "readouts">): Panel => ({
    ...rest,
    total: say(total),
    readouts: points.map((point) => point === undefined ? "" : say(point)),
  });
  return [
    panel(recordsText, {
      title: "Records",
      unit: "records",
      kind: "bars",
      series: all.failures === null ? [{ name: "Records", values: valuesOf(({ records }) => records) }] : [
        { name: "Succeeded", values: valuesOf(({ records, failures }) => records - (failures ?? 0)) },
        { name: "Failed", values: valuesOf(({ failures }) => failures), isBad: true },
      ],
    }),
    all.latency.records > 0 && panel(latencyText, {
      title: "Latency",
      unit: "ms",
      kind: "lines",
      format: (value) => value >= 1_000 ? `${value / 1_000} s` : `${value} ms`,
      series: [
        { name: "95th percentile", values: valuesOf(({ latency }) => latency.p95) },
        { name: "Median", values: valuesOf(({ latency }) => latency.p50) },
      ],
    }),
    all.cost.records > 0 && panel(costText, {
      title: "Cost",
      unit: "USD",
      kind: "bars",
      format: dollarText,
      series: [{
        name: "Cost",
        values: valuesOf(({ cost, records }) => cost.unpriced === records ? null : Number(cost.total)),
      }],
    }),
    all.tokens.records > 0 && panel(tokensText, {
      title: "Tokens",
      unit: "tokens",
      kind: "bars",
      series: [
        { name: "Input", values: valuesOf(({ tokens }) => tokens.records === 0 ? null : tokens.prompt) },
        { name: "Output", values: valuesOf(({ tokens }) => tokens.records === 0 ? null : tokens.completion) },
      ],
    }),
  ].filter((panel) => panel !== false);
}

const recordsText = ({ records, failures }: Counts): string =>
  `${numberText(records)} ${records === 1 ? "record" : "records"}` +
  (failures === null ? "" : `, ${numberText(failures)} failed (${shareText(failures / records)})`);

const latencyText = ({ latency: { p50, p95 } }: Counts): string =>
  p50 === null || p95 === null ? "no latency" : `p95 ${durationText(p95)}, median ${durationText(p50)}`;

const costText = ({ cost: { total, unpriced }, records }: Counts): string =>
  [
    ...unpriced === records ? [] : [dollarText(Number(total))],
    ...unpriced > 0 ? [`${numberText(unpriced)} without a price`] : [],
  ].join(", ");

const tokensText = ({ tokens: { records, prompt, completion } }: Counts): string =>
  records === 0 ? "no tokens" : `${numberText(prompt)} input, ${numberText(completion)} output`;

export const signed = (value: number): string =>
  value < 0 ? `−${Math.abs(value).toLocaleString("en")}` : `+${value.toLocaleString("en")}`;
export const points = (value: number): string => `${signed(Number((100 * value).toFixed(1)))} points`;

export type Difference = { difference: number; low: number | null; high: number | null };

/** A difference with its interval, which is missing if there are too few records. */
export function differenceOf(found: Difference | null, format: (value: number) => string): Part {
  if (found === null) return dash;
  const { difference, low, high } = found;
  return (
    <>
      <data value={difference}>{format(difference)}</data>
      <p class="hint">
        {low === null || high === null ? "too few records" : (
          <>
            <span>{format(low)}</span> to <span>{format(high)}</span>
          </>
        )}
      </p>
    </>
  );
}
