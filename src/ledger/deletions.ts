// Taking records and calls away without unbalancing the books: a deleted record leaves a mark, and what is pruned because of
// its age is counted, each in the transaction that takes it away.
import type { Database } from "../database/database.ts";
import { integer, integerOrNull } from "../database/row.ts";

/** Deletes the records at these positions, of those that are there still; gives how many. */
export async function deleteDiagnoses(database: Database, positions: number[], now: number): Promise<number> {
  const args = { positions: JSON.stringify(positions) };
  const [deleted] = await database.write([
    {
      sql: `insert into deleted_diagnoses (position, deployment_id, prompt_version, deleted_at)
        select position, deployment_id, prompt_version, :now from diagnoses
        where position in (select value from json_each(:positions)) returning position`,
      args: { ...args, now },
    },
    { sql: "delete from diagnoses where position in (select value from json_each(:positions))", args },
  ]);
  return deleted!.length;
}

const pruneBatch = 1024; // positions in a transaction
const pruneBytes = 1024 * 1024; // of documents in a transaction, which are overwritten

/**
 * Where the next batch of what is older than a moment ends: at a commit, some 1,024 positions or 1 MiB of documents on, or at
 * the first one that is not older, or at the newest, which always stays. Undefined where nothing is older.
 */
export async function findPruneEnd(database: Database, before: number): Promise<number | undefined> {
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

/** Takes all out of the log that stands before a commit's position; gives how many calls and records that was. */
export async function pruneBefore(database: Database, end: number): Promise<{ calls: number; records: number }> {
  const args = { end };
  const [counts] = await database.write([
    {
      sql: `select (select coalesce(sum(count), 0) from calls where position < :end) as calls,
        (select count(*) from diagnoses where position < :end) as records`,
      args,
    },
    {
      sql: `insert into pruned_usage (workspace_id, month, reads, submits)
        select c.workspace_id, m.month, sum(iif(c.operation = 'read', c.count, 0)),
          sum(iif(c.operation = 'submit', c.count, 0))
        from commits m cross join calls c on c.position >= m.position and c.position < m.next_position
        where m.position < :end group by 1, 2
        on conflict do update set reads = reads + excluded.reads, submits = submits + excluded.submits`,
      args,
    },
    ...["diagnoses", "deleted_diagnoses", "calls", "commits"].map((table) => ({
      sql: `delete from ${table} where position < :end`,
      args,
    })),
  ]);
  const [row] = counts!;
  return { calls: integer(row!, "calls"), records: integer(row!, "records") };
}
