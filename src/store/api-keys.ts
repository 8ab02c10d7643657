// Rows of api_keys and api_key_secrets. A secret passes through here only as its hash.
import type { ApiKey, Page, PageRequest } from "../common/domain.ts";
import type { Database, Row, Statement } from "../database/database.ts";
import { readPage } from "../database/page.ts";
import { integer, integerOrNull, text } from "../database/row.ts";

export async function createApiKey(database: Database, key: ApiKey, hash: string): Promise<void> {
  await database.write([
    {
      sql: "insert into api_keys (id, workspace_id, name, prefix, created_at, expires_at) values (?, ?, ?, ?, ?, ?)",
      args: [key.id, key.workspaceId, key.name, key.prefix, key.createdAt, key.expiresAt],
    },
    addSecret(key.id, hash),
  ]);
}

/** Makes a secret with this hash the one of a key, until the key expires. */
const addSecret = (id: string, hash: string): Statement => ({
  sql: `insert into api_key_secrets (hash, api_key_id, workspace_id, expires_at)
    select ?, id, workspace_id, expires_at from api_keys where id = ? and revoked_at is null`,
  args: [hash, id],
});

const selectKeys = `select *, (select max(last_used_at) from api_key_secrets where api_key_id = id) as last_used_at
  from api_keys`;

export async function findApiKey(database: Database, id: string): Promise<ApiKey | undefined> {
  return (await database.read({ sql: `${selectKeys} where id = ?`, args: [id] })).map(toApiKey)[0];
}

/** The keys of a workspace, newest first, revoked and expired ones too. */
export function listApiKeys(database: Database, workspaceId: string, request: PageRequest): Promise<Page<ApiKey>> {
  const sql =
    `${selectKeys} where workspace_id = :workspaceId and id < coalesce(:cursor, '~') order by id desc limit :rows`;
  return readPage(database, request, (page) => ({ sql, args: { workspaceId, ...page } }), toApiKey, ({ id }) => id);
}

/** Refuses the key from the next request on; gives it, or undefined where there is none. A second time changes nothing. */
export async function revokeApiKey(database: Database, id: string, now: number): Promise<ApiKey | undefined> {
  const [, , found] = await database.write([
    { sql: "update api_keys set revoked_at = coalesce(revoked_at, ?) where id = ?", args: [now, id] },
    { sql: "update api_key_secrets set expires_at = 0 where api_key_id = ?", args: [id] },
    { sql: `${selectKeys} where id = ?`, args: [id] },
  ]);
  return found!.map(toApiKey)[0];
}

/** What takes a key's secret's place, until when (Unix ms) it is valid, null for always, and those before it, null for no longer. */
export type Rotation = {
  hash: string;
  prefix: string;
  expiresAt: number | null;
  overlapEndsAt: number | null;
  now: number;
};

/** Gives a key that is not revoked a new secret. Gives the key as it then is, or undefined where there is none. */
export async function rotateApiKey(database: Database, id: string, rotation: Rotation): Promise<ApiKey | undefined> {
  const { hash, prefix, expiresAt, overlapEndsAt, now } = rotation;
  const results = await database.write([
    {
      sql:
        `update api_keys set prefix = :prefix, expires_at = :expiresAt, rotated_at = :now, overlap_ends_at = :overlapEndsAt
        where id = :id and revoked_at is null`,
      args: { id, prefix, expiresAt, now, overlapEndsAt },
    },
    {
      // One that was replaced before may end sooner.
      sql: `update api_key_secrets set expires_at = min(coalesce(expires_at, :end), :end)
        where api_key_id = :id`,
      // Clocks differ: only a moment long past is past for all.
      args: { id, end: overlapEndsAt ?? 0 },
    },
    addSecret(id, hash),
    { sql: `${selectKeys} where id = ?`, args: [id] },
  ]);
  return results.at(-1)!.map(toApiKey)[0];
}

const toApiKey = (row: Row): ApiKey => ({
  id: text(row, "id"),
  workspaceId: text(row, "workspace_id"),
  name: text(row, "name"),
  prefix: text(row, "prefix"),
  createdAt: integer(row, "created_at"),
  expiresAt: integerOrNull(row, "expires_at"),
  revokedAt: integerOrNull(row, "revoked_at"),
  rotatedAt: integerOrNull(row, "rotated_at"),
  overlapEndsAt: integerOrNull(row, "overlap_ends_at"),
  lastUsedAt: integerOrNull(row, "last_used_at"),
});
