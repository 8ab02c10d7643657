// The recounts of a verification, one for each workspace and month. They begin with the quota that the ledger counted.
import type { WorkspaceId } from "../common/ids.ts";
import type { Database, Row } from "../database/database.ts";
import { integer, integerOrNull, text } from "../database/row.ts";

const none = { reads: 0, submits: 0 };

/** One workspace and month, before anything of the log has been counted. */
const createRecount = (workspaceId: WorkspaceId, month: string) => ({
  workspaceId,
  month,
  /** Quota counts of the ledger. */
  counted: none,
  pruned: none,
  reads: 0,
  submits: 0,
  prunedRecords: 0,
  /** Includes the deleted ones. */
  records: 0,
  deleted: 0,
  /** The sequence number that the next call must have. */
  nextSequence: 1,
  /** Number of misplaced calls and records. */
  discrepancies: 0,
  /** The deployment and key of the last call. */
  deployId: "",
  keyId: "",
});
export type Recount = ReturnType<typeof createRecount>;

/** The recounts of each workspace, one for each month. */
export type Recounts = Map<string, Recount[]>;

export function recountOf(recounts: Recounts, workspaceId: string, month: string): Recount {
  const months = recounts.get(workspaceId);
  const known = months?.find((recount) => recount.month === month);
  if (known !== undefined) return known;
  const recount = createRecount(workspaceId as WorkspaceId, month);
  if (months === undefined) recounts.set(workspaceId, [recount]);
  else months.push(recount);
  return recount;
}

/** A range of workspace ids, both ends included. */
export type Workspaces = { from: string; to: string };

export const allWorkspaces: Workspaces = { from: "", to: "~" };

/** The counts of some workspaces, with the range of the log and the last pruning at that moment. */
type Counts = { workspaces: Workspaces; rows: Row[]; first: number; end: number; sequence: number };

/** The rows in one reply: some 1 MB. A libSQL server's limit is 10 MB. */
export const defaultPageRows = 5_000;

/**
 * Reads the counts of workspaces, page by page. `first` is where the log begins. Each page has the `end` of the log at
 * that moment, since only the counts of later pages include requests accepted between two pages. `sequence` is the last
 * pruning.
 */
export async function readCounts(database: Database, workspaces: Workspaces, pageRows: number) {
  const recounts: Recounts = new Map();
  const pages: Pick<Counts, "workspaces" | "end">[] = [];
  let first = Infinity, sequence = Infinity;
  for (let from: string | undefined = workspaces.from; from !== undefined;) {
    const { counts, next } = await readPage(database, { from, to: workspaces.to }, pageRows);
    for (const row of counts.rows) addCounts(recounts, row);
    first = Math.min(first, counts.first);
    sequence = Math.min(sequence, counts.sequence);
    pages.push({ workspaces: counts.workspaces, end: counts.end });
    from = next;
  }
  return { recounts, first, pages, sequence };
}

function addCounts(recounts: Recounts, row: Row): void {
  const recount = recountOf(recounts, text(row, "workspace_id"), text(row, "month"));
  if (row.kind === "counted") recount.counted = countsOf(row);
  else setPruned(recount, countsOf(row));
}

const countsOf = (row: Row) => ({ reads: integer(row, "reads"), submits: integer(row, "submits") });

/** Initializes a recount with the pruned counts. */
function setPruned(recount: Recount, pruned: { reads: number; submits: number }): void {
  const nextSequence = pruned.reads + pruned.submits + 1;
  Object.assign(recount, { pruned, prunedRecords: pruned.submits, nextSequence });
}

/**
 * Reads the counts of the first workspaces, with all months of each, and the workspace that the next page begins with.
 */
async function readPage(
  database: Database,
  workspaces: Workspaces,
  pageRows: number,
): Promise<{ counts: Counts; next: string | undefined }> {
  const read = await database.read({
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
        -- A query for only the least or only the greatest value reads no other rows.
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
  const log = read.find(({ kind }) => kind === "log")!;
  const rows = read.filter(({ kind }) => kind !== "log");
  const position = {
    first: integerOrNull(log, "reads") ?? 1,
    end: integerOrNull(log, "submits") ?? 1,
    sequence: integer(log, "sequence"),
  };
  if (rows.length < pageRows) return { counts: { workspaces, rows, ...position }, next: undefined };
  // The last workspace may have more rows.
  const next = text(rows.at(-1)!, "workspace_id");
  const complete = rows.filter((row) => row.workspace_id !== next);
  const last = complete.at(-1);
  if (last === undefined) return readPage(database, workspaces, 2 * pageRows);
  const to = text(last, "workspace_id");
  return { counts: { workspaces: { from: workspaces.from, to }, rows: complete, ...position }, next };
}

/**
 * A query for all calls ever pruned from the workspaces pruned since `:sequence`, if they were pruned beyond `:first`,
 * where the slice begins. It is part of the query that reads the slice, so both see the same state. The month is null
 * if the workspace has been deleted.
 */
export const newlyPruned = `
  select 'pruned' as kind, s.workspace_id, u.month, sum(u.reads) as reads, sum(u.submits) as submits,
    s.position
  from prunings s left join pruned_calls u on u.workspace_id = s.workspace_id
  where s.sequence > :sequence and (s.position > :first or :first = :start)
  group by s.workspace_id, u.month`;

/**
 * Restarts the recounts of newly pruned workspaces, since everything before the slice was pruned meanwhile. Workspaces
 * pruned beyond `end`, where counting ends, become stale: their pruned counts may include requests that the quota does
 * not.
 */
export function applyPruned(
  { recounts, stale, end }: { recounts: Recounts; stale: Set<WorkspaceId>; end: number },
  rows: Row[],
): void {
  const pruned = new Map<string, Map<string, Row>>();
  for (const row of rows) {
    const id = text<WorkspaceId>(row, "workspace_id");
    const months = pruned.get(id) ?? new Map<string, Row>();
    pruned.set(id, months);
    if (row.month === null) continue;
    months.set(recountOf(recounts, id, text(row, "month")).month, row);
    if (integer(row, "position") > end) stale.add(id);
  }
  for (const [id, months] of pruned) {
    // The workspace has been deleted.
    if (months.size === 0) recounts.delete(id);
    for (const recount of recounts.get(id) ?? []) {
      const row = months.get(recount.month);
      Object.assign(recount, { reads: 0, submits: 0, records: 0, deleted: 0 });
      setPruned(recount, row === undefined ? { reads: 0, submits: 0 } : countsOf(row));
    }
  }
}
