// The overview of a workspace: its quota, what is live, and what changed last.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { monthOf } from "../../common/month.ts";
import { listApiKeys } from "../../management/api-keys.ts";
import { listAuditEntries } from "../../management/audit.ts";
import { listDeployments } from "../../management/deployments.ts";
import type { Deployment } from "../../management/deployments.ts";
import { listPrompts } from "../../management/prompts.ts";
import { listMonths, readUsage } from "../../management/usage.ts";
import type { Usage } from "../../management/usage.ts";
import { forecast } from "../forecast.ts";
import { counted, dayText, number } from "../format.tsx";
import { groupBy } from "../group-by.ts";
import { Fragment, h, isolated } from "../html.ts";
import type { Html, Part } from "../html.ts";
import { link, listMost, workspaceOf } from "../page.ts";
import type { Page, Visit } from "../page.ts";
import { ShareBar } from "../parts/chart.tsx";
import { deploymentChips } from "../parts/chips.tsx";
import { Empty } from "../parts/empty.tsx";
import { Heading, Section } from "../parts/heading.tsx";
import { usageChart } from "../parts/usage-chart.ts";
import { Changes, findNames } from "./audit.tsx";
import { firstSteps } from "./first-steps.tsx";

const lastChanges = 8;

export const overviewPage: Page = {
  path: "/:workspaceId",
  section: "overview",
  async show(visit) {
    const { call, now } = visit;
    const { id: workspaceId, name } = workspaceOf(visit);
    const [usage, prompts, { items: deployments }, keys, months, changes, names] = await Promise.all([
      call(readUsage, { workspaceId, month: monthOf(now) }),
      call(listPrompts, { workspaceId, limit: 1 }),
      listMost((page) => call(listDeployments, { workspaceId, ...page })),
      call(listApiKeys, { workspaceId, limit: 1 }),
      call(listMonths, { workspaceId, limit: 1 }),
      call(listAuditEntries, { workspaceId, limit: lastChanges }),
      findNames(visit),
    ]);
    const begun = {
      ...{ hasPrompt: prompts.items.length > 0, deployments, hasKey: keys.items.length > 0 },
      isUsed: months.items.length > 0,
    };
    return {
      title: "Overview",
      body: (
        <>
          <Heading title={isolated(name)} />
          {await firstSteps(visit, begun)}
          <Section
            title="Quota this month"
            aside={<a href={link(visit, ["usage"])}>Usage by key and deployment</a>}
          >
            {quotaOf(visit, usage)}
          </Section>
          {deployments.length > 0 && (
            <Section title="Live now" aside={<a href={link(visit, ["deployments"])}>All deployments</a>}>
              {liveOf(visit, deployments)}
            </Section>
          )}
          <Section title="What changed last" aside={<a href={link(visit, ["audit"])}>Whole audit log</a>}>
            {changes.items.length === 0
              ? <Empty title="Nothing has changed">Each change will be here, with who made it and why.</Empty>
              : <Changes visit={visit} entries={changes.items} names={names} />}
          </Section>
        </>
      ),
    };
  },
};

/** The quota and its forecast. The numbers are those of `promptledger usage`. */
export function quotaOf(visit: Visit, usage: Usage): Html {
  const { limit, used, remaining, reads, submits, days, month } = usage;
  return (
    <>
      <div class="panel">
        <dl class="figures">
          <Figure label={<>used of {number(limit)}</>} id="used" value={used} />
          <Figure label="remaining" id="remaining" value={remaining} />
          <Figure label="prompts read" id="reads" value={reads} />
          <Figure label="records stored" id="submits" value={submits} />
        </dl>
        <p></p>
        <ShareBar part={used} whole={limit} label="of the quota is used" />
        <p></p>
        <p class="hint">
          {month === monthOf(visit.now) ? forecastText(visit, usage) : "The limit is that of today."}
        </p>
      </div>
      {days.length > 0 && (
        <>
          <p></p>
          {usageChart(month, days)}
        </>
      )}
    </>
  );
}

const Figure = ({ label, id, value }: { label: Part; id: string; value: number }): Html => (
  <div>
    <dt>{label}</dt>
    <dd id={id}>{number(value)}</dd>
  </div>
);

function forecastText(visit: Visit, usage: Usage): Part {
  if (usage.remaining === 0) {
    return "The quota is used up. Requests are refused until the month ends, or until the limit is raised.";
  }
  const found = forecast(usage, workspaceOf(visit).createdAt, visit.now);
  if (found === undefined) return "There are too few requests for a forecast.";
  const pace = <>At the pace of the last days, about {counted(found.perDay, "request")} a day,</>;
  if (found.usedUpAt !== undefined) {
    return (
      <>
        {pace} the quota is used up on <strong>{dayText(found.usedUpAt)}</strong>.
      </>
    );
  }
  const byEnd = found.byEnd.toLocaleString("en");
  return <>{pace} the quota lasts: about {byEnd} will be used by the end of the month.</>;
}

const mostShown = 12;

/** The newest deployments of each prompt, in the order of the alphabet. */
function liveOf(visit: Visit, deployments: readonly Deployment[]): Html {
  const prompts = [...groupBy(deployments, ({ promptId }) => promptId).values()].slice(0, mostShown);
  const sort = (all: Deployment[]) => all.sort((a, b) => a.reference < b.reference ? -1 : 1);
  const inOrder = prompts.map(sort).sort(([a], [b]) => a!.reference < b!.reference ? -1 : 1);
  return (
    <ul class="tree">
      {inOrder.map((all) => (
        <li class="leaf">
          <p>
            <a href={link(visit, ["prompts", all[0]!.promptId])}>{isolated(all[0]!.reference.split("@")[0]!)}</a>
          </p>
          {deploymentChips(visit, all)}
        </li>
      ))}
    </ul>
  );
}
