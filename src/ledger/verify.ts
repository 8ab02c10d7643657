// Verifies that the ledger balances, by recounting quota, call log and records independently. It scans the log in slices, so
// that a long log takes no more memory, and other requests run in between.
import type { WorkspaceId } from "../common/ids.ts";
import type { LedgerBalance } from "../schema/ledger.ts";
import { commitAt } from "./blocks.ts";
import type { LogRange } from "./blocks.ts";
import { allWorkspaces, applyPruned, defaultPageRows, newlyPruned, readCounts, recountOf } from "./recounts.ts";
import type { Recount, Recounts, Workspaces } from "./recounts.ts";
import type { Database } from "../database/database.ts";
import { integer, integerOrNull } from "../database/row.ts";

const sliceLength = 1_024; // positions that one query scans: some 5 ms, in which nothing else runs

/**
 * Recounts every month of one workspace, or of all. A record counts only if the call that stored it is in the log, and a call
 * only if its commit is, in the month of the commit's time. No count includes requests that arrive meanwhile. `report` gets the
 * progress, from 0 to 1.
 */
export async function verifyLedger(
  database: Database,
  workspaceId: WorkspaceId | undefined,
  report: (share: number) => void,
  pageRows = defaultPageRows,
): Promise<LedgerBalance[]> {
  const selected = workspaceId === undefined ? allWorkspaces : { from: workspaceId, to: workspaceId };
  const { recounts, first, pages, sequence } = await readCounts(database, selected, pageRows);
  const [{ end }, ...later] = pages as [typeof pages[number], ...typeof pages];
  const stale = new Set<WorkspaceId>();
  const count = { database, recounts, stale, end, since: { start: first, sequence } };
  await countRange({ ...count, workspaces: selected }, { first, end }, report);
  // The quota of a later page includes requests accepted after the first page was read, so the log is counted further.
  for (const { workspaces, end: laterEnd } of later) {
    await countRange({ ...count, workspaces }, { first: end, end: laterEnd }, () => {});
  }
  const balances = [...recounts.values()].filter((recount) => !stale.has(recount.workspaceId)).map(toBalance);
  for (const id of stale) balances.push(...await verifyLedger(database, id, () => {}, pageRows));
  return balances.sort(byWorkspaceAndMonth);
}

/** A count of the log. `since` is where the log began, and the last pruning, when the quota was read. */
type Count = {
  database: Database;
  workspaces: Workspaces;
  recounts: Recounts;
  /** The workspaces that must be counted again, since they were pruned beyond `end`. */
  stale: Set<WorkspaceId>;
  /** Where the log ended when the first page was read. */
  end: number;
  since: { start: number; sequence: number };
};

/** Counts all of a range of the log, slice by slice. */
async function countRange(count: Count, { first, end }: LogRange, report: (share: number) => void): Promise<void> {
  for (let start = first; start < end;) {
    const range = { first: start, end: await findSliceEnd(count.database, start, end) };
    await countCalls(count, range);
    await countRecords(count, range);
    start = range.end;
    report((start - first) / (end - first));
  }
}

/** The condition that a workspace is selected. Rows of no workspace count if all are. */
const isSelected = (workspaces: Workspaces, id: string): string =>
  workspaces === allWorkspaces ? "true" : `${id} between :from and :to`;

const argsOf = (workspaces: Workspaces) => workspaces === allWorkspaces ? {} : workspaces;

/** Where a slice of the log ends: at a commit, so that no commit is split. */
async function findSliceEnd(database: Database, first: number, end: number): Promise<number> {
  const sql = "select min(position) as position from commits where position >= ? and position < ?";
  const [row] = await database.read({ sql, args: [first + sliceLength, end] });
  return integerOrNull(row!, "position") ?? end;
}

/** The commits of a range. The month of a commit is `unknown` if its time is in another one. */
const committed = `committed as materialized (
  select position, next_position,
    iif(month = strftime('%Y-%m', created_at / 1000, 'unixepoch'), month, 'unknown') as month
  from commits where position >= :first and position < :end
)`;

async function countCalls(count: Count, range: LogRange): Promise<void> {
  const { database, workspaces, since } = count;
  const rows = await database.read({
    sql: `
      with ${committed}, called as (
        select c.workspace_id, coalesce(m.month, 'unknown') as month, c.operation, c.count, c.number,
          p.id is null or k.id is null as is_dangling,
          lag(c.number + c.count) over (partition by c.workspace_id, m.month order by c.position) as next_number
        from calls c
        left join ${commitAt("c.position", "committed")} and c.position + c.count <= m.next_position
        left join deployments p on p.id = c.deployment_id and p.workspace_id = c.workspace_id
        left join api_keys k on k.id = c.api_key_id and k.workspace_id = c.workspace_id
        where c.position >= :first and c.position < :end
          and ${isSelected(workspaces, "c.workspace_id")}
      )
      select 'counted' as kind, workspace_id, month, sum(iif(operation = 'read', count, 0)) as reads,
        sum(iif(operation = 'submit', count, 0)) as submits,
        sum(number <> coalesce(next_number, number) or is_dangling) as discrepancies,
        min(number) as first_number, max(number + count) as next_number
      from called group by 2, 3
      union all
      select *, 0, 0 from (${newlyPruned((id) => isSelected(workspaces, id))})`,
    args: { ...range, ...since, ...argsOf(workspaces) },
  });
  const counted = applyPruned(count, rows, (recount, row) => {
    const pruned = { reads: row ? integer(row, "reads") : 0, submits: row ? integer(row, "submits") : 0 };
    Object.assign(recount, { pruned, reads: 0, submits: 0, nextSequence: pruned.reads + pruned.submits + 1 });
  });
  for (const row of counted) {
    const recount = recountOf(count.recounts, row);
    recount.reads += integer(row, "reads");
    recount.submits += integer(row, "submits");
    recount.discrepancies += integer(row, "discrepancies") +
      (integer(row, "first_number") === recount.nextSequence ? 0 : 1);
    recount.nextSequence = integer(row, "next_number");
  }
}

async function countRecords(count: Count, range: LogRange): Promise<void> {
  const { database, workspaces, since } = count;
  const columns = "select position, deployment_id, prompt_version,";
  const rows = await database.read({
    sql: `
      with ${committed}
      select 'counted' as kind, coalesce(c.workspace_id, p.workspace_id, 'unknown') as workspace_id,
        coalesce(m.month, 'unknown') as month, count(*) as records, sum(d.is_deleted) as deleted,
        sum(c.position is null or d.is_deleted and d.position in (select position from diagnoses)) as discrepancies
      from (
        ${columns} 0 as is_deleted from diagnoses where position >= :first and position < :end
        union all
        ${columns} 1 from deleted_diagnoses where position >= :first and position < :end
      ) d
      left join deployments p on p.id = d.deployment_id
      left join ${commitAt("d.position", "committed")} and d.position < m.next_position
      left join calls c on c.position = (select max(position) from calls where position <= d.position)
        and d.position < c.position + c.count and c.operation = 'submit'
        and c.deployment_id = d.deployment_id and c.prompt_version = d.prompt_version
      where ${isSelected(workspaces, "coalesce(c.workspace_id, p.workspace_id)")}
      group by 2, 3
      union all
      select kind, workspace_id, month, submits, 0, position from (${newlyPruned((id) => isSelected(workspaces, id))})`,
    args: { ...range, ...since, ...argsOf(workspaces) },
  });
  const counted = applyPruned(count, rows, (recount, row) => {
    Object.assign(recount, { prunedRecords: row ? integer(row, "records") : 0, records: 0, deleted: 0 });
  });
  for (const row of counted) {
    const recount = recountOf(count.recounts, row);
    recount.records += integer(row, "records");
    recount.deleted += integer(row, "deleted");
    recount.discrepancies += integer(row, "discrepancies");
  }
}

function toBalance(
  { workspaceId, month, counted, pruned, prunedRecords, discrepancies, ...log }: Recount,
): LedgerBalance {
  const reads = log.reads + pruned.reads;
  const submits = log.submits + pruned.submits;
  const records = log.records + prunedRecords;
  return {
    workspaceId,
    month,
    used: counted.reads + counted.submits,
    calls: reads + submits,
    reads,
    records,
    deleted: log.deleted,
    pruned: pruned.reads + pruned.submits,
    balanced: month !== "unknown" && discrepancies === 0 && counted.reads === reads && counted.submits === submits &&
      counted.submits === records,
  };
}

const byWorkspaceAndMonth = (a: LedgerBalance, b: LedgerBalance) =>
  a.workspaceId < b.workspaceId ? -1 : a.workspaceId > b.workspaceId ? 1 : a.month < b.month ? -1 : 1;
