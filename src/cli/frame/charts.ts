// Numbers for people: tables with small bar charts of block characters, and sparklines.
import { dollarText } from "../../support/dollars.ts";
import type { WorkspaceId } from "../../common/ids.ts";
import type { MonthCosts } from "../../management/records/costs.ts";
import type { Usage } from "../../management/records/usage.ts";
import type { DayUsage } from "../../schema/ledger.ts";
import { format, formatTime, formatValue } from "./format.ts";
import { layOut, wrap } from "./table.ts";

const barWidth = 20; // characters
const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

export const percentOf = (share: number) => `${(100 * share).toFixed(1)} %`;
export const numberText = (value: number) => String(Number(value.toPrecision(4)));

/** A bar for a share from 0 to 1. Every share above 0 is visible, also where no width is left. */
export function bar(share: number, width = barWidth): string {
  const length = Math.round(Math.min(Math.max(share, 0), 1) * Math.max(width, 0) * 8) || (share > 0 ? 1 : 0);
  return "█".repeat(length >> 3) + eighths[length & 7]!;
}

const levels = "▁▂▃▄▅▆▇█";

/** A character for each value, as high as its share of the greatest. Without a value it is a space. */
export function sparkline(values: (number | null)[]): string {
  const max = Math.max(...values.map((value) => value ?? 0));
  const levelOf = (value: number) => max === 0 ? 0 : value === max ? 7 : Math.round(7 * (value / max));
  return values.map((value) => value === null ? " " : levels[levelOf(value)]!).join("");
}

/**
 * The usage of a month: totals, a line for each day from the first to the last one with requests, and one for each key
 * and deployment.
 */
export function usageText(
  { days, keys, others, lastCallAt: _, ...usage }: Usage,
  currentMonth: string,
  columns = Infinity,
): string {
  const max = Math.max(...days.map(({ reads, submits }) => reads + submits));
  const widest = (name: "reads" | "submits") => Math.max(name.length, ...days.map((day) => String(day[name]).length));
  const free = columns - "2026-11-23".length - widest("reads") - widest("submits") - 6;
  const rows = withEmptyDays(usage.month, days)
    .map(({ day, reads, submits }) => [day, reads, submits, bar((reads + submits) / max, Math.min(barWidth, free))]);
  const totals = format(usage.month === currentMonth ? usage : ofPastMonth(usage));
  const byKey = keys.map((
    { keyId, keyName, reference, reads, submits },
  ) => [keyName || keyId || "unknown", reads, submits, reference ?? "unknown"]);
  if (others.reads + others.submits > 0) byKey.push(["others", others.reads, others.submits, ""]);
  return [
    totals,
    ...rows.length === 0 ? [] : [countTable(["day", "reads", "submits", ""], rows, columns)],
    ...byKey.length === 0 ? [] : [countTable(["key", "reads", "submits", "deployment"], byKey, columns)],
  ].join("\n");
}

/** Message that the quota of the current month is used up, since when, until when, and how to raise it. */
export function usedUpText(
  { month, limit, remaining, lastCallAt, resetTime }: Usage,
  workspaceId: WorkspaceId,
  currentMonth: string,
  columns = Infinity,
): string {
  if (remaining > 0 || month !== currentMonth) return "";
  const since = lastCallAt === null ? "" : ` The last request was accepted at ${formatTime(lastCallAt)}.`;
  const until = limit === 0 ? "" : ` until ${formatTime(resetTime * 1000)}`;
  const sentence = `The quota is used up.${since} Requests are refused with 429${until}. To raise the limit, run:`;
  return `${wrap(sentence, columns)}\n\n  promptledger workspace update ${workspaceId} --limit REQUESTS\n\n`;
}

type Costs = Pick<MonthCosts, "records" | "cost" | "unpriced">;

/** Costs of a month's records: a table for each of the lists. Empty without records. */
export function costsText(
  { deployments, versions, keys, models, others, ...all }: MonthCosts,
  columns = Infinity,
): string {
  const rowOf = (name: string, { records, cost, unpriced }: Costs) => [
    name,
    records === unpriced ? "-" : dollarText(Number(cost)),
    records,
    unpriced === 0 ? "" : `${unpriced} without a price`,
  ];
  const tableOf = (name: string, items: [name: string, costs: Costs][], others: Costs) => {
    const rows = items.map(([name, costs]) => rowOf(name, costs));
    if (others.records > 0) rows.push(rowOf("others", others));
    return countTable([`by ${name}`, "cost", "records", ""], rows, columns);
  };
  if (all.records === 0) return "";
  const text = [
    countTable(["", "cost", "records", ""], [rowOf("all records", all)], columns),
    tableOf("deployment", deployments.map((each) => [each.reference, each]), others.deployments),
    tableOf("version", versions.map((each) => [`${each.reference}:${each.version}`, each]), others.versions),
    tableOf("key", keys.map((each) => [each.keyName || each.keyId, each]), others.keys),
    tableOf("model", models.map((each) => [formatValue("model", each.model ?? "unknown"), each]), others.models),
  ].join("\n");
  return `\n${text}`;
}

/** The ledger does not keep the limit that a past month had, so this shows the current one. */
const ofPastMonth = ({ limit, remaining: _, ...usage }: Omit<Usage, "days" | "keys" | "others" | "lastCallAt">) => ({
  ...usage,
  "limit now": limit,
});

function withEmptyDays(month: string, days: DayUsage[]): DayUsage[] {
  const known = new Map(days.map((entry) => [entry.day, entry]));
  return Array.from({ length: 31 }, (_, index) => `${month}-${String(index + 1).padStart(2, "0")}`)
    .filter((day) => days.length > 0 && day >= days[0]!.day && day <= days.at(-1)!.day)
    .map((day) => known.get(day) ?? { day, reads: 0, submits: 0 });
}

/** A table whose second and third columns hold numbers, which are aligned right. */
export const countTable = (names: string[], rows: (string | number)[][], columns?: number): string =>
  layOut(names, rows.map((row) => row.map(String)), columns, [1, 2]);
