// The proof that the books balance: quota, call log and records are recounted, each on its own, range by range, so that
// it takes no more memory the longer the log is, and others get their turn in between.
import type { WorkspaceId } from "../common/ids.ts";
import type { LedgerBalance } from "../schema/ledger.ts";
import { commitAt } from "./blocks.ts";
import type { LogRange } from "./blocks.ts";
import { allWorkspaces, bookOf, defaultPageRows, isPruned, newlyPruned, readCounts, takePruned } from "./books.ts";
import type { Book, Books, Workspaces } from "./books.ts";
import type { Database } from "../database/database.ts";
import { integer, integerOrNull } from "../database/row.ts";

const rangeLength = 1_024; // positions that one query looks at: some 5 ms, in which no one else gets a turn

/**
 * Recounts every month of one workspace, or of all. A record counts only with the call that stored it, and a call only in
 * its commit, in the month that its time lies in. What arrives meanwhile is left out of all counts. `report` is told how
 * far it is, from 0 to 1.
 */
export async function listBalances(
  database: Database,
  workspaceId: WorkspaceId | undefined,
  report: (share: number) => void,
  pageRows = defaultPageRows,
): Promise<LedgerBalance[]> {
  const asked = workspaceId === undefined ? allWorkspaces : { from: workspaceId, to: workspaceId };
  const { books, first, pages, sequence } = await readCounts(database, asked, pageRows);
  const [{ end }, ...later] = pages as [typeof pages[number], ...typeof pages];
  const stale = new Set<WorkspaceId>();
  const count = { database, books, stale, end, since: { start: first, sequence } };
  await countRange({ ...count, workspaces: asked }, { first, end }, report);
  // What was accepted while the first pages were read is counted in those that came after.
  for (const { workspaces, end: laterEnd } of later) {
    await countRange({ ...count, workspaces }, { first: end, end: laterEnd }, () => {});
  }
  const balances = [...books.values()].filter((book) => !stale.has(book.workspaceId)).map(toBalance);
  for (const id of stale) balances.push(...await listBalances(database, id, () => {}, pageRows));
  return balances.sort(byWorkspaceAndMonth);
}

/** What is counted into which books, since which moment: where the log began, and what had been pruned. */
type Count = {
  database: Database;
  workspaces: Workspaces;
  books: Books;
  /** The workspaces that must be counted again, as they were pruned beyond the end of the first page. */
  stale: Set<WorkspaceId>;
  end: number;
  since: { start: number; sequence: number };
};

/** Counts all of a range of the log, slice by slice. */
async function countRange(count: Count, { first, end }: LogRange, report: (share: number) => void): Promise<void> {
  for (let start = first; start < end;) {
    const range = { first: start, end: await findEnd(count.database, start, end) };
    await countCalls(count, range);
    await countRecords(count, range);
    start = range.end;
    report((start - first) / (end - first));
  }
}

/** The condition that a workspace is one of those asked for; what belongs to none belongs to all of them. */
const isAsked = (workspaces: Workspaces, id: string): string =>
  workspaces === allWorkspaces ? "true" : `${id} between :from and :to`;

const rangeOf = (workspaces: Workspaces) => workspaces === allWorkspaces ? {} : workspaces;

/** Where a range of the log ends: at a commit, so that what belongs together is looked at together. */
async function findEnd(database: Database, first: number, end: number): Promise<number> {
  const sql = "select min(position) as position from commits where position >= ? and position < ?";
  const [row] = await database.read({ sql, args: [first + rangeLength, end] });
  return integerOrNull(row!, "position") ?? end;
}

/** The commits of a range; what does not lie in the month of its commit's time lies in none. */
const committed = `committed as materialized (
  select position, next_position,
    iif(month = strftime('%Y-%m', created_at / 1000, 'unixepoch'), month, 'unknown') as month
  from commits where position >= :first and position < :end
)`;

async function countCalls({ database, workspaces, books, stale, end, since }: Count, range: LogRange): Promise<void> {
  const rows = await database.read({
    sql: `
      with ${committed}, called as (
        select c.workspace_id, coalesce(m.month, 'unknown') as month, c.operation, c.count, c.number,
          p.id is null or k.id is null as names_nothing,
          lag(c.number + c.count) over (partition by c.workspace_id, m.month order by c.position) as next_number
        from calls c
        left join ${commitAt("c.position", "committed")} and c.position + c.count <= m.next_position
        left join deployments p on p.id = c.deployment_id and p.workspace_id = c.workspace_id
        left join api_keys k on k.id = c.api_key_id and k.workspace_id = c.workspace_id
        where c.position >= :first and c.position < :end
          and ${isAsked(workspaces, "c.workspace_id")}
      )
      select 'counted' as kind, workspace_id, month, sum(iif(operation = 'read', count, 0)) as reads,
        sum(iif(operation = 'submit', count, 0)) as submits,
        sum(number <> coalesce(next_number, number) or names_nothing) as strays,
        min(number) as first_number, max(number + count) as next_number
      from called group by 2, 3
      union all
      select *, 0, 0 from (${newlyPruned((id) => isAsked(workspaces, id))})`,
    args: { ...range, ...since, ...rangeOf(workspaces) },
  });
  const beyond = takePruned(books, rows, end, (book, row) => {
    const pruned = { reads: row ? integer(row, "reads") : 0, submits: row ? integer(row, "submits") : 0 };
    Object.assign(book, { pruned, reads: 0, submits: 0, nextSequence: pruned.reads + pruned.submits + 1 });
  });
  for (const id of beyond) stale.add(id);
  for (const row of rows) {
    if (isPruned(row)) continue;
    const book = bookOf(books, row);
    book.reads += integer(row, "reads");
    book.submits += integer(row, "submits");
    book.strays += integer(row, "strays") + (integer(row, "first_number") === book.nextSequence ? 0 : 1);
    book.nextSequence = integer(row, "next_number");
  }
}

async function countRecords({ database, workspaces, books, stale, end, since }: Count, range: LogRange): Promise<void> {
  const columns = "select position, deployment_id, prompt_version,";
  const rows = await database.read({
    sql: `
      with ${committed}
      select 'counted' as kind, coalesce(c.workspace_id, p.workspace_id, 'unknown') as workspace_id,
        coalesce(m.month, 'unknown') as month, count(*) as records, sum(d.is_deleted) as deleted,
        sum(c.position is null or d.is_deleted and d.position in (select position from diagnoses)) as strays
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
      where ${isAsked(workspaces, "coalesce(c.workspace_id, p.workspace_id)")}
      group by 2, 3
      union all
      select kind, workspace_id, month, submits, 0, position from (${newlyPruned((id) => isAsked(workspaces, id))})`,
    args: { ...range, ...since, ...rangeOf(workspaces) },
  });
  const beyond = takePruned(books, rows, end, (book, row) => {
    Object.assign(book, { prunedRecords: row ? integer(row, "records") : 0, records: 0, deleted: 0 });
  });
  for (const id of beyond) stale.add(id);
  for (const row of rows) {
    if (isPruned(row)) continue;
    const book = bookOf(books, row);
    book.records += integer(row, "records");
    book.deleted += integer(row, "deleted");
    book.strays += integer(row, "strays");
  }
}

function toBalance({ workspaceId, month, counted, pruned, prunedRecords, strays, ...log }: Book): LedgerBalance {
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
    balanced: month !== "unknown" && strays === 0 && counted.reads === reads && counted.submits === submits &&
      counted.submits === records,
  };
}

const byWorkspaceAndMonth = (a: LedgerBalance, b: LedgerBalance) =>
  a.workspaceId < b.workspaceId ? -1 : a.workspaceId > b.workspaceId ? 1 : a.month < b.month ? -1 : 1;
