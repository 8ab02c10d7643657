// A budget: its spending, and the forms that change and delete it.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { notFound, wrongField } from "../../common/errors.ts";
import type { BudgetId } from "../../common/ids.ts";
import { deleteBudget, readBudget, updateBudget } from "../../management/money/budgets.ts";
import type { BudgetState } from "../../management/money/budgets.ts";
import { ago } from "../frame/format.tsx";
import { Fragment, h } from "../frame/html.ts";
import { formValue, link, missingRole, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { budgetName, budgetScope, SpentBar } from "./budget-parts.tsx";
import { Fact, Facts, Section } from "../frame/elements.tsx";
import { deleteForm, Form, HiddenField } from "../frame/form.tsx";
import { BudgetFields, withBudgetLabels } from "./budgets.tsx";

export const budgetPage: Page = {
  path: "/:workspaceId/usage/budgets/:budgetId",
  async show(visit) {
    const budget = await findBudget(visit), { id, amount, per, at, period, createdAt } = budget;
    const lack = missingRole(visit, updateBudget);
    return {
      title: `Budget of $${amount} per ${per}`,
      done: { created: "The budget is created.", changed: "The budget is changed." },
      heading: budgetName(budget),
      parent: { label: "Budgets", href: link(visit, ["usage", "budgets"]) },
      body: (
        <>
          <div class="panel">
            <SpentBar budget={budget} />
          </div>
          <Facts>
            <Fact label="Of">{budgetScope(visit, budget)}</Fact>
            <Fact label="Period">{period}</Fact>
            <Fact label="Events at">{at.split(",").map((percent) => `${percent} %`).join(", ")}</Fact>
            <Fact label="Created">{ago(createdAt, visit.now)}</Fact>
            <Fact label="Id" code={id} />
          </Facts>
          <p>
            <a href={link(visit, ["audit"], { target: id })}>Its events</a>
          </p>
          {lack !== undefined ? <p class="lack">{lack}</p> : (
            <>
              <Section title="Change">
                <Form submit="Save">
                  <HiddenField name="do" value="change" />
                  <div class="row">
                    <BudgetFields visit={visit} budget={budget} />
                  </div>
                </Form>
              </Section>
              {deleteForm(
                visit,
                deleteBudget,
                "budget",
                "It is removed for good. What records cost stays in the usage.",
              )}
            </>
          )}
        </>
      ),
    };
  },
  async act(visit) {
    const { id } = await findBudget(visit), todo = visit.form.get("do");
    if (todo === "delete") {
      await visit.call(deleteBudget, { id });
      return { redirect: link(visit, ["usage", "budgets"], { done: "deleted" }) };
    }
    if (todo !== "change") throw wrongField("do", "one of change, delete");
    const input = { id, amount: formValue(visit, "amount") ?? "", at: formValue(visit, "at") ?? "" };
    await withBudgetLabels(() => visit.call(updateBudget, input));
    return { redirect: link(visit, ["usage", "budgets", id], { done: "changed" }) };
  },
};

/** The budget in the path, which must be of the workspace in the path. */
async function findBudget(visit: ConsoleRequest): Promise<BudgetState> {
  const id = visit.params.budgetId as BudgetId, budget = await visit.call(readBudget, { id });
  if (budget.workspaceId !== workspaceOf(visit).id) throw notFound("Budget", id);
  return budget;
}
