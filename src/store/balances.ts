// The proof that the books balance: quota, call log and records are recounted, each on its own, stretch by stretch, so that
// it takes no more memory the longer the log is, and others get their turn in between.
import type { LedgerBalance } from "../domain.ts";
import { commitAt } from "./blocks.ts";
import type { Stretch } from "./blocks.ts";
import type { Database, Row } from "./database.ts";
import { integer, integerOrNull, text } from "./row.ts";

const stretchLength = 1_024; // positions that one query looks at: some 5 ms, in which no one else gets a turn

/** One workspace and month, as far as it has been counted. */
type Book = {
  workspaceId: string;
  month: string;
  counted: { reads: number; submits: number };
  pruned: { reads: number; submits: number };
  reads: number;
  submits: number;
  /** The deleted ones too. */
  records: number;
  deleted: number;
  /** The number that the next call must have. */
  nextNumber: number;
  /** Calls and records that are not where they must be. */
  strays: number;
};

/**
 * Recounts every month of one workspace, or of all. A record counts only with the call that stored it, and a call only in
 * its commit, in the month that its time lies in. What arrives meanwhile is left out of all counts. `report` is told how
 * far it is, from 0 to 1.
 */
export async function listBalances(
  database: Database,
  workspaceId: string | undefined,
  report: (share: number) => void,
): Promise<LedgerBalance[]> {
  const { books, first, end, prunings } = await readCounts(database, workspaceId);
  for (let start = first; start < end;) {
    const stretch = { first: start, end: await findEnd(database, start, end) };
    await countCalls(database, workspaceId, stretch, books);
    await countRecords(database, workspaceId, stretch, books);
    start = stretch.end;
    report((start - first) / (end - first));
  }
  // What was pruned meanwhile has been counted twice, or not at all.
  const { prunings: prunedSince } = await readCounts(database, workspaceId);
  if (prunedSince !== prunings) return listBalances(database, workspaceId, report);
  return [...books.values()].map(toBalance).sort(byWorkspaceAndMonth);
}

type Books = Map<string, Book>;

function bookOf(books: Books, row: Row): Book {
  const workspaceId = text(row, "workspace_id");
  const month = text(row, "month");
  const name = `${workspaceId} ${month}`;
  const none = { reads: 0, submits: 0 };
  const book = books.get(name) ??
    { workspaceId, month, counted: none, pruned: none, ...none, records: 0, deleted: 0, nextNumber: 1, strays: 0 };
  books.set(name, book);
  return book;
}

/** What is counted, and the stretch of the log that was there at that moment. */
async function readCounts(database: Database, workspaceId: string | undefined) {
  const ofWorkspace = workspaceId === undefined ? "" : "where workspace_id = :workspaceId";
  const rows = await database.read({
    sql: `
      select 'counted' as kind, workspace_id, month, reads, submits from quota_usage ${ofWorkspace}
      union all
      select 'pruned', workspace_id, month, reads, submits from pruned_usage ${ofWorkspace}
      union all
      select 'log', '', '', min(first), max(next) from (
        -- Each by itself: the least or the greatest alone is found without reading the others.
        select (select min(position) from commits) as first,
          (select next_position from commits order by position desc limit 1) as next
        ${
      ["calls", "diagnoses", "deleted_diagnoses"].map((table) =>
        `union all select (select min(position) from ${table}), (select max(position) + 1 from ${table})`
      ).join("\n        ")
    }
      )`,
    args: workspaceId === undefined ? {} : { workspaceId },
  });
  const books: Books = new Map();
  const of = (kind: string) => rows.filter((row) => row.kind === kind);
  const countsOf = (row: Row) => ({ reads: integer(row, "reads"), submits: integer(row, "submits") });
  for (const row of of("counted")) bookOf(books, row).counted = countsOf(row);
  for (const row of of("pruned")) {
    const pruned = countsOf(row);
    Object.assign(bookOf(books, row), { pruned, nextNumber: pruned.reads + pruned.submits + 1 });
  }
  const [log] = of("log");
  return {
    books,
    first: integerOrNull(log!, "reads") ?? 1,
    end: integerOrNull(log!, "submits") ?? 1,
    prunings: JSON.stringify(of("pruned")),
  };
}

/** Where a stretch of the log ends: at a commit, so that what belongs together is looked at together. */
async function findEnd(database: Database, first: number, end: number): Promise<number> {
  const sql = "select min(position) as position from commits where position >= ? and position < ?";
  const [row] = await database.read({ sql, args: [first + stretchLength, end] });
  return integerOrNull(row!, "position") ?? end;
}

/** The commits of a stretch; what does not lie in the month of its commit's time lies in none. */
const committed = `committed as materialized (
  select position, next_position,
    iif(month = strftime('%Y-%m', created_at / 1000, 'unixepoch'), month, 'unknown') as month
  from commits where position >= :first and position < :end
)`;

async function countCalls(database: Database, workspaceId: string | undefined, stretch: Stretch, books: Books) {
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
          ${workspaceId === undefined ? "" : "and c.workspace_id = :workspaceId"}
      )
      select workspace_id, month, sum(iif(operation = 'read', count, 0)) as reads,
        sum(iif(operation = 'submit', count, 0)) as submits,
        sum(number <> coalesce(next_number, number) or names_nothing) as strays,
        min(number) as first_number, max(number + count) as next_number
      from called group by 1, 2`,
    args: { ...stretch, ...(workspaceId === undefined ? {} : { workspaceId }) },
  });
  for (const row of rows) {
    const book = bookOf(books, row);
    book.reads += integer(row, "reads");
    book.submits += integer(row, "submits");
    book.strays += integer(row, "strays") + (integer(row, "first_number") === book.nextNumber ? 0 : 1);
    book.nextNumber = integer(row, "next_number");
  }
}

async function countRecords(database: Database, workspaceId: string | undefined, stretch: Stretch, books: Books) {
  const columns = "select position, deployment_id, prompt_version,";
  const rows = await database.read({
    sql: `
      with ${committed}
      select coalesce(c.workspace_id, p.workspace_id, 'unknown') as workspace_id,
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
      ${workspaceId === undefined ? "" : "where coalesce(c.workspace_id, p.workspace_id) = :workspaceId"}
      group by 1, 2`,
    args: { ...stretch, ...(workspaceId === undefined ? {} : { workspaceId }) },
  });
  for (const row of rows) {
    const book = bookOf(books, row);
    book.records += integer(row, "records");
    book.deleted += integer(row, "deleted");
    book.strays += integer(row, "strays");
  }
}

function toBalance({ workspaceId, month, counted, pruned, strays, ...log }: Book): LedgerBalance {
  const reads = log.reads + pruned.reads;
  const submits = log.submits + pruned.submits;
  const records = log.records + pruned.submits;
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
