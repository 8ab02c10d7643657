// The usage of a month against the quota: by day, by key and by deployment.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { isMonth, monthOf } from "../../common/month.ts";
import { listMonths, readUsage } from "../../management/usage.ts";
import type { Usage } from "../../management/usage.ts";
import type { MonthUsage } from "../../schema/ledger.ts";
import { number } from "../format.tsx";
import { Fragment, h, isolated } from "../html.ts";
import type { Html } from "../html.ts";
import { asked, link, workspaceOf } from "../page.ts";
import type { Page, Visit } from "../page.ts";
import { Empty } from "../parts/empty.tsx";
import { Heading, Section } from "../parts/heading.tsx";
import { Notice } from "../parts/notice.tsx";
import { Table } from "../parts/table.tsx";
import { quotaOf } from "./overview.tsx";

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
      body: (
        <>
          <Heading
            title={`Usage in ${month}`}
            lede="Each accepted request counts once, in a month of UTC. Refused requests cost nothing."
          />
          {isUnknown && <Notice kind="error">Month must be a month such as {month}. This is the current one.</Notice>}
          {quotaOf(visit, usage)}
          <Section title="By key and deployment">{keysOf(usage)}</Section>
          <Section title="Months">
            {months.items.length === 0
              ? <p class="hint">No request was accepted yet.</p>
              : monthsTable(visit, months.items)}
          </Section>
        </>
      ),
    };
  },
};

function keysOf({ keys, others }: Usage): Html {
  const rows = others.reads + others.submits === 0 ? keys : [
    ...keys,
    { keyId: null, keyName: "all others", deployId: null, reference: "", ...others },
  ];
  if (rows.length === 0) return <Empty title="No requests">Nothing was accepted in this month.</Empty>;
  return (
    <Table
      caption="Usage by key and deployment"
      rows={rows}
      columns={[
        { label: "Key", isHead: true, cell: ({ keyName, keyId }) => isolated(keyName || keyId || "unknown") },
        { label: "Deployment", cell: ({ reference }) => isolated(reference ?? "unknown") },
        { label: "Prompts read", isNumber: true, cell: ({ reads }) => number(reads) },
        { label: "Records stored", isNumber: true, cell: ({ submits }) => number(submits) },
      ]}
    />
  );
}

const monthsTable = (visit: Visit, months: readonly MonthUsage[]): Html => (
  <Table
    caption="Usage by month"
    rows={months}
    columns={[
      {
        label: "Month",
        isHead: true,
        cell: ({ month }) => <a href={link(visit, ["usage"], { month })}>{month}</a>,
      },
      { label: "Used", isNumber: true, cell: ({ used }) => number(used) },
      { label: "Prompts read", isNumber: true, cell: ({ reads }) => number(reads) },
      { label: "Records stored", isNumber: true, cell: ({ submits }) => number(submits) },
    ]}
  />
);
