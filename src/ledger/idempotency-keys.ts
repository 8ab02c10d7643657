// Idempotency keys. The transaction that accepts a submit stores its key, under which it may be repeated for two days.
import type { Statement } from "../database/database.ts";
import type { SubmitSlots } from "./admission.ts";
import { acceptedCall, idAt } from "./blocks.ts";
import { bySlot } from "./statements.ts";
import type { Attempt } from "./statements.ts";

export const keyLifetime = 2 * 86_400_000; // ms

/** Stores the idempotency keys of the accepted submits. Replaces expired ones. */
export const storeKeys = (slots: SubmitSlots, { commit, now }: Attempt): Statement => ({
  sql: storeSql,
  args: {
    commit,
    keys: bySlot(slots, ({ idempotency }) => idempotency?.key ?? null),
    fingerprints: bySlot(slots, ({ idempotency }) => idempotency?.fingerprint ?? null),
    validSince: now - keyLifetime,
  },
});

const storeSql = `
  insert into idempotency_keys (workspace_id, key, fingerprint, record_id, created_at)
  select c.workspace_id, r.value, :fingerprints ->> r.key, ${idAt("diag", "m.position + r.key")}, m.created_at
  from commits m cross join json_each(:keys) r cross join ${acceptedCall}
  where m.id = :commit and r.value is not null
  on conflict do update
    set fingerprint = excluded.fingerprint, record_id = excluded.record_id, created_at = excluded.created_at
    where created_at < :validSince`;

/** Deletes expired idempotency keys, more of them than a group can add. */
export const deleteExpiredKeys = ({ now }: Pick<Attempt, "now">): Statement => ({
  sql: deleteSql,
  args: { before: now - keyLifetime },
});

const deleteSql = `
  delete from idempotency_keys where (workspace_id, key) in (
    select workspace_id, key from idempotency_keys where created_at < :before order by created_at limit 512
  )`;

/** Deletes some of the idempotency keys of the workspace `:id`, and returns a row for each. */
export const deleteIdempotencyKeys = `
  delete from idempotency_keys where (workspace_id, key) in (
    select workspace_id, key from idempotency_keys where workspace_id = :id limit 512
  ) returning 1`;
