// Numbers for people: tables with small bar charts of block characters, and sparklines.
import { dollarText } from "../common/dollars.ts";
import type { MonthCosts } from "../management/costs.ts";
import type { Usage } from "../management/usage.ts";
import type { DayUsage } from "../schema/ledger.ts";
import { format, formatValue } from "./format.ts";
import { cutLines } from "./table.ts";

const barWidth = 20; // characters
const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

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
 * The usage of a month: totals, a line for each day from the first to the last one with requests, and one for each key and
 * deployment. No line is longer than `columns`.
 */
export function usageText(
  { days, keys, others, ...usage }: Usage,
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
  const text = [
    totals,
    ...rows.length === 0 ? [] : [table([["day", "reads", "submits", ""], ...rows])],
    ...byKey.length === 0 ? [] : [table([["key", "reads", "submits", "deployment"], ...byKey])],
  ].join("\n");
  return cutLines(text, columns);
}

type Costs = Pick<MonthCosts, "records" | "cost" | "unpriced">;

/** What the records of a month cost: a table for each of the lists. Empty without records. No line is longer than `columns`. */
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
    return table([
      [`by ${name}`, "cost", "records", ""],
      ...rows,
      ...others.records === 0 ? [] : [rowOf("others", others)],
    ]);
  };
  if (all.records === 0) return "";
  const text = [
    table([["", "cost", "records", ""], rowOf("all records", all)]),
    tableOf("deployment", deployments.map((each) => [each.reference, each]), others.deployments),
    tableOf("version", versions.map((each) => [`${each.reference}:${each.version}`, each]), others.versions),
    tableOf("key", keys.map((each) => [each.keyName || each.keyId, each]), others.keys),
    tableOf("model", models.map((each) => [formatValue("model", each.model ?? "unknown"), each]), others.models),
  ].join("\n");
  return `\n${cutLines(text, columns)}`;
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

/** Aligns rows in columns. The second and third hold numbers, which are aligned right. */
export function table(rows: (string | number)[][]): string {
  const texts = rows.map((row) => row.map(String));
  const widths = texts[0]!.map((_, column) => Math.max(...texts.map((row) => row[column]!.length)));
  const pad = (text: string, column: number) =>
    column === 1 || column === 2 ? text.padStart(widths[column]!) : text.padEnd(widths[column]!);
  return texts.map((row) => `${row.map(pad).join("  ").trimEnd()}\n`).join("");
}
