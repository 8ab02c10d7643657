// Feedback on a deployment's records: under one name over time and by version, and under all names.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { Stats } from "../../management/records/stats.ts";
import { Fragment, h } from "../frame/html.ts";
import type { Part } from "../frame/html.ts";
import { link, queryOf, queryValue } from "../frame/page.ts";
import type { ConsoleRequest } from "../frame/page.ts";
import {
  FeedbackList,
  feedbackOn,
  feedbackPanels,
  figureOf,
  findRules,
  NameField,
  namesIn,
  noFeedback,
  ratedOf,
} from "./feedback-figures.tsx";
import type { Rules } from "./feedback-figures.tsx";
import { Section, Table } from "../frame/elements.tsx";
import { OverTime, ratedLink, statsPageOf } from "./stats-frame.tsx";

const mostVersions = 4, mostNames = 4; // so that the page stays light

export const feedbackStatsPage = statsPageOf({
  path: "feedback",
  title: "Feedback",
  lede: (reference) => <>What people and programs thought of the records of {reference}. Times are in UTC.</>,
  fields(visit, { all }) {
    const names = namesIn([all]);
    return names.length === 0 ? undefined : <NameField names={names} value={chosen(visit, names)} />;
  },
  async body(visit, stats, interval) {
    const { all } = stats, names = namesIn([all]), name = chosen(visit, names);
    if (name === undefined) return noFeedback;
    const { deployId = "" } = visit.params;
    const rules = await findRules(visit, [all]);
    return (
      <>
        <OverTime
          visit={visit}
          stats={stats}
          interval={interval}
          title={`${name} by ${interval}`}
          panelsOf={(points) => feedbackPanels(points, all, name)}
        />
        <Section title={`${name} by version`}>{versionsTable(visit, stats, name, rules)}</Section>
        <Section
          title="All names"
          aside={<a href={link(visit, ["agreement"], { name, deployment: deployId })}>Agreement of two authors</a>}
        >
          <FeedbackList
            all={all}
            most={mostNames}
            rules={rules}
            nameHref={(name) => `?${new URLSearchParams({ ...queryOf(visit), name })}`}
            hrefOf={(feedback) => ratedLink(visit, feedback)}
          />
        </Section>
      </>
    );
  },
});

/** The name that the query has, or that with the most rated records. */
const chosen = (visit: ConsoleRequest, names: readonly string[]): string | undefined =>
  names.find((name) => name === queryValue(visit, "name")) ?? names[0];

function versionsTable(visit: ConsoleRequest, { versions }: Stats, name: string, rules: Rules): Part {
  const rated = versions.filter((each) => feedbackOn(each, name) !== undefined);
  return (
    <>
      <Table
        caption={`${name} by version`}
        rows={rated.slice(0, mostVersions)}
        columns={[
          { label: "Version", isHead: true, cell: ({ version }) => `v${version}` },
          {
            label: "Figure (95 % interval)",
            cell: (each) =>
              figureOf(
                feedbackOn(each, name)!,
                (feedback) => ratedLink(visit, feedback, { version: each.version }),
                rules.get(name),
              ),
          },
          { label: "Rated", isNumber: true, cell: (each) => ratedOf(feedbackOn(each, name)!, each.records) },
        ]}
      />
      {rated.length > mostVersions && <p class="hint">The newest {mostVersions} versions with feedback are shown.</p>}
    </>
  );
}
