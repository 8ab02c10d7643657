// Frame of the pages of a deployment's statistics: the filter, the interval, and parts of the time with their records.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { DeploymentId } from "../../common/ids.ts";
import { getDeployment } from "../../management/deployments/deployments.ts";
import { intervals } from "../../tallies/counting.ts";
import type { Interval } from "../../tallies/counting.ts";
import { feedbackLeftOut, readStats } from "../../management/records/stats.ts";
import type { Stats } from "../../management/records/stats.ts";
import { Fragment, h, isolated } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { link, queryOf, queryValue, queryWord, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { drawChart } from "../frame/chart.tsx";
import type { Chart, Panel } from "../frame/chart.tsx";
import { Empty, numbersTable, Section } from "../frame/elements.tsx";
import { Filters, Select } from "../frame/form.tsx";
import { findWith, momentText, rangeOf, spanOptions } from "../frame/inputs.tsx";
import { FilterFields, filterIn, filterNotice, findKeys } from "./record-filter.tsx";

const lengthOf: Record<Interval, number> = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000 }; // ms
const mostPoints: Record<Interval, number> = { hour: 25, day: 31, week: 27 }; // of a chart, so that the page stays light

/** Contents of a page. `path` is the last part of its address. */
type Kind = {
  path: string;
  title: string;
  lede(reference: Html): Part;
  /** Fields that it has beside those of the filter. */
  fields?(visit: ConsoleRequest, stats: Stats): Part;
  /** Body of a page with records. */
  body(visit: ConsoleRequest, stats: Stats, interval: Interval): Part | Promise<Part>;
};

/** Makes a page of statistics of a deployment. */
export const statsPageOf = ({ path, title, lede, fields, body }: Kind): Page => ({
  path: `/:workspaceId/deployments/:deployId/${path}`,
  async show(visit) {
    const { id: workspaceId } = workspaceOf(visit), deployId = visit.params.deployId as DeploymentId;
    const isRange = queryValue(visit, "from") !== undefined || queryValue(visit, "to") !== undefined;
    const last = queryValue(visit, "last") ?? (isRange ? "all" : "30d");
    const usual = last === "1h" || last === "24h" ? "hour" : "day";
    const interval = intervals.find((each) => each === queryValue(visit, "interval")) ?? usual;
    const isFiltered = [...visit.query.keys()].some((name) => name !== "view");
    const clear = isFiltered ? link(visit, ["deployments", deployId, path]) : undefined;
    visit.query.set("last", last);
    const { reference } = await visit.call(getDeployment, { id: deployId, workspaceId });
    const [{ found: stats, refusal }, keys] = await Promise.all([
      findWith(async () => {
        // Refuses an unknown interval below the form, which shows the usual one.
        queryWord(visit, "interval", intervals);
        queryWord(visit, "view", views);
        return await visit.call(readStats, { deployId, interval, ...filterIn(visit) });
      }),
      findKeys(visit),
    ]);
    return {
      title: `${title} of ${reference}`,
      isWide: true,
      ...refusal && { kind: refusal.kind },
      heading: title,
      lede: lede(isolated(reference)),
      parent: { label: isolated(reference), href: link(visit, ["deployments", deployId]) },
      body: (
        <>
          <Filters clear={clear}>
            <Select
              label="Interval"
              name="interval"
              value={interval}
              options={[["hour", "Hour"], ["day", "Day"], ["week", "Week"]]}
            />
            {stats && fields?.(visit, stats)}
            {queryValue(visit, "view") === "table" && <input type="hidden" name="view" value="table" />}
            <FilterFields visit={visit} keys={keys} times={times} />
          </Filters>
          {refusal !== undefined && filterNotice(refusal)}
          {stats?.records === 0 && <Empty title="No records">Widen the time, or take a filter away.</Empty>}
          {stats !== undefined && stats.records > 0 && await body(visit, stats, interval)}
        </>
      ),
    };
  },
});

const times = [...spanOptions.filter(([value]) => value !== ""), ["all", "All of the log"]] as const;

const views = ["table"] as const;

type OverTimeProps = {
  visit: ConsoleRequest;
  stats: Stats;
  interval: Interval;
  title: string;
  panelsOf(points: readonly (Stats["series"][number] | undefined)[]): Panel[];
  children?: Part;
};

/** A series as charts, or as a table. Parts of time without records are gaps. */
export function OverTime({ visit, stats, interval, title, panelsOf, children }: OverTimeProps): Html {
  const { series, promotions } = stats;
  const size = lengthOf[interval];
  const first = series[0]!.at, last = series.at(-1)!.at;
  const parts = Math.round((last - first) / size) + 1, count = Math.min(parts, mostPoints[interval]);
  const known = new Map(series.map((point) => [point.at, point]));
  const moments = Array.from({ length: count }, (_, index) => last - (count - 1 - index) * size);
  const points = moments.map((at) => known.get(at));
  const chart: Chart = {
    title,
    labels: moments.map((at) => new Date(at).toISOString().slice(0, interval === "hour" ? 16 : 10).replace("T", " ")),
    panels: panelsOf(points),
    hrefs: moments.map((at, index) => points[index] && partLink(visit, at, at + size)),
    marks: promotions.flatMap(({ at, version }) => {
      const index = moments.findIndex((begin) => at >= begin && at < begin + size);
      return index < 0 ? [] : [{ at: index, label: `v${version}` }];
    }),
  };
  const isTable = queryValue(visit, "view") === "table";
  const other = new URLSearchParams({ ...queryOf(visit), view: "table" });
  if (isTable) other.delete("view");
  return (
    <Section title={title} aside={<a href={`?${other}`}>{isTable ? "Show charts" : "Show as a table"}</a>}>
      {isTable ? numbersTable(chart) : drawChart(chart)}
      {parts > count && <p class="hint">The newest {count} {interval}s are shown. Choose a longer interval for more.
      </p>}
      {stats.isFeedbackLeftOut && <p class="hint">{feedbackLeftOut}.</p>}
      {children}
    </Section>
  );
}

/** The address of the records that the filter finds, with more conditions. */
const recordsLink = (visit: ConsoleRequest, more: Record<string, string | number>): string =>
  link(visit, ["records"], {
    ...{ ...queryOf(visit), interval: "", name: "", view: "", deployment: visit.params.deployId },
    ...{ ...queryValue(visit, "last") === "all" && { last: "" }, ...more },
  });

/** Address of the filtered records with feedback, which may be a further condition. */
export const ratedLink = (
  visit: ConsoleRequest,
  feedback: string,
  more: Record<string, string | number> = {},
): string =>
  recordsLink(visit, {
    ...more,
    feedback: [queryValue(visit, "feedback"), feedback].filter((each) => each).join("\n"),
  });

function partLink(visit: ConsoleRequest, begin: number, end: number): string {
  const { from = begin, to = end } = rangeOf(visit);
  return recordsLink(visit, {
    ...{ last: "", from: momentText(Math.max(from, begin)), to: momentText(Math.min(to, end)) },
  });
}
