// Statistics of a deployment: by version, and over time with its promotions marked.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { DeploymentId } from "../../common/ids.ts";
import { getDeployment } from "../../management/deployments.ts";
import { intervals } from "../../ledger/stats.ts";
import type { Interval } from "../../ledger/stats.ts";
import { readStats } from "../../management/stats.ts";
import type { Stats } from "../../management/stats.ts";
import { dollarText } from "../../common/dollars.ts";
import { Fragment, h, isolated } from "../html.ts";
import type { Html } from "../html.ts";
import { asked, askedWord, link, workspaceOf } from "../page.ts";
import type { Page } from "../page.ts";
import { barChart, lineChart, numbersTable } from "../parts/chart.tsx";
import type { Chart } from "../parts/chart.tsx";
import { Empty } from "../parts/empty.tsx";
import { Filters, Select } from "../parts/form.tsx";
import { Heading, Section } from "../parts/heading.tsx";
import { statsTable } from "../parts/stats.tsx";
import { findWith, spanOptions } from "./inputs.tsx";
import { FilterFields, filterIn, filterNotice, findKeys } from "./record-filter.tsx";

const lengthOf: Record<Interval, number> = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000 }; // ms
const mostVersions = 6; // beside each other
const mostPoints = 36; // of a chart, so that the page stays light

export const statsPage: Page = {
  path: "/:workspaceId/deployments/:deployId/stats",
  section: "deployments",
  async show(visit) {
    const { id: workspaceId } = workspaceOf(visit), deployId = visit.params.deployId as DeploymentId;
    const isRange = asked(visit, "from") !== undefined || asked(visit, "to") !== undefined;
    const last = asked(visit, "last") ?? (isRange ? "all" : "30d");
    const usual = last === "1h" || last === "24h" ? "hour" : "day";
    const interval = intervals.find((each) => each === asked(visit, "interval")) ?? usual;
    const clear = [...visit.query.keys()].length > 0 ? link(visit, ["deployments", deployId, "stats"]) : undefined;
    visit.query.set("last", last);
    const { reference } = await visit.call(getDeployment, { id: deployId, workspaceId });
    const [{ found: stats, refusal }, keys] = await Promise.all([
      findWith(async () => {
        // Refuses an unknown interval below the form, which shows the usual one.
        askedWord(visit, "interval", intervals);
        return await visit.call(readStats, { deployId, interval, ...filterIn(visit) });
      }),
      findKeys(visit),
    ]);
    return {
      title: `Statistics of ${reference}`,
      isWide: true,
      ...refusal && { kind: refusal.kind },
      body: (
        <>
          <Heading
            title="Statistics"
            trail={[
              { label: "Deployments", href: link(visit, ["deployments"]) },
              { label: isolated(reference), href: link(visit, ["deployments", deployId]) },
            ]}
            lede={<>What the records of {isolated(reference)} show. Times are in UTC.</>}
          />
          <Filters clear={clear}>
            <Select
              label="Interval"
              name="interval"
              value={interval}
              options={[["hour", "Hour"], ["day", "Day"], ["week", "Week"]]}
            />
            <FilterFields visit={visit} keys={keys} times={times} />
          </Filters>
          {refusal !== undefined ? filterNotice(refusal) : stats !== undefined && numbersOf(stats, interval)}
        </>
      ),
    };
  },
};

const times = [...spanOptions.filter(([value]) => value !== ""), ["all", "All of the log"]] as const;

function numbersOf(stats: Stats, interval: Interval): Html {
  if (stats.records === 0) return <Empty title="No records">Widen the time, or take a filter away.</Empty>;
  const shown = stats.versions.slice(0, mostVersions);
  const columns = shown.map(({ version, ...stats }) => ({ label: `v${version}`, stats }));
  return (
    <>
      {chartsOf(stats, interval)}
      <Section title="By version">
        {statsTable(columns.length > 1 ? [...columns, { label: "all", stats: stats.all }] : columns)}
      </Section>
    </>
  );
}

/** The charts of a series. Parts of time without records are shown as gaps. */
function chartsOf({ series, promotions }: Stats, interval: Interval): Html {
  const size = lengthOf[interval];
  const first = series[0]!.at, last = series.at(-1)!.at;
  const all = Math.round((last - first) / size) + 1, count = Math.min(all, mostPoints);
  const known = new Map(series.map((point) => [point.at, point]));
  const moments = Array.from({ length: count }, (_, index) => last - (count - 1 - index) * size);
  const labels = moments.map((at) =>
    new Date(at).toISOString().slice(0, interval === "hour" ? 16 : 10).replace("T", " ")
  );
  const valuesOf = <T,>(read: (point: Stats["series"][number]) => T) =>
    moments.map((at) => {
      const point = known.get(at);
      return point === undefined ? null : read(point);
    });
  const marks = promotions.flatMap(({ at, version }) => {
    const index = moments.findIndex((begin) => at >= begin && at < begin + size);
    return index < 0 ? [] : [{ at: index, label: `v${version}` }];
  });
  const shared = { labels, marks, size: "half" as const };
  const hasFailures = series.some(({ failures }) => failures !== null);
  const records: Chart = {
    ...shared,
    title: "Records, and when a version became live",
    unit: "records",
    series: hasFailures
      ? [
        { name: "Succeeded", style: 1, values: valuesOf(({ records, failures }) => records - (failures ?? 0)) },
        { name: "Failed", style: 3, values: valuesOf(({ failures }) => failures) },
      ]
      : [{ name: "Records", style: 1, values: valuesOf(({ records }) => records) }],
  };
  const latency: Chart = {
    ...shared,
    title: "Latency",
    unit: "ms",
    format: (value) => value >= 1_000 ? `${value / 1_000} s` : `${value} ms`,
    series: [
      { name: "95th percentile", style: 2, values: valuesOf(({ latency }) => latency.p95) },
      { name: "Median", style: 1, values: valuesOf(({ latency }) => latency.p50) },
    ],
  };
  const cost: Chart = {
    ...shared,
    title: "Cost",
    unit: "USD",
    format: dollarText,
    series: [{
      name: "Cost",
      style: 2,
      values: valuesOf(({ cost, records }) => cost.unpriced === records ? null : Number(cost.total)),
    }],
  };
  const tokens: Chart = {
    ...shared,
    title: "Tokens",
    unit: "tokens",
    series: [
      { name: "Input", style: 2, values: valuesOf(({ tokens }) => tokens.records === 0 ? null : tokens.prompt) },
      { name: "Output", style: 1, values: valuesOf(({ tokens }) => tokens.records === 0 ? null : tokens.completion) },
    ],
  };
  return (
    <>
      <div class="charts">
        {barChart(records)}
        {chartOr("No record has a latency.", latency, lineChart)}
        {chartOr("No record has a cost: set prices, or send the cost with the records.", cost, barChart)}
        {chartOr("No record has counts of tokens.", tokens, barChart)}
      </div>
      {all > count && (
        <p class="hint">The newest {count} {interval}s are shown. Choose a longer part of time for more.</p>
      )}
      {numbersTable(`By ${interval}`, [records, latency, cost, tokens])}
    </>
  );
}

/** A chart, or a sentence where it has no value to draw. */
function chartOr(sentence: string, chart: Chart, draw: (chart: Chart) => Html): Html {
  if (chart.series.some(({ values }) => values.some((value) => value !== null))) return draw(chart);
  return (
    <figure class="chart">
      <figcaption>{chart.title}</figcaption>
      <p class="hint">{sentence}</p>
    </figure>
  );
}
