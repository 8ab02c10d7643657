// Budgets: limits on the cost of a workspace's, a prompt's or a key's records in a day or a month, which cause events.
// A budget refuses no request.
import { decimalText, readAmount } from "../../support/decimal.ts";
import { notFound } from "../../common/errors.ts";
import { newId } from "../../common/ids.ts";
import type { BudgetId, KeyId, PromptId, WorkspaceId } from "../../common/ids.ts";
import { usd } from "../../schema/ledger.ts";
import { described, oneOf, option, optional, orNull, predicate, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { apiKeyTable } from "../access/api-keys.ts";
import { lengths, periodOf, spendingOf } from "./budget-spending.ts";
import type { Spending } from "./budget-spending.ts";
import { createOperation, listOperation } from "../kernel/declare.ts";
import { operation, pageOf } from "../kernel/operation.ts";
import type { Store } from "../kernel/operation.ts";
import { requirePrompt } from "../prompts/prompts.ts";
import { requireRoom } from "../kernel/room.ts";
import { insertInto, tableOf, updateOf } from "../kernel/table.ts";

const amount = described(
  v.matching(
    "a decimal text of USD such as 50 or 0.25, from 0.01 to 999999999.99",
    String.raw`^([1-9]\d{0,8}(\.\d{1,2})?|0\.(0[1-9]|[1-9]\d?))$`,
    { examples: ["50"] },
  ),
  "How much may be spent in a period, in USD, as a decimal text",
);
const percent = String.raw`([1-9]\d{0,2}|1000)`;
const at = described(
  v.matching("up to 10 percents from 1 to 1000, as in 50,80,100", `^${percent}(,${percent}){0,9}$`, {
    examples: ["50,80,100"],
  }),
  "The percentages of the amount at which there is an event",
);
const per = described(oneOf(...lengths), "The period, in UTC, after which spending begins again");

const budget = {
  id: v.textAs<BudgetId>(),
  workspaceId: v.textAs<WorkspaceId>(),
  promptId: orNull(v.textAs<PromptId>(), "The prompt whose records count. Null for those of all prompts"),
  promptName: orNull(v.text, "The name of the prompt, or null"),
  keyId: orNull(v.textAs<KeyId>(), "The API key whose records count. Null for those of all keys"),
  keyName: orNull(v.text, "The name of the key, or null"),
  amount,
  per,
  at,
  createdAt: v.timestamp,
};
export const Budget = shape("Budget", budget);
export type Budget = Infer<typeof Budget>;

const BudgetState = shape("BudgetState", {
  ...budget,
  period: described(v.text, "The present day or month, as 2027-01-31 or 2027-01"),
  spent: described(usd, "What the records of the period cost, in USD, exact to the last decimal"),
  percent: described(
    // Spending has no bound, and an amount may be a cent.
    predicate<number>("a number from 0", (value) => Number.isFinite(value) && Number(value) >= 0, {
      type: "number",
      minimum: 0,
    }),
    "The share of the amount that is spent, in percent, rounded down to one digit",
  ),
  unpriced: described(v.count, "How many records of the period have no cost, as they lack tokens, a model or a price"),
});
export type BudgetState = Infer<typeof BudgetState>;

export const budgetTable = tableOf(
  Budget,
  `select id, workspace_id, prompt_id, key_id, amount, per, thresholds as at, created_at,
    (select name from prompts where id = prompt_id) as prompt_name,
    (select name from api_keys where id = key_id) as key_name
  from budgets`,
);

export async function requireBudget({ database }: Store, id: BudgetId): Promise<Budget> {
  const found = await budgetTable.find(database, id);
  if (found === undefined) throw notFound("Budget", id);
  return found;
}

async function requireKey({ database }: Store, id: KeyId, workspaceId: WorkspaceId): Promise<string> {
  const key = await apiKeyTable.find(database, id);
  if (key?.workspaceId !== workspaceId) throw notFound("API key", id);
  return key.name;
}

/** Percentage of an amount that was spent. It is rounded down: 100 only once all is spent. */
export const percentOf = ({ cost }: Pick<Spending, "cost">, amount: string): number =>
  Number(1000n * cost / readAmount(amount)!) / 10;

function withSpending(
  stored: Budget,
  now: number,
  spending: (id: string, period: string) => Spending,
): BudgetState {
  const period = periodOf(stored.per, now), spent = spending(stored.id, period);
  const { cost, unpriced } = spent;
  return { ...stored, period, spent: decimalText(cost), percent: percentOf(spent, stored.amount), unpriced };
}

/** Thresholds in ascending order, each once. */
const inOrder = (at: string): string => [...new Set(at.split(",").map(Number))].sort((a, b) => a - b).join();

const toLogged = ({ promptName: _, keyName: _name, createdAt: _at, ...logged }: Budget): object => logged;

export const createBudget = createOperation({
  id: "createBudget",
  summary:
    "Create a budget, which causes an event when costs reach a percentage of its amount. It does not refuse requests",
  path: "/workspaces/{workspaceId}/budgets",
  conflicts: true,
  role: "admin",
  command: `budget create --amount USD --per ${lengths.join("|")} [--at PERCENTS] [--prompt REF]`,
  input: {
    workspaceId: v.workspaceId,
    amount,
    per,
    at: option(at, "The percentages of the amount at which there is an event", { default: "50,80,100" }),
    promptId: option(v.promptReference, "Only the cost of this prompt's records. Default: of all prompts"),
    keyId: option(v.keyId, "Only the cost of this API key's records. Default: of all keys"),
  },
  output: Budget,
  locate: ({ id }) => `/budgets/${id}`,
  async run(management, { workspaceId, per, at: given = "50,80,100", promptId = null, keyId = null, ...input }) {
    const prompt = promptId === null ? null : await requirePrompt(management, promptId, workspaceId);
    const keyName = keyId === null ? null : await requireKey(management, keyId, workspaceId);
    await requireRoom(management, "budgets", workspaceId);
    const createdAt = management.clock(), id = newId("budget", createdAt);
    const amount = decimalText(readAmount(input.amount)!), at = inOrder(given);
    const { at: thresholds, ...columns } = { workspaceId, promptId, keyId, amount, per, at, createdAt };
    await management.commit([{
      action: "budget.created",
      id,
      workspaceId,
      after: { promptId, keyId, amount, per, at },
    }], [
      insertInto("budgets", { id, ...columns, thresholds, changedAt: createdAt }),
    ]);
    return { id, ...columns, at, promptName: prompt?.name ?? null, keyName };
  },
});

export const listBudgets = listOperation({
  id: "listBudgets",
  summary: "List a workspace's budgets with what is spent, newest first",
  path: "/workspaces/{workspaceId}/budgets",
  command: "budget list",
  input: { workspaceId: v.workspaceId, ...v.page },
  output: pageOf(BudgetState),
  isLong: true,
  async run(management, { workspaceId, ...page }) {
    const { items, nextCursor } = await budgetTable.list(management.database, { workspaceId }, page);
    if (items.length === 0) return { items: [], nextCursor };
    const spending = await spendingOf(management, workspaceId), now = management.clock();
    return { items: items.map((stored) => withSpending(stored, now, spending)), nextCursor };
  },
});

export const readBudget = operation({
  id: "readBudget",
  summary: "Show a budget with what is spent",
  method: "GET",
  path: "/budgets/{id}",
  command: "budget show ID",
  input: { id: v.budgetId },
  output: BudgetState,
  isLong: true,
  async run(management, { id }) {
    const stored = await requireBudget(management, id);
    return withSpending(stored, management.clock(), await spendingOf(management, stored.workspaceId));
  },
});

export const updateBudget = operation({
  id: "updateBudget",
  summary: "Change the amount or the thresholds of a budget. A new amount can reach each threshold once more",
  method: "PATCH",
  path: "/budgets/{id}",
  role: "admin",
  command: "budget update ID [--amount USD] [--at PERCENTS]",
  input: { id: v.budgetId, amount: optional(amount), at: optional(at) },
  output: Budget,
  async run(management, { id, ...input }) {
    const before = await requireBudget(management, id);
    const amount = input.amount === undefined ? before.amount : decimalText(readAmount(input.amount)!);
    const after = { ...before, amount, at: input.at === undefined ? before.at : inOrder(input.at) };
    if (amount !== before.amount || after.at !== before.at) {
      const logged = { before: toLogged(before), after: toLogged(after) };
      await management.commit([{ action: "budget.updated", id, workspaceId: before.workspaceId, ...logged }], [
        updateOf("budgets", id, { amount, thresholds: after.at, changedAt: management.clock() }),
      ]);
    }
    return after;
  },
});

export const deleteBudget = operation({
  id: "deleteBudget",
  summary: "Delete a budget",
  method: "DELETE",
  path: "/budgets/{id}",
  role: "admin",
  command: "budget delete ID",
  input: { id: v.budgetId },
  output: Budget,
  async run(management, { id }) {
    const found = await requireBudget(management, id);
    const { workspaceId } = found;
    await management.commit([{ action: "budget.deleted", id, workspaceId, before: toLogged(found) }], [
      { sql: "delete from notices where subject = ?", args: [id] },
      { sql: "delete from budget_periods where budget_id = ?", args: [id] },
      { sql: "delete from budgets where id = ?", args: [id] },
    ]);
    return found;
  },
});

export const budgetOperations = [createBudget, listBudgets, readBudget, updateBudget, deleteBudget] as const;
