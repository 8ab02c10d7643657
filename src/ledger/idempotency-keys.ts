// The keys under which submits may be repeated: kept with the commit that accepted them, for two days.
import { acceptedCall, idAt } from "./blocks.ts";
import type { Statement } from "../database/database.ts";

export const keptFor = 2 * 86_400_000; // ms

/** The keys that came with a group, and the fingerprints of what was sent with them, by place: JSON arrays. */
export type Keys = { keys: string; fingerprints: string };

/** Keeps the idempotency keys of the submits that were accepted, in place of those that are too old. */
export const keepKeys = (keys: Keys, { commit, now }: { commit: string; now: number }): Statement => ({
  sql: keepSql,
  args: { ...keys, commit, keptSince: now - keptFor },
});

const keepSql = `
  insert into idempotency_keys (workspace_id, key, fingerprint, record_id, created_at)
  select c.workspace_id, r.value, :fingerprints ->> r.key, ${idAt("diag", "m.position + r.key")}, m.created_at
  from commits m cross join json_each(:keys) r cross join ${acceptedCall}
  where m.id = :commit and r.value is not null
  on conflict do update
    set fingerprint = excluded.fingerprint, record_id = excluded.record_id, created_at = excluded.created_at
    where created_at < :keptSince`;

/** Forgets idempotency keys that were kept for two days; so many at once that they go faster than they come. */
export const forgetKeys = ({ now }: { now: number }): Statement => ({
  sql: forgetSql,
  args: { before: now - keptFor },
});

const forgetSql = `
  delete from idempotency_keys where (workspace_id, key) in (
    select workspace_id, key from idempotency_keys where created_at < :before order by created_at limit 512
  )`;
