// Reads of the call log. It is written by the ledger alone.
import type { Call } from "../domain.ts";
import type { Database, Row } from "./database.ts";
import { integer, text } from "./row.ts";

/** The accepted requests of a workspace, newest first. */
export async function listCalls(database: Database, workspaceId: string, limit: number): Promise<Call[]> {
  const sql = "select * from calls where workspace_id = ? order by month desc, number desc limit ?";
  return (await database.read({ sql, args: [workspaceId, limit] })).map(toCall);
}

const toCall = (row: Row): Call => ({
  id: text(row, "id"),
  operation: row.operation as Call["operation"],
  number: integer(row, "number"),
  month: text(row, "month"),
  keyId: text(row, "api_key_id"),
  deployId: text(row, "deployment_id"),
  promptVersion: integer(row, "prompt_version"),
  createdAt: integer(row, "created_at"),
});
