// The overview of a workspace: the health of its deployments, the last failures, its quota, and the last changes.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { Page as ListPage } from "../common/domain.ts";
import { monthOf } from "../common/month.ts";
import { after } from "../common/timeout.ts";
import { findFirst } from "../database/page.ts";
import type { SearchResult } from "../database/page.ts";
import { createApiKey, listApiKeys } from "../management/access/api-keys.ts";
import { listAuditEntries } from "../management/events/audit.ts";
import { createDeployment, listDeployments } from "../management/deployments/deployments.ts";
import type { Deployment } from "../management/deployments/deployments.ts";
import { listPrompts } from "../management/prompts/prompts.ts";
import { listWorkspaceDiagnoses } from "../management/records/records.ts";
import { feedbackLeftOut, readWorkspaceStats } from "../management/records/stats.ts";
import type { WorkspaceStats } from "../management/records/stats.ts";
import { listMonths, readUsage } from "../management/records/usage.ts";
import type { Usage } from "../management/records/usage.ts";
import { createPrompt } from "../management/prompts/versions.ts";
import type { Diagnosis } from "../schema/ledger.ts";
import { Fragment, h, isolated } from "./frame/html.ts";
import type { Html, Part } from "./frame/html.ts";
import { link, listMost, missingRole, missingRoles, workspaceOf } from "./frame/page.ts";
import type { ConsoleRequest, Page } from "./frame/page.ts";
import { firingAlerts } from "./events/alert-parts.tsx";
import { usedUpBudgets } from "./money/budget-parts.tsx";
import { Empty, Section } from "./frame/elements.tsx";
import { FeedbackList, findRules } from "./records/feedback-figures.tsx";
import { failuresTable, healthTable, newestFailuresFrom, span } from "./health.tsx";
import { QuotaLine } from "./money/quota.tsx";
import { brokenWebhooks } from "./events/webhook-parts.tsx";
import { findUsable, UseIt } from "./deployments/use-it.tsx";
import { Changes, findNames } from "./events/audit.tsx";
import { mainOf } from "./frame/inputs.tsx";

const lastChanges = 6;
const lastFailures = 5;
const searchTime = 1_000; // ms that the search for them takes

export const overviewPage: Page = {
  path: "/:workspaceId",
  async show(visit) {
    const { call, now } = visit;
    const { id: workspaceId, name } = workspaceOf(visit);
    const range = { from: now - 2 * span, splitAt: now - span, interval: "day" as const };
    const [{ items: deployments }, changes, names, usage, budgets, stats, alerts, webhooks] = await Promise.all([
      listMost((page) => call(listDeployments, { workspaceId, ...page })),
      call(listAuditEntries, { workspaceId, limit: lastChanges }),
      findNames(visit),
      call(readUsage, { workspaceId, month: monthOf(now) }, [0, 0.15]),
      usedUpBudgets(visit, [0.15, 0.2]),
      call(readWorkspaceStats, { workspaceId, ...range }, [0.2, 0.9]),
      firingAlerts(visit, workspaceId),
      brokenWebhooks(visit, workspaceId),
    ]);
    const from = newestFailuresFrom(stats, now, lastFailures);
    const [failed, steps, feedback] = await Promise.all([
      from === undefined ? noFailures : findFailures(visit, from),
      firstSteps(visit, deployments, usage),
      recentFeedback(visit, stats),
    ]);
    return {
      title: "Overview",
      isWide: true,
      heading: isolated(name),
      body: (
        <>
          {steps}
          {alerts}
          {webhooks}
          {budgets}
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
              {failed.outcome === "found"
                ? failuresTable(visit, failed.item, names)
                : failed.outcome === "none"
                ? <p class="hint">No record failed in the last 14 days.</p>
                : <p class="hint">The search ran out of time. “All failures” goes on with it.</p>}
            </Section>
          )}
          {feedback}
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

const noFailures: SearchResult<Diagnosis[]> = { outcome: "none" };

/** Searches for the newest failed records since a moment. With many records between, it finds the first few of them. */
function findFailures(visit: ConsoleRequest, from: number): Promise<SearchResult<Diagnosis[]>> {
  const input = { workspaceId: workspaceOf(visit).id, failures: true, from, limit: lastFailures };
  return findFirst(async (cursor) => {
    const { items, nextCursor } = await visit.call(listWorkspaceDiagnoses, { ...input, cursor }, [0.9, 1]);
    return { items: items.length > 0 ? [items] : [], nextCursor };
  }, after(searchTime));
}

/** Remaining and completed steps; empty if all are done. `used` is the number of requests in this month. */
async function firstSteps(
  visit: ConsoleRequest,
  deployments: readonly Deployment[],
  { used }: Pick<Usage, "used">,
): Promise<Part> {
  const deployment = mainOf(deployments), hasDeployment = deployment !== undefined;
  const { call } = visit, first = { workspaceId: workspaceOf(visit).id, limit: 1 };
  const [hasPrompt, hasKey, isUsed] = await Promise.all([
    hasDeployment || hasItems(call(listPrompts, first)),
    hasItems(call(listApiKeys, first)),
    used > 0 || hasItems(call(listMonths, first)),
  ]);
  if (hasPrompt && hasDeployment && hasKey && isUsed) return "";
  const steps = [
    { isDone: hasPrompt, label: "Write a prompt", operation: createPrompt, path: ["prompts", "new"] },
    { isDone: hasDeployment, label: "Deploy a version of it", operation: createDeployment, path: ["prompts"] },
    { isDone: hasKey, label: "Create a key for your application", operation: createApiKey, path: ["keys"] },
  ];
  const left = steps.filter(({ isDone }) => !isDone);
  const lack = missingRoles(visit, left.map(({ label, operation }) => [`“${label}”`, operation]));
  return (
    <div class="panel">
      <h2>First steps</h2>
      <ol class="steps">
        {steps.map(({ isDone, label, operation, path }) => (
          <li>
            {isDone
              ? <Done>{label}</Done>
              : missingRole(visit, operation) === undefined
              ? <a href={link(visit, path)}>{label}</a>
              : <span aria-disabled="true">{label}</span>}
          </li>
        ))}
        <li>
          {isUsed ? <Done>Use it from your application</Done> : "Use it from your application"}
          {!isUsed && hasDeployment && (
            <UseIt visit={visit} usable={await findUsable(visit, deployment)} isOpen={hasKey} />
          )}
        </li>
      </ol>
      {lack !== undefined && <p class="lack">{lack}</p>}
    </div>
  );
}

const hasItems = async (page: Promise<ListPage<unknown>>): Promise<boolean> => (await page).items.length > 0;

const Done = ({ children }: { children?: Part }): Html => (
  <>
    <s>{children}</s> <span class="hint">done</span>
  </>
);

const mostNames = 5;

/** A section of the overview; nothing if none of the records of the last 7 days was rated. */
async function recentFeedback(visit: ConsoleRequest, { split, isFeedbackLeftOut }: WorkspaceStats): Promise<Part> {
  if (isFeedbackLeftOut) return <p class="hint">{feedbackLeftOut}.</p>;
  if (split === null || split.after.feedback.length === 0) return undefined;
  const { before, after } = split;
  const hrefOf = (feedback: string) => link(visit, ["records"], { last: "7d", feedback });
  return (
    <Section
      title="Feedback of the last 7 days"
      aside={<a href={link(visit, ["agreement"])}>Agreement of two authors</a>}
    >
      <FeedbackList
        all={after}
        before={before}
        most={mostNames}
        rules={await findRules(visit, [after])}
        hrefOf={hrefOf}
      />
    </Section>
  );
}
