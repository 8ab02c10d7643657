// The usage of a month by day.
import type { DayUsage } from "../../schema/ledger.ts";
import type { Html } from "../html.ts";
import { barChart } from "./chart.tsx";

/** A bar for each day from the first with a request to the last. */
export function usageChart(month: string, days: readonly DayUsage[]): Html {
  const known = new Map(days.map((entry) => [entry.day, entry]));
  const labels = Array.from({ length: 31 }, (_, index) => `${month}-${String(index + 1).padStart(2, "0")}`)
    .filter((day) => day >= days[0]!.day && day <= days.at(-1)!.day);
  const valuesOf = (name: "reads" | "submits") => labels.map((day) => known.get(day)?.[name] ?? 0);
  return barChart({
    title: "Requests by day (UTC)",
    unit: "requests",
    labels,
    series: [
      { name: "Prompts read", style: 2, values: valuesOf("reads") },
      { name: "Records stored", style: 1, values: valuesOf("submits") },
    ],
  });
}
