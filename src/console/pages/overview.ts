// The overview of a workspace: its quota, what is live, and what changed last.
import { monthOf } from "../../common/month.ts";
import { listApiKeys } from "../../management/api-keys.ts";
import { listAuditEntries } from "../../management/audit.ts";
import { listDeployments } from "../../management/deployments.ts";
import type { Deployment } from "../../management/deployments.ts";
import { listPrompts } from "../../management/prompts.ts";
import { readUsage } from "../../management/usage.ts";
import type { Usage } from "../../management/usage.ts";
import { forecast } from "../forecast.ts";
import { counted, dayText, number } from "../format.tsx";
import { groupBy } from "../group-by.ts";
import { isolated, markup } from "../html.ts";
import type { Html, Part } from "../html.ts";
import { link, listMost, workspaceOf } from "../page.ts";
import type { Page, Visit } from "../page.ts";
import { shareBar } from "../parts/chart.tsx";
import { deploymentChip } from "../parts/chips.tsx";
import { empty } from "../parts/empty.tsx";
import { heading, section } from "../parts/heading.tsx";
import { usageChart } from "../parts/usage-chart.ts";
import { changesTable, findNames } from "./audit.tsx";

const lastChanges = 8;

export const overviewPage: Page = {
  path: "/:workspaceId",
  section: "overview",
  async show(visit) {
    const { call, now } = visit;
    const { id: workspaceId, name } = workspaceOf(visit);
    const [usage, prompts, { items: deployments }, keys, changes, names] = await Promise.all([
      call(readUsage, { workspaceId, month: monthOf(now) }),
      call(listPrompts, { workspaceId, limit: 1 }),
      listMost((page) => call(listDeployments, { workspaceId, ...page })),
      call(listApiKeys, { workspaceId, limit: 1 }),
      call(listAuditEntries, { workspaceId, limit: lastChanges }),
      findNames(visit),
    ]);
    const isNew = prompts.items.length === 0 || deployments.length === 0 || keys.items.length === 0;
    return {
      title: "Overview",
      body: markup`${heading({ title: isolated(name) })}${
        isNew && firstSteps(visit, [prompts.items.length > 0, deployments.length > 0, keys.items.length > 0])
      }${
        section(
          "Quota this month",
          quotaOf(visit, usage),
          markup`<a href="${link(visit, ["usage"])}">Usage by key and deployment</a>`,
        )
      }${
        deployments.length > 0 &&
        section(
          "Live now",
          liveOf(visit, deployments),
          markup`<a href="${link(visit, ["deployments"])}">All deployments</a>`,
        )
      }${
        section(
          "What changed last",
          changes.items.length === 0
            ? empty("Nothing has changed", "Each change will be here, with who made it and why.")
            : changesTable(visit, changes.items, names),
          markup`<a href="${link(visit, ["audit"])}">Whole audit log</a>`,
        )
      }`,
    };
  },
};

/** What a new workspace needs until its first prompt is served. */
const firstSteps = (visit: Visit, [hasPrompt, hasDeployment, hasKey]: boolean[]): Html => {
  const step = (isDone: boolean | undefined, path: string[], text: string) =>
    markup`<li>${isDone ? markup`<s>${text}</s> done` : markup`<a href="${link(visit, path)}">${text}</a>`}</li>`;
  return markup`<div class="panel"><h2>First steps</h2><ol>${step(hasPrompt, ["prompts", "new"], "Write a prompt")}${
    step(
      hasDeployment,
      ["deployments"],
      "Deploy a version of it",
    )
  }${step(hasKey, ["keys"], "Create a key for your application")}</ol></div>`;
};

/** The quota and its forecast. The numbers are those of `promptledger usage`. */
export function quotaOf(visit: Visit, usage: Usage): Html {
  const { limit, used, remaining, reads, submits, days, month } = usage;
  return markup`<div class="panel"><dl class="figures"><div><dt>used of ${number(limit)}</dt><dd id="used">${
    number(used)
  }</dd></div><div><dt>remaining</dt><dd id="remaining">${
    number(remaining)
  }</dd></div><div><dt>prompts read</dt><dd id="reads">${
    number(reads)
  }</dd></div><div><dt>records stored</dt><dd id="submits">${number(submits)}</dd></div></dl><p></p>${
    shareBar(used, limit, "of the quota is used")
  }<p></p><p class="hint">${
    month === monthOf(visit.now) ? forecastText(visit, usage) : "The limit is that of today."
  }</p></div>${days.length > 0 && markup`<p></p>${usageChart(month, days)}`}`;
}

function forecastText(visit: Visit, usage: Usage): Part {
  if (usage.remaining === 0) {
    return "The quota is used up. Requests are refused until the month ends, or until the limit is raised.";
  }
  const found = forecast(usage, workspaceOf(visit).createdAt, visit.now);
  if (found === undefined) return "There are too few requests for a forecast.";
  const pace = markup`At the pace of the last days, about ${counted(found.perDay, "request")} a day,`;
  return found.usedUpAt === undefined
    ? markup`${pace} the quota lasts: about ${found.byEnd.toLocaleString("en")} will be used by the end of the month.`
    : markup`${pace} the quota is used up on <strong>${dayText(found.usedUpAt)}</strong>.`;
}

const mostShown = 12;

/** The newest deployments of each prompt, in the order of the alphabet. */
function liveOf(visit: Visit, deployments: readonly Deployment[]): Html {
  const prompts = [...groupBy(deployments, ({ promptId }) => promptId).values()].slice(0, mostShown);
  const sort = (all: Deployment[]) => all.sort((a, b) => a.reference < b.reference ? -1 : 1);
  return markup`<ul class="tree">${
    prompts.map(sort).sort(([a], [b]) => a!.reference < b!.reference ? -1 : 1).map((all) =>
      markup`<li class="leaf"><p><a href="${link(visit, ["prompts", all[0]!.promptId])}">${
        isolated(all[0]!.reference.split("@")[0]!)
      }</a></p><span class="chips">${all.map((deployment) => deploymentChip(visit, deployment))}</span></li>`
    )
  }</ul>`;
}
