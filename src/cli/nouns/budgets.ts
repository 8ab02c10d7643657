// Shows budgets on the command line.
import { listBudgets, updateBudget } from "../../management/money/budgets.ts";
import type { BudgetState } from "../../management/money/budgets.ts";
import { present } from "../frame/operation-commands.ts";

/** The most important columns come first, because a narrow terminal shows the last ones below. */
const toRow = ({ amount, period, spent, percent, at, unpriced, promptName, keyName, id }: BudgetState) => {
  const of = [promptName ?? "all prompts", ...keyName === null ? [] : [`key ${keyName}`]].join(", ");
  return { of, amount, spent, percent, period, at, unpriced, id };
};

export const budgetPresentations = [
  present(updateBudget, {
    check: (args) =>
      ["amount", "at"].every((name) => args.findText(name) === undefined)
        ? "Nothing to change: set --amount or --at"
        : undefined,
  }),
  present(listBudgets, { row: toRow }),
];
