// Reads of the counted quota, and the proof that the books balance. The ledger alone writes them.
import type { LedgerBalance } from "../domain.ts";
import { commitAt } from "./blocks.ts";
import type { Database } from "./database.ts";
import { integer, text } from "./row.ts";

/** How many reads and submits a workspace had accepted in a month. */
export async function findUsage(
  database: Database,
  workspaceId: string,
  month: string,
): Promise<{ reads: number; submits: number }> {
  const sql = "select reads, submits from quota_usage where workspace_id = ? and month = ?";
  const [row] = await database.read({ sql, args: [workspaceId, month] });
  return row === undefined
    ? { reads: 0, submits: 0 }
    : { reads: integer(row, "reads"), submits: integer(row, "submits") };
}

/**
 * Recounts every month of one workspace, or of all: the quota, the call log and the records, each on its own. A record
 * counts only with the call that stored it, and a call only in its commit, in the month that its time lies in.
 */
export async function listBalances(database: Database, workspaceId: string | undefined): Promise<LedgerBalance[]> {
  const ofWorkspace = workspaceId === undefined ? "" : "where workspace_id = :workspaceId";
  const rows = await database.read({
    sql: `
      with counted as (
        select workspace_id, month, reads, submits from quota_usage ${ofWorkspace}
      ), called as (
        select c.workspace_id, c.operation, c.count, c.number, p.id is null or k.id is null as names_nothing,
          strftime('%Y-%m', m.created_at / 1000, 'unixepoch') as month, m.month as month_of_commit,
          lag(c.number + c.count, 1, 1) over (partition by c.workspace_id, m.month order by c.position) as next_number
        from calls c
        left join ${commitAt("c.position")} and c.position + c.count <= m.next_position
        left join deployments p on p.id = c.deployment_id and p.workspace_id = c.workspace_id
        left join api_keys k on k.id = c.api_key_id and k.workspace_id = c.workspace_id
        ${ofWorkspace.replace("workspace_id", "c.workspace_id")}
      ), logged as (
        select workspace_id, month, sum(count) as calls, sum(iif(operation = 'read', count, 0)) as reads,
          sum(iif(operation = 'submit', count, 0)) as submits,
          sum(number <> next_number or month is not month_of_commit or names_nothing) as strays
        from called group by 1, 2
      ), recorded as (
        select coalesce(c.workspace_id, p.workspace_id, 'unknown') as workspace_id,
          strftime('%Y-%m', m.created_at / 1000, 'unixepoch') as month, count(*) as records,
          sum(c.position is null) as strays
        from diagnoses d
        left join deployments p on p.id = d.deployment_id
        left join ${commitAt("d.position")}
        left join calls c on c.position = (select max(position) from calls where position <= d.position)
          and d.position < c.position + c.count and c.operation = 'submit'
          and c.deployment_id = d.deployment_id and c.prompt_version = d.prompt_version
        ${ofWorkspace.replace("workspace_id", "coalesce(c.workspace_id, p.workspace_id)")} group by 1, 2
      ), months as (
        select workspace_id, month from counted union
        select workspace_id, month from logged union
        select workspace_id, month from recorded
      )
      select workspace_id, coalesce(month, 'unknown') as month, coalesce(c.reads + c.submits, 0) as used,
        coalesce(l.calls, 0) as calls, coalesce(l.reads, 0) as reads, coalesce(r.records, 0) as records,
        month is not null
          and coalesce(c.reads, 0) = coalesce(l.reads, 0) and coalesce(c.submits, 0) = coalesce(l.submits, 0)
          and coalesce(r.records, 0) = coalesce(l.submits, 0)
          and coalesce(l.strays, 0) = 0 and coalesce(r.strays, 0) = 0 as balanced
      from months
        left join counted c using (workspace_id, month)
        left join logged l using (workspace_id, month)
        left join recorded r using (workspace_id, month)
      order by workspace_id, month`,
    args: workspaceId === undefined ? {} : { workspaceId },
  });
  return rows.map((row) => ({
    workspaceId: text(row, "workspace_id"),
    month: text(row, "month"),
    used: integer(row, "used"),
    calls: integer(row, "calls"),
    reads: integer(row, "reads"),
    records: integer(row, "records"),
    balanced: row.balanced === 1,
  }));
}
