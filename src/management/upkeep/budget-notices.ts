// Notices of budgets that have reached a threshold.
import { readAmount } from "../../support/decimal.ts";
import { dollarText, priceText } from "../../support/dollars.ts";
import type { WorkspaceId } from "../../common/ids.ts";
import { integer, text, textOrNull } from "../../database/row.ts";
import type { Row } from "../../database/database.ts";
import { countSpending, periodOf } from "../money/budget-spending.ts";
import type { Length } from "../money/budget-spending.ts";
import { announce, batch, isHighest, startOfNotice } from "../kernel/notices.ts";
import type { Notice } from "../kernel/notices.ts";
import type { Store } from "../kernel/operation.ts";

const thresholds = "'[' || b.thresholds || ']'";
const factOf = (threshold: string) => `p.period || ' ' || ${threshold} || ' ' || b.amount`;

/**
 * SQLite compares amounts as floating-point numbers, so this finds a few more. Another amount resets the thresholds.
 */
const reached = `
  select b.*, p.period, p.cost, t.value as percent
  from budgets b cross join budget_periods p on p.budget_id = b.id
  cross join json_each(${thresholds}) t
  where cast(p.cost as real) * 100 >= cast(b.amount as real) * t.value * (1 - 1e-9)
    and b.workspace_id not in (select id from deleted_workspaces)
    and ${isHighest("budget.reached", "b.id", thresholds, factOf)}
  order by b.id, p.period, t.value`;

async function findReached({ database, clock }: Store): Promise<Notice[]> {
  const now = clock();
  const rows = (await database.read({ sql: reached })).filter((row) => isReached(row) && isPresent(row, now));
  // The last one of each budget and period is the highest.
  const highest = new Map(rows.map((row) => [`${text(row, "id")} ${text(row, "period")}`, row]));
  return [...highest.values()].slice(0, batch).map(toNotice);
}

const isReached = (row: Row): boolean =>
  100n * readAmount(text(row, "cost"))! >= BigInt(integer(row, "percent")) * readAmount(text(row, "amount"))!;

/**
 * True for a period that is not over, or ended recently with the budget as it is now. A later one may exist, if a clock
 * was ahead.
 */
function isPresent(row: Row, now: number): boolean {
  const per = text<Length>(row, "per"), period = text(row, "period");
  const periodAt = (at: number) => periodOf(per, at);
  return period >= periodAt(now) ||
    period >= periodAt(startOfNotice(now)) && period >= periodAt(integer(row, "changed_at"));
}

function toNotice(row: Row): Notice {
  const subject = text(row, "id"), period = text(row, "period"), percent = integer(row, "percent");
  const amount = text(row, "amount"), spent = text(row, "cost");
  const of = { promptId: textOrNull(row, "prompt_id"), keyId: textOrNull(row, "key_id") };
  return {
    action: "budget.reached",
    ...{ subject, fact: `${period} ${percent} ${amount}`, workspaceId: text<WorkspaceId>(row, "workspace_id") },
    data: { period, percent, spent, amount, ...of },
    note: `${percent} % of the budget for ${period} is spent: ${dollarText(Number(spent))} of ${priceText(amount)}`,
  };
}

export async function noticeBudgets(store: Store, isOver: () => boolean): Promise<void> {
  const errors = await countSpending(store, isOver);
  await announce(store, isOver, findReached);
  if (errors.length > 0) throw errors[0];
}
