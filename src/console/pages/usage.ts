// The usage of a month against the quota: by day, by key and by deployment.
import { isMonth, monthOf } from "../../common/month.ts";
import { listMonths, readUsage } from "../../management/usage.ts";
import type { Usage } from "../../management/usage.ts";
import { number } from "../format.tsx";
import { isolated, markup } from "../html.ts";
import type { Part } from "../html.ts";
import { asked, link, workspaceOf } from "../page.ts";
import type { Page } from "../page.ts";
import { empty } from "../parts/empty.tsx";
import { heading, section } from "../parts/heading.tsx";
import { notice } from "../parts/notice.tsx";
import { table } from "../parts/table.tsx";
import { quotaOf } from "./overview.ts";

const mostMonths = 24;

export const usagePage: Page = {
  path: "/:workspaceId/usage",
  section: "usage",
  async show(visit) {
    const { call, now } = visit;
    const { id: workspaceId } = workspaceOf(visit);
    const asking = asked(visit, "month") ?? "";
    const month = isMonth(asking) ? asking : monthOf(now);
    const isUnknown = asking !== "" && asking !== month;
    const [usage, months] = await Promise.all([
      call(readUsage, { workspaceId, month }),
      call(listMonths, { workspaceId, limit: mostMonths }),
    ]);
    return {
      title: `Usage in ${month}`,
      ...isUnknown && { kind: "invalid" },
      body: markup`${
        heading({
          title: `Usage in ${month}`,
          lede: "Each accepted request counts once, in a month of UTC. Refused requests cost nothing.",
        })
      }${isUnknown && notice("error", `Month must be a month such as ${month}. This is the current one.`)}${
        quotaOf(visit, usage)
      }${section("By key and deployment", keysOf(usage))}${
        section(
          "Months",
          months.items.length === 0
            ? markup`<p class="hint">No request was accepted yet.</p>`
            : table("Usage by month", months.items, [
              {
                label: "Month",
                isHead: true,
                cell: ({ month }) => markup`<a href="${link(visit, ["usage"], { month })}">${month}</a>`,
              },
              { label: "Used", isNumber: true, cell: ({ used }) => number(used) },
              { label: "Prompts read", isNumber: true, cell: ({ reads }) => number(reads) },
              { label: "Records stored", isNumber: true, cell: ({ submits }) => number(submits) },
            ]),
        )
      }`,
    };
  },
};

function keysOf({ keys, others }: Usage): Part {
  const rows = others.reads + others.submits === 0 ? keys : [
    ...keys,
    { keyId: null, keyName: "all others", deployId: null, reference: "", ...others },
  ];
  if (rows.length === 0) return empty("No requests", "Nothing was accepted in this month.");
  return table("Usage by key and deployment", rows, [
    { label: "Key", isHead: true, cell: ({ keyName, keyId }) => isolated(keyName || keyId || "unknown") },
    { label: "Deployment", cell: ({ reference }) => isolated(reference ?? "unknown") },
    { label: "Prompts read", isNumber: true, cell: ({ reads }) => number(reads) },
    { label: "Records stored", isNumber: true, cell: ({ submits }) => number(submits) },
  ]);
}
