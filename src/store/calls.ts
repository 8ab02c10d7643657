// Reads of the call log. It is written by the ledger alone.
import type { Call } from "../domain.ts";
import type { Database, Row } from "./database.ts";

/** The accepted requests of a workspace, newest first. */
export async function listCalls(database: Database, workspaceId: string, limit: number): Promise<Call[]> {
  const sql = "select * from calls where workspace_id = ? order by month desc, number desc limit ?";
  return (await database.read({ sql, args: [workspaceId, limit] })).map(toCall);
}

const toCall = (row: Row): Call => ({
  id: String(row.id),
  operation: row.operation as Call["operation"],
  number: Number(row.number),
  month: String(row.month),
  keyId: String(row.api_key_id),
  deployId: String(row.deployment_id),
  promptVersion: Number(row.prompt_version),
  createdAt: Number(row.created_at),
});
