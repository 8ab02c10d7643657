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
    { workspaceId, month, counted: none, pruned: none, ...none, records: 0, deleted: 0, nextSequence: 1, strays: 0 };
  books.set(name, book);
  return book;
}

/** Workspaces by their ids: from one to another, both included. */
export type Workspaces = { from: string; to: string };

export const allWorkspaces: Workspaces = { from: "", to: "~" };

/** What was counted of some workspaces at a moment when the log ended before a position. */
type Counts = { workspaces: Workspaces; rows: Row[]; first: number; end: number };

/** How many rows one reply has: some 1 MB, of the 10 MB that a libSQL server gives. */
export const defaultPageRows = 5_000;

/**
 * Reads what is counted of workspaces, page by page. `first` is where the log begins, and a page says where it ended at that
 * moment: what is accepted between two pages is in the counts of the later one alone.
 */
export async function readCounts(database: Database, workspaces: Workspaces, pageRows: number) {
  const books: Books = new Map();
  const pages: Pick<Counts, "workspaces" | "end">[] = [];
  const prunings: unknown[] = [];
  let first = Infinity;
  for (let from: string | undefined = workspaces.from; from !== undefined;) {
    const { counts, next } = await readPage(database, { from, to: workspaces.to }, pageRows);
    for (const row of counts.rows) addCounts(books, row);
    prunings.push(...counts.rows.filter(({ kind }) => kind === "pruned").map((row) => Object.values(row)));
    first = Math.min(first, counts.first);
    pages.push({ workspaces: counts.workspaces, end: counts.end });
    from = next;
  }
  return { books, first, pages, prunings: JSON.stringify(prunings) };
}

function addCounts(books: Books, row: Row): void {
  const counts = { reads: integer(row, "reads"), submits: integer(row, "submits") };
  if (row.kind === "counted") bookOf(books, row).counted = counts;
  else Object.assign(bookOf(books, row), { pruned: counts, nextSequence: counts.reads + counts.submits + 1 });
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
        select 'counted' as kind, workspace_id, month, reads, submits from quota_usage
          where workspace_id between :from and :to
        union all
        select 'pruned', workspace_id, month, reads, submits from pruned_usage where workspace_id between :from and :to
        order by workspace_id limit :pageRows
      )
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
    args: { ...workspaces, pageRows },
  });
  const log = found.find(({ kind }) => kind === "log")!;
  const rows = found.filter(({ kind }) => kind !== "log");
  const position = { first: integerOrNull(log, "reads") ?? 1, end: integerOrNull(log, "submits") ?? 1 };
  if (rows.length < pageRows) return { counts: { workspaces, rows, ...position }, next: undefined };
  // Of the last workspace there may be more.
  const next = text(rows.at(-1)!, "workspace_id");
  const whole = rows.filter((row) => row.workspace_id !== next);
  const last = whole.at(-1);
  if (last === undefined) return readPage(database, workspaces, 2 * pageRows);
  const to = text(last, "workspace_id");
  return { counts: { workspaces: { from: workspaces.from, to }, rows: whole, ...position }, next };
}
