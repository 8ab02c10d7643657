// Costs of the records of budgets. Each budget stores how far the log is counted and the sums, so a record is read
// once, whichever process counts. All is counted again when the prices change, as a corrected price corrects the past,
// when earlier records got the data for statistics, and when a clock that was ahead has left out a period.
import { decimalText, readAmount } from "../../support/decimal.ts";
import type { Amount } from "../../support/decimal.ts";
import { groupBy } from "../../support/group-by.ts";
import { sha256 } from "../../common/ids.ts";
import type { WorkspaceId } from "../../common/ids.ts";
import { getOrAdd } from "../../support/maps.ts";
import { monthOf, startOfMonth } from "../../common/month.ts";
import type { Database, Row } from "../../database/database.ts";
import { integer, text, textOrNull } from "../../database/row.ts";
import { findLogRange } from "../../ledger/blocks.ts";
import { scanAll } from "../../log/scan.ts";
import type { MeasuredRecord } from "../../log/slices.ts";
import { nextPosition } from "../../ledger/statements.ts";
import { addCosts, emptyCosts, totalCost } from "../../tallies/tally.ts";
import type { Costs } from "../../tallies/tally.ts";
import { readCosting } from "../prompts/costing.ts";
import { listOfWorkspace } from "../deployments/deployments.ts";
import { startOfNotice } from "../kernel/notices.ts";
import type { Store } from "../kernel/operation.ts";
import { requireWorkspace } from "../kernel/workspaces.ts";

const day = 86_400_000; // ms

export const lengths = ["day", "month"] as const;
export type Length = (typeof lengths)[number];

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** The day or the month of a time in Unix ms, in UTC: `2027-01-31` or `2027-01`. */
export const periodOf = (length: Length, at: number): string => length === "day" ? dayOf(at) : monthOf(at);

/** Starts of the first periods that count at a time, in Unix ms. */
type Starts = Record<Length, number>;

function startsAt(now: number): Starts {
  const since = startOfNotice(now);
  return { day: Date.parse(dayOf(since)), month: startOfMonth(monthOf(since)) };
}

/** Counts of a budget in a period. The cost is in units of 10^-30 USD. */
export type Spending = { cost: Amount; records: number; unpriced: number };

const noSpending: Spending = { cost: 0n, records: 0, unpriced: 0 };

/** A budget's members for counting, its counted position, and its sums by period. */
type Counted = {
  id: string;
  workspaceId: WorkspaceId;
  promptId: string | null;
  keyId: string | null;
  per: Length;
  counted: number;
  countedSince: number;
  prices: string;
  /** Hash with which they would be counted now. */
  currentPrices: string;
  /** Number of submits of its workspace. */
  submits: number;
  spending: Map<string, Spending>;
};

type StoredPeriod = [period: string, cost: string, records: number, unpriced: number];

/** Stored counts of the budgets of a workspace, or of all. One statement reads them from one moment. */
const stored = (condition: string): string => `
  select *, (
    select json_group_array(json_array(period, cost, records, unpriced)) from budget_periods where budget_id = id
  ) as spending
  from (
    select b.*, (
      select coalesce(sum(submits), 0) from quota_usage q where q.workspace_id = b.workspace_id
    ) as submits_now, (
      select :prices || iif(cost_source = 'prices', ' first', '') from workspaces w where w.id = b.workspace_id
    ) as current_prices
    from budgets b where b.workspace_id not in (select id from deleted_workspaces)
  ) where ${condition} order by workspace_id, id`;

const toCounted = (row: Row): Counted => ({
  id: text(row, "id"),
  workspaceId: text(row, "workspace_id"),
  promptId: textOrNull(row, "prompt_id"),
  keyId: textOrNull(row, "key_id"),
  per: text(row, "per"),
  counted: integer(row, "counted"),
  countedSince: integer(row, "counted_since"),
  prices: text(row, "prices"),
  currentPrices: text(row, "current_prices"),
  submits: integer(row, "submits_now"),
  spending: new Map(
    (JSON.parse(text(row, "spending")) as StoredPeriod[]).map(([period, cost, records, unpriced]) => [
      period,
      { cost: readAmount(cost)!, records, unpriced },
    ]),
  ),
});

/**
 * Hash of the data that costs depend on: the prices, and how far records were read again. The workspace's preference
 * for prices is added to it.
 */
async function readPrices(database: Database): Promise<string> {
  const queries = ["select * from prices", "select position from reindexing"];
  return await sha256(JSON.stringify(await Promise.all(queries.map((sql) => database.read({ sql })))));
}

/** End of the log. All submits that were counted before are in front of it. */
const readEnd = async (database: Database): Promise<number> =>
  integer((await database.read({ sql: `select ${nextPosition} as position` }))[0]!, "position");

/** Groups budgets that one scan can count: those of a workspace that begin at the same position. */
const groupUp = (budgets: Counted[]): Counted[][] => [
  ...groupBy(budgets, ({ workspaceId, counted }) => `${workspaceId} ${counted}`).values(),
];

/** Resets a budget that was counted with other prices, or from a later period on. */
const toCurrent = (budget: Counted, starts: Starts): Counted =>
  budget.prices === budget.currentPrices && budget.countedSince <= starts[budget.per]
    ? budget
    : { ...budget, counted: 0, spending: new Map() };

/** Makes a counter for budgets of a workspace. `first` is the start of the records in periods that matter. */
async function openCounter(store: Store, budgets: Counted[], starts: Starts) {
  const { database } = store, { workspaceId } = budgets[0]!;
  const [workspace, deployments] = await Promise.all([
    requireWorkspace(store, workspaceId),
    listOfWorkspace(store, workspaceId),
  ]);
  const deployIds = deployments.map(({ id }) => id);
  const from = Math.min(...budgets.map(({ per }) => starts[per]));
  // Read after the end of the log: it then has the models of all versions that records name.
  const [costing, range] = await Promise.all([
    readCosting(database, { workspace, deployments }),
    findLogRange(database, { from }),
  ]);
  const reads = { keys: budgets.some(({ keyId }) => keyId !== null) };
  return {
    first: range.first,
    /** Adds the records of a range to the counts. */
    async count(first: number, end: number): Promise<void> {
      if (first >= end || deployIds.length === 0) return;
      const sums = budgets.map(() => new Map<string, Costs>());
      // Most records share the day of the record before.
      let start = NaN, periods: Record<Length, string> = { day: "", month: "" };
      const visit = (record: MeasuredRecord): void => {
        if (!(record.createdAt >= start && record.createdAt < start + day)) {
          periods = { day: dayOf(record.createdAt), month: monthOf(record.createdAt) };
          start = Date.parse(periods.day);
        }
        const { promptId } = deployments[record.deployment]!;
        for (const [nth, budget] of budgets.entries()) {
          if (budget.promptId !== null && budget.promptId !== promptId) continue;
          if (budget.keyId !== null && budget.keyId !== record.keyId) continue;
          addCosts(getOrAdd(sums[nth]!, periods[budget.per], emptyCosts), record);
        }
      };
      await scanAll(database, { filter: { deployIds, from }, costing, reads }, { first, end }, visit);
      for (const [nth, { spending }] of budgets.entries()) addTo(spending, sums[nth]!);
    },
  };
}

function addTo(spending: Map<string, Spending>, sums: Map<string, Costs>): void {
  for (const [period, { records, cost }] of sums) {
    const before = spending.get(period) ?? noSpending;
    spending.set(period, {
      cost: before.cost + totalCost(cost),
      records: before.records + records,
      unpriced: before.unpriced + records - cost.records,
    });
  }
}

/** Spending of a workspace's budgets, by budget and period, up to the last record. Changes nothing. */
export async function spendingOf(
  store: Store,
  workspaceId: WorkspaceId,
): Promise<(id: string, period: string) => Spending> {
  const { database, clock } = store;
  const prices = await readPrices(database), starts = startsAt(clock());
  const rows = await database.read({ sql: stored("workspace_id = :workspaceId"), args: { workspaceId, prices } });
  const budgets = rows.map((row) => toCurrent(toCounted(row), starts));
  const end = await readEnd(database);
  for (const group of groupUp(budgets)) {
    const counter = await openCounter(store, group, starts);
    await counter.count(Math.max(counter.first, group[0]!.counted), end);
  }
  const byId = new Map(budgets.map(({ id, spending }) => [id, spending]));
  return (id, period) => byId.get(id)?.get(period) ?? noSpending;
}

/** Condition of a budget that is not fully counted, or must be counted again. */
const isBehind =
  `submits_now <> submits or prices <> current_prices or counted_since > iif(per = 'month', :month, :day)`;

const stepLength = 65_536; // positions that are counted in one transaction

/**
 * Counts and stores the spending of budgets since they were last counted. A failure in one workspace does not keep
 * those of others from being counted. Returns the errors.
 */
export async function countSpending(store: Store, isOver: () => boolean): Promise<unknown[]> {
  const { database, clock } = store;
  const [found] = await database.read({ sql: "select exists (select 1 from budgets) as has_any" });
  if (found!.has_any === 0) return [];
  const prices = await readPrices(database), starts = startsAt(clock());
  const rows = await database.read({ sql: stored(isBehind), args: { prices, ...starts } });
  const end = await readEnd(database);
  const budgets = rows.map(toCounted), states = new Map<string, State>(budgets.map((budget) => [budget.id, budget]));
  const errors: unknown[] = [];
  const groups = groupUp(budgets.map((budget) => toCurrent(budget, starts)));
  // Budgets with the least to count come first.
  for (const group of groups.sort(([a], [b]) => b!.counted - a!.counted)) {
    if (isOver()) break;
    await countGroup(group).catch((error: unknown) => errors.push(error));
  }
  return errors;

  async function countGroup(group: Counted[]): Promise<void> {
    const counter = await openCounter(store, group, starts);
    let isLast = false;
    for (let first = Math.max(counter.first, group[0]!.counted); !isLast; first += stepLength) {
      const to = { counted: Math.min(end, first + stepLength), prices: group[0]!.currentPrices };
      isLast = to.counted === end;
      await counter.count(first, to.counted);
      if (!await storeCounted(database, group, states, starts, { ...to, isLast })) break;
      for (const { id } of group) states.set(id, to);
      if (isOver()) break;
    }
  }
}

/** Position up to which a budget is counted, and its prices. */
type State = { counted: number; prices: string };

/** Stores the counts of budgets that have not changed since. Returns true if there is any. */
async function storeCounted(
  database: Database,
  budgets: Counted[],
  states: ReadonlyMap<string, State>,
  starts: Starts,
  { counted, prices, isLast }: State & { isLast: boolean },
): Promise<boolean> {
  const isCurrent = ({ per }: Counted, period: string) => period >= periodOf(per, starts[per]);
  const periods = budgets.flatMap((budget) =>
    Array.from(budget.spending)
      .filter(([period]) => isCurrent(budget, period))
      .map(([period, { cost, records, unpriced }]) => [budget.id, period, decimalText(cost), records, unpriced])
  );
  const seen = budgets.map(({ id }) => [id, states.get(id)!.counted, states.get(id)!.prices]);
  const args = { seen: JSON.stringify(seen) };
  const unchanged = `select b.id from json_each(:seen) s cross join budgets b
    on b.id = s.value ->> 0 and b.counted = s.value ->> 1 and b.prices = s.value ->> 2`;
  const [, , moved] = await database.write([
    { sql: `delete from budget_periods where budget_id in (${unchanged})`, args },
    {
      sql: `insert into budget_periods (budget_id, period, cost, records, unpriced)
        select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4
        from json_each(:periods) where value ->> 0 in (${unchanged})`,
      args: { ...args, periods: JSON.stringify(periods) },
    },
    {
      sql: `update budgets set counted = :counted, prices = :prices, submits = iif(:isLast, :submits, submits),
          counted_since = iif(per = 'month', :month, :day)
        where id in (${unchanged}) returning id`,
      args: { ...args, ...starts, counted, prices, isLast: Number(isLast), submits: budgets[0]!.submits },
    },
  ]);
  return moved!.length > 0;
}
