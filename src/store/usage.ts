// Reads of the counted quota, and the proof that the books balance. The ledger alone writes them.
import type { LedgerBalance } from "../domain.ts";
import type { Database } from "./database.ts";

/** How many reads and submits a workspace had accepted in a month. */
export async function findUsage(
  database: Database,
  workspaceId: string,
  month: string,
): Promise<{ reads: number; submits: number }> {
  const sql = "select reads, submits from quota_usage where workspace_id = ? and month = ?";
  const [row] = await database.read({ sql, args: [workspaceId, month] });
  return { reads: Number(row?.reads ?? 0), submits: Number(row?.submits ?? 0) };
}

/** Recounts every month of one workspace, or of all: the quota, the call log and the records, each on its own. */
export async function listBalances(database: Database, workspaceId: string | undefined): Promise<LedgerBalance[]> {
  const ofWorkspace = workspaceId === undefined ? "" : "where workspace_id = :workspaceId";
  const rows = await database.read({
    sql: `
      with counted as (
        select workspace_id, month, reads, submits from quota_usage ${ofWorkspace}
      ), logged as (
        select workspace_id, strftime('%Y-%m', created_at / 1000, 'unixepoch') as month, count(*) as calls,
          max(number) as last_number, sum(operation = 'read') as reads, sum(operation = 'submit') as submits
        from calls ${ofWorkspace} group by 1, 2
      ), recorded as (
        select workspace_id, strftime('%Y-%m', d.created_at / 1000, 'unixepoch') as month, count(*) as records
        from diagnoses d join deployments on deployments.id = d.deployment_id ${ofWorkspace} group by 1, 2
      ), months as (
        select workspace_id, month from counted union
        select workspace_id, month from logged union
        select workspace_id, month from recorded
      )
      select workspace_id, month, coalesce(c.reads + c.submits, 0) as used, coalesce(l.calls, 0) as calls,
        coalesce(l.reads, 0) as reads, coalesce(r.records, 0) as records,
        coalesce(c.reads, 0) = coalesce(l.reads, 0) and coalesce(c.submits, 0) = coalesce(l.submits, 0)
          and coalesce(r.records, 0) = coalesce(l.submits, 0)
          and coalesce(l.calls, 0) = coalesce(l.last_number, 0) as balanced
      from months
        left join counted c using (workspace_id, month)
        left join logged l using (workspace_id, month)
        left join recorded r using (workspace_id, month)
      order by workspace_id, month`,
    args: workspaceId === undefined ? {} : { workspaceId },
  });
  return rows.map((row) => ({
    workspaceId: String(row.workspace_id),
    month: String(row.month),
    used: Number(row.used),
    calls: Number(row.calls),
    reads: Number(row.reads),
    records: Number(row.records),
    balanced: row.balanced === 1,
  }));
}
