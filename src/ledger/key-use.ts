// When keys were last used. Each use is stored at most once an hour, so most groups need no statement for it.
import { createCache } from "../common/cache.ts";
import type { Statement } from "../database/database.ts";
import type { Attempt } from "./statements.ts";

const interval = 3_600_000; // ms
const mostKeys = 100_000;

/** Remembers when this process last stored the use of a key, by hash. */
export function createKeyUse() {
  const storedAt = createCache<number>(mostKeys);
  return {
    /** The keys whose use must be stored again, each once. */
    findStale: (keyHashes: string[], now: number): string[] =>
      [...new Set(keyHashes)].filter((hash) => Math.abs(now - (storedAt.get(hash) ?? -Infinity)) >= interval),
    /** Must be called after the commit: the use of those stale keys was stored that were accepted. */
    note(accepted: string[], staleKeys: string[], now: number): void {
      for (const keyHash of staleKeys) if (accepted.includes(keyHash)) storedAt.set(keyHash, now, 1);
    },
  };
}

/** Stores the use of those keys that have calls in the commit, unless it was stored less than an hour ago. */
export const noteUse = (keyHashes: string[], { commit, now }: Attempt): Statement => ({
  sql: noteSql,
  args: { keyHashes: JSON.stringify(keyHashes), commit, now, staleBefore: now - interval },
});

const noteSql = `
  update api_key_secrets as k set last_used_at = :now
  where hash in (select value from json_each(:keyHashes)) and (last_used_at is null or last_used_at <= :staleBefore)
    and exists (
      select 1 from commits m cross join calls c on c.position >= m.position and c.position < m.next_position
      where m.id = :commit and c.api_key_id = k.api_key_id
    )`;
