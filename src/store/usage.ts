// Reads of the counted quota, and the proof that the books balance. The ledger alone writes them.
import type { LedgerBalance } from "../domain.ts";
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
 * counts only with the call that stored it, and a call only in the month that its time lies in.
 */
export async function listBalances(database: Database, workspaceId: string | undefined): Promise<LedgerBalance[]> {
  const ofWorkspace = workspaceId === undefined ? "" : "where workspace_id = :workspaceId";
  const rows = await database.read({
    sql: `
      with counted as (
        select workspace_id, month, reads, submits from quota_usage ${ofWorkspace}
      ), logged as (
        select workspace_id, month, count(*) as calls, max(number) as last_number, sum(operation = 'read') as reads,
          sum(operation = 'submit') as submits,
          sum(month <> strftime('%Y-%m', created_at / 1000, 'unixepoch')) as misdated
        from calls ${ofWorkspace} group by 1, 2
      ), recorded as (
        select p.workspace_id, strftime('%Y-%m', d.created_at / 1000, 'unixepoch') as month, count(*) as records,
          sum(c.position is null) as orphans
        from diagnoses d
        join deployments p on p.id = d.deployment_id
        left join calls c on c.position = d.position and c.operation = 'submit'
          and c.deployment_id = d.deployment_id and c.prompt_version = d.prompt_version
          and c.created_at = d.created_at and d.id = replace(c.id, 'call_', 'diag_')
        ${ofWorkspace.replace("workspace_id", "p.workspace_id")} group by 1, 2
      ), months as (
        select workspace_id, month from counted union
        select workspace_id, month from logged union
        select workspace_id, month from recorded
      )
      select workspace_id, month, coalesce(c.reads + c.submits, 0) as used, coalesce(l.calls, 0) as calls,
        coalesce(l.reads, 0) as reads, coalesce(r.records, 0) as records,
        coalesce(c.reads, 0) = coalesce(l.reads, 0) and coalesce(c.submits, 0) = coalesce(l.submits, 0)
          and coalesce(r.records, 0) = coalesce(l.submits, 0) and coalesce(l.calls, 0) = coalesce(l.last_number, 0)
          and coalesce(l.misdated, 0) = 0 and coalesce(r.orphans, 0) = 0 as balanced
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
