// Statistics of a deployment: by version, and over time with its promotions marked.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { listRollouts } from "../../management/deployments/rollout-operations.ts";
import type { Stats } from "../../management/records/stats.ts";
import { Fragment, h } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { link, queryOf } from "../frame/page.ts";
import type { ConsoleRequest } from "../frame/page.ts";
import { FeedbackList, findRules } from "./feedback-figures.tsx";
import { Section } from "../frame/elements.tsx";
import { armsPanels, outcomeText, shareText } from "../frame/rollout.tsx";
import { panelsOf, statsTable } from "./stats-parts.tsx";
import { OverTime, ratedLink, statsPageOf } from "./stats-frame.tsx";

const mostVersions = 4; // beside each other
const mostNames = 3; // of feedback, of which there is more on a page of its own

export const statsPage = statsPageOf({
  path: "stats",
  title: "Statistics",
  lede: (reference) => <>What the records of {reference} show. Times are in UTC.</>,
  async body(visit, stats, interval) {
    const { deployId: id, all, versions, records } = stats;
    const { items: [rollout] } = await visit.call(listRollouts, { id, limit: 1 });
    const columns = versions.slice(0, mostVersions).map(({ version, ...stats }) => ({ label: `v${version}`, stats }));
    return (
      <>
        <OverTime
          visit={visit}
          stats={stats}
          interval={interval}
          title={`By ${interval}`}
          panelsOf={(points) => [...panelsOf(points, all), ...armsPanels(stats, rollout, points)]}
        >
          {rollout !== undefined && (
            <p class="hint">
              Rollout of{" "}
              <a href={link(visit, ["deployments", id, "rollout"], { rollout: rollout.id })}>{shareText(rollout)}</a>:
              {` ${outcomeText(rollout)}.`}
            </p>
          )}
          {all.cost.unpriced === records && (
            <p class="hint">No record has a cost. Set prices, or send the cost with the records.</p>
          )}
        </OverTime>
        <Section title="By version">
          {statsTable(columns.length > 1 ? [...columns, { label: "all", stats: all }] : columns)}
        </Section>
        {all.feedback.length > 0 && await feedbackSection(visit, stats)}
      </>
    );
  },
});

async function feedbackSection(visit: ConsoleRequest, { all }: Stats): Promise<Html> {
  const { deployId = "" } = visit.params;
  const whole = link(visit, ["deployments", deployId, "feedback"], { ...queryOf(visit), view: "" });
  const aside: Part = <a href={whole}>By version and over time</a>;
  return (
    <Section title="Feedback" aside={aside}>
      <FeedbackList
        all={all}
        most={mostNames}
        rules={await findRules(visit, [all])}
        hrefOf={(feedback) => ratedLink(visit, feedback)}
      />
    </Section>
  );
}
