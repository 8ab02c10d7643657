// Removing the oldest calls or records of one workspace out of the middle of the log. They are removed in the order of the log,
// so that the pruned calls of a workspace are the first ones of each month, as where all workspaces are pruned.
import { blocksOfRange, commitAt } from "./blocks.ts";
import type { LogRange } from "./blocks.ts";
import type { Database, Statement } from "../database/database.ts";
import { integer, integerOrNull } from "../database/row.ts";
import { countPruned, notePruning } from "./prune.ts";
import type { Step } from "./prune.ts";

const scanned = 2_048; // positions that one query looks at
const batchCost = 256; // calls, or KiB of their records, in a transaction

/**
 * Prunes the calls of a workspace with their records, up to the first commit that is not older than a moment. Without one it
 * prunes all, for a workspace that gets no more. The newest commit of the log stays otherwise.
 */
export const pruneWorkspace = (database: Database, workspaceId: string, before?: number): Step =>
  stepThrough(database, { workspaceId, before: before ?? null }, "position", [
    `${blocksOfRange} ${countPruned(`${calls("c")} cross join ${commitAt("c.position")}`)}`,
    ...["diagnoses", "deleted_diagnoses"].map((table) => `${blocksOfRange} delete from ${table} where ${isOwn(table)}`),
    `${blocksOfRange} delete from calls where position in (select r.position from ${calls("r")})`,
    // Commits that have no calls any more, but for the newest one, which says at which position the log goes on.
    `delete from commits
      where position >= coalesce((select max(position) from commits where position <= :first), 0) and position < :end
        and position < (select max(position) from commits) and not exists (
          select 1 from calls c where c.position >= commits.position and c.position < commits.next_position
        )`,
    notePruning("select :workspaceId as workspace_id"),
  ]);

/** Deletes the records of a workspace that are older than a moment. An entry takes the place of each. */
export const expireRecords = (database: Database, workspaceId: string, before: number, now: number): Step =>
  stepThrough(database, { workspaceId, before, now }, "records_position", [
    `${blocksOfRange}
      insert into deleted_diagnoses (position, deployment_id, prompt_version, deleted_at)
      select d.position, d.deployment_id, d.prompt_version, :now from ${records("diagnoses")}`,
    `${blocksOfRange} delete from diagnoses where ${isOwn("diagnoses")}`,
    setFrontier("records_position"),
  ]);

/** The calls of the workspace in a range; needs `blocksOfRange`. */
function calls(name: string): string {
  return `block cross join calls ${name} on ${name}.position >> 8 = block.number and ${name}.workspace_id = :workspaceId
    and ${name}.position >= :first and ${name}.position < :end`;
}

/** Their records (d), or what stands in the place of deleted ones. */
function records(table: string): string {
  return `${calls("r")} cross join ${table} d on d.position >= r.position and d.position < r.position + r.count`;
}

function isOwn(table: string): string {
  return `position in (select d.position from ${records(table)})`;
}

/** Up to where calls or records were looked for; the next search begins there. */
type Frontier = "position" | "records_position";

function setFrontier(frontier: Frontier): string {
  return `insert into prunings (workspace_id, position, records_position, sequence)
    values (:workspaceId, ${frontier === "position" ? ":end" : 0}, :end, 0)
    on conflict do update set ${frontier} = max(${frontier}, excluded.${frontier})`;
}

type Args = Record<string, string | number | null>;

const mostEmpty = 64; // parts without anything to remove, until it is stored that they need not be looked at again

/** Runs statements over one part of the log after the other, as far as there is something to remove. */
function stepThrough(database: Database, args: Args, frontier: Frontier, statements: string[]): Step {
  let position: number | undefined;
  let empty = 0;
  const store = async () => {
    if (empty > 0) await database.write([bind(setFrontier(frontier), { ...args, end: position! })]);
    empty = 0;
  };
  return async () => {
    position ??= await readFrontier(database, args, frontier);
    const { first, end, count } = await findBatch(database, { ...args, position }, frontier);
    if (count > 0) {
      const range = { ...args, first, end };
      const results = await database.write([countSql, ...statements].map((sql) => bind(sql, range)));
      const [counts] = results[0]!;
      position = end;
      empty = 0;
      return { calls: frontier === "position" ? integer(counts!, "calls") : 0, records: integer(counts!, "records") };
    }
    if (end <= position) return void await store();
    position = end;
    if (++empty >= mostEmpty) await store();
    return { calls: 0, records: 0 };
  };
}

const countSql = `${blocksOfRange}
  select (select coalesce(sum(r.count), 0) from ${calls("r")}) as calls,
    (select count(*) from ${records("diagnoses")}) as records`;

/** Binds what a statement names. */
const bind = (sql: string, args: Args): Statement => ({
  sql,
  args: Object.fromEntries(Object.entries(args).filter(([name]) => new RegExp(`:${name}\\b`).test(sql))),
});

async function readFrontier(database: Database, { workspaceId }: Args, frontier: Frontier): Promise<number> {
  const sql = `select ${frontier} as position from prunings where workspace_id = ?`;
  const [row] = await database.read({ sql, args: [workspaceId as string] });
  return row === undefined ? 0 : integer(row, "position");
}

/** The next part of the log: it ends before what is not older, and has no more calls than one transaction may remove. */
async function findBatch(
  database: Database,
  args: Args,
  frontier: Frontier,
): Promise<LogRange & { count: number }> {
  const [row] = await database.read(bind(batchSql(frontier), { ...args, scanned, cost: batchCost }));
  const first = integer(row!, "first");
  const last = integerOrNull(row!, "last") ?? first;
  return { first, end: integerOrNull(row!, "cut") ?? last, count: integer(row!, "count") };
}

const batchSql = (frontier: Frontier): string => `
  with recursive log(first, last) as materialized (
    select max(:position, coalesce((select min(position) from commits), 0)),
      (select iif(:before is null, next_position, position) from commits order by position desc limit 1)
  ),
  part(first, last) as materialized (
    select first, min(
      last,
      coalesce((select min(position) from commits where position >= first + :scanned), last),
      coalesce((
        select min(position) from commits
        where position >= coalesce((select max(position) from commits where position <= first), 0)
          and position <= first + :scanned and created_at >= :before
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
      ${frontier === "position" ? "" : "and r.operation = 'submit'"}
  )
  select first, last, (select count(*) from own) as count, (
    select min(position) from (
      select position, sum(cost) over (order by position rows between unbounded preceding and 1 preceding) as sum
      from own
    ) where sum >= :cost
  ) as cut
  from part`;

/** The statements that forget what the workspace `:id` has used. They end with a condition. */
export const forgetUsage = ["quota_usage", "pruned_calls"].map((table) =>
  `delete from ${table} where workspace_id = :id`
);
