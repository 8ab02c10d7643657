// What API keys and management tokens have in common: secrets that are shown once, stored as hashes, revoked and rotated.
import { conflict, invalid, notFound } from "../common/errors.ts";
import { sha256, shownOf } from "../common/ids.ts";
import type { WorkspaceId } from "../common/ids.ts";
import type { Row, Statement } from "../database/database.ts";
import { described, optional } from "../schema/struct.ts";
import type { Members } from "../schema/struct.ts";
import * as v from "./values.ts";
import type { Management, Store } from "./operation.ts";
import { updateOf } from "./table.ts";

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
type Holder = {
  id: string;
  workspaceId: WorkspaceId | null;
  expiresAt: number | null;
  revokedAt: number | null;
  rotatedAt: number | null;
  overlapEndsAt: number | null;
};

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
  /** The noun of its changes in the audit log. */
  audited: string;
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
  { noun, audited, example, create, isSecret, table, secrets, owner, copied, byId, toItem }: Kind<T>,
) {
  const columns = ["expires_at", ...copied].join(", ");

  /** Makes a secret with this hash the holder's, until that expires. */
  const add = (id: T["id"], hash: string): Statement => ({
    sql: `insert into ${secrets} (hash, ${owner}, ${columns}) select ?, id, ${columns} from ${table} where id = ?`,
    args: [hash, id],
  });

  /** A new secret, what lists may show of it, and the statement that makes it the holder's. */
  async function issue(id: T["id"]): Promise<{ secret: string; prefix: string; added: Statement }> {
    const secret = create();
    return { secret, prefix: shownOf(secret), added: add(id, await sha256(secret)) };
  }

  /** The holder; refused where there is none. A caller who names one by its secret learns so, and it is not repeated. */
  async function requireHolder({ database }: Store, id: T["id"]): Promise<T> {
    if (isSecret(id)) throw invalid(`${example}, not by its secret`);
    const [row] = await database.read(byId(id));
    if (row === undefined) throw notFound(noun, id);
    return toItem(row);
  }

  /** Refuses all secrets from the next request on. */
  async function revoke(management: Management, id: T["id"]): Promise<T> {
    const before = await requireHolder(management, id);
    if (before.revokedAt !== null) return before;
    const revokedAt = management.clock();
    const after = { ...before, revokedAt };
    await management.commit([{ action: `${audited}.revoked`, id, workspaceId: before.workspaceId, before, after }], [
      updateOf(table, id, { revokedAt }),
      { sql: `update ${secrets} set expires_at = 0 where ${owner} = ?`, args: [id] },
    ]);
    return after;
  }

  /** Gives the holder a new secret. Those before it stay valid for the overlap. */
  async function rotate(
    management: Management,
    id: T["id"],
    { overlapMs = 0, expiresAt: newExpiry }: Members<typeof rotation>,
  ): Promise<{ rotated: T; secret: string }> {
    const before = await requireHolder(management, id);
    const now = management.clock();
    const expiresAt = newExpiry === undefined ? before.expiresAt : newExpiry;
    if (before.revokedAt !== null) throw conflict(`${noun} ${id} is revoked`);
    if (expiresAt !== null && expiresAt <= now) throw conflict(`${noun} ${id} has expired: give it a new expiry`);
    const { secret, prefix, added } = await issue(id);
    const end = Math.min(now + overlapMs, expiresAt ?? Infinity, before.expiresAt ?? Infinity);
    const overlapEndsAt = end > now ? end : null;
    const changed = { prefix, expiresAt, rotatedAt: now, overlapEndsAt };
    const after = { ...before, ...changed };
    await management.commit([{ action: `${audited}.rotated`, id, workspaceId: before.workspaceId, before, after }], [
      updateOf(table, id, changed),
      {
        // A secret that was replaced earlier may end sooner. Clocks differ: only a moment long past is past for all.
        sql: `update ${secrets} set expires_at = min(coalesce(expires_at, :end), :end) where ${owner} = :id`,
        args: { id, end: overlapEndsAt ?? 0 },
      },
      added,
    ]);
    return { rotated: after, secret };
  }

  return { issue, requireHolder, revoke, rotate };
}
