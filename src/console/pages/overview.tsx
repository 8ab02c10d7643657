// The overview of a workspace: whether its deployments are well, what failed last, its quota, and what changed last.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { monthOf } from "../../common/month.ts";
import { listApiKeys } from "../../management/api-keys.ts";
import { listAuditEntries } from "../../management/audit.ts";
import { listDeployments } from "../../management/deployments.ts";
import { listPrompts } from "../../management/prompts.ts";
import { listWorkspaceDiagnoses } from "../../management/records.ts";
import { readWorkspaceStats } from "../../management/stats.ts";
import { listMonths, readUsage } from "../../management/usage.ts";
import { Fragment, h, isolated } from "../html.ts";
import { link, listMost, workspaceOf } from "../page.ts";
import type { Page } from "../page.ts";
import { Empty, Section } from "../parts/elements.tsx";
import { failuresTable, healthTable, newestFailuresFrom, span } from "../parts/health.tsx";
import { QuotaLine } from "../parts/quota.tsx";
import { Changes, findNames } from "./audit.tsx";
import { recentFeedback } from "./recent-feedback.tsx";
import { firstSteps } from "./first-steps.tsx";

const lastChanges = 6;
const lastFailures = 5;

export const overviewPage: Page = {
  path: "/:workspaceId",
  async show(visit) {
    const { call, now } = visit;
    const { id: workspaceId, name } = workspaceOf(visit);
    const [prompts, { items: deployments }, keys, months, changes, names] = await Promise.all([
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
    const usage = await call(readUsage, { workspaceId, month: monthOf(now) }, [0, 0.2]);
    const range = { from: now - 2 * span, splitAt: now - span, interval: "day" as const };
    const stats = await call(readWorkspaceStats, { workspaceId, ...range }, [0.2, 0.9]);
    const from = newestFailuresFrom(stats, now, lastFailures);
    const failed = from === undefined ? [] : (await call(
      listWorkspaceDiagnoses,
      { workspaceId, failures: true, from, limit: lastFailures },
      [0.9, 1],
    )).items;
    return {
      title: "Overview",
      isWide: true,
      heading: isolated(name),
      body: (
        <>
          {await firstSteps(visit, begun)}
          {deployments.length > 0 && (
            <Section title="Last 7 days" aside={<a href={link(visit, ["deployments"])}>All deployments</a>}>
              {healthTable(visit, stats, deployments)}
            </Section>
          )}
          {stats.all.failures !== null && stats.records > 0 && (
            <Section
              title="Newest failures"
              aside={<a href={link(visit, ["records"], { failures: "yes" })}>All failures</a>}
            >
              {failed.length === 0
                ? <p class="hint">No record failed in the last 14 days.</p>
                : failuresTable(visit, failed, names)}
            </Section>
          )}
          {await recentFeedback(visit, stats)}
          <Section title="Quota this month" aside={<a href={link(visit, ["usage"])}>Usage and cost</a>}>
            <QuotaLine visit={visit} usage={usage} />
          </Section>
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
