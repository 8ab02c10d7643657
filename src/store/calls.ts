// Reads of the call log. It is written by the ledger alone.
import type { Call } from "../domain.ts";
import { commitAt, idAt, newestPositions } from "./blocks.ts";
import type { Database, Row } from "./database.ts";
import { integer, text } from "./row.ts";

/** The accepted requests of a workspace, newest first. */
export async function listCalls(database: Database, workspaceId: string, limit: number): Promise<Call[]> {
  const rows = await database.read({
    sql: `
      with recursive call(position, number, rest, row) as (
        select position + count - 1, number + count - 1, count - 1, position
        from calls where position in (${newestPositions("calls", "r.workspace_id = :workspaceId")})
        union all select position - 1, number - 1, rest - 1, row from call where rest > 0
        order by 1 desc limit :limit
      )
      select ${idAt("call", "call.position")} as id, c.operation, call.number, m.month, c.api_key_id, c.deployment_id,
        c.prompt_version, m.created_at
      from call cross join calls c on c.position = call.row cross join ${commitAt("call.position")}
      order by call.position desc`,
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
