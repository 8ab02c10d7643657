// Numbers for people: tables with small bar charts of block characters.
import type { Stats } from "../management/stats.ts";
import type { Usage } from "../management/usage.ts";
import type { DayUsage, VersionStats } from "../schema/ledger.ts";
import { format } from "./format.ts";

const barWidth = 20; // characters
const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** A bar for a share from 0 to 1. Every share above 0 is visible. */
export function bar(share: number): string {
  const length = Math.round(Math.min(Math.max(share, 0), 1) * barWidth * 8) || (share > 0 ? 1 : 0);
  return "█".repeat(length >> 3) + eighths[length & 7]!;
}

/**
 * The usage of a month: totals, a line for each day from the first to the last one with requests, and one for each key and
 * deployment.
 */
export function usageText({ days, keys, others, ...usage }: Usage, currentMonth: string): string {
  const max = Math.max(...days.map(({ reads, submits }) => reads + submits));
  const rows = withEmptyDays(usage.month, days)
    .map(({ day, reads, submits }) => [day, reads, submits, bar((reads + submits) / max)]);
  const totals = format(usage.month === currentMonth ? usage : ofPastMonth(usage));
  const byKey = keys.map((
    { keyId, keyName, reference, reads, submits },
  ) => [keyName || keyId || "unknown", reads, submits, reference ?? "unknown"]);
  if (others.reads + others.submits > 0) byKey.push(["others", others.reads, others.submits, ""]);
  return [
    totals,
    ...rows.length === 0 ? [] : [table([["day", "reads", "submits", ""], ...rows])],
    ...byKey.length === 0 ? [] : [table([["key", "reads", "submits", "deployment"], ...byKey])],
  ].join("\n");
}

/** The ledger does not keep the limit that a past month had, so this shows the current one. */
const ofPastMonth = ({ limit, remaining: _, ...usage }: Omit<Usage, "days" | "keys" | "others">) => ({
  ...usage,
  "limit now": limit,
});

function withEmptyDays(month: string, days: DayUsage[]): DayUsage[] {
  const known = new Map(days.map((entry) => [entry.day, entry]));
  return Array.from({ length: 31 }, (_, index) => `${month}-${String(index + 1).padStart(2, "0")}`)
    .filter((day) => days.length > 0 && day >= days[0]!.day && day <= days.at(-1)!.day)
    .map((day) => known.get(day) ?? { day, reads: 0, submits: 0 });
}

/** The records of each version: shares of statuses, percentiles of latency, and sums of tokens. */
export const statsText = ({ versions, ...totals }: Stats): string =>
  [format(totals), ...versions.map(versionText)].join("\n");

function versionText({ version, records, statuses, otherStatuses, latency, tokens }: VersionStats): string {
  const others = { status: "others", ...otherStatuses };
  const rows = otherStatuses.records === 0 ? statuses : [...statuses, others];
  const { p50, p95, p99 } = latency;
  return [
    `version ${version}: ${records} records\n`,
    indented(table([
      ["status", "records", "share", ""],
      ...rows.map(({ status, records, share }) => [status, records, `${(100 * share).toFixed(1)} %`, bar(share)]),
    ])),
    latency.records === 0 ? "" : `  latency of ${latency.records}: p50 ${p50} ms, p95 ${p95} ms, p99 ${p99} ms\n`,
    tokens.records === 0
      ? ""
      : `  tokens of ${tokens.records}: ${tokens.prompt} prompt, ${tokens.completion} completion\n`,
  ].join("");
}

const indented = (text: string) => text.replace(/^(?=.)/gm, "  ");

/** Aligns rows in columns. The second and third hold numbers, which are aligned right. */
function table(rows: (string | number)[][]): string {
  const texts = rows.map((row) => row.map(String));
  const widths = texts[0]!.map((_, column) => Math.max(...texts.map((row) => row[column]!.length)));
  const pad = (text: string, column: number) =>
    column === 1 || column === 2 ? text.padStart(widths[column]!) : text.padEnd(widths[column]!);
  return texts.map((row) => `${row.map(pad).join("  ").trimEnd()}\n`).join("");
}
