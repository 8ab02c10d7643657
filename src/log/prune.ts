// Prunes the oldest calls of all workspaces. The transaction that removes calls adds them to counts by workspace,
// month, key and deployment, which keeps the ledger balanced.
import type { Database } from "../database/database.ts";
import { integer, integerOrNull } from "../database/row.ts";
import { removeMuchFeedback } from "../feedback/feedback-removal.ts";
import type { RecordsSql } from "../feedback/feedback-removal.ts";

/** Number of calls and records removed. */
export type Removed = { calls: number; records: number };

/** Removes one batch, and returns its size. Returns undefined once nothing is left to remove. */
export type Step = () => Promise<Removed | undefined>;

const pruneBatch = 1024; // positions in a transaction
const pruneBytes = 1024 * 1024; // of documents in a transaction, since deleting overwrites them

/**
 * The end of the next batch of commits older than a moment: at a commit, after some 1,024 positions or 1 MiB of
 * documents, but at the latest at the first commit that is not older, or at the newest, which is always kept. Undefined
 * if no commit is older.
 */
async function findPruneEnd(database: Database, before: number): Promise<number | undefined> {
  const [row] = await database.read({
    sql: `
      select first, min(
        coalesce((select min(position) from commits where position >= first + :size), newest),
        coalesce((
          select min(position) from commits where position > (
            select min(position) from (
              select position, sum(octet_length(document)) over (order by position rows unbounded preceding) as bytes
              from diagnoses where position between first and first + :size
            ) where bytes > :bytes
          )
        ), newest),
        coalesce((
          select min(position) from commits where position between first and first + :size and created_at >= :before
        ), newest),
        newest
      ) as end
      from (select (select min(position) from commits) as first, (select max(position) from commits) as newest)`,
    args: { before, size: pruneBatch, bytes: pruneBytes },
  });
  const end = integerOrNull(row!, "end");
  return end === null || end === row!.first ? undefined : end;
}

/** Prunes everything that is older than a moment. */
export const pruneAll = (database: Database, before: number): Step => async () => {
  const end = await findPruneEnd(database, before);
  if (end === undefined) return undefined;
  if (await removeMuchFeedback(database, recordsBefore, { end })) return { calls: 0, records: 0 };
  return await pruneBefore(database, end);
};

const recordsBefore: RecordsSql = { begin: "", joins: "diagnoses d", conditions: "d.position < :end" };

/** Removes everything before a commit's position from the log. */
async function pruneBefore(database: Database, end: number): Promise<Removed> {
  const args = { end };
  const [counts] = await database.write([
    {
      sql: `select (select coalesce(sum(count), 0) from calls where position < :end) as calls,
        (select count(*) from diagnoses where position < :end) as records`,
      args,
    },
    {
      sql: countPruned(`commits m cross join calls c on c.position >= m.position and c.position < m.next_position
        where m.position < :end`),
      args,
    },
    { sql: storePruning("select distinct workspace_id from calls where position < :end"), args },
    ...["diagnoses", "deleted_diagnoses", "calls", "commits"].map((table) => ({
      sql: `delete from ${table} where position < :end`,
      args,
    })),
  ]);
  const [row] = counts!;
  return { calls: integer(row!, "calls"), records: integer(row!, "records") };
}

/** Adds calls (c) of commits (m) to the counts of pruned calls, before they are removed. */
export const countPruned = (callsInCommits: string): string => `
  insert into pruned_calls (workspace_id, month, api_key_id, deployment_id, reads, submits)
  select c.workspace_id, m.month, c.api_key_id, c.deployment_id,
    sum(iif(c.operation = 'read', c.count, 0)), sum(iif(c.operation = 'submit', c.count, 0))
  from ${callsInCommits} group by 1, 2, 3, 4
  on conflict do update set reads = reads + excluded.reads, submits = submits + excluded.submits`;

/** Stores that the workspaces found by a query have no calls before the position `:end` any more. */
export const storePruning = (workspaces: string): string => `
  insert into prunings (workspace_id, position, records_position, sequence)
  select workspace_id, :end, :end, (select 1 + coalesce(max(sequence), 0) from prunings) from (${workspaces}) where true
  on conflict do update set position = max(position, excluded.position),
    records_position = max(records_position, excluded.records_position), sequence = excluded.sequence`;
