// What verify counts into: a book for each workspace and month, which begins with what was counted of the quota.
import type { WorkspaceId } from "../common/ids.ts";
import type { Database, Row } from "../database/database.ts";
import { integer, integerOrNull, text } from "../database/row.ts";

/** One workspace and month, as far as it has been counted. */
export type Book = {
  workspaceId: WorkspaceId;
  month: string;
  counted: { reads: number; submits: number };
  pruned: { reads: number; submits: number };
  reads: number;
  submits: number;
  prunedRecords: number;
  /** The deleted ones too. */
  records: number;
  deleted: number;
  /** The sequence number that the next call must have. */
  nextSequence: number;
  /** Calls and records that are not where they must be. */
  strays: number;
};

export type Books = Map<string, Book>;

export function bookOf(books: Books, row: Row): Book {
  const workspaceId = text<WorkspaceId>(row, "workspace_id");
  const month = text(row, "month");
  const name = `${workspaceId} ${month}`;
  const none = { reads: 0, submits: 0 };
  const book = books.get(name) ??
    {
      ...{ workspaceId, month, counted: none, pruned: none, ...none },
      ...{ prunedRecords: 0, records: 0, deleted: 0, nextSequence: 1, strays: 0 },
    };
  books.set(name, book);
  return book;
}

/** Workspaces by their ids: from one to another, both included. */
export type Workspaces = { from: string; to: string };

export const allWorkspaces: Workspaces = { from: "", to: "~" };

/** What was counted of some workspaces at a moment when the log ended before a position. */
type Counts = { workspaces: Workspaces; rows: Row[]; first: number; end: number; sequence: number };

/** How many rows one reply has: some 1 MB, of the 10 MB that a libSQL server gives. */
export const defaultPageRows = 5_000;

/**
 * Reads what is counted of workspaces, page by page. `first` is where the log begins, and a page says where it ended at that
 * moment: what is accepted between two pages is in the counts of the later one alone. `sequence` is the last pruning.
 */
export async function readCounts(database: Database, workspaces: Workspaces, pageRows: number) {
  const books: Books = new Map();
  const pages: Pick<Counts, "workspaces" | "end">[] = [];
  let first = Infinity, sequence = Infinity;
  for (let from: string | undefined = workspaces.from; from !== undefined;) {
    const { counts, next } = await readPage(database, { from, to: workspaces.to }, pageRows);
    for (const row of counts.rows) addCounts(books, row);
    first = Math.min(first, counts.first);
    sequence = Math.min(sequence, counts.sequence);
    pages.push({ workspaces: counts.workspaces, end: counts.end });
    from = next;
  }
  return { books, first, pages, sequence };
}

function addCounts(books: Books, row: Row): void {
  const counts = { reads: integer(row, "reads"), submits: integer(row, "submits") };
  if (row.kind === "counted") bookOf(books, row).counted = counts;
  else {
    const nextSequence = counts.reads + counts.submits + 1;
    Object.assign(bookOf(books, row), { pruned: counts, prunedRecords: counts.submits, nextSequence });
  }
}

/** The counts of the first of some workspaces, all months of each, and the workspace that the next page begins with. */
async function readPage(
  database: Database,
  workspaces: Workspaces,
  pageRows: number,
): Promise<{ counts: Counts; next: string | undefined }> {
  const found = await database.read({
    sql: `
      select * from (
        select 'counted' as kind, workspace_id, month, reads, submits, 0 as sequence from quota_usage
          where workspace_id between :from and :to
        union all
        select 'pruned', workspace_id, month, sum(reads), sum(submits), 0 from pruned_calls
          where workspace_id between :from and :to group by 2, 3
        order by workspace_id limit :pageRows
      )
      union all
      select 'log', '', '', min(first), max(next), (select coalesce(max(sequence), 0) from prunings) from (
        -- Each by itself: the least or the greatest alone is found without reading the others.
        select (select min(position) from commits) as first,
          (select next_position from commits order by position desc limit 1) as next
        ${
      ["calls", "diagnoses", "deleted_diagnoses"].map((table) =>
        `union all select (select min(position) from ${table}), (select max(position) + 1 from ${table})`
      ).join("\n        ")
    }
      )`,
    args: { ...workspaces, pageRows },
  });
  const log = found.find(({ kind }) => kind === "log")!;
  const rows = found.filter(({ kind }) => kind !== "log");
  const position = {
    first: integerOrNull(log, "reads") ?? 1,
    end: integerOrNull(log, "submits") ?? 1,
    sequence: integer(log, "sequence"),
  };
  if (rows.length < pageRows) return { counts: { workspaces, rows, ...position }, next: undefined };
  // Of the last workspace there may be more.
  const next = text(rows.at(-1)!, "workspace_id");
  const whole = rows.filter((row) => row.workspace_id !== next);
  const last = whole.at(-1);
  if (last === undefined) return readPage(database, workspaces, 2 * pageRows);
  const to = text(last, "workspace_id");
  return { counts: { workspaces: { from: workspaces.from, to }, rows: whole, ...position }, next };
}

/** Rows of kind `pruned` of a query that counts a slice of the log, whose columns begin with those of `newlyPruned`. */
export const isPruned = ({ kind }: Row): boolean => kind === "pruned";

/**
 * What is pruned of the workspaces of which more was pruned since `:sequence`, if that reaches into the slice that begins at
 * `:first`. It is read together with what is counted, so that both are of the same moment. The month is null if the rest of
 * the workspace has been deleted.
 */
export const newlyPruned = (isAsked: (id: string) => string): string => `
  select 'pruned' as kind, s.workspace_id, u.month, sum(u.reads) as reads, sum(u.submits) as submits,
    s.position
  from prunings s left join pruned_calls u on u.workspace_id = s.workspace_id
  where s.sequence > :sequence and (s.position > :first or :first = :start) and ${isAsked("s.workspace_id")}
  group by s.workspace_id, u.month`;

/**
 * Counts these workspaces anew from a slice on, as everything before it was pruned meanwhile. `reset` gets the row of the book's
 * month, if anything is pruned of it. Gives the workspaces that are pruned beyond `end`, where counting ends: what is pruned of
 * them may have come later than what is compared with it. Their positions are in the column of the strays.
 */
export function takePruned(
  books: Books,
  rows: Row[],
  end: number,
  reset: (book: Book, row: Row | undefined) => void,
): WorkspaceId[] {
  const pruned = new Map<string, Map<string, Row>>();
  for (const row of rows.filter(isPruned)) {
    const id = text(row, "workspace_id");
    const months = pruned.get(id) ?? new Map<string, Row>();
    pruned.set(id, months);
    if (row.month !== null) months.set(bookOf(books, row).month, row);
  }
  for (const [name, book] of books) {
    const months = pruned.get(book.workspaceId);
    if (months?.size === 0) books.delete(name);
    else if (months !== undefined) reset(book, months.get(book.month));
  }
  const beyond = rows.filter((row) => isPruned(row) && row.month !== null && integer(row, "strays") > end);
  return beyond.map((row) => text(row, "workspace_id"));
}
