// The usage of a month against the quota, by day, by key and by deployment, and the costs of its records.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { decimalText, readAmount } from "../../support/decimal.ts";
import { endOfMonth, isMonth, monthOf, startOfMonth } from "../../common/month.ts";
import { listBudgets } from "../../management/money/budgets.ts";
import { readCosts } from "../../management/records/costs.ts";
import type { MonthCosts } from "../../management/records/costs.ts";
import { listMonths, readUsage } from "../../management/records/usage.ts";
import type { Usage } from "../../management/records/usage.ts";
import type { MonthUsage } from "../../schema/ledger.ts";
import { counted, dash, number, usd } from "../frame/format.tsx";
import { breakable, Fragment, h, isolated } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { link, queryValue, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { BudgetsTable, shownBudgets } from "./budget-parts.tsx";
import { Empty, Notice, Section, Table } from "../frame/elements.tsx";
import { QuotaPanel, UsageChart } from "./quota.tsx";
import { momentText } from "../frame/inputs.tsx";

const mostMonths = 24;
const mostKeys = 25;
const mostCosts = 10; // in each table

export const usagePage: Page = {
  path: "/:workspaceId/usage",
  async show(visit) {
    const { call, now } = visit;
    const { id: workspaceId } = workspaceOf(visit);
    const asking = queryValue(visit, "month") ?? "";
    const month = isMonth(asking) ? asking : monthOf(now);
    const isUnknown = asking !== "" && asking !== month;
    const [months, usage, costs, budgets] = await Promise.all([
      call(listMonths, { workspaceId, limit: mostMonths }),
      call(readUsage, { workspaceId, month }, [0, 0.5]),
      call(readCosts, { workspaceId, month }, [0.5, 0.9]),
      month === monthOf(now) && call(listBudgets, { workspaceId, limit: shownBudgets }, [0.9, 1]),
    ]);
    return {
      title: `Usage in ${month}`,
      ...isUnknown && { kind: "invalid" },
      heading: `Usage in ${month}`,
      lede: "Each accepted request counts once, in a month of UTC. Refused requests cost nothing.",
      body: (
        <>
          {isUnknown && <Notice kind="error">Month must be a month such as {month}. This is the current one.</Notice>}
          <QuotaPanel visit={visit} usage={usage} />
          {usage.days.length > 0 && (
            <Section title="By day">
              <UsageChart visit={visit} usage={usage} />
            </Section>
          )}
          {budgets && (
            <Section title="Budgets" aside={<a href={link(visit, ["usage", "budgets"])}>All budgets</a>}>
              {budgets.items.length === 0
                ? <p class="hint">No budget yet. One says when records cost more than you expect.</p>
                : <BudgetsTable visit={visit} budgets={budgets.items} />}
            </Section>
          )}
          <Section title="By key and deployment">{keysOf(usage)}</Section>
          {costs.records > 0 && (
            <Section title="Cost of the records" aside={<a href={link(visit, ["prices"])}>Prices</a>}>
              {costsOf(visit, costs)}
            </Section>
          )}
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
  const rest = [others, ...keys.slice(mostKeys)].reduce(
    (sum, { reads, submits }) => ({ reads: sum.reads + reads, submits: sum.submits + submits }),
    { reads: 0, submits: 0 },
  );
  const shown = keys.slice(0, mostKeys);
  const rows = rest.reads + rest.submits === 0
    ? shown
    : [...shown, { keyId: null, keyName: "all others", deployId: null, reference: "", ...rest }];
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

type Costs = Pick<MonthCosts, "records" | "cost" | "unpriced">;
type CostRow = Costs & { name: Part; query?: Record<string, string | number | undefined> };

/** Each amount leads to its records. */
function costsOf(visit: ConsoleRequest, costs: MonthCosts): Html {
  const { month, others } = costs;
  const range = { from: momentText(startOfMonth(month)), to: momentText(endOfMonth(month)) };
  const table = (title: string, rows: CostRow[], rest: Costs) => (
    <div>
      <h3>By {title.toLowerCase()}</h3>
      <Table
        caption={`Cost by ${title.toLowerCase()}`}
        rows={withOthers(rows, rest)}
        columns={[
          { label: title, isHead: true, cell: ({ name }) => name },
          {
            label: "Records",
            isNumber: true,
            cell: ({ query, records }) =>
              query === undefined
                ? number(records)
                : <a href={link(visit, ["records"], { ...query, ...range })}>{number(records)}</a>,
          },
          { label: "Cost", isNumber: true, cell: (row) => costOf(row) },
        ]}
      />
    </div>
  );
  const rowOf = (
    { reference, deployId: deployment, version, ...each }: MonthCosts["deployments"][number] & { version?: number },
  ) => ({
    ...each,
    name: <>{breakable(reference)}{version !== undefined && ` v${version}`}</>,
    query: { deployment, version },
  });
  return (
    <>
      <p>
        <strong id="cost">{usd(costs.cost)}</strong> for {counted(costs.records, "record")}
        {costs.unpriced > 0 && [", of which ", number(costs.unpriced), " have no price"]}.
      </p>
      <div class="halves costs">
        {table("Deployment", costs.deployments.map(rowOf), others.deployments)}
        {table("Version", costs.versions.map(rowOf), others.versions)}
        {table(
          "Key",
          costs.keys.map(({ keyId: key, ...each }) => ({
            ...each,
            name: isolated(each.keyName || key),
            query: { key },
          })),
          others.keys,
        )}
        {table(
          "Model",
          costs.models.map(({ model, ...each }) => ({
            ...each,
            ...model === null
              ? { name: <span class="none">not named</span> }
              : { name: isolated(model), query: { model } },
          })),
          others.models,
        )}
      </div>
    </>
  );
}

/** The most expensive rows, and one with the sum of all others. */
function withOthers(rows: CostRow[], rest: Costs): CostRow[] {
  const shown = rows.slice(0, mostCosts), others = [...rows.slice(mostCosts), rest];
  const sum = (read: (costs: Costs) => number) => others.reduce((total, each) => total + read(each), 0);
  const records = sum((each) => each.records);
  if (records === 0) return shown;
  const cost = decimalText(others.reduce((total, each) => total + readAmount(each.cost)!, 0n));
  return [...shown, { name: "all others", records, cost, unpriced: sum((each) => each.unpriced) }];
}

const costOf = ({ records, cost, unpriced }: Costs): Part => (
  <>
    {unpriced === records ? dash : usd(cost)}
    {unpriced > 0 && <p class="hint">{number(unpriced)} without a price</p>}
  </>
);

const monthsTable = (visit: ConsoleRequest, months: readonly MonthUsage[]): Html => (
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
