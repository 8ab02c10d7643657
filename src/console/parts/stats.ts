// Statistics of versions beside each other, with the numbers of `promptledger stats`.
import type { VersionStats } from "../../schema/ledger.ts";
import { dash, duration, number, share } from "../format.ts";
import { markup } from "../html.ts";
import type { Html, Part } from "../html.ts";
import { table } from "./table.ts";
import type { Column } from "./table.ts";

/** A row for each figure, a column for each version. */
export function statsTable(versions: readonly VersionStats[]): Html {
  const rows: [label: string, cell: (version: VersionStats) => Part][] = [
    ["Records", ({ records }) => number(records)],
    ["Latency, median", ({ latency }) => duration(latency.p50)],
    ["Latency, 95th percentile", ({ latency }) => duration(latency.p95)],
    ["Latency, 99th percentile", ({ latency }) => duration(latency.p99)],
    ["Prompt tokens", ({ tokens }) => tokens.records === 0 ? dash : number(tokens.prompt)],
    ["Completion tokens", ({ tokens }) => tokens.records === 0 ? dash : number(tokens.completion)],
    ["Statuses", statusList],
  ];
  const columns: Column<(typeof rows)[number]>[] = [
    { label: "Figure", isHead: true, cell: ([label]) => label },
    ...versions.map((version) => ({
      label: `v${version.version}`,
      isNumber: true as const,
      cell: ([, cell]: (typeof rows)[number]) => cell(version),
    })),
  ];
  return table("Statistics by version", rows, columns);
}

const statusList = ({ statuses, otherStatuses }: VersionStats): Part =>
  markup`${
    statuses.map(({ status, records, share: part }) =>
      markup`<div>${status}: ${number(records)} (${share(part)})</div>`
    )
  }${
    otherStatuses.records > 0 &&
    markup`<div>others: ${number(otherStatuses.records)} (${share(otherStatuses.share)})</div>`
  }`;
