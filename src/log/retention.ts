// Removes the oldest calls or records of one workspace, in the order of the log: the pruned calls of a workspace are
// then the first ones of each month, as when all workspaces are pruned.
import { blocksOfRange, commitAt } from "../ledger/blocks.ts";
import type { LogRange } from "../ledger/blocks.ts";
import { withArgs } from "../database/database.ts";
import type { Database } from "../database/database.ts";
import { integer, integerOrNull } from "../database/row.ts";
import { removeMuchFeedback } from "../feedback/feedback-removal.ts";
import type { RecordsSql } from "../feedback/feedback-removal.ts";
import { countPruned, storePruning } from "./prune.ts";
import type { Step } from "./prune.ts";

const scanSize = 2_048; // positions that one query scans
const batchCost = 256; // calls, or KiB of their records, in a transaction

/**
 * Prunes the calls of a workspace with their records, up to the first commit that is not older than `before`. Calls in
 * the newest commit of the log stay. Without `before` it prunes all calls, of a workspace that accepts no more.
 */
export const pruneWorkspace = (database: Database, workspaceId: string, before?: number): Step =>
  stepThrough(database, { workspaceId, before: before ?? null }, "position", [
    `${blocksOfRange} ${countPruned(`${calls("c")} cross join ${commitAt("c.position")}`)}`,
    ...["diagnoses", "deleted_diagnoses"].map((table) => `${blocksOfRange} delete from ${table} where ${isOwn(table)}`),
    `${blocksOfRange} delete from calls where position in (select r.position from ${calls("r")})`,
    // Commits without calls go too. The newest one stays, since it has the position at which the log continues.
    `delete from commits
      where position >= coalesce((select max(position) from commits where position <= :first), 0) and position < :end
        and position < (select max(position) from commits) and not exists (
          select 1 from calls c where c.position >= commits.position and c.position < commits.next_position
        )`,
    storePruning("select :workspaceId as workspace_id"),
  ]);

/** Deletes the records of a workspace that are older than `before`. A row of deleted_diagnoses replaces each. */
export const expireRecords = (database: Database, workspaceId: string, before: number, now: number): Step =>
  stepThrough(database, { workspaceId, before, now }, "records_position", [
    `${blocksOfRange}
      insert into deleted_diagnoses (position, deployment_id, prompt_version, deleted_at)
      select d.position, d.deployment_id, d.prompt_version, :now from ${records("diagnoses")}`,
    `${blocksOfRange} delete from diagnoses where ${isOwn("diagnoses")}`,
    setWatermark("records_position"),
  ]);

/** Joins the calls of the workspace in a range. Needs `blocksOfRange`. */
function calls(name: string): string {
  return `block cross join calls ${name} on ${name}.position >> 8 = block.number and ${name}.workspace_id = :workspaceId
    and ${name}.position >= :first and ${name}.position < :end`;
}

/** Joins the records (d) of these calls, or the rows that replace deleted ones. */
function records(table: string): string {
  return `${calls("r")} cross join ${table} d on d.position >= r.position and d.position < r.position + r.count`;
}

const ownRecords: RecordsSql = { begin: blocksOfRange, joins: records("diagnoses"), conditions: "true" };

function isOwn(table: string): string {
  return `position in (select d.position from ${records(table)})`;
}

/** The column with the position up to which calls or records were removed. The next search begins there. */
type Watermark = "position" | "records_position";

function setWatermark(watermark: Watermark): string {
  return `insert into prunings (workspace_id, position, records_position, sequence)
    values (:workspaceId, ${watermark === "position" ? ":end" : 0}, :end, 0)
    on conflict do update set ${watermark} = max(${watermark}, excluded.${watermark})`;
}

type Args = Record<string, string | number | null>;

const maxEmpty = 64; // parts with nothing to remove, before the watermark that skips them is stored

/** Runs statements over one part of the log after the other. Skips parts with nothing to remove. */
function stepThrough(database: Database, args: Args, watermark: Watermark, statements: string[]): Step {
  let position: number | undefined;
  let empty = 0;
  const store = async () => {
    if (empty > 0) await database.write([withArgs(setWatermark(watermark), { ...args, end: position! })]);
    empty = 0;
  };
  return async () => {
    position ??= await readWatermark(database, args, watermark);
    const { first, end, count } = await findBatch(database, { ...args, position }, watermark);
    if (count > 0) {
      const range = { ...args, first, end };
      if (await removeMuchFeedback(database, ownRecords, range)) return { calls: 0, records: 0 };
      const results = await database.write([countSql, ...statements].map((sql) => withArgs(sql, range)));
      const [counts] = results[0]!;
      position = end;
      empty = 0;
      return { calls: watermark === "position" ? integer(counts!, "calls") : 0, records: integer(counts!, "records") };
    }
    if (end <= position) return void await store();
    position = end;
    if (++empty >= maxEmpty) await store();
    return { calls: 0, records: 0 };
  };
}

const countSql = `${blocksOfRange}
  select (select coalesce(sum(r.count), 0) from ${calls("r")}) as calls,
    (select count(*) from ${records("diagnoses")}) as records`;

async function readWatermark(database: Database, { workspaceId }: Args, watermark: Watermark): Promise<number> {
  const sql = `select ${watermark} as position from prunings where workspace_id = ?`;
  const [row] = await database.read({ sql, args: [workspaceId as string] });
  return row === undefined ? 0 : integer(row, "position");
}

/** The next part of the log. It has only older commits, and no more calls than one transaction should remove. */
async function findBatch(
  database: Database,
  args: Args,
  watermark: Watermark,
): Promise<LogRange & { count: number }> {
  const [row] = await database.read(withArgs(batchSql(watermark), { ...args, scanSize, cost: batchCost }));
  const first = integer(row!, "first");
  const last = integerOrNull(row!, "last") ?? first;
  return { first, end: integerOrNull(row!, "cut") ?? last, count: integer(row!, "count") };
}

const batchSql = (watermark: Watermark): string => `
  with recursive log(first, last) as materialized (
    select max(:position, coalesce((select min(position) from commits), 0)),
      (select iif(:before is null, next_position, position) from commits order by position desc limit 1)
  ),
  part(first, last) as materialized (
    select first, min(
      last,
      coalesce((select min(position) from commits where position >= first + :scanSize), last),
      coalesce((
        select min(position) from commits
        where position >= coalesce((select max(position) from commits where position <= first), 0)
          and position <= first + :scanSize and created_at >= :before
      ), last)
    ) from log
  ),
  block(number) as (
    select first >> 8 from part
    union all select number + 1 from block where number < ((select last from part) - 1) >> 8
  ),
  own(position, cost) as materialized (
    select r.position, r.count + coalesce((
      select sum(octet_length(document)) from diagnoses d
      where d.position >= r.position and d.position < r.position + r.count
    ), 0) / 1024
    from block cross join calls r on r.position >> 8 = block.number and r.workspace_id = :workspaceId
      and r.position >= (select first from part) and r.position < (select last from part)
      ${watermark === "position" ? "" : "and r.operation = 'submit'"}
  )
  select first, last, (select count(*) from own) as count, (
    select min(position) from (
      select position, sum(cost) over (order by position rows between unbounded preceding and 1 preceding) as sum
      from own
    ) where sum >= :cost
  ) as cut
  from part`;

/**
 * The statements that delete the usage of the workspace `:id`. They end in a condition, to which others can be added.
 */
export const deleteUsage = ["quota_usage", "pruned_calls"].map((table) =>
  `delete from ${table} where workspace_id = :id`
);
