// Deletes a workspace with everything that belongs to it. The first transaction disables its keys and hides it. Small
// transactions remove the rest. They remove calls before the keys and deployments that these refer to: the ledger
// always balances.
import { conflict, notFound } from "../../common/errors.ts";
import type { Clock } from "../../common/domain.ts";
import type { Database } from "../../database/database.ts";
import type { WorkspaceId } from "../../common/ids.ts";
import { text, textOrNull } from "../../database/row.ts";
import { deleteIdempotencyKeys } from "../../ledger/idempotency-keys.ts";
import type { Step } from "../../log/prune.ts";
import { deleteUsage, pruneWorkspace } from "../../log/retention.ts";
import { described, shape } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { allNouns } from "../kernel/nouns.ts";
import type { Table } from "../kernel/nouns.ts";
import { listOperation } from "../kernel/declare.ts";
import { operation, pageOf } from "../kernel/operation.ts";
import type { Management } from "../kernel/operation.ts";
import { removeWithinTime } from "../kernel/paced.ts";
import { tableOf } from "../kernel/table.ts";
import { requireWorkspace } from "../kernel/workspaces.ts";

const DeletedWorkspace = shape("DeletedWorkspace", {
  id: v.text,
  reads: described(v.count, "How many reads it used in total"),
  submits: described(v.count, "How many submits it used in total"),
  months: described(v.count, "In how many months it used any"),
  deletedAt: v.timestamp,
  finishedAt: described(
    v.moment,
    "When its deletion was complete, in Unix milliseconds. Null while some of it is left",
  ),
});
const WorkspaceDeletion = shape("WorkspaceDeletion", {
  calls: described(v.count, "How many calls this request removed"),
  records: described(v.count, "How many records this request removed"),
  isDone: described(v.boolean, "Whether the deletion is complete. If not, repeat the request"),
});
const table = tableOf(DeletedWorkspace, "select * from deleted_workspaces");

export const deleteWorkspace = operation({
  id: "deleteWorkspace",
  summary: "Delete a workspace and everything that belongs to it, for good. Its keys are refused at once",
  method: "DELETE",
  path: "/workspaces/{id}",
  conflicts: true,
  role: "owner",
  command: "workspace delete WORKSPACE --confirm NAME",
  input: { id: v.workspaceId, confirm: described(v.text, "The name of the workspace, as a confirmation") },
  output: WorkspaceDeletion,
  isLong: true,
  seesDeleted: true,
  async run(management, { id, confirm }) {
    const { database, clock, report } = management;
    if (await begin(management, id, confirm)) return { calls: 0, records: 0, isDone: true };
    return await removeWithinTime(
      deleteRest(database, id, clock),
      ({ calls, records }) => report?.(`Removed ${calls} calls and ${records} records`),
    );
  },
});

export const listDeletedWorkspaces = listOperation({
  id: "listDeletedWorkspaces",
  summary: "List deleted workspaces and what they used, newest first",
  path: "/deleted-workspaces",
  command: "workspace deleted",
  input: v.page,
  output: pageOf(DeletedWorkspace),
  run: ({ database }, page) => table.list(database, {}, page),
});

/** Begins a deletion unless it has begun. Returns whether it is complete. */
async function begin(management: Management, id: WorkspaceId, name: string): Promise<boolean> {
  const [state] = await management.database.read({
    sql: `select (select name from workspaces where id = :id) as name,
      exists (select 1 from deleted_workspaces where id = :id) as has_begun`,
    args: { id },
  });
  const actual = textOrNull(state!, "name"), hasBegun = state!.has_begun === 1;
  if (actual === null) {
    if (hasBegun) return true;
    throw notFound("Workspace", id);
  }
  if (actual !== name) {
    const expected = `the name of workspace ${id}; nothing was deleted`;
    throw conflict(`Field confirm must be ${expected}`, "conflict", "confirm", expected);
  }
  if (hasBegun) return false;
  const { id: _, ...before } = await requireWorkspace(management, id);
  const now = management.clock();
  await management.commit([{ action: "workspace.deleted", id, workspaceId: id, before }], [
    {
      sql: `insert into deleted_workspaces (id, reads, submits, months, deleted_at)
        select w.id, coalesce(sum(q.reads), 0), coalesce(sum(q.submits), 0), count(q.month), :now
        from workspaces w left join quota_usage q on q.workspace_id = w.id where w.id = :id group by w.id`,
      args: { id, now },
    },
    {
      sql: `update api_key_secrets set expires_at = 0
        where api_key_id in (select id from api_keys where workspace_id = :id)`,
      args: { id },
    },
  ]);
  return false;
}

/** The ids of workspaces whose deletion has begun and is not complete. */
export async function listUnfinished(database: Database): Promise<WorkspaceId[]> {
  const sql = "select id from deleted_workspaces where finished_at is null order by id";
  return (await database.read({ sql })).map((row) => text(row, "id"));
}

/** The steps of a deletion that has begun. Each removes a batch. */
export function deleteRest(database: Database, id: string, clock: Clock): Step {
  const pruneNext = pruneWorkspace(database, id);
  return async () => {
    const pruned = await pruneNext();
    if (pruned !== undefined) return pruned;
    for (const sql of [deleteIdempotencyKeys, ...removals]) {
      const [rows] = await database.write([{ sql, args: { id } }]);
      if (rows!.length > 0) return { calls: 0, records: 0 };
    }
    await finish(database, id, clock());
    return undefined;
  };
}

const batchRows = 256;
const batchBytes = 1024 * 1024; // of the texts of versions

/** Removes a batch of the rows of a table that belong to a workspace. `first` is the first table of its noun. */
function removeFrom({ name, key = "id", holder, former, bytes }: Table, first: string): string {
  const holders = [first, ...former === undefined ? [] : [former]];
  const owner = holder === undefined
    ? "workspace_id = :id"
    : `${holder} in (${
      holders.map((table) => `select id from ${table} where workspace_id = :id`).join(" union all ")
    })`;
  const rows = (columns: string) => `select ${columns} from ${name} where ${owner} limit ${batchRows}`;
  const batch = bytes === undefined ? rows(key) : `select ${key} from (
      select ${key}, sum(bytes) over (order by ${key} rows between unbounded preceding and 1 preceding) as before
      from (${rows(`${key}, ${bytes} as bytes`)})
    ) where coalesce(before, 0) < ${batchBytes}`;
  return `delete from ${name} where (${key}) in (${batch}) returning 1`;
}

/** Each statement removes a batch. Referring rows are removed first. */
const removals = [...allNouns.values()].reverse().flatMap(({ owner, tables }) =>
  owner === "service" ? [] : tables.filter(({ isRemovedElsewhere }) => !isRemovedElsewhere).reverse()
    .map((table) => removeFrom(table, tables[0]!.name))
);

/** Removes the workspace itself. Nothing can have been added to it since its deletion began. */
async function finish(database: Database, id: string, now: number): Promise<void> {
  await database.write([
    { sql: "delete from workspaces where id = :id", args: { id } },
    ...deleteUsage.map((sql) => ({ sql, args: { id } })),
    {
      sql: "update deleted_workspaces set finished_at = coalesce(finished_at, :now) where id = :id",
      args: { id, now },
    },
  ]);
}

export const deletionOperations = [deleteWorkspace, listDeletedWorkspaces];
