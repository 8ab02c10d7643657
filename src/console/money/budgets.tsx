// The budgets of a workspace with their spending, and the form that creates one.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { KeyId, PromptId } from "../../common/ids.ts";
import { listApiKeys } from "../../management/access/api-keys.ts";
import { createBudget, listBudgets } from "../../management/money/budgets.ts";
import type { Budget } from "../../management/money/budgets.ts";
import { listPrompts } from "../../management/prompts/prompts.ts";
import { Fragment, h } from "../frame/html.ts";
import type { Html } from "../frame/html.ts";
import { formValue, link, listMost, missingRole, queryValue, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { BudgetsTable, shownBudgets } from "./budget-parts.tsx";
import { Empty, Pager, Section } from "../frame/elements.tsx";
import { Field, Form, given, Guarded, Select } from "../frame/form.tsx";
import { withLabels } from "../frame/inputs.tsx";

const mostOptions = 200;

/** Labels of the fields, by members of the operations. */
const labels: Record<string, string> = { amount: "Amount", at: "Events at", promptId: "Prompt", keyId: "Key" };

/** Makes a change. A refusal names fields as the forms do. */
export const withBudgetLabels = <T,>(change: () => Promise<T>): Promise<T> =>
  withLabels((path) => labels[path], change);

export const budgetsPage: Page = {
  path: "/:workspaceId/usage/budgets",
  async show(visit) {
    const page = { limit: shownBudgets, cursor: queryValue(visit, "cursor") };
    const { items, nextCursor } = await visit.call(listBudgets, { workspaceId: workspaceOf(visit).id, ...page });
    const mayCreate = missingRole(visit, createBudget) === undefined;
    return {
      title: "Budgets",
      done: { deleted: "The budget is deleted." },
      heading: "Budgets",
      lede: "What records may cost in a day or a month of UTC before an event says so. A budget refuses no request.",
      body: (
        <>
          {items.length === 0
            ? <Empty title="No budget yet">Create one to hear when records cost more than you expect.</Empty>
            : <BudgetsTable visit={visit} budgets={items} />}
          <Pager next={nextCursor} href={(cursor) => `?cursor=${cursor}`} />
          <Section title="New budget">
            <Guarded visit={visit} operation={createBudget}>{mayCreate && await newForm(visit)}</Guarded>
          </Section>
        </>
      ),
    };
  },
  async act(visit) {
    const { id } = await withBudgetLabels(() =>
      visit.call(createBudget, {
        workspaceId: workspaceOf(visit).id,
        amount: formValue(visit, "amount") ?? "",
        per: (formValue(visit, "per") ?? "month") as Budget["per"],
        at: formValue(visit, "at"),
        promptId: formValue(visit, "promptId") as PromptId | undefined,
        keyId: formValue(visit, "keyId") as KeyId | undefined,
      })
    );
    return { redirect: link(visit, ["usage", "budgets", id], { done: "created" }) };
  },
};

/** The fields of what can be changed. */
export const BudgetFields = ({ visit, budget }: { visit: ConsoleRequest; budget?: Budget }): Html => (
  <>
    <Field {...given(visit, "amount", labels.amount!, budget?.amount)} isRequired placeholder="50" hint="In USD." />
    <Field
      {...given(visit, "at", labels.at!, budget?.at ?? "50,80,100")}
      isRequired
      hint="Percents of the amount, separated by commas."
    />
  </>
);

async function newForm(visit: ConsoleRequest): Promise<Html> {
  const { id: workspaceId } = workspaceOf(visit);
  const [prompts, keys] = await Promise.all([
    listMost((page) => visit.call(listPrompts, { workspaceId, ...page }), undefined, mostOptions),
    listMost((page) => visit.call(listApiKeys, { workspaceId, ...page }), undefined, mostOptions),
  ]);
  const choice = (name: "promptId" | "keyId", all: string, isWhole: boolean, options: [string, string][]) =>
    isWhole
      ? <Select {...given(visit, name, labels[name]!)} options={[["", all], ...options]} />
      : <Field {...given(visit, name, labels[name]!)} hint={`An id. ${all}, if empty.`} />;
  return (
    <Form submit="Create budget">
      <div class="row">
        <BudgetFields visit={visit} />
        <Select {...given(visit, "per", "Period", "month")} options={[["day", "Day"], ["month", "Month"]]} />
      </div>
      <div class="row">
        {choice(
          "promptId",
          "All prompts",
          prompts.nextCursor === null,
          prompts.items.map(({ id, name }) => [id, name]),
        )}
        {choice("keyId", "All keys", keys.nextCursor === null, keys.items.map(({ id, name }) => [id, name || id]))}
      </div>
    </Form>
  );
}
