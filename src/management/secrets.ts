// What API keys and management tokens have in common: secrets that are shown once, stored as hashes, revoked and rotated.
import { conflict, invalid, notFound } from "../common/errors.ts";
import { sha256, shownOf } from "../common/ids.ts";
import type { Row, Statement } from "../database/database.ts";
import { described, optional } from "../schema/struct.ts";
import type { Members } from "../schema/struct.ts";
import * as v from "./values.ts";
import type { Store } from "./operation.ts";

/** Members of what has secrets. */
export const prefix = described(v.text, "The first characters of the secret, to tell it from others");
export const expiresAt = described(
  v.moment,
  "The first moment it is refused, in Unix milliseconds; null where it never expires",
);
export const changes = {
  revokedAt: described(v.moment, "When it was revoked, in Unix milliseconds, or null"),
  rotatedAt: described(v.moment, "When its secret was last replaced, in Unix milliseconds, or null"),
  overlapEndsAt: described(v.moment, "Until when the secrets before it stay valid, in Unix milliseconds, or null"),
};
type Holder = { id: string; expiresAt: number | null; revokedAt: number | null };

/** Members of the input of a rotation, besides the id. */
export const rotation = {
  overlapMs: optional(
    described(v.period, "How long the secrets before it stay valid, in milliseconds", { default: 0 }),
  ),
  expiresAt: optional(
    described(v.moment, "The new expiry in Unix milliseconds, or null for none; as before unless given"),
  ),
};

/** A kind of what has secrets: its words, how its secrets are made, its tables, and what reads its rows. */
type Kind<T extends Holder> = {
  noun: string;
  example: string;
  create(): string;
  isSecret(text: string): boolean;
  table: string;
  secrets: string;
  /** The column of `secrets` that names the holder, and the columns that are the same as the holder's. */
  owner: string;
  copied: string[];
  byId(id: T["id"]): Statement;
  toItem(row: Row): T;
};

/** Makes, revokes and replaces the secrets of a kind. */
export function secretsOf<T extends Holder>(
  { noun, example, create, isSecret, table, secrets, owner, copied, byId, toItem }: Kind<T>,
) {
  const columns = ["expires_at", ...copied].join(", ");

  /** Makes a secret with this hash the holder's, until that expires. A workspace that is being deleted gets none. */
  const add = (id: T["id"], hash: string): Statement => ({
    sql: `insert into ${secrets} (hash, ${owner}, ${columns}) select ?, id, ${columns} from ${table}
      where id = ? and revoked_at is null and coalesce(workspace_id, '') not in (select id from deleted_workspaces)`,
    args: [hash, id],
  });

  /** A new secret, what lists may show of it, and the statement that makes it the holder's. */
  async function issue(id: T["id"]): Promise<{ secret: string; prefix: string; added: Statement }> {
    const secret = create();
    return { secret, prefix: shownOf(secret), added: add(id, await sha256(secret)) };
  }

  /** The holder; refused where there is none. */
  const requireHolder = async ({ database }: Store, id: T["id"]): Promise<T> =>
    firstOf(await database.read(byId(checkId(id))), id);

  /** Refuses all secrets from the next request on. */
  async function revoke({ database, clock }: Store, id: T["id"]): Promise<T> {
    checkId(id);
    const [, , found] = await database.write([
      { sql: `update ${table} set revoked_at = coalesce(revoked_at, ?) where id = ?`, args: [clock(), id] },
      { sql: `update ${secrets} set expires_at = 0 where ${owner} = ?`, args: [id] },
      byId(id),
    ]);
    return firstOf(found!, id);
  }

  /** Gives the holder a new secret. Those before it stay valid for the overlap. */
  async function rotate(
    store: Store,
    id: T["id"],
    { overlapMs = 0, expiresAt }: Members<typeof rotation>,
  ): Promise<{ rotated: T; secret: string }> {
    const before = await requireHolder(store, id);
    const now = store.clock();
    const expiry = expiresAt === undefined ? before.expiresAt : expiresAt;
    checkNotRevoked(before);
    if (expiry !== null && expiry <= now) throw conflict(`${noun} ${id} has expired: give it a new expiry`);
    const { secret, prefix, added } = await issue(id);
    const end = Math.min(now + overlapMs, expiry ?? Infinity, before.expiresAt ?? Infinity);
    const overlapEndsAt = end > now ? end : null;
    const results = await store.database.write([
      {
        sql: `update ${table}
          set prefix = :prefix, expires_at = :expiry, rotated_at = :now, overlap_ends_at = :overlapEndsAt
          where id = :id and revoked_at is null`,
        args: { id, prefix, expiry, now, overlapEndsAt },
      },
      {
        // A secret that was replaced earlier may end sooner. Clocks differ: only a moment long past is past for all.
        sql: `update ${secrets} set expires_at = min(coalesce(expires_at, :end), :end) where ${owner} = :id`,
        args: { id, end: overlapEndsAt ?? 0 },
      },
      added,
      byId(id),
    ]);
    const rotated = firstOf(results.at(-1)!, id);
    checkNotRevoked(rotated);
    return { rotated, secret };
  }

  /** A caller who names a holder by its secret learns so, and the secret is not repeated. */
  function checkId(id: T["id"]): T["id"] {
    if (isSecret(id)) throw invalid(`${example}, not by its secret`);
    return id;
  }

  function firstOf(rows: Row[], id: T["id"]): T {
    const holder = rows.map(toItem)[0];
    if (holder === undefined) throw notFound(noun, id);
    return holder;
  }

  function checkNotRevoked({ id, revokedAt }: T): void {
    if (revokedAt !== null) throw conflict(`${noun} ${id} is revoked`);
  }

  return { issue, requireHolder, revoke, rotate };
}
