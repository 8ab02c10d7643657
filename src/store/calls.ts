// Reads of the call log. It is written by the ledger alone.
import type { Call } from "../domain.ts";
import { newestPositions } from "./blocks.ts";
import type { Database, Row } from "./database.ts";
import { integer, text } from "./row.ts";

/** The accepted requests of a workspace, newest first. */
export async function listCalls(database: Database, workspaceId: string, limit: number): Promise<Call[]> {
  const rows = await database.read({
    sql: `select * from calls where position in (${newestPositions("calls", "r.workspace_id = :workspaceId")})
      order by position desc`,
    args: { workspaceId, before: Number.MAX_SAFE_INTEGER, limit },
  });
  return rows.map(toCall);
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
