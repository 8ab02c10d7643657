// The usage of a month against the quota: its forecast, and a chart by day.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { monthOf } from "../../common/month.ts";
import { forecast, startOfPace } from "../../management/records/forecast.ts";
import type { Usage } from "../../management/records/usage.ts";
import { updateWorkspace } from "../../management/kernel/workspaces.ts";
import { ago, counted, dayText, number, numberText } from "../frame/format.tsx";
import { Fragment, h } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { link, missingRole, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest } from "../frame/page.ts";
import { drawChart, ShareBar } from "../frame/chart.tsx";
import type { Chart } from "../frame/chart.tsx";
import { numbersTable } from "../frame/elements.tsx";

type QuotaProps = { visit: ConsoleRequest; usage: Usage };

/** The quota in one line, with its forecast below. */
export const QuotaLine = ({ visit, usage }: QuotaProps): Html => (
  <div class="panel">
    <p>
      <strong id="used">{number(usage.used)}</strong> of {number(usage.limit)} requests used.{" "}
      <span class="hint">{forecastText(visit, usage)}</span>
    </p>
    <ShareBar part={usage.used} whole={usage.limit} label="of the quota is used" />
  </div>
);

/** The quota with the numbers of `promptledger usage`. */
export const QuotaPanel = ({ visit, usage }: QuotaProps): Html => (
  <div class="panel">
    <dl class="figures">
      <Figure label={<>used of {number(usage.limit)}</>} id="used" value={usage.used} />
      <Figure label="remaining" id="remaining" value={usage.remaining} />
      <Figure label="prompts read" id="reads" value={usage.reads} />
      <Figure label="records stored" id="submits" value={usage.submits} />
    </dl>
    <ShareBar part={usage.used} whole={usage.limit} label="of the quota is used" />
    <p class="hint">
      {usage.month === monthOf(visit.now) ? forecastText(visit, usage) : "The limit is that of today."}
    </p>
  </div>
);

const Figure = ({ label, id, value }: { label: Part; id: string; value: number }): Html => (
  <div>
    <dt>{label}</dt>
    <dd id={id}>{number(value)}</dd>
  </div>
);

function forecastText(visit: ConsoleRequest, usage: Usage): Part {
  if (usage.remaining === 0) {
    const { lastCallAt, limit, resetTime } = usage, lack = missingRole(visit, updateWorkspace);
    return (
      <>
        The quota is used up. {lastCallAt !== null && <>The last request was accepted {ago(lastCallAt, visit.now)}.</>}
        {" "}
        Requests are refused
        {limit > 0 && [" until ", dayText(resetTime * 1000)]}. {lack === undefined
          ? <a href={link(visit, ["settings"])}>Raise the limit</a>
          : "An owner or an admin can raise the limit"}.
      </>
    );
  }
  const since = startOfPace(usage.month, workspaceOf(visit).createdAt, visit.now);
  const firstDay = new Date(since).toISOString().slice(0, 10);
  const recent = usage.days.filter(({ day }) => day >= firstDay)
    .reduce((sum, { reads, submits }) => sum + reads + submits, 0);
  const found = forecast({ ...usage, recent }, since, visit.now);
  if (found === undefined) return "There are too few requests for a forecast.";
  const pace = <>At the pace of the last days, about {counted(found.perDay, "request")} a day,</>;
  if (found.usedUpAt !== undefined) {
    return (
      <>
        {pace} the quota is used up on <strong>{dayText(found.usedUpAt)}</strong>.
      </>
    );
  }
  return <>{pace} the quota lasts: about {numberText(found.byEnd)} will be used by the end of the month.</>;
}

/** A bar for each day from the first with a request to the last. Each leads to the records of its day. */
export function UsageChart({ visit, usage: { days, reads, submits } }: QuotaProps): Part {
  const [first] = days, last = days.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const known = new Map(days.map((entry) => [entry.day, entry]));
  const count = Number(last.day.slice(-2)) - Number(first.day.slice(-2)) + 1;
  const dayAfter = (day: string, nth: number) =>
    new Date(Date.parse(day) + nth * 86_400_000).toISOString().slice(0, 10);
  const labels = Array.from({ length: count }, (_, nth) => dayAfter(first.day, nth));
  const valuesOf = (name: "reads" | "submits") => labels.map((day) => known.get(day)?.[name] ?? 0);
  const text = (all: { reads: number; submits: number }) =>
    `${numberText(all.reads)} prompts read, ${numberText(all.submits)} records stored`;
  const chart: Chart = {
    title: "Requests by day (UTC)",
    labels,
    hrefs: labels.map((day) =>
      known.has(day) ? link(visit, ["records"], { from: day, to: dayAfter(day, 1) }) : undefined
    ),
    panels: [{
      title: "Requests",
      unit: "requests",
      kind: "bars",
      series: [
        { name: "Prompts read", values: valuesOf("reads") },
        { name: "Records stored", values: valuesOf("submits") },
      ],
      total: text({ reads, submits }),
      readouts: labels.map((day) => text(known.get(day) ?? { reads: 0, submits: 0 })),
    }],
  };
  return (
    <>
      {drawChart(chart)}
      <details>
        <summary>As a table</summary>
        {numbersTable(chart)}
      </details>
    </>
  );
}
