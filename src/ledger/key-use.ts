// When keys were last used: each is noted at most once an hour, so that it costs a group nothing most of the time.
import { createCache } from "../common/cache.ts";
import type { Statement } from "../database/database.ts";
import type { Payload } from "./statements.ts";

const interval = 3_600_000; // ms
const mostKeys = 100_000;

/** Remembers which keys, by hash, this process has noted of late. */
export function createKeyUse() {
  const notedAt = createCache<number>(mostKeys);
  return {
    /** Those of the keys whose use is to be noted, each once. */
    findDue: (keyHashes: string[], now: number): string[] =>
      [...new Set(keyHashes)].filter((hash) => Math.abs(now - (notedAt.get(hash) ?? -Infinity)) >= interval),
    /** Must follow the commit, and only of keys that were accepted. */
    note: (keyHash: string, now: number): void => notedAt.set(keyHash, now, 1),
  };
}

/** Notes the use of those among the keys whose calls are in the commit, where the last that was noted is an hour old. */
export const noteUse = (keyHashes: string[], { commit, now }: Payload): Statement => ({
  sql: noteSql,
  args: { keyHashes: JSON.stringify(keyHashes), commit, now, due: now - interval },
});

const noteSql = `
  update api_key_secrets as k set last_used_at = :now
  where hash in (select value from json_each(:keyHashes)) and (last_used_at is null or last_used_at <= :due)
    and exists (
      select 1 from commits m cross join calls c on c.position >= m.position and c.position < m.next_position
      where m.id = :commit and c.api_key_id = k.api_key_id
    )`;
