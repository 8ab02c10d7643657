// Parts of budgets: their spending, and which are used up.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { listBudgets } from "../../management/money/budgets.ts";
import type { Budget, BudgetState } from "../../management/money/budgets.ts";
import { counted, number, usd } from "../frame/format.tsx";
import { breakable, Fragment, h, isolated } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { link, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest } from "../frame/page.ts";
import { ShareBar } from "../frame/chart.tsx";
import { Notice, Table } from "../frame/elements.tsx";

const mostBudgets = 100; // as many as a workspace has

/** Number of budgets on a page. */
export const shownBudgets = 25;

/** `$50.00 per month` */
export const budgetName = ({ amount, per }: Pick<Budget, "amount" | "per">): Html => <>{usd(amount)} per {per}</>;

/** Prompt and key that a budget is for. */
export function budgetScope(visit: ConsoleRequest, { promptId, promptName, keyId, keyName }: Budget): Part {
  const prompt = promptId !== null && (
    <a href={link(visit, ["prompts", promptId])}>{breakable(promptName ?? promptId)}</a>
  );
  const key = keyId !== null && (
    <>
      key <a href={link(visit, ["keys", keyId])}>{isolated(keyName || keyId)}</a>
    </>
  );
  if (!prompt && !key) return "the workspace";
  return [prompt, prompt && key && ", ", key];
}

/** Spending of a budget, against its amount. */
export const SpentBar = ({ budget: { spent, amount, percent, unpriced } }: { budget: BudgetState }): Html => (
  <>
    <ShareBar part={Number(spent)} whole={Number(amount)} label="of the budget is spent" />
    <p class="hint">
      {usd(spent)} spent, {number(percent, "%")}
      {unpriced > 0 && <>, not counting {counted(unpriced, "record")} without a cost</>}
    </p>
  </>
);

/** Budgets with their spending. */
export const BudgetsTable = ({ visit, budgets }: { visit: ConsoleRequest; budgets: readonly BudgetState[] }): Html => (
  <Table
    caption="Budgets"
    rows={budgets}
    columns={[
      {
        label: "Budget",
        isHead: true,
        cell: (budget) => <a href={link(visit, ["usage", "budgets", budget.id])}>{budgetName(budget)}</a>,
      },
      { label: "Of", cell: (budget) => budgetScope(visit, budget) },
      { label: "Period", cell: ({ period }) => period },
      { label: "Spent", isMain: true, cell: (budget) => <SpentBar budget={budget} /> },
    ]}
  />
);

/** Warns of budgets that are used up; false without any. */
export async function usedUpBudgets(visit: ConsoleRequest, part: readonly [number, number]): Promise<Part> {
  const input = { workspaceId: workspaceOf(visit).id, limit: mostBudgets };
  const { items } = await visit.call(listBudgets, input, part);
  const usedUp = items.filter(({ percent }) => percent >= 100);
  return usedUp.length > 0 && (
    <Notice kind="warning">
      <a href={link(visit, ["usage", "budgets"])}>{counted(usedUp.length, "budget")}</a>{" "}
      {usedUp.length === 1 ? "is" : "are"} used up. Requests are still accepted.
    </Notice>
  );
}
