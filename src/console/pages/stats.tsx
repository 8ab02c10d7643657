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
import { Fragment, h, isolated } from "../html.ts";
import type { Html } from "../html.ts";
import { asked, askedWord, link, workspaceOf } from "../page.ts";
import type { Page, Visit } from "../page.ts";
import { drawChart, numbersTable } from "../parts/chart.tsx";
import type { Chart } from "../parts/chart.tsx";
import { Empty } from "../parts/empty.tsx";
import { queryOf } from "../parts/filter-chips.tsx";
import { Filters, Select } from "../parts/form.tsx";
import { Heading, Section } from "../parts/heading.tsx";
import { panelsOf, statsTable } from "../parts/stats.tsx";
import { findWith, momentText, rangeOf, spanOptions } from "./inputs.tsx";
import { FilterFields, filterIn, filterNotice, findKeys } from "./record-filter.tsx";

const lengthOf: Record<Interval, number> = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000 }; // ms
const mostVersions = 4; // beside each other
const mostPoints: Record<Interval, number> = { hour: 25, day: 31, week: 27 }; // of a chart, so that the page stays light

export const statsPage: Page = {
  path: "/:workspaceId/deployments/:deployId/stats",
  section: "deployments",
  async show(visit) {
    const { id: workspaceId } = workspaceOf(visit), deployId = visit.params.deployId as DeploymentId;
    const isRange = asked(visit, "from") !== undefined || asked(visit, "to") !== undefined;
    const last = asked(visit, "last") ?? (isRange ? "all" : "30d");
    const usual = last === "1h" || last === "24h" ? "hour" : "day";
    const interval = intervals.find((each) => each === asked(visit, "interval")) ?? usual;
    const isFiltered = [...visit.query.keys()].some((name) => name !== "view");
    const clear = isFiltered ? link(visit, ["deployments", deployId, "stats"]) : undefined;
    visit.query.set("last", last);
    const { reference } = await visit.call(getDeployment, { id: deployId, workspaceId });
    const [{ found: stats, refusal }, keys] = await Promise.all([
      findWith(async () => {
        // Refuses an unknown interval below the form, which shows the usual one.
        askedWord(visit, "interval", intervals);
        askedWord(visit, "view", views);
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
            {asked(visit, "view") === "table" && <input type="hidden" name="view" value="table" />}
            <FilterFields visit={visit} keys={keys} times={times} />
          </Filters>
          {refusal !== undefined ? filterNotice(refusal) : stats !== undefined && numbersOf(visit, stats, interval)}
        </>
      ),
    };
  },
};

const times = [...spanOptions.filter(([value]) => value !== ""), ["all", "All of the log"]] as const;

const views = ["table"] as const;

function numbersOf(visit: Visit, stats: Stats, interval: Interval): Html {
  if (stats.records === 0) return <Empty title="No records">Widen the time, or take a filter away.</Empty>;
  const shown = stats.versions.slice(0, mostVersions);
  const columns = shown.map(({ version, ...stats }) => ({ label: `v${version}`, stats }));
  return (
    <>
      {overTime(visit, stats, interval)}
      <Section title="By version">
        {statsTable(columns.length > 1 ? [...columns, { label: "all", stats: stats.all }] : columns)}
      </Section>
    </>
  );
}

/** A series as charts, or as a table. Parts of time without records are gaps. */
function overTime(visit: Visit, { series, promotions, all }: Stats, interval: Interval): Html {
  const size = lengthOf[interval];
  const first = series[0]!.at, last = series.at(-1)!.at;
  const parts = Math.round((last - first) / size) + 1, count = Math.min(parts, mostPoints[interval]);
  const known = new Map(series.map((point) => [point.at, point]));
  const moments = Array.from({ length: count }, (_, index) => last - (count - 1 - index) * size);
  const points = moments.map((at) => known.get(at));
  const chart: Chart = {
    title: `By ${interval}`,
    labels: moments.map((at) => new Date(at).toISOString().slice(0, interval === "hour" ? 16 : 10).replace("T", " ")),
    panels: panelsOf(points, all),
    hrefs: moments.map((at, index) => points[index] && recordsLink(visit, at, at + size)),
    marks: promotions.flatMap(({ at, version }) => {
      const index = moments.findIndex((begin) => at >= begin && at < begin + size);
      return index < 0 ? [] : [{ at: index, label: `v${version}` }];
    }),
  };
  const isTable = asked(visit, "view") === "table";
  const { deployId = "" } = visit.params;
  const other = { ...queryOf(visit), view: isTable ? "" : "table" };
  return (
    <Section
      title={`By ${interval}`}
      aside={
        <a href={link(visit, ["deployments", deployId, "stats"], other)}>
          {isTable ? "Show charts" : "Show as a table"}
        </a>
      }
    >
      {isTable ? numbersTable(chart) : drawChart(chart)}
      {parts > count && <p class="hint">The newest {count} {interval}s are shown. Choose a longer interval for more.
      </p>}
      {all.cost.unpriced === all.records && (
        <p class="hint">No record has a cost. Set prices, or send the cost with the records.</p>
      )}
    </Section>
  );
}

/** The address of the records of a part of the time that the filter finds. */
function recordsLink(visit: Visit, begin: number, end: number): string {
  const { deployId: deployment } = visit.params, { from = begin, to = end } = rangeOf(visit);
  const range = { from: momentText(Math.max(from, begin)), to: momentText(Math.min(to, end)) };
  return link(visit, ["records"], { ...queryOf(visit), interval: "", last: "", view: "", deployment, ...range });
}
