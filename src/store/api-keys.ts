// Rows of api_keys. The secret passes through here only as its hash.
import type { ApiKey } from "../domain.ts";
import type { Database, Row } from "./database.ts";
import { integer, integerOrNull, text } from "./row.ts";

export async function createApiKey(database: Database, key: ApiKey, hash: string): Promise<void> {
  await database.write([{
    sql:
      `insert into api_keys (id, workspace_id, name, hash, prefix, created_at, expires_at) values (?, ?, ?, ?, ?, ?, ?)`,
    args: [key.id, key.workspaceId, key.name, hash, key.prefix, key.createdAt, key.expiresAt],
  }]);
}

/** The keys of a workspace, oldest first, revoked and expired ones too. */
export async function listApiKeys(database: Database, workspaceId: string): Promise<ApiKey[]> {
  const sql = "select * from api_keys where workspace_id = ? order by id";
  return (await database.read({ sql, args: [workspaceId] })).map(toApiKey);
}

/** Refuses the key from the next request on; gives it, or undefined where there is none. A second time changes nothing. */
export async function revokeApiKey(database: Database, id: string, now: number): Promise<ApiKey | undefined> {
  const sql = "update api_keys set revoked_at = coalesce(revoked_at, ?) where id = ? returning *";
  const [rows] = await database.write([{ sql, args: [now, id] }]);
  return rows!.map(toApiKey)[0];
}

const toApiKey = (row: Row): ApiKey => ({
  id: text(row, "id"),
  workspaceId: text(row, "workspace_id"),
  name: text(row, "name"),
  prefix: text(row, "prefix"),
  createdAt: integer(row, "created_at"),
  expiresAt: integerOrNull(row, "expires_at"),
  revokedAt: integerOrNull(row, "revoked_at"),
});
